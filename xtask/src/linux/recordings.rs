//! `vpmu record -- PROGRAM` and `vpmu report`: what is recorded adds up to what `vpmu stat` counts, and is the same
//! twice.

use super::{Guest, apt, directory};
use crate::cargo::{capture, line, root};
use crate::error::TaskError;
use crate::tally::Tally;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A program of every distribution, with a child and a signal's way through the kernel.
const PROGRAM: [&str; 3] =
    ["sh", "-c", "n=0; while [ $n -lt 50 ]; do n=$((n+1)); done; gzip -9 -c docs/test.md | wc -c"];

/// Records it with and without a model of the core.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let cache = directory(guest.architecture).join("cache");
    fs::create_dir_all(&cache).map_err(|source| apt::file_error(&cache, source))?;
    let session = Session { guest, profile, cache };
    for detail in ["counts", "timing"] {
        let verdict = session.judge(detail)?;
        tally.add(verdict.is_ok());
        match verdict {
            Ok(what) => anstream::println!("ok {profile}: a recording ({detail}) {what}"),
            Err(reason) => anstream::println!("FAILED {profile}: a recording ({detail}): {reason}"),
        }
    }
    Ok(())
}

struct Session<'a> {
    guest: &'a Guest,
    profile: &'a str,
    cache: PathBuf,
}

impl Session<'_> {
    fn judge(&self, detail: &str) -> Result<Result<String, String>, TaskError> {
        let counted = self.program(&["stat", "--json"], detail, "result.json")?;
        let counted: Value = self.json(&counted)?;
        let first = self.program(&["record"], detail, "first.data")?;
        let second = self.program(&["record"], detail, "second.data")?;
        if first != second {
            return Ok(Err("two runs differ".to_owned()));
        }
        let user = counted["events"][0]["user"].as_u64().unwrap_or(0);
        let callgrind = self.report(&["--format", "callgrind"])?;
        let totals = callgrind.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap_or_default();
        let total = totals.split(' ').next().and_then(|number| number.parse::<u64>().ok());
        if user == 0 || total != Some(user) {
            return Ok(Err(format!("callgrind's total is {total:?}, stat counted {user} instructions")));
        }
        if let Some(reason) = self.annotate(&callgrind, user)? {
            return Ok(Err(reason));
        }
        let report: Value = self.json(self.report(&["--json"])?.as_bytes())?;
        let sum = |name: &str, all: bool| -> u64 {
            let rows = report["rows"].as_array().into_iter().flatten();
            let rows = rows.filter(|row| all || row["kernel"] == false);
            rows.filter_map(|row| row[name].as_u64()).sum()
        };
        if sum("instructions", false) != user || report["whole"]["instructions"] != sum("instructions", true)
        {
            return Ok(Err("functions do not add up to the program".to_owned()));
        }
        if detail == "counts" {
            return Ok(Ok(format!("has the {user} instructions that were counted, the same bytes twice")));
        }
        let slots = counted["tma_user"]["slots"].as_u64().unwrap_or(0);
        if slots == 0 || sum("slots", false) != slots {
            return Ok(Err(format!("functions have {} slots, stat counted {slots}", sum("slots", false))));
        }
        let parts = ["retiring", "bad_speculation", "frontend_bound", "backend_bound"];
        let all: u64 = parts.iter().map(|name| sum(name, true)).sum();
        if report["whole"]["slots"] != all {
            return Ok(Err("categories of functions do not add up to the program's slots".to_owned()));
        }
        Ok(Ok(format!("has the {slots} slots that were counted, by function, the same bytes twice")))
    }

    /// What callgrind_annotate of valgrind makes of an export, where it is installed.
    fn annotate(&self, export: &str, user: u64) -> Result<Option<String>, TaskError> {
        let path = self.cache.join("callgrind.out");
        fs::write(&path, export).map_err(|source| apt::file_error(&path, source))?;
        let mut command = Command::new("callgrind_annotate");
        let Ok(output) = command.arg("--show=Ir").arg(&path).output() else { return Ok(None) };
        let text = String::from_utf8_lossy(&output.stdout).replace(',', "");
        let found = text.lines().any(|line| {
            line.contains("PROGRAM TOTALS") && line.split_whitespace().next() == Some(&user.to_string())
        });
        Ok((!found).then(|| format!("callgrind_annotate does not have {user} instructions: {text}")))
    }

    /// What a command about the program writes to a file.
    fn program(&self, words: &[&str], detail: &str, file: &str) -> Result<Vec<u8>, TaskError> {
        let path = self.cache.join(file);
        let mut command = self.guest.vpmu.bare();
        command.args(words).args(["--quiet", "--stdin", "/dev/null", "--detail", detail]);
        command.args(["--profile", self.profile, "--timeout", &self.guest.args.timeout.to_string()]);
        command.arg("--output").arg(&path).arg("--kernel").arg(&self.guest.kernel);
        self.run(&mut command, Some(&PROGRAM))?;
        fs::read(&path).map_err(|source| apt::file_error(&path, source))
    }

    fn report(&self, words: &[&str]) -> Result<String, TaskError> {
        let mut command = self.guest.vpmu.bare();
        command.arg("report").args(words).arg(self.cache.join("first.data"));
        Ok(String::from_utf8_lossy(&self.run(&mut command, None)?).into_owned())
    }

    fn run(&self, command: &mut Command, program: Option<&[&str]>) -> Result<Vec<u8>, TaskError> {
        command.env("XDG_CACHE_HOME", &self.cache).current_dir(root());
        if let Some(program) = program {
            command.arg("--").args(program);
        }
        let output = capture(command)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(TaskError::Command { command: line(command) })
        }
    }

    fn json(&self, text: &[u8]) -> Result<Value, TaskError> {
        let what = |error: serde_json::Error| TaskError::Output {
            command: format!("vpmu on {}", self.profile),
            what: error.to_string(),
        };
        serde_json::from_slice(text).map_err(what)
    }
}
