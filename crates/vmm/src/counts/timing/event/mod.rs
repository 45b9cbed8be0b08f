//! What each event is in the totals of the core model.
//!
//! Meanings are those of Intel's public event lists (`intel/perfmon`); where the model sees less than silicon, the
//! row says what stands in. An event that is not here cannot be told from what the model knows.

mod amd;
mod arm;

pub(super) use amd::flop_kinds;
#[cfg(test)]
pub(super) use arm::{INTEGER_UNITS, VECTOR_UNITS};

use core_model::{Branches, CoreTotals, PerCycle};
use retire::BranchKind as Kind;
use vpmu::event::{Encoding, Event, EventTable};

/// A count out of the totals of one privilege level.
pub(super) type Total = fn(&CoreTotals) -> u64;
/// A count that is also known by cycle.
pub(super) type ByCycle = fn(&CoreTotals) -> &PerCycle;

/// Cycles that the decoders lose for a length-changing prefix (Optimization Reference Manual, "Length-Changing
/// Prefixes").
const LCP_CYCLES: u64 = 3;

/// Plain occurrences of an event; `None` if the model cannot know them. Clocks, slots and ports are not here.
pub(super) fn total(event: Event) -> Option<Total> {
    use Event as E;
    retirement(event)
        .or_else(|| branches(event))
        .or_else(|| front_end(event))
        .or_else(|| execution(event))
        .or_else(|| floating_point(event))
        .or_else(|| memory(event))
        .or_else(|| caches(event))
        .or_else(|| translation(event))
        .or_else(|| amd::total(event))
        .or_else(|| arm::total(event))
        .or(match event {
            // What this machine does not have never happens: transactions, TPAUSE, other cores and
            // sockets.
            E::RtmRetiredStart
            | E::RtmRetiredCommit
            | E::RtmRetiredAborted
            | E::MachineClearsMemoryOrdering
            | E::CpuClkUnhaltedC01
            | E::CpuClkUnhaltedC02
            | E::MemLoadL3HitRetiredXsnpMiss
            | E::MemLoadL3HitRetiredXsnpNoFwd
            | E::MemLoadL3HitRetiredXsnpFwd
            | E::MemLoadL3MissRetiredRemoteDram
            | E::MemLoadL3MissRetiredRemoteHitm
            | E::MemLoadL3MissRetiredRemoteFwd
            // Loads are picked and timed for PEBS only (SDM volume 3, "Load Latency Performance Monitoring Facility"),
            // which no profile offers.
            | E::MemTransRetiredLoadLatencyGt4
            | E::MemTransRetiredLoadLatencyGt8
            | E::MemTransRetiredLoadLatencyGt16
            | E::MemTransRetiredLoadLatencyGt32
            | E::MemTransRetiredLoadLatencyGt64
            | E::MemTransRetiredLoadLatencyGt128
            | E::MemTransRetiredLoadLatencyGt256
            | E::MemTransRetiredLoadLatencyGt512
            | E::MemTransRetiredLoadLatencyGt1024
            // Each split load has a register.
            | E::LdBlocksNoSr
            // The model's front end loses nothing between queue and allocation.
            | E::IntMiscUopDropping => Some(|_| 0),
            _ => None,
        })
}

/// Microcode assists of any kind, by the unit mask of the CPU's event. From Golden Cove on page faults are among them;
/// Skylake has an event of its own for floating point.
pub(super) fn assists(table: EventTable) -> Total {
    const ASSISTS: [(u16, Total); 4] = [
        (0x07, |t| t.fp_assists + t.page_assists),
        (0x1B, |t| t.fp_assists + t.page_assists + t.page_faults),
        (0x1F, |t| t.fp_assists + t.page_assists + t.page_faults),
        (0x3F, |t| t.page_assists),
    ];
    let encoding = table.encodings().iter().find(|encoding| encoding.event == Event::AssistsAny);
    let of_mask = |encoding: &Encoding| ASSISTS.iter().find(|(umask, _)| *umask == encoding.code.umask);
    encoding.and_then(of_mask).unwrap_or(&ASSISTS[0]).1
}

/// True for the events of Intel's BR_INST_RETIRED.
pub(super) fn is_retired_branch(event: Event) -> bool {
    use Event as E;
    matches!(
        event,
        E::BrInstRetiredAllBranches
            | E::BrInstRetiredNearCall
            | E::BrInstRetiredNearReturn
            | E::BrInstRetiredCondTaken
            | E::BrInstRetiredCondNtaken
            | E::BrInstRetiredCond
            | E::BrInstRetiredNearTaken
            | E::BrInstRetiredFarBranch
            | E::BrInstRetiredIndirect
    )
}

