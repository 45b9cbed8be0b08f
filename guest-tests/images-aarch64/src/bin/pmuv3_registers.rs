//! Every register of PMUv3 and every field of it, as EL1 sees them (Arm ARM, D24.5).
#![no_std]
#![no_main]

use guest_images_aarch64::{
    checks,
    pmu::{
        COUNTER_MAX, CYCLES, ID_AA64DFR0, PMCCFILTR, PMCCNTR, PMCEID0, PMCEID1, PMCNTENCLR, PMCNTENSET, PMCR,
        PMEVCNTR0, PMEVTYPER0, PMINTENCLR, PMINTENSET, PMMIR, PMOVSCLR, PMOVSSET, PMSELR, PMSWINC, PMUSERENR,
        PMXEVCNTR, PMXEVTYPER, announces, counter, event, event_type, has_aarch32, implemented, pmcr, read,
        write,
    },
    table::Register,
};
use guest_runtime::{check, check_eq, counters, guest_test, is_falkor, power_on_value, registers, skip};

guest_runtime::image!();

/// ID_AA64DFR0_EL1.PMUVer
fn version() -> u64 {
    read(ID_AA64DFR0) >> 8 & 0xF
}

/// Bits of the event number: 10, and 16 from version 4 (Armv8.1) on.
fn event_bits() -> u32 {
    if version() >= 4 { 16 } else { 10 }
}

/// Writes all ones to one register of a pair; only the counters that there are take them.
#[track_caller]
fn only_implemented(set: u32, clear: u32) {
    write(set, u64::MAX);
    check_eq!(read(set), implemented(), "after setting all");
    check_eq!(read(clear), implemented(), "the other register");
    write(clear, u64::MAX);
    check_eq!((read(set), read(clear)), (0, 0), "after clearing all");
}

