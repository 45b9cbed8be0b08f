//! `vpmu stat -- PROGRAM`: a program of the host prints in the guest what it prints here, and counts the same twice;
//! and programs that choose other code by what the CPU has print the same at each level of x86-64.

use super::{Guest, apt, directory};
use crate::cargo::{capture, line, root};
use crate::error::TaskError;
use crate::tally::Tally;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Programs of every distribution with their arguments, in the root of the repository: what they read comes along.
const PROGRAMS: [&[&str]; 3] = [
    &["gzip", "-9", "-n", "-c", "docs/linux.md"],
    &["sort", "-r", "docs/linux.md"],
    &["sh", "-c", "n=0; while [ $n -lt 100 ]; do n=$((n+1)); done; echo $n"],
];

/// Programs whose libraries choose their code by CPUID, and whether they need Python's library.
const BY_LEVEL: [(&[&str], bool); 5] = [
    (&["openssl", "dgst", "-sha256", "docs/linux.md"], false),
    (&["openssl", "dgst", "-sha512", "docs/linux.md"], false),
    (&["openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", KEY, "-in", "docs/linux.md"], false),
    (&["sqlite3", ":memory:", SQL], false),
    (&["/usr/bin/python3", "-I", "-S", "-c", PYTHON, "docs/linux.md"], true),
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
    if guest.args.short {
        return Ok(());
    }
    // Silicon without AVX-512.
    let own = if ["zen2", "zen3", "alder-lake-p", "lunar-lake-p"].contains(&profile) { "v3" } else { "v4" };
    let library = python();
    for level in LEVELS {
        for (program, needs_library) in BY_LEVEL {
            let name = program.first().copied().unwrap_or_default();
            let there = !needs_library || library.is_some();
            let Some(expected) = here(program).filter(|_| there) else {
                skip(tally, profile, name);
                continue;
            };
            let mut flags = vec!["--isa", level];
            if needs_library {
                flags.extend(["--dir"].into_iter().chain(library.as_deref()));
            }
            let verdict = run(guest, profile, "stat", &flags, program)?
                .and_then(|(printed, result)| judge(&printed, &expected, &result));
            report(tally, profile, &format!("{name} at {level}"), verdict);
        }
        let verdict = run(guest, profile, "stat", &["--isa", level], &[LINKER, "--help"])?
            .and_then(|(printed, _)| supports(&printed, level.min(own)));
        report(tally, profile, &format!("the dynamic linker at {level}"), verdict);
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
    for program in PROGRAMS {
        let name = program.first().copied().unwrap_or_default();
        same_as_here(guest, profile, name, [&[], &[]], program, tally)?;
    }
    Ok(())
}

/// A program prints in the guest what it prints here, with the flags of both runs, and counts the same twice.
pub(super) fn same_as_here(
    guest: &Guest,
    profile: &str,
    name: &str,
    [flags, other_flags]: [&[&str]; 2],
    program: &[&str],
    tally: &mut Tally,
) -> Result<(), TaskError> {
    let Some(expected) = here(program) else {
        skip(tally, profile, name);
        return Ok(());
    };
    let runs =
        (run(guest, profile, "stat", flags, program)?, run(guest, profile, "stat", other_flags, program)?);
    let verdict = match runs {
        (Ok(one), Ok(other)) if one != other => Err("two runs differ".to_owned()),
        (Ok((printed, result)), Ok(_)) => judge(&printed, &expected, &result),
        (Err(reason), _) | (_, Err(reason)) => Err(reason),
    };
    tally.add(verdict.is_ok());
    match verdict {
        Ok(instructions) => anstream::println!(
            "ok {profile}: {name} prints the same as here, twice with {instructions} instructions of its own"
        ),
        Err(reason) => anstream::println!("FAILED {profile}: {}: {reason}", program.join(" ")),
    }
    Ok(())
}

/// What a program prints here; `None` if it does not run.
fn here(program: &[&str]) -> Option<Vec<u8>> {
    let (name, arguments) = program.split_first()?;
    let mut native = Command::new(name);
    native.args(arguments).env("LC_ALL", "C").env("TZ", "UTC").current_dir(root());
    capture(&mut native).ok().filter(|output| output.status.success()).map(|output| output.stdout)
}

fn skip(tally: &mut Tally, profile: &str, name: &str) {
    anstream::println!("skipped {profile}: {name} does not run on this host");
    tally.skipped += 1;
}

/// The directory of the library of the host's Python.
pub(super) fn python() -> Option<String> {
    let entries = fs::read_dir("/usr/lib").ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("python3.")).max().map(|name| format!("/usr/lib/{name}"))
}

fn judge(printed: &[u8], expected: &[u8], result: &Value) -> Result<u64, String> {
    if printed != expected {
        return Err(format!("it prints {} bytes, here {}", printed.len(), expected.len()));
    }
    let instructions = result["events"][0]["user"].as_u64().filter(|count| *count > 0);
    instructions.ok_or_else(|| "no instruction was counted".to_owned())
}

/// What a program prints in the guest, and the document of `stat` or `compare` about it; or that it fails there.
pub(super) fn run(
    guest: &Guest,
    profile: &str,
    command: &str,
    flags: &[&str],
    program: &[&str],
) -> Result<Result<(Vec<u8>, Value), String>, TaskError> {
    let cache = directory(guest.architecture).join("cache");
    fs::create_dir_all(&cache).map_err(|source| apt::file_error(&cache, source))?;
    let result = cache.join("result.json");
    let mut vpmu = guest.vpmu.bare();
    vpmu.args([command, "--quiet", "--json", "--stdin", "/dev/null", "--profile", profile]);
    vpmu.args(["--detail", &guest.args.detail, "--timeout", &guest.args.timeout.to_string()]);
    // `compare` has no file for it.
    let apart = command == "stat";
    if apart {
        vpmu.arg("--output").arg(&result);
    }
    vpmu.arg("--kernel").arg(&guest.kernel).args(flags);
    vpmu.env("XDG_CACHE_HOME", &cache).current_dir(root()).arg("--").args(program);
    let output = capture(&mut vpmu)?;
    if !output.status.success() {
        return Ok(Err(format!("{} failed", line(&vpmu))));
    }
    let text = if apart {
        fs::read(&result).map_err(|source| apt::file_error(&result, source))?
    } else {
        output.stdout.clone()
    };
    let what = |error: serde_json::Error| TaskError::Output { command: line(&vpmu), what: error.to_string() };
    Ok(Ok((output.stdout, serde_json::from_slice(&text).map_err(what)?)))
}