/// Occurrences by cycle, for CMASK, INV and E; `None` if they are not known by cycle.
pub(super) fn by_cycle(event: Event) -> Option<ByCycle> {
    use Event as E;
    Some(match event {
        E::UopsRetiredSlots => |t| &t.uops_retired,
        E::UopsIssuedAny => |t| &t.uops_issued,
        E::UopsExecutedThread | E::UopsExecutedCore => |t| &t.uops_executed,
        E::IdqUopsNotDeliveredCore => |t| &t.uops_not_delivered,
        E::IdqMiteUops => |t| &t.mite_uops,
        E::IdqDsbUops => |t| &t.dsb_uops,
        E::IdqMsUops => |t| &t.ms_uops,
        E::LsdUops => |t| &t.lsd_uops,
        _ => return None,
    })
}

fn retirement(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::InstRetiredAny => |t| t.instructions,
        E::InstRetiredNop => |t| t.nops,
        E::MiscRetiredPauseInst | E::CpuClkUnhaltedPauseInst => |t| t.pauses,
        // Nothing else waits in C0: there is no TPAUSE and no UMWAIT.
        E::CpuClkUnhaltedPause | E::CpuClkUnhaltedC0Wait => |t| t.pause_cycles,
        E::InstRetiredRepIteration => |t| t.repetitions,
        E::InstRetiredMacroFused => |t| t.macro_fused,
        E::TopdownBackendBoundSlots => |t| t.slots.backend_bound(),
        E::TopdownBadSpecSlots | E::TopdownBadSpeculationAll => |t| t.slots.bad_speculation(),
        E::TopdownBrMispredictSlots => |t| t.slots.branch_mispredicts,
        E::TopdownMemoryBoundSlots => |t| t.slots.memory_bound,
        E::UopsRetiredSlots => |t| t.slots.retiring(),
        E::UopsRetiredHeavy => |t| t.slots.heavy_operations,
        E::UopsRetiredMs => |t| t.ms_retired,
        E::UopsRetiredCycles => |t| t.uops_retired.at_least(1),
        E::UopsRetiredStalls => |t| t.uops_retired.fewer_than(1),
        E::UopsRetiredTotalCycles => |t| t.cycles,
        _ => return None,
    })
}

pub(super) fn taken(branches: &Branches) -> u64 {
    branches.taken
}

pub(super) fn retired(branches: &Branches) -> u64 {
    branches.taken + branches.not_taken
}

pub(super) fn mispredicted(branches: &Branches) -> u64 {
    branches.mispredicted_taken + branches.mispredicted_not_taken
}

pub(super) fn sum(totals: &CoreTotals, kinds: &[Kind], of: fn(&Branches) -> u64) -> u64 {
    kinds.iter().map(|kind| of(totals.branches_of(*kind))).sum()
}

const CALLS: &[Kind] = &[Kind::DirectCall, Kind::IndirectCall];
pub(super) const INDIRECT: &[Kind] = &[Kind::IndirectJump, Kind::IndirectCall];
const NEAR: &[Kind] = &[
    Kind::Conditional,
    Kind::DirectJump,
    Kind::IndirectJump,
    Kind::DirectCall,
    Kind::IndirectCall,
    Kind::Return,
];

