//! The registers of Falkor's matrix: every bit, the bank of PMXEVCNTCR, what resets leave, and EL0's access.
#![no_std]
#![no_main]

use guest_images_aarch64::{
    checks,
    falkor::{EN, MATRIX_REGISTERS, MatrixRegister as Register, PMACTLR, PMRESR0, PMXEVCNTCR, resr},
    pmu::{PMCEID0, PMCEID1, PMCR, PMEVCNTR0, PMEVTYPER0, PMSELR, PMUSERENR, counter, pmcr, read, write},
};
use guest_runtime::{
    Exception, at_el0, check, check_eq, counters, guest_test, is_falkor, power_on_value,
    registers::{self, packed},
    skip,
};

guest_runtime::image!();

/// Bits of each group's code.
const GROUP_BITS: [core::ops::RangeInclusive<u32>; 8] =
    [0..=7, 8..=15, 16..=23, 24..=31, 32..=39, 40..=47, 48..=55, 56..=62];

/// PMRESR1 and PMRESR2 are two encodings apart.
fn region(r: &Register) -> Register {
    Register { register: resr(r.n), n: r.n }
}

checks! {
    "PMRESR" [0 1 2] @ PMRESR0 {
        "EN_is_0_at_power_on" => |r| {
            let at_power_on = power_on_value(region(r).register);
            check_eq!(at_power_on.map(|value| value & EN), Some(0));
        };
        "EN_is_kept" => |r| region(r).keeps(63..=63);
        "group_0_is_kept" => |r| region(r).keeps(GROUP_BITS[0].clone());
        "group_1_is_kept" => |r| region(r).keeps(GROUP_BITS[1].clone());
        "group_2_is_kept" => |r| region(r).keeps(GROUP_BITS[2].clone());
        "group_3_is_kept" => |r| region(r).keeps(GROUP_BITS[3].clone());
        "group_4_is_kept" => |r| region(r).keeps(GROUP_BITS[4].clone());
        "group_5_is_kept" => |r| region(r).keeps(GROUP_BITS[5].clone());
        "group_6_is_kept" => |r| region(r).keeps(GROUP_BITS[6].clone());
        "group_7_is_kept" => |r| region(r).keeps(GROUP_BITS[7].clone());
        "is_apart_from_the_others" => |r| {
            (0..3).for_each(|other| write(resr(other), 0x1111 * u64::from(other + 1)));
            region(r).write(u64::MAX);
            let expected = |other| if other == r.n { u64::MAX } else { 0x1111 * u64::from(other + 1) };
            (0..3).for_each(|other| check_eq!(read(resr(other)), expected(other), "PMRESR{other}"));
        };
        "survives_PMCR_P_and_C" => |r| {
            region(r).write(0x8123_4567_89AB_CDEF);
            write(PMCR, pmcr::P | pmcr::C);
            check_eq!(region(r).read(), 0x8123_4567_89AB_CDEF);
        };
        "is_undefined_at_EL0" => |r| denied(region(r).register);
        "is_open_to_EL0_by_PMACTLR" => |r| open(region(r).register);
    }
    "PMXEVCNTCR.counter_" [0 1 2 3 4 5 6 7 31] @ PMXEVCNTCR {
        "is_kept" => |r| {
            selectable(r);
            r.alone().keeps(0..=63);
        };
        "is_one_of_a_bank" => |r| {
            selectable(r);
            let all = || (0..counters()).chain([31]);
            for n in all() {
                write(PMSELR, n.into());
                write(PMXEVCNTCR, u64::from(n) + 0x40);
            }
            write(PMSELR, r.n.into());
            write(PMXEVCNTCR, 0x9999);
            for n in all() {
                write(PMSELR, n.into());
                check_eq!(read(PMXEVCNTCR), if n == r.n { 0x9999 } else { u64::from(n) + 0x40 }, "counter {n}");
            }
        };
    }
    "PMXEVCNTCR" - @ PMXEVCNTCR {
        "reads_0_beyond_the_last_counter" => |r| for sel in counters()..31 {
            write(PMSELR, sel.into());
            r.write(u64::MAX);
            check_eq!(r.read(), 0, "PMSELR {sel}");
        };
        "survives_PMCR_P_and_C" => |r| {
            r.write(0x77);
            write(PMCR, pmcr::P | pmcr::C);
            check_eq!(r.read(), 0x77);
        };
        "is_undefined_at_EL0" => |r| denied(r.register);
        "is_open_to_EL0_by_PMACTLR" => |r| open(r.register);
    }
    "PMACTLR_EL0" - @ PMACTLR {
        "bit_0_is_kept" => |r| r.keeps(0..=0);
        "is_undefined_at_EL0" => |r| {
            write(PMUSERENR, 0xF);
            let found = at_el0(|| (registers::read(r.register), registers::write(r.register, 1)));
            check_eq!(found, (Err(Exception::UNDEFINED), Err(Exception::UNDEFINED)));
        };
    }
    "PMEVTYPER" [0 1 2 3 4 5 6 7] @ PMEVTYPER0 {
        "keeps_every_matrix_selector" => |r| for selector in 0xD8..=0xEF {
            r.of_counter().write(selector);
            check_eq!(r.read(), selector);
        };
    }
}

