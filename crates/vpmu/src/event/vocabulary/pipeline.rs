//! Names of Intel's events, but for those of memory and floating point.

/// Hands the rows of this file, behind those it was given, to the next macro.
macro_rules! pipeline {
    ([$($rows:tt)*] $next:ident $($more:ident)*) => {
        $next! { [$($rows)*
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
        ] $($more)* }
    };
}

pub(super) use pipeline;
