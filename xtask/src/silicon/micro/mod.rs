//! Latencies and penalties: the same code on silicon and in the model.

mod kernels;
mod model;
pub(crate) mod report;
mod rows;

use super::native::{self, Function, Host};
use super::record::host_name;
use crate::concurrently::{concurrently, cores};
use crate::error::TaskError;
use core_model::Core;
use rows::{Contents, PLACE, ROWS, Row};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Where code, stack and buffer are on both sides.
const CODE: u64 = 0x11_0000_0000;
const STACK: u64 = 0x12_0000_0000;
const BUFFER: u64 = 0x20_0020_0000;
/// A row agrees if it is off by no larger share of silicon's cycles, or by no more cycles; of rows that are only a few
/// cycles that may be no more than a quarter.
const SHARE: f64 = 0.05;
const CYCLES: f64 = 1.0;
const QUARTER: f64 = 0.25;
/// How often rows are tried that are not stable.
const ROUNDS: usize = 8;
/// Samples of each row, and their spread at most.
const SAMPLES: usize = 25;
const STABLE: f64 = 0.03;
/// Loads of a sample of [`chase`], in eights, and its samples.
const CHASED: u64 = 100_000;
const CHASES: usize = 9;

/// One row on both sides, as far as there is a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) silicon: Option<f64>,
    pub(crate) model: Option<f64>,
}

impl Line {
    /// True if both sides have a figure and agree.
    pub(crate) fn agrees(&self) -> Option<bool> {
        let (silicon, model) = self.silicon.zip(self.model)?;
        let off = (model - silicon).abs();
        Some(off <= SHARE * silicon || off <= CYCLES.min(QUARTER * silicon))
    }
}

/// Marsaglia's xorshift64.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}

/// Writes what the buffer of a row holds, by offsets.
fn contents(row: &Row, mut write: impl FnMut(u64, &[u8])) {
    let mut state = 88_172_645_463_325_252;
    match row.contents {
        Contents::Zeros => {}
        Contents::Bytes { below, period } => {
            let bytes: Vec<u8> = (0..period).map(|_| (random(&mut state) % below) as u8).collect();
            (0..row.buffer).step_by(bytes.len().max(1)).for_each(|at| write(at, &bytes));
        }
        Contents::Pointers { nodes, stride } => {
            // Sattolo's algorithm makes one cycle.
            let mut order: Vec<u64> = (0..nodes).collect();
            for node in (1..nodes as usize).rev() {
                order.swap(node, (random(&mut state) % node as u64) as usize);
            }
            let at = |node: u64| node * stride + if stride >= 4096 { node % 64 * 64 } else { 0 };
            for (node, &next) in (0..).zip(&order) {
                write(at(node), &(BUFFER + at(next)).to_le_bytes());
            }
        }
    }
}

/// Figures by the name of their row: lines of both, separated by a tab; `-` for none.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<&str, f64>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut figures = BTreeMap::new();
    for line in lines {
        let wrong = || format!("{line} is no row and its cycles");
        let (name, cycles) = line.split_once('\t').ok_or_else(wrong)?;
        let cycles = cycles.split('\t').next().unwrap_or_default();
        if !ROWS.iter().any(|row| row.name == name) {
            return Err(format!("{name} is none of the rows"));
        }
        if cycles != "-" {
            let cycles = cycles.parse::<f64>().ok().filter(|cycles| cycles.is_finite() && *cycles > 0.0);
            figures.insert(name, cycles.ok_or_else(wrong)?);
        }
    }
    Ok(figures)
}

/// All rows that were measured, beside the model.
pub(crate) fn compare(core: &'static Core, measured: &BTreeMap<&str, f64>) -> Vec<Line> {
    let line = |row: &Row| Line {
        name: row.name,
        silicon: measured.get(row.name).copied(),
        model: model::measure(core, row).ok(),
    };
    let wanted = ROWS.iter().filter(|row| measured.contains_key(row.name));
    concurrently(wanted, cores(), line)
}