checks! {
    "PMCR_EL0" - @ PMCR {
        "E_is_0_at_power_on" => |r| check_eq!(power_on_value(r.register).map(|pmcr| pmcr & pmcr::E), Some(0));
        "E_is_kept" => |r| r.keeps(0..=0);
        "D_is_kept" => |r| r.keeps(3..=3);
        "X_is_kept" => |r| r.keeps(4..=4);
        "DP_is_kept" => |r| r.keeps(5..=5);
        "LC_is_kept_or_1_without_AArch32" => |r| if has_aarch32() {
            r.keeps(6..=6);
        } else {
            r.write(0);
            check_eq!(r.read() & pmcr::LC, pmcr::LC);
        };
        "P_reads_as_0" => |r| r.reads_zero(1..=1);
        "C_reads_as_0" => |r| r.reads_zero(2..=2);
        "LP_is_reserved" => |r| r.when(version() < 6, "64-bit counters (PMUv3p5)").reads_zero(7..=7);
        "bits_10_8_are_reserved" => |r| r.when(version() < 7, "PMUv3p7").reads_zero(8..=10);
        "N_is_constant" => |r| r.is_constant(11..=15);
        "IDCODE_is_constant" => |r| r.is_constant(16..=23);
        "IMP_is_constant" => |r| r.is_constant(24..=31);
        "bits_63_32_are_reserved" => |r| r.when(version() < 9, "PMUv3p9").reads_zero(32..=63);
        "N_is_at_least_2" => |r| check!((2..=31).contains(&(r.read() >> 11 & 0x1F)), "N is {}", counters());
        "IMP_is_Qualcomm" => |r| {
            r.when(is_falkor(), "not a Falkor");
            check_eq!(r.read() >> 24 & 0xFF, 0x51);
        };
    }
    "PMCNTENSET_EL0.bit_" [0 1 2 3 4 5 6 7 31] @ PMCNTENSET {
        "is_set_and_cleared" => |r| pair(r, PMCNTENCLR);
    }
    "PMOVSSET_EL0.bit_" [0 1 2 3 4 5 6 7 31] @ PMOVSSET {
        "is_set_and_cleared" => |r| pair(r, PMOVSCLR);
    }
    "PMINTENSET_EL1.bit_" [0 1 2 3 4 5 6 7 31] @ PMINTENSET {
        "is_set_and_cleared" => |r| pair(r, PMINTENCLR);
    }
    "PMCNTENSET_EL0" - @ PMCNTENSET {
        "has_the_counters_that_there_are" => |r| only_implemented(r.register, PMCNTENCLR);
    }
    "PMOVSSET_EL0" - @ PMOVSSET {
        "has_the_counters_that_there_are" => |r| only_implemented(r.register, PMOVSCLR);
    }
    "PMINTENSET_EL1" - @ PMINTENSET {
        "has_the_counters_that_there_are" => |r| only_implemented(r.register, PMINTENCLR);
    }
    "PMSELR_EL0" - @ PMSELR {
        "SEL_is_kept" => |r| (0..counters()).chain([CYCLES]).for_each(|sel| {
            r.write(sel.into());
            check_eq!(r.read(), sel.into());
        });
        "bits_63_5_are_reserved" => |r| r.reads_zero(5..=63);
    }
    "PMSWINC_EL0" - @ PMSWINC {
        "is_write_only" => |r| r.is_write_only();
    }
    "PMCEID" [0 1] @ PMCEID0 {
        "is_read_only" => |r| r.is_read_only();
        "bits_63_32_are_reserved" => |r| {
            r.when(version() < 4, "extended common events");
            check_eq!(r.read() >> 32, 0);
        };
    }
    "PMCCNTR_EL0" - @ PMCCNTR {
        "has_64_bits" => |r| r.keeps(0..=63);
    }
    "PMCCFILTR_EL0" - @ PMCCFILTR {
        "P_and_U_are_kept" => |r| r.keeps(30..=31);
        "NSK_and_NSU_are_kept" => |r| r.keeps(28..=29);
        "bits_25_0_are_reserved" => |r| r.reads_zero(0..=25);
        "bits_63_32_are_reserved" => |r| r.when(version() < 8, "PMUv3p8").reads_zero(32..=63);
    }
    "PMUSERENR_EL0" - @ PMUSERENR {
        "EN_is_kept" => |r| r.keeps(0..=0);
        "SW_is_kept" => |r| r.keeps(1..=1);
        "CR_is_kept" => |r| r.keeps(2..=2);
        "ER_is_kept" => |r| r.keeps(3..=3);
        "bits_63_4_are_reserved" => |r| r.when(version() < 9, "PMUv3p9").reads_zero(4..=63);
    }
    "PMMIR_EL1" - @ PMMIR {
        "is_absent_before_Armv8.4" => |r| r.when(version() < 5, "Armv8.4").is_absent();
    }
    "PMEVCNTR" [0 1 2 3 4 5 6 7] @ PMEVCNTR0 {
        "has_32_bits" => |r| r.of_counter().keeps(0..=31);
        "bits_63_32_are_reserved" => |r| r.of_counter().when(version() < 6, "64-bit counters").reads_zero(32..=63);
        "is_PMXEVCNTR_by_PMSELR" => |r| is_selected(r, PMXEVCNTR, 0xDEAD_BEEF);
    }
    "PMEVTYPER" [0 1 2 3 4 5 6 7] @ PMEVTYPER0 {
        "evtCount_is_kept" => |r| r.of_counter().keeps(0..=event_bits() - 1);
        "P_and_U_are_kept" => |r| r.of_counter().keeps(30..=31);
        "NSK_and_NSU_are_kept" => |r| r.of_counter().keeps(28..=29);
        "reserved_bits_read_as_0" => |r| r.of_counter().reads_zero(event_bits()..=24);
        "bits_63_32_are_reserved" => |r| r.of_counter().when(version() < 8, "PMUv3p8").reads_zero(32..=63);
        "is_PMXEVTYPER_by_PMSELR" => |r| is_selected(r, PMXEVTYPER, 0x8000_00EA);
    }
    "PMEVCNTR" [8 16 24 30] @ PMEVCNTR0 {
        "is_absent_or_reads_0" => |r| beyond_the_last(r);
    }
    "PMEVTYPER" [8 16 24 30] @ PMEVTYPER0 {
        "is_absent_or_reads_0" => |r| beyond_the_last(r);
    }
}

#[track_caller]
fn pair(r: &Register, clear: u32) {
    if r.n != CYCLES {
        r.of_counter();
    }
    r.sets_what_clears(clear);
}

/// Register `n` written directly is what the selected one reads, and the other way round; its neighbours do not change.
#[track_caller]
fn is_selected(r: &Register, selected: u32, value: u64) {
    r.of_counter();
    let neighbour = r.register ^ 1 << 5;
    let has_neighbour = (r.n ^ 1) < counters();
    if has_neighbour {
        write(neighbour, 0x12);
    }
    r.write(value);
    write(PMSELR, r.n.into());
    check_eq!(read(selected), value, "written directly, read by PMSELR");
    write(selected, 0x34);
    check_eq!(r.read(), 0x34, "written by PMSELR, read directly");
    write(PMSELR, u64::from(r.n ^ 1));
    check_eq!(r.read(), 0x34, "after PMSELR has changed");
    if has_neighbour {
        check_eq!(read(neighbour), 0x12, "the neighbour");
        check_eq!(read(selected), 0x12, "the neighbour by PMSELR");
    }
}

