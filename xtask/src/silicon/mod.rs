//! The core model against silicon.
//!
//! `cargo xtask silicon --blocks FILE --core NAME` compares a core with a file of measured blocks: both sides execute
//! the same bytes ([`image`]), in a loop and unrolled. `--record FILE` measures blocks of our own on this host first.
//! The protocol is in `docs/silicon.md`.

mod able;
mod agreed;
mod block;
mod compare;
pub(crate) mod form_rows;
mod forms;
mod image;
mod machine;
mod micro;
mod native;
mod programs;
mod record;
mod uncore;

use crate::error::TaskError;
use block::Way;
use clap::Args;
use compare::{Compared, Errors};
use core_model::{Core, Isa, cores};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What can be asked for in place of blocks.
const MEASURES: [&str; 6] = ["record", "record_forms", "micro", "record_micro", "programs", "update"];
/// Classes that are printed.
const CLASSES: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct SiliconArgs {
    /// Compare a core with the blocks of this file, and measure nothing
    #[arg(long, required_unless_present_any = MEASURES)]
    blocks: Option<PathBuf>,
    /// Measure blocks of our own on this host, write them to this file, and compare the core with them
    #[arg(long, conflicts_with = "blocks")]
    record: Option<PathBuf>,
    /// Measure the blocks of this file, of another CPU maybe, in place of our own
    #[arg(long, value_name = "BLOCKS", requires = "record", conflicts_with_all = ["count", "seed"])]
    of: Option<PathBuf>,
    /// Measure nothing, but write what these recordings of one CPU agree on (repeatable): the lowest figure of a block
    /// that another one is within 3 % of
    #[arg(long, value_name = "RECORDING", requires = "record", conflicts_with_all = ["of", "count", "seed"])]
    agreed: Vec<PathBuf>,
    /// Compare a core with the latencies and penalties of this file, and measure nothing
    #[arg(long, conflicts_with_all = ["blocks", "record"])]
    micro: Option<PathBuf>,
    /// Measure latencies and penalties on this host, write them to this file, and compare the core with them
    #[arg(long, conflicts_with_all = ["blocks", "record", "micro"])]
    record_micro: Option<PathBuf>,
    /// Measure each form of instructions on this host, and write throughputs and latencies to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["blocks", "record", "micro", "record_micro"])]
    record_forms: Option<PathBuf>,
    /// Measure no form, but write what these recordings of forms of one CPU agree on (repeatable)
    #[arg(long, value_name = "RECORDING", requires = "record_forms")]
    agreed_forms: Vec<PathBuf>,
    /// Of the latencies and penalties, or of the programs, only those whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    row: String,
    /// Run programs of this host on it and in a guest with this profile, and compare their cycles
    #[arg(long, value_name = "PROFILE", conflicts_with_all = ["blocks", "record", "micro", "record_micro"])]
    programs: Option<String>,
    /// Generated blocks to record
    #[arg(long, default_value_t = 600)]
    count: usize,
    /// Seed of their generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The core (a name of the table in docs/core-model.md, or cascade-lake for Cascade Lake)
    #[arg(long, required_unless_present_any = ["update", "programs"])]
    core: Option<String>,
    /// Write the tables of the recordings of rows that are in the repository to docs/silicon.md
    #[arg(long)]
    update: bool,
    /// Show this many of the blocks with the largest share of the error
    #[arg(long, default_value_t = 0)]
    worst: usize,
    /// Write all blocks of both sides to this file
    #[arg(long)]
    output: Option<PathBuf>,
}

