//! Programming counters. Every function fails the test if an access faults that must not.

use guest_runtime::{Exception, PerfMon, check, check_eq, cpuid, rdmsr, wrmsr};

use crate::msr::{
    FIXED_CTR_CTRL, FIXED_CTR0, GLOBAL_CTRL, GLOBAL_STATUS, PERF_METRICS, PERFEVTSEL0, PMC0, SLOTS,
    fixed_ctrl, global, select,
};

/// RDMSR.
#[track_caller]
pub fn read(msr: u32) -> u64 {
    let result = rdmsr(msr);
    check!(result.is_ok(), "RDMSR {msr:#x} raised {result:?}");
    result.unwrap_or(0)
}

/// WRMSR.
#[track_caller]
pub fn write(msr: u32, value: u64) {
    let result = wrmsr(msr, value);
    check!(result.is_ok(), "WRMSR {msr:#x} = {value:#x} raised {result:?}");
}

/// Fails the test unless WRMSR raises #GP(0) and changes nothing.
#[track_caller]
pub fn refuses(msr: u32, value: u64) {
    let before = rdmsr(msr);
    check_eq!(wrmsr(msr, value), Err(Exception::GP0), "WRMSR {msr:#x} = {value:#x}");
    check_eq!(rdmsr(msr), before, "{msr:#x} after a refused write of {value:#x}");
}

/// Fails the test unless both RDMSR and WRMSR raise #GP(0): there is no such register.
#[track_caller]
pub fn is_absent(msr: u32) {
    check_eq!(rdmsr(msr), Err(Exception::GP0), "RDMSR {msr:#x}");
    check_eq!(wrmsr(msr, 0), Err(Exception::GP0), "WRMSR {msr:#x} = 0");
}

/// Fails the test unless `value` is stored as it is.
#[track_caller]
pub fn keeps(msr: u32, value: u64) {
    write(msr, value);
    check_eq!(read(msr), value, "{msr:#x} after WRMSR of {value:#x}");
}

/// Has general-purpose counter `n` count `event` from 0 with these bits of [`select`].
#[track_caller]
pub fn program(n: u32, event: u64, bits: u64) {
    write(PERFEVTSEL0 + n, event | bits);
    write(PMC0 + n, 0);
}

/// [`program`] in both rings.
#[track_caller]
pub fn count(n: u32, event: u64) {
    program(n, event, select::ALWAYS);
}

/// Has the fixed counters count in both rings from 0, as far as `counters` (bit n: counter n) says.
#[track_caller]
pub fn count_fixed(counters: u32) {
    let chosen = (0..32).filter(|n| counters & 1 << n != 0);
    let mut control = 0;
    for n in chosen {
        control |= fixed_ctrl::of(n, fixed_ctrl::OS | fixed_ctrl::USR);
        write(FIXED_CTR0 + n, 0);
    }
    write(FIXED_CTR_CTRL, control);
}

/// Slots and metrics count in both rings, from zero. The order is the SDM's: FIXED_CTR3 first.
#[track_caller]
pub fn count_metrics() {
    write(FIXED_CTR_CTRL, fixed_ctrl::of(3, fixed_ctrl::OS | fixed_ctrl::USR));
    clear_metrics();
}

/// Both registers of the pair to zero.
#[track_caller]
pub fn clear_metrics() {
    write(SLOTS, 0);
    write(PERF_METRICS, 0);
}

/// General-purpose counter `n` overflows after `occurrences`, at most 2^31: the legacy write
/// sign-extends.
#[track_caller]
pub fn preset(n: u32, occurrences: u32) {
    write(PMC0 + n, u64::from(occurrences.wrapping_neg()));
}

/// Fixed counter `n` overflows after `occurrences`.
#[track_caller]
pub fn preset_fixed(n: u32, occurrences: u64) {
    write(FIXED_CTR0 + n, crate::msr::COUNTER_MAX - (occurrences - 1));
}

/// General-purpose counter `n`.
#[track_caller]
pub fn gp(n: u32) -> u64 {
    read(PMC0 + n)
}

/// Fixed counter `n`.
#[track_caller]
pub fn fixed(n: u32) -> u64 {
    read(FIXED_CTR0 + n)
}

/// GLOBAL_STATUS.
#[track_caller]
pub fn status() -> u64 {
    read(GLOBAL_STATUS)
}

/// GLOBAL_CTRL is `counters` while `body` runs, and 0 afterwards.
#[track_caller]
pub fn window(counters: u64, body: impl FnOnce()) {
    write(GLOBAL_CTRL, counters);
    body();
    write(GLOBAL_CTRL, 0);
}

/// Number of general-purpose counters.
#[must_use]
pub fn gp_counters() -> u32 {
    PerfMon::discover().general
}

/// The fixed counters that exist, by number.
pub fn fixed_counters() -> impl Iterator<Item = u32> {
    let bitmap = PerfMon::discover().fixed;
    (0..32).filter(move |n| bitmap & 1 << n != 0)
}

/// Every general-purpose counter's bit in GLOBAL_CTRL.
#[must_use]
pub fn all_gp() -> u64 {
    (1 << gp_counters()) - 1
}

/// Every fixed counter's bit in GLOBAL_CTRL.
#[must_use]
pub fn all_fixed() -> u64 {
    fixed_counters().map(global::fixed).sum()
}

/// The bits of GLOBAL_CTRL that software may set.
#[must_use]
pub fn global_ctrl_bits() -> u64 {
    let metrics = PerfMon::discover().capabilities & 1 << 15 != 0;
    all_gp() | all_fixed() | if metrics { global::METRICS } else { 0 }
}

/// True if CPUID offers the debug store (CPUID.01H:EDX bit 21), and with it BTS or PEBS.
#[must_use]
pub fn has_debug_store() -> bool {
    cpuid(1, 0).edx & 1 << 21 != 0
}

/// True if CPUID offers architectural LBR (CPUID.07H:EDX bit 19).
#[must_use]
pub fn has_arch_lbr() -> bool {
    cpuid(7, 0).edx & 1 << 19 != 0
}

/// True if CPUID leaf 23H has this subleaf (CPUID.23H.0:EAX).
#[must_use]
pub fn perfmon_ext(subleaf: u32) -> bool {
    has_perfmon_ext() && cpuid(0x23, 0).eax >> subleaf & 1 != 0
}

/// What CPUID.23H.0:EBX offers in event selects, one bit each: 16-bit unit masks, EQ, the user's disable of RDPMC.
#[must_use]
pub fn select_extensions() -> u32 {
    if has_perfmon_ext() { cpuid(0x23, 0).ebx & 0b111 } else { 0 }
}

/// True if CPUID offers leaf 23H (CPUID.07H.1:EAX bit 8).
#[must_use]
pub fn has_perfmon_ext() -> bool {
    cpuid(7, 0).eax >= 1 && cpuid(7, 1).eax & 1 << 8 != 0
}
