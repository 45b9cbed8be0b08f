//! Counts of the soft engine: what its CPU retired, and cycles at a fixed ratio.
//!
//! Instructions, branches and floating-point arithmetic are exact. Everything else here is modelled, and coarsely: a
//! core cycle an instruction and one more for each iteration of REP, the TSC at the core's rate, one slot an
//! instruction retires and the others wait for the back end. An event that cannot be told from that is unknown. Of a
//! formula of top-down analysis all events of level 1 are known, so that what tools make of them adds up.

use super::operations::{self, Selection};
use super::totals::{Tally, TotalsSource};
use super::watch::{FLOPS_PER_INSTRUCTION, Rate, every_cycle};

pub use super::totals::Retired;
use platform::convert::scale;
use retire::BranchKind;
use soft_cpu::{Arithmetic, Flop, ModeTotals, Operations, Totals};
use std::sync::Arc;
use vpmu::event::{Event, EventUnion};
use vpmu::metrics::ALL_FIELDS;
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Profile, TopdownSlots};

/// Most memory accesses of one instruction, or of one iteration of REP, that a deadline reckons with.
const ACCESSES_PER_CYCLE: u64 = 32;

/// Bits of the unit mask of AMD's FP_RET_SSE_AVX_OPS; the others are reserved, or of instructions that the interpreter
/// does not have.
const FLOP_BITS: [(u16, Flop); 4] =
    [(1, Flop::AddSub), (2, Flop::Mul), (4, Flop::DivSqrt), (8, Flop::MulAdd)];

/// Most that one instruction adds to the instructions of floating-point arithmetic: dot products count twice.
const ARITHMETIC_PER_INSTRUCTION: u64 = 2;

/// Most occurrences of events that add up, in one cycle.
const SUM_PER_CYCLE: u64 = ACCESSES_PER_CYCLE * EventUnion::MOST as u64;

/// Most branches, exceptions and interrupts of one instruction that a deadline reckons with.
const BRANCHES_AND_EVENTS: u64 = 4;

/// Something that can be totalled from what has retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Instructions,
    Branches(Branches),
    Loads,
    Stores,
    Accesses,
    /// Floating-point operations of the kinds that these bits of AMD's unit mask stand for. There are no cycles
    /// here in which a counter could lose any.
    Flops(u16),
    /// Instructions of floating-point arithmetic of these kinds.
    Arithmetic(&'static [Arithmetic]),
    X87,
    Mmx,
    Sse,
    /// AMD's operations by type.
    Operations(Selection),
    /// Iterations of REP.
    Repetitions,
    Cycles,
    Crystal,
    Slots,
    Field(usize),
    Never,
    /// Events that add up.
    Sum(EventUnion),
}

/// Sets of branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Branches {
    All,
    Call,
    Return,
    CondTaken,
    CondNotTaken,
    Cond,
    NearTaken,
    Far,
    Indirect,
    Unconditional,
    /// With exceptions and interrupts, as AMD counts.
    AllAndEvents,
    TakenAndEvents,
    FarAndEvents,
}

/// The source of the soft engine for x86.
pub type ModelSource = TotalsSource<X86>;

/// What an x86 CPU's totals say.
#[derive(Debug)]
pub struct X86 {
    slots_per_cycle: u64,
    metrics: bool,
    tsc_hz: u64,
    crystal_hz: u64,
    /// Those of a core that has events for them.
    operations: Option<Arc<Operations>>,
}

impl ModelSource {
    /// A source for what `retired` will hold.
    #[must_use]
    pub fn new(profile: &Profile, retired: Retired<Totals>) -> Self {
        let tally = X86 {
            slots_per_cycle: u64::from(profile.slots_per_cycle).max(1),
            metrics: profile.metrics_level() > 0,
            tsc_hz: profile.tsc_hz.max(1),
            crystal_hz: u64::from(profile.crystal_hz),
            operations: operations::types(profile).map(|_| retired.operations().clone()),
        };
        Self::of(tally, retired)
    }
}

impl Tally for X86 {
    type Totals = Totals;
    type Quantity = Quantity;

