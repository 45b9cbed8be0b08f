//! The command behind `cargo xtask oracle`.

use clap::{Parser, ValueEnum};
use comfy_table::{Table, presets};
use iced_x86::{Code, EncodingKind};
use indicatif::{ProgressBar, ProgressStyle};
use oracle::corpus::Corpus;
use oracle::cpu::CpuId;
use oracle::generator::Generator;
use oracle::host::Host;
use oracle::machine::Machine;
use oracle::run::{Difference, Oracle, Report};
use oracle::soft::Soft;
use oracle::{Isa, a64};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

#[derive(Debug, Parser)]
#[command(
    name = "oracle",
    about = "Compare soft-cpu with the host's CPU, or arm-cpu with QEMU",
    max_term_width = 79
)]
struct Args {
    /// The instruction set: soft-cpu against the host's CPU, or arm-cpu against qemu-aarch64
    #[arg(long, value_enum, default_value_t = Isa::X86)]
    isa: Isa,
    /// Cases to compare
    #[arg(long, default_value_t = 1_000_000)]
    cases: u64,
    /// Seed of the random cases; the same seed makes the same cases
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only cases that start with these instructions
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    mnemonic: Vec<String>,
    /// Only cases that start with an instruction of these encodings
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    encoding: Vec<Encoding>,
    /// What is enabled at most: x87 and SSE, AVX too, or AVX-512 too
    #[arg(long, value_enum, default_value_t = Level::V4)]
    level: Level,
    /// Compile every block of soft-cpu when it is come to first
    #[arg(long, conflicts_with = "record")]
    compile: bool,
    /// Only list the instructions that are compared
    #[arg(long)]
    list: bool,
    /// Only print the table of what is not compared, for docs/oracle.md
    #[arg(long)]
    masks: bool,
    /// Only print the table of what CPUs do differently, for docs/oracle.md
    #[arg(long)]
    rules: bool,
    /// Write the cases, and what the CPU makes of them, to a file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Compare with what a CPU has made of recorded cases
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "seed", "mnemonic", "record"])]
    replay: Option<PathBuf>,
}

/// How an instruction is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Encoding {
    Legacy,
    Vex,
    Evex,
}

impl Encoding {
    fn has(self, code: Code) -> bool {
        let kind = match self {
            Self::Legacy => EncodingKind::Legacy,
            Self::Vex => EncodingKind::VEX,
            Self::Evex => EncodingKind::EVEX,
        };
        code.op_code().encoding() == kind
    }
}

/// Levels of x86-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    V2,
    V3,
    V4,
}