/// Selects the counter of the row, which may be the cycle counter.
fn selectable(r: &Register) {
    if r.n != 31 {
        r.of_counter();
    }
    write(PMSELR, r.n.into());
}

/// EL0 finds nothing, whatever PMUSERENR says: another register opens the matrix.
#[track_caller]
fn denied(register: u32) {
    write(PMACTLR, 0);
    write(register, 0x55);
    for enables in [0, 0xF] {
        write(PMUSERENR, enables);
        let found = at_el0(|| (registers::read(register), registers::write(register, 1)));
        check_eq!(found, (Err(Exception::UNDEFINED), Err(Exception::UNDEFINED)), "PMUSERENR {enables:#x}");
    }
    check_eq!(read(register), 0x55, "afterwards");
}

#[track_caller]
fn open(register: u32) {
    write(PMACTLR, 1);
    write(PMUSERENR, 0);
    let found = at_el0(|| {
        registers::write(register, 0x66)?;
        registers::read(register)
    });
    check_eq!((found, read(register)), (Ok(0x66), 0x66));
}

/// Reset leaves codes that mean nothing, so software clears all three registers before it uses one. What it clears is
/// cleared.
#[guest_test(needs(falkor))]
fn what_reset_left_can_be_cleared() {
    for region in 0..3 {
        let at_power_on = power_on_value(resr(region)).unwrap_or(0);
        check_eq!(at_power_on & EN, 0, "PMRESR{region}.EN at power-on");
        write(resr(region), at_power_on);
        check_eq!(read(resr(region)), at_power_on);
        write(resr(region), 0);
        check_eq!(read(resr(region)), 0);
    }
}

/// Resets as the driver does, over all counters and the cycle counter: no selection of it faults.
#[guest_test(needs(falkor))]
fn the_drivers_reset_loop_faults_nowhere() {
    MATRIX_REGISTERS[..3].iter().for_each(|register| write(*register, 0));
    // It goes one too far, which an emulator must not punish.
    for n in 0..=counters() + 1 {
        write(PMSELR, n.into());
        write(PMXEVCNTCR, 0);
    }
    check_eq!(read(PMRESR0), 0);
}

/// PMCEID announces common events only; its bits for D8H and on do not exist.
#[guest_test(needs(falkor))]
fn pmceid_does_not_announce_the_matrix() {
    check_eq!((read(PMCEID0) >> 32, read(PMCEID1) >> 32), (0, 0));
}

/// The space around the matrix has no other registers: op1 = 5, CRn = 11.
#[guest_test(needs(falkor, vpmu))]
fn the_space_around_is_undefined() {
    for (crm, op2) in (0..16).flat_map(|crm| (0..8).map(move |op2| (crm, op2))) {
        let register = packed(3, 5, 11, crm, op2);
        let known = MATRIX_REGISTERS.contains(&register) || register == PMACTLR;
        check_eq!(registers::read(register).is_ok(), known, "S3_5_C11_C{crm}_{op2}");
    }
}

/// A matrix selector reads back through PMSELR too, and does not touch the counter.
#[guest_test(needs(falkor))]
fn selectors_leave_counts_alone() {
    write(PMEVCNTR0, 0x1234_5678);
    write(PMEVTYPER0, 0xEA);
    check_eq!((read(counter(0)), read(PMEVTYPER0)), (0x1234_5678, 0xEA));
}

/// A CPU that is no Falkor has none of it.
#[guest_test(needs(pmu))]
fn other_cpus_have_no_matrix() {
    if is_falkor() {
        skip!("a Falkor");
    }
    for register in MATRIX_REGISTERS {
        check_eq!(registers::read(register), Err(Exception::UNDEFINED), "{register:#x}");
        check!(at_el0(|| registers::read(register)).is_err());
    }
}
