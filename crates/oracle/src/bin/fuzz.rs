//! The command behind `cargo xtask fuzz`.

use clap::Parser;
use comfy_table::{Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use oracle::Isa;
use oracle::a64;
use oracle::fuzz::{Fuzzer, Rounds};
use random_testing::Random;
use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Debug, Parser)]
#[command(name = "fuzz", about = "Feed soft-cpu or arm-cpu random code", max_term_width = 79)]
struct Args {
    /// The instruction set: soft-cpu or arm-cpu
    #[arg(long, value_enum, default_value_t = Isa::X86)]
    isa: Isa,
    /// Instructions to execute, in all modes together
    #[arg(long, default_value_t = 10_000_000)]
    instructions: u64,
    /// Seed of the rounds; the same seed makes the same rounds
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Let another CPU do the same with every block compiled when it is come to first, and compare
    #[arg(long)]
    compile: bool,
    /// Give up all rights before the first round: seccomp and landlock, as for `vpmu run --sandbox`
    #[arg(long)]
    sandbox: bool,
    /// Seconds after which a round counts as hung
    #[arg(long, default_value_t = 60)]
    patience: u64,
}

/// Rounds done.
static ROUNDS: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    let args = Args::parse();
    let fuzzer: Box<dyn Rounds> = match args.isa {
        Isa::X86 if args.compile => Box::new(Fuzzer::new().compiling()),
        Isa::X86 => Box::new(Fuzzer::new()),
        Isa::A64 if args.compile => {
            anstream::eprintln!("error: --compile is about soft-cpu: code of AArch64 is interpreted");
            return ExitCode::from(2);
        }
        Isa::A64 => Box::new(a64::fuzz::Fuzzer::new()),
    };
    let kinds = fuzzer.kinds();
    watch(args.patience);
    if args.sandbox
        && let Err(error) = sandbox::enter(sandbox::Needs::default())
    {
        anstream::eprintln!("error: {error}; without --sandbox the rounds run with your rights");
        return ExitCode::from(2);
    }
    let started = Instant::now();
    let mut progress = Progress::new(args.instructions);
    let (mut retired, mut defects, mut total) = (vec![0; kinds.len()], 0_u64, 0);
    let mut seeds = Random::new(args.seed);
    'all: loop {
        let seed = seeds.bits();
        for (kind, [mode, source]) in kinds.iter().enumerate() {
            if total >= args.instructions {
                break 'all;
            }
            match fuzzer.round(seed, kind) {
                Ok(done) => {
                    retired[kind] += done;
                    total += done;
                }
                Err(defect) => {
                    defects += 1;
                    anstream::println!("{mode}, {source}, round {seed:#x}: {defect}");
                }
            }
            ROUNDS.fetch_add(1, Ordering::Relaxed);
            progress.update(total, defects);
        }
    }
    progress.bar.finish_and_clear();
    print(&kinds, &retired);
    let rounds = ROUNDS.load(Ordering::Relaxed);
    let seconds = started.elapsed().as_secs_f64();
    if let Some(compiled) = fuzzer.compiled() {
        anstream::println!("{compiled} of them executed in compiled code too");
    }
    anstream::println!("{total} instructions in {rounds} rounds, {defects} defects, {seconds:.1} s");
    if defects == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A bar on a terminal, a line now and then elsewhere.
struct Progress {
    bar: ProgressBar,
    instructions: u64,
    started: Instant,
    /// When the next line is due; never on a terminal.
    due: Option<Instant>,
}

/// Time from one line to the next.
const LINES: Duration = Duration::from_secs(30);

impl Progress {
    fn new(instructions: u64) -> Self {
        let template = "{bar:30} {human_pos}/{human_len} instructions, {per_sec}, {msg}, {eta} left";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(instructions).with_style(style).with_message("0 defects");
        let started = Instant::now();
        Self { bar, instructions, started, due: (!stderr().is_terminal()).then_some(started + LINES) }
    }

    fn update(&mut self, total: u64, defects: u64) {
        self.bar.set_position(total);
        self.bar.set_message(format!("{defects} defects"));
        let now = Instant::now();
        if self.due.is_some_and(|due| now >= due) {
            self.due = Some(now + LINES);
            let speed = total as f64 / 1e6 / self.started.elapsed().as_secs_f64();
            let all = self.instructions;
            anstream::eprintln!(
                "{total} of {all} instructions, {speed:.2} million a second, {defects} defects"
            );
        }
    }
}

fn print(kinds: &[[&str; 2]], retired: &[u64]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["mode", "code", "instructions"]);
    for ([mode, source], count) in kinds.iter().zip(retired) {
        table.add_row([(*mode).to_owned(), (*source).to_owned(), count.to_string()]);
    }
    anstream::println!("{table}");
}

/// Ends the program when a round takes too long: a loop inside an instruction cannot be left otherwise.
fn watch(patience: u64) {
    thread::spawn(move || {
        let mut seen = None;
        loop {
            thread::sleep(Duration::from_secs(patience));
            let now = ROUNDS.load(Ordering::Relaxed);
            if seen == Some(now) {
                anstream::eprintln!("error: round {} of this seed does not end", now + 1);
                std::process::exit(2);
            }
            seen = Some(now);
        }
    });
}