impl Level {
    fn machine(self) -> Machine {
        match self {
            Self::V2 => Machine::Sse,
            Self::V3 => Machine::Avx,
            Self::V4 => Machine::Avx512,
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.isa {
        Isa::X86 => run(&args),
        Isa::A64 => run_a64(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    let host = if args.replay.is_some() || args.list { Host::complete() } else { Host::this() };
    let mut generator = Generator::new(&host.with_machine(args.level.machine()));
    if !args.mnemonic.is_empty() {
        let mut mnemonics = Vec::new();
        for name in &args.mnemonic {
            let found = iced_x86::Mnemonic::values().find(|m| format!("{m:?}").eq_ignore_ascii_case(name));
            let mnemonic = found.ok_or_else(|| format!("there is no instruction {name:?}"))?;
            if !generator.codes().iter().any(|code| code.mnemonic() == mnemonic) {
                return Err(not_compared(name).into());
            }
            mnemonics.push(mnemonic);
        }
        generator.retain(|code| mnemonics.contains(&code.mnemonic()));
    }
    if !args.encoding.is_empty() {
        generator.retain(|code| args.encoding.iter().any(|encoding| encoding.has(code)));
        if generator.codes().is_empty() {
            return Err("no instruction of these encodings is compared".into());
        }
    }
    if args.list {
        for code in generator.codes() {
            anstream::println!("{code:?}");
        }
        return Ok(true);
    }
    if args.masks {
        anstream::print!("{}", oracle::masks::markdown());
        return Ok(true);
    }
    if args.rules {
        anstream::print!("{}", soft_cpu::silicon::markdown());
        return Ok(true);
    }
    if let Some(path) = &args.replay {
        return replay(path, args.compile).map_err(|error| format!("{}: {error}", path.display()).into());
    }
    let mut oracle = Oracle::new()?;
    if args.compile {
        oracle = oracle.compiling()?;
    }
    if let Some(path) = &args.record {
        let corpus = Corpus::record(&mut oracle, &generator, args.seed, usize::try_from(args.cases)?);
        let bytes = corpus.to_bytes()?;
        std::fs::write(path, &bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        anstream::println!("{} cases, {} bytes: {}", corpus.len(), bytes.len(), path.display());
        return Ok(true);
    }
    let bar = progress(args.cases)?;
    let started = Instant::now();
    let report = oracle.run(&generator, args.seed, args.cases, |_, _| bar.inc(1));
    bar.finish_and_clear();
    print(&report, oracle.cpu());
    let absent = generator.absent().len();
    if absent != 0 {
        anstream::println!(
            "{absent} encodings left out: this CPU does not have them, or --level leaves them out"
        );
    }
    if args.compile {
        print_compiled(oracle.executed());
    }
    anstream::println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(report.different == 0)
}

fn print_compiled((instructions, compiled): (u64, u64)) {
    anstream::println!("{compiled} of {instructions} instructions executed in compiled code");
}

fn not_compared(name: &str) -> String {
    format!("{name} is not compared: not implemented, or see `docs/oracle.md`")
}

fn run_a64(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    if args.compile {
        return Err("--compile is about soft-cpu: code of AArch64 is interpreted".into());
    }
    if args.rules {
        return Err("--rules is about CPUs of x86-64; --masks has what is not compared of A64".into());
    }
    if args.masks {
        anstream::print!("{}", a64::rules::markdown());
        return Ok(true);
    }
    if let Some(path) = &args.replay {
        return replay_a64(path).map_err(|error| format!("{}: {error}", path.display()).into());
    }
    let mut generator = a64::generator::Generator::new();
    if !args.mnemonic.is_empty() {
        let forms = generator.forms();
        let is_known = |name: &&String| forms.iter().any(|form| form.mnemonic().eq_ignore_ascii_case(name));
        if let Some(name) = args.mnemonic.iter().find(|name| !is_known(name)) {
            return Err(not_compared(name).into());
        }
        generator.retain(|form| args.mnemonic.iter().any(|name| form.mnemonic().eq_ignore_ascii_case(name)));
    }
    if args.list {
        for form in generator.forms() {
            let definition = form.definition;
            anstream::println!("{:08x}/{:08x} {}", definition.opcode, definition.mask, form.mnemonic());
        }
        return Ok(true);
    }
    let mut oracle = a64::run::Oracle::new()?;
    let mut corpus = a64::corpus::Corpus::new(oracle.version());
    let bar = progress(args.cases)?;
    let started = Instant::now();
    let report = oracle.run(&generator, args.seed, args.cases, |case, agreed| {
        bar.inc(1);
        if let (true, Some(outcome)) = (args.record.is_some(), agreed) {
            corpus.push(case, outcome);
        }
    });
    bar.finish_and_clear();
    a64::report::print(&report, oracle.version());
    anstream::println!("{:.1} s", started.elapsed().as_secs_f64());
    if let Some(path) = &args.record {
        let bytes = corpus.to_bytes()?;
        std::fs::write(path, &bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        anstream::println!("{} cases, {} bytes: {}", corpus.len(), bytes.len(), path.display());
    }
    Ok(report.different == 0)
}

fn replay_a64(path: &Path) -> Result<bool, Box<dyn std::error::Error>> {
    let corpus = a64::corpus::Corpus::from_bytes(&std::fs::read(path)?)?;
    let replay = corpus.replay(&mut a64::soft::Soft::new());
    a64::report::print_differences(&replay.different);
    anstream::println!(
        "{} cases of {}: {} equal, {} differ in what is not compared only, {} unexplained",
        corpus.len(),
        corpus.version,
        replay.equal,
        replay.masked,
        replay.different.len()
    );
    Ok(replay.different.is_empty())
}

fn progress(cases: u64) -> Result<ProgressBar, Box<dyn std::error::Error>> {
    Ok(ProgressBar::new(cases).with_style(ProgressStyle::with_template(
        "{bar:30} {human_pos}/{human_len} cases, {per_sec}, {eta} left {msg}",
    )?))
}

fn replay(path: &Path, compile: bool) -> Result<bool, Box<dyn std::error::Error>> {
    let corpus = Corpus::from_bytes(&std::fs::read(path)?)?;
    let cpu = corpus.cpu.map_or_else(|| CpuId::from_file_name(path), Ok)?;
    let mut soft = if compile { Soft::compiling(cpu.silicon())? } else { Soft::new(cpu.silicon()) };
    let replay = corpus.replay(&mut soft, usize::MAX);
    if compile {
        print_compiled(soft.executed());
    }
    print_differences(&replay.different);
    anstream::println!(
        "{} cases of {cpu}: {} equal, {} differ in what is masked only, {} unexplained",
        corpus.len(),
        replay.equal,
        replay.masked,
        replay.different.len()
    );
    Ok(replay.different.is_empty())
}

fn print_differences(differences: &[Difference]) {
    // One example of each; the others are often the same.
    let mut shown = BTreeMap::new();
    for difference in differences {
        let count = shown.entry(&difference.mnemonic).or_insert(0_u64);
        *count += 1;
        if *count == 1 {
            anstream::println!("{difference}");
        }
    }
    for (mnemonic, count) in shown {
        anstream::println!("{count:>9} differences in {mnemonic}");
    }
}

fn print(report: &Report, cpu: CpuId) {
    print_differences(&report.differences);
    print_differences(&report.open_differences);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["cases start with", "encodings", "cases"]);
    for (name, group) in &report.groups {
        table.add_row([(*name).to_owned(), group.forms.len().to_string(), group.cases.to_string()]);
    }
    anstream::println!("{table}");
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["cases end in exception", "cases"]);
    for (vector, count) in &report.vectors {
        table.add_row([vector.to_string(), count.to_string()]);
    }
    anstream::println!("{table}");
    anstream::println!(
        "{} cases on {cpu} over {} mnemonics: {} unexplained, {} differ in what is masked only, \
         {} in #GP that KVM emulates; left out: {} without an end, {} with what one side does not have",
        report.cases,
        report.mnemonics.len(),
        report.different,
        report.undefined,
        report.emulated,
        report.endless,
        report.unsupported
    );
    if cpu.core().is_none() {
        anstream::println!(
            "{} more differ in what the manuals leave open (the order of faults, what a faulting instruction has \
             done, what recorded cores do differently); this core has not been recorded: cargo xtask oracle --record \
             FILE",
            report.open
        );
    }
}
