//! `fixed-work` brings its own entry point.

fn main() {
    println!("cargo::rustc-link-arg-bin=fixed-work=-nostartfiles");
    println!("cargo::rerun-if-changed=build.rs");
}