fn branches(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::BrInstRetiredAllBranches => |t| sum(t, &Kind::ALL, retired),
        E::BrInstRetiredNearCall => |t| sum(t, CALLS, retired),
        E::BrInstRetiredNearReturn => |t| retired(t.branches_of(Kind::Return)),
        E::BrInstRetiredCondTaken => |t| t.branches_of(Kind::Conditional).taken,
        E::BrInstRetiredCondNtaken => |t| t.branches_of(Kind::Conditional).not_taken,
        E::BrInstRetiredCond => |t| retired(t.branches_of(Kind::Conditional)),
        E::BrInstRetiredNearTaken => |t| sum(t, NEAR, taken),
        E::BrInstRetiredFarBranch => |t| retired(t.branches_of(Kind::Far)),
        E::BrInstRetiredIndirect => |t| sum(t, INDIRECT, retired),
        E::BrMispRetiredAllBranches => |t| sum(t, &Kind::ALL, mispredicted),
        E::BrMispRetiredCondTaken => |t| t.branches_of(Kind::Conditional).mispredicted_taken,
        E::BrMispRetiredCondNtaken => |t| t.branches_of(Kind::Conditional).mispredicted_not_taken,
        E::BrMispRetiredCond => |t| mispredicted(t.branches_of(Kind::Conditional)),
        E::BrMispRetiredIndirectCall => |t| mispredicted(t.branches_of(Kind::IndirectCall)),
        E::BrMispRetiredRet => |t| mispredicted(t.branches_of(Kind::Return)),
        E::BrMispRetiredNearTaken => |t| sum(t, NEAR, |b| b.mispredicted_taken),
        E::BrMispRetiredIndirect => |t| sum(t, INDIRECT, mispredicted),
        E::BaclearsAny | E::FrontendRetiredUnknownBranch => |t| t.baclears,
        E::MachineClearsCount => |t| t.machine_clears,
        E::MachineClearsSmc => |t| t.code_clears,
        E::IntMiscRecoveryCycles => |t| t.recovery_cycles,
        E::IntMiscAllRecoveryCycles => |t| t.recovery_cycles + t.clear_resteer_cycles,
        E::IntMiscClearsCount => |t| t.recoveries,
        E::IntMiscClearResteerCycles => |t| t.clear_resteer_cycles,
        E::IntMiscUnknownBranchCycles => |t| t.unknown_branch_cycles,
        _ => return None,
    })
}

fn front_end(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::IdqUopsNotDeliveredCore => |t| t.uops_not_delivered.total,
        E::IdqMiteUops => |t| t.mite_uops.total,
        E::IdqDsbUops => |t| t.dsb_uops.total,
        E::IdqMsUops => |t| t.ms_uops.total,
        E::IdqMsSwitches | E::FrontendRetiredMsFlows => |t| t.ms_uops.rising(1),
        E::LsdUops => |t| t.lsd_uops.total,
        E::Dsb2miteSwitchesPenaltyCycles => |t| t.dsb_to_mite_cycles,
        E::IcacheDataStalls => |t| t.icache_stall_cycles,
        E::IcacheTagStalls => |t| t.itlb_stall_cycles,
        E::Icache64bIftagHit => |t| t.icache.hits,
        E::Icache64bIftagMiss => |t| t.icache.misses,
        E::DecodeLcp => |t| t.length_changing_prefixes * LCP_CYCLES,
        // A miss is that of the one instruction that waits for it.
        E::FrontendRetiredL1iMiss => |t| t.icache.misses,
        E::FrontendRetiredL2Miss => |t| t.l2_code_reads.misses,
        E::FrontendRetiredItlbMiss => |t| {
            let translation = &t.fetch_translation;
            translation.second_level_hits + walks(translation)
        },
        E::FrontendRetiredAnyDsbMiss => |t| t.uop_cache_misses,
        E::FrontendRetiredDsbMiss => |t| t.dsb_to_mite_switches,
        E::FrontendRetiredLatencyGe1 => |t| t.supply_gaps[0],
        E::FrontendRetiredLatencyGe2 => |t| t.supply_gaps[1],
        E::FrontendRetiredLatencyGe4 => |t| t.supply_gaps[2],
        E::FrontendRetiredLatencyGe8 => |t| t.supply_gaps[3],
        E::FrontendRetiredLatencyGe16 => |t| t.supply_gaps[4],
        E::FrontendRetiredLatencyGe32 => |t| t.supply_gaps[5],
        E::FrontendRetiredLatencyGe64 => |t| t.supply_gaps[6],
        E::FrontendRetiredLatencyGe128 => |t| t.supply_gaps[7],
        E::FrontendRetiredLatencyGe256 => |t| t.supply_gaps[8],
        E::FrontendRetiredLatencyGe512 => |t| t.supply_gaps[9],
        E::FrontendRetiredLatencyGe2BubblesGe1 => |t| t.short_supplies,
        E::UopsDecodedDec0Uops => |t| t.first_decoder_uops,
        E::FrontendRetiredStlbMiss => |t| walks(&t.fetch_translation),
        _ => return None,
    })
}

