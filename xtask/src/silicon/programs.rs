//! Whole programs: cycles of each on this host, and in a guest with the core model.
//!
//! The host has no PMU that could be asked, so its cycles are the processor time of the program, user and system, times
//! the clock of the core, which is looked at before and behind each run.

use super::native::Host;
use super::record::host_name;
use crate::cargo::root;
use crate::error::TaskError;
use crate::vpmu_cli::Vpmu;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, thread};

/// Runs of each program that count, natively.
const RUNS: usize = 15;
/// Bytes of source code that are compressed.
const TEXT: usize = 300_000;
/// Functions of the C file.
const FUNCTIONS: u32 = 150;

/// A program with what it is given, in the working directory of [`inputs`].
struct Program {
    name: &'static str,
    words: &'static [&'static str],
    input: Option<&'static str>,
}

/// What hosts have, with inputs of our own: 20 to 500 million instructions each.
const PROGRAMS: [Program; 8] = [
    Program { name: "gzip -9", words: &["gzip", "-9", "-c", "text"], input: None },
    Program { name: "xz -2", words: &["xz", "-2", "-T1", "-c", "text"], input: None },
    Program { name: "bzip2", words: &["bzip2", "-c", "text"], input: None },
    Program { name: "zstd -9", words: &["zstd", "-q", "-9", "--single-thread", "-c", "text"], input: None },
    Program { name: "sqlite3", words: &["sqlite3", ":memory:"], input: Some("rows.sql") },
    Program { name: "python3", words: &["/usr/bin/python3", "-I", "-S", "work.py"], input: None },
    Program { name: "perl", words: &["perl", "words.pl", "text"], input: None },
    Program { name: "gcc -O1", words: &["gcc", "-O1", "-S", "-o", "-", "functions.c"], input: None },
];

const ROWS: &str = "CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, c TEXT);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 60000)
  INSERT INTO t SELECT x, x * 2654435761 % 1000003, 'row ' || x FROM n;
CREATE INDEX i ON t(b);
UPDATE t SET c = c || '!' WHERE b % 7 = 0;
SELECT count(*), sum(b), max(c) FROM t WHERE b BETWEEN 1000 AND 900000;
";

const WORK: &str = "import json
rows = [{'n': n, 'square': n * n, 'text': str(n) * 3} for n in range(12000)]
again = json.loads(json.dumps(rows))
again.sort(key=lambda row: (row['text'], -row['n']))
total = 0
for row in again:
    total = (total * 31 + row['square']) % 1000003
print(total)
";

const WORDS: &str = "my %count;
while (<>) { $count{lc $1}++ while /([A-Za-z_]+)/g; }
my @best = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print \"$_ $count{$_}\\n\" for @best[0..19];
";

/// C that makes a compiler work: loops, branches, calls, a switch.
fn functions() -> String {
    let mut text = String::from("unsigned table[256];\n");
    for n in 0..FUNCTIONS {
        let before = n.saturating_sub(1);
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "unsigned f{n}(unsigned a, unsigned b) {{
  unsigned sum = {n};
  for (unsigned i = 0; i < (a & 31); i++) {{
    switch ((b >> i) & 3) {{
      case 0: sum += table[(i * {n}) & 255]; break;
      case 1: sum ^= a * (i + {n}); break;
      case 2: if (sum & 1) sum = sum >> 1 | b << 31; else sum -= i; break;
      default: table[i] = sum * 7 / (i + 1);
    }}
  }}
  return sum > a ? sum + {} : sum;
}}
",
            if n == 0 { "1".to_owned() } else { format!("f{before}(sum, a)") }
        );
    }
    text
}

/// A directory with what the programs read, the same for the same state of this repository.
fn inputs() -> Result<PathBuf, TaskError> {
    let directory = root().join("target/silicon-programs");
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| TaskError::File { path, source }
    };
    fs::create_dir_all(&directory).map_err(failed(&directory))?;
    let mut text = Vec::new();
    let mut sources = vec![root().join("crates")];
    // Files and folders in the order of their names.
    while let Some(path) = sources.pop() {
        if text.len() >= TEXT {
            break;
        }
        if path.is_dir() {
            let entries = fs::read_dir(&path).map_err(failed(&path))?;
            let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            inside.sort_unstable_by(|a, b| b.cmp(a));
            sources.extend(inside);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.extend(fs::read(&path).map_err(failed(&path))?);
        }
    }
    text.truncate(TEXT);
    let functions = functions();
    let files: [(&str, &[u8]); 5] = [
        ("text", &text),
        ("rows.sql", ROWS.as_bytes()),
        ("work.py", WORK.as_bytes()),
        ("words.pl", WORDS.as_bytes()),
        ("functions.c", functions.as_bytes()),
    ];
    for (name, bytes) in files {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(failed(&path))?;
    }
    Ok(directory)
}

