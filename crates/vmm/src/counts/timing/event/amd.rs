//! The same for the events of AMD's cores, as far as the model's totals are what AMD's event lists (PPR, Linux
//! `pmu-events/arch/x86/amdzen*`) describe.

use super::{INDIRECT, Total, l2, mispredicted, retired, sum, taken, walks};
use core_model::{CoreTotals, Lookups, Translation};
use retire::{BranchKind as Kind, RegisterFile};
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
        E::ExRetMmxFpInstrX87 => |t| t.register_files[RegisterFile::X87 as usize],
        E::ExRetMmxFpInstrMmx => |t| t.register_files[RegisterFile::Mmx as usize],
        E::ExRetMmxFpInstrSse => |t| t.register_files[RegisterFile::Vector as usize],
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
        E::LsDcAccesses => |t| t.loads + t.stores,
        // A line that a core has alone is writable; no other core shares any, and what is not cacheable is not
        // requested here.
        E::L2RequestG1ChangeToX | E::L2RequestG1LsRdBlkCS | E::L2RequestG1Group2 => |_| 0,
        E::L2RequestG1CacheableIcRead | E::L2CacheReqStatIcAccessInL2 => |t| both(&t.l2_code_reads),
        E::L2RequestG1RdBlkX => |t| both(&t.l2_ownership),
        E::L2RequestG1RdBlkL => reads,
        E::L2RequestG1PrefetchL2Cmd => |t| t.l2_only_prefetches,
        E::L2RequestG1L2HwPf => own_prefetches,
        E::L2RequestG1AllDc => |t| both(&t.l2_ownership) + reads(t),
        E::L2RequestG1AllNoPrefetch => |t| l2(t, both) - own_prefetches(t) - t.l2_only_prefetches,
        E::L2RequestG1All => |t| l2(t, both),
        E::L2CacheReqStatIcFillMiss => |t| t.l2_code_reads.misses,
        E::L2CacheReqStatIcHitInL2 => |t| t.l2_code_reads.hits,
        E::L2CacheReqStatLsRdBlkC => |t| requests(t, |lookups| lookups.misses),
        E::L2CacheReqStatIcDcMissInL2 => |t| t.l2_code_reads.misses + requests(t, |lookups| lookups.misses),
        E::L2CacheReqStatLsRdBlkX => |t| t.l2_ownership.hits,
        E::L2CacheReqStatLsRdBlkCs => |_| 0,
        E::L2CacheReqStatDcHitInL2 => |t| requests(t, |lookups| lookups.hits),
        E::L2CacheReqStatIcDcHitInL2 => |t| t.l2_code_reads.hits + requests(t, |lookups| lookups.hits),
        E::L2CacheReqStatDcAccessInL2 => |t| requests(t, both),
        E::L2CacheReqStatAll => |t| both(&t.l2_code_reads) + requests(t, both),
        _ => return None,
    })
}

fn both(lookups: &Lookups) -> u64 {
    lookups.hits + lookups.misses
}

/// Something of the lookups of the second-level cache for data, all but those of its own prefetcher.
fn requests(totals: &CoreTotals, of: fn(&Lookups) -> u64) -> u64 {
    let all =
        [&totals.l2_data_reads, &totals.l2_ownership, &totals.l1_prefetches, &totals.l2_software_prefetches];
    all.into_iter().map(of).sum()
}

/// Reads of the first-level data cache, its prefetches and those of instructions included.
fn reads(totals: &CoreTotals) -> u64 {
    requests(totals, both) - both(&totals.l2_ownership) - totals.l2_only_prefetches
}

/// Lookups by the second level's own prefetcher.
fn own_prefetches(totals: &CoreTotals) -> u64 {
    both(&totals.l2_prefetches) - both(&totals.l1_prefetches)
}

/// The kinds of floating-point operations that an event counts, as bits of AMD's unit mask.
pub(crate) fn flop_kinds(event: Event) -> Option<u8> {
    Some(match event {
        Event::FpRetSseAvxOpsAddSubFlops => 1,
        Event::FpRetSseAvxOpsMultFlops => 2,
        Event::FpRetSseAvxOpsDivFlops => 4,
        Event::FpRetSseAvxOpsMacFlops => 8,
        Event::FpRetSseAvxOpsAll => 15,
        _ => return None,
    })
}

/// Something of the translations of loads and stores.
fn data(totals: &CoreTotals, of: fn(&Translation) -> u64) -> u64 {
    of(&totals.load_translation) + of(&totals.store_translation)
}
