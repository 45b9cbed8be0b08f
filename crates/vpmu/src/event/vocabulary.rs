//! The event names, declared once.
//!
//! A row is a variant, its name in Intel's event lists, and what it counts. Names and meanings are
//! those of the public event files (`intel/perfmon`: Ice Lake-SP, Sapphire Rapids; Linux
//! `tools/perf/pmu-events`: AMD Zen) and, for the architectural events, of the SDM volume 3 chapter on
//! performance monitoring. Where two cores of a vendor name the same thing differently, the newer name
//! stands here and the other is an alias.

macro_rules! events {
    ($(#[doc = $description:literal] $variant:ident = $name:literal,)+) => {
        /// A countable event.
        ///
        /// The order is that of the declaration; it is not an ABI, so store [`Event::name`], never
        /// [`Event::index`].
        #[non_exhaustive]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[repr(u16)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Event {
            $(
                #[doc = concat!("`", $name, "`:")]
                #[doc = $description]
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $variant,
            )+
        }

        impl Event {
            /// Every event, in the order of [`Event::index`].
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// How many events there are; one more than the largest [`Event::index`].
            pub const COUNT: usize = [$($name),+].len();

            const NAMES: [&'static str; Self::COUNT] = [$($name),+];

            const DESCRIPTIONS: [&'static str; Self::COUNT] = [$($description.trim_ascii()),+];
        }
    };
}

events! {
    // Retirement, clocks, top-down slots.
    /// Instructions retired, on fixed counter 0; a REP string instruction counts once.
    InstRetiredAny = "INST_RETIRED.ANY",
    /// Instructions retired, on a general-purpose counter.
    InstRetiredAnyP = "INST_RETIRED.ANY_P",
    /// Instructions retired, fixed counter 0 with precise sampling distribution.
    InstRetiredPrecDist = "INST_RETIRED.PREC_DIST",
    /// NOP instructions retired.
    InstRetiredNop = "INST_RETIRED.NOP",
    /// Iterations of retired REP string instructions.
    InstRetiredRepIteration = "INST_RETIRED.REP_ITERATION",
    /// Macro-fused instruction pairs retired.
    InstRetiredMacroFused = "INST_RETIRED.MACRO_FUSED",
    /// Core cycles while the logical processor is not halted, on fixed counter 1.
    CpuClkUnhaltedThread = "CPU_CLK_UNHALTED.THREAD",
    /// Core cycles while the logical processor is not halted, on a general-purpose counter.
    CpuClkUnhaltedThreadP = "CPU_CLK_UNHALTED.THREAD_P",
    /// TSC-rate reference cycles while not halted, on fixed counter 2.
    CpuClkUnhaltedRefTsc = "CPU_CLK_UNHALTED.REF_TSC",
    /// TSC-rate reference cycles while not halted, on a general-purpose counter.
    CpuClkUnhaltedRefTscP = "CPU_CLK_UNHALTED.REF_TSC_P",
    /// Crystal-clock reference cycles while not halted (25 MHz on servers).
    CpuClkUnhaltedRefXclk = "CPU_CLK_UNHALTED.REF_XCLK",
    /// Reference cycles while the sibling logical processor is halted.
    CpuClkUnhaltedOneThreadActive = "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE",
    /// Crystal-clock cycles, shared out between the active siblings of a core.
    CpuClkUnhaltedRefDistributed = "CPU_CLK_UNHALTED.REF_DISTRIBUTED",
    /// Core cycles, shared out between the active siblings of a core.
    CpuClkUnhaltedDistributed = "CPU_CLK_UNHALTED.DISTRIBUTED",
    /// Core cycles in the light C0.1 state entered by TPAUSE or UMWAIT.
    CpuClkUnhaltedC01 = "CPU_CLK_UNHALTED.C01",
    /// Core cycles in the deeper C0.2 state entered by TPAUSE or UMWAIT.
    CpuClkUnhaltedC02 = "CPU_CLK_UNHALTED.C02",
    /// Core cycles spent in PAUSE.
    CpuClkUnhaltedPause = "CPU_CLK_UNHALTED.PAUSE",
    /// PAUSE instructions, counted as starts of a PAUSE period.
    CpuClkUnhaltedPauseInst = "CPU_CLK_UNHALTED.PAUSE_INST",
    /// Core cycles in C0.1, C0.2 or PAUSE.
    CpuClkUnhaltedC0Wait = "CPU_CLK_UNHALTED.C0_WAIT",
    /// Issue slots (pipeline width times unhalted cycles), on fixed counter 3.
    TopdownSlots = "TOPDOWN.SLOTS",
    /// Issue slots (pipeline width times unhalted cycles), on a general-purpose counter.
    TopdownSlotsP = "TOPDOWN.SLOTS_P",
    /// Slots left empty because the back end could not accept uops.
    TopdownBackendBoundSlots = "TOPDOWN.BACKEND_BOUND_SLOTS",
    /// Slots wasted on uops that never retired or on recovery from a wrong path.
    TopdownBadSpecSlots = "TOPDOWN.BAD_SPEC_SLOTS",
    /// Slots wasted because of branch mispredictions.
    TopdownBrMispredictSlots = "TOPDOWN.BR_MISPREDICT_SLOTS",
    /// Back-end bound slots that waited for the memory subsystem.
    TopdownMemoryBoundSlots = "TOPDOWN.MEMORY_BOUND_SLOTS",
    /// Slots wasted on bad speculation: architectural event 9, Atom fixed counter 4.
    TopdownBadSpeculationAll = "TOPDOWN_BAD_SPECULATION.ALL",
    /// Slots the front end left empty, as counted by Atom fixed counter 5.
    TopdownFeBoundAll = "TOPDOWN_FE_BOUND.ALL",
    /// Slots whose uop retired, as counted by Atom fixed counter 6.
    TopdownRetiringAll = "TOPDOWN_RETIRING.ALL",
    /// Slots whose uop retired; the numerator of the retiring metric.
    UopsRetiredSlots = "UOPS_RETIRED.SLOTS",
    /// Cycles in which no uop retired.
    UopsRetiredStalls = "UOPS_RETIRED.STALLS",
    /// Unhalted cycles, written as fewer than 10 uops retired.
    UopsRetiredTotalCycles = "UOPS_RETIRED.TOTAL_CYCLES",
    /// Cycles in which at least one uop retired.
    UopsRetiredCycles = "UOPS_RETIRED.CYCLES",
    /// Retired uops beyond the last uop of each instruction.
    UopsRetiredHeavy = "UOPS_RETIRED.HEAVY",
    /// Retired uops that the microcode sequencer supplied.
    UopsRetiredMs = "UOPS_RETIRED.MS",
    /// Microcode assists of any kind.
    AssistsAny = "ASSISTS.ANY",
    /// Microcode assists for floating-point operands or results.
    AssistsFp = "ASSISTS.FP",
    /// Records written to the last branch record stack.
    MiscRetiredLbrInserts = "MISC_RETIRED.LBR_INSERTS",
    /// PAUSE instructions retired.
    MiscRetiredPauseInst = "MISC_RETIRED.PAUSE_INST",

    // Branches and machine clears.
    /// Branch instructions retired: taken or not, near and far.
    BrInstRetiredAllBranches = "BR_INST_RETIRED.ALL_BRANCHES",
    /// Near calls retired, direct and indirect.
    BrInstRetiredNearCall = "BR_INST_RETIRED.NEAR_CALL",
    /// Near returns retired.
    BrInstRetiredNearReturn = "BR_INST_RETIRED.NEAR_RETURN",
    /// Conditional branches retired that were taken.
    BrInstRetiredCondTaken = "BR_INST_RETIRED.COND_TAKEN",
    /// Conditional branches retired that were not taken.
    BrInstRetiredCondNtaken = "BR_INST_RETIRED.COND_NTAKEN",
    /// Conditional branches retired.
    BrInstRetiredCond = "BR_INST_RETIRED.COND",
    /// Near branches retired that were taken, of every kind.
    BrInstRetiredNearTaken = "BR_INST_RETIRED.NEAR_TAKEN",
    /// Far branches retired: far jumps, calls and returns, IRET, SYSCALL, interrupts.
    BrInstRetiredFarBranch = "BR_INST_RETIRED.FAR_BRANCH",
    /// Near indirect branches retired, without returns.
    BrInstRetiredIndirect = "BR_INST_RETIRED.INDIRECT",
    /// Mispredicted branches retired.
    BrMispRetiredAllBranches = "BR_MISP_RETIRED.ALL_BRANCHES",
    /// Mispredicted conditional branches retired that were taken.
    BrMispRetiredCondTaken = "BR_MISP_RETIRED.COND_TAKEN",
    /// Mispredicted conditional branches retired that were not taken.
    BrMispRetiredCondNtaken = "BR_MISP_RETIRED.COND_NTAKEN",
    /// Mispredicted conditional branches retired.
    BrMispRetiredCond = "BR_MISP_RETIRED.COND",
    /// Mispredicted indirect calls retired.
    BrMispRetiredIndirectCall = "BR_MISP_RETIRED.INDIRECT_CALL",
    /// Mispredicted near returns retired.
    BrMispRetiredRet = "BR_MISP_RETIRED.RET",
    /// Mispredicted near branches retired that were taken.
    BrMispRetiredNearTaken = "BR_MISP_RETIRED.NEAR_TAKEN",
    /// Mispredicted near indirect branches retired, without returns.
    BrMispRetiredIndirect = "BR_MISP_RETIRED.INDIRECT",
    /// Front-end resteers: the decoder found a branch that the predictor missed.
    BaclearsAny = "BACLEARS.ANY",
    /// Machine clears (pipeline flushes) of any cause.
    MachineClearsCount = "MACHINE_CLEARS.COUNT",
    /// Machine clears caused by a memory-ordering conflict.
    MachineClearsMemoryOrdering = "MACHINE_CLEARS.MEMORY_ORDERING",
    /// Machine clears caused by self-modifying code.
    MachineClearsSmc = "MACHINE_CLEARS.SMC",
    /// Cycles in which allocation waits for recovery from a misprediction or clear.
    IntMiscRecoveryCycles = "INT_MISC.RECOVERY_CYCLES",
    /// Cycles of recovery, including the wait for the first uop of the new path.
    IntMiscAllRecoveryCycles = "INT_MISC.ALL_RECOVERY_CYCLES",
    /// Recoveries: branch mispredictions and machine clears, counted at their start.
    IntMiscClearsCount = "INT_MISC.CLEARS_COUNT",
    /// Slots lost while uops pass from the queue to allocation, without a back-end stall.
    IntMiscUopDropping = "INT_MISC.UOP_DROPPING",
    /// Cycles from a recovery until the first uop of the new path is issued.
    IntMiscClearResteerCycles = "INT_MISC.CLEAR_RESTEER_CYCLES",
    /// Cycles the front end waits after a branch that the predictor did not know.
    IntMiscUnknownBranchCycles = "INT_MISC.UNKNOWN_BRANCH_CYCLES",
    /// Transactional regions entered (XBEGIN).
    RtmRetiredStart = "RTM_RETIRED.START",
    /// Transactional regions committed (XEND).
    RtmRetiredCommit = "RTM_RETIRED.COMMIT",
    /// Transactional regions aborted.
    RtmRetiredAborted = "RTM_RETIRED.ABORTED",

    // Front end.
    /// Slots the front end left empty while the back end could accept uops.
    IdqUopsNotDeliveredCore = "IDQ_UOPS_NOT_DELIVERED.CORE",
    /// Cycles in which the front end delivered nothing and the back end could accept uops.
    IdqUopsNotDeliveredCycles0UopsDelivCore = "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE",
    /// Cycles in which the front end filled every slot or the back end was stalled.
    IdqUopsNotDeliveredCyclesFeWasOk = "IDQ_UOPS_NOT_DELIVERED.CYCLES_FE_WAS_OK",
    /// Uops delivered by the legacy decoders.
    IdqMiteUops = "IDQ.MITE_UOPS",
    /// Cycles in which the legacy decoders delivered at least one uop.
    IdqMiteCyclesAny = "IDQ.MITE_CYCLES_ANY",
    /// Cycles in which the legacy decoders delivered the full width.
    IdqMiteCyclesOk = "IDQ.MITE_CYCLES_OK",
    /// Uops delivered by the decoded uop cache.
    IdqDsbUops = "IDQ.DSB_UOPS",
    /// Cycles in which the decoded uop cache delivered at least one uop.
    IdqDsbCyclesAny = "IDQ.DSB_CYCLES_ANY",
    /// Cycles in which the decoded uop cache delivered the full width.
    IdqDsbCyclesOk = "IDQ.DSB_CYCLES_OK",
    /// Uops delivered by the microcode sequencer.
    IdqMsUops = "IDQ.MS_UOPS",
    /// Switches of delivery to the microcode sequencer.
    IdqMsSwitches = "IDQ.MS_SWITCHES",
    /// Uops delivered by the loop stream detector.
    LsdUops = "LSD.UOPS",
    /// Cycles in which the loop stream detector delivered at least one uop.
    LsdCyclesActive = "LSD.CYCLES_ACTIVE",
    /// Cycles in which the loop stream detector delivered the full width.
    LsdCyclesOk = "LSD.CYCLES_OK",
    /// Penalty cycles of switches from the decoded uop cache to the legacy decoders.
    Dsb2miteSwitchesPenaltyCycles = "DSB2MITE_SWITCHES.PENALTY_CYCLES",
    /// Cycles in which code fetch waits for an L1 instruction cache miss.
    IcacheDataStalls = "ICACHE_DATA.STALLS",
    /// Cycles in which code fetch waits for an L1 instruction cache tag or ITLB miss.
    IcacheTagStalls = "ICACHE_TAG.STALLS",
    /// Code fetch tag look-ups (64-byte lines) that hit the L1 instruction cache.
    Icache64bIftagHit = "ICACHE_64B.IFTAG_HIT",
    /// Code fetch tag look-ups (64-byte lines) that missed the L1 instruction cache.
    Icache64bIftagMiss = "ICACHE_64B.IFTAG_MISS",
    /// Decoder stall cycles caused by length-changing prefixes.
    DecodeLcp = "DECODE.LCP",
    /// Uops decoded by decoder 0.
    UopsDecodedDec0Uops = "UOPS_DECODED.DEC0_UOPS",
    /// Retired instructions whose fetch missed the decoded uop cache.
    FrontendRetiredAnyDsbMiss = "FRONTEND_RETIRED.ANY_DSB_MISS",
    /// Retired instructions whose uop-cache miss was critical to delivery.
    FrontendRetiredDsbMiss = "FRONTEND_RETIRED.DSB_MISS",
    /// Retired instructions whose fetch missed the L1 instruction cache.
    FrontendRetiredL1iMiss = "FRONTEND_RETIRED.L1I_MISS",
    /// Retired instructions whose fetch missed the L2 cache.
    FrontendRetiredL2Miss = "FRONTEND_RETIRED.L2_MISS",
    /// Retired instructions whose fetch missed the first-level instruction TLB.
    FrontendRetiredItlbMiss = "FRONTEND_RETIRED.ITLB_MISS",
    /// Retired instructions whose fetch missed the second-level TLB.
    FrontendRetiredStlbMiss = "FRONTEND_RETIRED.STLB_MISS",
    /// Retired instructions that started a microcode flow.
    FrontendRetiredMsFlows = "FRONTEND_RETIRED.MS_FLOWS",
    /// Retired instructions after a branch that the predictor did not know.
    FrontendRetiredUnknownBranch = "FRONTEND_RETIRED.UNKNOWN_BRANCH",
    /// Retired instructions after at least 1 cycle without delivery and no back-end stall.
    FrontendRetiredLatencyGe1 = "FRONTEND_RETIRED.LATENCY_GE_1",
    /// Retired instructions after at least 2 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe2 = "FRONTEND_RETIRED.LATENCY_GE_2",
    /// Retired instructions after at least 4 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe4 = "FRONTEND_RETIRED.LATENCY_GE_4",
    /// Retired instructions after at least 8 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe8 = "FRONTEND_RETIRED.LATENCY_GE_8",
    /// Retired instructions after at least 16 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe16 = "FRONTEND_RETIRED.LATENCY_GE_16",
    /// Retired instructions after at least 32 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe32 = "FRONTEND_RETIRED.LATENCY_GE_32",
    /// Retired instructions after at least 64 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe64 = "FRONTEND_RETIRED.LATENCY_GE_64",
    /// Retired instructions after at least 128 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe128 = "FRONTEND_RETIRED.LATENCY_GE_128",
    /// Retired instructions after at least 256 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe256 = "FRONTEND_RETIRED.LATENCY_GE_256",
    /// Retired instructions after at least 512 cycles without delivery and no back-end stall.
    FrontendRetiredLatencyGe512 = "FRONTEND_RETIRED.LATENCY_GE_512",
    /// Retired instructions after at least 1 empty slot in each of 2 cycles, no back-end stall.
    FrontendRetiredLatencyGe2BubblesGe1 = "FRONTEND_RETIRED.LATENCY_GE_2_BUBBLES_GE_1",

    // Uop flow.
    /// Uops issued from the queue to the back end.
    UopsIssuedAny = "UOPS_ISSUED.ANY",
    /// Cycles in which no uop was issued.
    UopsIssuedStallCycles = "UOPS_ISSUED.STALL_CYCLES",
    /// Cycles in which at least one uop was issued.
    UopsIssuedCycles = "UOPS_ISSUED.CYCLES",
    /// Uops executed by this logical processor.
    UopsExecutedThread = "UOPS_EXECUTED.THREAD",
    /// Cycles in which this logical processor executed at least 1 uop.
    UopsExecutedCyclesGe1 = "UOPS_EXECUTED.CYCLES_GE_1",
    /// Cycles in which this logical processor executed at least 2 uops.
    UopsExecutedCyclesGe2 = "UOPS_EXECUTED.CYCLES_GE_2",
    /// Cycles in which this logical processor executed at least 3 uops.
    UopsExecutedCyclesGe3 = "UOPS_EXECUTED.CYCLES_GE_3",
    /// Cycles in which this logical processor executed at least 4 uops.
    UopsExecutedCyclesGe4 = "UOPS_EXECUTED.CYCLES_GE_4",
    /// Cycles in which this logical processor executed no uop.
    UopsExecutedStalls = "UOPS_EXECUTED.STALLS",
    /// Uops executed by the core, both siblings together.
    UopsExecutedCore = "UOPS_EXECUTED.CORE",
    /// Cycles in which the core executed at least 1 uop.
    UopsExecutedCoreCyclesGe1 = "UOPS_EXECUTED.CORE_CYCLES_GE_1",
    /// Cycles in which the core executed at least 2 uops.
    UopsExecutedCoreCyclesGe2 = "UOPS_EXECUTED.CORE_CYCLES_GE_2",
    /// Cycles in which the core executed at least 3 uops.
    UopsExecutedCoreCyclesGe3 = "UOPS_EXECUTED.CORE_CYCLES_GE_3",
    /// Cycles in which the core executed at least 4 uops.
    UopsExecutedCoreCyclesGe4 = "UOPS_EXECUTED.CORE_CYCLES_GE_4",
    /// x87 uops executed.
    UopsExecutedX87 = "UOPS_EXECUTED.X87",
    /// Uops dispatched to port 0.
    UopsDispatchedPort0 = "UOPS_DISPATCHED.PORT_0",
    /// Uops dispatched to port 1.
    UopsDispatchedPort1 = "UOPS_DISPATCHED.PORT_1",
    /// Uops dispatched to the load ports 2 and 3.
    UopsDispatchedPort2_3 = "UOPS_DISPATCHED.PORT_2_3",
    /// Uops dispatched to the load ports 2, 3 and 10.
    UopsDispatchedPort2_3_10 = "UOPS_DISPATCHED.PORT_2_3_10",
    /// Uops dispatched to the store-data ports 4 and 9.
    UopsDispatchedPort4_9 = "UOPS_DISPATCHED.PORT_4_9",
    /// Uops dispatched to port 5.
    UopsDispatchedPort5 = "UOPS_DISPATCHED.PORT_5",
    /// Uops dispatched to ports 5 and 11.
    UopsDispatchedPort5_11 = "UOPS_DISPATCHED.PORT_5_11",
    /// Uops dispatched to port 6.
    UopsDispatchedPort6 = "UOPS_DISPATCHED.PORT_6",
    /// Uops dispatched to the store-address ports 7 and 8.
    UopsDispatchedPort7_8 = "UOPS_DISPATCHED.PORT_7_8",

    // Execution stalls.
    /// Cycles without execution, whatever the cause.
    CycleActivityStallsTotal = "CYCLE_ACTIVITY.STALLS_TOTAL",
    /// Cycles with a load outstanding in the memory subsystem.
    CycleActivityCyclesMemAny = "CYCLE_ACTIVITY.CYCLES_MEM_ANY",
    /// Cycles without execution while a load is outstanding.
    CycleActivityStallsMemAny = "CYCLE_ACTIVITY.STALLS_MEM_ANY",
    /// Cycles with an L1 data cache miss demand load outstanding.
    CycleActivityCyclesL1dMiss = "CYCLE_ACTIVITY.CYCLES_L1D_MISS",
    /// Cycles without execution while an L1 data cache miss load is outstanding.
    CycleActivityStallsL1dMiss = "CYCLE_ACTIVITY.STALLS_L1D_MISS",
    /// Cycles with an L2 miss demand load outstanding.
    CycleActivityCyclesL2Miss = "CYCLE_ACTIVITY.CYCLES_L2_MISS",
    /// Cycles without execution while an L2 miss load is outstanding.
    CycleActivityStallsL2Miss = "CYCLE_ACTIVITY.STALLS_L2_MISS",
    /// Cycles without execution while an L3 miss load is outstanding.
    CycleActivityStallsL3Miss = "CYCLE_ACTIVITY.STALLS_L3_MISS",
    /// Cycles with an L1 data cache miss demand load outstanding, as Golden Cove counts them.
    MemoryActivityCyclesL1dMiss = "MEMORY_ACTIVITY.CYCLES_L1D_MISS",
    /// Execution stalls while an L1 data cache miss load is outstanding (Golden Cove).
    MemoryActivityStallsL1dMiss = "MEMORY_ACTIVITY.STALLS_L1D_MISS",
    /// Execution stalls while an L2 miss load is outstanding (Golden Cove).
    MemoryActivityStallsL2Miss = "MEMORY_ACTIVITY.STALLS_L2_MISS",
    /// Execution stalls while an L3 miss load is outstanding (Golden Cove).
    MemoryActivityStallsL3Miss = "MEMORY_ACTIVITY.STALLS_L3_MISS",
    /// Cycles in which exactly one uop executed and the reservation station was not empty.
    ExeActivity1PortsUtil = "EXE_ACTIVITY.1_PORTS_UTIL",
    /// Cycles in which exactly two uops executed and the reservation station was not empty.
    ExeActivity2PortsUtil = "EXE_ACTIVITY.2_PORTS_UTIL",
    /// Cycles in which exactly three uops executed and the reservation station was not empty.
    ExeActivity3PortsUtil = "EXE_ACTIVITY.3_PORTS_UTIL",
    /// Cycles in which exactly four uops executed and the reservation station was not empty.
    ExeActivity4PortsUtil = "EXE_ACTIVITY.4_PORTS_UTIL",
    /// Cycles in which two or three uops executed and the reservation station was not empty.
    ExeActivity2_3PortsUtil = "EXE_ACTIVITY.2_3_PORTS_UTIL",
    /// Execution stalls while the memory subsystem has a load outstanding.
    ExeActivityBoundOnLoads = "EXE_ACTIVITY.BOUND_ON_LOADS",
    /// Cycles in which the store buffer was full and no load caused a stall.
    ExeActivityBoundOnStores = "EXE_ACTIVITY.BOUND_ON_STORES",
    /// Cycles in which nothing executed although uops waited and no load was outstanding.
    ExeActivityExeBound0Ports = "EXE_ACTIVITY.EXE_BOUND_0_PORTS",
    /// Allocation stalls caused by serializing operations.
    ResourceStallsScoreboard = "RESOURCE_STALLS.SCOREBOARD",
    /// Allocation stalls caused by a full store buffer.
    ResourceStallsSb = "RESOURCE_STALLS.SB",
    /// Cycles in which the reservation station was empty.
    RsEmpty = "RS.EMPTY",
    /// Ends of periods in which the reservation station was empty.
    RsEmptyCount = "RS.EMPTY_COUNT",
    /// Cycles in which a divider was busy, integer or floating-point.
    ArithDivActive = "ARITH.DIV_ACTIVE",
    /// Cycles in which the floating-point divider was busy (divide and square root).
    ArithFpdivActive = "ARITH.FPDIV_ACTIVE",
    /// Cycles in which the integer divider was busy.
    ArithIdivActive = "ARITH.IDIV_ACTIVE",

    // Floating point: instructions, where a fused multiply-add counts two.
    /// Scalar double-precision operations retired; an FMA counts 2.
    FpArithInstRetiredScalarDouble = "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE",
    /// Scalar single-precision operations retired; an FMA counts 2.
    FpArithInstRetiredScalarSingle = "FP_ARITH_INST_RETIRED.SCALAR_SINGLE",
    /// 128-bit packed double-precision instructions retired; an FMA counts 2.
    FpArithInstRetired128bPackedDouble = "FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE",
    /// 128-bit packed single-precision instructions retired; an FMA counts 2.
    FpArithInstRetired128bPackedSingle = "FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE",
    /// 256-bit packed double-precision instructions retired; an FMA counts 2.
    FpArithInstRetired256bPackedDouble = "FP_ARITH_INST_RETIRED.256B_PACKED_DOUBLE",
    /// 256-bit packed single-precision instructions retired; an FMA counts 2.
    FpArithInstRetired256bPackedSingle = "FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE",
    /// 512-bit packed double-precision instructions retired; an FMA counts 2.
    FpArithInstRetired512bPackedDouble = "FP_ARITH_INST_RETIRED.512B_PACKED_DOUBLE",
    /// 512-bit packed single-precision instructions retired; an FMA counts 2.
    FpArithInstRetired512bPackedSingle = "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE",
    /// Scalar floating-point instructions retired; an FMA counts 2.
    FpArithInstRetiredScalar = "FP_ARITH_INST_RETIRED.SCALAR",
    /// Packed instructions retired that do 4 operations per count.
    FpArithInstRetired4Flops = "FP_ARITH_INST_RETIRED.4_FLOPS",
    /// Packed instructions retired that do 8 operations per count.
    FpArithInstRetired8Flops = "FP_ARITH_INST_RETIRED.8_FLOPS",
    /// Packed floating-point instructions retired; an FMA counts 2.
    FpArithInstRetiredVector = "FP_ARITH_INST_RETIRED.VECTOR",
    /// Scalar half-precision instructions retired, real arithmetic.
    FpArithInstRetired2ScalarHalf = "FP_ARITH_INST_RETIRED2.SCALAR_HALF",
    /// Scalar half-precision instructions retired, complex arithmetic.
    FpArithInstRetired2ComplexScalarHalf = "FP_ARITH_INST_RETIRED2.COMPLEX_SCALAR_HALF",
    /// 128-bit packed half-precision instructions retired.
    FpArithInstRetired2_128bPackedHalf = "FP_ARITH_INST_RETIRED2.128B_PACKED_HALF",
    /// 256-bit packed half-precision instructions retired.
    FpArithInstRetired2_256bPackedHalf = "FP_ARITH_INST_RETIRED2.256B_PACKED_HALF",
    /// 512-bit packed half-precision instructions retired.
    FpArithInstRetired2_512bPackedHalf = "FP_ARITH_INST_RETIRED2.512B_PACKED_HALF",

    // Retired loads and stores.
    /// Load instructions retired.
    MemInstRetiredAllLoads = "MEM_INST_RETIRED.ALL_LOADS",
    /// Store instructions retired.
    MemInstRetiredAllStores = "MEM_INST_RETIRED.ALL_STORES",
    /// Load and store instructions retired.
    MemInstRetiredAny = "MEM_INST_RETIRED.ANY",
    /// Loads retired that missed the second-level TLB.
    MemInstRetiredStlbMissLoads = "MEM_INST_RETIRED.STLB_MISS_LOADS",
    /// Stores retired that missed the second-level TLB.
    MemInstRetiredStlbMissStores = "MEM_INST_RETIRED.STLB_MISS_STORES",
    /// Loads retired with locked access.
    MemInstRetiredLockLoads = "MEM_INST_RETIRED.LOCK_LOADS",
    /// Loads retired that crossed a cache line.
    MemInstRetiredSplitLoads = "MEM_INST_RETIRED.SPLIT_LOADS",
    /// Stores retired that crossed a cache line.
    MemInstRetiredSplitStores = "MEM_INST_RETIRED.SPLIT_STORES",
    /// Loads retired whose data came from the L1 data cache.
    MemLoadRetiredL1Hit = "MEM_LOAD_RETIRED.L1_HIT",
    /// Loads retired whose data came from the L2 cache.
    MemLoadRetiredL2Hit = "MEM_LOAD_RETIRED.L2_HIT",
    /// Loads retired whose data came from the L3 cache.
    MemLoadRetiredL3Hit = "MEM_LOAD_RETIRED.L3_HIT",
    /// Loads retired that merged with an outstanding L1 miss (fill buffer).
    MemLoadRetiredFbHit = "MEM_LOAD_RETIRED.FB_HIT",
    /// Loads retired that missed the L1 data cache.
    MemLoadRetiredL1Miss = "MEM_LOAD_RETIRED.L1_MISS",
    /// Loads retired that missed the L2 cache.
    MemLoadRetiredL2Miss = "MEM_LOAD_RETIRED.L2_MISS",
    /// Loads retired that missed the L3 cache.
    MemLoadRetiredL3Miss = "MEM_LOAD_RETIRED.L3_MISS",
    /// L3-hit loads retired whose snoop of a sibling core missed.
    MemLoadL3HitRetiredXsnpMiss = "MEM_LOAD_L3_HIT_RETIRED.XSNP_MISS",
    /// L3-hit loads retired whose snoop hit a clean line, with no data forwarded.
    MemLoadL3HitRetiredXsnpNoFwd = "MEM_LOAD_L3_HIT_RETIRED.XSNP_NO_FWD",
    /// L3-hit loads retired whose data another core forwarded.
    MemLoadL3HitRetiredXsnpFwd = "MEM_LOAD_L3_HIT_RETIRED.XSNP_FWD",
    /// L3-hit loads retired that needed no snoop.
    MemLoadL3HitRetiredXsnpNone = "MEM_LOAD_L3_HIT_RETIRED.XSNP_NONE",
    /// L3-miss loads retired whose data came from local memory.
    MemLoadL3MissRetiredLocalDram = "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM",
    /// L3-miss loads retired whose data came from another socket's memory.
    MemLoadL3MissRetiredRemoteDram = "MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM",
    /// L3-miss loads retired whose data was modified in another socket's cache.
    MemLoadL3MissRetiredRemoteHitm = "MEM_LOAD_L3_MISS_RETIRED.REMOTE_HITM",
    /// L3-miss loads retired whose data another socket's cache forwarded.
    MemLoadL3MissRetiredRemoteFwd = "MEM_LOAD_L3_MISS_RETIRED.REMOTE_FWD",
    /// Sampled loads that took more than 4 cycles.
    MemTransRetiredLoadLatencyGt4 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4",
    /// Sampled loads that took more than 8 cycles.
    MemTransRetiredLoadLatencyGt8 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_8",
    /// Sampled loads that took more than 16 cycles.
    MemTransRetiredLoadLatencyGt16 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_16",
    /// Sampled loads that took more than 32 cycles.
    MemTransRetiredLoadLatencyGt32 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_32",
    /// Sampled loads that took more than 64 cycles.
    MemTransRetiredLoadLatencyGt64 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_64",
    /// Sampled loads that took more than 128 cycles.
    MemTransRetiredLoadLatencyGt128 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_128",
    /// Sampled loads that took more than 256 cycles.
    MemTransRetiredLoadLatencyGt256 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_256",
    /// Sampled loads that took more than 512 cycles.
    MemTransRetiredLoadLatencyGt512 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_512",
    /// Sampled loads that took more than 1024 cycles.
    MemTransRetiredLoadLatencyGt1024 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_1024",
    /// Stores retired, as sampled by the store latency facility.
    MemTransRetiredStoreSample = "MEM_TRANS_RETIRED.STORE_SAMPLE",
    /// Loads blocked because an older store could not forward its data.
    LdBlocksStoreForward = "LD_BLOCKS.STORE_FORWARD",
    /// Split loads blocked because no split register was free.
    LdBlocksNoSr = "LD_BLOCKS.NO_SR",
    /// Loads delayed by a false dependence on a store 4 KiB apart.
    LdBlocksAddressAlias = "LD_BLOCKS.ADDRESS_ALIAS",
    /// PREFETCHNTA instructions executed.
    SwPrefetchAccessNta = "SW_PREFETCH_ACCESS.NTA",
    /// PREFETCHT0 instructions executed.
    SwPrefetchAccessT0 = "SW_PREFETCH_ACCESS.T0",
    /// PREFETCHT1 and PREFETCHT2 instructions executed.
    SwPrefetchAccessT1T2 = "SW_PREFETCH_ACCESS.T1_T2",
    /// PREFETCHW instructions executed.
    SwPrefetchAccessPrefetchw = "SW_PREFETCH_ACCESS.PREFETCHW",
    /// Bus locks: atomic accesses that were split or uncacheable.
    SqMiscBusLock = "SQ_MISC.BUS_LOCK",

    // Caches.
    /// Lines filled into the L1 data cache.
    L1dReplacement = "L1D.REPLACEMENT",
    /// L1 data cache misses outstanding, summed over cycles.
    L1dPendMissPending = "L1D_PEND_MISS.PENDING",
    /// Cycles with an L1 data cache load miss outstanding.
    L1dPendMissPendingCycles = "L1D_PEND_MISS.PENDING_CYCLES",
    /// Cycles in which a demand request waited for a free fill buffer.
    L1dPendMissFbFull = "L1D_PEND_MISS.FB_FULL",
    /// Demand data reads that missed the L2 cache.
    L2RqstsDemandDataRdMiss = "L2_RQSTS.DEMAND_DATA_RD_MISS",
    /// Reads for ownership that missed the L2 cache.
    L2RqstsRfoMiss = "L2_RQSTS.RFO_MISS",
    /// Code reads that missed the L2 cache.
    L2RqstsCodeRdMiss = "L2_RQSTS.CODE_RD_MISS",
    /// Software prefetches that missed the L2 cache.
    L2RqstsSwpfMiss = "L2_RQSTS.SWPF_MISS",
    /// Demand data reads that hit the L2 cache.
    L2RqstsDemandDataRdHit = "L2_RQSTS.DEMAND_DATA_RD_HIT",
    /// Reads for ownership that hit the L2 cache.
    L2RqstsRfoHit = "L2_RQSTS.RFO_HIT",
    /// Code reads that hit the L2 cache.
    L2RqstsCodeRdHit = "L2_RQSTS.CODE_RD_HIT",
    /// Software prefetches that hit the L2 cache.
    L2RqstsSwpfHit = "L2_RQSTS.SWPF_HIT",
    /// Demand requests (data, ownership, code) that missed the L2 cache.
    L2RqstsAllDemandMiss = "L2_RQSTS.ALL_DEMAND_MISS",
    /// Demand data reads that reached the L2 cache.
    L2RqstsAllDemandDataRd = "L2_RQSTS.ALL_DEMAND_DATA_RD",
    /// Reads for ownership that reached the L2 cache.
    L2RqstsAllRfo = "L2_RQSTS.ALL_RFO",
    /// Code reads that reached the L2 cache.
    L2RqstsAllCodeRd = "L2_RQSTS.ALL_CODE_RD",
    /// Read requests of any kind that missed the L2 cache.
    L2RqstsMiss = "L2_RQSTS.MISS",
    /// Requests of any kind that reached the L2 cache.
    L2RqstsReferences = "L2_RQSTS.REFERENCES",
    /// Requests of any kind that hit the L2 cache.
    L2RqstsHit = "L2_RQSTS.HIT",
    /// Hardware prefetches that missed the L2 cache.
    L2RqstsHwpfMiss = "L2_RQSTS.HWPF_MISS",
    /// Hardware prefetches that reached the L2 cache.
    L2RqstsAllHwpf = "L2_RQSTS.ALL_HWPF",
    /// Lines filled into the L2 cache.
    L2LinesInAll = "L2_LINES_IN.ALL",
    /// Clean lines dropped from the L2 cache without a write-back.
    L2LinesOutSilent = "L2_LINES_OUT.SILENT",
    /// Lines evicted from the L2 cache with a message to the L3 cache.
    L2LinesOutNonSilent = "L2_LINES_OUT.NON_SILENT",
    /// Core-originated requests that reached the last-level cache.
    LongestLatCacheReference = "LONGEST_LAT_CACHE.REFERENCE",
    /// Core-originated requests that missed the last-level cache.
    LongestLatCacheMiss = "LONGEST_LAT_CACHE.MISS",
    /// Demand data reads sent out of the core.
    OffcoreRequestsDemandDataRd = "OFFCORE_REQUESTS.DEMAND_DATA_RD",
    /// Demand reads for ownership sent out of the core.
    OffcoreRequestsDemandRfo = "OFFCORE_REQUESTS.DEMAND_RFO",
    /// Cycles with a data read outstanding outside the core.
    OffcoreRequestsOutstandingCyclesWithDataRd = "OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD",

    // TLBs.
    /// Page walks for loads that found a 4 KiB page.
    DtlbLoadMissesWalkCompleted4k = "DTLB_LOAD_MISSES.WALK_COMPLETED_4K",
    /// Page walks for loads that found a 2 or 4 MiB page.
    DtlbLoadMissesWalkCompleted2m4m = "DTLB_LOAD_MISSES.WALK_COMPLETED_2M_4M",
    /// Page walks for loads that found a 1 GiB page.
    DtlbLoadMissesWalkCompleted1g = "DTLB_LOAD_MISSES.WALK_COMPLETED_1G",
    /// Page walks for loads completed, any page size.
    DtlbLoadMissesWalkCompleted = "DTLB_LOAD_MISSES.WALK_COMPLETED",
    /// Page walks for loads in progress, summed over cycles.
    DtlbLoadMissesWalkPending = "DTLB_LOAD_MISSES.WALK_PENDING",
    /// Cycles with a page walk for a load in progress.
    DtlbLoadMissesWalkActive = "DTLB_LOAD_MISSES.WALK_ACTIVE",
    /// Loads that missed the first-level data TLB and hit the second level.
    DtlbLoadMissesStlbHit = "DTLB_LOAD_MISSES.STLB_HIT",
    /// Page walks for stores that found a 4 KiB page.
    DtlbStoreMissesWalkCompleted4k = "DTLB_STORE_MISSES.WALK_COMPLETED_4K",
    /// Page walks for stores that found a 2 or 4 MiB page.
    DtlbStoreMissesWalkCompleted2m4m = "DTLB_STORE_MISSES.WALK_COMPLETED_2M_4M",
    /// Page walks for stores that found a 1 GiB page.
    DtlbStoreMissesWalkCompleted1g = "DTLB_STORE_MISSES.WALK_COMPLETED_1G",
    /// Page walks for stores completed, any page size.
    DtlbStoreMissesWalkCompleted = "DTLB_STORE_MISSES.WALK_COMPLETED",
    /// Page walks for stores in progress, summed over cycles.
    DtlbStoreMissesWalkPending = "DTLB_STORE_MISSES.WALK_PENDING",
    /// Cycles with a page walk for a store in progress.
    DtlbStoreMissesWalkActive = "DTLB_STORE_MISSES.WALK_ACTIVE",
    /// Stores that missed the first-level data TLB and hit the second level.
    DtlbStoreMissesStlbHit = "DTLB_STORE_MISSES.STLB_HIT",
    /// Page walks for code fetch that found a 4 KiB page.
    ItlbMissesWalkCompleted4k = "ITLB_MISSES.WALK_COMPLETED_4K",
    /// Page walks for code fetch that found a 2 or 4 MiB page.
    ItlbMissesWalkCompleted2m4m = "ITLB_MISSES.WALK_COMPLETED_2M_4M",
    /// Page walks for code fetch completed, any page size.
    ItlbMissesWalkCompleted = "ITLB_MISSES.WALK_COMPLETED",
    /// Page walks for code fetch in progress, summed over cycles.
    ItlbMissesWalkPending = "ITLB_MISSES.WALK_PENDING",
    /// Cycles with a page walk for code fetch in progress.
    ItlbMissesWalkActive = "ITLB_MISSES.WALK_ACTIVE",
    /// Code fetches that missed the first-level instruction TLB and hit the second level.
    ItlbMissesStlbHit = "ITLB_MISSES.STLB_HIT",

    // AMD Zen: retirement and clocks.
    /// Core clocks while the thread is not halted.
    LsNotHaltedCyc = "ls_not_halted_cyc",
    /// Clocks at the P0 frequency while the thread is not halted.
    LsNotHaltedP0CycP0FreqCyc = "ls_not_halted_p0_cyc.p0_freq_cyc",
    /// Instructions retired.
    ExRetInstr = "ex_ret_instr",
    /// Macro-ops retired.
    ExRetOps = "ex_ret_ops",
    /// x87 instructions retired.
    ExRetMmxFpInstrX87 = "ex_ret_mmx_fp_instr.x87",
    /// MMX instructions retired.
    ExRetMmxFpInstrMmx = "ex_ret_mmx_fp_instr.mmx",
    /// SSE and AVX instructions retired.
    ExRetMmxFpInstrSse = "ex_ret_mmx_fp_instr.sse",
    /// Cycles in which the integer divider is busy.
    ExDivBusy = "ex_div_busy",
    /// Operations of the integer divider.
    ExDivCount = "ex_div_count",
    /// Microcoded instructions retired.
    ExRetUcodeInstr = "ex_ret_ucode_instr",
    /// Macro-ops retired from microcode.
    ExRetUcodeOps = "ex_ret_ucode_ops",
    /// Ops tagged by IBS.
    ExTaggedIbsOpsIbsTaggedOps = "ex_tagged_ibs_ops.ibs_tagged_ops",
    /// Ops tagged by IBS that retired.
    ExTaggedIbsOpsIbsTaggedOpsRet = "ex_tagged_ibs_ops.ibs_tagged_ops_ret",
    /// Fused instruction pairs retired.
    ExRetFusedInstr = "ex_ret_fused_instr",

    // AMD Zen: branches.
    /// Branches retired of every kind, with exceptions and interrupts.
    ExRetBrn = "ex_ret_brn",
    /// Mispredicted branches retired.
    ExRetBrnMisp = "ex_ret_brn_misp",
    /// Taken branches retired, with exceptions and interrupts.
    ExRetBrnTkn = "ex_ret_brn_tkn",
    /// Taken branches retired that were mispredicted.
    ExRetBrnTknMisp = "ex_ret_brn_tkn_misp",
    /// Far transfers retired, with exceptions and interrupts.
    ExRetBrnFar = "ex_ret_brn_far",
    /// Pipeline restarts counted as branches.
    ExRetBrnResync = "ex_ret_brn_resync",
    /// Near returns retired.
    ExRetNearRet = "ex_ret_near_ret",
    /// Near returns retired that were mispredicted.
    ExRetNearRetMispred = "ex_ret_near_ret_mispred",
    /// Indirect branches retired that were mispredicted.
    ExRetBrnIndMisp = "ex_ret_brn_ind_misp",
    /// Near indirect jumps and calls retired.
    ExRetIndBrchInstr = "ex_ret_ind_brch_instr",
    /// Conditional branches retired.
    ExRetCond = "ex_ret_cond",
    /// Conditional branches retired that were mispredicted.
    ExRetCondMisp = "ex_ret_cond_misp",
    /// Conditional branches retired whose direction was mispredicted.
    ExRetMsprdBrnchInstrDirMsmtch = "ex_ret_msprd_brnch_instr_dir_msmtch",
    /// Unconditional branches retired that were mispredicted.
    ExRetUncondBrnchInstrMispred = "ex_ret_uncond_brnch_instr_mispred",
    /// Unconditional branches retired.
    ExRetUncondBrnchInstr = "ex_ret_uncond_brnch_instr",

    // AMD Zen: floating point.
    /// Ops assigned to floating-point pipe 0.
    FpuPipeAssignmentTotal0 = "fpu_pipe_assignment.total0",
    /// Ops assigned to floating-point pipe 1.
    FpuPipeAssignmentTotal1 = "fpu_pipe_assignment.total1",
    /// Ops assigned to floating-point pipe 2.
    FpuPipeAssignmentTotal2 = "fpu_pipe_assignment.total2",
    /// Ops assigned to floating-point pipe 3.
    FpuPipeAssignmentTotal3 = "fpu_pipe_assignment.total3",
    /// Ops assigned to any floating-point pipe.
    FpuPipeAssignmentTotal = "fpu_pipe_assignment.total",
    /// x87 additions and subtractions retired.
    FpRetX87FpOpsAddSubOps = "fp_ret_x87_fp_ops.add_sub_ops",
    /// x87 multiplications retired.
    FpRetX87FpOpsMulOps = "fp_ret_x87_fp_ops.mul_ops",
    /// x87 divisions and square roots retired.
    FpRetX87FpOpsDivSqrtOps = "fp_ret_x87_fp_ops.div_sqrt_ops",
    /// x87 arithmetic operations retired.
    FpRetX87FpOpsAll = "fp_ret_x87_fp_ops.all",
    /// Retired SSE and AVX floating-point additions and subtractions, each lane for itself.
    FpRetSseAvxOpsAddSubFlops = "fp_ret_sse_avx_ops.add_sub_flops",
    /// Retired SSE and AVX floating-point multiplications, each lane for itself.
    FpRetSseAvxOpsMultFlops = "fp_ret_sse_avx_ops.mult_flops",
    /// Retired SSE and AVX floating-point divisions and square roots, each lane for itself.
    FpRetSseAvxOpsDivFlops = "fp_ret_sse_avx_ops.div_flops",
    /// Retired SSE and AVX multiply-accumulate operations, two for each lane.
    FpRetSseAvxOpsMacFlops = "fp_ret_sse_avx_ops.mac_flops",
    /// Retired bfloat16 multiply-accumulate operations.
    FpRetSseAvxOpsBfloatMacFlops = "fp_ret_sse_avx_ops.bfloat_mac_flops",
    /// Retired SSE and AVX floating-point operations.
    FpRetSseAvxOpsAll = "fp_ret_sse_avx_ops.all",
    /// x87 control word changes that serialise.
    FpRetiredSerOpsX87CtrlRet = "fp_retired_ser_ops.x87_ctrl_ret",
    /// x87 bottom-executing ops retired.
    FpRetiredSerOpsX87BotRet = "fp_retired_ser_ops.x87_bot_ret",
    /// MXCSR changes that serialise.
    FpRetiredSerOpsSseCtrlRet = "fp_retired_ser_ops.sse_ctrl_ret",
    /// SSE and AVX bottom-executing ops retired.
    FpRetiredSerOpsSseBotRet = "fp_retired_ser_ops.sse_bot_ret",
    /// Serialising floating-point ops retired.
    FpRetiredSerOpsAll = "fp_retired_ser_ops.all",
    /// x87 ops retired.
    FpOpsRetiredByWidthX87UopsRetired = "fp_ops_retired_by_width.x87_uops_retired",
    /// MMX ops retired.
    FpOpsRetiredByWidthMmxUopsRetired = "fp_ops_retired_by_width.mmx_uops_retired",
    /// Scalar floating-point ops retired.
    FpOpsRetiredByWidthScalarUopsRetired = "fp_ops_retired_by_width.scalar_uops_retired",
    /// Packed ops of 128 bits retired.
    FpOpsRetiredByWidthPack128UopsRetired = "fp_ops_retired_by_width.pack_128_uops_retired",
    /// Packed ops of 256 bits retired.
    FpOpsRetiredByWidthPack256UopsRetired = "fp_ops_retired_by_width.pack_256_uops_retired",
    /// Packed ops of 512 bits retired.
    FpOpsRetiredByWidthPack512UopsRetired = "fp_ops_retired_by_width.pack_512_uops_retired",
    /// Floating-point ops retired, of all widths.
    FpOpsRetiredByWidthAll = "fp_ops_retired_by_width.all",
    /// Scalar floating-point ops retired.
    FpOpsRetiredByTypeScalarAll = "fp_ops_retired_by_type.scalar_all",
    /// Vector floating-point ops retired.
    FpOpsRetiredByTypeVectorAll = "fp_ops_retired_by_type.vector_all",
    /// Floating-point ops retired, of all types.
    FpOpsRetiredByTypeAll = "fp_ops_retired_by_type.all",
    /// MMX integer ops retired.
    SseAvxOpsRetiredMmxAll = "sse_avx_ops_retired.mmx_all",
    /// SSE and AVX integer ops retired.
    SseAvxOpsRetiredSseAvxAll = "sse_avx_ops_retired.sse_avx_all",
    /// MMX, SSE and AVX integer ops retired.
    SseAvxOpsRetiredAll = "sse_avx_ops_retired.all",
    /// Packed floating-point ops of 128 bits retired.
    FpPackOpsRetiredFp128All = "fp_pack_ops_retired.fp128_all",
    /// Packed floating-point ops of 256 bits retired.
    FpPackOpsRetiredFp256All = "fp_pack_ops_retired.fp256_all",
    /// Packed floating-point ops retired.
    FpPackOpsRetiredAll = "fp_pack_ops_retired.all",
    /// Packed integer ops of 128 bits retired.
    PackedIntOpTypeInt128All = "packed_int_op_type.int128_all",
    /// Packed integer ops of 256 bits retired.
    PackedIntOpTypeInt256All = "packed_int_op_type.int256_all",
    /// Packed integer ops retired.
    PackedIntOpTypeAll = "packed_int_op_type.all",
    /// Dispatch faults to fill x87 registers.
    FpDispFaultsX87FillFault = "fp_disp_faults.x87_fill_fault",
    /// Dispatch faults to fill XMM registers.
    FpDispFaultsXmmFillFault = "fp_disp_faults.xmm_fill_fault",
    /// Dispatch faults to fill YMM registers.
    FpDispFaultsYmmFillFault = "fp_disp_faults.ymm_fill_fault",
    /// Dispatch faults to spill YMM registers.
    FpDispFaultsYmmSpillFault = "fp_disp_faults.ymm_spill_fault",
    /// Dispatch faults for SSE and AVX code.
    FpDispFaultsSseAvxAll = "fp_disp_faults.sse_avx_all",
    /// Floating-point dispatch faults.
    FpDispFaultsAll = "fp_disp_faults.all",

    // AMD Zen: loads, stores, L1D and data TLB.
    /// Loads that could not take the data of an older store.
    LsBadStatus2StliOther = "ls_bad_status2.stli_other",
    /// Locked operations that locked the bus.
    LsLocksBusLock = "ls_locks.bus_lock",
    /// Locked operations.
    LsLocksAll = "ls_locks.all",
    /// CLFLUSH instructions retired.
    LsRetClFlush = "ls_ret_cl_flush",
    /// CPUID instructions retired.
    LsRetCpuid = "ls_ret_cpuid",
    /// Loads dispatched.
    LsDispatchLdDispatch = "ls_dispatch.ld_dispatch",
    /// Stores dispatched.
    LsDispatchStoreDispatch = "ls_dispatch.store_dispatch",
    /// Ops dispatched that both load and store.
    LsDispatchLdStDispatch = "ls_dispatch.ld_st_dispatch",
    /// Ops dispatched to the load-store unit.
    LsDispatchAll = "ls_dispatch.all",
    /// System management interrupts received.
    LsSmiRx = "ls_smi_rx",
    /// Interrupts taken.
    LsIntTaken = "ls_int_taken",
    /// Reads of the time stamp counter.
    LsRdtsc = "ls_rdtsc",
    /// Loads that took the data of an older store.
    LsStlf = "ls_stlf",
    /// Store commits cancelled because the write combining buffer was full.
    LsStCommitCancel2StCommitCancelWcbFull = "ls_st_commit_cancel2.st_commit_cancel_wcb_full",
    /// Accesses of the L1 data cache.
    LsDcAccesses = "ls_dc_accesses",
    /// Miss buffers allocated for loads and stores.
    LsMabAllocLoadStoreAllocations = "ls_mab_alloc.load_store_allocations",
    /// Miss buffers allocated by the hardware prefetcher.
    LsMabAllocHardwarePrefetcherAllocations = "ls_mab_alloc.hardware_prefetcher_allocations",
    /// Miss buffers allocated.
    LsMabAllocAllAllocations = "ls_mab_alloc.all_allocations",
    /// Miss buffers allocated for loads.
    LsMabAllocLoads = "ls_mab_alloc.loads",
    /// Miss buffers allocated for stores.
    LsMabAllocStores = "ls_mab_alloc.stores",
    /// Miss buffers allocated by the L1 data prefetcher.
    LsMabAllocDcPrefetcher = "ls_mab_alloc.dc_prefetcher",
    /// Demand fills of the L1 data cache from the L2.
    LsDmndFillsFromSysLocalL2 = "ls_dmnd_fills_from_sys.local_l2",
    /// Demand fills of the L1 data cache from the L3 or an L2 of the same core complex.
    LsDmndFillsFromSysLocalCcx = "ls_dmnd_fills_from_sys.local_ccx",
    /// Demand fills of the L1 data cache from another core complex of the node.
    LsDmndFillsFromSysNearCache = "ls_dmnd_fills_from_sys.near_cache",
    /// Demand fills of the L1 data cache from DRAM or I/O of the node.
    LsDmndFillsFromSysDramIoNear = "ls_dmnd_fills_from_sys.dram_io_near",
    /// Demand fills of the L1 data cache from a core complex of another node.
    LsDmndFillsFromSysFarCache = "ls_dmnd_fills_from_sys.far_cache",
    /// Demand fills of the L1 data cache from DRAM or I/O of another node.
    LsDmndFillsFromSysDramIoFar = "ls_dmnd_fills_from_sys.dram_io_far",
    /// Demand fills of the L1 data cache from extension memory.
    LsDmndFillsFromSysAlternateMemories = "ls_dmnd_fills_from_sys.alternate_memories",
    /// Demand fills of the L1 data cache.
    LsDmndFillsFromSysAll = "ls_dmnd_fills_from_sys.all",
    /// Fills of the L1 data cache from the L2.
    LsAnyFillsFromSysLocalL2 = "ls_any_fills_from_sys.local_l2",
    /// Fills of the L1 data cache from the L3 or an L2 of the same core complex.
    LsAnyFillsFromSysLocalCcx = "ls_any_fills_from_sys.local_ccx",
    /// Fills of the L1 data cache from within the core complex.
    LsAnyFillsFromSysLocalAll = "ls_any_fills_from_sys.local_all",
    /// Fills of the L1 data cache from another core complex of the node.
    LsAnyFillsFromSysNearCache = "ls_any_fills_from_sys.near_cache",
    /// Fills of the L1 data cache from DRAM or I/O of the node.
    LsAnyFillsFromSysDramIoNear = "ls_any_fills_from_sys.dram_io_near",
    /// Fills of the L1 data cache from a core complex of another node.
    LsAnyFillsFromSysFarCache = "ls_any_fills_from_sys.far_cache",
    /// Fills of the L1 data cache from other core complexes.
    LsAnyFillsFromSysRemoteCache = "ls_any_fills_from_sys.remote_cache",
    /// Fills of the L1 data cache from DRAM or I/O of another node.
    LsAnyFillsFromSysDramIoFar = "ls_any_fills_from_sys.dram_io_far",
    /// Fills of the L1 data cache from DRAM or I/O.
    LsAnyFillsFromSysDramIoAll = "ls_any_fills_from_sys.dram_io_all",
    /// Fills of the L1 data cache from another node.
    LsAnyFillsFromSysFarAll = "ls_any_fills_from_sys.far_all",
    /// Fills of the L1 data cache.
    LsAnyFillsFromSysAll = "ls_any_fills_from_sys.all",
    /// L1 data TLB misses that hit a 4 KiB page in the L2 TLB.
    LsL1DTlbMissTlbReload4kL2Hit = "ls_l1_d_tlb_miss.tlb_reload_4k_l2_hit",
    /// L1 data TLB misses that hit a coalesced page in the L2 TLB.
    LsL1DTlbMissTlbReloadCoalescedPageHit = "ls_l1_d_tlb_miss.tlb_reload_coalesced_page_hit",
    /// L1 data TLB misses that hit a 2 MiB page in the L2 TLB.
    LsL1DTlbMissTlbReload2mL2Hit = "ls_l1_d_tlb_miss.tlb_reload_2m_l2_hit",
    /// L1 data TLB misses that hit a 1 GiB page in the L2 TLB.
    LsL1DTlbMissTlbReload1gL2Hit = "ls_l1_d_tlb_miss.tlb_reload_1g_l2_hit",
    /// L1 and L2 data TLB misses of a 4 KiB page.
    LsL1DTlbMissTlbReload4kL2Miss = "ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss",
    /// L1 and L2 data TLB misses of a coalesced page.
    LsL1DTlbMissTlbReloadCoalescedPageMiss = "ls_l1_d_tlb_miss.tlb_reload_coalesced_page_miss",
    /// L1 and L2 data TLB misses of a 2 MiB page.
    LsL1DTlbMissTlbReload2mL2Miss = "ls_l1_d_tlb_miss.tlb_reload_2m_l2_miss",
    /// L1 and L2 data TLB misses of a 1 GiB page.
    LsL1DTlbMissTlbReload1gL2Miss = "ls_l1_d_tlb_miss.tlb_reload_1g_l2_miss",
    /// L1 and L2 data TLB misses: page walks.
    LsL1DTlbMissAllL2Miss = "ls_l1_d_tlb_miss.all_l2_miss",
    /// L1 data TLB misses.
    LsL1DTlbMissAll = "ls_l1_d_tlb_miss.all",
    /// Page walks for data of type 0.
    LsTablewalkerDcType0 = "ls_tablewalker.dc_type0",
    /// Page walks for data of type 1.
    LsTablewalkerDcType1 = "ls_tablewalker.dc_type1",
    /// Page walks for data.
    LsTablewalkerDside = "ls_tablewalker.dside",
    /// Page walks for code of type 0.
    LsTablewalkerIcType0 = "ls_tablewalker.ic_type0",
    /// Page walks for code of type 1.
    LsTablewalkerIcType1 = "ls_tablewalker.ic_type1",
    /// Page walks for code.
    LsTablewalkerIside = "ls_tablewalker.iside",
    /// Loads that cross a 64-byte boundary.
    LsMisalLoadsMa64 = "ls_misal_loads.ma64",
    /// Loads that cross a 4 KiB boundary.
    LsMisalLoadsMa4k = "ls_misal_loads.ma4k",
    /// Misaligned accesses.
    LsMisalAccesses = "ls_misal_accesses",
    /// PREFETCHT0, T1 and T2 instructions dispatched.
    LsPrefInstrDispPrefetch = "ls_pref_instr_disp.prefetch",
    /// PREFETCHW instructions dispatched.
    LsPrefInstrDispPrefetchW = "ls_pref_instr_disp.prefetch_w",
    /// PREFETCHNTA instructions dispatched.
    LsPrefInstrDispPrefetchNta = "ls_pref_instr_disp.prefetch_nta",
    /// Software prefetches dispatched.
    LsPrefInstrDispAll = "ls_pref_instr_disp.all",
    /// Software prefetches that hit the L1 data cache.
    LsInefSwPrefDataPipeSwPfDcHit = "ls_inef_sw_pref.data_pipe_sw_pf_dc_hit",
    /// Software prefetches that matched a miss buffer.
    LsInefSwPrefMabMchCnt = "ls_inef_sw_pref.mab_mch_cnt",
    /// Software prefetches without use.
    LsInefSwPrefAll = "ls_inef_sw_pref.all",
    /// Software prefetch fills from the L2.
    LsSwPfDcFillsLocalL2 = "ls_sw_pf_dc_fills.local_l2",
    /// Software prefetch fills of the L1 data cache.
    LsSwPfDcFillsAll = "ls_sw_pf_dc_fills.all",
    /// Hardware prefetch fills from the L2.
    LsHwPfDcFillsLocalL2 = "ls_hw_pf_dc_fills.local_l2",
    /// Hardware prefetch fills of the L1 data cache.
    LsHwPfDcFillsAll = "ls_hw_pf_dc_fills.all",
    /// Miss buffers in use, summed over cycles.
    LsAllocMabCount = "ls_alloc_mab_count",
    /// TLB flushes.
    LsTlbFlushAll = "ls_tlb_flush.all",

    // AMD Zen: l2 cache.
    /// Requests counted by l2_request_g2.
    L2RequestG1Group2 = "l2_request_g1.group2",
    /// Requests of the L2 hardware prefetcher.
    L2RequestG1L2HwPf = "l2_request_g1.l2_hw_pf",
    /// PREFETCH requests to the L2.
    L2RequestG1PrefetchL2Cmd = "l2_request_g1.prefetch_l2_cmd",
    /// Requests to make a line writable.
    L2RequestG1ChangeToX = "l2_request_g1.change_to_x",
    /// Code reads.
    L2RequestG1CacheableIcRead = "l2_request_g1.cacheable_ic_read",
    /// Shared data reads.
    L2RequestG1LsRdBlkCS = "l2_request_g1.ls_rd_blk_c_s",
    /// Data stores.
    L2RequestG1RdBlkX = "l2_request_g1.rd_blk_x",
    /// Data reads, with hardware and software prefetches.
    L2RequestG1RdBlkL = "l2_request_g1.rd_blk_l",
    /// Requests from the L1 data cache.
    L2RequestG1AllDc = "l2_request_g1.all_dc",
    /// Requests to the L2 without its prefetcher.
    L2RequestG1AllNoPrefetch = "l2_request_g1.all_no_prefetch",
    /// Requests to the L2.
    L2RequestG1All = "l2_request_g1.all",
    /// Sized data reads.
    L2RequestG2LsRdSized = "l2_request_g2.ls_rd_sized",
    /// Sized data reads of uncached memory.
    L2RequestG2LsRdSizedNc = "l2_request_g2.ls_rd_sized_nc",
    /// Code reads that missed the L2.
    L2CacheReqStatIcFillMiss = "l2_cache_req_stat.ic_fill_miss",
    /// Code reads that hit a shared line in the L2.
    L2CacheReqStatIcFillHitS = "l2_cache_req_stat.ic_fill_hit_s",
    /// Code reads that hit a writable line in the L2.
    L2CacheReqStatIcFillHitX = "l2_cache_req_stat.ic_fill_hit_x",
    /// Code reads that hit the L2.
    L2CacheReqStatIcHitInL2 = "l2_cache_req_stat.ic_hit_in_l2",
    /// Code reads of the L2.
    L2CacheReqStatIcAccessInL2 = "l2_cache_req_stat.ic_access_in_l2",
    /// Data reads that missed the L2.
    L2CacheReqStatLsRdBlkC = "l2_cache_req_stat.ls_rd_blk_c",
    /// Code and data requests that missed the L2.
    L2CacheReqStatIcDcMissInL2 = "l2_cache_req_stat.ic_dc_miss_in_l2",
    /// Stores that hit a line in the L2.
    L2CacheReqStatLsRdBlkX = "l2_cache_req_stat.ls_rd_blk_x",
    /// Data reads that hit a read-only line in the L2.
    L2CacheReqStatLsRdBlkLHitS = "l2_cache_req_stat.ls_rd_blk_l_hit_s",
    /// Data reads that hit a writable line in the L2.
    L2CacheReqStatLsRdBlkLHitX = "l2_cache_req_stat.ls_rd_blk_l_hit_x",
    /// Shared data reads that hit the L2.
    L2CacheReqStatLsRdBlkCs = "l2_cache_req_stat.ls_rd_blk_cs",
    /// Data requests that hit the L2.
    L2CacheReqStatDcHitInL2 = "l2_cache_req_stat.dc_hit_in_l2",
    /// Code and data requests that hit the L2.
    L2CacheReqStatIcDcHitInL2 = "l2_cache_req_stat.ic_dc_hit_in_l2",
    /// Data requests of the L2.
    L2CacheReqStatDcAccessInL2 = "l2_cache_req_stat.dc_access_in_l2",
    /// Code and data requests of the L2.
    L2CacheReqStatAll = "l2_cache_req_stat.all",
    /// L2 prefetches that hit the L2.
    L2PfHitL2L2Hwpf = "l2_pf_hit_l2.l2_hwpf",
    /// L1 data prefetches that hit the L2.
    L2PfHitL2L1DcHwpf = "l2_pf_hit_l2.l1_dc_hwpf",
    /// Prefetches that hit the L2.
    L2PfHitL2All = "l2_pf_hit_l2.all",
    /// L2 prefetches that missed the L2 and hit the L3.
    L2PfMissL2HitL3L2Hwpf = "l2_pf_miss_l2_hit_l3.l2_hwpf",
    /// L1 data prefetches that missed the L2 and hit the L3.
    L2PfMissL2HitL3L1DcHwpf = "l2_pf_miss_l2_hit_l3.l1_dc_hwpf",
    /// Prefetches that missed the L2 and hit the L3.
    L2PfMissL2HitL3All = "l2_pf_miss_l2_hit_l3.all",
    /// L2 prefetches that missed the L2 and the L3.
    L2PfMissL2L3L2Hwpf = "l2_pf_miss_l2_l3.l2_hwpf",
    /// L1 data prefetches that missed the L2 and the L3.
    L2PfMissL2L3L1DcHwpf = "l2_pf_miss_l2_l3.l1_dc_hwpf",
    /// Prefetches that missed the L2 and the L3.
    L2PfMissL2L3All = "l2_pf_miss_l2_l3.all",
    /// Fills of the L2 from the L3 or an L2 of the same core complex.
    L2FillRspSrcLocalCcx = "l2_fill_rsp_src.local_ccx",
    /// Fills of the L2 from another core complex of the node.
    L2FillRspSrcNearCache = "l2_fill_rsp_src.near_cache",
    /// Fills of the L2 from DRAM or I/O of the node.
    L2FillRspSrcDramIoNear = "l2_fill_rsp_src.dram_io_near",
    /// Fills of the L2 from a core complex of another node.
    L2FillRspSrcFarCache = "l2_fill_rsp_src.far_cache",
    /// Fills of the L2 from DRAM or I/O of another node.
    L2FillRspSrcDramIoFar = "l2_fill_rsp_src.dram_io_far",
    /// Fills of the L2 from extension memory.
    L2FillRspSrcAlternateMemories = "l2_fill_rsp_src.alternate_memories",
    /// Fills of the L2.
    L2FillRspSrcAll = "l2_fill_rsp_src.all",

    // AMD Zen: front end, instruction TLB and predictor.
    /// Fetch windows of 32 bytes.
    IcFw32 = "ic_fw32",
    /// Fetch windows of 32 bytes that missed the instruction cache.
    IcFw32Miss = "ic_fw32_miss",
    /// Instruction cache lines filled from the L2.
    IcCacheFillL2 = "ic_cache_fill_l2",
    /// Instruction cache lines filled from beyond the L2.
    IcCacheFillSys = "ic_cache_fill_sys",
    /// Instruction TLB misses that hit the L2 TLB.
    BpL1TlbMissL2TlbHit = "bp_l1_tlb_miss_l2_tlb_hit",
    /// Instruction TLB misses in both levels, 4 KiB page.
    BpL1TlbMissL2TlbMissIf4k = "bp_l1_tlb_miss_l2_tlb_miss.if4k",
    /// Instruction TLB misses in both levels, 2 MiB page.
    BpL1TlbMissL2TlbMissIf2m = "bp_l1_tlb_miss_l2_tlb_miss.if2m",
    /// Instruction TLB misses in both levels, 1 GiB page.
    BpL1TlbMissL2TlbMissIf1g = "bp_l1_tlb_miss_l2_tlb_miss.if1g",
    /// Instruction TLB misses in both levels, coalesced page.
    BpL1TlbMissL2TlbMissCoalesced4k = "bp_l1_tlb_miss_l2_tlb_miss.coalesced_4k",
    /// Instruction TLB misses in both levels: page walks.
    BpL1TlbMissL2TlbMissAll = "bp_l1_tlb_miss_l2_tlb_miss.all",
    /// Cycles in which fetch stalled because the decoder was full.
    IcFetchStallIcStallBackPressure = "ic_fetch_stall.ic_stall_back_pressure",
    /// Cycles in which fetch stalled because no address was predicted.
    IcFetchStallIcStallDqEmpty = "ic_fetch_stall.ic_stall_dq_empty",
    /// Cycles in which fetch stalled.
    IcFetchStallIcStallAny = "ic_fetch_stall.ic_stall_any",
    /// Corrections by the first-level branch target buffer.
    BpL1BtbCorrect = "bp_l1_btb_correct",
    /// Corrections by the second-level branch target buffer.
    BpL2BtbCorrect = "bp_l2_btb_correct",
    /// Predictions by the dynamic indirect predictor.
    BpDynIndPred = "bp_dyn_ind_pred",
    /// Redirects of fetch by the decoder.
    BpDeRedirect = "bp_de_redirect",
    /// Instruction TLB hits of a 4 KiB page.
    BpL1TlbFetchHitIf4k = "bp_l1_tlb_fetch_hit.if4k",
    /// Instruction TLB hits of a 2 MiB page.
    BpL1TlbFetchHitIf2m = "bp_l1_tlb_fetch_hit.if2m",
    /// Instruction TLB hits of a 1 GiB page.
    BpL1TlbFetchHitIf1g = "bp_l1_tlb_fetch_hit.if1g",
    /// Instruction TLB hits.
    BpL1TlbFetchHitAll = "bp_l1_tlb_fetch_hit.all",
    /// Pipeline restarts without a branch.
    ResyncsOrNcRedirects = "resyncs_or_nc_redirects",
    /// Pipeline restarts without a branch.
    BpRedirectsResync = "bp_redirects.resync",
    /// Redirects of fetch by the execution units.
    BpRedirectsExRedir = "bp_redirects.ex_redir",
    /// Redirects of fetch.
    BpRedirectsAll = "bp_redirects.all",
    /// Instruction cache hits.
    IcTagHitMissInstructionCacheHit = "ic_tag_hit_miss.instruction_cache_hit",
    /// Instruction cache misses.
    IcTagHitMissInstructionCacheMiss = "ic_tag_hit_miss.instruction_cache_miss",
    /// Instruction cache look-ups.
    IcTagHitMissAllInstructionCacheAccesses = "ic_tag_hit_miss.all_instruction_cache_accesses",
    /// Op cache hits.
    OpCacheHitMissOpCacheHit = "op_cache_hit_miss.op_cache_hit",
    /// Op cache misses.
    OpCacheHitMissOpCacheMiss = "op_cache_hit_miss.op_cache_miss",
    /// Op cache look-ups.
    OpCacheHitMissAllOpCacheAccesses = "op_cache_hit_miss.all_op_cache_accesses",

    // AMD Zen: dispatch and pipeline utilisation.
    /// Cycles with an empty op queue.
    DeOpQueueEmpty = "de_op_queue_empty",
    /// Ops dispatched from the decoder.
    DeSrcOpDispDecoder = "de_src_op_disp.decoder",
    /// Ops dispatched from the op cache.
    DeSrcOpDispOpCache = "de_src_op_disp.op_cache",
    /// Ops dispatched from the loop buffer.
    DeSrcOpDispLoopBuffer = "de_src_op_disp.loop_buffer",
    /// Ops dispatched.
    DeSrcOpDispAll = "de_src_op_disp.all",
    /// Floating-point ops dispatched.
    DeDisOpsFromDecoderAnyFpDispatch = "de_dis_ops_from_decoder.any_fp_dispatch",
    /// Integer ops dispatched.
    DeDisOpsFromDecoderAnyIntegerDispatch = "de_dis_ops_from_decoder.any_integer_dispatch",
    /// Cycles in which dispatch waited for an integer register.
    DeDisDispatchTokenStalls1IntPhyRegFileRsrcStall = "de_dis_dispatch_token_stalls1.int_phy_reg_file_rsrc_stall",
    /// Cycles in which dispatch waited for the load queue.
    DeDisDispatchTokenStalls1LoadQueueRsrcStall = "de_dis_dispatch_token_stalls1.load_queue_rsrc_stall",
    /// Cycles in which dispatch waited for the store queue.
    DeDisDispatchTokenStalls1StoreQueueRsrcStall = "de_dis_dispatch_token_stalls1.store_queue_rsrc_stall",
    /// Cycles in which dispatch waited for the integer scheduler.
    DeDisDispatchTokenStalls1IntSchedulerMiscRsrcStall = "de_dis_dispatch_token_stalls1.int_scheduler_misc_rsrc_stall",
    /// Cycles in which dispatch waited for the taken branch buffer.
    DeDisDispatchTokenStalls1TakenBrnchBufferRsrc = "de_dis_dispatch_token_stalls1.taken_brnch_buffer_rsrc",
    /// Cycles in which dispatch waited for a floating-point register.
    DeDisDispatchTokenStalls1FpRegFileRsrcStall = "de_dis_dispatch_token_stalls1.fp_reg_file_rsrc_stall",
    /// Cycles in which dispatch waited for the floating-point scheduler.
    DeDisDispatchTokenStalls1FpSchRsrcStall = "de_dis_dispatch_token_stalls1.fp_sch_rsrc_stall",
    /// Cycles in which dispatch waited for the floating-point unit to recover.
    DeDisDispatchTokenStalls1FpFlushRecoveryStall = "de_dis_dispatch_token_stalls1.fp_flush_recovery_stall",
    /// Cycles in which dispatch waited for integer scheduler 0.
    DeDisDispatchTokenStalls2IntSch0TokenStall = "de_dis_dispatch_token_stalls2.int_sch0_token_stall",
    /// Cycles in which dispatch waited for integer scheduler 1.
    DeDisDispatchTokenStalls2IntSch1TokenStall = "de_dis_dispatch_token_stalls2.int_sch1_token_stall",
    /// Cycles in which dispatch waited for integer scheduler 2.
    DeDisDispatchTokenStalls2IntSch2TokenStall = "de_dis_dispatch_token_stalls2.int_sch2_token_stall",
    /// Cycles in which dispatch waited for integer scheduler 3.
    DeDisDispatchTokenStalls2IntSch3TokenStall = "de_dis_dispatch_token_stalls2.int_sch3_token_stall",
    /// Cycles in which dispatch waited for the retire queue.
    DeDisDispatchTokenStalls2RetireTokenStall = "de_dis_dispatch_token_stalls2.retire_token_stall",
    /// Cycles in which dispatch waited for the ALU scheduler.
    DeDispatchStallCycleDynamicTokensPart2AlTokens = "de_dispatch_stall_cycle_dynamic_tokens_part2.al_tokens",
    /// Cycles in which dispatch waited for the address scheduler.
    DeDispatchStallCycleDynamicTokensPart2AgTokens = "de_dispatch_stall_cycle_dynamic_tokens_part2.ag_tokens",
    /// Cycles in which dispatch waited for the integer unit to recover.
    DeDispatchStallCycleDynamicTokensPart2ExFlushRecovery = "de_dispatch_stall_cycle_dynamic_tokens_part2.ex_flush_recovery",
    /// Cycles in which dispatch waited for the retire queue.
    DeDispatchStallCycleDynamicTokensPart2Retq = "de_dispatch_stall_cycle_dynamic_tokens_part2.retq",
    /// Cycles without retirement because nothing was in flight.
    ExNoRetireEmpty = "ex_no_retire.empty",
    /// Cycles without retirement because the oldest op was not complete.
    ExNoRetireNotComplete = "ex_no_retire.not_complete",
    /// Cycles without retirement for other reasons.
    ExNoRetireOther = "ex_no_retire.other",
    /// Cycles without retirement because the other thread was selected.
    ExNoRetireThreadNotSelected = "ex_no_retire.thread_not_selected",
    /// Cycles without retirement.
    ExNoRetireAll = "ex_no_retire.all",
    /// Cycles without retirement because the oldest op was a load that was not complete.
    ExNoRetireLoadNotComplete = "ex_no_retire.load_not_complete",
    /// Dispatch slots left empty because the front end supplied no op.
    DeNoDispatchPerSlotNoOpsFromFrontend = "de_no_dispatch_per_slot.no_ops_from_frontend",
    /// Dispatch slots left empty because the back end could not take an op.
    DeNoDispatchPerSlotBackendStalls = "de_no_dispatch_per_slot.backend_stalls",
    /// Dispatch slots left empty because the other thread was selected.
    DeNoDispatchPerSlotSmtContention = "de_no_dispatch_per_slot.smt_contention",
    /// Cycles in which dispatch waited for further resources.
    DeAdditionalResourceStallsDispatchStalls = "de_additional_resource_stalls.dispatch_stalls",
}

impl Event {
    /// The field-standard name, for example `BR_MISP_RETIRED.ALL_BRANCHES`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// What is counted, in one sentence.
    #[must_use]
    pub const fn description(self) -> &'static str {
        Self::DESCRIPTIONS[self.index()]
    }

    /// Position in [`Event::ALL`], below [`Event::COUNT`]: the index for arrays of totals.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}
