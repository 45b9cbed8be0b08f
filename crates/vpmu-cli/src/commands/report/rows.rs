//! The rows of a report: functions or lines, with most cycles or instructions first.

use super::totals::{Sum, Totals, by_instruction};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use vmm::engine::Detail;
use vmm::recording::data::{FIGURES, MODELLED};

/// Slots of TMA, level 1 and then its parts on level 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Slots {
    pub(super) slots: u64,
    pub(super) retiring: u64,
    pub(super) bad_speculation: u64,
    pub(super) frontend_bound: u64,
    pub(super) backend_bound: u64,
    pub(super) light_operations: u64,
    pub(super) heavy_operations: u64,
    pub(super) branch_mispredicts: u64,
    pub(super) machine_clears: u64,
    pub(super) fetch_latency: u64,
    pub(super) fetch_bandwidth: u64,
    pub(super) memory_bound: u64,
    pub(super) core_bound: u64,
}

impl Slots {
    fn new(leaves: [u64; 8]) -> Self {
        let [light, heavy, mispredicts, clears, latency, bandwidth, memory, core] = leaves;
        Self {
            slots: leaves.iter().sum(),
            retiring: light + heavy,
            bad_speculation: mispredicts + clears,
            frontend_bound: latency + bandwidth,
            backend_bound: memory + core,
            light_operations: light,
            heavy_operations: heavy,
            branch_mispredicts: mispredicts,
            machine_clears: clears,
            fetch_latency: latency,
            fetch_bandwidth: bandwidth,
            memory_bound: memory,
            core_bound: core,
        }
    }

    /// Level 1, as tables have it.
    pub(super) fn level_1(&self) -> [u64; 4] {
        [self.retiring, self.bad_speculation, self.frontend_bound, self.backend_bound]
    }

    /// The largest part of level 2.
    pub(super) fn largest(&self) -> &'static str {
        let parts = [
            ("Light operations", self.light_operations),
            ("Heavy operations", self.heavy_operations),
            ("Branch mispredicts", self.branch_mispredicts),
            ("Machine clears", self.machine_clears),
            ("Fetch latency", self.fetch_latency),
            ("Fetch bandwidth", self.fetch_bandwidth),
            ("Memory bound", self.memory_bound),
            ("Core bound", self.core_bound),
        ];
        let largest = parts.into_iter().rev().max_by_key(|(_, slots)| *slots);
        largest.filter(|(_, slots)| *slots > 0).map_or("", |(name, _)| name)
    }
}

/// What a model of the core says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Model {
    pub(super) cycles: u64,
    pub(super) cycles_with_callees: Option<u64>,
    /// Instructions a cycle; `None` where there is no cycle.
    pub(super) ipc: Option<f64>,
    #[serde(flatten)]
    pub(super) slots: Slots,
    pub(super) mispredicted_branches: u64,
    pub(super) l1_misses: u64,
    pub(super) l2_misses: u64,
    pub(super) l3_misses: u64,
}

/// A function, a line, or the whole program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) process: String,
    pub(super) object: String,
    pub(super) function: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u32>,
    pub(super) kernel: bool,
    pub(super) instructions: u64,
    /// With all that it calls; not of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions_with_callees: Option<u64>,
    #[serde(flatten)]
    pub(super) model: Option<Model>,
}

impl Row {
    /// What rows are sorted by.
    pub(super) fn weight(&self) -> u64 {
        self.model.map_or(self.instructions, |model| model.cycles)
    }

    /// The same with all that it calls.
    pub(super) fn weight_with_callees(&self) -> Option<u64> {
        self.model.map_or(self.instructions_with_callees, |model| model.cycles_with_callees)
    }
}

/// What a report shows.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Rows {
    pub(super) command: &'static str,
    pub(super) program: Vec<String>,
    pub(super) profile: String,
    pub(super) detail: Detail,
    pub(super) whole: Row,
    pub(super) rows: Vec<Row>,
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    process: &'a str,
    function: usize,
    line: Option<u32>,
}

impl Rows {
    /// A row for each function of each program.
    pub(super) fn by_function(totals: &Totals<'_>) -> Self {
        let mut sums = BTreeMap::<Key<'_>, (Sum, Sum)>::new();
        for context in 0..totals.own.len() {
            if let Some((function, _)) = totals.function(context) {
                let key = Key { process: totals.process(context), function, line: None };
                let (own, inclusive) = sums.entry(key).or_default();
                *own += totals.own[context];
                // A function is in no context below one of its own.
                *inclusive += totals.inclusive[context];
            }
        }
        Self::new(totals, sums.into_iter().map(|(key, (own, inclusive))| (key, own, Some(inclusive))))
    }