    fn quantity(&self, request: &EventRequest) -> Option<Quantity> {
        // What is mostly asked for.
        if matches!(request.event, Some(Event::InstRetiredAny | Event::InstRetiredAnyP)) {
            return Some(Quantity::Instructions);
        }
        if self.operations.is_some()
            && let Some(selection) = Selection::of(request)
        {
            return Some(Quantity::Operations(selection));
        }
        if let Some(event) = request.event {
            return quantity(event);
        }
        if !request.union.is_empty() {
            let known =
                request.code.is_plain() && request.union.events().all(|event| quantity(event).is_some());
            return known.then_some(Quantity::Sum(request.union));
        }
        // Modifiers ask how often something happens within a cycle, which is known for what happens
        // equally often in each, or at most once.
        let code = request.code;
        if code.edge || code.cmask == 0 {
            return None;
        }
        let once = code.cmask == 1;
        let per_cycle = match quantity(request.base?)? {
            Quantity::Instructions | Quantity::Field(0) if once => {
                return Some(if code.inv { Quantity::Repetitions } else { Quantity::Instructions });
            }
            Quantity::Cycles | Quantity::Instructions => 1,
            Quantity::Slots => self.slots_per_cycle,
            _ => return None,
        };
        let always = every_cycle(code, (per_cycle, per_cycle))?;
        Some(if always { Quantity::Cycles } else { Quantity::Never })
    }

    fn field(&self, index: u8) -> Option<Quantity> {
        Some(Quantity::Field(index.into()))
    }

    fn sum(&self, quantity: Quantity, totals: &Totals, filter: PrivilegeFilter) -> u64 {
        if quantity == Quantity::Instructions {
            let at = |wanted, mode: &ModeTotals| if wanted { mode.instructions } else { 0 };
            return at(filter.os, totals.os()) + at(filter.usr, totals.usr());
        }
        if let (Quantity::Operations(selection), Some(operations)) = (quantity, &self.operations) {
            return selection.sum(operations, filter);
        }
        let os = if filter.os { self.at(quantity, totals.os()) } else { 0 };
        let usr = if filter.usr { self.at(quantity, totals.usr()) } else { 0 };
        os + usr
    }

    fn rate(&self, quantity: Quantity) -> Rate {
        match quantity {
            Quantity::Loads | Quantity::Stores | Quantity::Accesses => Rate::Cycle(ACCESSES_PER_CYCLE),
            Quantity::Cycles | Quantity::Crystal | Quantity::Repetitions => Rate::Cycle(1),
            Quantity::Slots | Quantity::Field(1..) => Rate::Cycle(self.slots_per_cycle),
            Quantity::Sum(_) => Rate::Cycle(SUM_PER_CYCLE),
            Quantity::Flops(_) => Rate::Instruction(FLOPS_PER_INSTRUCTION),
            Quantity::Arithmetic(_) => Rate::Instruction(ARITHMETIC_PER_INSTRUCTION),
            Quantity::Branches(
                Branches::AllAndEvents | Branches::TakenAndEvents | Branches::FarAndEvents,
            ) => Rate::Instruction(BRANCHES_AND_EVENTS),
            _ => Rate::Instruction(1),
        }
    }

    fn is_exact(&self, quantity: Quantity) -> bool {
        is_exact(quantity)
    }

    fn topdown(&self, totals: &Totals, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        if !self.metrics {
            return None;
        }
        let sum = |quantity| self.sum(quantity, totals, filter);
        let mut slots = TopdownSlots { slots: sum(Quantity::Slots), ..TopdownSlots::default() };
        for (field, total) in slots.fields.iter_mut().enumerate() {
            *total = sum(Quantity::Field(field));
        }
        Some(slots)
    }
}

impl X86 {
    fn at(&self, quantity: Quantity, mode: &ModeTotals) -> u64 {
        match quantity {
            Quantity::Instructions => mode.instructions,
            Quantity::Cycles => cycles(mode),
            Quantity::Repetitions => mode.repetitions,
            Quantity::Arithmetic(kinds) => kinds.iter().map(|kind| mode[*kind]).sum(),
            Quantity::X87 => mode.x87,
            Quantity::Mmx => mode.mmx,
            Quantity::Sse => mode.sse,
            Quantity::Sum(union) => {
                union.events().filter_map(self::quantity).map(|part| self.at(part, mode)).sum()
            }
            Quantity::Branches(set) => branches(set, mode),
            Quantity::Loads => mode.loads,
            Quantity::Stores => mode.stores,
            Quantity::Accesses => mode.loads + mode.stores,
            Quantity::Flops(kinds) => {
                let wanted = FLOP_BITS.iter().filter(|(bit, _)| kinds & bit != 0);
                wanted.map(|(_, kind)| mode[*kind]).sum()
            }
            Quantity::Crystal => scale(cycles(mode), self.crystal_hz, self.tsc_hz),
            Quantity::Slots => cycles(mode).saturating_mul(self.slots_per_cycle),
            Quantity::Field(field) => self.fields(mode)[field],
            Quantity::Operations(_) | Quantity::Never => 0,
        }
    }

