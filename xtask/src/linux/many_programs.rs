//! Programs of a distribution, and some that are compiled here: each prints in the guest what it prints here, and
//! counts the same with one thread and with two.

use super::{Guest, apt, directory, programs};
use crate::cargo::capture;
use crate::error::TaskError;
use crate::tally::Tally;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What they read, in the root of the repository.
const TEXT: &str = "docs/linux.md";
const GO: &str = include_str!("programs/words.go");
/// No file of the workspace, whose lints are not for it.
const RUST: &str = include_str!("programs/words.rs.txt");
const REDIS: &str = include_str!("programs/redis.sh");

/// A program with what it needs beside what it names.
struct Program {
    name: &'static str,
    /// The program's words; `DIR/` is where what is compiled here lies, `PYTHON` where Python's library is.
    words: &'static [&'static str],
    flags: &'static [&'static str],
}

const fn program(name: &'static str, words: &'static [&'static str]) -> Program {
    Program { name, words, flags: &[] }
}

const PROGRAMS: [Program; 23] = [
    program("gzip", &["gzip", "-9", "-n", "-c", TEXT]),
    program("xz", &["xz", "-c", TEXT]),
    program("bzip2", &["bzip2", "-c", TEXT]),
    program("zstd", &["zstd", "-q", "-c", TEXT]),
    program("sort", &["sort", "-r", TEXT]),
    program("grep", &["grep", "-n", "perf", TEXT]),
    program("sed", &["sed", "s/perf/PERF/g", TEXT]),
    program("wc", &["wc", TEXT]),
    program("mawk", &["mawk", "{ n += NF } END { print n }", TEXT]),
    program("gawk", &["gawk", "{ for (i = 1; i <= NF; i++) n[$i]++ } END { print n[\"the\"] }", TEXT]),
    program("perl", &["perl", "-ne", "$n{$_}++ for split; END { print scalar keys %n, \"\\n\" }", TEXT]),
    program(
        "sqlite3",
        &[
            "sqlite3",
            ":memory:",
            "create table t as select value v from generate_series(1,9999); \
        select sum(v*v) from t where v%7=3;",
        ],
    ),
    program("openssl", &["openssl", "dgst", "-sha256", TEXT]),
    program("jq", &["jq", "-n", "[range(3000)] | map(. * .) | add"]),
    program("git", &["git", "hash-object", TEXT]),
    program("tar", &["tar", "--owner=0", "--group=0", "--numeric-owner", "-cf", "-", TEXT]),
    Program {
        name: "find",
        words: &["sh", "-c", "find docs -name '*.md' -size +8k | sort"],
        flags: &["--dir", "docs"],
    },
    program("bash", &["bash", "-c", "n=0; for i in {1..2000}; do (( n += i * i )); done; echo $n"]),
    program("objdump", &["objdump", "-d", "-j", ".text", "DIR/words-rs"]),
    Program {
        name: "python3",
        words: &["/usr/bin/python3", "-I", "-S", "-c", "print(sum(i * i for i in range(20000)))"],
        flags: &["--dir", "PYTHON"],
    },
    program("Go", &["DIR/words-go", TEXT]),
    program("Rust", &["DIR/words-rs", TEXT]),
    Program {
        name: "redis",
        words: &["sh", "DIR/redis.sh"],
        flags: &["--file", "redis-server", "--file", "redis-cli", "--file", "redis-benchmark"],
    },
];

/// Runs each of them here once, and in the guest with one thread and with two.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let made = directory(guest.architecture).join("programs");
    make(&made)?;
    for program in &PROGRAMS {
        let place = |words: &[&str]| words.iter().map(|word| place(&made, word)).collect::<Vec<_>>();
        let (words, flags) = (place(program.words), place(program.flags));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let [one, two] = ["1", "2"].map(|threads| {
            flags.iter().map(String::as_str).chain(["--threads", threads]).collect::<Vec<_>>()
        });
        programs::same_as_here(guest, profile, program.name, [&one, &two], &words, tally)?;
    }
    compare(guest, profile, tally)
}

/// Compiles what is not there; without a compiler it stays away.
fn make(made: &Path) -> Result<(), TaskError> {
    fs::create_dir_all(made).map_err(|source| apt::file_error(made, source))?;
    for (name, text) in [("words.go", GO), ("words.rs", RUST), ("redis.sh", REDIS)] {
        let path = made.join(name);
        fs::write(&path, text).map_err(|source| apt::file_error(&path, source))?;
    }
    let (go, rust) = (made.join("words-go"), made.join("words-rs"));
    if !go.is_file() {
        let mut compiler = Command::new("go");
        compiler.args(["build", "-o"]).arg(&go).arg(made.join("words.go"));
        compiler.env("GOCACHE", made.join("go-cache")).env("GOFLAGS", "-mod=mod").env("GO111MODULE", "off");
        // It may not be there.
        let _ = capture(&mut compiler);
    }
    if !rust.is_file() {
        let mut compiler = Command::new("rustc");
        compiler.args(["-O", "--edition", "2024", "-o"]).arg(&rust).arg(made.join("words.rs"));
        let _ = capture(&mut compiler);
    }
    Ok(())
}

fn place(made: &Path, word: &str) -> String {
    if word == "PYTHON" {
        return programs::python().unwrap_or_default();
    }
    match word.strip_prefix("DIR/") {
        Some(name) => made.join(name).display().to_string(),
        None => word.to_owned(),
    }
}

/// The guest's perf and the VMM count the same of a program.
fn compare(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    // AMD's event of all branches has exceptions and interrupts too, and so has a name of its own.
    let branches = if profile.starts_with("zen") { "ex_ret_brn:u" } else { "branches:u" };
    let events = ["-e", "instructions:u", "-e", branches];
    let gzip = ["gzip", "-9", "-n", "-c", TEXT];
    let verdict = programs::run(guest, profile, "compare", &events, &gzip)?.and_then(|(_, document)| {
        let rows = document["comparison"].as_array().map_or(&[][..], Vec::as_slice);
        let same = |row: &Value| row["guest"].as_u64() > Some(0) && row["difference"] == 0;
        let shown = format!("{rows:?}");
        if rows.len() == 2 && rows.iter().all(same) { Ok(shown) } else { Err(shown) }
    });
    tally.add(verdict.is_ok());
    let (word, rows) = match verdict {
        Ok(rows) => ("ok", rows),
        Err(rows) => ("FAILED", rows),
    };
    anstream::println!("{word} {profile}: perf in the guest and the VMM count gzip alike: {rows}");
    Ok(())
}