impl Program {
    /// The same streams for a command, whoever runs the program.
    fn streams<'a>(&self, command: &'a mut Command, directory: &Path) -> Result<&'a mut Command, TaskError> {
        let input = match self.input {
            Some(name) => {
                let path = directory.join(name);
                fs::File::open(&path).map_err(|source| TaskError::File { path, source })?.into()
            }
            None => Stdio::null(),
        };
        Ok(command.current_dir(directory).stdin(input).stdout(Stdio::null()))
    }

    fn is_installed(&self) -> bool {
        let found = Command::new("sh").args(["-c", "command -v \"$0\"", self.words[0]]).output();
        found.is_ok_and(|found| found.status.success())
    }

    /// Cycles on this host, their spread, and the share of them that the kernel has; `None` if they are not stable.
    fn natively(&self, host: &mut Host, directory: &Path) -> Result<Option<(f64, f64, f64)>, TaskError> {
        let mut kernel = 0.0;
        let mut failed = None;
        let sampled = host.sample_seconds(RUNS, || {
            let mut command = Command::new(self.words[0]);
            command.args(&self.words[1..]).stderr(Stdio::null());
            let used = self.streams(&mut command, directory).and_then(Host::processor_time);
            match used {
                Ok([user, system]) => {
                    kernel = system / (user + system).max(f64::MIN_POSITIVE);
                    Some(user + system)
                }
                Err(error) => {
                    failed = Some(error);
                    None
                }
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(sampled.map(|sampled| (sampled.cycles, sampled.spread, kernel))),
        }
    }

    /// Instructions and cycles in the guest, of user and kernel together.
    fn in_guest(&self, vpmu: &Vpmu, profile: &str, directory: &Path) -> Result<[f64; 2], TaskError> {
        let report = directory.join("report.json");
        let mut command = vpmu.bare();
        command.args(["stat", "--json", "--detail", "timing", "--profile", profile, "-o"]).arg(&report);
        command.arg("--").args(self.words).stderr(Stdio::null());
        let status = self.streams(&mut command, directory)?.status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(TaskError::Data(format!("{} failed in the guest; try {command:?}", self.name)));
        }
        let text = fs::read(&report).map_err(|source| TaskError::File { path: report.clone(), source })?;
        let json: Value = serde_json::from_slice(&text)
            .map_err(|error| TaskError::Data(format!("{}: {error}", report.display())))?;
        let of = |event: &str| {
            let rows = json["events"].as_array().into_iter().flatten();
            let row = rows.into_iter().find(|row| row["event"] == event);
            let part = |column: &str| row.and_then(|row| row[column].as_f64());
            part("user").zip(part("kernel")).map(|(user, kernel)| user + kernel)
        };
        match (of("instructions"), of("cycles")) {
            (Some(instructions), Some(cycles)) => Ok([instructions, cycles]),
            _ => Err(TaskError::Data(format!("no cycles in {}", report.display()))),
        }
    }
}

/// Prints cycles of programs on this host and on a profile's core.
pub(crate) fn compare(profile: &str) -> Result<(), TaskError> {
    let directory = inputs()?;
    let vpmu = Vpmu::build()?;
    anstream::println!("{}, beside {profile}", host_name());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "program",
        "instructions",
        "host Mcycles",
        "spread",
        "kernel",
        "model Mcycles",
        "error",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut errors = Vec::new();
    for program in &PROGRAMS {
        if !program.is_installed() {
            anstream::eprintln!("{}: not on this host", program.name);
            continue;
        }
        let native = thread::scope(|scope| {
            let work = || Host::new().and_then(|mut host| program.natively(&mut host, &directory));
            scope.spawn(work).join()
        });
        let native = native.map_err(|_| TaskError::Data("the measuring thread has ended".to_owned()))??;
        let Some((cycles, spread, kernel)) = native else {
            anstream::eprintln!("{}: not stable on this host", program.name);
            continue;
        };
        anstream::eprintln!("{}: {:.1} million cycles on this host", program.name, cycles / 1e6);
        let [instructions, model] = program.in_guest(&vpmu, profile, &directory)?;
        let error = model / cycles - 1.0;
        errors.push(error.abs());
        table.add_row([
            program.name.to_owned(),
            format!("{:.1} M", instructions / 1e6),
            format!("{:.1}", cycles / 1e6),
            format!("{:.1} %", spread * 100.0),
            format!("{:.1} %", kernel * 100.0),
            format!("{:.1}", model / 1e6),
            format!("{:+.1} %", error * 100.0),
        ]);
    }
    anstream::println!("{table}");
    let mean = errors.iter().sum::<f64>() / (errors.len() as f64).max(1.0);
    anstream::println!("{} programs, mean error {:.1} %", errors.len(), mean * 100.0);
    Ok(())
}
