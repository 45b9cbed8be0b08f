//! `vpmu stat -- PROGRAM`: a program of the host prints in the guest what it prints here, and counts the same twice;
//! and programs that choose other code by what the CPU has print the same at each level of x86-64.

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

/// Programs whose libraries choose their code by CPUID, with directories that they need.
const BY_LEVEL: [(&[&str], &[&str]); 5] = [
    (&["openssl", "dgst", "-sha256", "docs/linux.md"], &[]),
    (&["openssl", "dgst", "-sha512", "docs/linux.md"], &[]),
    (&["openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", KEY, "-in", "docs/linux.md"], &[]),
    (&["sqlite3", ":memory:", SQL], &[]),
    (&["/usr/bin/python3", "-I", "-S", "-c", PYTHON, "docs/linux.md"], &["/usr/lib/python3.11"]),
];
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const SQL: &str = "with recursive n(i) as (select 1 union all select i+1 from n where i<20000) \
    select sum(i*i), avg(i*1.5), group_concat(i%7,'') from n where i%97=0; select printf('%.12g', sqrt(2.0));";
const PYTHON: &str = "import hashlib,zlib,math\nd=open('docs/linux.md','rb').read()\n\
    print(hashlib.sha512(d).hexdigest(), hashlib.blake2b(d).hexdigest(), zlib.crc32(d), \
    sum(math.sin(i)*math.exp(-i/100) for i in range(2000)))";
/// The dynamic linker, and what it prints of a level whose libraries it would take.
const LINKER: &str = "/lib64/ld-linux-x86-64.so.2";
const LEVELS: [&str; 3] = ["v2", "v3", "v4"];

/// Runs programs at each level, but not in the short session: they print what they print here. What the dynamic linker
/// finds supported has to be the level.
pub(super) fn by_level(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let cache = directory(guest.architecture).join("cache");
    if guest.args.short {
        return Ok(());
    }
    // Silicon without AVX-512.
    let own = if ["zen2", "zen3", "alder-lake-p", "lunar-lake-p"].contains(&profile) { "v3" } else { "v4" };
    for level in LEVELS {
        for (program, directories) in BY_LEVEL {
            let [name, arguments @ ..] = program else { continue };
            let mut native = Command::new(name);
            native.args(arguments).env("LC_ALL", "C").current_dir(root());
            let there = directories.iter().all(|directory| Path::new(directory).is_dir());
            let expected = capture(&mut native).ok().filter(|output| there && output.status.success());
            let Some(expected) = expected else {
                anstream::println!("skipped {profile}: this host has no {name}");
                tally.skipped += 1;
                continue;
            };
            let mut flags = vec!["--isa", level];
            directories.iter().for_each(|directory| flags.extend(["--dir", directory]));
            let (printed, result) = run(guest, profile, &cache, &flags, program)?;
            report(tally, profile, &format!("{name} at {level}"), judge(&printed, &expected.stdout, &result));
        }
        let (printed, _) = run(guest, profile, &cache, &["--isa", level], &[LINKER, "--help"])?;
        let best = level.min(own);
        report(tally, profile, &format!("the dynamic linker at {level}"), supports(&printed, best));
    }
    Ok(())
}

/// What the dynamic linker says of the levels in its help.
fn supports(printed: &[u8], best: &str) -> Result<u64, String> {
    let text = String::from_utf8_lossy(printed);
    let supported =
        |level: &str| text.lines().any(|line| line.trim().starts_with(&format!("x86-64-{level} (supported")));
    let wrong = LEVELS.iter().find(|level| supported(level) != (**level <= best));
    wrong.map_or(Ok(0), |level| Err(format!("supported is {} for x86-64-{level}", supported(level))))
}

fn report(tally: &mut Tally, profile: &str, what: &str, verdict: Result<u64, String>) {
    tally.add(verdict.is_ok());
    match verdict {
        Ok(_) => anstream::println!("ok {profile}: {what}"),
        Err(reason) => anstream::println!("FAILED {profile}: {what}: {reason}"),
    }
}

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
        let verdict =
            match [run(guest, profile, &cache, &[], program)?, run(guest, profile, &cache, &[], program)?] {
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
fn run(
    guest: &Guest,
    profile: &str,
    cache: &Path,
    flags: &[&str],
    program: &[&str],
) -> Result<(Vec<u8>, Value), TaskError> {
    let result = cache.join("result.json");
    fs::create_dir_all(cache).map_err(|source| super::apt::file_error(cache, source))?;
    let mut command = guest.vpmu.bare();
    command.args(["stat", "--quiet", "--json", "--stdin", "/dev/null", "--profile", profile]);
    command.args(["--detail", &guest.args.detail, "--timeout", &guest.args.timeout.to_string()]);
    command.arg("--output").arg(&result).arg("--kernel").arg(&guest.kernel);
    command.args(flags).env("XDG_CACHE_HOME", cache).current_dir(root()).arg("--").args(program);
    let output = capture(&mut command)?;
    if !output.status.success() {
        return Err(TaskError::Command { command: line(&command) });
    }
    let text = fs::read(&result).map_err(|source| super::apt::file_error(&result, source))?;
    let what =
        |error: serde_json::Error| TaskError::Output { command: line(&command), what: error.to_string() };
    Ok((output.stdout, serde_json::from_slice(&text).map_err(what)?))
}