    /// Slots by PERF_METRICS field: retiring and back-end bound, nothing else.
    fn fields(&self, mode: &ModeTotals) -> [u64; ALL_FIELDS] {
        let mut fields = [0; ALL_FIELDS];
        fields[0] = mode.instructions;
        fields[3] = cycles(mode).saturating_mul(self.slots_per_cycle).saturating_sub(mode.instructions);
        fields
    }
}

fn is_exact(of: Quantity) -> bool {
    match of {
        Quantity::Instructions
        | Quantity::Branches(_)
        | Quantity::Flops(_)
        | Quantity::Arithmetic(_)
        | Quantity::X87
        | Quantity::Mmx
        | Quantity::Sse
        | Quantity::Operations(_)
        | Quantity::Repetitions => true,
        Quantity::Sum(union) => union.events().filter_map(quantity).all(is_exact),
        _ => false,
    }
}

/// True for an event whose count says where slots went, of which nothing is known without a model of the core.
pub(crate) fn is_about_slots(event: Event) -> bool {
    matches!(quantity(event), Some(Quantity::Slots | Quantity::Field(_) | Quantity::Never))
}

/// A core cycle for each instruction, and one more for each iteration of REP.
fn cycles(mode: &ModeTotals) -> u64 {
    mode.instructions.saturating_add(mode.repetitions)
}

