//! What faulting and not faulting writes leave behind, beside what `reserved` and `writable` say of single bits.
#![no_std]
#![no_main]

use guest_images::{
    msr::{
        DEBUGCTL, FIXED_CTR_CTRL, FIXED_CTR0, GLOBAL_CTRL, GLOBAL_STATUS, MISC_ENABLE, PERFEVTSEL0, PMC0,
        STATUS_RESET, STATUS_SET,
    },
    pmu::{fixed_counters, gp_counters, keeps, read, status, write},
};
use guest_runtime::{Exception, check_eq, guest_test, rdmsr, wrmsr};

guest_runtime::image!();

/// A refused STATUS_RESET clears nothing, also not its legal bits.
#[guest_test(needs(streamlined_freeze))]
fn refused_status_reset_clears_nothing() {
    write(STATUS_SET, 0b11);
    check_eq!(wrmsr(STATUS_RESET, 0b11 | 1 << 57), Err(Exception::GP0));
    check_eq!(status(), 0b11);
}

/// MISC_ENABLE stores what kvm-unit-tests writes to it.
#[guest_test(needs(vpmu, pmu))]
fn misc_enable_stores_the_other_bits() {
    let original = read(MISC_ENABLE);
    keeps(MISC_ENABLE, 0x4_00C5_0809 | original & (1 << 7 | 1 << 11 | 1 << 12));
    keeps(MISC_ENABLE, original);
}

/// What kvm-unit-tests does first: zero into every select, counter and control never faults.
#[guest_test(needs(pmu))]
fn zeros_never_fault() {
    for n in 0..gp_counters() {
        write(PERFEVTSEL0 + n, 0);
        write(PMC0 + n, 0);
    }
    fixed_counters().for_each(|n| write(FIXED_CTR0 + n, 0));
    for msr in [FIXED_CTR_CTRL, GLOBAL_CTRL, STATUS_RESET, DEBUGCTL] {
        write(msr, 0);
    }
}

/// Reading any register of the PMU changes nothing that reading it again shows.
#[guest_test(needs(pmu))]
fn reads_have_no_side_effects() {
    write(PERFEVTSEL0, 0x41_00C0);
    write(PMC0, 0x1234);
    write(FIXED_CTR_CTRL, 0xB);
    write(FIXED_CTR0, 0x5678);
    let registers = [
        PMC0,
        PERFEVTSEL0,
        MISC_ENABLE,
        DEBUGCTL,
        FIXED_CTR0,
        FIXED_CTR_CTRL,
        GLOBAL_STATUS,
        GLOBAL_CTRL,
        STATUS_RESET,
    ];
    let first = registers.map(rdmsr);
    check_eq!(registers.map(rdmsr), first);
    check_eq!(registers.map(rdmsr), first);
}
