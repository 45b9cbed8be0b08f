//! Compiles the init of the Linux guest that runs one program, `guest-tests/init`, and puts it into the crate.
//!
//! It is a program of its own, without a library, for x86-64. Where this Rust has no target for that, the crate is
//! built without it, and running a program is refused.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Code for Linux on x86-64 that needs no C library comes from any of them.
const TARGETS: [&str; 3] = ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "x86_64-unknown-none"];

const OPTIONS: [&str; 10] = [
    "--edition=2024",
    "--crate-type=bin",
    "--crate-name=guest_init",
    "-Cpanic=abort",
    "-Copt-level=s",
    "-Ccodegen-units=1",
    "-Crelocation-model=static",
    "-Cstrip=symbols",
    "-Dwarnings",
    "-Aunknown-lints",
];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let source = root.join("guest-tests/init");
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-changed={}", root.join("guest-tests/protocol/src/program.rs").display());
    println!("cargo::rerun-if-changed=build.rs");
    let init = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("guest-init");
    let mut reasons = Vec::new();
    // The host's own has a linker that works.
    let host = env::var("HOST").unwrap_or_default();
    let targets = TARGETS.iter().filter(|target| **target == host).chain(&TARGETS);
    let compiled = targets.into_iter().any(|target| match compile(target, &source, &init) {
        Ok(()) => true,
        Err(reason) => {
            reasons.push(format!("{target}: {reason}"));
            false
        }
    });
    if !compiled {
        println!(
            "cargo::warning=built without the guest's init, so that it cannot run programs in a Linux guest"
        );
        for reason in reasons {
            println!("cargo::warning={reason}");
        }
        if let Err(error) = fs::write(&init, []) {
            println!("cargo::error=cannot write {}: {error}", init.display());
        }
    }
}

fn compile(target: &str, source: &Path, init: &Path) -> Result<(), String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(OPTIONS).arg(format!("--target={target}"));
    if target.ends_with("-none") {
        command.arg("-Clink-arg=-no-pie");
    } else {
        command.args(["-nostartfiles", "-nostdlib", "-static"].map(|option| format!("-Clink-arg={option}")));
    }
    let output = command.arg("-o").arg(init).arg(source.join("main.rs")).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(text.lines().find(|line| line.contains("error")).unwrap_or("rustc failed").to_owned())
}
