//! Rust's standard library for other targets than the host's.

use crate::cargo::{capture, run};
use std::path::Path;
use std::process::Command;

/// Sees to it that `rustc` has a target: rustup gets it where there is a rustup. Or says why it is missing.
pub(crate) fn ensure(target: &str) -> Result<(), String> {
    if is_installed(target) {
        return Ok(());
    }
    let added = run(Command::new("rustup").args(["--quiet", "target", "add", target]));
    if added.is_ok() && is_installed(target) {
        return Ok(());
    }
    Err(format!("rustc has no target {target}, and `rustup target add {target}` did not get it"))
}

fn is_installed(target: &str) -> bool {
    let output = capture(Command::new("rustc").args(["--print", "target-libdir", "--target", target]));
    output.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}