/// Measures the rows whose names contain `text` on this host, and writes them to a file.
pub(crate) fn record(path: &Path, text: &str) -> Result<(), TaskError> {
    let wanted: Vec<&Row> = ROWS.iter().filter(|row| row.name.contains(text)).collect();
    if wanted.is_empty() {
        return Err(TaskError::Data(format!("no row has {text} in its name")));
    }
    let (rows, dropped) = native::on_thread(|mut host| {
        let mut figures = vec![None; wanted.len()];
        for _ in 0..ROUNDS {
            for (row, cycles) in wanted.iter().zip(&mut figures).filter(|(_, cycles)| cycles.is_none()) {
                *cycles = figure(&mut host, row)?;
            }
        }
        let mut rows = String::new();
        for (row, cycles) in wanted.iter().zip(figures) {
            let cycles = cycles.map_or_else(|| "-".to_owned(), |cycles| format!("{cycles:.3}"));
            // Writing to a String cannot fail.
            let _ = writeln!(rows, "{}\t{cycles}", row.name);
        }
        Ok((rows, host.dropped))
    })?;
    let text = format!("# {}\n# {dropped} samples dropped\n# row, cycles\n{rows}", host_name());
    fs::write(path, text).map_err(|source| TaskError::File { path: path.to_owned(), source })
}

/// A chain of loads in a random order through so many bytes in large pages, which goes on where it stopped.
struct Chase {
    function: Function,
    parameter: u64,
    /// Loads of a walk through all of it.
    all: u64,
}

impl Chase {
    fn new(bytes: u64) -> Result<Self, TaskError> {
        let row = Row::chase("", bytes / 64, 64).large();
        let all = (bytes / 64).next_multiple_of(8);
        Ok(Self { function: load(&row)?, parameter: row.parameter, all })
    }

    /// Seconds of so many loads.
    fn walk(&self, loads: u64) -> f64 {
        let started = Instant::now();
        Host::call(&self.function, [BUFFER, loads, self.parameter]);
        started.elapsed().as_secs_f64()
    }
}

impl Drop for Chase {
    fn drop(&mut self) {
        Host::unload(&self.function);
    }
}

/// Cycles of each load of a chain of them in a random order through so many bytes, in large pages; `None` if too few
/// samples count.
pub(crate) fn chase(host: &mut Host, bytes: u64) -> Result<Option<f64>, TaskError> {
    let chase = Chase::new(bytes)?;
    chase.walk((bytes / 64).clamp(CHASED, 4 * CHASED).next_multiple_of(8));
    let sampled = host.sample_seconds(CHASES, || Some(chase.walk(CHASED)));
    Ok(sampled.map(|sampled| sampled.cycles / CHASED as f64))
}

/// The same of loads of lines that were not used for these times, after a walk through all of them: seconds of a walk,
/// and cycles of a load for each time.
pub(crate) fn chase_after(
    host: &mut Host,
    bytes: u64,
    idle: &[f64],
) -> Result<(f64, Vec<Option<f64>>), TaskError> {
    const LOADS: u64 = 4000;
    let chase = Chase::new(bytes)?;
    chase.walk(chase.all);
    let mut walks: Vec<f64> = (0..CHASES).map(|_| chase.walk(chase.all)).collect();
    walks.sort_by(f64::total_cmp);
    let mut after = |seconds: f64| {
        let sampled = host.sample_seconds(CHASES, || {
            chase.walk(chase.all);
            chase.walk(chase.all);
            Host::wait(seconds);
            Some(chase.walk(LOADS))
        });
        sampled.map(|sampled| sampled.cycles / LOADS as f64)
    };
    Ok((walks[CHASES / 2], idle.iter().map(|&seconds| after(seconds)).collect()))
}

/// Maps the code of a row, and its buffer with what that holds.
fn load(row: &Row) -> Result<Function, TaskError> {
    let (code, offset) = row.code();
    let function = Host::load(CODE + offset, &code, PLACE, (BUFFER, row.buffer, row.large_pages))?;
    contents(row, |at, bytes| Host::put(BUFFER + at, bytes));
    if matches!(row.contents, Contents::Pointers { .. }) {
        Host::put(PLACE, &BUFFER.to_le_bytes());
    }
    Ok(function)
}

/// Cycles of a row on this host; `None` if they are not stable.
fn figure(host: &mut Host, row: &Row) -> Result<Option<f64>, TaskError> {
    let function = load(row)?;
    let [first, second] = row.counts;
    let call = |count| Host::call(&function, [BUFFER, count, row.parameter]);
    call(second);
    call(second);
    let sample = |host: &mut Host, count| {
        host.sample_by(SAMPLES, || {
            call(row.warm);
            call(count)
        })
    };
    let (short, long) = (sample(host, first), sample(host, second));
    Host::unload(&function);
    let Some((short, long)) = short.zip(long) else { return Ok(None) };
    let cycles = (long.cycles - short.cycles) / (second - first) as f64 / row.per;
    let stable = long.spread <= STABLE && short.spread * short.cycles <= STABLE * long.cycles;
    Ok((stable && cycles > 0.0).then_some(cycles))
}
