//! `vpmu report`: what `vpmu record` has recorded, by function or line, or for other programs.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`totals`] | sums by context, function and line |
//! | [`rows`] | the rows of tables, JSON and CSV |
//! | [`table`] | the table in the terminal |
//! | [`callgrind`] | for callgrind_annotate and KCachegrind |
//! | [`stacks`] | folded stacks, speedscope, Firefox Profiler |
//! | [`pprof`] | for pprof |
//! | [`branches`] | for BOLT and AutoFDO |

mod branches;
mod callgrind;
mod pprof;
mod rows;
mod stacks;
mod table;
#[cfg(test)]
mod tests;
pub(super) mod totals;

use crate::args::report::{ReportArgs, ReportFormat, Weight};
use crate::error::CliError;
use crate::exit;
use crate::output::{file, print, print_json};
use branches::Branches;
use rows::Rows;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::Path;
use totals::Totals;
use vmm::engine::Detail;
use vmm::recording::data::{Recording, VERSION};

pub(super) fn report(args: &ReportArgs, json: bool) -> Result<u8, CliError> {
    let to_stdout = json && args.format.is_none();
    file::check(to_stdout, &[("--csv", args.csv.as_deref()), ("--output", args.output.as_deref())])?;
    let recording = read(&args.file)?;
    let totals = Totals::new(&recording);
    if let Some(format) = args.format {
        let branches = || Branches::new(&recording, args.object.as_deref());
        let text = match format {
            ReportFormat::Callgrind => callgrind::text(&totals).into_bytes(),
            ReportFormat::Folded => stacks::folded(&totals, weight(args, &recording)?).into_bytes(),
            ReportFormat::Speedscope => line(&stacks::speedscope(&totals, weight(args, &recording)?))?,
            ReportFormat::Firefox => line(&stacks::firefox(&totals, weight(args, &recording)?))?,
            ReportFormat::Pprof => pprof::file(&totals)?,
            ReportFormat::Bolt => branches()?.bolt().into_bytes(),
            ReportFormat::Autofdo => branches()?.autofdo().into_bytes(),
            ReportFormat::Profgen => branches()?.profgen().into_bytes(),
        };
        file::write(args.output.as_deref().unwrap_or(Path::new("-")), &text)?;
        return Ok(exit::PASS);
    }
    let rows = if args.lines { Rows::by_line(&totals) } else { Rows::by_function(&totals) };
    if let Some(path) = &args.csv {
        let mut text = Vec::new();
        rows.write_csv(&mut text).map_err(io::Error::from)?;
        file::write(path, &text)?;
    }
    if json {
        print_json(&rows)?;
    } else if !args.csv.as_deref().is_some_and(file::is_stdout) {
        print(&table::render(&rows, args.limit))?;
    }
    Ok(exit::PASS)
}

/// A document on one line.
fn line(document: &impl Serialize) -> Result<Vec<u8>, CliError> {
    let mut text = serde_json::to_vec(document).map_err(io::Error::from)?;
    text.push(b'\n');
    Ok(text)
}

/// A recording that is of this version, and whole.
fn read(path: &Path) -> Result<Recording, CliError> {
    let text = fs::read(path).map_err(|source| CliError::Result { path: path.to_owned(), source })?;
    let recording: Option<Recording> = serde_json::from_slice(&text).ok();
    recording
        .filter(|recording| recording.version == VERSION && recording.is_sound())
        .ok_or_else(|| CliError::NoRecording { path: path.to_owned() })
}

/// What stacks are weighted by.
fn weight(args: &ReportArgs, recording: &Recording) -> Result<Weight, CliError> {
    let has_cycles = recording.detail == Detail::Timing;
    match args.weight {
        Some(Weight::Cycles) if !has_cycles => Err(CliError::NoCycles),
        Some(weight) => Ok(weight),
        None if has_cycles => Ok(Weight::Cycles),
        None => Ok(Weight::Instructions),
    }
}