    /// A row for each line of each function.
    pub(super) fn by_line(totals: &Totals<'_>) -> Self {
        let recording = totals.recording;
        let mut sums = BTreeMap::<Key<'_>, Sum>::new();
        for row in &recording.rows {
            let process = totals.process(row.context as usize);
            let function = recording.pieces[row.piece as usize].function as usize;
            for (_, line, sum) in by_instruction(recording, row) {
                *sums.entry(Key { process, function, line: Some(line) }).or_default() += sum;
            }
        }
        Self::new(totals, sums.into_iter().map(|(key, own)| (key, own, None)))
    }

    fn new<'a>(totals: &Totals<'a>, sums: impl Iterator<Item = (Key<'a>, Sum, Option<Sum>)>) -> Self {
        let recording = totals.recording;
        let has_model = recording.detail == Detail::Timing;
        let row = |key: Key<'a>, own: Sum, inclusive: Option<Sum>| {
            let function = &recording.functions[key.function];
            let line = key.line.map(|line| &recording.lines[line as usize]);
            Row {
                process: key.process.to_owned(),
                object: recording.images[usize::from(function.image)].name.clone(),
                function: function.name.clone(),
                file: line.map(|line| line.file.clone()).filter(|file| !file.is_empty()),
                line: line.map(|line| line.number).filter(|number| *number > 0),
                kernel: totals.is_kernel(function.image),
                instructions: own.instructions(),
                instructions_with_callees: inclusive.map(|sum| sum.instructions()),
                model: has_model.then(|| model(&own, inclusive.as_ref())),
            }
        };
        let mut rows: Vec<Row> = sums
            .filter(|(_, own, inclusive)| {
                *own != Sum::default() || inclusive.is_some_and(|sum| sum != Sum::default())
            })
            .map(|(key, own, inclusive)| row(key, own, inclusive))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.weight(), row.weight_with_callees())));
        let whole = totals.whole();
        Self {
            command: "report",
            program: recording.program.clone(),
            profile: recording.profile.clone(),
            detail: recording.detail,
            whole: Row {
                process: String::new(),
                object: String::new(),
                function: String::new(),
                file: None,
                line: None,
                kernel: false,
                instructions: whole.instructions(),
                instructions_with_callees: None,
                model: has_model.then(|| model(&whole, None)),
            },
            rows,
        }
    }

    /// All rows with a line of column names first.
    pub(super) fn write_csv(&self, to: impl Write) -> Result<(), csv::Error> {
        let mut csv = csv::Writer::from_writer(to);
        let names = [
            "process",
            "object",
            "function",
            "file",
            "line",
            "instructions",
            "instructions_with_callees",
            "cycles",
            "cycles_with_callees",
            "ipc",
            "slots",
            "retiring",
            "bad_speculation",
            "frontend_bound",
            "backend_bound",
        ];
        // Cycles stand further ahead.
        let names: Vec<&str> = names.into_iter().chain(MODELLED[1..].iter().copied()).collect();
        csv.write_record(&names)?;
        for row in &self.rows {
            let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
            let mut fields = vec![
                row.process.clone(),
                row.object.clone(),
                row.function.clone(),
                row.file.clone().unwrap_or_default(),
                number(row.line.map(Into::into)),
                row.instructions.to_string(),
                number(row.instructions_with_callees),
            ];
            if let Some(model) = &row.model {
                let Slots { slots, light_operations, heavy_operations, .. } = model.slots;
                fields.push(model.cycles.to_string());
                fields.push(number(model.cycles_with_callees));
                fields.push(model.ipc.map_or_else(String::new, |ipc| format!("{ipc:.4}")));
                fields.push(slots.to_string());
                fields.extend(model.slots.level_1().map(|slots| slots.to_string()));
                let parts = [
                    light_operations,
                    heavy_operations,
                    model.slots.branch_mispredicts,
                    model.slots.machine_clears,
                    model.slots.fetch_latency,
                    model.slots.fetch_bandwidth,
                    model.slots.memory_bound,
                    model.slots.core_bound,
                    model.mispredicted_branches,
                    model.l1_misses,
                    model.l2_misses,
                    model.l3_misses,
                ];
                fields.extend(parts.map(|part| part.to_string()));
            }
            fields.resize(names.len(), String::new());
            csv.write_record(fields)?;
        }
        csv.flush()?;
        Ok(())
    }
}

fn model(own: &Sum, inclusive: Option<&Sum>) -> Model {
    const { assert!(FIGURES == 13) };
    let [.., mispredicted_branches, l1_misses, l2_misses, l3_misses] = own.modelled.0;
    let cycles = own.modelled.cycles();
    Model {
        cycles,
        cycles_with_callees: inclusive.map(|sum| sum.modelled.cycles()),
        ipc: (cycles > 0).then(|| own.instructions() as f64 / cycles as f64),
        slots: Slots::new(own.modelled.slots()),
        mispredicted_branches,
        l1_misses,
        l2_misses,
        l3_misses,
    }
}