fn execution(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::UopsIssuedAny => |t| t.uops_issued.total,
        E::UopsIssuedCycles => |t| t.uops_issued.at_least(1),
        E::UopsIssuedStallCycles => |t| t.uops_issued.fewer_than(1),
        E::UopsExecutedThread | E::UopsExecutedCore => |t| t.uops_executed.total,
        E::UopsExecutedCyclesGe1 | E::UopsExecutedCoreCyclesGe1 => |t| t.uops_executed.at_least(1),
        E::UopsExecutedCyclesGe2 | E::UopsExecutedCoreCyclesGe2 => |t| t.uops_executed.at_least(2),
        E::UopsExecutedCyclesGe3 | E::UopsExecutedCoreCyclesGe3 => |t| t.uops_executed.at_least(3),
        E::UopsExecutedCyclesGe4 | E::UopsExecutedCoreCyclesGe4 => |t| t.uops_executed.at_least(4),
        E::UopsExecutedStalls | E::CycleActivityStallsTotal => |t| t.uops_executed.fewer_than(1),
        E::UopsExecutedX87 => |t| t.x87_uops,
        E::CycleActivityCyclesMemAny => |t| t.cycles_memory,
        E::CycleActivityStallsMemAny | E::ExeActivityBoundOnLoads => |t| t.stalls_memory,
        E::CycleActivityCyclesL1dMiss | E::MemoryActivityCyclesL1dMiss => |t| t.cycles_l1_miss,
        E::CycleActivityStallsL1dMiss | E::MemoryActivityStallsL1dMiss => |t| t.stalls_l1_miss,
        E::CycleActivityCyclesL2Miss | E::OffcoreRequestsOutstandingCyclesWithDataRd => |t| t.cycles_l2_miss,
        E::CycleActivityStallsL2Miss | E::MemoryActivityStallsL2Miss => |t| t.stalls_l2_miss,
        E::CycleActivityStallsL3Miss | E::MemoryActivityStallsL3Miss => |t| t.stalls_l3_miss,
        E::ExeActivity1PortsUtil => |t| t.uops_executed.cycles[1],
        E::ExeActivity2PortsUtil => |t| t.uops_executed.cycles[2],
        E::ExeActivity3PortsUtil => |t| t.uops_executed.cycles[3],
        E::ExeActivity4PortsUtil => |t| t.uops_executed.cycles[4],
        E::ExeActivity2_3PortsUtil => |t| t.uops_executed.cycles[2] + t.uops_executed.cycles[3],
        E::ExeActivityBoundOnStores | E::ResourceStallsSb => |t| t.store_buffer_stalls,
        E::ResourceStallsScoreboard => |t| t.serialisation_stalls,
        E::RsEmpty => |t| t.scheduler_empty,
        E::RsEmptyCount => |t| t.scheduler_emptied,
        E::ExeActivityExeBound0Ports => |t| t.stalls_execution,
        // The two dividers are separate; that both are busy in one cycle is rare.
        E::ArithDivActive => |t| t.integer_divider_active + t.fp_divider_active,
        E::ArithFpdivActive => |t| t.fp_divider_active,
        E::ArithIdivActive => |t| t.integer_divider_active,
        _ => return None,
    })
}

fn floating_point(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::FpArithInstRetiredScalarDouble => |t| t.fp_scalar_double,
        E::FpArithInstRetiredScalarSingle => |t| t.fp_scalar_single,
        E::FpArithInstRetired128bPackedDouble => |t| t.fp_packed_double,
        E::FpArithInstRetired128bPackedSingle => |t| t.fp_packed_single,
        E::FpArithInstRetired256bPackedDouble => |t| t.fp_packed_double_256,
        E::FpArithInstRetired256bPackedSingle => |t| t.fp_packed_single_256,
        E::FpArithInstRetired512bPackedDouble => |t| t.fp_packed_double_512,
        E::FpArithInstRetired512bPackedSingle => |t| t.fp_packed_single_512,
        E::FpArithInstRetired4Flops => |t| t.fp_packed_single + t.fp_packed_double_256,
        E::FpArithInstRetired8Flops => |t| t.fp_packed_single_256 + t.fp_packed_double_512,
        E::FpArithInstRetiredScalar => |t| t.fp_scalar_double + t.fp_scalar_single,
        E::AssistsFp => |t| t.fp_assists,
        E::FpArithInstRetiredVector => |t| {
            t.fp_packed_double
                + t.fp_packed_single
                + t.fp_packed_double_256
                + t.fp_packed_single_256
                + t.fp_packed_double_512
                + t.fp_packed_single_512
        },
        // No CPU that is shown announces half precision.
        E::FpArithInstRetired2ScalarHalf
        | E::FpArithInstRetired2ComplexScalarHalf
        | E::FpArithInstRetired2_128bPackedHalf
        | E::FpArithInstRetired2_256bPackedHalf
        | E::FpArithInstRetired2_512bPackedHalf => |_| 0,
        _ => return None,
    })
}

