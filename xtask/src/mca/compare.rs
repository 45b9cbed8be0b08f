//! Throughput of generated blocks: core model against llvm-mca.

use super::blocks::{Kind, Random, block, kinds};
use super::llvm::{Mca, att};
use super::x86::TARGET;
use crate::error::TaskError;
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use core_model::{Core, LlvmSimulation, pipelines};
use iced_x86::InstructionInfoFactory;
use soft_cpu::describe;

/// Iterations of a block in both simulations.
const ITERATIONS: u32 = 200;

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Blocks for each core
    #[arg(long, default_value_t = 600)]
    blocks: usize,
    /// Seed of the generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Show this many of the blocks that differ most
    #[arg(long, default_value_t = 0)]
    worst: usize,
}

/// One block's cycles per iteration.
struct Outcome {
    kind: Kind,
    ours: f64,
    theirs: f64,
    text: Vec<String>,
}

impl Outcome {
    fn error(&self) -> f64 {
        (self.ours / self.theirs - 1.0).abs()
    }
}

/// Prints the errors by kind of block.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), TaskError> {
    let mca = TARGET.mca()?;
    anstream::println!(
        "cycles per iteration, core model against llvm-mca {} ({} blocks a core, seed {})\n",
        mca.version,
        args.blocks,
        args.seed
    );
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["core", "blocks", "count", "median error", "90th percentile", "largest"]);
    for column in 2..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut worst = Vec::new();
    for core in pipelines(TARGET.isa) {
        let avx512 =
            TARGET.probe.is_some_and(|probe| mca.executes(core.llvm_name, probe).is_ok_and(|has| has));
        let kinds = kinds(avx512);
        let mut outcomes = run(&mca, core, &kinds, args)?;
        outcomes.sort_by(|a, b| a.error().total_cmp(&b.error()));
        for kind in kinds {
            let errors: Vec<f64> =
                outcomes.iter().filter(|outcome| outcome.kind == kind).map(Outcome::error).collect();
            table.add_row(row(core.name, kind.name(), &errors));
        }
        let errors: Vec<f64> = outcomes.iter().map(Outcome::error).collect();
        table.add_row(row(core.name, "all", &errors));
        worst.extend(outcomes.into_iter().rev().take(args.worst).map(|outcome| (core.name, outcome)));
    }
    anstream::println!("{table}");
    for (core, outcome) in worst {
        anstream::println!(
            "\n{core}, {}: {:.2} here, {:.2} there",
            outcome.kind.name(),
            outcome.ours,
            outcome.theirs
        );
        for line in outcome.text {
            anstream::println!("    {line}");
        }
    }
    Ok(())
}

fn row(core: &str, kind: &str, errors: &[f64]) -> Vec<String> {
    let at = |share: f64| {
        let index = ((errors.len() as f64 * share) as usize).min(errors.len().saturating_sub(1));
        errors.get(index).map_or("-".to_owned(), |error| format!("{:.1} %", error * 100.0))
    };
    vec![core.to_owned(), kind.to_owned(), errors.len().to_string(), at(0.5), at(0.9), at(1.0)]
}

fn run(
    mca: &Mca,
    core: &'static Core,
    kinds: &[Kind],
    args: &CompareArgs,
) -> Result<Vec<Outcome>, TaskError> {
    let mut random = Random::new(args.seed);
    let bar = indicatif::ProgressBar::new(args.blocks as u64).with_message(core.name);
    let mut outcomes = Vec::new();
    let simulation =
        LlvmSimulation::new(core, &describe::X86).map_err(|error| TaskError::Data(error.to_string()))?;
    let mut info = InstructionInfoFactory::new();
    for index in 0..args.blocks {
        bar.inc(1);
        let kind = kinds[index % kinds.len()];
        let code = block(kind, &mut random).map_err(|error| TaskError::Data(error.to_string()))?;
        let text: Vec<String> = code.iter().map(att).collect();
        let iterations = format!("-iterations={ITERATIONS}");
        let dispatch = format!("-dispatch={}", core.dispatch_width);
        let (json, known) = mca.analyse(core.llvm_name, &[&iterations, &dispatch], &text)?;
        let cycles = json["CodeRegions"][0]["SummaryView"]["TotalCycles"].as_u64();
        let body: Vec<_> = code.iter().map(|one| describe::instruction(one, &[], &mut info)).collect();
        let ours = simulation.cycles(&body, ITERATIONS);
        let Some(theirs) = cycles else {
            return Err(TaskError::Data(format!("no cycles for the block {text:?}")));
        };
        if known.len() != code.len() {
            return Err(TaskError::Data(format!("llvm-mca does not read all of {text:?}")));
        }
        let each = |cycles: u64| cycles as f64 / f64::from(ITERATIONS);
        outcomes.push(Outcome { kind, ours: each(ours), theirs: each(theirs), text });
    }
    bar.finish_and_clear();
    Ok(outcomes)
}
