//! Written by `cargo xtask events`; change `data/events.tsv` or `data/events.corrections.tsv`.

events! {
    InstRetiredAny: "INST_RETIRED.ANY" | "instructions"
        = "Instructions retired, on fixed counter 0; a REP string instruction counts once.";
    InstRetiredAnyP: "INST_RETIRED.ANY_P" = "Instructions retired, on a general-purpose counter.";
    InstRetiredPrecDist: "INST_RETIRED.PREC_DIST"
        = "Instructions retired, with precise sampling distribution: on fixed counter 0, of Skylake on counter 1.";
    InstRetiredNop: "INST_RETIRED.NOP" = "NOP instructions retired.";
    InstRetiredRepIteration: "INST_RETIRED.REP_ITERATION" = "Iterations of retired REP string instructions.";
    InstRetiredMacroFused: "INST_RETIRED.MACRO_FUSED" = "Macro-fused instruction pairs retired.";
    CpuClkUnhaltedThread: "CPU_CLK_UNHALTED.THREAD" | "cycles" | "cpu-cycles" | "CPU_CLK_UNHALTED.CORE"
        = "Core cycles while the logical processor is not halted, on fixed counter 1.";
    CpuClkUnhaltedThreadP: "CPU_CLK_UNHALTED.THREAD_P" | "CPU_CLK_UNHALTED.CORE_P"
        = "Core cycles while the logical processor is not halted, on a general-purpose counter.";
    CpuClkUnhaltedRefTsc: "CPU_CLK_UNHALTED.REF_TSC" | "ref-cycles"
        = "TSC-rate reference cycles while not halted, on fixed counter 2.";
    CpuClkUnhaltedRefTscP: "CPU_CLK_UNHALTED.REF_TSC_P"
        = "TSC-rate reference cycles while not halted, on a general-purpose counter.";
    CpuClkUnhaltedRefXclk: "CPU_CLK_UNHALTED.REF_XCLK"
        = "Crystal-clock reference cycles while not halted (25 MHz on servers).";
    CpuClkUnhaltedOneThreadActive: "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE"
        = "Reference cycles while the sibling logical processor is halted.";
    CpuClkUnhaltedRefDistributed: "CPU_CLK_UNHALTED.REF_DISTRIBUTED"
        = "Crystal-clock cycles, shared out between the active siblings of a core.";
    CpuClkUnhaltedDistributed: "CPU_CLK_UNHALTED.DISTRIBUTED"
        = "Core cycles, shared out between the active siblings of a core.";
    CpuClkUnhaltedC01: "CPU_CLK_UNHALTED.C01" = "Core cycles in the light C0.1 state entered by TPAUSE or UMWAIT.";
    CpuClkUnhaltedC02: "CPU_CLK_UNHALTED.C02" = "Core cycles in the deeper C0.2 state entered by TPAUSE or UMWAIT.";
    CpuClkUnhaltedPause: "CPU_CLK_UNHALTED.PAUSE" = "Core cycles spent in PAUSE.";
    CpuClkUnhaltedPauseInst: "CPU_CLK_UNHALTED.PAUSE_INST"
        = "PAUSE instructions, counted as starts of a PAUSE period.";
    CpuClkUnhaltedC0Wait: "CPU_CLK_UNHALTED.C0_WAIT" = "Core cycles in C0.1, C0.2 or PAUSE.";
    TopdownSlots: "TOPDOWN.SLOTS" | "slots"
        = "Issue slots (pipeline width times unhalted cycles), on fixed counter 3.";
    TopdownSlotsP: "TOPDOWN.SLOTS_P"
        = "Issue slots (pipeline width times unhalted cycles), on a general-purpose counter.";
    TopdownBackendBoundSlots: "TOPDOWN.BACKEND_BOUND_SLOTS"
        = "Slots left empty because the back end could not accept uops.";
    TopdownBadSpecSlots: "TOPDOWN.BAD_SPEC_SLOTS"
        = "Slots wasted on uops that never retired or on recovery from a wrong path.";
    TopdownBrMispredictSlots: "TOPDOWN.BR_MISPREDICT_SLOTS" = "Slots wasted because of branch mispredictions.";
    TopdownMemoryBoundSlots: "TOPDOWN.MEMORY_BOUND_SLOTS"
        = "Back-end bound slots that waited for the memory subsystem.";
    TopdownBadSpeculationAll: "TOPDOWN_BAD_SPECULATION.ALL" | "TOPDOWN_BAD_SPECULATION.ALL_P"
        = "Slots wasted on bad speculation: architectural event 9, Atom fixed counter 4.";
    TopdownFeBoundAll: "TOPDOWN_FE_BOUND.ALL" | "TOPDOWN_FE_BOUND.ALL_P"
        = "Slots the front end left empty, as counted by Atom fixed counter 5.";
    TopdownRetiringAll: "TOPDOWN_RETIRING.ALL" | "TOPDOWN_RETIRING.ALL_P"
        = "Slots whose uop retired, as counted by Atom fixed counter 6.";
    UopsRetiredSlots: "UOPS_RETIRED.SLOTS" | "UOPS_RETIRED.RETIRE_SLOTS"
        = "Slots whose uop retired; the numerator of the retiring metric.";
    UopsRetiredStalls: "UOPS_RETIRED.STALLS" | "UOPS_RETIRED.STALL_CYCLES" = "Cycles in which no uop retired.";
    UopsRetiredTotalCycles: "UOPS_RETIRED.TOTAL_CYCLES" = "Unhalted cycles, written as fewer than 10 uops retired.";
    UopsRetiredCycles: "UOPS_RETIRED.CYCLES" = "Cycles in which at least one uop retired.";
    UopsRetiredHeavy: "UOPS_RETIRED.HEAVY" = "Retired uops beyond the last uop of each instruction.";
    UopsRetiredMs: "UOPS_RETIRED.MS" = "Retired uops that the microcode sequencer supplied.";
    AssistsAny: "ASSISTS.ANY" | "OTHER_ASSISTS.ANY" = "Microcode assists of any kind.";
    AssistsFp: "ASSISTS.FP" = "Microcode assists for floating-point operands or results.";
    MiscRetiredLbrInserts: "MISC_RETIRED.LBR_INSERTS" | "ROB_MISC_EVENTS.LBR_INSERTS"
        = "Records written to the last branch record stack.";
    MiscRetiredPauseInst: "MISC_RETIRED.PAUSE_INST" | "ROB_MISC_EVENTS.PAUSE_INST" = "PAUSE instructions retired.";
    BrInstRetiredAllBranches: "BR_INST_RETIRED.ALL_BRANCHES" | "branches" | "branch-instructions"
        = "Branch instructions retired: taken or not, near and far.";
    BrInstRetiredNearCall: "BR_INST_RETIRED.NEAR_CALL" = "Near calls retired, direct and indirect.";
    BrInstRetiredNearReturn: "BR_INST_RETIRED.NEAR_RETURN" = "Near returns retired.";
    BrInstRetiredCondTaken: "BR_INST_RETIRED.COND_TAKEN" = "Conditional branches retired that were taken.";
    BrInstRetiredCondNtaken: "BR_INST_RETIRED.COND_NTAKEN" | "BR_INST_RETIRED.NOT_TAKEN"
        = "Conditional branches retired that were not taken.";
    BrInstRetiredCond: "BR_INST_RETIRED.COND" | "BR_INST_RETIRED.CONDITIONAL" = "Conditional branches retired.";
    BrInstRetiredNearTaken: "BR_INST_RETIRED.NEAR_TAKEN" = "Near branches retired that were taken, of every kind.";
    BrInstRetiredFarBranch: "BR_INST_RETIRED.FAR_BRANCH"
        = "Far branches retired: far jumps, calls and returns, IRET, SYSCALL, interrupts.";
    BrInstRetiredIndirect: "BR_INST_RETIRED.INDIRECT" = "Near indirect branches retired, without returns.";
    BrMispRetiredAllBranches: "BR_MISP_RETIRED.ALL_BRANCHES" | "branch-misses" = "Mispredicted branches retired.";
    BrMispRetiredCondTaken: "BR_MISP_RETIRED.COND_TAKEN"
        = "Mispredicted conditional branches retired that were taken.";
    BrMispRetiredCondNtaken: "BR_MISP_RETIRED.COND_NTAKEN"
        = "Mispredicted conditional branches retired that were not taken.";
    BrMispRetiredCond: "BR_MISP_RETIRED.COND" | "BR_MISP_RETIRED.CONDITIONAL"
        = "Mispredicted conditional branches retired.";
    BrMispRetiredIndirectCall: "BR_MISP_RETIRED.INDIRECT_CALL" = "Mispredicted indirect calls retired.";
    BrMispRetiredRet: "BR_MISP_RETIRED.RET" = "Mispredicted near returns retired.";
    BrMispRetiredNearTaken: "BR_MISP_RETIRED.NEAR_TAKEN" = "Mispredicted near branches retired that were taken.";
    BrMispRetiredIndirect: "BR_MISP_RETIRED.INDIRECT"
        = "Mispredicted near indirect branches retired, without returns.";
    BaclearsAny: "BACLEARS.ANY" = "Front-end resteers: the decoder found a branch that the predictor missed.";
    MachineClearsCount: "MACHINE_CLEARS.COUNT" = "Machine clears (pipeline flushes) of any cause.";
    MachineClearsMemoryOrdering: "MACHINE_CLEARS.MEMORY_ORDERING"
        = "Machine clears caused by a memory-ordering conflict.";
    MachineClearsSmc: "MACHINE_CLEARS.SMC" = "Machine clears caused by self-modifying code.";
    IntMiscRecoveryCycles: "INT_MISC.RECOVERY_CYCLES"
        = "Cycles in which allocation waits for recovery from a misprediction or clear.";
    IntMiscAllRecoveryCycles: "INT_MISC.ALL_RECOVERY_CYCLES"
        = "Cycles of recovery, including the wait for the first uop of the new path.";
    IntMiscClearsCount: "INT_MISC.CLEARS_COUNT"
        = "Recoveries: branch mispredictions and machine clears, counted at their start.";
    IntMiscUopDropping: "INT_MISC.UOP_DROPPING"
        = "Slots lost while uops pass from the queue to allocation, without a back-end stall.";
    IntMiscClearResteerCycles: "INT_MISC.CLEAR_RESTEER_CYCLES"
        = "Cycles from a recovery until the first uop of the new path is issued.";
    IntMiscUnknownBranchCycles: "INT_MISC.UNKNOWN_BRANCH_CYCLES"
        = "Cycles the front end waits after a branch that the predictor did not know.";
    RtmRetiredStart: "RTM_RETIRED.START" | "tx-start" = "Transactional regions entered (XBEGIN).";
    RtmRetiredCommit: "RTM_RETIRED.COMMIT" | "tx-commit" = "Transactional regions committed (XEND).";
    RtmRetiredAborted: "RTM_RETIRED.ABORTED" | "tx-abort" = "Transactional regions aborted.";
    IdqUopsNotDeliveredCore: "IDQ_UOPS_NOT_DELIVERED.CORE" | "IDQ_BUBBLES.CORE"
        = "Slots the front end left empty while the back end could accept uops.";
    IdqUopsNotDeliveredCycles0UopsDelivCore: "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE"
        | "IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE"
        = "Cycles in which the front end delivered nothing and the back end could accept uops.";
    IdqUopsNotDeliveredCyclesFeWasOk: "IDQ_UOPS_NOT_DELIVERED.CYCLES_FE_WAS_OK" | "IDQ_BUBBLES.CYCLES_FE_WAS_OK"
        = "Cycles in which the front end filled every slot or the back end was stalled.";
    IdqMiteUops: "IDQ.MITE_UOPS" = "Uops delivered by the legacy decoders.";
    IdqMiteCyclesAny: "IDQ.MITE_CYCLES_ANY" | "IDQ.MITE_CYCLES"
        = "Cycles in which the legacy decoders delivered at least one uop.";
    IdqMiteCyclesOk: "IDQ.MITE_CYCLES_OK" = "Cycles in which the legacy decoders delivered the full width.";
    IdqDsbUops: "IDQ.DSB_UOPS" = "Uops delivered by the decoded uop cache.";
    IdqDsbCyclesAny: "IDQ.DSB_CYCLES_ANY" | "IDQ.DSB_CYCLES"
        = "Cycles in which the decoded uop cache delivered at least one uop.";
    IdqDsbCyclesOk: "IDQ.DSB_CYCLES_OK" = "Cycles in which the decoded uop cache delivered the full width.";
    IdqMsUops: "IDQ.MS_UOPS" = "Uops delivered by the microcode sequencer.";
    IdqMsSwitches: "IDQ.MS_SWITCHES" = "Switches of delivery to the microcode sequencer.";
    LsdUops: "LSD.UOPS" = "Uops delivered by the loop stream detector.";
    LsdCyclesActive: "LSD.CYCLES_ACTIVE" = "Cycles in which the loop stream detector delivered at least one uop.";
    LsdCyclesOk: "LSD.CYCLES_OK" | "LSD.CYCLES_4_UOPS"
        = "Cycles in which the loop stream detector delivered the full width.";
    Dsb2miteSwitchesPenaltyCycles: "DSB2MITE_SWITCHES.PENALTY_CYCLES"
        = "Penalty cycles of switches from the decoded uop cache to the legacy decoders.";
    IcacheDataStalls: "ICACHE_DATA.STALLS" | "ICACHE_16B.IFDATA_STALL"
        = "Cycles in which code fetch waits for an L1 instruction cache miss.";
    IcacheTagStalls: "ICACHE_TAG.STALLS" | "ICACHE_64B.IFTAG_STALL"
        = "Cycles in which code fetch waits for an L1 instruction cache tag or ITLB miss.";
    Icache64bIftagHit: "ICACHE_64B.IFTAG_HIT"
        = "Code fetch tag look-ups (64-byte lines) that hit the L1 instruction cache.";
    Icache64bIftagMiss: "ICACHE_64B.IFTAG_MISS"
        = "Code fetch tag look-ups (64-byte lines) that missed the L1 instruction cache.";
    DecodeLcp: "DECODE.LCP" | "ILD_STALL.LCP" = "Decoder stall cycles caused by length-changing prefixes.";
    UopsDecodedDec0Uops: "UOPS_DECODED.DEC0_UOPS" | "UOPS_DECODED.DEC0" = "Uops decoded by decoder 0.";
    FrontendRetiredAnyDsbMiss: "FRONTEND_RETIRED.ANY_DSB_MISS"
        = "Retired instructions whose fetch missed the decoded uop cache.";
    FrontendRetiredDsbMiss: "FRONTEND_RETIRED.DSB_MISS"
        = "Retired instructions whose uop-cache miss was critical to delivery.";
    FrontendRetiredL1iMiss: "FRONTEND_RETIRED.L1I_MISS"
        = "Retired instructions whose fetch missed the L1 instruction cache.";
    FrontendRetiredL2Miss: "FRONTEND_RETIRED.L2_MISS" = "Retired instructions whose fetch missed the L2 cache.";
    FrontendRetiredItlbMiss: "FRONTEND_RETIRED.ITLB_MISS"
        = "Retired instructions whose fetch missed the first-level instruction TLB.";
    FrontendRetiredStlbMiss: "FRONTEND_RETIRED.STLB_MISS"
        = "Retired instructions whose fetch missed the second-level TLB.";
    FrontendRetiredMsFlows: "FRONTEND_RETIRED.MS_FLOWS" = "Retired instructions that started a microcode flow.";
    FrontendRetiredUnknownBranch: "FRONTEND_RETIRED.UNKNOWN_BRANCH"
        = "Retired instructions after a branch that the predictor did not know.";
    FrontendRetiredLatencyGe1: "FRONTEND_RETIRED.LATENCY_GE_1"
        = "Retired instructions after at least 1 cycle without delivery and no back-end stall.";
    FrontendRetiredLatencyGe2: "FRONTEND_RETIRED.LATENCY_GE_2"
        = "Retired instructions after at least 2 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe4: "FRONTEND_RETIRED.LATENCY_GE_4"
        = "Retired instructions after at least 4 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe8: "FRONTEND_RETIRED.LATENCY_GE_8"
        = "Retired instructions after at least 8 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe16: "FRONTEND_RETIRED.LATENCY_GE_16"
        = "Retired instructions after at least 16 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe32: "FRONTEND_RETIRED.LATENCY_GE_32"
        = "Retired instructions after at least 32 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe64: "FRONTEND_RETIRED.LATENCY_GE_64"
        = "Retired instructions after at least 64 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe128: "FRONTEND_RETIRED.LATENCY_GE_128"
        = "Retired instructions after at least 128 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe256: "FRONTEND_RETIRED.LATENCY_GE_256"
        = "Retired instructions after at least 256 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe512: "FRONTEND_RETIRED.LATENCY_GE_512"
        = "Retired instructions after at least 512 cycles without delivery and no back-end stall.";
    FrontendRetiredLatencyGe2BubblesGe1: "FRONTEND_RETIRED.LATENCY_GE_2_BUBBLES_GE_1"
        = "Retired instructions after at least 1 empty slot in each of 2 cycles, no back-end stall.";
    UopsIssuedAny: "UOPS_ISSUED.ANY" = "Uops issued from the queue to the back end.";
    UopsIssuedStallCycles: "UOPS_ISSUED.STALL_CYCLES" = "Cycles in which no uop was issued.";
    UopsIssuedCycles: "UOPS_ISSUED.CYCLES" = "Cycles in which at least one uop was issued.";
    UopsExecutedThread: "UOPS_EXECUTED.THREAD" = "Uops executed by this logical processor.";
    UopsExecutedCyclesGe1: "UOPS_EXECUTED.CYCLES_GE_1" | "UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC"
        = "Cycles in which this logical processor executed at least 1 uop.";
    UopsExecutedCyclesGe2: "UOPS_EXECUTED.CYCLES_GE_2" | "UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC"
        = "Cycles in which this logical processor executed at least 2 uops.";
    UopsExecutedCyclesGe3: "UOPS_EXECUTED.CYCLES_GE_3" | "UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC"
        = "Cycles in which this logical processor executed at least 3 uops.";
    UopsExecutedCyclesGe4: "UOPS_EXECUTED.CYCLES_GE_4" | "UOPS_EXECUTED.CYCLES_GE_4_UOPS_EXEC"
        = "Cycles in which this logical processor executed at least 4 uops.";
    UopsExecutedStalls: "UOPS_EXECUTED.STALLS" | "UOPS_EXECUTED.STALL_CYCLES"
        = "Cycles in which this logical processor executed no uop.";
    UopsExecutedCore: "UOPS_EXECUTED.CORE" = "Uops executed by the core, both siblings together.";
    UopsExecutedCoreCyclesGe1: "UOPS_EXECUTED.CORE_CYCLES_GE_1" = "Cycles in which the core executed at least 1 uop.";
    UopsExecutedCoreCyclesGe2: "UOPS_EXECUTED.CORE_CYCLES_GE_2" = "Cycles in which the core executed at least 2 uops.";
    UopsExecutedCoreCyclesGe3: "UOPS_EXECUTED.CORE_CYCLES_GE_3" = "Cycles in which the core executed at least 3 uops.";
    UopsExecutedCoreCyclesGe4: "UOPS_EXECUTED.CORE_CYCLES_GE_4" = "Cycles in which the core executed at least 4 uops.";
    UopsExecutedX87: "UOPS_EXECUTED.X87" = "x87 uops executed.";
    UopsDispatchedPort0: "UOPS_DISPATCHED.PORT_0" | "UOPS_DISPATCHED_PORT.PORT_0" = "Uops dispatched to port 0.";
    UopsDispatchedPort1: "UOPS_DISPATCHED.PORT_1" | "UOPS_DISPATCHED_PORT.PORT_1" = "Uops dispatched to port 1.";
    UopsDispatchedPort2_3: "UOPS_DISPATCHED.PORT_2_3" = "Uops dispatched to the load ports 2 and 3.";
    UopsDispatchedPort2_3_10: "UOPS_DISPATCHED.PORT_2_3_10" = "Uops dispatched to the load ports 2, 3 and 10.";
    UopsDispatchedPort4_9: "UOPS_DISPATCHED.PORT_4_9" = "Uops dispatched to the store-data ports 4 and 9.";
    UopsDispatchedPort5: "UOPS_DISPATCHED.PORT_5" = "Uops dispatched to port 5.";
    UopsDispatchedPort5_11: "UOPS_DISPATCHED.PORT_5_11" = "Uops dispatched to ports 5 and 11.";
    UopsDispatchedPort6: "UOPS_DISPATCHED.PORT_6" | "UOPS_DISPATCHED_PORT.PORT_6" = "Uops dispatched to port 6.";
    UopsDispatchedPort7_8: "UOPS_DISPATCHED.PORT_7_8" = "Uops dispatched to the store-address ports 7 and 8.";
    CycleActivityStallsTotal: "CYCLE_ACTIVITY.STALLS_TOTAL" = "Cycles without execution, whatever the cause.";
    CycleActivityCyclesMemAny: "CYCLE_ACTIVITY.CYCLES_MEM_ANY"
        = "Cycles with a load outstanding in the memory subsystem.";
    CycleActivityStallsMemAny: "CYCLE_ACTIVITY.STALLS_MEM_ANY"
        = "Cycles without execution while a load is outstanding.";
    CycleActivityCyclesL1dMiss: "CYCLE_ACTIVITY.CYCLES_L1D_MISS"
        = "Cycles with an L1 data cache miss demand load outstanding.";
    CycleActivityStallsL1dMiss: "CYCLE_ACTIVITY.STALLS_L1D_MISS"
        = "Cycles without execution while an L1 data cache miss load is outstanding.";
    CycleActivityCyclesL2Miss: "CYCLE_ACTIVITY.CYCLES_L2_MISS" = "Cycles with an L2 miss demand load outstanding.";
    CycleActivityStallsL2Miss: "CYCLE_ACTIVITY.STALLS_L2_MISS"
        = "Cycles without execution while an L2 miss load is outstanding.";
    CycleActivityStallsL3Miss: "CYCLE_ACTIVITY.STALLS_L3_MISS"
        = "Cycles without execution while an L3 miss load is outstanding.";
    MemoryActivityCyclesL1dMiss: "MEMORY_ACTIVITY.CYCLES_L1D_MISS"
        = "Cycles with an L1 data cache miss demand load outstanding, as Golden Cove counts them.";
    MemoryActivityStallsL1dMiss: "MEMORY_ACTIVITY.STALLS_L1D_MISS"
        = "Execution stalls while an L1 data cache miss load is outstanding (Golden Cove).";
    MemoryActivityStallsL2Miss: "MEMORY_ACTIVITY.STALLS_L2_MISS"
        = "Execution stalls while an L2 miss load is outstanding (Golden Cove).";
    MemoryActivityStallsL3Miss: "MEMORY_ACTIVITY.STALLS_L3_MISS"
        = "Execution stalls while an L3 miss load is outstanding (Golden Cove).";
    ExeActivity1PortsUtil: "EXE_ACTIVITY.1_PORTS_UTIL"
        = "Cycles in which exactly one uop executed and the reservation station was not empty.";
    ExeActivity2PortsUtil: "EXE_ACTIVITY.2_PORTS_UTIL"
        = "Cycles in which exactly two uops executed and the reservation station was not empty.";
    ExeActivity3PortsUtil: "EXE_ACTIVITY.3_PORTS_UTIL"
        = "Cycles in which exactly three uops executed and the reservation station was not empty.";
    ExeActivity4PortsUtil: "EXE_ACTIVITY.4_PORTS_UTIL"
        = "Cycles in which exactly four uops executed and the reservation station was not empty.";
    ExeActivity2_3PortsUtil: "EXE_ACTIVITY.2_3_PORTS_UTIL"
        = "Cycles in which two or three uops executed and the reservation station was not empty.";
    ExeActivityBoundOnLoads: "EXE_ACTIVITY.BOUND_ON_LOADS"
        = "Execution stalls while the memory subsystem has a load outstanding.";
    ExeActivityBoundOnStores: "EXE_ACTIVITY.BOUND_ON_STORES"
        = "Cycles in which the store buffer was full and no load caused a stall.";
    ExeActivityExeBound0Ports: "EXE_ACTIVITY.EXE_BOUND_0_PORTS"
        = "Cycles in which nothing executed although uops waited and no load was outstanding.";
    ResourceStallsScoreboard: "RESOURCE_STALLS.SCOREBOARD" = "Allocation stalls caused by serializing operations.";
    ResourceStallsSb: "RESOURCE_STALLS.SB" = "Allocation stalls caused by a full store buffer.";
    RsEmpty: "RS.EMPTY" | "RS_EMPTY.CYCLES" | "RS_EVENTS.EMPTY_CYCLES"
        = "Cycles in which the reservation station was empty.";
    RsEmptyCount: "RS.EMPTY_COUNT" | "RS_EMPTY.COUNT" | "RS_EVENTS.EMPTY_END"
        = "Ends of periods in which the reservation station was empty.";
    ArithDivActive: "ARITH.DIV_ACTIVE" | "ARITH.DIVIDER_ACTIVE"
        = "Cycles in which a divider was busy, integer or floating-point.";
    ArithFpdivActive: "ARITH.FPDIV_ACTIVE" | "ARITH.FP_DIVIDER_ACTIVE"
        = "Cycles in which the floating-point divider was busy (divide and square root).";
    ArithIdivActive: "ARITH.IDIV_ACTIVE" | "ARITH.INT_DIVIDER_ACTIVE"
        = "Cycles in which the integer divider was busy.";
    FpArithInstRetiredScalarDouble: "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE"
        = "Scalar double-precision operations retired; an FMA counts 2.";
    FpArithInstRetiredScalarSingle: "FP_ARITH_INST_RETIRED.SCALAR_SINGLE"
        = "Scalar single-precision operations retired; an FMA counts 2.";
    FpArithInstRetired128bPackedDouble: "FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE"
        = "128-bit packed double-precision instructions retired; an FMA counts 2.";
    FpArithInstRetired128bPackedSingle: "FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE"
        = "128-bit packed single-precision instructions retired; an FMA counts 2.";
    FpArithInstRetired256bPackedDouble: "FP_ARITH_INST_RETIRED.256B_PACKED_DOUBLE"
        = "256-bit packed double-precision instructions retired; an FMA counts 2.";
    FpArithInstRetired256bPackedSingle: "FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE"
        = "256-bit packed single-precision instructions retired; an FMA counts 2.";
    FpArithInstRetired512bPackedDouble: "FP_ARITH_INST_RETIRED.512B_PACKED_DOUBLE"
        = "512-bit packed double-precision instructions retired; an FMA counts 2.";
    FpArithInstRetired512bPackedSingle: "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE"
        = "512-bit packed single-precision instructions retired; an FMA counts 2.";
    FpArithInstRetiredScalar: "FP_ARITH_INST_RETIRED.SCALAR"
        = "Scalar floating-point instructions retired; an FMA counts 2.";
    FpArithInstRetired4Flops: "FP_ARITH_INST_RETIRED.4_FLOPS"
        = "Packed instructions retired that do 4 operations per count.";
    FpArithInstRetired8Flops: "FP_ARITH_INST_RETIRED.8_FLOPS"
        = "Packed instructions retired that do 8 operations per count.";
    FpArithInstRetiredVector: "FP_ARITH_INST_RETIRED.VECTOR"
        = "Packed floating-point instructions retired; an FMA counts 2.";
    FpArithInstRetired2ScalarHalf: "FP_ARITH_INST_RETIRED2.SCALAR_HALF"
        = "Scalar half-precision instructions retired, real arithmetic.";
    FpArithInstRetired2ComplexScalarHalf: "FP_ARITH_INST_RETIRED2.COMPLEX_SCALAR_HALF"
        = "Scalar half-precision instructions retired, complex arithmetic.";
    FpArithInstRetired2_128bPackedHalf: "FP_ARITH_INST_RETIRED2.128B_PACKED_HALF"
        = "128-bit packed half-precision instructions retired.";
    FpArithInstRetired2_256bPackedHalf: "FP_ARITH_INST_RETIRED2.256B_PACKED_HALF"
        = "256-bit packed half-precision instructions retired.";
    FpArithInstRetired2_512bPackedHalf: "FP_ARITH_INST_RETIRED2.512B_PACKED_HALF"
        = "512-bit packed half-precision instructions retired.";
    MemInstRetiredAllLoads: "MEM_INST_RETIRED.ALL_LOADS" | "L1-dcache-loads" = "Load instructions retired.";
    MemInstRetiredAllStores: "MEM_INST_RETIRED.ALL_STORES" | "L1-dcache-stores" = "Store instructions retired.";
    MemInstRetiredAny: "MEM_INST_RETIRED.ANY" = "Load and store instructions retired.";
    MemInstRetiredStlbMissLoads: "MEM_INST_RETIRED.STLB_MISS_LOADS"
        = "Loads retired that missed the second-level TLB.";
    MemInstRetiredStlbMissStores: "MEM_INST_RETIRED.STLB_MISS_STORES"
        = "Stores retired that missed the second-level TLB.";
    MemInstRetiredLockLoads: "MEM_INST_RETIRED.LOCK_LOADS" = "Loads retired with locked access.";
    MemInstRetiredSplitLoads: "MEM_INST_RETIRED.SPLIT_LOADS" = "Loads retired that crossed a cache line.";
    MemInstRetiredSplitStores: "MEM_INST_RETIRED.SPLIT_STORES" = "Stores retired that crossed a cache line.";
    MemLoadRetiredL1Hit: "MEM_LOAD_RETIRED.L1_HIT" = "Loads retired whose data came from the L1 data cache.";
    MemLoadRetiredL2Hit: "MEM_LOAD_RETIRED.L2_HIT" = "Loads retired whose data came from the L2 cache.";
    MemLoadRetiredL3Hit: "MEM_LOAD_RETIRED.L3_HIT" = "Loads retired whose data came from the L3 cache.";
    MemLoadRetiredFbHit: "MEM_LOAD_RETIRED.FB_HIT"
        = "Loads retired that merged with an outstanding L1 miss (fill buffer).";
    MemLoadRetiredL1Miss: "MEM_LOAD_RETIRED.L1_MISS" = "Loads retired that missed the L1 data cache.";
    MemLoadRetiredL2Miss: "MEM_LOAD_RETIRED.L2_MISS" = "Loads retired that missed the L2 cache.";
    MemLoadRetiredL3Miss: "MEM_LOAD_RETIRED.L3_MISS" = "Loads retired that missed the L3 cache.";
    MemLoadL3HitRetiredXsnpMiss: "MEM_LOAD_L3_HIT_RETIRED.XSNP_MISS"
        = "L3-hit loads retired whose snoop of a sibling core missed.";
    MemLoadL3HitRetiredXsnpNoFwd: "MEM_LOAD_L3_HIT_RETIRED.XSNP_NO_FWD" | "MEM_LOAD_L3_HIT_RETIRED.XSNP_HIT"
        = "L3-hit loads retired whose snoop hit a clean line, with no data forwarded.";
    MemLoadL3HitRetiredXsnpFwd: "MEM_LOAD_L3_HIT_RETIRED.XSNP_FWD" | "MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM"
        = "L3-hit loads retired whose data another core forwarded.";
    MemLoadL3HitRetiredXsnpNone: "MEM_LOAD_L3_HIT_RETIRED.XSNP_NONE" = "L3-hit loads retired that needed no snoop.";
    MemLoadL3MissRetiredLocalDram: "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM"
        = "L3-miss loads retired whose data came from local memory.";
    MemLoadL3MissRetiredRemoteDram: "MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM"
        = "L3-miss loads retired whose data came from another socket's memory.";
    MemLoadL3MissRetiredRemoteHitm: "MEM_LOAD_L3_MISS_RETIRED.REMOTE_HITM"
        = "L3-miss loads retired whose data was modified in another socket's cache.";
    MemLoadL3MissRetiredRemoteFwd: "MEM_LOAD_L3_MISS_RETIRED.REMOTE_FWD"
        = "L3-miss loads retired whose data another socket's cache forwarded.";
    MemTransRetiredLoadLatencyGt4: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4"
        = "Sampled loads that took more than 4 cycles.";
    MemTransRetiredLoadLatencyGt8: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_8"
        = "Sampled loads that took more than 8 cycles.";
    MemTransRetiredLoadLatencyGt16: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_16"
        = "Sampled loads that took more than 16 cycles.";
    MemTransRetiredLoadLatencyGt32: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_32"
        = "Sampled loads that took more than 32 cycles.";
    MemTransRetiredLoadLatencyGt64: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_64"
        = "Sampled loads that took more than 64 cycles.";
    MemTransRetiredLoadLatencyGt128: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_128"
        = "Sampled loads that took more than 128 cycles.";
    MemTransRetiredLoadLatencyGt256: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_256"
        = "Sampled loads that took more than 256 cycles.";
    MemTransRetiredLoadLatencyGt512: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_512"
        = "Sampled loads that took more than 512 cycles.";
    MemTransRetiredLoadLatencyGt1024: "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_1024"
        = "Sampled loads that took more than 1024 cycles.";
    MemTransRetiredStoreSample: "MEM_TRANS_RETIRED.STORE_SAMPLE"
        = "Stores retired, as sampled by the store latency facility.";
    LdBlocksStoreForward: "LD_BLOCKS.STORE_FORWARD"
        = "Loads blocked because an older store could not forward its data.";
    LdBlocksNoSr: "LD_BLOCKS.NO_SR" = "Split loads blocked because no split register was free.";
    LdBlocksAddressAlias: "LD_BLOCKS.ADDRESS_ALIAS" | "LD_BLOCKS_PARTIAL.ADDRESS_ALIAS"
        = "Loads delayed by a false dependence on a store 4 KiB apart.";
    SwPrefetchAccessNta: "SW_PREFETCH_ACCESS.NTA" = "PREFETCHNTA instructions executed.";
    SwPrefetchAccessT0: "SW_PREFETCH_ACCESS.T0" = "PREFETCHT0 instructions executed.";
    SwPrefetchAccessT1T2: "SW_PREFETCH_ACCESS.T1_T2" = "PREFETCHT1 and PREFETCHT2 instructions executed.";
    SwPrefetchAccessPrefetchw: "SW_PREFETCH_ACCESS.PREFETCHW" = "PREFETCHW instructions executed.";
    SqMiscBusLock: "SQ_MISC.BUS_LOCK" = "Bus locks: atomic accesses that were split or uncacheable.";
    L1dReplacement: "L1D.REPLACEMENT" = "Lines filled into the L1 data cache.";
    L1dPendMissPending: "L1D_PEND_MISS.PENDING" = "L1 data cache misses outstanding, summed over cycles.";
    L1dPendMissPendingCycles: "L1D_PEND_MISS.PENDING_CYCLES" = "Cycles with an L1 data cache load miss outstanding.";
    L1dPendMissFbFull: "L1D_PEND_MISS.FB_FULL" = "Cycles in which a demand request waited for a free fill buffer.";
    L2RqstsDemandDataRdMiss: "L2_RQSTS.DEMAND_DATA_RD_MISS" = "Demand data reads that missed the L2 cache.";
    L2RqstsRfoMiss: "L2_RQSTS.RFO_MISS" = "Reads for ownership that missed the L2 cache.";
    L2RqstsCodeRdMiss: "L2_RQSTS.CODE_RD_MISS" = "Code reads that missed the L2 cache.";
    L2RqstsSwpfMiss: "L2_RQSTS.SWPF_MISS" = "Software prefetches that missed the L2 cache.";
    L2RqstsDemandDataRdHit: "L2_RQSTS.DEMAND_DATA_RD_HIT" = "Demand data reads that hit the L2 cache.";
    L2RqstsRfoHit: "L2_RQSTS.RFO_HIT" = "Reads for ownership that hit the L2 cache.";
    L2RqstsCodeRdHit: "L2_RQSTS.CODE_RD_HIT" = "Code reads that hit the L2 cache.";
    L2RqstsSwpfHit: "L2_RQSTS.SWPF_HIT" = "Software prefetches that hit the L2 cache.";
    L2RqstsAllDemandMiss: "L2_RQSTS.ALL_DEMAND_MISS"
        = "Demand requests (data, ownership, code) that missed the L2 cache.";
    L2RqstsAllDemandDataRd: "L2_RQSTS.ALL_DEMAND_DATA_RD" = "Demand data reads that reached the L2 cache.";
    L2RqstsAllRfo: "L2_RQSTS.ALL_RFO" = "Reads for ownership that reached the L2 cache.";
    L2RqstsAllCodeRd: "L2_RQSTS.ALL_CODE_RD" = "Code reads that reached the L2 cache.";
    L2RqstsMiss: "L2_RQSTS.MISS" | "L2_REQUEST.MISS" = "Read requests of any kind that missed the L2 cache.";
    L2RqstsReferences: "L2_RQSTS.REFERENCES" | "L2_REQUEST.ALL" = "Requests of any kind that reached the L2 cache.";
    L2RqstsHit: "L2_RQSTS.HIT" | "L2_REQUEST.HIT" = "Requests of any kind that hit the L2 cache.";
    L2RqstsHwpfMiss: "L2_RQSTS.HWPF_MISS" = "Hardware prefetches that missed the L2 cache.";
    L2RqstsAllHwpf: "L2_RQSTS.ALL_HWPF" = "Hardware prefetches that reached the L2 cache.";
    L2LinesInAll: "L2_LINES_IN.ALL" = "Lines filled into the L2 cache.";
    L2LinesOutSilent: "L2_LINES_OUT.SILENT" = "Clean lines dropped from the L2 cache without a write-back.";
    L2LinesOutNonSilent: "L2_LINES_OUT.NON_SILENT" = "Lines evicted from the L2 cache with a message to the L3 cache.";
    LongestLatCacheReference: "LONGEST_LAT_CACHE.REFERENCE" | "cache-references"
        = "Core-originated requests that reached the last-level cache.";
    LongestLatCacheMiss: "LONGEST_LAT_CACHE.MISS" | "cache-misses"
        = "Core-originated requests that missed the last-level cache.";
    OffcoreRequestsDemandDataRd: "OFFCORE_REQUESTS.DEMAND_DATA_RD" = "Demand data reads sent out of the core.";
    OffcoreRequestsDemandRfo: "OFFCORE_REQUESTS.DEMAND_RFO" = "Demand reads for ownership sent out of the core.";
    OffcoreRequestsOutstandingCyclesWithDataRd: "OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD"
        = "Cycles with a data read outstanding outside the core.";
    OcrDemandDataRdAnyResponse: "OCR.DEMAND_DATA_RD.ANY_RESPONSE" | "OFFCORE_RESPONSE.DEMAND_DATA_RD.ANY_RESPONSE"
        = "Demand data reads that left the core.";
    OcrDemandDataRdL3Hit: "OCR.DEMAND_DATA_RD.L3_HIT" | "OCR.DEMAND_DATA_RD.L3_HIT.ANY_SNOOP"
        | "OFFCORE_RESPONSE.DEMAND_DATA_RD.L3_HIT.ANY_SNOOP" = "Demand data reads that the last-level cache answered.";
    OcrDemandDataRdL3Miss: "OCR.DEMAND_DATA_RD.L3_MISS" | "OCR.DEMAND_DATA_RD.L3_MISS.ANY_SNOOP"
        | "OFFCORE_RESPONSE.DEMAND_DATA_RD.L3_MISS.ANY_SNOOP"
        = "Demand data reads that the last-level cache could not answer.";
    OcrDemandRfoAnyResponse: "OCR.DEMAND_RFO.ANY_RESPONSE" | "OFFCORE_RESPONSE.DEMAND_RFO.ANY_RESPONSE"
        = "Demand reads for ownership that left the core.";
    OcrDemandRfoL3Hit: "OCR.DEMAND_RFO.L3_HIT" | "OCR.DEMAND_RFO.L3_HIT.ANY_SNOOP"
        | "OFFCORE_RESPONSE.DEMAND_RFO.L3_HIT.ANY_SNOOP"
        = "Demand reads for ownership that the last-level cache answered.";
    OcrDemandRfoL3Miss: "OCR.DEMAND_RFO.L3_MISS" | "OCR.DEMAND_RFO.L3_MISS.ANY_SNOOP"
        | "OFFCORE_RESPONSE.DEMAND_RFO.L3_MISS.ANY_SNOOP"
        = "Demand reads for ownership that the last-level cache could not answer.";
    OcrDemandCodeRdAnyResponse: "OCR.DEMAND_CODE_RD.ANY_RESPONSE" | "OFFCORE_RESPONSE.DEMAND_CODE_RD.ANY_RESPONSE"
        = "Code reads that left the core.";
    OcrDemandCodeRdL3Hit: "OCR.DEMAND_CODE_RD.L3_HIT" | "OCR.DEMAND_CODE_RD.L3_HIT.ANY_SNOOP"
        | "OFFCORE_RESPONSE.DEMAND_CODE_RD.L3_HIT.ANY_SNOOP" = "Code reads that the last-level cache answered.";
    OcrDemandCodeRdL3Miss: "OCR.DEMAND_CODE_RD.L3_MISS" | "OCR.DEMAND_CODE_RD.L3_MISS.ANY_SNOOP"
        | "OFFCORE_RESPONSE.DEMAND_CODE_RD.L3_MISS.ANY_SNOOP"
        = "Code reads that the last-level cache could not answer.";
    DtlbLoadMissesWalkCompleted4k: "DTLB_LOAD_MISSES.WALK_COMPLETED_4K"
        = "Page walks for loads that found a 4 KiB page.";
    DtlbLoadMissesWalkCompleted2m4m: "DTLB_LOAD_MISSES.WALK_COMPLETED_2M_4M"
        = "Page walks for loads that found a 2 or 4 MiB page.";
    DtlbLoadMissesWalkCompleted1g: "DTLB_LOAD_MISSES.WALK_COMPLETED_1G"
        = "Page walks for loads that found a 1 GiB page.";
    DtlbLoadMissesWalkCompleted: "DTLB_LOAD_MISSES.WALK_COMPLETED" = "Page walks for loads completed, any page size.";
    DtlbLoadMissesWalkPending: "DTLB_LOAD_MISSES.WALK_PENDING"
        = "Page walks for loads in progress, summed over cycles.";
    DtlbLoadMissesWalkActive: "DTLB_LOAD_MISSES.WALK_ACTIVE" = "Cycles with a page walk for a load in progress.";
    DtlbLoadMissesStlbHit: "DTLB_LOAD_MISSES.STLB_HIT"
        = "Loads that missed the first-level data TLB and hit the second level.";
    DtlbStoreMissesWalkCompleted4k: "DTLB_STORE_MISSES.WALK_COMPLETED_4K"
        = "Page walks for stores that found a 4 KiB page.";
    DtlbStoreMissesWalkCompleted2m4m: "DTLB_STORE_MISSES.WALK_COMPLETED_2M_4M"
        = "Page walks for stores that found a 2 or 4 MiB page.";
    DtlbStoreMissesWalkCompleted1g: "DTLB_STORE_MISSES.WALK_COMPLETED_1G"
        = "Page walks for stores that found a 1 GiB page.";
    DtlbStoreMissesWalkCompleted: "DTLB_STORE_MISSES.WALK_COMPLETED"
        = "Page walks for stores completed, any page size.";
    DtlbStoreMissesWalkPending: "DTLB_STORE_MISSES.WALK_PENDING"
        = "Page walks for stores in progress, summed over cycles.";
    DtlbStoreMissesWalkActive: "DTLB_STORE_MISSES.WALK_ACTIVE" = "Cycles with a page walk for a store in progress.";
    DtlbStoreMissesStlbHit: "DTLB_STORE_MISSES.STLB_HIT"
        = "Stores that missed the first-level data TLB and hit the second level.";
    ItlbMissesWalkCompleted4k: "ITLB_MISSES.WALK_COMPLETED_4K" = "Page walks for code fetch that found a 4 KiB page.";
    ItlbMissesWalkCompleted2m4m: "ITLB_MISSES.WALK_COMPLETED_2M_4M"
        = "Page walks for code fetch that found a 2 or 4 MiB page.";
    ItlbMissesWalkCompleted: "ITLB_MISSES.WALK_COMPLETED" = "Page walks for code fetch completed, any page size.";
    ItlbMissesWalkPending: "ITLB_MISSES.WALK_PENDING" = "Page walks for code fetch in progress, summed over cycles.";
    ItlbMissesWalkActive: "ITLB_MISSES.WALK_ACTIVE" = "Cycles with a page walk for code fetch in progress.";
    ItlbMissesStlbHit: "ITLB_MISSES.STLB_HIT"
        = "Code fetches that missed the first-level instruction TLB and hit the second level.";
    LsNotHaltedCyc: "ls_not_halted_cyc" = "Core clocks while the thread is not halted.";
    LsNotHaltedP0CycP0FreqCyc: "ls_not_halted_p0_cyc.p0_freq_cyc"
        = "Clocks at the P0 frequency while the thread is not halted.";
    ExRetInstr: "ex_ret_instr" = "Instructions retired.";
    ExRetOps: "ex_ret_ops" | "ex_ret_cops" = "Macro-ops retired.";
    ExRetMmxFpInstrX87: "ex_ret_mmx_fp_instr.x87" | "ex_ret_mmx_fp_instr.x87_instr" = "x87 instructions retired.";
    ExRetMmxFpInstrMmx: "ex_ret_mmx_fp_instr.mmx" | "ex_ret_mmx_fp_instr.mmx_instr" = "MMX instructions retired.";
    ExRetMmxFpInstrSse: "ex_ret_mmx_fp_instr.sse" | "ex_ret_mmx_fp_instr.sse_instr"
        = "SSE and AVX instructions retired.";
    ExDivBusy: "ex_div_busy" = "Cycles in which the integer divider is busy.";
    ExDivCount: "ex_div_count" = "Operations of the integer divider.";
    ExRetUcodeInstr: "ex_ret_ucode_instr" = "Microcoded instructions retired.";
    ExRetUcodeOps: "ex_ret_ucode_ops" = "Macro-ops retired from microcode.";
    ExTaggedIbsOpsIbsTaggedOps: "ex_tagged_ibs_ops.ibs_tagged_ops" = "Ops tagged by IBS.";
    ExTaggedIbsOpsIbsTaggedOpsRet: "ex_tagged_ibs_ops.ibs_tagged_ops_ret" = "Ops tagged by IBS that retired.";
    ExRetFusedInstr: "ex_ret_fused_instr" | "ex_ret_fus_brnch_inst" = "Fused instruction pairs retired.";
    ExRetBrn: "ex_ret_brn" = "Branches retired of every kind, with exceptions and interrupts.";
    ExRetBrnMisp: "ex_ret_brn_misp" = "Mispredicted branches retired.";
    ExRetBrnTkn: "ex_ret_brn_tkn" = "Taken branches retired, with exceptions and interrupts.";
    ExRetBrnTknMisp: "ex_ret_brn_tkn_misp" = "Taken branches retired that were mispredicted.";
    ExRetBrnFar: "ex_ret_brn_far" = "Far transfers retired, with exceptions and interrupts.";
    ExRetBrnResync: "ex_ret_brn_resync" = "Pipeline restarts counted as branches.";
    ExRetNearRet: "ex_ret_near_ret" = "Near returns retired.";
    ExRetNearRetMispred: "ex_ret_near_ret_mispred" = "Near returns retired that were mispredicted.";
    ExRetBrnIndMisp: "ex_ret_brn_ind_misp" = "Indirect branches retired that were mispredicted.";
    ExRetIndBrchInstr: "ex_ret_ind_brch_instr" = "Near indirect jumps and calls retired.";
    ExRetCond: "ex_ret_cond" = "Conditional branches retired.";
    ExRetCondMisp: "ex_ret_cond_misp" = "Conditional branches retired that were mispredicted.";
    ExRetMsprdBrnchInstrDirMsmtch: "ex_ret_msprd_brnch_instr_dir_msmtch"
        = "Conditional branches retired whose direction was mispredicted.";
    ExRetUncondBrnchInstrMispred: "ex_ret_uncond_brnch_instr_mispred"
        = "Unconditional branches retired that were mispredicted.";
    ExRetUncondBrnchInstr: "ex_ret_uncond_brnch_instr" = "Unconditional branches retired.";
    FpuPipeAssignmentTotal0: "fpu_pipe_assignment.total0" = "Ops assigned to floating-point pipe 0.";
    FpuPipeAssignmentTotal1: "fpu_pipe_assignment.total1" = "Ops assigned to floating-point pipe 1.";
    FpuPipeAssignmentTotal2: "fpu_pipe_assignment.total2" = "Ops assigned to floating-point pipe 2.";
    FpuPipeAssignmentTotal3: "fpu_pipe_assignment.total3" = "Ops assigned to floating-point pipe 3.";
    FpuPipeAssignmentTotal: "fpu_pipe_assignment.total" = "Ops assigned to any floating-point pipe.";
    FpRetX87FpOpsAddSubOps: "fp_ret_x87_fp_ops.add_sub_ops" = "x87 additions and subtractions retired.";
    FpRetX87FpOpsMulOps: "fp_ret_x87_fp_ops.mul_ops" = "x87 multiplications retired.";
    FpRetX87FpOpsDivSqrtOps: "fp_ret_x87_fp_ops.div_sqrt_ops" = "x87 divisions and square roots retired.";
    FpRetX87FpOpsAll: "fp_ret_x87_fp_ops.all" = "x87 arithmetic operations retired.";
    FpRetSseAvxOpsAddSubFlops: "fp_ret_sse_avx_ops.add_sub_flops"
        = "Retired SSE and AVX floating-point additions and subtractions, each lane for itself.";
    FpRetSseAvxOpsMultFlops: "fp_ret_sse_avx_ops.mult_flops"
        = "Retired SSE and AVX floating-point multiplications, each lane for itself.";
    FpRetSseAvxOpsDivFlops: "fp_ret_sse_avx_ops.div_flops"
        = "Retired SSE and AVX floating-point divisions and square roots, each lane for itself.";
    FpRetSseAvxOpsMacFlops: "fp_ret_sse_avx_ops.mac_flops"
        = "Retired SSE and AVX multiply-accumulate operations, two for each lane.";
    FpRetSseAvxOpsBfloatMacFlops: "fp_ret_sse_avx_ops.bfloat_mac_flops"
        = "Retired bfloat16 multiply-accumulate operations.";
    FpRetSseAvxOpsAll: "fp_ret_sse_avx_ops.all" = "Retired SSE and AVX floating-point operations.";
    FpRetiredSerOpsX87CtrlRet: "fp_retired_ser_ops.x87_ctrl_ret" = "x87 control word changes that serialise.";
    FpRetiredSerOpsX87BotRet: "fp_retired_ser_ops.x87_bot_ret" = "x87 bottom-executing ops retired.";
    FpRetiredSerOpsSseCtrlRet: "fp_retired_ser_ops.sse_ctrl_ret" = "MXCSR changes that serialise.";
    FpRetiredSerOpsSseBotRet: "fp_retired_ser_ops.sse_bot_ret" = "SSE and AVX bottom-executing ops retired.";
    FpRetiredSerOpsAll: "fp_retired_ser_ops.all" = "Serialising floating-point ops retired.";
    FpOpsRetiredByWidthX87UopsRetired: "fp_ops_retired_by_width.x87_uops_retired" = "x87 ops retired.";
    FpOpsRetiredByWidthMmxUopsRetired: "fp_ops_retired_by_width.mmx_uops_retired" = "MMX ops retired.";
    FpOpsRetiredByWidthScalarUopsRetired: "fp_ops_retired_by_width.scalar_uops_retired"
        = "Scalar floating-point ops retired.";
    FpOpsRetiredByWidthPack128UopsRetired: "fp_ops_retired_by_width.pack_128_uops_retired"
        = "Packed ops of 128 bits retired.";
    FpOpsRetiredByWidthPack256UopsRetired: "fp_ops_retired_by_width.pack_256_uops_retired"
        = "Packed ops of 256 bits retired.";
    FpOpsRetiredByWidthPack512UopsRetired: "fp_ops_retired_by_width.pack_512_uops_retired"
        = "Packed ops of 512 bits retired.";
    FpOpsRetiredByWidthAll: "fp_ops_retired_by_width.all" = "Floating-point ops retired, of all widths.";
    FpOpsRetiredByTypeScalarAdd: "fp_ops_retired_by_type.scalar_add" = "Scalar floating-point additions retired.";
    FpOpsRetiredByTypeScalarSub: "fp_ops_retired_by_type.scalar_sub" = "Scalar floating-point subtractions retired.";
    FpOpsRetiredByTypeScalarMul: "fp_ops_retired_by_type.scalar_mul"
        = "Scalar floating-point multiplications retired.";
    FpOpsRetiredByTypeScalarMac: "fp_ops_retired_by_type.scalar_mac"
        = "Scalar floating-point multiply-accumulate ops retired.";
    FpOpsRetiredByTypeScalarDiv: "fp_ops_retired_by_type.scalar_div" = "Scalar floating-point divisions retired.";
    FpOpsRetiredByTypeScalarSqrt: "fp_ops_retired_by_type.scalar_sqrt" = "Scalar floating-point square roots retired.";
    FpOpsRetiredByTypeScalarCmp: "fp_ops_retired_by_type.scalar_cmp" = "Scalar floating-point comparisons retired.";
    FpOpsRetiredByTypeScalarCvt: "fp_ops_retired_by_type.scalar_cvt" = "Scalar floating-point conversions retired.";
    FpOpsRetiredByTypeScalarBlend: "fp_ops_retired_by_type.scalar_blend" = "Scalar floating-point blends retired.";
    FpOpsRetiredByTypeScalarMov: "fp_ops_retired_by_type.scalar_mov" = "Scalar floating-point moves retired.";
    FpOpsRetiredByTypeScalarShuffle: "fp_ops_retired_by_type.scalar_shuffle"
        = "Scalar floating-point shuffles retired.";
    FpOpsRetiredByTypeScalarBfloat: "fp_ops_retired_by_type.scalar_bfloat"
        = "Scalar floating-point bfloat16 ops retired.";
    FpOpsRetiredByTypeScalarLogical: "fp_ops_retired_by_type.scalar_logical"
        = "Scalar floating-point logical ops retired.";
    FpOpsRetiredByTypeScalarOther: "fp_ops_retired_by_type.scalar_other"
        = "Scalar floating-point ops of other types retired.";
    FpOpsRetiredByTypeScalarAll: "fp_ops_retired_by_type.scalar_all" = "Scalar floating-point ops retired.";
    FpOpsRetiredByTypeVectorAdd: "fp_ops_retired_by_type.vector_add" = "Vector floating-point additions retired.";
    FpOpsRetiredByTypeVectorSub: "fp_ops_retired_by_type.vector_sub" = "Vector floating-point subtractions retired.";
    FpOpsRetiredByTypeVectorMul: "fp_ops_retired_by_type.vector_mul"
        = "Vector floating-point multiplications retired.";
    FpOpsRetiredByTypeVectorMac: "fp_ops_retired_by_type.vector_mac"
        = "Vector floating-point multiply-accumulate ops retired.";
    FpOpsRetiredByTypeVectorDiv: "fp_ops_retired_by_type.vector_div" = "Vector floating-point divisions retired.";
    FpOpsRetiredByTypeVectorSqrt: "fp_ops_retired_by_type.vector_sqrt" = "Vector floating-point square roots retired.";
    FpOpsRetiredByTypeVectorCmp: "fp_ops_retired_by_type.vector_cmp" = "Vector floating-point comparisons retired.";
    FpOpsRetiredByTypeVectorCvt: "fp_ops_retired_by_type.vector_cvt" = "Vector floating-point conversions retired.";
    FpOpsRetiredByTypeVectorBlend: "fp_ops_retired_by_type.vector_blend" = "Vector floating-point blends retired.";
    FpOpsRetiredByTypeVectorMov: "fp_ops_retired_by_type.vector_mov" = "Vector floating-point moves retired.";
    FpOpsRetiredByTypeVectorShuffle: "fp_ops_retired_by_type.vector_shuffle"
        = "Vector floating-point shuffles retired.";
    FpOpsRetiredByTypeVectorBfloat: "fp_ops_retired_by_type.vector_bfloat"
        = "Vector floating-point bfloat16 ops retired.";
    FpOpsRetiredByTypeVectorLogical: "fp_ops_retired_by_type.vector_logical"
        = "Vector floating-point logical ops retired.";
    FpOpsRetiredByTypeVectorOther: "fp_ops_retired_by_type.vector_other"
        = "Vector floating-point ops of other types retired.";
    FpOpsRetiredByTypeVectorAll: "fp_ops_retired_by_type.vector_all" = "Vector floating-point ops retired.";
    FpOpsRetiredByTypeAll: "fp_ops_retired_by_type.all" = "Floating-point ops retired, of all types.";
    SseAvxOpsRetiredMmxAdd: "sse_avx_ops_retired.mmx_add" = "MMX integer additions retired.";
    SseAvxOpsRetiredMmxSub: "sse_avx_ops_retired.mmx_sub" = "MMX integer subtractions retired.";
    SseAvxOpsRetiredMmxMul: "sse_avx_ops_retired.mmx_mul" = "MMX integer multiplications retired.";
    SseAvxOpsRetiredMmxMac: "sse_avx_ops_retired.mmx_mac" = "MMX integer multiply-accumulate ops retired.";
    SseAvxOpsRetiredMmxAes: "sse_avx_ops_retired.mmx_aes" = "MMX integer AES ops retired.";
    SseAvxOpsRetiredMmxSha: "sse_avx_ops_retired.mmx_sha" = "MMX integer SHA ops retired.";
    SseAvxOpsRetiredMmxCmp: "sse_avx_ops_retired.mmx_cmp" = "MMX integer comparisons retired.";
    SseAvxOpsRetiredMmxCvt: "sse_avx_ops_retired.mmx_cvt" = "MMX integer conversions and packs retired.";
    SseAvxOpsRetiredMmxShift: "sse_avx_ops_retired.mmx_shift" = "MMX integer shifts retired.";
    SseAvxOpsRetiredMmxMov: "sse_avx_ops_retired.mmx_mov" = "MMX integer moves retired.";
    SseAvxOpsRetiredMmxShuffle: "sse_avx_ops_retired.mmx_shuffle" = "MMX integer shuffles retired.";
    SseAvxOpsRetiredMmxPack: "sse_avx_ops_retired.mmx_pack" = "MMX integer packs retired.";
    SseAvxOpsRetiredMmxVnni: "sse_avx_ops_retired.mmx_vnni" = "MMX integer VNNI ops retired.";
    SseAvxOpsRetiredMmxLogical: "sse_avx_ops_retired.mmx_logical" = "MMX integer logical ops retired.";
    SseAvxOpsRetiredMmxOther: "sse_avx_ops_retired.mmx_other" = "MMX integer ops of other types retired.";
    SseAvxOpsRetiredMmxAll: "sse_avx_ops_retired.mmx_all" = "MMX integer ops retired.";
    SseAvxOpsRetiredSseAvxAdd: "sse_avx_ops_retired.sse_avx_add" = "SSE and AVX integer additions retired.";
    SseAvxOpsRetiredSseAvxSub: "sse_avx_ops_retired.sse_avx_sub" = "SSE and AVX integer subtractions retired.";
    SseAvxOpsRetiredSseAvxMul: "sse_avx_ops_retired.sse_avx_mul" = "SSE and AVX integer multiplications retired.";
    SseAvxOpsRetiredSseAvxMac: "sse_avx_ops_retired.sse_avx_mac"
        = "SSE and AVX integer multiply-accumulate ops retired.";
    SseAvxOpsRetiredSseAvxAes: "sse_avx_ops_retired.sse_avx_aes" = "SSE and AVX integer AES ops retired.";
    SseAvxOpsRetiredSseAvxSha: "sse_avx_ops_retired.sse_avx_sha" = "SSE and AVX integer SHA ops retired.";
    SseAvxOpsRetiredSseAvxCmp: "sse_avx_ops_retired.sse_avx_cmp" = "SSE and AVX integer comparisons retired.";
    SseAvxOpsRetiredSseAvxClm: "sse_avx_ops_retired.sse_avx_clm"
        = "SSE and AVX integer carry-less multiplications retired.";
    SseAvxOpsRetiredSseAvxCvt: "sse_avx_ops_retired.sse_avx_cvt"
        = "SSE and AVX integer conversions and packs retired.";
    SseAvxOpsRetiredSseAvxShift: "sse_avx_ops_retired.sse_avx_shift" = "SSE and AVX integer shifts retired.";
    SseAvxOpsRetiredSseAvxMov: "sse_avx_ops_retired.sse_avx_mov" = "SSE and AVX integer moves retired.";
    SseAvxOpsRetiredSseAvxShuffle: "sse_avx_ops_retired.sse_avx_shuffle" = "SSE and AVX integer shuffles retired.";
    SseAvxOpsRetiredSseAvxPack: "sse_avx_ops_retired.sse_avx_pack" = "SSE and AVX integer packs retired.";
    SseAvxOpsRetiredSseAvxVnni: "sse_avx_ops_retired.sse_avx_vnni" = "SSE and AVX integer VNNI ops retired.";
    SseAvxOpsRetiredSseAvxLogical: "sse_avx_ops_retired.sse_avx_logical" = "SSE and AVX integer logical ops retired.";
    SseAvxOpsRetiredSseAvxOther: "sse_avx_ops_retired.sse_avx_other"
        = "SSE and AVX integer ops of other types retired.";
    SseAvxOpsRetiredSseAvxAll: "sse_avx_ops_retired.sse_avx_all" = "SSE and AVX integer ops retired.";
    SseAvxOpsRetiredAll: "sse_avx_ops_retired.all" = "MMX, SSE and AVX integer ops retired.";
    FpPackOpsRetiredFp128Add: "fp_pack_ops_retired.fp128_add" = "Packed floating-point additions of 128 bits retired.";
    FpPackOpsRetiredFp128Sub: "fp_pack_ops_retired.fp128_sub"
        = "Packed floating-point subtractions of 128 bits retired.";
    FpPackOpsRetiredFp128Mul: "fp_pack_ops_retired.fp128_mul"
        = "Packed floating-point multiplications of 128 bits retired.";
    FpPackOpsRetiredFp128Mac: "fp_pack_ops_retired.fp128_mac"
        = "Packed floating-point multiply-accumulate ops of 128 bits retired.";
    FpPackOpsRetiredFp128Div: "fp_pack_ops_retired.fp128_div" = "Packed floating-point divisions of 128 bits retired.";
    FpPackOpsRetiredFp128Sqrt: "fp_pack_ops_retired.fp128_sqrt"
        = "Packed floating-point square roots of 128 bits retired.";
    FpPackOpsRetiredFp128Cmp: "fp_pack_ops_retired.fp128_cmp"
        = "Packed floating-point comparisons of 128 bits retired.";
    FpPackOpsRetiredFp128Cvt: "fp_pack_ops_retired.fp128_cvt"
        = "Packed floating-point conversions of 128 bits retired.";
    FpPackOpsRetiredFp128Blend: "fp_pack_ops_retired.fp128_blend"
        = "Packed floating-point blends of 128 bits retired.";
    FpPackOpsRetiredFp128Mov: "fp_pack_ops_retired.fp128_mov" = "Packed floating-point moves of 128 bits retired.";
    FpPackOpsRetiredFp128Shuffle: "fp_pack_ops_retired.fp128_shuffle"
        = "Packed floating-point shuffles of 128 bits retired.";
    FpPackOpsRetiredFp128Bfloat: "fp_pack_ops_retired.fp128_bfloat"
        = "Packed floating-point bfloat16 ops of 128 bits retired.";
    FpPackOpsRetiredFp128Logical: "fp_pack_ops_retired.fp128_logical"
        = "Packed floating-point logical ops of 128 bits retired.";
    FpPackOpsRetiredFp128Other: "fp_pack_ops_retired.fp128_other"
        = "Packed floating-point ops of other types of 128 bits retired.";
    FpPackOpsRetiredFp128All: "fp_pack_ops_retired.fp128_all" = "Packed floating-point ops of 128 bits retired.";
    FpPackOpsRetiredFp256Add: "fp_pack_ops_retired.fp256_add" = "Packed floating-point additions of 256 bits retired.";
    FpPackOpsRetiredFp256Sub: "fp_pack_ops_retired.fp256_sub"
        = "Packed floating-point subtractions of 256 bits retired.";
    FpPackOpsRetiredFp256Mul: "fp_pack_ops_retired.fp256_mul"
        = "Packed floating-point multiplications of 256 bits retired.";
    FpPackOpsRetiredFp256Mac: "fp_pack_ops_retired.fp256_mac"
        = "Packed floating-point multiply-accumulate ops of 256 bits retired.";
    FpPackOpsRetiredFp256Div: "fp_pack_ops_retired.fp256_div" = "Packed floating-point divisions of 256 bits retired.";
    FpPackOpsRetiredFp256Sqrt: "fp_pack_ops_retired.fp256_sqrt"
        = "Packed floating-point square roots of 256 bits retired.";
    FpPackOpsRetiredFp256Cmp: "fp_pack_ops_retired.fp256_cmp"
        = "Packed floating-point comparisons of 256 bits retired.";
    FpPackOpsRetiredFp256Cvt: "fp_pack_ops_retired.fp256_cvt"
        = "Packed floating-point conversions of 256 bits retired.";
    FpPackOpsRetiredFp256Blend: "fp_pack_ops_retired.fp256_blend"
        = "Packed floating-point blends of 256 bits retired.";
    FpPackOpsRetiredFp256Mov: "fp_pack_ops_retired.fp256_mov" = "Packed floating-point moves of 256 bits retired.";
    FpPackOpsRetiredFp256Shuffle: "fp_pack_ops_retired.fp256_shuffle"
        = "Packed floating-point shuffles of 256 bits retired.";
    FpPackOpsRetiredFp256Bfloat: "fp_pack_ops_retired.fp256_bfloat"
        = "Packed floating-point bfloat16 ops of 256 bits retired.";
    FpPackOpsRetiredFp256Logical: "fp_pack_ops_retired.fp256_logical"
        = "Packed floating-point logical ops of 256 bits retired.";
    FpPackOpsRetiredFp256Other: "fp_pack_ops_retired.fp256_other"
        = "Packed floating-point ops of other types of 256 bits retired.";
    FpPackOpsRetiredFp256All: "fp_pack_ops_retired.fp256_all" = "Packed floating-point ops of 256 bits retired.";
    FpPackOpsRetiredAll: "fp_pack_ops_retired.all" = "Packed floating-point ops retired.";
    PackedIntOpTypeInt128Add: "packed_int_op_type.int128_add" = "Packed integer additions of 128 bits retired.";
    PackedIntOpTypeInt128Sub: "packed_int_op_type.int128_sub" = "Packed integer subtractions of 128 bits retired.";
    PackedIntOpTypeInt128Mul: "packed_int_op_type.int128_mul" = "Packed integer multiplications of 128 bits retired.";
    PackedIntOpTypeInt128Mac: "packed_int_op_type.int128_mac"
        = "Packed integer multiply-accumulate ops of 128 bits retired.";
    PackedIntOpTypeInt128Aes: "packed_int_op_type.int128_aes" = "Packed integer AES ops of 128 bits retired.";
    PackedIntOpTypeInt128Sha: "packed_int_op_type.int128_sha" = "Packed integer SHA ops of 128 bits retired.";
    PackedIntOpTypeInt128Cmp: "packed_int_op_type.int128_cmp" = "Packed integer comparisons of 128 bits retired.";
    PackedIntOpTypeInt128Clm: "packed_int_op_type.int128_clm"
        = "Packed integer carry-less multiplications of 128 bits retired.";
    PackedIntOpTypeInt128Cvt: "packed_int_op_type.int128_cvt"
        = "Packed integer conversions and packs of 128 bits retired.";
    PackedIntOpTypeInt128Shift: "packed_int_op_type.int128_shift" = "Packed integer shifts of 128 bits retired.";
    PackedIntOpTypeInt128Mov: "packed_int_op_type.int128_mov" = "Packed integer moves of 128 bits retired.";
    PackedIntOpTypeInt128Shuffle: "packed_int_op_type.int128_shuffle" = "Packed integer shuffles of 128 bits retired.";
    PackedIntOpTypeInt128Pack: "packed_int_op_type.int128_pack" = "Packed integer packs of 128 bits retired.";
    PackedIntOpTypeInt128Vnni: "packed_int_op_type.int128_vnni" = "Packed integer VNNI ops of 128 bits retired.";
    PackedIntOpTypeInt128Logical: "packed_int_op_type.int128_logical"
        = "Packed integer logical ops of 128 bits retired.";
    PackedIntOpTypeInt128Other: "packed_int_op_type.int128_other"
        = "Packed integer ops of other types of 128 bits retired.";
    PackedIntOpTypeInt128All: "packed_int_op_type.int128_all" = "Packed integer ops of 128 bits retired.";
    PackedIntOpTypeInt256Add: "packed_int_op_type.int256_add" = "Packed integer additions of 256 bits retired.";
    PackedIntOpTypeInt256Sub: "packed_int_op_type.int256_sub" = "Packed integer subtractions of 256 bits retired.";
    PackedIntOpTypeInt256Mul: "packed_int_op_type.int256_mul" = "Packed integer multiplications of 256 bits retired.";
    PackedIntOpTypeInt256Mac: "packed_int_op_type.int256_mac"
        = "Packed integer multiply-accumulate ops of 256 bits retired.";
    PackedIntOpTypeInt256Aes: "packed_int_op_type.int256_aes" = "Packed integer AES ops of 256 bits retired.";
    PackedIntOpTypeInt256Sha: "packed_int_op_type.int256_sha" = "Packed integer SHA ops of 256 bits retired.";
    PackedIntOpTypeInt256Cmp: "packed_int_op_type.int256_cmp" = "Packed integer comparisons of 256 bits retired.";
    PackedIntOpTypeInt256Cvt: "packed_int_op_type.int256_cvt"
        = "Packed integer conversions and packs of 256 bits retired.";
    PackedIntOpTypeInt256Shift: "packed_int_op_type.int256_shift" = "Packed integer shifts of 256 bits retired.";
    PackedIntOpTypeInt256Mov: "packed_int_op_type.int256_mov" = "Packed integer moves of 256 bits retired.";
    PackedIntOpTypeInt256Shuffle: "packed_int_op_type.int256_shuffle" = "Packed integer shuffles of 256 bits retired.";
    PackedIntOpTypeInt256Pack: "packed_int_op_type.int256_pack" = "Packed integer packs of 256 bits retired.";
    PackedIntOpTypeInt256Vnni: "packed_int_op_type.int256_vnni" = "Packed integer VNNI ops of 256 bits retired.";
    PackedIntOpTypeInt256Logical: "packed_int_op_type.int256_logical"
        = "Packed integer logical ops of 256 bits retired.";
    PackedIntOpTypeInt256Other: "packed_int_op_type.int256_other"
        = "Packed integer ops of other types of 256 bits retired.";
    PackedIntOpTypeInt256All: "packed_int_op_type.int256_all" = "Packed integer ops of 256 bits retired.";
    PackedIntOpTypeAll: "packed_int_op_type.all" = "Packed integer ops retired.";
    FpDispFaultsX87FillFault: "fp_disp_faults.x87_fill_fault" = "Dispatch faults to fill x87 registers.";
    FpDispFaultsXmmFillFault: "fp_disp_faults.xmm_fill_fault" = "Dispatch faults to fill XMM registers.";
    FpDispFaultsYmmFillFault: "fp_disp_faults.ymm_fill_fault" = "Dispatch faults to fill YMM registers.";
    FpDispFaultsYmmSpillFault: "fp_disp_faults.ymm_spill_fault" = "Dispatch faults to spill YMM registers.";
    FpDispFaultsSseAvxAll: "fp_disp_faults.sse_avx_all" | "sse_avx_stalls" = "Dispatch faults for SSE and AVX code.";
    FpDispFaultsAll: "fp_disp_faults.all" = "Floating-point dispatch faults.";
    LsBadStatus2StliOther: "ls_bad_status2.stli_other" = "Loads that could not take the data of an older store.";
    LsLocksBusLock: "ls_locks.bus_lock" = "Locked operations that locked the bus.";
    LsLocksAll: "ls_locks.all" = "Locked operations.";
    LsRetClFlush: "ls_ret_cl_flush" = "CLFLUSH instructions retired.";
    LsRetCpuid: "ls_ret_cpuid" = "CPUID instructions retired.";
    LsDispatchLdDispatch: "ls_dispatch.ld_dispatch" = "Loads dispatched.";
    LsDispatchStoreDispatch: "ls_dispatch.store_dispatch" = "Stores dispatched.";
    LsDispatchLdStDispatch: "ls_dispatch.ld_st_dispatch" = "Ops dispatched that both load and store.";
    LsDispatchAll: "ls_dispatch.all" | "all_dc_accesses" | "all_data_cache_accesses"
        = "Ops dispatched to the load-store unit.";
    LsSmiRx: "ls_smi_rx" = "System management interrupts received.";
    LsIntTaken: "ls_int_taken" = "Interrupts taken.";
    LsRdtsc: "ls_rdtsc" = "Reads of the time stamp counter.";
    LsStlf: "ls_stlf" = "Loads that took the data of an older store.";
    LsStCommitCancel2StCommitCancelWcbFull: "ls_st_commit_cancel2.st_commit_cancel_wcb_full"
        = "Store commits cancelled because the write combining buffer was full.";
    LsDcAccesses: "ls_dc_accesses" = "Accesses of the L1 data cache.";
    LsMabAllocLoadStoreAllocations: "ls_mab_alloc.load_store_allocations"
        = "Miss buffers allocated for loads and stores.";
    LsMabAllocHardwarePrefetcherAllocations: "ls_mab_alloc.hardware_prefetcher_allocations"
        = "Miss buffers allocated by the hardware prefetcher.";
    LsMabAllocAllAllocations: "ls_mab_alloc.all_allocations" = "Miss buffers allocated.";
    LsMabAllocLoads: "ls_mab_alloc.loads" = "Miss buffers allocated for loads.";
    LsMabAllocStores: "ls_mab_alloc.stores" = "Miss buffers allocated for stores.";
    LsMabAllocDcPrefetcher: "ls_mab_alloc.dc_prefetcher" = "Miss buffers allocated by the L1 data prefetcher.";
    LsDmndFillsFromSysLocalL2: "ls_dmnd_fills_from_sys.local_l2" | "ls_dmnd_fills_from_sys.lcl_l2"
        = "Demand fills of the L1 data cache from the L2.";
    LsDmndFillsFromSysLocalCcx: "ls_dmnd_fills_from_sys.local_ccx" | "ls_dmnd_fills_from_sys.int_cache"
        = "Demand fills of the L1 data cache from the L3 or an L2 of the same core complex.";
    LsDmndFillsFromSysNearCache: "ls_dmnd_fills_from_sys.near_cache" | "ls_dmnd_fills_from_sys.ext_cache_local"
        = "Demand fills of the L1 data cache from another core complex of the node.";
    LsDmndFillsFromSysDramIoNear: "ls_dmnd_fills_from_sys.dram_io_near" | "ls_dmnd_fills_from_sys.mem_io_local"
        = "Demand fills of the L1 data cache from DRAM or I/O of the node.";
    LsDmndFillsFromSysFarCache: "ls_dmnd_fills_from_sys.far_cache" | "ls_dmnd_fills_from_sys.ext_cache_remote"
        = "Demand fills of the L1 data cache from a core complex of another node.";
    LsDmndFillsFromSysDramIoFar: "ls_dmnd_fills_from_sys.dram_io_far" | "ls_dmnd_fills_from_sys.mem_io_remote"
        = "Demand fills of the L1 data cache from DRAM or I/O of another node.";
    LsDmndFillsFromSysAlternateMemories: "ls_dmnd_fills_from_sys.alternate_memories"
        = "Demand fills of the L1 data cache from extension memory.";
    LsDmndFillsFromSysAll: "ls_dmnd_fills_from_sys.all" = "Demand fills of the L1 data cache.";
    LsAnyFillsFromSysLocalL2: "ls_any_fills_from_sys.local_l2" | "ls_any_fills_from_sys.lcl_l2"
        = "Fills of the L1 data cache from the L2.";
    LsAnyFillsFromSysLocalCcx: "ls_any_fills_from_sys.local_ccx" | "ls_any_fills_from_sys.int_cache"
        = "Fills of the L1 data cache from the L3 or an L2 of the same core complex.";
    LsAnyFillsFromSysLocalAll: "ls_any_fills_from_sys.local_all" | "l1_data_cache_fills_from_within_same_ccx"
        = "Fills of the L1 data cache from within the core complex.";
    LsAnyFillsFromSysNearCache: "ls_any_fills_from_sys.near_cache" | "ls_any_fills_from_sys.ext_cache_local"
        = "Fills of the L1 data cache from another core complex of the node.";
    LsAnyFillsFromSysDramIoNear: "ls_any_fills_from_sys.dram_io_near" | "ls_any_fills_from_sys.mem_io_local"
        = "Fills of the L1 data cache from DRAM or I/O of the node.";
    LsAnyFillsFromSysFarCache: "ls_any_fills_from_sys.far_cache" | "ls_any_fills_from_sys.ext_cache_remote"
        = "Fills of the L1 data cache from a core complex of another node.";
    LsAnyFillsFromSysRemoteCache: "ls_any_fills_from_sys.remote_cache" | "l1_data_cache_fills_from_external_ccx_cache"
        = "Fills of the L1 data cache from other core complexes.";
    LsAnyFillsFromSysDramIoFar: "ls_any_fills_from_sys.dram_io_far" | "ls_any_fills_from_sys.mem_io_remote"
        = "Fills of the L1 data cache from DRAM or I/O of another node.";
    LsAnyFillsFromSysDramIoAll: "ls_any_fills_from_sys.dram_io_all" | "l1_data_cache_fills_from_memory"
        = "Fills of the L1 data cache from DRAM or I/O.";
    LsAnyFillsFromSysFarAll: "ls_any_fills_from_sys.far_all" | "l1_data_cache_fills_from_remote_node"
        = "Fills of the L1 data cache from another node.";
    LsAnyFillsFromSysAll: "ls_any_fills_from_sys.all" | "l1_data_cache_fills_all" = "Fills of the L1 data cache.";
    LsL1DTlbMissTlbReload4kL2Hit: "ls_l1_d_tlb_miss.tlb_reload_4k_l2_hit"
        = "L1 data TLB misses that hit a 4 KiB page in the L2 TLB.";
    LsL1DTlbMissTlbReloadCoalescedPageHit: "ls_l1_d_tlb_miss.tlb_reload_coalesced_page_hit"
        = "L1 data TLB misses that hit a coalesced page in the L2 TLB.";
    LsL1DTlbMissTlbReload2mL2Hit: "ls_l1_d_tlb_miss.tlb_reload_2m_l2_hit"
        = "L1 data TLB misses that hit a 2 MiB page in the L2 TLB.";
    LsL1DTlbMissTlbReload1gL2Hit: "ls_l1_d_tlb_miss.tlb_reload_1g_l2_hit"
        = "L1 data TLB misses that hit a 1 GiB page in the L2 TLB.";
    LsL1DTlbMissTlbReload4kL2Miss: "ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss"
        = "L1 and L2 data TLB misses of a 4 KiB page.";
    LsL1DTlbMissTlbReloadCoalescedPageMiss: "ls_l1_d_tlb_miss.tlb_reload_coalesced_page_miss"
        = "L1 and L2 data TLB misses of a coalesced page.";
    LsL1DTlbMissTlbReload2mL2Miss: "ls_l1_d_tlb_miss.tlb_reload_2m_l2_miss"
        = "L1 and L2 data TLB misses of a 2 MiB page.";
    LsL1DTlbMissTlbReload1gL2Miss: "ls_l1_d_tlb_miss.tlb_reload_1g_l2_miss"
        = "L1 and L2 data TLB misses of a 1 GiB page.";
    LsL1DTlbMissAllL2Miss: "ls_l1_d_tlb_miss.all_l2_miss" | "l2_dtlb_misses"
        = "L1 and L2 data TLB misses: page walks.";
    LsL1DTlbMissAll: "ls_l1_d_tlb_miss.all" = "L1 data TLB misses.";
    LsTablewalkerDcType0: "ls_tablewalker.dc_type0" = "Page walks for data of type 0.";
    LsTablewalkerDcType1: "ls_tablewalker.dc_type1" = "Page walks for data of type 1.";
    LsTablewalkerDside: "ls_tablewalker.dside" = "Page walks for data.";
    LsTablewalkerIcType0: "ls_tablewalker.ic_type0" = "Page walks for code of type 0.";
    LsTablewalkerIcType1: "ls_tablewalker.ic_type1" = "Page walks for code of type 1.";
    LsTablewalkerIside: "ls_tablewalker.iside" = "Page walks for code.";
    LsMisalLoadsMa64: "ls_misal_loads.ma64" = "Loads that cross a 64-byte boundary.";
    LsMisalLoadsMa4k: "ls_misal_loads.ma4k" = "Loads that cross a 4 KiB boundary.";
    LsMisalAccesses: "ls_misal_accesses" = "Misaligned accesses.";
    LsPrefInstrDispPrefetch: "ls_pref_instr_disp.prefetch" = "PREFETCHT0, T1 and T2 instructions dispatched.";
    LsPrefInstrDispPrefetchW: "ls_pref_instr_disp.prefetch_w" = "PREFETCHW instructions dispatched.";
    LsPrefInstrDispPrefetchNta: "ls_pref_instr_disp.prefetch_nta" = "PREFETCHNTA instructions dispatched.";
    LsPrefInstrDispAll: "ls_pref_instr_disp.all" | "ls_pref_instr_disp" = "Software prefetches dispatched.";
    LsInefSwPrefDataPipeSwPfDcHit: "ls_inef_sw_pref.data_pipe_sw_pf_dc_hit"
        = "Software prefetches that hit the L1 data cache.";
    LsInefSwPrefMabMchCnt: "ls_inef_sw_pref.mab_mch_cnt" = "Software prefetches that matched a miss buffer.";
    LsInefSwPrefAll: "ls_inef_sw_pref.all" = "Software prefetches without use.";
    LsSwPfDcFillsLocalL2: "ls_sw_pf_dc_fills.local_l2" | "ls_sw_pf_dc_fills.lcl_l2"
        = "Software prefetch fills from the L2.";
    LsSwPfDcFillsAll: "ls_sw_pf_dc_fills.all" = "Software prefetch fills of the L1 data cache.";
    LsHwPfDcFillsLocalL2: "ls_hw_pf_dc_fills.local_l2" | "ls_hw_pf_dc_fills.lcl_l2"
        = "Hardware prefetch fills from the L2.";
    LsHwPfDcFillsAll: "ls_hw_pf_dc_fills.all" = "Hardware prefetch fills of the L1 data cache.";
    LsAllocMabCount: "ls_alloc_mab_count" = "Miss buffers in use, summed over cycles.";
    LsTlbFlushAll: "ls_tlb_flush.all" | "ls_tlb_flush.all_tlb_flushes" | "all_tlbs_flushed" = "TLB flushes.";
    L2RequestG1Group2: "l2_request_g1.group2" = "Requests counted by l2_request_g2.";
    L2RequestG1L2HwPf: "l2_request_g1.l2_hw_pf" = "Requests of the L2 hardware prefetcher.";
    L2RequestG1PrefetchL2Cmd: "l2_request_g1.prefetch_l2_cmd" = "PREFETCH requests to the L2.";
    L2RequestG1ChangeToX: "l2_request_g1.change_to_x" = "Requests to make a line writable.";
    L2RequestG1CacheableIcRead: "l2_request_g1.cacheable_ic_read" = "Code reads.";
    L2RequestG1LsRdBlkCS: "l2_request_g1.ls_rd_blk_c_s" = "Shared data reads.";
    L2RequestG1RdBlkX: "l2_request_g1.rd_blk_x" = "Data stores.";
    L2RequestG1RdBlkL: "l2_request_g1.rd_blk_l" = "Data reads, with hardware and software prefetches.";
    L2RequestG1AllDc: "l2_request_g1.all_dc" | "l2_cache_accesses_from_dc_misses" = "Requests from the L1 data cache.";
    L2RequestG1AllNoPrefetch: "l2_request_g1.all_no_prefetch" = "Requests to the L2 without its prefetcher.";
    L2RequestG1All: "l2_request_g1.all" = "Requests to the L2.";
    L2RequestG2LsRdSized: "l2_request_g2.ls_rd_sized" = "Sized data reads.";
    L2RequestG2LsRdSizedNc: "l2_request_g2.ls_rd_sized_nc" = "Sized data reads of uncached memory.";
    L2CacheReqStatIcFillMiss: "l2_cache_req_stat.ic_fill_miss" = "Code reads that missed the L2.";
    L2CacheReqStatIcFillHitS: "l2_cache_req_stat.ic_fill_hit_s" = "Code reads that hit a shared line in the L2.";
    L2CacheReqStatIcFillHitX: "l2_cache_req_stat.ic_fill_hit_x" = "Code reads that hit a writable line in the L2.";
    L2CacheReqStatIcHitInL2: "l2_cache_req_stat.ic_hit_in_l2" | "l2_cache_hits_from_ic_misses"
        = "Code reads that hit the L2.";
    L2CacheReqStatIcAccessInL2: "l2_cache_req_stat.ic_access_in_l2" = "Code reads of the L2.";
    L2CacheReqStatLsRdBlkC: "l2_cache_req_stat.ls_rd_blk_c" = "Data reads that missed the L2.";
    L2CacheReqStatIcDcMissInL2: "l2_cache_req_stat.ic_dc_miss_in_l2" = "Code and data requests that missed the L2.";
    L2CacheReqStatLsRdBlkX: "l2_cache_req_stat.ls_rd_blk_x" = "Stores that hit a line in the L2.";
    L2CacheReqStatLsRdBlkLHitS: "l2_cache_req_stat.ls_rd_blk_l_hit_s"
        = "Data reads that hit a read-only line in the L2.";
    L2CacheReqStatLsRdBlkLHitX: "l2_cache_req_stat.ls_rd_blk_l_hit_x"
        = "Data reads that hit a writable line in the L2.";
    L2CacheReqStatLsRdBlkCs: "l2_cache_req_stat.ls_rd_blk_cs" = "Shared data reads that hit the L2.";
    L2CacheReqStatDcHitInL2: "l2_cache_req_stat.dc_hit_in_l2" | "l2_cache_hits_from_dc_misses"
        = "Data requests that hit the L2.";
    L2CacheReqStatIcDcHitInL2: "l2_cache_req_stat.ic_dc_hit_in_l2" = "Code and data requests that hit the L2.";
    L2CacheReqStatDcAccessInL2: "l2_cache_req_stat.dc_access_in_l2" = "Data requests of the L2.";
    L2CacheReqStatAll: "l2_cache_req_stat.all" = "Code and data requests of the L2.";
    L2PfHitL2L2Hwpf: "l2_pf_hit_l2.l2_hwpf" = "L2 prefetches that hit the L2.";
    L2PfHitL2L1DcHwpf: "l2_pf_hit_l2.l1_dc_hwpf" = "L1 data prefetches that hit the L2.";
    L2PfHitL2All: "l2_pf_hit_l2.all" | "l2_pf_hit_l2" | "l2_pf_hit_l2.l1_dc_l2_hwpf" = "Prefetches that hit the L2.";
    L2PfMissL2HitL3L2Hwpf: "l2_pf_miss_l2_hit_l3.l2_hwpf" = "L2 prefetches that missed the L2 and hit the L3.";
    L2PfMissL2HitL3L1DcHwpf: "l2_pf_miss_l2_hit_l3.l1_dc_hwpf"
        = "L1 data prefetches that missed the L2 and hit the L3.";
    L2PfMissL2HitL3All: "l2_pf_miss_l2_hit_l3.all" | "l2_pf_miss_l2_hit_l3" | "l2_pf_miss_l2_hit_l3.l1_dc_l2_hwpf"
        = "Prefetches that missed the L2 and hit the L3.";
    L2PfMissL2L3L2Hwpf: "l2_pf_miss_l2_l3.l2_hwpf" = "L2 prefetches that missed the L2 and the L3.";
    L2PfMissL2L3L1DcHwpf: "l2_pf_miss_l2_l3.l1_dc_hwpf" = "L1 data prefetches that missed the L2 and the L3.";
    L2PfMissL2L3All: "l2_pf_miss_l2_l3.all" | "l2_pf_miss_l2_l3" | "l2_pf_miss_l2_l3.l1_dc_l2_hwpf"
        = "Prefetches that missed the L2 and the L3.";
    L2FillRspSrcLocalCcx: "l2_fill_rsp_src.local_ccx"
        = "Fills of the L2 from the L3 or an L2 of the same core complex.";
    L2FillRspSrcNearCache: "l2_fill_rsp_src.near_cache" = "Fills of the L2 from another core complex of the node.";
    L2FillRspSrcDramIoNear: "l2_fill_rsp_src.dram_io_near" = "Fills of the L2 from DRAM or I/O of the node.";
    L2FillRspSrcFarCache: "l2_fill_rsp_src.far_cache" = "Fills of the L2 from a core complex of another node.";
    L2FillRspSrcDramIoFar: "l2_fill_rsp_src.dram_io_far" = "Fills of the L2 from DRAM or I/O of another node.";
    L2FillRspSrcAlternateMemories: "l2_fill_rsp_src.alternate_memories" = "Fills of the L2 from extension memory.";
    L2FillRspSrcAll: "l2_fill_rsp_src.all" = "Fills of the L2.";
    IcFw32: "ic_fw32" = "Fetch windows of 32 bytes.";
    IcFw32Miss: "ic_fw32_miss" = "Fetch windows of 32 bytes that missed the instruction cache.";
    IcCacheFillL2: "ic_cache_fill_l2" = "Instruction cache lines filled from the L2.";
    IcCacheFillSys: "ic_cache_fill_sys" = "Instruction cache lines filled from beyond the L2.";
    BpL1TlbMissL2TlbHit: "bp_l1_tlb_miss_l2_tlb_hit" | "bp_l1_tlb_miss_l2_hit"
        = "Instruction TLB misses that hit the L2 TLB.";
    BpL1TlbMissL2TlbMissIf4k: "bp_l1_tlb_miss_l2_tlb_miss.if4k" = "Instruction TLB misses in both levels, 4 KiB page.";
    BpL1TlbMissL2TlbMissIf2m: "bp_l1_tlb_miss_l2_tlb_miss.if2m" = "Instruction TLB misses in both levels, 2 MiB page.";
    BpL1TlbMissL2TlbMissIf1g: "bp_l1_tlb_miss_l2_tlb_miss.if1g" = "Instruction TLB misses in both levels, 1 GiB page.";
    BpL1TlbMissL2TlbMissCoalesced4k: "bp_l1_tlb_miss_l2_tlb_miss.coalesced_4k"
        = "Instruction TLB misses in both levels, coalesced page.";
    BpL1TlbMissL2TlbMissAll: "bp_l1_tlb_miss_l2_tlb_miss.all" | "bp_l1_tlb_miss_l2_tlb_miss"
        = "Instruction TLB misses in both levels: page walks.";
    IcFetchStallIcStallBackPressure: "ic_fetch_stall.ic_stall_back_pressure"
        = "Cycles in which fetch stalled because the decoder was full.";
    IcFetchStallIcStallDqEmpty: "ic_fetch_stall.ic_stall_dq_empty"
        = "Cycles in which fetch stalled because no address was predicted.";
    IcFetchStallIcStallAny: "ic_fetch_stall.ic_stall_any" = "Cycles in which fetch stalled.";
    BpL1BtbCorrect: "bp_l1_btb_correct" = "Corrections by the first-level branch target buffer.";
    BpL2BtbCorrect: "bp_l2_btb_correct" = "Corrections by the second-level branch target buffer.";
    BpDynIndPred: "bp_dyn_ind_pred" = "Predictions by the dynamic indirect predictor.";
    BpDeRedirect: "bp_de_redirect" = "Redirects of fetch by the decoder.";
    BpL1TlbFetchHitIf4k: "bp_l1_tlb_fetch_hit.if4k" = "Instruction TLB hits of a 4 KiB page.";
    BpL1TlbFetchHitIf2m: "bp_l1_tlb_fetch_hit.if2m" = "Instruction TLB hits of a 2 MiB page.";
    BpL1TlbFetchHitIf1g: "bp_l1_tlb_fetch_hit.if1g" = "Instruction TLB hits of a 1 GiB page.";
    BpL1TlbFetchHitAll: "bp_l1_tlb_fetch_hit.all" | "bp_l1_tlb_fetch_hit" = "Instruction TLB hits.";
    ResyncsOrNcRedirects: "resyncs_or_nc_redirects" = "Pipeline restarts without a branch.";
    BpRedirectsResync: "bp_redirects.resync" = "Pipeline restarts without a branch.";
    BpRedirectsExRedir: "bp_redirects.ex_redir" = "Redirects of fetch by the execution units.";
    BpRedirectsAll: "bp_redirects.all" = "Redirects of fetch.";
    IcTagHitMissInstructionCacheHit: "ic_tag_hit_miss.instruction_cache_hit" = "Instruction cache hits.";
    IcTagHitMissInstructionCacheMiss: "ic_tag_hit_miss.instruction_cache_miss" = "Instruction cache misses.";
    IcTagHitMissAllInstructionCacheAccesses: "ic_tag_hit_miss.all_instruction_cache_accesses"
        = "Instruction cache look-ups.";
    OpCacheHitMissOpCacheHit: "op_cache_hit_miss.op_cache_hit" = "Op cache hits.";
    OpCacheHitMissOpCacheMiss: "op_cache_hit_miss.op_cache_miss" = "Op cache misses.";
    OpCacheHitMissAllOpCacheAccesses: "op_cache_hit_miss.all_op_cache_accesses" = "Op cache look-ups.";
    DeOpQueueEmpty: "de_op_queue_empty" | "de_dis_uop_queue_empty_di0" = "Cycles with an empty op queue.";
    DeSrcOpDispDecoder: "de_src_op_disp.decoder" | "de_dis_uops_from_decoder.decoder_dispatched"
        | "de_src_op_disp.x86_decoder" = "Ops dispatched from the decoder.";
    DeSrcOpDispOpCache: "de_src_op_disp.op_cache" | "de_dis_uops_from_decoder.opcache_dispatched"
        = "Ops dispatched from the op cache.";
    DeSrcOpDispLoopBuffer: "de_src_op_disp.loop_buffer" = "Ops dispatched from the loop buffer.";
    DeSrcOpDispAll: "de_src_op_disp.all" = "Ops dispatched.";
    DeDisOpsFromDecoderAnyFpDispatch: "de_dis_ops_from_decoder.any_fp_dispatch"
        | "de_dis_cops_from_decoder.disp_op_type.any_fp_dispatch" = "Floating-point ops dispatched.";
    DeDisOpsFromDecoderAnyIntegerDispatch: "de_dis_ops_from_decoder.any_integer_dispatch"
        | "de_dis_cops_from_decoder.disp_op_type.any_integer_dispatch"
        | "de_dis_ops_from_decoder.disp_op_type.any_integer_dispatch" = "Integer ops dispatched.";
    DeDisDispatchTokenStalls1IntPhyRegFileRsrcStall: "de_dis_dispatch_token_stalls1.int_phy_reg_file_rsrc_stall"
        | "de_dis_dispatch_token_stalls1.int_phy_reg_file_token_stall"
        | "de_dispatch_stall_cycle_dynamic_tokens_part1.int_phy_reg_file_rsrc_stall"
        = "Cycles in which dispatch waited for an integer register.";
    DeDisDispatchTokenStalls1LoadQueueRsrcStall: "de_dis_dispatch_token_stalls1.load_queue_rsrc_stall"
        | "de_dis_dispatch_token_stalls1.load_queue_token_stall"
        | "de_dispatch_stall_cycle_dynamic_tokens_part1.load_queue_rsrc_stall"
        = "Cycles in which dispatch waited for the load queue.";
    DeDisDispatchTokenStalls1StoreQueueRsrcStall: "de_dis_dispatch_token_stalls1.store_queue_rsrc_stall"
        | "de_dis_dispatch_token_stalls1.store_queue_token_stall"
        | "de_dispatch_stall_cycle_dynamic_tokens_part1.store_queue_rsrc_stall"
        = "Cycles in which dispatch waited for the store queue.";
    DeDisDispatchTokenStalls1IntSchedulerMiscRsrcStall: "de_dis_dispatch_token_stalls1.int_scheduler_misc_rsrc_stall"
        | "de_dis_dispatch_token_stalls1.int_sched_misc_token_stall"
        = "Cycles in which dispatch waited for the integer scheduler.";
    DeDisDispatchTokenStalls1TakenBrnchBufferRsrc: "de_dis_dispatch_token_stalls1.taken_brnch_buffer_rsrc"
        | "de_dis_dispatch_token_stalls1.taken_branch_buffer_rsrc_stall"
        | "de_dispatch_stall_cycle_dynamic_tokens_part1.taken_brnch_buffer_rsrc"
        = "Cycles in which dispatch waited for the taken branch buffer.";
    DeDisDispatchTokenStalls1FpRegFileRsrcStall: "de_dis_dispatch_token_stalls1.fp_reg_file_rsrc_stall"
        = "Cycles in which dispatch waited for a floating-point register.";
    DeDisDispatchTokenStalls1FpSchRsrcStall: "de_dis_dispatch_token_stalls1.fp_sch_rsrc_stall"
        | "de_dispatch_stall_cycle_dynamic_tokens_part1.fp_sch_rsrc_stall"
        = "Cycles in which dispatch waited for the floating-point scheduler.";
    DeDisDispatchTokenStalls1FpFlushRecoveryStall: "de_dis_dispatch_token_stalls1.fp_flush_recovery_stall"
        | "de_dis_dispatch_token_stalls1.fp_misc_rsrc_stall"
        = "Cycles in which dispatch waited for the floating-point unit to recover.";
    DeDisDispatchTokenStalls2IntSch0TokenStall: "de_dis_dispatch_token_stalls2.int_sch0_token_stall"
        = "Cycles in which dispatch waited for integer scheduler 0.";
    DeDisDispatchTokenStalls2IntSch1TokenStall: "de_dis_dispatch_token_stalls2.int_sch1_token_stall"
        = "Cycles in which dispatch waited for integer scheduler 1.";
    DeDisDispatchTokenStalls2IntSch2TokenStall: "de_dis_dispatch_token_stalls2.int_sch2_token_stall"
        = "Cycles in which dispatch waited for integer scheduler 2.";
    DeDisDispatchTokenStalls2IntSch3TokenStall: "de_dis_dispatch_token_stalls2.int_sch3_token_stall"
        = "Cycles in which dispatch waited for integer scheduler 3.";
    DeDisDispatchTokenStalls2RetireTokenStall: "de_dis_dispatch_token_stalls2.retire_token_stall"
        = "Cycles in which dispatch waited for the retire queue.";
    DeDispatchStallCycleDynamicTokensPart2AlTokens: "de_dispatch_stall_cycle_dynamic_tokens_part2.al_tokens"
        = "Cycles in which dispatch waited for the ALU scheduler.";
    DeDispatchStallCycleDynamicTokensPart2AgTokens: "de_dispatch_stall_cycle_dynamic_tokens_part2.ag_tokens"
        = "Cycles in which dispatch waited for the address scheduler.";
    DeDispatchStallCycleDynamicTokensPart2ExFlushRecovery:
        "de_dispatch_stall_cycle_dynamic_tokens_part2.ex_flush_recovery"
        = "Cycles in which dispatch waited for the integer unit to recover.";
    DeDispatchStallCycleDynamicTokensPart2Retq: "de_dispatch_stall_cycle_dynamic_tokens_part2.retq"
        = "Cycles in which dispatch waited for the retire queue.";
    ExNoRetireEmpty: "ex_no_retire.empty" = "Cycles without retirement because nothing was in flight.";
    ExNoRetireNotComplete: "ex_no_retire.not_complete"
        = "Cycles without retirement because the oldest op was not complete.";
    ExNoRetireOther: "ex_no_retire.other" = "Cycles without retirement for other reasons.";
    ExNoRetireThreadNotSelected: "ex_no_retire.thread_not_selected"
        = "Cycles without retirement because the other thread was selected.";
    ExNoRetireAll: "ex_no_retire.all" = "Cycles without retirement.";
    ExNoRetireLoadNotComplete: "ex_no_retire.load_not_complete"
        = "Cycles without retirement because the oldest op was a load that was not complete.";
    DeNoDispatchPerSlotNoOpsFromFrontend: "de_no_dispatch_per_slot.no_ops_from_frontend"
        = "Dispatch slots left empty because the front end supplied no op.";
    DeNoDispatchPerSlotBackendStalls: "de_no_dispatch_per_slot.backend_stalls"
        = "Dispatch slots left empty because the back end could not take an op.";
    DeNoDispatchPerSlotSmtContention: "de_no_dispatch_per_slot.smt_contention"
        = "Dispatch slots left empty because the other thread was selected.";
    DeAdditionalResourceStallsDispatchStalls: "de_additional_resource_stalls.dispatch_stalls"
        = "Cycles in which dispatch waited for further resources.";
    SwIncr: "SW_INCR" = "Writes of PMSWINC_EL0 that name the counter; the PMU counts them itself.";
    L1iCacheRefill: "L1I_CACHE_REFILL" = "Lines brought into the L1 instruction cache.";
    L1iTlbRefill: "L1I_TLB_REFILL" = "Translations brought into the L1 instruction TLB.";
    L1dCacheRefill: "L1D_CACHE_REFILL" = "Lines brought into the L1 data cache.";
    L1dCache: "L1D_CACHE" = "Accesses to the L1 data cache.";
    L1dTlbRefill: "L1D_TLB_REFILL" = "Translations brought into the L1 data TLB.";
    LdRetired: "LD_RETIRED" = "Load instructions retired.";
    StRetired: "ST_RETIRED" = "Store instructions retired.";
    InstRetired: "INST_RETIRED" = "Instructions retired.";
    ExcTaken: "EXC_TAKEN" = "Exceptions taken, interrupts among them.";
    ExcReturn: "EXC_RETURN" = "Exception returns retired.";
    CidWriteRetired: "CID_WRITE_RETIRED" = "Writes of CONTEXTIDR_EL1 retired.";
    PcWriteRetired: "PC_WRITE_RETIRED"
        = "Instructions retired that change the program counter: branches that are taken, exception returns.";
    BrImmedRetired: "BR_IMMED_RETIRED" = "Branches to an immediate target retired, taken or not.";
    BrReturnRetired: "BR_RETURN_RETIRED" = "Procedure returns retired.";
    UnalignedLdstRetired: "UNALIGNED_LDST_RETIRED" = "Load and store instructions with an unaligned address retired.";
    BrMisPred: "BR_MIS_PRED" = "Mispredicted branches, speculatively executed ones among them.";
    CpuCycles: "CPU_CYCLES" = "Core cycles.";
    BrPred: "BR_PRED" = "Branches that the predictor could have predicted, speculatively executed ones among them.";
    MemAccess: "MEM_ACCESS" = "Data memory accesses: reads and writes that the core makes.";
    L1iCache: "L1I_CACHE" = "Accesses to the L1 instruction cache.";
    L1dCacheWb: "L1D_CACHE_WB" = "Write-backs of the L1 data cache.";
    L2dCache: "L2D_CACHE" = "Accesses to the L2 cache for data.";
    L2dCacheRefill: "L2D_CACHE_REFILL" = "Lines brought into the L2 cache for data.";
    L2dCacheWb: "L2D_CACHE_WB" = "Write-backs of the L2 cache.";
    BusAccess: "BUS_ACCESS" = "Accesses to the bus.";
    MemoryError: "MEMORY_ERROR" = "Errors in the memories of the core.";
    InstSpec: "INST_SPEC" = "Operations executed, speculatively executed ones among them.";
    TtbrWriteRetired: "TTBR_WRITE_RETIRED" = "Writes of TTBR0_EL1 and TTBR1_EL1 retired.";
    BusCycles: "BUS_CYCLES" = "Cycles of the bus.";
    Chain: "CHAIN" = "Overflows of the even counter below; the PMU counts them itself, in odd counters.";
    L1dCacheAllocate: "L1D_CACHE_ALLOCATE" = "Lines allocated in the L1 data cache without a refill.";
    L2dCacheAllocate: "L2D_CACHE_ALLOCATE" = "Lines allocated in the L2 cache without a refill.";
    BrRetired: "BR_RETIRED" = "Branches retired, taken or not.";
    BrMisPredRetired: "BR_MIS_PRED_RETIRED" = "Mispredicted branches retired.";
    StallFrontend: "STALL_FRONTEND" = "Cycles in which nothing was issued because the front end supplied nothing.";
    StallBackend: "STALL_BACKEND" = "Cycles in which nothing was issued because the back end could not take it.";
    L1dTlb: "L1D_TLB" = "Accesses to the L1 data TLB.";
    L1iTlb: "L1I_TLB" = "Accesses to the L1 instruction TLB.";
    L2iCache: "L2I_CACHE" = "Accesses to the L2 cache for instructions.";
    L2iCacheRefill: "L2I_CACHE_REFILL" = "Lines brought into the L2 cache for instructions.";
    L3dCacheAllocate: "L3D_CACHE_ALLOCATE" = "Lines allocated in the L3 cache without a refill.";
    L3dCacheRefill: "L3D_CACHE_REFILL" = "Lines brought into the L3 cache for data.";
    L3dCache: "L3D_CACHE" = "Accesses to the L3 cache for data.";
    L3dCacheWb: "L3D_CACHE_WB" = "Write-backs of the L3 cache.";
    L2dTlbRefill: "L2D_TLB_REFILL" = "Translations for data brought into the L2 TLB.";
    L2iTlbRefill: "L2I_TLB_REFILL" = "Translations for instructions brought into the L2 TLB.";
    L2dTlb: "L2D_TLB" = "Accesses to the L2 TLB for data.";
    L2iTlb: "L2I_TLB" = "Accesses to the L2 TLB for instructions.";
    RemoteAccess: "REMOTE_ACCESS" = "Accesses to another socket.";
    LlCache: "LL_CACHE" = "Accesses to the last-level cache for data.";
    LlCacheMiss: "LL_CACHE_MISS" = "Misses of the last-level cache for data.";
    DtlbWalk: "DTLB_WALK" = "Data TLB misses that walked the translation tables.";
    ItlbWalk: "ITLB_WALK" = "Instruction TLB misses that walked the translation tables.";
    SyntheticBasicInstr: "synthetic.basic_instr" | "syn_basic_instr"
        = "Made up for this project, no event of Qualcomm's: instructions retired; selects code 0.";
    SyntheticFetchGroups: "synthetic.fetch_groups" | "syn_fetch_groups"
        = "Made up for this project, no event of Qualcomm's: instruction fetch blocks delivered.";
    SyntheticFetchStallCycles: "synthetic.fetch_stall_cycles" | "syn_fetch_stall_cycles"
        = "Made up for this project, no event of Qualcomm's: cycles without fetch.";
    SyntheticIqFullCycles: "synthetic.iq_full_cycles" | "syn_iq_full_cycles"
        = "Made up for this project, no event of Qualcomm's: cycles in which the instruction queue is full.";
    SyntheticIrqTaken: "synthetic.irq_taken" | "syn_irq_taken"
        = "Made up for this project, no event of Qualcomm's: IRQ exceptions taken.";
    SyntheticSvc: "synthetic.svc" | "syn_svc"
        = "Made up for this project, no event of Qualcomm's: SVC exceptions taken to EL1.";
    SyntheticDataAbort: "synthetic.data_abort" | "syn_data_abort"
        = "Made up for this project, no event of Qualcomm's: data aborts taken.";
    SyntheticCondBranches: "synthetic.cond_branches" | "syn_cond_branches"
        = "Made up for this project, no event of Qualcomm's: conditional branches retired.";
    SyntheticCondMispredicts: "synthetic.cond_mispredicts" | "syn_cond_mispredicts"
        = "Made up for this project, no event of Qualcomm's: conditional branches retired, direction mispredicted.";
    SyntheticIndirectBranches: "synthetic.indirect_branches" | "syn_indirect_branches"
        = "Made up for this project, no event of Qualcomm's: indirect branches and calls retired.";
    SyntheticTargetMispredicts: "synthetic.target_mispredicts" | "syn_target_mispredicts"
        = "Made up for this project, no event of Qualcomm's: branches retired whose target was mispredicted.";
    SyntheticOpsDispatched: "synthetic.ops_dispatched" | "syn_ops_dispatched"
        = "Made up for this project, no event of Qualcomm's: operations dispatched.";
    SyntheticDispatchIdleCycles: "synthetic.dispatch_idle_cycles" | "syn_dispatch_idle_cycles"
        = "Made up for this project, no event of Qualcomm's: cycles without dispatch.";
    SyntheticAluOps: "synthetic.alu_ops" | "syn_alu_ops"
        = "Made up for this project, no event of Qualcomm's: integer ALU operations.";
    SyntheticFpOps: "synthetic.fp_ops" | "syn_fp_ops"
        = "Made up for this project, no event of Qualcomm's: floating-point and SIMD operations.";
    SyntheticFlushes: "synthetic.flushes" | "syn_flushes"
        = "Made up for this project, no event of Qualcomm's: pipeline flushes.";
    SyntheticLoads: "synthetic.loads" | "syn_loads"
        = "Made up for this project, no event of Qualcomm's: load instructions retired.";
    SyntheticStores: "synthetic.stores" | "syn_stores"
        = "Made up for this project, no event of Qualcomm's: store instructions retired.";
    SyntheticDtlbLookups: "synthetic.dtlb_lookups" | "syn_dtlb_lookups"
        = "Made up for this project, no event of Qualcomm's: accesses to the data TLB.";
    SyntheticDtlbMisses: "synthetic.dtlb_misses" | "syn_dtlb_misses"
        = "Made up for this project, no event of Qualcomm's: misses of the data TLB.";
    SyntheticL1dLookups: "synthetic.l1d_lookups" | "syn_l1d_lookups"
        = "Made up for this project, no event of Qualcomm's: accesses to the L1 data cache.";
    SyntheticL1dMisses: "synthetic.l1d_misses" | "syn_l1d_misses"
        = "Made up for this project, no event of Qualcomm's: misses of the L1 data cache.";
    SyntheticPrefetchIssued: "synthetic.prefetch_issued" | "syn_prefetch_issued"
        = "Made up for this project, no event of Qualcomm's: hardware prefetches issued.";
    SyntheticPrefetchUseful: "synthetic.prefetch_useful" | "syn_prefetch_useful"
        = "Made up for this project, no event of Qualcomm's: hardware prefetches that were used; selects group 7.";
    SyntheticEveryCycle: "synthetic.every_cycle" | "syn_every_cycle"
        = "Made up for this project, no event of Qualcomm's: core cycles; selects the highest code of group 7.";
    SyntheticEveryInstr: "synthetic.every_instr" | "syn_every_instr"
        = "Made up for this project, no event of Qualcomm's: instructions retired; selects the highest code.";
}
