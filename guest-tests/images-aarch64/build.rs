//! Links the images as bare-metal programs with the firmware's layout.

use std::{env, path::PathBuf};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let script = manifest.join("../../firmware/aarch64.ld");
    println!("cargo:rerun-if-changed={}", script.display());
    // For rust-lld, the linker of this target.
    println!("cargo:rustc-link-arg-bins=-T{}", script.display());
    println!("cargo:rustc-link-arg-bins=-zmax-page-size=4096");
}
