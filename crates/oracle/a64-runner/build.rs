//! Links the program where cases hardly look: pointers that are wrong are small, or have few bits set.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // For rust-lld, the linker of this target.
    println!("cargo:rustc-link-arg-bins=--image-base=0x5B6B7B0000");
}
