//! The same for the events of AMD's cores, as far as the model's totals are what AMD's event lists (PPR, Linux
//! `pmu-events/arch/x86/amdzen*`) describe.

use super::event::{INDIRECT, Total, mispredicted, retired, sum, taken, walks};
use core_model::{BranchKind as Kind, CoreTotals, Translation};
use vpmu::event::Event;

const UNCONDITIONAL: &[Kind] =
    &[Kind::DirectJump, Kind::IndirectJump, Kind::DirectCall, Kind::IndirectCall, Kind::Return, Kind::Far];

/// Plain occurrences; `None` if the model cannot know them.
pub(super) fn total(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::ExRetOps => |t| t.uops_retired.total,
        E::ExRetFusedInstr => |t| t.macro_fused,
        E::ExNoRetireAll => |t| t.uops_retired.fewer_than(1),
        E::ExDivBusy => |t| t.integer_divider_active,
        // AMD counts exceptions and interrupts with the branches.
        E::ExRetBrn => |t| sum(t, &Kind::ALL, retired) + t.interrupts,
        E::ExRetBrnTkn => |t| sum(t, &Kind::ALL, taken) + t.interrupts,
        E::ExRetBrnFar => |t| retired(t.branches_of(Kind::Far)) + t.interrupts,
        E::ExRetBrnMisp => |t| sum(t, &Kind::ALL, mispredicted),
        E::ExRetBrnTknMisp => |t| sum(t, &Kind::ALL, |b| b.mispredicted_taken),
        E::ExRetNearRet => |t| retired(t.branches_of(Kind::Return)),
        E::ExRetNearRetMispred => |t| mispredicted(t.branches_of(Kind::Return)),
        E::ExRetIndBrchInstr => |t| sum(t, INDIRECT, retired),
        E::ExRetBrnIndMisp => |t| sum(t, INDIRECT, mispredicted),
        E::ExRetCond => |t| retired(t.branches_of(Kind::Conditional)),
        E::ExRetCondMisp => |t| mispredicted(t.branches_of(Kind::Conditional)),
        E::ExRetUncondBrnchInstr => |t| sum(t, UNCONDITIONAL, retired),
        E::ExRetUncondBrnchInstrMispred => |t| sum(t, UNCONDITIONAL, mispredicted),
        E::DeSrcOpDispDecoder => |t| t.mite_uops.total,
        E::DeSrcOpDispOpCache => |t| t.dsb_uops.total,
        E::DeSrcOpDispLoopBuffer => |t| t.lsd_uops.total,
        // All that were dispatched, wrong paths included.
        E::DeSrcOpDispAll => |t| t.uops_issued.total,
        // A slot is dispatched to, lacks an op, or is stalled: recovery from a wrong path counts as a lack.
        E::DeNoDispatchPerSlotNoOpsFromFrontend => {
            |t| t.slots.total().saturating_sub(t.slots.backend_bound() + t.uops_issued.total)
        }
        E::DeNoDispatchPerSlotBackendStalls => |t| t.slots.backend_bound(),
        // The sibling is never there.
        E::DeNoDispatchPerSlotSmtContention => |_| 0,
        E::IcTagHitMissInstructionCacheHit => |t| t.icache.hits,
        E::IcTagHitMissInstructionCacheMiss => |t| t.icache.misses,
        E::IcTagHitMissAllInstructionCacheAccesses => |t| t.icache.hits + t.icache.misses,
        E::BpL1TlbMissL2TlbHit => |t| t.fetch_translation.second_level_hits,
        E::BpL1TlbMissL2TlbMissIf4k => |t| t.fetch_translation.walks_4k,
        E::BpL1TlbMissL2TlbMissIf2m => |t| t.fetch_translation.walks_2m,
        E::BpL1TlbMissL2TlbMissIf1g => |t| t.fetch_translation.walks_1g,
        E::BpL1TlbMissL2TlbMissAll => |t| walks(&t.fetch_translation),
        E::FpRetSseAvxOpsAddSubFlops => |t| t.flops[0],
        E::FpRetSseAvxOpsMultFlops => |t| t.flops[1],
        E::FpRetSseAvxOpsDivFlops => |t| t.flops[2],
        // The interpreter has neither FMA nor BF16.
        E::FpRetSseAvxOpsMacFlops | E::FpRetSseAvxOpsBfloatMacFlops => |_| 0,
        E::FpRetSseAvxOpsAll => |t| t.flops.iter().sum(),
        E::LsLocksBusLock => |t| t.split_locks,
        E::LsMisalLoadsMa64 => |t| t.split_loads,
        E::LsDispatchLdDispatch => |t| t.loads,
        E::LsDispatchStoreDispatch => |t| t.stores,
        E::LsL1DTlbMissTlbReload4kL2Miss => |t| data(t, |d| d.walks_4k),
        E::LsL1DTlbMissTlbReload2mL2Miss => |t| data(t, |d| d.walks_2m),
        E::LsL1DTlbMissTlbReload1gL2Miss => |t| data(t, |d| d.walks_1g),
        E::LsL1DTlbMissAllL2Miss => |t| data(t, walks),
        E::LsL1DTlbMissAll => |t| data(t, |d| d.second_level_hits + walks(d)),
        E::LsPrefInstrDispPrefetch => |t| t.software_prefetches[1] + t.software_prefetches[2],
        E::LsPrefInstrDispPrefetchW => |t| t.software_prefetches[3],
        E::LsPrefInstrDispPrefetchNta => |t| t.software_prefetches[0],
        E::LsPrefInstrDispAll => |t| t.software_prefetches.iter().sum(),
        _ => return None,
    })
}

/// Something of the translations of loads and stores.
fn data(totals: &CoreTotals, of: fn(&Translation) -> u64) -> u64 {
    of(&totals.load_translation) + of(&totals.store_translation)
}
