//! The same for PMUv3's common events (Arm ARM, D11.11 "Common event numbers") on Falkor, and for what its matrix is
//! made to count.

use super::{INDIRECT, Total, l2, mispredicted, retired, sum, taken, walks};
use core_model::{CoreTotals, FALKOR, Lookups, Translation};
use retire::BranchKind as Kind;
use vpmu::event::Event;

const IMMEDIATE: &[Kind] = &[Kind::Conditional, Kind::DirectJump, Kind::DirectCall];
const PREDICTED: &[Kind] = &[
    Kind::Conditional,
    Kind::DirectJump,
    Kind::IndirectJump,
    Kind::DirectCall,
    Kind::IndirectCall,
    Kind::Return,
];

/// Places of Falkor's units among the ports: the two of vectors, and the three of integers.
pub(in crate::counts::timing) const VECTOR_UNITS: std::ops::Range<usize> = 7..9;
pub(in crate::counts::timing) const INTEGER_UNITS: std::ops::Range<usize> = 9..12;

/// Plain occurrences; `None` if the model cannot know them.
pub(super) fn total(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        // Immediate branches, and everything that writes the PC.
        E::BrImmedRetired => |t| sum(t, IMMEDIATE, retired),
        E::PcWriteRetired => |t| sum(t, &Kind::ALL, taken),
        // Wrong paths predict nothing here.
        E::BrMisPred => |t| sum(t, PREDICTED, mispredicted),
        E::BrPred => |t| sum(t, PREDICTED, retired),
        E::ExcTaken => |t| t.interrupts,
        E::InstSpec | E::SyntheticOpsDispatched => |t| t.uops_issued.total,
        E::MemAccess | E::L1dCache | E::L1dTlb => |t| t.loads + t.stores,
        E::L1dCacheRefill => |t| both(&t.l2_data_reads) + both(&t.l2_ownership),
        E::L1iCache => |t| both(&t.icache),
        E::L1iCacheRefill => |t| t.icache.misses,
        E::L1dTlbRefill | E::L2dTlb => |t| data(t, refills),
        E::L1iTlbRefill | E::L2iTlb => |t| refills(&t.fetch_translation),
        E::L2dTlbRefill | E::DtlbWalk => |t| data(t, walks),
        E::L2iTlbRefill | E::ItlbWalk => |t| walks(&t.fetch_translation),
        // The second level is unified: its events count accesses for code as well.
        E::L2dCache => |t| l2(t, both),
        E::L2dCacheRefill => |t| l2(t, |lookups| lookups.misses),
        E::L2dCacheWb => |t| t.l2_lines_out_modified,
        E::L3dCache | E::LlCache => |t| both(&t.llc),
        E::L3dCacheRefill | E::LlCacheMiss => |t| t.llc.misses,
        E::StallFrontend => not_supplied,
        E::StallBackend => {
            |t| t.uops_issued.fewer_than(1).saturating_sub(not_supplied(t) + t.recovery_cycles)
        }
        // There is one socket, and memory has no errors.
        E::RemoteAccess | E::MemoryError => |_| 0,
        E::SyntheticFetchGroups => fetch_groups,
        E::SyntheticFetchStallCycles => |t| t.cycles.saturating_sub(fetch_groups(t)),
        E::SyntheticTargetMispredicts => {
            |t| sum(t, INDIRECT, mispredicted) + mispredicted(t.branches_of(Kind::Return))
        }
        E::SyntheticDispatchIdleCycles => |t| t.uops_issued.fewer_than(1),
        E::SyntheticAluOps => |t| t.ports[INTEGER_UNITS].iter().sum(),
        E::SyntheticFpOps => |t| t.ports[VECTOR_UNITS].iter().sum(),
        E::SyntheticFlushes => |t| sum(t, PREDICTED, mispredicted) + t.machine_clears,
        E::SyntheticPrefetchIssued => |t| both(&t.l2_prefetches),
        _ => return None,
    })
}

fn both(lookups: &Lookups) -> u64 {
    lookups.hits + lookups.misses
}

/// Cycles in which the front end supplied nothing although there was room.
fn not_supplied(totals: &CoreTotals) -> u64 {
    totals.uops_not_delivered.at_least(FALKOR.dispatch_width as usize)
}

/// Cycles in which it supplied something.
fn fetch_groups(totals: &CoreTotals) -> u64 {
    totals.mite_uops.at_least(1) + totals.dsb_uops.at_least(1)
}

fn refills(translation: &Translation) -> u64 {
    translation.second_level_hits + walks(translation)
}

/// Something of the translations of loads and stores.
fn data(totals: &CoreTotals, of: fn(&Translation) -> u64) -> u64 {
    of(&totals.load_translation) + of(&totals.store_translation)
}
