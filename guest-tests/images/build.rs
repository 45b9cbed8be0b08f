//! Links the images as bare-metal programs: no C runtime, fixed addresses, the firmware's layout.

use std::{env, path::PathBuf};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let script = manifest.join("../../firmware/x86_64.ld");
    println!("cargo:rerun-if-changed={}", script.display());
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,--build-id=none",
        "-Wl,-z,max-page-size=4096",
        "-Wl,-z,norelro",
        "-Wl,--no-eh-frame-hdr",
        &format!("-Wl,-T,{}", script.display()),
    ] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
