//! How the program that starts in its own assembly is linked.

fn main() {
    let arguments: &[&str] = match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        // rust-lld links the C library's start-up in any case; it is not entered.
        Ok("aarch64") => &["--entry=fixed_work", "--defsym=main=fixed_work"],
        _ => &["-nostartfiles"],
    };
    for argument in arguments {
        println!("cargo::rustc-link-arg-bin=fixed-work={argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
