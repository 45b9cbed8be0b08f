//! AMD's core performance counter registers, Family 17h to 1Ah.
//!
//! Facts: AMD64 Architecture Programmer's Manual volume 2 (24593), chapter 13 and appendix A,
//! cross-checked with Linux `arch/x86/events/amd/`, `asm/msr-index.h`, and for ignored writes with Linux
//! `arch/x86/kvm/svm/pmu.c`. Reserved bits read as zero and are dropped on a write, unless said otherwise.
//!
//! Instruction-based sampling (IBS): APM vol. 2, section 13.3, and Linux `asm/amd-ibs.h`, `asm/perf_event.h`.
//!
//! Not offered: counters of the L3 cache, the data fabric and the memory controllers, branch
//! sampling (BRS), and instructions-retired (IRPERF).

use super::macros::{field, field_accessor, field_decl, registers};
use super::set::{RegisterSet, Typed, words_before};
use super::{Access, Field, Holder, OnWrite, Register, Repeat, Reserved, When, Width};

/// Event select of the Merge event, which merges an odd counter with the even one below it.
pub const MERGE: u16 = 0xFFF;

registers! { Amd:
    /// Event select: what a counter counts, and when.
    PerfCtl = "PERF_CTL{n}" @ 0xC001_0200, gp x 6 step 2, if ExtCore, ReadWrite, reserved Ignore,
        source "APM vol. 2, Performance Event-Select Registers; dropped bits as in Linux arch/x86/kvm/svm/pmu.c" {
        bits event_select(0, 8) = "EventSelect", "Event select code, bits 7:0";
        bits umask(8, 8) = "UnitMask", "Unit mask: the sub-events, usually ORed";
        flag usr(16) = "USR", "Count while CPL > 0";
        flag os(17) = "OS", "Count while CPL = 0";
        flag edge(18) = "EDGE", "Count rising edges of the condition instead of occurrences";
        flag interrupt(20) = "INT", "Request a PMI when the counter overflows";
        flag enable(22) = "EN", "Count";
        flag invert(23) = "INV", "Invert the comparison with CNTMASK";
        bits cmask(24, 8) = "CNTMASK",
            "Counter mask: count cycles with at least this many occurrences (0: count occurrences)";
        bits event_select_high(32, 4) = "EventSelectHigh", "Event select code, bits 11:8";
        flag guest_only(40), ignore = "GuestOnly", "Count in guest mode only; there is no SVM: accepted and dropped";
        flag host_only(41), ignore = "HostOnly", "Count in host mode only; there is no SVM: accepted and dropped";
    }
    /// Counter. The odd one of a merged pair holds bits 63:48 of the count in its bits 15:0.
    PerfCtr = "PERF_CTR{n}" @ 0xC001_0201, gp x 6 step 2, if ExtCore, ReadWrite, reserved Ignore, held by counter,
        source "APM vol. 2, Performance Counter Registers; merged pairs as in Linux arch/x86/events/amd/core.c" {
        value count(GpCounter) = "Count", "Event count; a merged even counter reads all 64 bits";
    }
    /// Event select, legacy address: the same register as PERF_CTL of that number.
    LegacyPerfCtl = "PERF_LEGACY_CTL{n}" @ 0xC001_0000, gp x 4, if Always, ReadWrite, reserved Ignore,
        source "APM vol. 2, Performance Event-Select Registers" as PerfCtl;
    /// Counter, legacy address: the same register as PERF_CTR of that number.
    LegacyPerfCtr = "PERF_LEGACY_CTR{n}" @ 0xC001_0004, gp x 4, if Always, ReadWrite, reserved Ignore,
        source "APM vol. 2, Performance Counter Registers" as PerfCtr;
    /// Which counters have overflowed, and what is frozen.
    PerfCntrGlobalStatus = "PerfCntrGlobalStatus" @ 0xC000_0300, once x 1, if PerfMonV2,
            WritesDropped, reserved Ignore,
        source "APM vol. 2, Performance Counter Global Status; writes as in Linux arch/x86/kvm/svm/pmu.c" {
        gp overflow(0, 1) = "PERF_CTR{n}_OVF", "PERF_CTR{n} overflowed";
        flag lbr_frozen(58) if PmcFreeze = "LBRSF", "The branch record stack is frozen";
        flag ctr_frozen(59) if PmcFreeze = "PMCF", "The counters are frozen";
    }
    /// Which counters are enabled.
    PerfCntrGlobalCtl = "PerfCntrGlobalCtl" @ 0xC000_0301, once x 1, if PerfMonV2,
            ReadWrite, reserved Ignore, reset |profile| profile.global_ctrl_reset(),
        source "APM vol. 2, Performance Counter Global Control" {
        gp enable(0, 1) = "PERF_CTR{n}_EN", "Enable PERF_CTR{n}";
    }
    /// Clears status bits.
    PerfCntrGlobalStatusClr = "PerfCntrGlobalStatusClr" @ 0xC000_0302, once x 1, if PerfMonV2,
            WriteOneToClear, reserved Ignore, held by none,
        source "APM vol. 2, Performance Counter Global Status Clear" {
        gp clear(0, 1) = "PERF_CTR{n}_OVF_CLR", "Clear PERF_CTR{n}_OVF";
        flag clear_lbr_frozen(58) if PmcFreeze = "LBRSF_CLR", "Unfreeze the branch record stack";
        flag clear_ctr_frozen(59) if PmcFreeze = "PMCF_CLR", "Unfreeze the counters";
    }
    /// Sets status bits. Frozen bits freeze; counter bits request no PMI.
    PerfCntrGlobalStatusSet = "PerfCntrGlobalStatusSet" @ 0xC000_0303, once x 1, if PerfMonV2,
            WriteOneToSet, reserved Ignore, held by none,
        source "APM vol. 2, Performance Counter Global Status Set" {
        gp set(0, 1) = "PERF_CTR{n}_OVF_SET", "Set PERF_CTR{n}_OVF";
        flag set_lbr_frozen(58) if PmcFreeze = "LBRSF_SET", "Freeze the branch record stack";
        flag set_ctr_frozen(59) if PmcFreeze = "PMCF_SET", "Freeze the counters";
    }
    /// Debug control. Bit 6 raises #GP, and so do bits 5:3 on CPUs with the bus-lock trap (Zen 5).
    DebugCtl = "DBG_CTL_MSR" @ 0x1D9, once x 1, if Always, ReadWrite, reserved Fault,
        source "APM vol. 2, Debug-Control MSR; dropped bits as in Linux arch/x86/kvm/svm/svm.c" {
        flag lbr(0) if AnyLbr = "LBR", "Record the last branch in LastBranchFromIP and LastBranchToIP; #DB clears it";
        flag lbr_dropped(0) if NoLbr, ignore = "LBR", "No branch records: accepted and dropped";
        flag btf(1) if AnyLbr = "BTF", "With RFLAGS.TF, single-step on branches; #DB clears it";
        flag btf_dropped(1) if NoLbr, ignore = "BTF", "The engine does not report branches: accepted and dropped";
        bits pin_control(2, 4) if PinControl = "PB", "Performance monitoring pin control; stored, no effect";
        flag bus_lock_trap(2) if BusLockTrap, ignore = "BLCKDB", "Bus-lock trap; CPUID does not announce it: dropped";
        bits raz_low(7, 4), ignore = "RAZ", "Dropped";
        flag freeze_lbrs_on_pmi(11) if PmcFreeze = "FLBRI", "Freeze the branch record stack on a PMI";
        flag freeze_lbrs_dropped(11) if NoPmcFreeze, ignore = "FLBRI", "Not supported: dropped";
        flag freeze_perfmon_on_pmi(12) if PmcFreeze = "FPMCI", "Freeze the counters on a PMI";
        flag freeze_perfmon_dropped(12) if NoPmcFreeze, ignore = "FPMCI", "Not supported: dropped";
        bits raz_high(13, 51), ignore = "RAZ", "Dropped";
    }
    /// Where the last branch was, while DBG_CTL_MSR.LBR is set. A RIP, not a linear address.
    LastBranchFromIp = "LastBranchFromIP" @ 0x1DB, once x 1, if Always, ReadOnly, reserved Fault,
        source "APM vol. 2, Control-Transfer Recording MSRs" {
        bits address(0, 64) if AnyLbr = "LastBranchFromIP", "Address of the branch";
    }
    /// Where the last branch went.
    LastBranchToIp = "LastBranchToIP" @ 0x1DC, once x 1, if Always, ReadOnly, reserved Fault,
        source "APM vol. 2, Control-Transfer Recording MSRs" {
        bits address(0, 64) if AnyLbr = "LastBranchToIP", "Address of the target";
    }
    /// LastBranchFromIP as of the last interrupt or exception other than #DB, while DBG_CTL_MSR.LBR is set.
    LastIntFromIp = "LastIntFromIP" @ 0x1DD, once x 1, if Always, ReadOnly, reserved Fault,
        source "APM vol. 2, Control-Transfer Recording MSRs" {
        bits address(0, 64) if AnyLbr = "LastIntFromIP", "Address of the branch";
    }
    /// LastBranchToIP as of the last interrupt or exception other than #DB, while DBG_CTL_MSR.LBR is set.
    LastIntToIp = "LastIntToIP" @ 0x1DE, once x 1, if Always, ReadOnly, reserved Fault,
        source "APM vol. 2, Control-Transfer Recording MSRs" {
        bits address(0, 64) if AnyLbr = "LastIntToIP", "Address of the target";
    }
    /// Which branches the record stack leaves out.
    LbrSelect = "LBR_SELECT" @ 0xC000_010E, once x 1, if LbrExtV2, ReadWrite, reserved Ignore,
        source "APM vol. 2, Last Branch Stack; address as in Linux asm/msr-index.h" {
        flag cpl_eq_0(0) = "CPL_EQ_0", "Leave out branches that end at CPL 0";
        flag cpl_neq_0(1) = "CPL_NEQ_0", "Leave out branches that end at CPL > 0";
        flag jcc(2) = "JCC", "Leave out conditional branches";
        flag near_rel_call(3) = "NEAR_REL_CALL", "Leave out near relative calls";
        flag near_ind_call(4) = "NEAR_IND_CALL", "Leave out near indirect calls";
        flag near_ret(5) = "NEAR_RET", "Leave out near returns";
        flag near_ind_jmp(6) = "NEAR_IND_JMP", "Leave out near indirect jumps";
        flag near_rel_jmp(7) = "NEAR_REL_JMP", "Leave out near relative jumps";
        flag far_branch(8) = "FAR_BRANCH", "Leave out far branches, interrupts and exceptions";
    }
    /// Switches the branch record stack on; other bits raise #GP.
    DbgExtnCfg = "DBG_EXTN_CFG" @ 0xC000_010F, once x 1, if LbrExtV2, ReadWrite, reserved Fault,
        source "APM vol. 2, Last Branch Stack; address as in Linux asm/msr-index.h" {
        flag lbr_v2_enable(6) = "LBRV2EN", "Record branches in the stack; #DB clears it";
    }
    /// Where a recorded branch was; 0 is the newest.
    SampBrFrom = "SAMP_BR_FROM{n}" @ 0xC001_0300, lbr x 16 step 2, if LbrExtV2,
            ReadWrite, reserved Ignore, held by stack,
        source "APM vol. 2, Last Branch Stack; as Linux arch/x86/events/amd/lbr.c reads it" {
        bits address(0, 58) = "FROM_IP", "Address of the branch";
        bits sign(58, 5) = "SIGN", "Copies of the address's highest bit";
        flag mispredicted(63) = "MISPREDICT", "Direction or target was mispredicted";
    }
    /// Where a recorded branch went; 0 is the newest.
    SampBrTo = "SAMP_BR_TO{n}" @ 0xC001_0301, lbr x 16 step 2, if LbrExtV2, ReadWrite, reserved Ignore, held by stack,
        source "APM vol. 2, Last Branch Stack; as Linux arch/x86/events/amd/lbr.c reads it" {
        bits address(0, 58) = "TO_IP", "Address of the target";
        bits sign(58, 3) = "SIGN", "Copies of the address's highest bit";
        flag speculative(62) = "SPEC", "Recorded before it retired; never here";
        flag valid(63) = "VALID", "The record holds a branch";
    }
    /// Fetch sampling: control, and what the sampled fetch was.
    IbsFetchCtl = "IBS_FETCH_CTL" @ 0xC001_1030, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Fetch Control Register; bits 59 to 61 as in Linux asm/amd-ibs.h" {
        bits max_count(0, 16) = "IbsFetchMaxCnt", "Fetches from one sample to the next, bits 19:4";
        bits count(16, 16) = "IbsFetchCnt", "Fetches since the last sample, bits 19:4";
        bits latency(32, 16) = "IbsFetchLat", "Core cycles until the fetch delivered; 0: unknown";
        flag enable(48) = "IbsFetchEn", "Sample fetches";
        flag valid(49) = "IbsFetchVal", "There is a sample; no counting until software clears this bit";
        flag complete(50) = "IbsFetchComp", "The fetch delivered instructions";
        flag icache_miss(51) = "IbsIcMiss", "It missed the instruction cache";
        flag physical_valid(52) = "IbsPhyAddrValid", "IBS_FETCH_PHYSADDR has its address";
        bits page_size(53, 2) = "IbsL1TlbPgSz", "Page: 0 of 4 KiB, 1 of 2 MiB, 2 of 1 GiB";
        flag l1_tlb_miss(55) = "IbsL1TlbMiss", "It missed the level-1 instruction TLB";
        flag l2_tlb_miss(56) = "IbsL2TlbMiss", "It missed the level-2 instruction TLB";
        flag random(57) = "IbsRandEn", "Begin to count at a random value in bits 3:0";
        flag l2_miss(58) = "IbsFetchL2Miss", "It missed the level-2 cache";
        flag l3_miss_only(59) if IbsL3Miss = "IbsFetchL3MissOnly", "Drop samples that did not miss the level-3 cache";
        flag op_cache_miss(60) if IbsL3Miss = "IbsOpCacheMiss", "It missed the op cache";
        flag l3_miss(61) if IbsL3Miss = "IbsFetchL3Miss", "It missed the level-3 cache";
    }
    /// Linear address of the sampled fetch.
    IbsFetchLinAd = "IBS_FETCH_LINADDR" @ 0xC001_1031, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Fetch Linear Address Register" {
        bits address(0, 64) = "IbsFetchLinAd", "Linear address";
    }
    /// Physical address of the sampled fetch.
    IbsFetchPhysAd = "IBS_FETCH_PHYSADDR" @ 0xC001_1032, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Fetch Physical Address Register" {
        bits address(0, 52) = "IbsFetchPhysAd", "Physical address";
    }
    /// Op sampling: control.
    IbsOpCtl = "IBS_OP_CTL" @ 0xC001_1033, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Execution Control Register; bit 16 as in Linux asm/amd-ibs.h" {
        bits max_count(0, 16) = "IbsOpMaxCnt", "Cycles or ops from one sample to the next, bits 19:4";
        flag l3_miss_only(16) if IbsL3Miss = "IbsOpL3MissOnly", "Drop samples that did not miss the level-3 cache";
        flag enable(17) = "IbsOpEn", "Sample ops";
        flag valid(18) = "IbsOpVal", "There is a sample; no counting until software clears this bit";
        flag count_ops(19) = "IbsOpCntCtl", "Count dispatched ops instead of core cycles";
        bits max_count_high(20, 7) = "IbsOpMaxCntExt", "IbsOpMaxCnt, bits 26:20";
        bits count(32, 27) = "IbsOpCurCnt", "Cycles or ops since the last sample; counting cycles begins at 0 to 127";
    }
    /// Linear address of the sampled op's instruction.
    IbsOpRip = "IBS_OP_RIP" @ 0xC001_1034, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Op Logical Address Register" {
        bits address(0, 64) = "IbsOpRip", "Linear address of the instruction";
    }
    /// What the sampled op was.
    IbsOpData = "IBS_OP_DATA" @ 0xC001_1035, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Op Data 1 Register" {
        bits completion_to_retire(0, 16) = "IbsCompToRetCtr", "Cycles from its completion to its retirement";
        bits tag_to_retire(16, 16) = "IbsTagToRetCtr", "Cycles from its tagging to its retirement";
        flag returned(34) = "IbsOpReturn", "A return";
        flag taken(35) = "IbsOpBrnTaken", "A taken branch";
        flag mispredicted(36) = "IbsOpBrnMisp", "A mispredicted branch";
        flag branch(37) = "IbsOpBrnRet", "A branch";
        flag rip_invalid(38) = "IbsRipInvalid", "IBS_OP_RIP is not valid; never here";
        flag fused(39) = "IbsOpBrnFuse", "A branch fused with the instruction before it";
        flag microcode(40) = "IbsOpMicrocode", "From microcode";
    }
    /// Where the sampled load's data came from; 0 where that is unknown, and for hits of the core's own caches.
    IbsOpData2 = "IBS_OP_DATA2" @ 0xC001_1036, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Op Data 2 Register; bits 7:6 as in Linux asm/amd-ibs.h" {
        bits source(0, 3) = "DataSrc", "Source of the data";
        flag remote(4) = "RmtNode", "From another node";
        flag shared(5) = "CacheHitSt", "Owned rather than modified in the cache that it came from";
        bits source_high(6, 2) if IbsL3Miss = "DataSrcHi", "DataSrc, bits 4:3";
    }
    /// The memory access of the sampled op.
    IbsOpData3 = "IBS_OP_DATA3" @ 0xC001_1037, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Op Data 3 Register; bits as in Linux asm/amd-ibs.h" {
        flag load(0) = "IbsLdOp", "A load";
        flag store(1) = "IbsStOp", "A store";
        flag l1_tlb_miss(2) = "IbsDcL1TlbMiss", "It missed the level-1 data TLB";
        flag l2_tlb_miss(3) = "IbsDcL2TlbMiss", "It missed the level-2 data TLB";
        flag l1_tlb_hit_2m(4) = "IbsDcL1TlbHit2M", "It hit a page of 2 MiB in the level-1 data TLB";
        flag l1_tlb_hit_1g(5) = "IbsDcL1TlbHit1G", "It hit a page of 1 GiB in the level-1 data TLB";
        flag l2_tlb_hit_2m(6) = "IbsDcL2TlbHit2M", "It hit a page of 2 MiB in the level-2 data TLB";
        flag dcache_miss(7) = "IbsDcMiss", "It missed the data cache";
        flag misaligned(8) = "IbsDcMisAcc", "It crosses a boundary of 32 bytes";
        flag write_combining(13) = "IbsDcWcMemAcc", "Memory of type WC";
        flag uncacheable(14) = "IbsDcUcMemAcc", "Memory of type UC";
        flag locked(15) = "IbsDcLockedOp", "A locked access";
        flag no_mab(16) = "IbsDcMissNoMabAlloc", "It missed on a line that was on its way already";
        flag linear_valid(17) = "IbsDcLinAddrValid", "IBS_DC_LINADDR has its address";
        flag physical_valid(18) = "IbsDcPhyAddrValid", "IBS_DC_PHYSADDR has its address";
        flag l2_tlb_hit_1g(19) = "IbsDcL2TlbHit1G", "It hit a page of 1 GiB in the level-2 data TLB";
        flag l2_miss(20) = "IbsL2Miss", "It missed the level-2 cache";
        flag prefetch(21) = "IbsSwPf", "A software prefetch";
        bits width(22, 4) = "IbsOpMemWidth", "Bytes: 0 unknown, n stands for 2 to the power of n - 1";
        bits open_requests(26, 6) = "IbsOpDcMissOpenMemReqs", "Misses on their way when its data came";
        bits miss_latency(32, 16) = "IbsDcMissLat", "Cycles from the miss to the data; 0: unknown";
        bits tlb_refill_latency(48, 16) = "IbsTlbRefillLat", "Cycles for which the TLB was filled; 0: unknown";
    }
    /// Linear address of the sampled op's data.
    IbsDcLinAd = "IBS_DC_LINADDR" @ 0xC001_1038, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Data Cache Linear Address Register" {
        bits address(0, 64) = "IbsDcLinAd", "Linear address";
    }
    /// Physical address of the sampled op's data.
    IbsDcPhysAd = "IBS_DC_PHYSADDR" @ 0xC001_1039, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Data Cache Physical Address Register" {
        bits address(0, 52) = "IbsDcPhysAd", "Physical address";
    }
    /// Which entry of the APIC's extended local vector table delivers the interrupt, as firmware leaves it: 0.
    IbsCtl = "IBS_CTL" @ 0xC001_103A, once x 1, if Ibs, ReadWrite, reserved Ignore, reset |_| 1 << 8,
        source "APM vol. 2, IBS Control Register; what firmware leaves as Linux on Zen logs it" {
        bits lvt_offset(0, 4) = "LvtOffset", "Entry of the extended local vector table";
        flag lvt_offset_valid(8) = "LvtOffsetVal", "LvtOffset is valid; without it there is no interrupt";
    }
    /// Target of the sampled branch, if it was taken; else 0.
    IbsBrTarget = "IBS_BR_TARGET" @ 0xC001_103B, once x 1, if Ibs, ReadWrite, reserved Ignore,
        source "APM vol. 2, IBS Branch Target Address Register" {
        bits address(0, 64) = "IbsBrTarget", "Linear address of the target";
    }
    /// More about the sampled fetch.
    IbsFetchCtlExt = "IBS_FETCH_CTL_EXT" @ 0xC001_103C, once x 1, if Ibs, ReadOnly, reserved Ignore,
        source "Linux asm/amd-ibs.h (IC_IBS_EXTD_CTL)" {
        bits refill_latency(0, 16) = "IbsItlbRefillLat", "Cycles for which the instruction TLB was filled; 0: unknown";
    }
}
