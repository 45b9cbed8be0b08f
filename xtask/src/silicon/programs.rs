//! Whole programs: cycles of each on this host, and in a guest with the core model.
//!
//! Each does two amounts of the same work, of which the difference is compared too: what it takes to start, and memory
//! that is touched for the first time, is not in it.
//!
//! The host need not have a PMU, so its cycles are the processor time of the program times the clock of the core, which
//! is looked at before and behind each run. User code alone is compared: the kernels differ, and so do page faults in a
//! virtual machine and out of one. What the kernel books of these as user code is measured apart, and subtracted.

use super::native::{self, Host, Sampled, Used};
use super::record::host_name;
use super::uncore;
use crate::cargo::root;
use crate::error::TaskError;
use crate::vpmu_cli::Vpmu;
use comfy_table::{CellAlignment, Table, presets};
use core_model::{Isa, Uncore};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use vmm::counts::timing::core_of;
use vpmu::Profile;
use vpmu::profile::PROFILES;

/// Runs of each program that count, natively: as many as take so many seconds.
const LONG_ENOUGH: f64 = 3.0;
const RUNS: Range<usize> = 15..200;
/// Amounts of work: indices of what follows.
const AMOUNTS: [usize; 2] = [0, 1];
/// Bytes of source code that are compressed.
const TEXT: [usize; 2] = [300_000, 900_000];
/// Functions of the C file.
const FUNCTIONS: [u32; 2] = [50, 100];
/// Rows of the database.
const ROWS: [u32; 2] = [60_000, 120_000];
/// Rows of the JSON text.
const RECORDS: [u32; 2] = [12_000, 24_000];

/// A program with what it is given, in the working directory of [`inputs`]. Files have an amount of work behind their
/// names, 0 or 1, which is `@` here.
struct Program {
    name: &'static str,
    /// For a shell: prints its path.
    path: &'static str,
    arguments: &'static [&'static str],
    input: Option<&'static str>,
    /// For a shell: prints directories that the guest needs.
    directories: Option<&'static str>,
}

impl Program {
    const fn new(name: &'static str, path: &'static str, arguments: &'static [&'static str]) -> Self {
        Self { name, path, arguments, input: None, directories: None }
    }
}

/// What hosts have, with inputs of our own: 50 million to two billion instructions each.
const PROGRAMS: [Program; 8] = [
    Program::new("gzip -9", "command -v gzip", &["-9", "-c", "text@"]),
    Program::new("xz -2", "command -v xz", &["-2", "-T1", "-c", "text@"]),
    Program::new("bzip2", "command -v bzip2", &["-c", "text@"]),
    Program::new("zstd -9", "command -v zstd", &["-q", "-9", "--single-thread", "-c", "text@"]),
    Program { input: Some("rows@.sql"), ..Program::new("sqlite3", "command -v sqlite3", &[":memory:"]) },
    Program {
        directories: Some("/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path(\"stdlib\"))'"),
        ..Program::new("python3", "ls /usr/bin/python3", &["-I", "-S", "work@.py"])
    },
    Program::new("perl", "command -v perl", &["words.pl", "text@"]),
    Program::new(
        "cc1 -O1",
        "gcc -print-prog-name=cc1",
        &["-quiet", "-fpreprocessed", "-O1", "-o", "-", "functions@.c"],
    ),
];

fn rows(count: u32) -> String {
    format!(
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, c TEXT);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {count})
  INSERT INTO t SELECT x, x * 2654435761 % 1000003, 'row ' || x FROM n;
CREATE INDEX i ON t(b);
UPDATE t SET c = c || '!' WHERE b % 7 = 0;
SELECT count(*), sum(b), max(c) FROM t WHERE b BETWEEN 1000 AND 900000;
"
    )
}

fn work(records: u32) -> String {
    format!(
        "import json
rows = [{{'n': n, 'square': n * n, 'text': str(n) * 3}} for n in range({records})]
again = json.loads(json.dumps(rows))
again.sort(key=lambda row: (row['text'], -row['n']))
total = 0
for row in again:
    total = (total * 31 + row['square']) % 1000003
print(total)
"
    )
}

