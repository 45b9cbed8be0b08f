//! Other names of events, and events that are other names of a quantity.

use core::fmt;

use super::Event;

/// Names that [`Event::from_name`] accepts besides the events' own.
///
/// Sources: perf's generic events as Linux `arch/x86/events/intel/core.c` maps them on both cores;
/// older, newer and deprecated names from the event lists (`intel/perfmon`).
pub(super) const ALIASES: &[(&str, Event)] = &[
    // perf.
    ("instructions", Event::InstRetiredAny),
    ("cycles", Event::CpuClkUnhaltedThread),
    ("cpu-cycles", Event::CpuClkUnhaltedThread),
    ("ref-cycles", Event::CpuClkUnhaltedRefTsc),
    ("slots", Event::TopdownSlots),
    ("branches", Event::BrInstRetiredAllBranches),
    ("branch-instructions", Event::BrInstRetiredAllBranches),
    ("branch-misses", Event::BrMispRetiredAllBranches),
    ("cache-references", Event::LongestLatCacheReference),
    ("cache-misses", Event::LongestLatCacheMiss),
    ("L1-dcache-loads", Event::MemInstRetiredAllLoads),
    ("L1-dcache-stores", Event::MemInstRetiredAllStores),
    ("tx-start", Event::RtmRetiredStart),
    ("tx-commit", Event::RtmRetiredCommit),
    ("tx-abort", Event::RtmRetiredAborted),
    // Newer than the name that both cores share.
    ("CPU_CLK_UNHALTED.CORE", Event::CpuClkUnhaltedThread),
    ("CPU_CLK_UNHALTED.CORE_P", Event::CpuClkUnhaltedThreadP),
    ("IDQ_BUBBLES.CORE", Event::IdqUopsNotDeliveredCore),
    ("IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE", Event::IdqUopsNotDeliveredCycles0UopsDelivCore),
    ("IDQ_BUBBLES.CYCLES_FE_WAS_OK", Event::IdqUopsNotDeliveredCyclesFeWasOk),
    ("L2_REQUEST.ALL", Event::L2RqstsReferences),
    ("L2_REQUEST.HIT", Event::L2RqstsHit),
    ("L2_REQUEST.MISS", Event::L2RqstsMiss),
    ("TOPDOWN_BAD_SPECULATION.ALL_P", Event::TopdownBadSpeculationAll),
    ("TOPDOWN_FE_BOUND.ALL_P", Event::TopdownFeBoundAll),
    ("TOPDOWN_RETIRING.ALL_P", Event::TopdownRetiringAll),
    // Older, or deprecated.
    ("ARITH.DIVIDER_ACTIVE", Event::ArithDivActive),
    ("ARITH.FP_DIVIDER_ACTIVE", Event::ArithFpdivActive),
    ("ARITH.INT_DIVIDER_ACTIVE", Event::ArithIdivActive),
    ("BR_INST_RETIRED.CONDITIONAL", Event::BrInstRetiredCond),
    ("BR_INST_RETIRED.NOT_TAKEN", Event::BrInstRetiredCondNtaken),
    ("BR_MISP_RETIRED.CONDITIONAL", Event::BrMispRetiredCond),
    ("IDQ.MITE_CYCLES", Event::IdqMiteCyclesAny),
    ("IDQ.DSB_CYCLES", Event::IdqDsbCyclesAny),
    ("LSD.CYCLES_4_UOPS", Event::LsdCyclesOk),
    ("OTHER_ASSISTS.ANY", Event::AssistsAny),
    ("ROB_MISC_EVENTS.LBR_INSERTS", Event::MiscRetiredLbrInserts),
    ("ROB_MISC_EVENTS.PAUSE_INST", Event::MiscRetiredPauseInst),
    ("UOPS_DISPATCHED_PORT.PORT_0", Event::UopsDispatchedPort0),
    ("UOPS_DISPATCHED_PORT.PORT_1", Event::UopsDispatchedPort1),
    ("UOPS_DISPATCHED_PORT.PORT_6", Event::UopsDispatchedPort6),
    ("UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC", Event::UopsExecutedCyclesGe1),
    ("UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC", Event::UopsExecutedCyclesGe2),
    ("UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC", Event::UopsExecutedCyclesGe3),
    ("UOPS_EXECUTED.CYCLES_GE_4_UOPS_EXEC", Event::UopsExecutedCyclesGe4),
    ("ICACHE_16B.IFDATA_STALL", Event::IcacheDataStalls),
    ("ICACHE_64B.IFTAG_STALL", Event::IcacheTagStalls),
    ("ILD_STALL.LCP", Event::DecodeLcp),
    ("LD_BLOCKS_PARTIAL.ADDRESS_ALIAS", Event::LdBlocksAddressAlias),
    ("MEM_LOAD_L3_HIT_RETIRED.XSNP_HIT", Event::MemLoadL3HitRetiredXsnpNoFwd),
    ("MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM", Event::MemLoadL3HitRetiredXsnpFwd),
    ("OCR.DEMAND_CODE_RD.L3_HIT.ANY_SNOOP", Event::OcrDemandCodeRdL3Hit),
    ("OCR.DEMAND_CODE_RD.L3_MISS.ANY_SNOOP", Event::OcrDemandCodeRdL3Miss),
    ("OCR.DEMAND_DATA_RD.L3_HIT.ANY_SNOOP", Event::OcrDemandDataRdL3Hit),
    ("OCR.DEMAND_DATA_RD.L3_MISS.ANY_SNOOP", Event::OcrDemandDataRdL3Miss),
    ("OCR.DEMAND_RFO.L3_HIT.ANY_SNOOP", Event::OcrDemandRfoL3Hit),
    ("OCR.DEMAND_RFO.L3_MISS.ANY_SNOOP", Event::OcrDemandRfoL3Miss),
    ("RS_EMPTY.COUNT", Event::RsEmptyCount),
    ("RS_EMPTY.CYCLES", Event::RsEmpty),
    ("RS_EVENTS.EMPTY_CYCLES", Event::RsEmpty),
    ("RS_EVENTS.EMPTY_END", Event::RsEmptyCount),
    ("UOPS_DECODED.DEC0", Event::UopsDecodedDec0Uops),
    ("UOPS_EXECUTED.STALL_CYCLES", Event::UopsExecutedStalls),
    ("UOPS_RETIRED.RETIRE_SLOTS", Event::UopsRetiredSlots),
    ("UOPS_RETIRED.STALL_CYCLES", Event::UopsRetiredStalls),
    // AMD Zen 2.
    ("ex_ret_cops", Event::ExRetOps),
    ("ex_ret_fus_brnch_inst", Event::ExRetFusedInstr),
    ("bp_l1_tlb_miss_l2_hit", Event::BpL1TlbMissL2TlbHit),
    ("de_dis_uop_queue_empty_di0", Event::DeOpQueueEmpty),
    ("de_dis_uops_from_decoder.decoder_dispatched", Event::DeSrcOpDispDecoder),
    ("de_dis_uops_from_decoder.opcache_dispatched", Event::DeSrcOpDispOpCache),
    (
        "de_dis_dispatch_token_stalls1.fp_misc_rsrc_stall",
        Event::DeDisDispatchTokenStalls1FpFlushRecoveryStall,
    ),
];

impl Event {
    /// The event with this name or alias, in any letter case: `INST_RETIRED.ANY`, perf's
    /// `branch-misses`, or a name that another core's event list uses.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let own = Self::ALL.into_iter().find(|event| event.name().eq_ignore_ascii_case(name));
        own.or_else(|| {
            let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
            alias.map(|&(_, event)| event)
        })
    }

    /// The other names that [`Event::from_name`] accepts for this event.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        ALIASES.iter().filter(move |(_, event)| *event == self).map(|&(name, _)| name)
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
