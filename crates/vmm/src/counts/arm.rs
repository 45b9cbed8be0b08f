//! Counts of the soft engine for AArch64: what its CPU retired, and a core cycle an instruction.
//!
//! What the architecture defines by retired instructions, and exceptions, are exact. Cycles and accesses are modelled,
//! and coarsely. An event that cannot be told from that is unknown.

use super::totals::{Retired, Tally, TotalsSource};
use super::watch::Rate;
use arm_cpu::{ExceptionCount, LevelTotals, Totals};
use retire::BranchKind;
use vpmu::TopdownSlots;
use vpmu::event::Event;
use vpmu::source::{EventRequest, PrivilegeFilter};

/// Most branches and exceptions from one instruction to the next that a deadline reckons with: interrupts that are
/// taken one after the other are not instructions.
const EXCEPTIONS: u64 = 4;

/// The source of the soft engine for AArch64.
pub type ArmSource = TotalsSource<Arm>;

/// What an AArch64 CPU's totals say.
#[derive(Debug)]
pub struct Arm;

impl ArmSource {
    /// A source for what `retired` will hold.
    #[must_use]
    pub fn new(retired: Retired<Totals>) -> Self {
        Self::of(Arm, retired)
    }
}

/// Something that can be totalled from what has retired.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    of: fn(&LevelTotals) -> u64,
    /// Most that is added from one instruction to the next.
    most: u64,
    exact: bool,
}

const fn exact(of: fn(&LevelTotals) -> u64) -> Quantity {
    Quantity { of, most: 1, exact: true }
}

const fn exceptions(of: fn(&LevelTotals) -> u64) -> Quantity {
    Quantity { of, most: EXCEPTIONS, exact: true }
}

fn quantity(event: Event) -> Option<Quantity> {
    use Event as E;
    Some(match event.counts_as() {
        E::InstRetiredAny => exact(|level| level.instructions),
        E::CpuClkUnhaltedThread => Quantity { exact: false, ..exact(|level| level.instructions) },
        E::MemInstRetiredAllLoads => exact(|level| level.loads),
        E::MemInstRetiredAllStores => exact(|level| level.stores),
        // A pair is one access of its instruction here, as are the structures of Advanced SIMD.
        E::MemAccess => Quantity { of: |level| level.loads + level.stores, most: 2, exact: false },
        E::UnalignedLdstRetired => Quantity { most: EXCEPTIONS, ..exact(|level| level.unaligned) },
        E::BrInstRetiredAllBranches => exact(LevelTotals::all_branches),
        E::BrInstRetiredCond => exact(|level| level.taken(BranchKind::Conditional) + level.not_taken()),
        // BR and BLR; the event leaves out returns.
        E::BrInstRetiredIndirect => {
            exact(|level| level.taken(BranchKind::IndirectJump) + level.taken(BranchKind::IndirectCall))
        }
        E::BrInstRetiredNearReturn => exact(|level| level.taken(BranchKind::Return)),
        E::BrImmedRetired => exact(|level| {
            level.taken(BranchKind::Conditional)
                + level.not_taken()
                + level.taken(BranchKind::DirectJump)
                + level.taken(BranchKind::DirectCall)
        }),
        E::PcWriteRetired => exact(LevelTotals::taken_branches),
        E::ExcReturn => exact(|level| level.exception_returns),
        E::CidWriteRetired => exact(|level| level.context_writes),
        E::TtbrWriteRetired => exact(|level| level.translation_base_writes),
        E::ExcTaken => exceptions(LevelTotals::all_exceptions),
        E::SyntheticIrqTaken => exceptions(|level| level.exceptions(ExceptionCount::Irq)),
        E::SyntheticSvc => exceptions(|level| level.exceptions(ExceptionCount::Svc)),
        E::SyntheticDataAbort => exceptions(|level| level.exceptions(ExceptionCount::DataAbort)),
        _ => return None,
    })
}

impl Tally for Arm {
    type Totals = Totals;
    type Quantity = Quantity;

    fn quantity(&self, request: &EventRequest) -> Option<Quantity> {
        quantity(request.event?)
    }

    fn field(&self, _index: u8) -> Option<Quantity> {
        None
    }

    fn sum(&self, quantity: Quantity, totals: &Totals, filter: PrivilegeFilter) -> u64 {
        let os = if filter.os { (quantity.of)(totals.el1()) } else { 0 };
        let usr = if filter.usr { (quantity.of)(totals.el0()) } else { 0 };
        os + usr
    }

    fn rate(&self, quantity: Quantity) -> Rate {
        Rate::Instruction(quantity.most)
    }

    fn is_exact(&self, quantity: Quantity) -> bool {
        quantity.exact
    }

    fn topdown(&self, _totals: &Totals, _filter: PrivilegeFilter) -> Option<TopdownSlots> {
        None
    }
}