fn memory(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::MemInstRetiredAllLoads => |t| t.loads,
        E::MemInstRetiredAllStores | E::MemTransRetiredStoreSample => |t| t.stores,
        E::MemInstRetiredAny => |t| t.loads + t.stores,
        E::MemInstRetiredStlbMissLoads => |t| t.second_level_tlb_miss_loads,
        E::MemInstRetiredStlbMissStores => |t| t.second_level_tlb_miss_stores,
        E::MemInstRetiredLockLoads => |t| t.lock_loads,
        E::MemInstRetiredSplitLoads => |t| t.split_loads,
        E::MemInstRetiredSplitStores => |t| t.split_stores,
        E::MemLoadRetiredL1Hit => |t| t.l1_hits,
        E::MemLoadRetiredFbHit => |t| t.fill_buffer_hits,
        E::MemLoadRetiredL1Miss => |t| t.l1_misses,
        E::MemLoadRetiredL2Hit => |t| t.l2_hits,
        E::MemLoadRetiredL2Miss => |t| t.l2_misses,
        E::MemLoadRetiredL3Hit | E::MemLoadL3HitRetiredXsnpNone => |t| t.l3_hits,
        E::MemLoadRetiredL3Miss | E::MemLoadL3MissRetiredLocalDram => |t| t.l3_misses,
        E::LdBlocksStoreForward => |t| t.store_forward_blocks,
        E::LdBlocksAddressAlias => |t| t.alias_blocks,
        E::SwPrefetchAccessNta => |t| t.software_prefetches[0],
        E::SwPrefetchAccessT0 => |t| t.software_prefetches[1],
        E::SwPrefetchAccessT1T2 => |t| t.software_prefetches[2],
        E::SwPrefetchAccessPrefetchw => |t| t.software_prefetches[3],
        E::SqMiscBusLock => |t| t.split_locks,
        _ => return None,
    })
}

fn caches(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::L1dReplacement => |t| t.l1d_replacements,
        E::L1dPendMissPending => |t| t.l1d_pending,
        E::L1dPendMissPendingCycles => |t| t.l1d_pending_cycles,
        E::L1dPendMissFbFull => |t| t.fill_buffers_full_cycles,
        E::L2RqstsDemandDataRdMiss => |t| t.l2_data_reads.misses,
        E::L2RqstsDemandDataRdHit => |t| t.l2_data_reads.hits,
        E::L2RqstsAllDemandDataRd => |t| t.l2_data_reads.hits + t.l2_data_reads.misses,
        E::L2RqstsRfoMiss => |t| t.l2_ownership.misses,
        E::L2RqstsRfoHit => |t| t.l2_ownership.hits,
        E::L2RqstsAllRfo => |t| t.l2_ownership.hits + t.l2_ownership.misses,
        E::L2RqstsCodeRdMiss => |t| t.l2_code_reads.misses,
        E::L2RqstsCodeRdHit => |t| t.l2_code_reads.hits,
        E::L2RqstsAllCodeRd => |t| t.l2_code_reads.hits + t.l2_code_reads.misses,
        E::L2RqstsSwpfMiss => |t| t.l2_software_prefetches.misses,
        E::L2RqstsSwpfHit => |t| t.l2_software_prefetches.hits,
        E::L2RqstsHwpfMiss => |t| t.l2_prefetches.misses,
        E::L2RqstsAllHwpf => |t| t.l2_prefetches.hits + t.l2_prefetches.misses,
        E::L2RqstsAllDemandMiss => {
            |t| t.l2_data_reads.misses + t.l2_ownership.misses + t.l2_code_reads.misses
        }
        E::L2RqstsMiss => |t| l2(t, |lookups| lookups.misses),
        E::L2RqstsHit => |t| l2(t, |lookups| lookups.hits),
        E::L2RqstsReferences => |t| l2(t, |lookups| lookups.hits + lookups.misses),
        E::L2LinesInAll => |t| t.l2_lines_in,
        E::L2LinesOutSilent => |t| t.l2_lines_out_silent,
        E::L2LinesOutNonSilent => |t| t.l2_lines_out_modified,
        E::LongestLatCacheReference => |t| t.llc.hits + t.llc.misses,
        E::LongestLatCacheMiss => |t| t.llc.misses,
        E::OffcoreRequestsDemandDataRd => |t| t.offcore_data_reads,
        E::OffcoreRequestsDemandRfo => |t| t.offcore_ownership,
        // Every request gets its line from the last-level cache or from memory of the own socket.
        E::OcrDemandDataRdAnyResponse => |t| t.offcore_data_reads,
        E::OcrDemandDataRdL3Hit => |t| t.offcore_data_reads - t.offcore_data_read_misses,
        E::OcrDemandDataRdL3Miss => |t| t.offcore_data_read_misses,
        E::OcrDemandRfoAnyResponse => |t| t.offcore_ownership,
        E::OcrDemandRfoL3Hit => |t| t.offcore_ownership - t.offcore_ownership_misses,
        E::OcrDemandRfoL3Miss => |t| t.offcore_ownership_misses,
        E::OcrDemandCodeRdAnyResponse => |t| t.l2_code_reads.misses,
        E::OcrDemandCodeRdL3Hit => |t| t.l2_code_reads.misses - t.offcore_code_read_misses,
        E::OcrDemandCodeRdL3Miss => |t| t.offcore_code_read_misses,
        _ => return None,
    })
}

