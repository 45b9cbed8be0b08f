//! `vpmu stat -- PROGRAM`: a program of the host prints in the guest what it prints here, and counts the same twice.

use super::{Guest, directory};
use crate::cargo::{capture, line, root};
use crate::error::TaskError;
use crate::tally::Tally;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Programs of every distribution with their arguments, in the root of the repository: what they read comes along.
const PROGRAMS: [&[&str]; 3] = [
    &["gzip", "-9", "-n", "-c", "docs/linux.md"],
    &["sort", "-r", "docs/linux.md"],
    &["sh", "-c", "n=0; while [ $n -lt 100 ]; do n=$((n+1)); done; echo $n"],
];

/// Runs each of them here once and in the guest twice.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let cache = directory(guest.architecture).join("cache");
    for program in PROGRAMS {
        let [name, arguments @ ..] = program else { continue };
        let mut native = Command::new(name);
        native.args(arguments).env("LC_ALL", "C").current_dir(root());
        let Ok(expected) = capture(&mut native) else {
            anstream::println!("skipped {profile}: this host has no {name}");
            tally.skipped += 1;
            continue;
        };
        let verdict = match [run(guest, profile, &cache, program)?, run(guest, profile, &cache, program)?] {
            [(one, first), (other, second)] if one == other && first == second => {
                judge(&one, &expected.stdout, &first)
            }
            _ => Err("two runs differ".to_owned()),
        };
        tally.add(verdict.is_ok());
        match verdict {
            Ok(instructions) => anstream::println!(
                "ok {profile}: {name} prints the same as here, twice with {instructions} instructions of its own"
            ),
            Err(reason) => anstream::println!("FAILED {profile}: {}: {reason}", program.join(" ")),
        }
    }
    Ok(())
}

fn judge(printed: &[u8], expected: &[u8], result: &Value) -> Result<u64, String> {
    if printed != expected {
        return Err(format!("it prints {} bytes, here {}", printed.len(), expected.len()));
    }
    let instructions = result["events"][0]["user"].as_u64().filter(|count| *count > 0);
    instructions.ok_or_else(|| "no instruction was counted".to_owned())
}

/// What the program prints in the guest, and its counts.
fn run(guest: &Guest, profile: &str, cache: &Path, program: &[&str]) -> Result<(Vec<u8>, Value), TaskError> {
    let result = cache.join("result.json");
    fs::create_dir_all(cache).map_err(|source| super::apt::file_error(cache, source))?;
    let mut command = guest.vpmu.bare();
    command.args(["stat", "--quiet", "--json", "--stdin", "/dev/null", "--profile", profile]);
    command.args(["--detail", &guest.args.detail, "--timeout", &guest.args.timeout.to_string()]);
    command.arg("--output").arg(&result).arg("--kernel").arg(&guest.kernel);
    command.env("XDG_CACHE_HOME", cache).current_dir(root()).arg("--").args(program);
    let output = capture(&mut command)?;
    if !output.status.success() {
        return Err(TaskError::Command { command: line(&command) });
    }
    let text = fs::read(&result).map_err(|source| super::apt::file_error(&result, source))?;
    let what =
        |error: serde_json::Error| TaskError::Output { command: line(&command), what: error.to_string() };
    Ok((output.stdout, serde_json::from_slice(&text).map_err(what)?))
}
