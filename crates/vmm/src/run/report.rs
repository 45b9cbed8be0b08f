//! What comes of a run.

use super::setup::Guest;
use super::warning::{Warning, looked_at_slots};
use crate::engine::{Detail, EngineReport, InstructionCount, RegisterDump};
use crate::machine::exceptions::Cause;
use crate::machine::pmu::interval::Interval;
use crate::machine::pmu::window::{Window, counter_name};
use crate::machine::pmu::{AccessStats, Divergence, Injection, PmuDevice, ReplayReport};
use crate::machine::{Board, Outcome, UnknownMsrs};
use serde::Serialize;
use std::time::Duration;
use vpmu::{Provenance, TopdownSlots};

/// One line of what the guest counted.
#[derive(Debug, Clone, Serialize)]
pub struct CountRow {
    /// Counter, for example `PMC0`.
    pub counter: String,
    /// Event name or raw code.
    pub event: String,
    /// `:u`, `:k` or empty for both.
    pub filter: &'static str,
    /// Occurrences over the whole run; `None` if the source cannot count the event.
    pub count: Option<u64>,
    /// What the number is worth.
    pub provenance: Provenance,
}

/// What came of a run.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Why it crashed, as far as the engine knows.
    pub cause: Option<Cause>,
    /// The vCPU's registers, unless the guest or its user ended the run.
    pub registers: Option<RegisterDump>,
    /// Engine.
    pub engine: &'static str,
    /// Profile.
    pub profile: String,
    /// PERF_METRICS level of the profile: 0, 1 or 2.
    pub metrics_level: u8,
    /// Issue slots of a core cycle.
    pub slots_per_cycle: u8,
    /// What the counts are.
    pub counts: Provenance,
    /// How closely the engine models the core; `None` where a real CPU does the work.
    pub detail: Option<Detail>,
    /// Console output (the last [`CONSOLE_LIMIT`](super::CONSOLE_LIMIT) bytes).
    pub console: String,
    /// Console bytes that found no room in the report.
    pub console_dropped: u64,
    /// Wall-clock nanoseconds from opening the engine to the guest's first instruction.
    pub startup_ns: u64,
    /// Wall-clock nanoseconds of guest execution, exits included.
    pub run_ns: u64,
    /// Most memory that this process has had resident, in KiB; `None` where /proc does not tell.
    pub peak_rss_kib: Option<u64>,
    /// PMU accesses.
    pub accesses: AccessStats,
    /// Instructions retired, REP iterations counted as one; `None` where the engine does not count them.
    pub instructions: Option<u64>,
    /// Exits to the VMM by kind.
    pub exits: Vec<(&'static str, u64)>,
    /// Instructions that KVM could not emulate and the interpreter completed.
    pub completed: Vec<InstructionCount>,
    /// What the guest counted, per counter and programming.
    pub counted: Vec<CountRow>,
    /// Slots by category while PERF_METRICS was enabled.
    pub topdown: TopdownSlots,
    /// Measuring windows.
    pub windows: Vec<Window>,
    /// Intervals that the guest marked for the VMM.
    pub intervals: Vec<Interval>,
    /// Faults that were planned for the PMU, and whether they happened.
    pub injections: Vec<Injection>,
    /// What has become of a replay.
    pub replay: Option<ReplayReport>,
    /// MSRs that the guest accessed and that are not implemented.
    pub unknown_msrs: UnknownMsrs,
    /// Things worth telling, one sentence each.
    pub warnings: Vec<Warning>,
}

