//! Programs of a distribution, and some that are compiled here: each prints in the guest what it prints here, and
//! counts the same with one thread and with two.

use super::{Guest, apt, directory};
use crate::cargo::{capture, root};
use crate::error::TaskError;
use crate::tally::Tally;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
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
    let session = Session { guest, profile, made: directory(guest.architecture).join("programs") };
    session.make()?;
    for program in &PROGRAMS {
        let words: Vec<String> = program.words.iter().map(|word| session.place(word)).collect();
        let mut native = Command::new(&words[0]);
        native.args(&words[1..]).env("LC_ALL", "C").env("TZ", "UTC").current_dir(root());
        let expected = capture(&mut native).ok().filter(|output| output.status.success());
        let Some(expected) = expected else {
            anstream::println!("skipped {profile}: {} does not run on this host", program.name);
            tally.skipped += 1;
            continue;
        };
        let verdict = session.judge(program, &words, &expected.stdout)?;
        tally.add(verdict.is_ok());
        match verdict {
            Ok(user) => anstream::println!(
                "ok {profile}: {} prints the same as here, twice with {user} instructions of its own",
                program.name
            ),
            Err(reason) => anstream::println!("FAILED {profile}: {}: {reason}", program.name),
        }
    }
    session.compare(tally)
}

/// The directory of the library of the host's Python.
fn python() -> Option<String> {
    let entries = fs::read_dir("/usr/lib").ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("python3.")).max().map(|name| format!("/usr/lib/{name}"))
}

struct Session<'a> {
    guest: &'a Guest,
    profile: &'a str,
    /// Where what is compiled here lies.
    made: PathBuf,
}

impl Session<'_> {
    /// Compiles what is not there; without a compiler it stays away.
    fn make(&self) -> Result<(), TaskError> {
        fs::create_dir_all(&self.made).map_err(|source| apt::file_error(&self.made, source))?;
        for (name, text) in [("words.go", GO), ("words.rs", RUST), ("redis.sh", REDIS)] {
            let path = self.made.join(name);
            fs::write(&path, text).map_err(|source| apt::file_error(&path, source))?;
        }
        let (go, rust) = (self.made.join("words-go"), self.made.join("words-rs"));
        if !go.is_file() {
            let mut compiler = Command::new("go");
            compiler.args(["build", "-o"]).arg(&go).arg(self.made.join("words.go"));
            compiler
                .env("GOCACHE", self.made.join("go-cache"))
                .env("GOFLAGS", "-mod=mod")
                .env("GO111MODULE", "off");
            // It may not be there.
            let _ = capture(&mut compiler);
        }
        if !rust.is_file() {
            let mut compiler = Command::new("rustc");
            compiler.args(["-O", "--edition", "2024", "-o"]).arg(&rust).arg(self.made.join("words.rs"));
            let _ = capture(&mut compiler);
        }
        Ok(())
    }

    fn place(&self, word: &str) -> String {
        if word == "PYTHON" {
            return python().unwrap_or_default();
        }
        match word.strip_prefix("DIR/") {
            Some(name) => self.made.join(name).display().to_string(),
            None => word.to_owned(),
        }
    }

    fn judge(
        &self,
        program: &Program,
        words: &[String],
        expected: &[u8],
    ) -> Result<Result<u64, String>, TaskError> {
        let run = |threads: &str| {
            let flags = program.flags.iter().map(|flag| self.place(flag));
            let flags: Vec<_> = flags.chain(["--threads", threads].map(str::to_owned)).collect();
            self.run("stat", &flags, words)
        };
        let (Some((one, first)), Some((other, second))) = (run("1")?, run("2")?) else {
            return Ok(Err("it fails in the guest".to_owned()));
        };
        if one != other || first != second {
            return Ok(Err("two runs differ".to_owned()));
        }
        if one != expected {
            return Ok(Err(format!("it prints {} bytes, here {}", one.len(), expected.len())));
        }
        let user = first["events"][0]["user"].as_u64().filter(|count| *count > 0);
        Ok(user.ok_or_else(|| "no instruction was counted".to_owned()))
    }

    /// The guest's perf and the VMM count the same of a program.
    fn compare(&self, tally: &mut Tally) -> Result<(), TaskError> {
        let words = ["gzip", "-9", "-n", "-c", TEXT].map(str::to_owned);
        let events = ["-e", "instructions:u", "-e", "branches:u"].map(str::to_owned);
        let rows = self.run("compare", &events, &words)?.map(|(_, document)| document["comparison"].clone());
        let rows = rows.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let same =
            rows.iter().filter(|row| row["guest"].as_u64() > Some(0) && row["difference"] == 0).count();
        let good = same == 2 && rows.len() == 2;
        tally.add(good);
        let verdict = if good { "ok" } else { "FAILED" };
        anstream::println!(
            "{verdict} {}: perf in the guest and the VMM count gzip alike: {rows:?}",
            self.profile
        );
        Ok(())
    }

    /// What it prints, and the document about it; nothing of one that fails.
    fn run(
        &self,
        command: &str,
        flags: &[String],
        words: &[String],
    ) -> Result<Option<(Vec<u8>, Value)>, TaskError> {
        let cache = directory(self.guest.architecture).join("cache");
        fs::create_dir_all(&cache).map_err(|source| apt::file_error(&cache, source))?;
        let result = cache.join("result.json");
        let mut vpmu = self.guest.vpmu.bare();
        vpmu.args([command, "--quiet", "--json", "--stdin", "/dev/null", "--profile", self.profile]);
        vpmu.args(["--detail", &self.guest.args.detail, "--timeout", &self.guest.args.timeout.to_string()]);
        if command == "stat" {
            vpmu.arg("--output").arg(&result);
        }
        vpmu.arg("--kernel")
            .arg(&self.guest.kernel)
            .args(flags)
            .env("XDG_CACHE_HOME", &cache)
            .current_dir(root())
            .arg("--")
            .args(words);
        let output = capture(&mut vpmu)?;
        if !output.status.success() {
            return Ok(None);
        }
        let text = match command {
            "stat" => fs::read(&result).map_err(|source| apt::file_error(&result, source))?,
            _ => output.stdout.clone(),
        };
        let what = |error: serde_json::Error| TaskError::Output {
            command: crate::cargo::line(&vpmu),
            what: error.to_string(),
        };
        Ok(Some((output.stdout, serde_json::from_slice(&text).map_err(what)?)))
    }
}
