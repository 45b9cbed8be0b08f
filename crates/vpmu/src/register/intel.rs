//! Intel's perfmon registers.
//!
//! Facts: Intel SDM volume 3B, chapter "Performance Monitoring" (register figures and the rules
//! around them) and volume 4 (MSR numbers), cross-checked with Linux `asm/perf_event.h` and
//! `asm/msr-index.h`, and for fault behaviour with Linux `arch/x86/kvm/vmx/pmu_intel.c`.

use super::macros::{field, field_accessor, field_decl, registers};
use super::set::{RegisterSet, Typed, words_before};
use super::{Access, Field, Holder, OnWrite, Register, Repeat, Reserved, When, Width};

registers! { Intel:
    /// General-purpose counter, legacy address: a write takes 32 bits and sign-extends them.
    Pmc = "IA32_PMC{n}" @ 0xC1, gp x 10, if Always, ReadWrite, reserved Ignore, held by counter,
        source "SDM vol. 3B, Performance Monitoring, architectural version 1" {
        value count(GpCounter) = "Count", "Event count; a WRMSR sets bits 31:0 and copies bit 31 upwards";
    }
    /// General-purpose counter, full-width address: the same register, written as it is.
    APmc = "IA32_A_PMC{n}" @ 0x4C1, gp x 10, if FullWidth, ReadWrite, reserved Fault, same as Pmc,
        source "SDM vol. 3B, Full-Width Writes to Performance Counter Registers" {
        value count(GpCounter) = "Count", "Event count; bits at or above the counter width raise #GP";
    }
    /// Event select: what a general-purpose counter counts, and when.
    PerfEvtSel = "IA32_PERFEVTSEL{n}" @ 0x186, gp x 10, if Always, ReadWrite, reserved Fault,
        source "SDM vol. 3B, IA32_PERFEVTSELx MSRs; bit 35 as in Linux asm/perf_event.h \
             (ARCH_PERFMON_EVENTSEL_BR_CNTR)" {
        bits event_select(0, 8) = "EventSelect", "Event select code";
        bits umask(8, 8) = "UnitMask", "Unit mask: the condition that the event logic detects";
        flag usr(16) = "USR", "Count while CPL > 0";
        flag os(17) = "OS", "Count while CPL = 0";
        flag edge(18) = "E", "Count rising edges of the condition instead of occurrences";
        flag pin_control(19) if BeforeVersion6 = "PC", "Pin control; stored, no effect";
        flag interrupt(20) = "INT", "Request a PMI when the counter overflows";
        flag any_thread(21) if AnyThread = "ANY", "Count for every logical processor of the core";
        flag any_thread_dropped(21) if AnyThreadDeprecated, ignore = "ANY", "Deprecated: accepted and dropped";
        flag enable(22) = "EN", "Count";
        flag invert(23) = "INV", "Invert the comparison with CMASK";
        bits cmask(24, 8) = "CMASK",
            "Counter mask: count cycles with at least this many occurrences (0: count occurrences)";
        flag adaptive(34) if PebsBaseline = "ADAPTIVE", "Its PEBS records have the groups of MSR_PEBS_DATA_CFG";
        flag en_lbr_log(35) if LbrEventLogging = "EN_LBR_LOG",
            "Log its events with architectural branch records; of counters 0 to 3";
        bits umask2(40, 8) if UnitMask2 = "UnitMask2", "Unit mask, bits 15:8";
    }
    /// Fixed-function counter. 0 INST_RETIRED.ANY, 1 CPU_CLK_UNHALTED.THREAD, 2 CPU_CLK_UNHALTED.REF_TSC, 3
    /// TOPDOWN.SLOTS.
    FixedCtr = "IA32_FIXED_CTR{n}" @ 0x309, fixed x 7, if Version2, ReadWrite, reserved Ignore, held by counter,
        source "SDM vol. 3B, Fixed-function Performance Counters; excess bits are dropped as in Linux \
             arch/x86/kvm/vmx/pmu_intel.c" {
        value count(FixedCounter) = "Count", "Event count";
    }
    /// General-purpose counter, version 6 address: the same register as IA32_PMC of that number, written as it is.
    GpCtr = "IA32_PMC_GP{n}_CTR" @ 0x1900, gp x 10 step 4, if Version6, ReadWrite, reserved Fault,
        source "SDM vol. 4; addresses as in Linux asm/msr-index.h (MSR_IA32_PMC_V6_GP0_CTR)" as APmc;
    /// Event select, version 6 address: the same register as IA32_PERFEVTSEL of that number.
    GpCfgA = "IA32_PMC_GP{n}_CFG_A" @ 0x1901, gp x 10 step 4, if Version6, ReadWrite, reserved Fault,
        source "SDM vol. 4; addresses as in Linux asm/msr-index.h (MSR_IA32_PMC_V6_GP0_CFG_A)" as PerfEvtSel;
    /// Fixed-function counter, version 6 address: the same register as IA32_FIXED_CTR of that number.
    FxCtr = "IA32_PMC_FX{n}_CTR" @ 0x1980, fixed x 7 step 4, if Version6, ReadWrite, reserved Ignore,
        source "SDM vol. 4; addresses as in Linux asm/msr-index.h (MSR_IA32_PMC_V6_FX0_CTR)" as FixedCtr;
    /// Four or eight 8-bit fractions of the slots counted in IA32_FIXED_CTR3; v stands for v/255. Bits of
    /// fields that the
    /// CPU does not have are dropped.
    PerfMetrics = "IA32_PERF_METRICS" @ 0x329, once x 1, if Metrics, ReadWrite, reserved Ignore, held by none,
        source "SDM vol. 3B, Performance Metrics; fields as in Linux arch/x86/events/intel/core.c" {
        bits retiring(0, 8) = "Retiring", "Slots whose uops retired";
        bits bad_speculation(8, 8) = "BadSpeculation", "Slots lost to uops that never retired and to recovery";
        bits frontend_bound(16, 8) = "FrontendBound", "Slots that the front end did not fill";
        bits backend_bound(24, 8) = "BackendBound", "Slots that the back end could not take";
        bits heavy_operations(32, 8) if MetricsLevel2 = "HeavyOperations",
            "Retiring slots of instructions with several uops";
        bits branch_mispredicts(40, 8) if MetricsLevel2 = "BranchMispredicts",
            "Bad-speculation slots due to branch mispredicts";
        bits fetch_latency(48, 8) if MetricsLevel2 = "FetchLatency", "Front-end slots lost to fetch latency";
        bits memory_bound(56, 8) if MetricsLevel2 = "MemoryBound", "Back-end slots lost to the memory subsystem";
    }
    /// What the PMU can do.
    PerfCapabilities = "IA32_PERF_CAPABILITIES" @ 0x345, once x 1, if Always, ReadOnly, reserved Fault, held by none,
        source "SDM vol. 4, IA32_PERF_CAPABILITIES; bit names as in Linux arch/x86/events/perf_event.h" {
        bits lbr_fmt(0, 6) = "LBR_FMT", "Format of the last branch records";
        flag pebs_trap(6) = "PEBS_TRAP", "PEBS records are trap-like";
        flag pebs_arch_reg(7) = "PEBS_ARCH_REG", "PEBS records hold architectural registers";
        bits pebs_format(8, 4) = "PEBS_REC_FMT", "Format of PEBS records";
        flag freeze_while_smm(12) = "FREEZE_WHILE_SMM", "IA32_DEBUGCTL bit 14 is supported";
        flag fw_write(13) = "FW_WRITE", "The full-width counter addresses exist";
        flag pebs_baseline(14) = "PEBS_BASELINE", "Adaptive PEBS";
        flag perf_metrics_available(15) = "PERF_METRICS_AVAILABLE", "IA32_PERF_METRICS exists";
        flag pebs_output_pt(16) = "PEBS_OUTPUT_PT", "PEBS records can go to Processor Trace";
        flag pebs_timing_info(17) = "PEBS_TIMING_INFO", "PEBS records hold the retire latency";
        flag rdpmc_metrics_clear(19) = "RDPMC_METRICS_CLEAR", "RDPMC of the metrics can clear them";
    }
    /// Control of the fixed-function counters: four bits each.
    FixedCtrCtrl = "IA32_FIXED_CTR_CTRL" @ 0x38D, once x 1, if Version2, ReadWrite, reserved Fault,
        source "SDM vol. 3B, IA32_FIXED_CTR_CTRL MSR" {
        fixed os(0, 4) = "EN{n}_OS", "Fixed counter {n} counts while CPL = 0";
        fixed usr(1, 4) = "EN{n}_USR", "Fixed counter {n} counts while CPL > 0";
        fixed any_thread(2, 4) if AnyThread = "AnyThread{n}", "Fixed counter {n} counts for the whole core";
        fixed pmi(3, 4) = "EN{n}_PMI", "Fixed counter {n} requests a PMI when it overflows";
        fixed adaptive(32, 4) if PebsBaseline = "ADAPTIVE{n}",
            "PEBS records of fixed counter {n} have the groups of MSR_PEBS_DATA_CFG";
        flag metrics_clear(14) if MetricsClear = "METRICS_CLEAR_EN",
            "RDPMC of the metrics clears them and IA32_FIXED_CTR3";
    }
    /// Which counters have overflowed, and what is frozen.
    PerfGlobalStatus = "IA32_PERF_GLOBAL_STATUS" @ 0x38E, once x 1, if Version2, ReadOnly, reserved Fault,
        source "SDM vol. 3B, IA32_PERF_GLOBAL_STATUS MSR" {
        gp ovf_pmc(0, 1) = "OVF_PMC{n}", "IA32_PMC{n} overflowed";
        fixed ovf_fixed(32, 1) = "OVF_FIXEDCTR{n}", "IA32_FIXED_CTR{n} overflowed";
        flag ovf_metrics(48) if Metrics = "OVF_PERF_METRICS", "A counter behind IA32_PERF_METRICS overflowed";
        flag lbr_frozen(58) if Version4 = "LBR_Frz", "LBR recording is frozen";
        flag ctr_frozen(59) if Version4 = "CTR_Frz", "Counters are frozen";
        flag asci(60) if Version4 = "ASCI", "Counts may include SGX enclave activity";
        flag ovf_uncore(61) if Version4 = "OVF_Uncore", "An uncore counter overflowed";
        flag ovf_buffer(62) = "OvfBuf",
            "The PEBS buffer has reached its threshold; without PEBS only IA32_PERF_GLOBAL_STATUS_SET sets it";
        flag cond_changed(63) = "CondChgd", "Status bits have changed; never set";
    }
    /// Which counters are enabled.
    PerfGlobalCtrl = "IA32_PERF_GLOBAL_CTRL" @ 0x38F, once x 1, if Version2,
            ReadWrite, reserved Fault, reset |profile| profile.global_ctrl_reset(),
        source "SDM vol. 3B, IA32_PERF_GLOBAL_CTRL MSR" {
        gp enable_pmc(0, 1) = "EN_PMC{n}", "Enable IA32_PMC{n}";
        fixed enable_fixed(32, 1) = "EN_FIXED_CTR{n}", "Enable IA32_FIXED_CTR{n}";
        flag enable_metrics(48) if Metrics = "EN_PERF_METRICS", "Enable IA32_PERF_METRICS";
    }
    /// Clears status bits: OVF_CTRL before version 4, STATUS_RESET from version 4. Bit 62 is legal whether or
    /// not there
    /// is a debug store: SDM vol. 4 gives it by version alone, KVM never reserves it, and LIKWID writes it at
    /// every start.
    PerfGlobalOvfCtrl = "IA32_PERF_GLOBAL_OVF_CTRL" @ 0x390, once x 1, if Version2,
            WriteOneToClear, reserved Fault, held by none,
        source "SDM vol. 3B, IA32_PERF_GLOBAL_STATUS_RESET MSR; reads as 0 as in Linux arch/x86/kvm/pmu.c" {
        gp clear_pmc(0, 1) = "CLR_OVF_PMC{n}", "Clear OVF_PMC{n}";
        fixed clear_fixed(32, 1) = "CLR_OVF_FIXEDCTR{n}", "Clear OVF_FIXEDCTR{n}";
        flag clear_metrics(48) if Metrics = "CLR_OVF_PERF_METRICS", "Clear OVF_PERF_METRICS";
        flag clear_lbr_frozen(58) if Version4 = "CLR_LBR_Frz", "Unfreeze LBR recording";
        flag clear_ctr_frozen(59) if Version4 = "CLR_CTR_Frz", "Unfreeze the counters";
        flag clear_asci(60) if Version4 = "CLR_ASCI", "Clear ASCI";
        flag clear_uncore(61) if Version4 = "CLR_OVF_Uncore", "Clear OVF_Uncore";
        flag clear_buffer(62) = "CLR_OvfBuf", "Clear OvfBuf";
        flag clear_cond_changed(63) = "CLR_CondChgd", "Clear CondChgd";
    }
    /// Sets status bits, for restoring a saved state. Unlike in the register that clears, bit 63 is reserved
    /// (SDM vol. 4).
    PerfGlobalStatusSet = "IA32_PERF_GLOBAL_STATUS_SET" @ 0x391, once x 1, if Version4,
            WriteOneToSet, reserved Fault, held by none,
        source "SDM vol. 3B, IA32_PERF_GLOBAL_STATUS_SET MSR" {
        gp set_pmc(0, 1) = "SET_OVF_PMC{n}", "Set OVF_PMC{n}";
        fixed set_fixed(32, 1) = "SET_OVF_FIXEDCTR{n}", "Set OVF_FIXEDCTR{n}";
        flag set_metrics(48) if Metrics = "SET_OVF_PERF_METRICS", "Set OVF_PERF_METRICS";
        flag set_lbr_frozen(58) = "SET_LBR_Frz", "Freeze LBR recording";
        flag set_ctr_frozen(59) = "SET_CTR_Frz", "Freeze the counters";
        flag set_asci(60) = "SET_ASCI", "Set ASCI";
        flag set_uncore(61) = "SET_OVF_Uncore", "Set OVF_Uncore";
        flag set_buffer(62) = "SET_OvfBuf", "Set OvfBuf";
    }
    /// Which parts of the PMU are in use; computed on read.
    PerfGlobalInuse = "IA32_PERF_GLOBAL_INUSE" @ 0x392, once x 1, if Version4, ReadOnly, reserved Fault, held by none,
        source "SDM vol. 3B, IA32_PERF_GLOBAL_INUSE MSR" {
        gp pmc_in_use(0, 1) = "PERFEVTSEL{n}_InUse", "IA32_PERFEVTSEL{n} selects an event";
        fixed fixed_in_use(32, 1) = "FIXED_CTR{n}_InUse", "Fixed counter {n} has OS or USR set";
        flag pmi_in_use(63) = "PMI_InUse", "Some counter may request a PMI";
    }
    /// Debug control: the perfmon bits. Those of features that the CPU does not have are dropped.
    DebugCtl = "IA32_DEBUGCTL" @ 0x1D9, once x 1, if Always, ReadWrite, reserved Fault,
        source "SDM vol. 3B, IA32_DEBUGCTL MSR; dropped bits as in Linux arch/x86/kvm/vmx/vmx.c" {
        flag lbr(0) if LegacyLbr = "LBR", "Record branches; #DB clears it";
        flag lbr_dropped(0) if NoLegacyLbr, ignore = "LBR", "No such records: accepted and dropped";
        flag btf(1) if AnyLbr = "BTF", "With RFLAGS.TF, single-step on branches; #DB clears it";
        flag btf_dropped(1) if NoLbr, ignore = "BTF", "The engine does not report branches: accepted and dropped";
        flag freeze_lbrs_on_pmi(11) if AnyLbr = "FREEZE_LBRS_ON_PMI", "Freeze the branch records on a PMI";
        flag freeze_lbrs_dropped(11) if NoLbr, ignore = "FREEZE_LBRS_ON_PMI",
            "No branch records: accepted and dropped";
        flag freeze_perfmon_on_pmi(12) if Version2 = "FREEZE_PERFMON_ON_PMI", "Freeze the counters on a PMI";
        flag freeze_while_smm(14) if FreezeWhileSmm = "FREEZE_WHILE_SMM", "Freeze in SMM; stored, there is no SMM";
    }
    /// Enables of miscellaneous processor features, with the perfmon announcements.
    MiscEnable = "IA32_MISC_ENABLE" @ 0x1A0, once x 1, if Always,
            ReadWrite, reserved Fault, reset |profile| profile.misc_enable_reset(),
        source "SDM vol. 4, IA32_MISC_ENABLE; write rules of bits 7, 11, 12 as in Linux arch/x86/kvm/x86.c" {
        flag fast_strings(0) = "FastStringsEnable", "Fast string operation";
        flag tcc(3) = "AutomaticThermalControlEnable", "Automatic thermal control";
        flag perfmon_available(7), ignore = "PerformanceMonitoringAvailable", "Perfmon is available";
        flag bts_unavailable(11), keep = "BTSUnavailable", "Branch trace storage is not supported";
        flag pebs_unavailable(12), keep = "PEBSUnavailable", "PEBS is not supported";
        flag eist(16) = "EnhancedSpeedStepEnable", "Enhanced SpeedStep";
        flag monitor(18) = "EnableMonitorFSM", "MONITOR/MWAIT";
        flag limit_cpuid(22) = "LimitCpuidMaxval", "Limit CPUID leaf 0 to 2";
        flag xtpr_disable(23) = "xTPRMessageDisable", "Disable xTPR messages";
        flag xd_disable(34) = "XDBitDisable", "Disable the execute-disable bit";
        flag turbo_disable(38) = "TurboModeDisable",
            "Disable turbo mode; stored, there is none (CPUID.06H:EAX bit 1 = 0)";
    }
    /// Off-core response event register: which requests and responses the off-core events count.
    OffcoreRsp = "MSR_OFFCORE_RSP_0" @ 0x1A6, once x 1, if OffcoreResponse, ReadWrite, reserved Fault,
        source "SDM vol. 4; valid bits as in Linux arch/x86/events/intel/core.c" {
        value mask(OffcoreMask) = "Mask", "Request and response types";
    }
    /// Second off-core response event register.
    OffcoreRsp1 = "MSR_OFFCORE_RSP_1" @ 0x1A7, once x 1, if OffcoreResponse, ReadWrite, reserved Fault,
        source "SDM vol. 4; valid bits as in Linux arch/x86/events/intel/core.c" {
        value mask(OffcoreMask) = "Mask", "Request and response types";
    }
    /// Load latency threshold of MEM_TRANS_RETIRED.LOAD_LATENCY, in core cycles.
    PebsLdLat = "MSR_PEBS_LD_LAT_THRESHOLD" @ 0x3F6, once x 1, if LoadLatency, ReadWrite, reserved Fault,
        source "SDM vol. 4; valid bits as in Linux arch/x86/events/intel/core.c" {
        value threshold(LoadLatencyMask) = "Threshold", "Minimum latency, in core cycles";
    }
    /// Front-end event register of FRONTEND_RETIRED.
    PebsFrontend = "MSR_PEBS_FRONTEND" @ 0x3F7, once x 1, if Frontend, ReadWrite, reserved Fault,
        source "SDM vol. 4; valid bits as in Linux arch/x86/events/intel/core.c" {
        value event(FrontendMask) = "Event", "Which front-end event is counted";
    }
    /// Which counters write PEBS records when they overflow, instead of requesting a PMI.
    PebsEnable = "IA32_PEBS_ENABLE" @ 0x3F1, once x 1, if Pebs, ReadWrite, reserved Fault,
        source "SDM vol. 4; with adaptive PEBS fixed counters too, before it the bits of load latency, as in Linux \
             arch/x86/events/intel/ds.c" {
        gp enable_pmc(0, 1) = "PEBS_EN_PMC{n}", "IA32_PMC{n} writes records";
        gp load_latency(32, 1) if PebsBeforeBaseline = "LL_EN_PMC{n}", "Its records hold the latency of a load";
        fixed enable_fixed(32, 1) if PebsBaseline = "PEBS_EN_FIXED{n}", "IA32_FIXED_CTR{n} writes records";
    }
    /// What adaptive PEBS records hold beside the basic group.
    PebsDataCfg = "MSR_PEBS_DATA_CFG" @ 0x3F2, once x 1, if PebsBaseline, ReadWrite, reserved Fault,
        source "SDM vol. 4; valid bits as in Linux arch/x86/kvm/pmu.c" {
        flag memory_info(0) = "MemoryInfo", "Address, data source and latency of a memory access";
        flag gprs(1) = "GPRs", "RFLAGS, RIP and the general-purpose registers";
        flag xmms(2) = "XMMs", "XMM0 to XMM15";
        flag lbrs(3) = "LBRs", "The newest last branch records";
        bits lbr_entries(24, 8) = "LBREntries", "How many of them, minus 1";
    }
    /// Linear address of the debug store's management area.
    DsArea = "IA32_DS_AREA" @ 0x600, once x 1, if Pebs, ReadWrite, reserved Fault,
        source "SDM vol. 4" {
        address area() = "DSArea", "Where the management area is; a non-canonical address raises #GP";
    }
    /// Which branches the model-specific stack leaves out.
    LbrSelect = "MSR_LBR_SELECT" @ 0x1C8, once x 1, if LegacyLbr, ReadWrite, reserved Fault,
        source "SDM vol. 3B, Filtering of Last Branch Records; bit 9 as in Linux arch/x86/events/intel/lbr.c" {
        flag cpl_eq_0(0) = "CPL_EQ_0", "Leave out branches that end at CPL 0";
        flag cpl_neq_0(1) = "CPL_NEQ_0", "Leave out branches that end at CPL > 0";
        flag jcc(2) = "JCC", "Leave out conditional branches";
        flag near_rel_call(3) = "NEAR_REL_CALL", "Leave out near relative calls";
        flag near_ind_call(4) = "NEAR_IND_CALL", "Leave out near indirect calls";
        flag near_ret(5) = "NEAR_RET", "Leave out near returns";
        flag near_ind_jmp(6) = "NEAR_IND_JMP", "Leave out near indirect jumps";
        flag near_rel_jmp(7) = "NEAR_REL_JMP", "Leave out near relative jumps";
        flag far_branch(8) = "FAR_BRANCH", "Leave out far branches, interrupts and exceptions";
        flag en_callstack(9) = "EN_CALLSTACK", "A return removes the newest record instead of adding one";
    }
    /// Index of the newest branch record; bits at or above the index width are dropped.
    LbrTos = "MSR_LASTBRANCH_TOS" @ 0x1C9, once x 1, if LegacyLbr, ReadWrite, reserved Ignore, held by stack,
        source "SDM vol. 3B, LBR Stack; writable as Linux arch/x86/events/intel/core.c checks" {
        bits tos(0, 5) = "TOS", "Index of the newest record";
    }
    /// Where a recorded branch was.
    LastBranchFrom = "MSR_LASTBRANCH_{n}_FROM_IP" @ 0x680, lbr x 32, if LegacyLbr,
            ReadWrite, reserved Fault, held by stack,
        source "SDM vol. 3B, LBR Stack; LBR_FMT 5" {
        address ip() = "FROM_IP", "Address of the branch; a non-canonical one raises #GP";
    }
    /// Where a recorded branch went.
    LastBranchTo = "MSR_LASTBRANCH_{n}_TO_IP" @ 0x6C0, lbr x 32, if LegacyLbr,
            ReadWrite, reserved Fault, held by stack,
        source "SDM vol. 3B, LBR Stack; LBR_FMT 5" {
        address ip() = "TO_IP", "Address of the target; a non-canonical one raises #GP";
    }
    /// What is known about a recorded branch.
    LbrInfo = "MSR_LBR_INFO_{n}" @ 0xDC0, lbr x 32, if LegacyLbr, ReadWrite, reserved Fault, held by stack,
        source "SDM vol. 3B, MSR_LBR_INFO_x; LBR_FMT 5" {
        bits cycles(0, 16) = "CYC_CNT",
            "Core cycles since the record before, saturating; 0 in the first after recording began";
        flag tsx_abort(61) = "TSX_ABORT", "A transaction was aborted; never recorded";
        flag in_tsx(62) = "IN_TSX", "In a transaction; never recorded";
        flag mispredicted(63) = "MISPRED", "Direction or target was mispredicted";
    }
    /// Switches the architectural branch records on and says which branches they hold.
    ArchLbrCtl = "IA32_LBR_CTL" @ 0x14CE, once x 1, if ArchLbr, ReadWrite, reserved Fault,
        source "SDM vol. 3B, Last Branch Records, IA32_LBR_CTL; bits as in Linux asm/perf_event.h" {
        flag lbr_en(0) = "LBREn", "Record branches; #DB clears it";
        flag os(1) = "OS", "Record branches that end at CPL 0";
        flag usr(2) = "USR", "Record branches that end at CPL > 0";
        flag call_stack(3) = "CALL_STACK", "A return removes the youngest record instead of adding one";
        flag jcc(16) = "JCC", "Record conditional branches";
        flag near_rel_jmp(17) = "NEAR_REL_JMP", "Record near relative jumps";
        flag near_ind_jmp(18) = "NEAR_IND_JMP", "Record near indirect jumps";
        flag near_rel_call(19) = "NEAR_REL_CALL", "Record near relative calls";
        flag near_ind_call(20) = "NEAR_IND_CALL", "Record near indirect calls";
        flag near_ret(21) = "NEAR_RET", "Record near returns";
        flag other_branch(22) = "OTHER_BRANCH", "Record far branches, interrupts and exceptions";
    }
    /// Number of architectural branch records; a write clears them all. A depth that CPUID.1CH does not list
    /// raises #GP.
    ArchLbrDepth = "IA32_LBR_DEPTH" @ 0x14CF, once x 1, if ArchLbr, ReadWrite, reserved Fault, held by stack,
        source "SDM vol. 3B, Last Branch Records, IA32_LBR_DEPTH" {
        bits depth(0, 7) = "DEPTH", "Number of records";
    }
    /// Where a recorded branch was; 0 is the youngest. Entries beyond the depth raise #GP. All ones: the branch
    /// came from a
    /// privilege level that is not recorded.
    ArchLbrFrom = "IA32_LBR_{n}_FROM_IP" @ 0x1500, lbr x 32, if ArchLbr, ReadWrite, reserved Fault, held by stack,
        source "SDM vol. 3B, Last Branch Records, IA32_LBR_x_FROM_IP" {
        address ip() = "FROM_IP", "Address of the branch; a non-canonical one raises #GP";
    }
    /// Where a recorded branch went; 0 is the youngest. Entries beyond the depth raise #GP.
    ArchLbrTo = "IA32_LBR_{n}_TO_IP" @ 0x1600, lbr x 32, if ArchLbr, ReadWrite, reserved Fault, held by stack,
        source "SDM vol. 3B, Last Branch Records, IA32_LBR_x_TO_IP" {
        address ip() = "TO_IP", "Address of the target; a non-canonical one raises #GP";
    }
    /// What is known about a recorded branch; 0 is the youngest. Entries beyond the depth raise #GP. A write of
    /// bits 55:16,
    /// which the SDM calls undefined, does not fault; they read as 0, because no events are logged there
    /// (CPUID.1CH:ECX).
    ArchLbrInfo = "IA32_LBR_{n}_INFO" @ 0x1200, lbr x 32, if ArchLbr, ReadWrite, reserved Fault, held by stack,
        source "SDM vol. 3B, Last Branch Records, IA32_LBR_x_INFO; bits 39:32 as in Linux asm/msr-index.h \
             (LBR_INFO_BR_CNTR_OFFSET)" {
        bits cycles(0, 16) = "CYC_CNT", "Core cycles since the record before, saturating";
        bits undefined(16, 16), ignore = "Undefined", "Accepted and dropped";
        bits logged(32, 8) if LbrEventLogging = "PMC_CNT",
            "Events of counters 0 to 3 since the record before, two bits each, 3 for more";
        bits undefined_32(32, 8) if NoLbrEventLogging, ignore = "Undefined", "Accepted and dropped";
        bits undefined_40(40, 16), ignore = "Undefined", "Accepted and dropped";
        bits branch_type(56, 4) = "BR_TYPE",
            "0 conditional, 1 indirect jump, 2 relative jump, 3 indirect call, 4 relative call, 5 return, 8 other";
        flag cycles_valid(60) = "CYC_CNT_VALID",
            "CYC_CNT counts since the record before; 0 in the first after recording began";
        flag tsx_abort(61) = "TSX_ABORT", "A transaction was aborted; never recorded";
        flag in_tsx(62) = "IN_TSX", "In a transaction; never recorded";
        flag mispredicted(63) = "MISPRED", "Direction or target was mispredicted";
    }
    /// Where the last branch before the last exception or interrupt was (MSR_LER_FROM_LIP on CPUs with the
    /// model-specific
    /// stack). #DB leaves it alone.
    LerFrom = "IA32_LER_FROM_IP" @ 0x1DD, once x 1, if AnyLbr, ReadWrite, reserved Fault,
        source "SDM vol. 3B, Last Branch Records and Last Exception Records; written as in Xen \
             arch/x86/hvm/vmx/vmx.c" {
        address ip() = "FROM_IP", "Address of the branch; a non-canonical one raises #GP";
    }
    /// Where the last branch before the last exception or interrupt went (MSR_LER_TO_LIP on CPUs with the
    /// model-specific
    /// stack).
    LerTo = "IA32_LER_TO_IP" @ 0x1DE, once x 1, if AnyLbr, ReadWrite, reserved Fault,
        source "SDM vol. 3B, Last Branch Records and Last Exception Records; written as in Xen \
             arch/x86/hvm/vmx/vmx.c" {
        address ip() = "TO_IP", "Address of the target; a non-canonical one raises #GP";
    }
    /// What is known about the last branch before the last exception or interrupt.
    LerInfo = "IA32_LER_INFO" @ 0x1E0, once x 1, if ArchLbr, ReadWrite, reserved Fault,
        source "SDM vol. 3B, Last Branch Records, IA32_LER_INFO" {
        bits undefined(0, 56), ignore = "Undefined", "Accepted and dropped";
        bits branch_type(56, 4) = "BR_TYPE", "As in IA32_LBR_x_INFO";
        flag undefined_60(60), ignore = "Undefined", "Accepted and dropped";
        flag tsx_abort(61) = "TSX_ABORT", "A transaction was aborted; never recorded";
        flag in_tsx(62) = "IN_TSX", "In a transaction; never recorded";
        flag mispredicted(63) = "MISPRED", "Direction or target was mispredicted";
    }
}
