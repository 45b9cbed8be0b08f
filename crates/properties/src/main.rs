//! The command behind `cargo xtask properties`.

#![forbid(unsafe_code)]

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use properties::{Reached, Report, Violation, check_without_panic, describe, shrink};
use random_testing::Random;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Bytes of a sequence: a few hundred operations.
const SEQUENCE: usize = 2048;
/// Sequences between two updates of the progress bar.
const SEQUENCES_PER_UPDATE: u64 = 64;

#[derive(Debug, Parser)]
#[command(
    name = "properties",
    about = "Check what has to hold of the virtual PMU, in random sequences",
    max_term_width = 79
)]
struct Args {
    /// Operations to run, over all profiles together
    #[arg(long, default_value_t = 10_000_000)]
    operations: u64,
    /// Seed; the same seed makes the same operations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run the sequences in these files instead, of this program or of the fuzzer
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["operations", "seed"])]
    replay: Vec<PathBuf>,
    /// Write a failing sequence to this file, for --replay
    #[arg(long, value_name = "FILE", default_value = "properties-failure.bin")]
    save: PathBuf,
    /// Print one line of JSON in place of the table
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut report = Report::default();
    let started = Instant::now();
    let result = if args.replay.is_empty() { random(&args, &mut report) } else { replay(&args, &mut report) };
    match result {
        Ok(()) => {
            print(&args, &report, started.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(message) => {
            anstream::eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn random(args: &Args, report: &mut Report) -> Result<(), String> {
    // Hidden where stderr is no terminal.
    let bar = ProgressBar::new(args.operations).with_style(
        ProgressStyle::with_template("{bar:30} {human_pos}/{human_len} operations, {per_sec}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    if !args.json {
        anstream::println!("seed {}", args.seed);
    }
    let mut random = Random::new(args.seed);
    let mut bytes = vec![0; SEQUENCE];
    while report.operations < args.operations {
        random.fill(&mut bytes);
        check_without_panic(&bytes, report).map_err(|violation| {
            bar.finish_and_clear();
            failure(args, &bytes, &violation)
        })?;
        if report.sequences.is_multiple_of(SEQUENCES_PER_UPDATE) {
            bar.set_position(report.operations);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn replay(args: &Args, report: &mut Report) -> Result<(), String> {
    for path in &args.replay {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        check_without_panic(&bytes, report).map_err(|violation| {
            let (_, ops) = describe(&bytes);
            format!("{}: {violation}{}", path.display(), list(&ops))
        })?;
    }
    Ok(())
}

/// Shrinks a failing sequence, writes it to a file and says what it does.
fn failure(args: &Args, bytes: &[u8], first: &Violation) -> String {
    // Every candidate may panic; one message is enough.
    std::panic::set_hook(Box::new(|_| {}));
    let shrunk = shrink(bytes);
    drop(std::panic::take_hook());
    let (profile, ops) = describe(&shrunk);
    let shown = check_without_panic(&shrunk, &mut Report::default()).err();
    let saved = match fs::write(&args.save, &shrunk) {
        Ok(()) => format!("run it again with --replay {}", args.save.display()),
        Err(error) => format!("{} could not be written: {error}", args.save.display()),
    };
    format!(
        "seed {}: {first}\nshrunk to {} operations on {profile}: {}{}\n{saved}",
        args.seed,
        ops.len(),
        shown.map_or_else(String::new, |violation| violation.to_string()),
        list(&ops)
    )
}

fn list(ops: &[String]) -> String {
    ops.iter().map(|op| format!("\n    {op}")).collect()
}

fn print(args: &Args, report: &Report, seconds: f64) {
    if args.json {
        let json = serde_json::json!({ "seed": args.seed, "seconds": seconds, "report": report });
        anstream::println!("{json}");
        return;
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (reached, count) in Reached::ALL.iter().zip(report.reached) {
        table.add_row([reached.name().to_owned(), count.to_string()]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    anstream::println!("{table}");
    let Report { operations, sequences, compared, .. } = report;
    anstream::println!(
        "{operations} operations in {sequences} sequences, {compared} of them compared with a naive model: every rule \
         held, {seconds:.1} s"
    );
}