/// A counter that is not there: UNDEFINED, or reads as zero and ignores writes (CONSTRAINED UNPREDICTABLE).
#[track_caller]
fn beyond_the_last(r: &Register) {
    r.when(r.n >= counters(), "the counter is there");
    if registers::read(r.register).is_err() {
        return r.is_absent();
    }
    r.write(0x55);
    check_eq!(r.read(), 0);
}

/// PMXEVTYPER is PMCCFILTR while PMSELR selects the cycle counter.
#[guest_test(needs(pmu))]
fn the_cycle_counters_filter_can_be_selected() {
    write(PMSELR, CYCLES.into());
    write(PMXEVTYPER, 3 << 30);
    check_eq!(read(PMCCFILTR), 3 << 30);
    write(PMCCFILTR, 1 << 30);
    check_eq!(read(PMXEVTYPER), 1 << 30);
    write(PMSELR, 0);
    check_eq!(read(PMXEVTYPER), read(event_type(0)));
}

/// No selection, even of a counter that is not there, makes an access hang or leak into another counter.
#[guest_test(needs(pmu))]
fn every_selection_is_harmless() {
    let all = 0..counters();
    all.clone().for_each(|n| write(counter(n), u64::from(n) + 100));
    for sel in counters()..CYCLES {
        write(PMSELR, sel.into());
        if registers::write(PMXEVCNTR, 7).is_ok() {
            check_eq!(registers::read(PMXEVCNTR), Ok(0), "counter {sel}");
        }
        if registers::write(PMXEVTYPER, 7).is_ok() {
            check_eq!(registers::read(PMXEVTYPER), Ok(0), "type {sel}");
        }
    }
    all.for_each(|n| check_eq!(read(counter(n)), u64::from(n) + 100, "counter {n}"));
}

/// PMCEID announces what every PMUv3 has: SW_INCR, CPU_CYCLES, and INST_RETIRED or INST_SPEC.
#[guest_test(needs(pmu))]
fn required_events_are_announced() {
    check!(announces(event::SW_INCR), "SW_INCR");
    check!(announces(event::CPU_CYCLES), "CPU_CYCLES");
    check!(announces(event::INST_RETIRED) || announces(0x1B), "INST_RETIRED or INST_SPEC");
    if version() >= 4 {
        check!(announces(0x23) && announces(0x24), "STALL_FRONTEND and STALL_BACKEND");
    }
}

/// Events of later versions are not announced by a PMU of version 1: 36H and above.
#[guest_test(needs(pmu))]
fn later_events_are_not_announced() {
    if version() != 1 {
        skip!("PMUVer is {}", version());
    }
    check_eq!(read(PMCEID1) >> 0x16, 0);
}

/// Writing P zeroes the event counters and neither the cycle counter nor flags.
#[guest_test(needs(pmu))]
fn pmcr_p_zeroes_event_counters() {
    (0..counters()).for_each(|n| write(counter(n), 0xDEAD_BEEF));
    write(PMCCNTR, 77);
    write(PMOVSSET, implemented());
    write(PMCR, pmcr::P);
    (0..counters()).for_each(|n| check_eq!(read(counter(n)), 0, "counter {n}"));
    check_eq!((read(PMCCNTR), read(PMOVSSET)), (77, implemented()));
}

/// Writing C zeroes the cycle counter alone.
#[guest_test(needs(pmu))]
fn pmcr_c_zeroes_the_cycle_counter() {
    (0..counters()).for_each(|n| write(counter(n), COUNTER_MAX));
    write(PMCCNTR, u64::MAX);
    write(PMOVSSET, implemented());
    write(PMCR, pmcr::C);
    check_eq!((read(PMCCNTR), read(PMOVSSET)), (0, implemented()));
    (0..counters()).for_each(|n| check_eq!(read(counter(n)), COUNTER_MAX, "counter {n}"));
}

/// What Linux writes at start: P, C and LC, of which LC alone stays.
#[guest_test(needs(pmu))]
fn pmcr_as_linux_resets_it() {
    let constant = read(PMCR) & 0xFFFF_F800;
    write(PMCR, pmcr::P | pmcr::C | pmcr::LC);
    check_eq!(read(PMCR), constant | pmcr::LC);
}

/// Enables, flags and PMUSERENR that resets define are zero at power-on or unknown, but no counter runs.
#[guest_test(needs(pmu))]
fn nothing_counts_at_power_on() {
    check_eq!(power_on_value(PMCR).map(|value| value & pmcr::E), Some(0));
    check_eq!(power_on_value(PMCNTENCLR).map(|value| value & !implemented()), Some(0), "counters not there");
    check_eq!(power_on_value(PMUSERENR).map(|value| value & !0xF), Some(0), "PMUSERENR");
}
