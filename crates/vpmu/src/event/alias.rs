//! Other names of events, and events that are other names of a quantity.

use core::fmt;

use super::Event;

impl Event {
    /// The event with this name or alias, in any letter case: `INST_RETIRED.ANY`, perf's
    /// `branch-misses`, or a name that another core's event list uses.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let own = Self::ALL.into_iter().find(|event| event.name().eq_ignore_ascii_case(name));
        own.or_else(|| {
            let alias = Self::OTHER_NAMES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
            alias.map(|&(_, event)| event)
        })
    }

    /// The other names that [`Event::from_name`] accepts for this event.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        Self::OTHER_NAMES.iter().filter(move |(_, event)| *event == self).map(|&(name, _)| name)
    }

    /// The event that stands for this quantity: one total serves both.
    ///
    /// Only exact equivalences, which differ in the kind of counter and not in what is counted. Every
    /// other event stands for itself, and so does the result.
    #[must_use]
    pub const fn counts_as(self) -> Self {
        match self {
            Self::InstRetiredAnyP | Self::InstRetiredPrecDist => Self::InstRetiredAny,
            Self::CpuClkUnhaltedThreadP => Self::CpuClkUnhaltedThread,
            Self::CpuClkUnhaltedRefTscP => Self::CpuClkUnhaltedRefTsc,
            Self::TopdownSlotsP => Self::TopdownSlots,
            // Architectural events 10 and 11 are the same quantities as Atom's fixed counters 5 and 6.
            Self::TopdownFeBoundAll => Self::IdqUopsNotDeliveredCore,
            Self::TopdownRetiringAll => Self::UopsRetiredSlots,
            // AMD's names of the same quantities.
            Self::ExRetInstr => Self::InstRetiredAny,
            Self::LsNotHaltedCyc => Self::CpuClkUnhaltedThread,
            Self::LsNotHaltedP0CycP0FreqCyc => Self::CpuClkUnhaltedRefTsc,
            Self::ExRetNearRet => Self::BrInstRetiredNearReturn,
            Self::ExRetCond => Self::BrInstRetiredCond,
            Self::ExRetIndBrchInstr => Self::BrInstRetiredIndirect,
            // Arm's names of the same quantities.
            Self::InstRetired | Self::SyntheticBasicInstr | Self::SyntheticEveryInstr => Self::InstRetiredAny,
            Self::CpuCycles | Self::SyntheticEveryCycle => Self::CpuClkUnhaltedThread,
            Self::BrRetired => Self::BrInstRetiredAllBranches,
            Self::BrMisPredRetired => Self::BrMispRetiredAllBranches,
            Self::BrReturnRetired => Self::BrInstRetiredNearReturn,
            Self::LdRetired | Self::SyntheticLoads => Self::MemInstRetiredAllLoads,
            Self::StRetired | Self::SyntheticStores => Self::MemInstRetiredAllStores,
            Self::SyntheticCondBranches => Self::BrInstRetiredCond,
            Self::SyntheticCondMispredicts => Self::BrMispRetiredCond,
            Self::SyntheticIndirectBranches => Self::BrInstRetiredIndirect,
            // What the matrix is made to count of PMUv3's own.
            Self::SyntheticL1dLookups => Self::L1dCache,
            Self::SyntheticL1dMisses => Self::L1dCacheRefill,
            Self::SyntheticDtlbLookups => Self::L1dTlb,
            Self::SyntheticDtlbMisses => Self::L1dTlbRefill,
            other => other,
        }
    }
}

/// The field-standard name.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