fn quantity(event: Event) -> Option<Quantity> {
    Some(match event.counts_as() {
        Event::InstRetiredAny => Quantity::Instructions,
        Event::BrInstRetiredAllBranches => Quantity::Branches(Branches::All),
        Event::BrInstRetiredNearCall => Quantity::Branches(Branches::Call),
        Event::BrInstRetiredNearReturn => Quantity::Branches(Branches::Return),
        Event::BrInstRetiredCondTaken => Quantity::Branches(Branches::CondTaken),
        Event::BrInstRetiredCondNtaken => Quantity::Branches(Branches::CondNotTaken),
        Event::BrInstRetiredCond => Quantity::Branches(Branches::Cond),
        Event::BrInstRetiredNearTaken => Quantity::Branches(Branches::NearTaken),
        Event::BrInstRetiredFarBranch => Quantity::Branches(Branches::Far),
        Event::BrInstRetiredIndirect => Quantity::Branches(Branches::Indirect),
        Event::ExRetUncondBrnchInstr => Quantity::Branches(Branches::Unconditional),
        Event::ExRetBrn => Quantity::Branches(Branches::AllAndEvents),
        Event::ExRetBrnTkn => Quantity::Branches(Branches::TakenAndEvents),
        Event::ExRetBrnFar => Quantity::Branches(Branches::FarAndEvents),
        Event::FpRetSseAvxOpsAddSubFlops => Quantity::Flops(1),
        Event::FpRetSseAvxOpsMultFlops => Quantity::Flops(2),
        Event::FpRetSseAvxOpsDivFlops => Quantity::Flops(4),
        Event::FpRetSseAvxOpsMacFlops => Quantity::Flops(8),
        Event::FpRetSseAvxOpsAll => Quantity::Flops(15),
        Event::ExRetMmxFpInstrX87 => Quantity::X87,
        Event::ExRetMmxFpInstrMmx => Quantity::Mmx,
        Event::ExRetMmxFpInstrSse => Quantity::Sse,
        Event::FpArithInstRetiredScalarDouble => Quantity::Arithmetic(&[Arithmetic::ScalarDouble]),
        Event::FpArithInstRetiredScalarSingle => Quantity::Arithmetic(&[Arithmetic::ScalarSingle]),
        Event::FpArithInstRetired128bPackedDouble => Quantity::Arithmetic(&[Arithmetic::PackedDouble]),
        Event::FpArithInstRetired128bPackedSingle => Quantity::Arithmetic(&[Arithmetic::PackedSingle]),
        Event::FpArithInstRetired256bPackedDouble => Quantity::Arithmetic(&[Arithmetic::PackedDouble256]),
        Event::FpArithInstRetired256bPackedSingle => Quantity::Arithmetic(&[Arithmetic::PackedSingle256]),
        Event::FpArithInstRetired512bPackedDouble => Quantity::Arithmetic(&[Arithmetic::PackedDouble512]),
        Event::FpArithInstRetired512bPackedSingle => Quantity::Arithmetic(&[Arithmetic::PackedSingle512]),
        Event::FpArithInstRetired4Flops => {
            Quantity::Arithmetic(&[Arithmetic::PackedSingle, Arithmetic::PackedDouble256])
        }
        Event::FpArithInstRetired8Flops => {
            Quantity::Arithmetic(&[Arithmetic::PackedSingle256, Arithmetic::PackedDouble512])
        }
        Event::FpArithInstRetiredScalar => {
            Quantity::Arithmetic(&[Arithmetic::ScalarDouble, Arithmetic::ScalarSingle])
        }
        Event::FpArithInstRetiredVector => Quantity::Arithmetic(&[
            Arithmetic::PackedDouble,
            Arithmetic::PackedSingle,
            Arithmetic::PackedDouble256,
            Arithmetic::PackedSingle256,
            Arithmetic::PackedDouble512,
            Arithmetic::PackedSingle512,
        ]),
        Event::InstRetiredRepIteration => Quantity::Repetitions,
        Event::LsDispatchLdDispatch => Quantity::Loads,
        Event::LsDispatchStoreDispatch => Quantity::Stores,
        Event::MemInstRetiredAllLoads => Quantity::Loads,
        Event::MemInstRetiredAllStores => Quantity::Stores,
        Event::MemInstRetiredAny | Event::LsDcAccesses => Quantity::Accesses,
        Event::CpuClkUnhaltedThread | Event::CpuClkUnhaltedDistributed | Event::CpuClkUnhaltedRefTsc => {
            Quantity::Cycles
        }
        // The sibling is never there.
        Event::CpuClkUnhaltedRefXclk
        | Event::CpuClkUnhaltedRefDistributed
        | Event::CpuClkUnhaltedOneThreadActive => Quantity::Crystal,
        Event::TopdownSlots => Quantity::Slots,
        // The level-1 formulas of Intel's and AMD's metrics (Linux `tools/perf/pmu-events/arch/x86`): what is issued
        // retires, and the front end always delivers.
        Event::UopsRetiredSlots | Event::UopsIssuedAny | Event::ExRetOps | Event::DeSrcOpDispAll => {
            Quantity::Field(0)
        }
        Event::TopdownBackendBoundSlots | Event::DeNoDispatchPerSlotBackendStalls => Quantity::Field(3),
        Event::IdqUopsNotDeliveredCore
        | Event::IntMiscRecoveryCycles
        | Event::IntMiscClearsCount
        | Event::IntMiscUopDropping
        | Event::TopdownBadSpecSlots
        | Event::TopdownBadSpeculationAll
        | Event::DeNoDispatchPerSlotNoOpsFromFrontend
        | Event::DeNoDispatchPerSlotSmtContention => Quantity::Never,
        _ => return None,
    })
}

fn branches(set: Branches, mode: &ModeTotals) -> u64 {
    match set {
        Branches::All => mode.all_branches(),
        Branches::Call => mode.calls(),
        Branches::Return => mode.taken(BranchKind::Return),
        Branches::CondTaken => mode.taken(BranchKind::Conditional),
        Branches::CondNotTaken => mode.not_taken(),
        Branches::Cond => mode.conditional_branches(),
        Branches::NearTaken => mode.taken_branches() - mode.taken(BranchKind::Far),
        Branches::Far => mode.taken(BranchKind::Far),
        Branches::Indirect => mode.taken(BranchKind::IndirectJump) + mode.taken(BranchKind::IndirectCall),
        Branches::Unconditional => mode.all_branches() - mode.conditional_branches(),
        Branches::AllAndEvents => mode.all_branches() + mode.events,
        Branches::TakenAndEvents => mode.taken_branches() + mode.events,
        Branches::FarAndEvents => mode.taken(BranchKind::Far) + mode.events,
    }
}

#[cfg(test)]
mod tests;