/// Compares a core with measured blocks.
pub(crate) fn silicon(args: &SiliconArgs) -> Result<(), TaskError> {
    if args.update {
        return micro::report::write(Path::new("."));
    }
    if let Some(profile) = &args.programs {
        return programs::compare(profile, &args.row);
    }
    let core = find_core(args.core.as_deref().unwrap_or_default())?;
    if let Some(path) = &args.record_forms {
        return match &args.agreed_forms[..] {
            [] => forms::record(core, path),
            recordings => agreed::write_forms(path, recordings),
        };
    }
    if let Some(path) = &args.record_micro {
        micro::record(path, &args.row)?;
    }
    if let Some(path) = args.record_micro.as_ref().or(args.micro.as_ref()) {
        return compare_micro(core, path, &args.row);
    }
    let path = match (&args.record, &args.blocks) {
        (Some(path), _) if !args.agreed.is_empty() => {
            agreed::write(path, &args.agreed, core)?;
            path
        }
        (Some(path), _) => {
            let blocks = match &args.of {
                Some(path) => {
                    block::read(path)?.into_iter().map(|block| (block.source, block.code)).collect()
                }
                None => record::blocks(args.count, args.seed)?,
            };
            record::record(core, path, &blocks)?;
            path
        }
        (None, Some(path)) => path,
        (None, None) => return Err(TaskError::Data("neither --blocks nor --record".to_owned())),
    };
    let blocks = block::read(path)?;
    let (compared, refused) = compare::compare(core, &blocks);
    for way in Way::ALL {
        let of: Vec<&Compared> = compared.iter().filter(|one| one.way == way).collect();
        anstream::println!("{}: {}", way.name(), line(&Errors::of(&of)));
        let mut classes: BTreeMap<&str, Vec<&Compared>> = BTreeMap::new();
        of.iter().for_each(|one| classes.entry(one.class).or_default().push(one));
        let mut classes: Vec<_> = classes.into_iter().map(|(class, of)| (class, Errors::of(&of))).collect();
        let total = |errors: &Errors| errors.mean * errors.count as f64;
        classes.sort_by(|(_, a), (_, b)| total(b).total_cmp(&total(a)));
        for (class, errors) in classes.iter().take(CLASSES) {
            anstream::println!("    {class}: {}", line(errors));
        }
    }
    for (reason, count) in refused {
        anstream::println!("refused: {count}, {reason}");
    }
    show_worst(&compared, &blocks, args.worst);
    if let Some(path) = &args.output {
        let rows = compared.iter().map(|one| {
            let Compared { index, way, class, silicon, model } = one;
            let code = blocks[*index].hexadecimal();
            format!("{}\t{class}\t{silicon}\t{model:.4}\t{code}\n", way.name())
        });
        let text: String =
            std::iter::once("way\tclass\tsilicon\tmodel\tcode\n".to_owned()).chain(rows).collect();
        fs::write(path, text).map_err(|source| TaskError::File { path: path.clone(), source })?;
    }
    Ok(())
}

fn compare_micro(core: &'static Core, path: &Path, part: &str) -> Result<(), TaskError> {
    let text =
        fs::read_to_string(path).map_err(|source| TaskError::File { path: path.to_owned(), source })?;
    let mut measured =
        micro::parse(&text).map_err(|what| TaskError::Data(format!("{}: {what}", path.display())))?;
    measured.retain(|row, _| row.contains(part));
    if measured.is_empty() {
        let what = format!("{} has no figure of a row with \"{part}\" in its name", path.display());
        return Err(TaskError::Data(what));
    }
    let lines = micro::compare(core, &measured);
    for line in &lines {
        let Some((silicon, model)) = line.silicon.zip(line.model) else { continue };
        let mark = if line.agrees() == Some(true) { ' ' } else { '*' };
        anstream::println!(
            "{mark} {silicon:9.2} {model:9.2} {:+6.1} %  {}",
            (model / silicon - 1.0) * 100.0,
            line.name
        );
    }
    let agree = lines.iter().filter(|line| line.agrees() == Some(true)).count();
    anstream::println!("{agree} of {} rows agree", lines.len());
    Ok(())
}

fn line(errors: &Errors) -> String {
    let Errors { count, mean, median, ninetieth } = *errors;
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    format!("{count} blocks, mean {}, median {}, p90 {}", percent(mean), percent(median), percent(ninetieth))
}

fn show_worst(compared: &[Compared], blocks: &[block::Measured], count: usize) {
    let mut worst: Vec<&Compared> = compared.iter().collect();
    worst.sort_by(|a, b| b.error().total_cmp(&a.error()));
    for one in worst.iter().take(count) {
        let block = &blocks[one.index];
        anstream::println!(
            "\n{}, {}, {}: {:.2} on silicon, {:.2} here ({})",
            one.way.name(),
            one.class,
            block.source,
            one.silicon,
            one.model,
            block.hexadecimal()
        );
        for instruction in block::decode(&block.code).unwrap_or_default() {
            anstream::println!("    {instruction}");
        }
    }
}

/// A core by its name, whatever the case and with - for a space.
fn find_core(name: &str) -> Result<&'static Core, TaskError> {
    let simple = |name: &str| name.to_lowercase().replace([' ', '(', ')'], "-").trim_matches('-').to_owned();
    let found = cores(Isa::X86).find(|core| simple(core.name) == simple(name));
    found.ok_or_else(|| {
        let names: Vec<String> = cores(Isa::X86).map(|core| simple(core.name)).collect();
        TaskError::Data(format!("no core {name}; there are {}", names.join(", ")))
    })
}
