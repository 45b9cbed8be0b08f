//! AMD's core performance counter registers, Family 17h to 1Ah.
//!
//! Facts: AMD64 Architecture Programmer's Manual volume 2 (24593), chapter 13 and appendix A,
//! cross-checked with Linux `arch/x86/events/amd/`, `asm/msr-index.h`, and for ignored writes with Linux
//! `arch/x86/kvm/svm/pmu.c`. Reserved bits read as zero and are dropped on a write, unless said otherwise.
//!
//! Not offered: counters of the L3 cache, the data fabric and the memory controllers, IBS, branch
//! sampling (BRS), and instructions-retired (IRPERF).

use super::macros::{field_accessor, field_decl, registers};
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
}
