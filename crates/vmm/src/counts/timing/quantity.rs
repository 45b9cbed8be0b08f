//! What follows from the totals of the model.

use super::event::{ByCycle, Total};
use crate::counts::operations::Selection;
use crate::counts::watch::{FLOPS_PER_INSTRUCTION, Rate};
use core_model::{CoreTotals, PORTS, PerCycle};
use platform::convert::scale;
use vpmu::event::EventCode;
use vpmu::metrics::ALL_FIELDS;

/// Something that can be totalled from what the model knows.
#[derive(Debug, Clone)]
pub(super) enum Quantity {
    Total(Total),
    /// Cycles in which an event happens as often as CMASK and INV say, or with E the starts of such cycles.
    ByCycle(ByCycle, EventCode),
    /// The same of instructions, which the model counts by cycle only when it is wanted.
    InstructionsByCycle(EventCode),
    Cycles,
    Crystal,
    Slots,
    Field(usize),
    /// Uops of some ports: bit n for position n in [`CoreTotals::ports`].
    Ports(u32),
    BranchRecords,
    /// Occurrences, at most so many in a cycle.
    Limited(ByCycle, u8),
    /// Floating-point operations of these kinds; at most so many in a cycle, if there is a limit.
    Flops(u8, Option<u8>),
    /// Events that add up.
    Sum(Vec<Quantity>),
    /// Loads of more than so many cycles.
    SlowLoads(u16),
    /// AMD's operations by type, which the CPU counts.
    Operations(Selection),
    Never,
}

/// Rates of clocks, in Hz. The core runs at the TSC's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    pub(super) crystal_hz: u64,
    pub(super) tsc_hz: u64,
}

impl Quantity {
    /// How fast it can grow on a core that dispatches so many uops a cycle.
    pub(super) fn rate(&self, width: u64) -> Rate {
        match self {
            Self::Cycles | Self::Crystal | Self::Never => Rate::Cycle(1),
            Self::Slots | Self::Field(_) => Rate::Cycle(width),
            Self::Flops(..) => Rate::Instruction(FLOPS_PER_INSTRUCTION),
            Self::ByCycle(..) | Self::InstructionsByCycle(_) | Self::Limited(..) => Rate::Unbounded,
            Self::SlowLoads(_) | Self::Operations(_) => Rate::Instruction(1),
            Self::Total(_) | Self::Ports(_) | Self::BranchRecords | Self::Sum(_) => Rate::Unbounded,
        }
    }

    /// What it is at one privilege level, at which so many branches went into the guest's records.
    pub(super) fn of(&self, totals: &CoreTotals, branch_records: u64, clocks: Clocks) -> u64 {
        match self {
            Self::Total(total) => total(totals),
            Self::ByCycle(by_cycle, code) => selected(by_cycle(totals), *code),
            Self::InstructionsByCycle(code) => selected(&totals.instructions_by_cycle, *code),
            Self::SlowLoads(_) => totals.slow_loads,
            Self::Cycles => totals.cycles,
            Self::Crystal => scale(totals.cycles, clocks.crystal_hz, clocks.tsc_hz),
            Self::Slots => totals.slots.total(),
            Self::Field(field) => fields(totals)[*field],
            Self::Ports(ports) => {
                (0..PORTS).filter(|port| ports >> port & 1 != 0).map(|port| totals.ports[port]).sum()
            }
            Self::Sum(parts) => parts.iter().map(|part| part.of(totals, branch_records, clocks)).sum(),
            Self::Limited(by_cycle, limit) => {
                let each = by_cycle(totals);
                (1..=usize::from(*limit)).map(|n| each.at_least(n)).sum()
            }
            Self::Flops(kinds, limit) => {
                let chosen = totals.flops.iter().enumerate().filter(|(kind, _)| kinds >> kind & 1 != 0);
                let all: u64 = chosen.map(|(_, count)| count).sum();
                let lost = if limit.is_some() { totals.flops_lost[usize::from(*kinds)] } else { 0 };
                all - lost
            }
            Self::BranchRecords => branch_records,
            Self::Operations(_) | Self::Never => 0,
        }
    }
}

/// What CMASK, INV and E make of how often something happens in each cycle.
fn selected(each: &PerCycle, code: EventCode) -> u64 {
    let n = usize::from(code.cmask.max(1));
    match (code.edge, code.inv) {
        // What ends has begun.
        (true, _) => each.rising(n),
        (false, false) => each.at_least(n),
        (false, true) => each.fewer_than(n),
    }
}

/// Slots by PERF_METRICS field, in the order of the register's bytes.
fn fields(totals: &CoreTotals) -> [u64; ALL_FIELDS] {
    let slots = &totals.slots;
    [
        slots.retiring(),
        slots.bad_speculation(),
        slots.frontend_bound(),
        slots.backend_bound(),
        slots.heavy_operations,
        slots.branch_mispredicts,
        slots.fetch_latency,
        slots.memory_bound,
    ]
}