const WORDS: &str = "my %count;
while (<>) { $count{lc $1}++ while /([A-Za-z_]+)/g; }
my @best = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print \"$_ $count{$_}\\n\" for @best[0..19];
";

/// C that makes a compiler work: loops, branches, calls, a switch.
fn functions(count: u32) -> String {
    let mut text = String::from("unsigned table[256];\n");
    for n in 0..count {
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
        if text.len() >= TEXT[1] {
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
    let mut files = vec![("words.pl".to_owned(), WORDS.as_bytes().to_vec())];
    for amount in AMOUNTS {
        let part = &text[..text.len().min(TEXT[amount])];
        files.extend([
            (format!("text{amount}"), part.to_vec()),
            (format!("rows{amount}.sql"), rows(ROWS[amount]).into_bytes()),
            (format!("work{amount}.py"), work(RECORDS[amount]).into_bytes()),
            (format!("functions{amount}.c"), functions(FUNCTIONS[amount]).into_bytes()),
        ]);
    }
    for (name, bytes) in files {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(failed(&path))?;
    }
    Ok(directory)
}

impl Program {
    /// Its arguments.
    fn arguments(&self, amount: usize) -> impl Iterator<Item = String> {
        self.arguments.iter().map(move |argument| of_amount(argument, amount))
    }

    /// The same streams for a command, whoever runs the program.
    fn streams<'a>(
        &self,
        command: &'a mut Command,
        amount: usize,
        directory: &Path,
    ) -> Result<&'a mut Command, TaskError> {
        let input = match self.input {
            Some(name) => {
                let path = directory.join(of_amount(name, amount));
                fs::File::open(&path).map_err(|source| TaskError::File { path, source })?.into()
            }
            None => Stdio::null(),
        };
        Ok(command.current_dir(directory).stdin(input).stdout(Stdio::null()))
    }

    /// Its file, if this host has it.
    fn find(&self) -> Option<String> {
        lines_of(self.path).into_iter().next().filter(|path| path.starts_with('/'))
    }

    /// Cycles of user code on this host, if those of a page fault are booked as such; `None` if they are not stable.
    fn natively(
        &self,
        (path, amount): (&str, usize),
        host: &mut Host,
        fault: f64,
        directory: &Path,
    ) -> Result<Option<Native>, TaskError> {
        let run = || {
            let mut command = Command::new(path);
            command.args(self.arguments(amount)).stderr(Stdio::null());
            self.streams(&mut command, amount, directory).and_then(Host::processor_time)
        };
        let Used { user, kernel, faults } = run()?;
        let runs = ((LONG_ENOUGH / (user + kernel).max(0.001)) as usize).clamp(RUNS.start, RUNS.end);
        let (mut all, mut failed) = (Used::default(), None);
        let sampled = host.sample_seconds(runs, || match run() {
            Ok(used) => {
                all = all + used;
                Some(used.user + used.kernel)
            }
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(sampled.map(|Sampled { cycles, spread }| {
            let booked = cycles * all.share_of_user();
            Native { user: booked - faults * fault, faults: faults * fault, kernel: cycles - booked, spread }
        }))
    }

    /// Instructions and cycles of user code in the guest.
    fn in_guest(
        &self,
        (path, amount): (&str, usize),
        vpmu: &Vpmu,
        guest: &[String],
        directory: &Path,
    ) -> Result<[f64; 2], TaskError> {
        let report = directory.join("report.json");
        let mut command = vpmu.bare();
        command.args(["stat", "--json", "--detail", "timing"]).args(guest).arg("-o").arg(&report);
        for needed in self.directories.map(lines_of).into_iter().flatten() {
            command.arg("--dir").arg(needed);
        }
        command.arg("--").arg(path).args(self.arguments(amount)).stderr(Stdio::null());
        let status = self.streams(&mut command, amount, directory)?.status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(TaskError::Data(format!("{} failed in the guest; try {command:?}", self.name)));
        }
        let text = fs::read(&report).map_err(|source| TaskError::File { path: report.clone(), source })?;
        let json: Value = serde_json::from_slice(&text)
            .map_err(|error| TaskError::Data(format!("{}: {error}", report.display())))?;
        let of = |event: &str| {
            let rows = json["events"].as_array().into_iter().flatten();
            let row = rows.into_iter().find(|row| row["event"] == event);
            row.and_then(|row| row["user"].as_f64())
        };
        match (of("instructions"), of("cycles")) {
            (Some(instructions), Some(cycles)) => Ok([instructions, cycles]),
            _ => Err(TaskError::Data(format!("no cycles in {}", report.display()))),
        }
    }
}

/// The name of a file for an amount of work.
fn of_amount(name: &str, amount: usize) -> String {
    name.replace('@', &amount.to_string())
}

/// What a shell prints, in lines; none if it fails.
fn lines_of(script: &str) -> Vec<String> {
    let output =
        Command::new("sh").args(["-c", script]).output().ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What a program took on this host.
#[derive(Debug, Clone, Copy)]
struct Native {
    /// Cycles of user code.
    user: f64,
    /// Cycles of page faults that the kernel booked as such.
    faults: f64,
    /// Other cycles of the kernel.
    kernel: f64,
    /// As that of [`Sampled`].
    spread: f64,
}

impl Native {
    fn all(self) -> f64 {
        self.user + self.faults + self.kernel
    }

    /// The same of what one run does more than another one; the larger spread of both, of the difference.
    fn less(self, other: Self) -> Self {
        let (user, faults, kernel) =
            (self.user - other.user, self.faults - other.faults, self.kernel - other.kernel);
        let spread = (self.spread * self.all()).max(other.spread * other.all());
        Self { user, faults, kernel, spread: spread / (self.all() - other.all()) }
    }
}

/// Prints cycles of programs on this host and on a profile's core: of a run, and of what another one does more.
/// Only programs whose names contain `part`.
pub(crate) fn compare(profile: &str, part: &str) -> Result<(), TaskError> {
    let wanted: Vec<&Program> = PROGRAMS.iter().filter(|program| program.name.contains(part)).collect();
    if wanted.is_empty() {
        let names = PROGRAMS.map(|program| program.name).join(", ");
        return Err(TaskError::Data(format!("no program has {part} in its name; there are {names}")));
    }
    let core_of = |profile: &Profile| core_of(profile).filter(|core| core.isa == Isa::X86);
    let core = Profile::by_name(profile).and_then(core_of).ok_or_else(|| {
        let modelled = PROFILES.iter().filter(|profile| core_of(profile).is_some());
        let names: Vec<&str> = modelled.map(|profile| &*profile.name).collect();
        TaskError::Data(format!(
            "{profile} is no profile with a model of its core; there are {}",
            names.join(", ")
        ))
    })?;
    let directory = inputs()?;
    let vpmu = Vpmu::build()?;
    // It says why not, before minutes of measuring are in vain.
    let mut trial = vpmu.bare();
    if !trial.args(["run", "--", "true"]).stdin(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return Err(TaskError::Data(format!("no program runs in a guest; try {trial:?}")));
    }
    anstream::println!("{}, beside {profile}", host_name());
    let mut installed = Vec::new();
    for program in wanted {
        match program.find() {
            Some(path) => installed.push((program, path)),
            None => anstream::eprintln!("{}: not on this host", program.name),
        }
    }
    let (uncore, measured) = native::on_thread(|mut host| {
        let uncore = uncore::measure(&mut host, core)?;
        let fault = host.fault_in_user_time()?;
        let left = fault.map_or_else(
            || "what page faults leave in user time is not stable, and not subtracted".to_owned(),
            |cycles| format!("a page fault leaves {cycles:.0} cycles of user time, which are subtracted"),
        );
        anstream::println!("{left}");
        let fault = fault.unwrap_or(0.0);
        let mut measure = |program: &Program, path: &str| {
            anstream::eprintln!("{} on this host", program.name);
            let mut of = |amount| program.natively((path, amount), &mut host, fault, &directory);
            let both = of(0)?.zip(of(1)?);
            if let Some((less, more)) = both {
                anstream::eprintln!("    {}", megacycles([less.user, more.user]));
            }
            Ok(both)
        };
        let measured = installed.iter().map(|(program, path)| measure(program, path));
        Ok((uncore, measured.collect::<Result<Vec<_>, TaskError>>()?))
    })?;
    let mut guest = vec!["--profile".to_owned(), profile.to_owned()];
    match uncore {
        Some(Uncore { llc, llc_lifetime, memory_latency: Some(cycles) }) => {
            let share = llc.map_or_else(|| "all".to_owned(), |llc| format!("{} MiB", llc.get() >> 20));
            let kept =
                llc_lifetime.map(|cycles| format!(", lines for {:.1} Mcycles", cycles.get() as f64 / 1e6));
            anstream::println!(
                "last-level cache: {share} of it{}, memory: {cycles} cycles",
                kept.unwrap_or_default()
            );
            guest.extend(llc.iter().flat_map(|llc| ["--llc".to_owned(), format!("{}M", llc.get() >> 20)]));
            guest.extend(
                llc_lifetime.iter().flat_map(|cycles| ["--llc-lifetime".to_owned(), cycles.to_string()]),
            );
            guest.extend(["--memory-latency".to_owned(), cycles.to_string()]);
        }
        _ => anstream::println!("last-level cache and memory: as the core's description has them"),
    }
    let mut tables = [table(), table()];
    let mut errors = [Vec::new(), Vec::new()];
    for ((program, path), native) in installed.iter().zip(measured) {
        let Some((less, more)) = native else {
            anstream::eprintln!("{}: not stable on this host", program.name);
            continue;
        };
        anstream::eprintln!("{} in a guest", program.name);
        let in_guest = |amount| program.in_guest((path, amount), &vpmu, &guest, &directory);
        let (first, second) = match in_guest(0).and_then(|first| Ok((first, in_guest(1)?))) {
            Ok(counted) => counted,
            Err(error) => {
                anstream::eprintln!("{error}");
                continue;
            }
        };
        anstream::eprintln!("    {}", megacycles([first[1], second[1]]));
        let difference = [second[0] - first[0], second[1] - first[1]];
        let rows = [(less, first), (more.less(less), difference)];
        for ((native, guest), (table, errors)) in rows.into_iter().zip(tables.iter_mut().zip(&mut errors)) {
            errors.push((guest[1] / native.user - 1.0).abs());
            add_row(table, program.name, native, guest);
        }
    }
    let titles = ["A run, start included", "What a second run with more work takes more"];
    for ((title, table), errors) in titles.into_iter().zip(tables).zip(errors) {
        let mean = errors.iter().sum::<f64>() / (errors.len() as f64).max(1.0);
        anstream::println!("\n{title}: {} programs, mean error {:.1} %\n{table}", errors.len(), mean * 100.0);
    }
    Ok(())
}

/// Cycles of both amounts of work, for who cannot wait for the tables.
fn megacycles([less, more]: [f64; 2]) -> String {
    format!("{:.1} and {:.1} Mcycles", less / 1e6, more / 1e6)
}

/// A table without rows.
fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "program",
        "user instructions",
        "host Mcycles",
        "spread",
        "page faults",
        "kernel besides",
        "model Mcycles",
        "error",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// `guest`: instructions and cycles.
fn add_row(table: &mut Table, name: &str, native: Native, [instructions, model]: [f64; 2]) {
    let Native { user, faults, kernel, spread } = native;
    table.add_row([
        name.to_owned(),
        format!("{:.1} M", instructions / 1e6),
        format!("{:.1}", user / 1e6),
        format!("{:.1} %", spread * 100.0),
        format!("{:.1}", faults / 1e6),
        format!("{:.0} %", kernel / native.all() * 100.0),
        format!("{:.1}", model / 1e6),
        format!("{:+.1} %", (model / user - 1.0) * 100.0),
    ]);
}