/// Something of all lookups of the second-level cache.
pub(super) fn l2(totals: &CoreTotals, of: fn(&core_model::Lookups) -> u64) -> u64 {
    let all = [
        &totals.l2_data_reads,
        &totals.l2_ownership,
        &totals.l2_code_reads,
        &totals.l2_software_prefetches,
        &totals.l2_prefetches,
    ];
    all.into_iter().map(of).sum()
}

pub(super) fn walks(translation: &core_model::Translation) -> u64 {
    translation.walks_4k + translation.walks_2m + translation.walks_1g
}

fn translation(event: Event) -> Option<Total> {
    use Event as E;
    Some(match event {
        E::DtlbLoadMissesWalkCompleted4k => |t| t.load_translation.walks_4k,
        E::DtlbLoadMissesWalkCompleted2m4m => |t| t.load_translation.walks_2m,
        E::DtlbLoadMissesWalkCompleted1g => |t| t.load_translation.walks_1g,
        E::DtlbLoadMissesWalkCompleted => |t| walks(&t.load_translation),
        // One walk at a time.
        E::DtlbLoadMissesWalkPending | E::DtlbLoadMissesWalkActive => |t| t.load_translation.walk_cycles,
        E::DtlbLoadMissesStlbHit => |t| t.load_translation.second_level_hits,
        E::DtlbStoreMissesWalkCompleted4k => |t| t.store_translation.walks_4k,
        E::DtlbStoreMissesWalkCompleted2m4m => |t| t.store_translation.walks_2m,
        E::DtlbStoreMissesWalkCompleted1g => |t| t.store_translation.walks_1g,
        E::DtlbStoreMissesWalkCompleted => |t| walks(&t.store_translation),
        E::DtlbStoreMissesWalkPending | E::DtlbStoreMissesWalkActive => |t| t.store_translation.walk_cycles,
        E::DtlbStoreMissesStlbHit => |t| t.store_translation.second_level_hits,
        E::ItlbMissesWalkCompleted4k => |t| t.fetch_translation.walks_4k,
        // Code in pages of 1 GiB is in the sum only.
        E::ItlbMissesWalkCompleted2m4m => |t| t.fetch_translation.walks_2m,
        E::ItlbMissesWalkCompleted => |t| walks(&t.fetch_translation),
        E::ItlbMissesWalkPending | E::ItlbMissesWalkActive => |t| t.fetch_translation.walk_cycles,
        E::ItlbMissesStlbHit => |t| t.fetch_translation.second_level_hits,
        _ => return None,
    })
}

/// The execution ports, by their numbers, whose uops an event counts.
pub(super) fn ports(event: Event) -> Option<&'static [u32]> {
    use Event as E;
    Some(match event {
        E::UopsDispatchedPort0 => &[0],
        E::UopsDispatchedPort1 => &[1],
        E::UopsDispatchedPort2_3 => &[2, 3],
        E::UopsDispatchedPort2_3_10 => &[2, 3, 10],
        // Intel's list has stores' data on 4 and 9, their addresses on 7 and 8.
        E::UopsDispatchedPort4_9 => &[4, 9],
        E::UopsDispatchedPort5 => &[5],
        E::UopsDispatchedPort5_11 => &[5, 11],
        E::UopsDispatchedPort6 => &[6],
        E::UopsDispatchedPort7_8 => &[7, 8],
        _ => return None,
    })
}