impl RunReport {
    /// The report of a guest that has run for `ran`, after `startup`.
    pub(super) fn new<B: Board>(guest: Guest<B>, outcome: Outcome, startup: Duration, ran: Duration) -> Self {
        let Guest { engine, mut machine, capture, .. } = guest;
        let ended_itself = matches!(
            outcome,
            Outcome::Exit { .. } | Outcome::PoweredOff | Outcome::Quit | Outcome::Interrupted { .. }
        );
        // Those of an idle guest are its idle loop's.
        let shown = !ended_itself && outcome != Outcome::Idle;
        let registers = shown.then(|| engine.registers(&machine));
        let code = |rip| engine.instruction_at(&machine, rip);
        let cause = machine.exceptions.cause(&outcome, machine.pmu.profile(), code);
        let (counted, topdown, mut warnings) = counted(&mut machine.pmu);
        if engine.detail() == Some(Detail::Counts) && looked_at_slots(&mut machine.pmu) {
            warnings.push(Warning::NoCoreModel);
        }
        if machine.pmu.dropped_windows() > 0 {
            let listed = machine.pmu.windows().len() as u64;
            warnings.push(Warning::Windows(machine.pmu.dropped_windows() + listed));
        }
        let missed = machine.pmu.injections().iter().filter(|injection| injection.times == 0);
        warnings.extend(missed.map(|injection| {
            let Injection { line, fault, .. } = injection;
            Warning::Other(format!("the fault in line {line}, {fault}, has not happened"))
        }));
        if let Some(Divergence { entry, recorded, asked, .. }) =
            machine.pmu.replayed().and_then(|replay| replay.divergence)
        {
            let recorded = recorded.unwrap_or_else(|| "nothing more".to_owned());
            warnings.push(Warning::Other(format!(
                "the guest left the recording at entry {entry}: recorded is {recorded}, the guest's is {asked}"
            )));
        }
        warnings.extend(machine.pmu.source().warnings().into_iter().map(Warning::Other));
        let console = capture.text();
        if let (false, Some(reason)) = (ended_itself, panic_reason(&console)) {
            warnings.push(Warning::Other(format!("the guest's kernel panicked: {reason}")));
        }
        let EngineReport { instructions, exits, completed } = engine.report();
        let profile = machine.pmu.profile();
        Self {
            outcome,
            cause,
            registers,
            engine: engine.name(),
            profile: profile.name.to_string(),
            metrics_level: profile.metrics_level(),
            slots_per_cycle: profile.slots_per_cycle,
            counts: machine.pmu.source().label(),
            detail: engine.detail(),
            console,
            console_dropped: capture.dropped(),
            startup_ns: nanoseconds(startup),
            run_ns: nanoseconds(ran),
            peak_rss_kib: peak_rss_kib(),
            accesses: *machine.pmu.stats(),
            instructions,
            exits,
            completed,
            counted,
            topdown,
            windows: machine.pmu.windows().to_vec(),
            intervals: machine.pmu.intervals(),
            injections: machine.pmu.injections().to_vec(),
            replay: machine.pmu.replayed(),
            unknown_msrs: machine.unknown_msrs().clone(),
            warnings,
        }
    }
}

/// Why Linux panicked, if it says so on its console. A kernel without the driver of `pvpanic` tells it nowhere else.
fn panic_reason(console: &str) -> Option<&str> {
    let (_, reason) = console.split_once("Kernel panic - not syncing: ")?;
    reason.lines().next()
}

/// The ledger as rows, with a warning for each event that the source could not count.
fn counted(pmu: &mut PmuDevice) -> (Vec<CountRow>, TopdownSlots, Vec<Warning>) {
    let ledger = pmu.ledger().clone();
    let mut warnings: Vec<Warning> = Vec::new();
    let mut rows = Vec::new();
    for (key, count) in ledger.entries() {
        let provenance = pmu.provenance(&key.request);
        let event = match key.request.event {
            Some(event) => event.name().to_owned(),
            None => pmu.profile().perf_code(key.request.code),
        };
        if provenance == Provenance::Unknown {
            let warning = Warning::Other(format!(
                "the counts source ({}) cannot count {}: the counter stood still",
                pmu.source().label(),
                event
            ));
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        rows.push(CountRow {
            counter: counter_name(pmu.profile(), key.counter),
            event,
            filter: key.filter.perf_suffix(),
            count: (provenance != Provenance::Unknown).then_some(count),
            provenance,
        });
    }
    if ledger.dropped() > 0 {
        let text = format!("{} more programmings of counters are not listed", ledger.dropped());
        warnings.push(Warning::Other(text));
    }
    (rows, *ledger.topdown(), warnings)
}

/// VmHWM of this process (proc(5)).
fn peak_rss_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
