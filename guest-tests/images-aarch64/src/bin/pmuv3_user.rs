//! What EL0 may access: nothing without PMUSERENR_EL0, and with each of its bits what the Arm ARM gives it (D24.5,
//! "PMUSERENR_EL0" and the accessibility of each register). What it may not traps to EL1 with the register's name.
#![no_std]
#![no_main]

use guest_images_aarch64::{
    checks,
    pmu::{
        PMCCFILTR, PMCCNTR, PMCEID0, PMCNTENCLR, PMCNTENSET, PMCR, PMEVCNTR0, PMEVTYPER0, PMINTENCLR,
        PMINTENSET, PMOVSCLR, PMOVSSET, PMSELR, PMSWINC, PMUSERENR, PMXEVCNTR, PMXEVTYPER, counter,
        event_type, read, write,
    },
    table::Register,
};
use guest_runtime::{Exception, at_el0, check, check_eq, counters, guest_test, registers};

guest_runtime::image!();

/// Bits of PMUSERENR_EL0.
const EN: u64 = 1;
const SW: u64 = 2;
const CR: u64 = 4;
const ER: u64 = 8;

/// What opens an access to EL0.
#[derive(Debug, Clone, Copy)]
enum Open {
    /// Any of these bits of PMUSERENR.
    To(u64),
    /// There is no such instruction at EL0: UNDEFINED.
    Never,
    /// Always allowed.
    Always,
}

use Open::{Always, Never, To};

/// What an access at EL0 has to come to, with this PMUSERENR.
fn expected(open: Open, enables: u64, register: u32, is_read: bool) -> Result<(), Exception> {
    match open {
        Always => Ok(()),
        To(bits) if bits & enables != 0 => Ok(()),
        To(_) => Err(Exception::trapped(register, is_read)),
        Never => Err(Exception::UNDEFINED),
    }
}

/// Reads and writes the register at EL0 with this PMUSERENR.
#[track_caller]
fn user(r: &Register, enables: u64, reads: Open, writes: Open) {
    write(PMUSERENR, enables);
    let (found, written) =
        at_el0(|| (registers::read(r.register).map(|_| ()), registers::write(r.register, 0)));
    check_eq!(found, expected(reads, enables, r.register, true), "MRS at EL0");
    check_eq!(written, expected(writes, enables, r.register, false), "MSR at EL0");
}

/// One test for each bit, one for none and one for all, of registers which EL0 reads and writes under these conditions.
macro_rules! user_checks {
    ($($name:literal $instances:tt @ $register:ident read $read:expr, write $write:expr;)*) => {
        checks! { $($name $instances @ $register {
            "at_EL0_without_PMUSERENR" => |r| user(r, 0, $read, $write);
            "at_EL0_with_EN" => |r| user(r, EN, $read, $write);
            "at_EL0_with_SW" => |r| user(r, SW, $read, $write);
            "at_EL0_with_CR" => |r| user(r, CR, $read, $write);
            "at_EL0_with_ER" => |r| user(r, ER, $read, $write);
            "at_EL0_with_all" => |r| user(r, EN | SW | CR | ER, $read, $write);
        })* }
    };
}

user_checks! {
    "PMCR_EL0" - @ PMCR read To(EN), write To(EN);
    "PMCNTENSET_EL0" - @ PMCNTENSET read To(EN), write To(EN);
    "PMCNTENCLR_EL0" - @ PMCNTENCLR read To(EN), write To(EN);
    "PMOVSSET_EL0" - @ PMOVSSET read To(EN), write To(EN);
    "PMOVSCLR_EL0" - @ PMOVSCLR read To(EN), write To(EN);
    "PMSWINC_EL0" - @ PMSWINC read Never, write To(EN | SW);
    "PMSELR_EL0" - @ PMSELR read To(EN | ER), write To(EN | ER);
    "PMCEID" [0 1] @ PMCEID0 read To(EN), write Never;
    "PMCCNTR_EL0" - @ PMCCNTR read To(EN | CR), write To(EN);
    "PMXEVTYPER_EL0" - @ PMXEVTYPER read To(EN), write To(EN);
    "PMXEVCNTR_EL0" - @ PMXEVCNTR read To(EN | ER), write To(EN);
    "PMEVCNTR" [0 1] @ PMEVCNTR0 read To(EN | ER), write To(EN);
    "PMEVTYPER" [0 1] @ PMEVTYPER0 read To(EN), write To(EN);
    "PMCCFILTR_EL0" - @ PMCCFILTR read To(EN), write To(EN);
    "PMUSERENR_EL0" - @ PMUSERENR read Always, write Never;
    "PMINTENSET_EL1" - @ PMINTENSET read Never, write Never;
    "PMINTENCLR_EL1" - @ PMINTENCLR read Never, write Never;
}

/// EL0 sees the values of EL1, and its writes reach the registers.
#[guest_test(needs(pmu))]
fn el0_and_el1_share_registers() {
    write(PMUSERENR, EN);
    write(PMEVCNTR0, 0x1234);
    check_eq!(at_el0(|| registers::read(PMEVCNTR0)), Ok(0x1234));
    check_eq!(at_el0(|| registers::write(PMEVTYPER0, 0x11)), Ok(()));
    check_eq!(read(PMEVTYPER0), 0x11);
    check_eq!(at_el0(|| registers::read(PMUSERENR)), Ok(EN));
}

/// What traps changes nothing.
#[guest_test(needs(pmu))]
fn a_trapped_write_changes_nothing() {
    write(event_type(0), 0x11);
    write(counter(0), 77);
    write(PMCNTENSET, 1);
    for register in [event_type(0), counter(0), PMCNTENCLR] {
        check!(at_el0(|| registers::write(register, 1)).is_err());
    }
    check_eq!((read(event_type(0)), read(counter(0)), read(PMCNTENSET)), (0x11, 77, 1));
}

/// Every counter and type is open to EL0 with EN, none without.
#[guest_test(needs(pmu))]
fn all_counters_alike() {
    for register in (0..counters()).flat_map(|n| [counter(n), event_type(n)]) {
        write(PMUSERENR, 0);
        let denied = Exception::trapped(register, true);
        check_eq!(at_el0(|| registers::read(register)), Err(denied), "{register:#x} without EN");
        write(PMUSERENR, EN);
        check!(at_el0(|| registers::read(register)).is_ok(), "{register:#x} with EN");
    }
}

/// With ER alone EL0 selects a counter and reads it, as perf's user-space access does.
#[guest_test(needs(pmu))]
fn er_selects_and_reads() {
    (0..counters()).for_each(|n| write(counter(n), u64::from(n) + 40));
    write(PMUSERENR, ER);
    for n in 0..counters() {
        let found = at_el0(|| {
            registers::write(PMSELR, n.into())?;
            registers::read(PMXEVCNTR)
        });
        check_eq!(found, Ok(u64::from(n) + 40), "counter {n}");
    }
}
