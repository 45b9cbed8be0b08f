//! PMUv3. Falkor's matrix is in `matrix_tests.rs`.

use super::test_guest::{Guest, register};
use crate::event::Event;
use crate::profile::{Architecture, BeyondLast, FALKOR};
use crate::register::arm::{encoding, generic_name};
use crate::register::{is_pmu_register, numbered};
use crate::source::{CounterId, EventRequest, Level, PrivilegeFilter};
use crate::{CountsSource, Fault, Provenance, ReadOutcome, TopdownSlots, Vpmu, WriteOutcome, decode};
use alloc::vec::Vec;

const INST_RETIRED: u64 = 0x08;
const CPU_CYCLES: u64 = 0x11;
const CHAIN: u64 = 0x1E;
/// PMEVTYPER filters.
const P: u64 = 1 << 31;
const U: u64 = 1 << 30;
const NSK: u64 = 1 << 29;
const NSU: u64 = 1 << 28;
/// PMCR.
const E: u64 = 1;
const D: u64 = 1 << 3;
const LC: u64 = 1 << 6;
/// PMCR on Falkor without anything that software sets: IMP 51H, eight counters, LC.
const PMCR: u64 = 0x5100_4040;
/// The cycle counter's bit.
const CYCLES: u64 = 1 << 31;

/// Arm ARM D19 and the reference of the patch, by hand: op0, op1, CRn, CRm, op2.
#[test]
fn encodings_are_those_of_the_manual() {
    let table = [
        ("PMCR_EL0", (3, 3, 9, 12, 0), 0x1B_9C00),
        ("PMCNTENSET_EL0", (3, 3, 9, 12, 1), 0x1B_9C20),
        ("PMCNTENCLR_EL0", (3, 3, 9, 12, 2), 0x1B_9C40),
        ("PMOVSCLR_EL0", (3, 3, 9, 12, 3), 0x1B_9C60),
        ("PMSWINC_EL0", (3, 3, 9, 12, 4), 0x1B_9C80),
        ("PMSELR_EL0", (3, 3, 9, 12, 5), 0x1B_9CA0),
        ("PMCEID0_EL0", (3, 3, 9, 12, 6), 0x1B_9CC0),
        ("PMCEID1_EL0", (3, 3, 9, 12, 7), 0x1B_9CE0),
        ("PMCCNTR_EL0", (3, 3, 9, 13, 0), 0x1B_9D00),
        ("PMXEVTYPER_EL0", (3, 3, 9, 13, 1), 0x1B_9D20),
        ("PMXEVCNTR_EL0", (3, 3, 9, 13, 2), 0x1B_9D40),
        ("PMUSERENR_EL0", (3, 3, 9, 14, 0), 0x1B_9E00),
        ("PMOVSSET_EL0", (3, 3, 9, 14, 3), 0x1B_9E60),
        ("PMINTENSET_EL1", (3, 0, 9, 14, 1), 0x18_9E20),
        ("PMINTENCLR_EL1", (3, 0, 9, 14, 2), 0x18_9E40),
        ("PMEVCNTR0_EL0", (3, 3, 14, 8, 0), 0x1B_E800),
        ("PMEVCNTR7_EL0", (3, 3, 14, 8, 7), 0x1B_E8E0),
        ("PMEVCNTR8_EL0", (3, 3, 14, 9, 0), 0x1B_E900),
        ("PMEVCNTR30_EL0", (3, 3, 14, 11, 6), 0x1B_EBC0),
        ("PMEVTYPER0_EL0", (3, 3, 14, 12, 0), 0x1B_EC00),
        ("PMEVTYPER30_EL0", (3, 3, 14, 15, 6), 0x1B_EFC0),
        ("PMCCFILTR_EL0", (3, 3, 14, 15, 7), 0x1B_EFE0),
        ("PMRESR0_EL0", (3, 5, 11, 3, 0), 0x1D_B300),
        ("PMRESR1_EL0", (3, 5, 11, 3, 2), 0x1D_B340),
        ("PMRESR2_EL0", (3, 5, 11, 3, 4), 0x1D_B380),
        ("PMXEVCNTCR_EL0", (3, 5, 11, 0, 3), 0x1D_B060),
        ("PMACTLR_EL0", (3, 5, 11, 0, 2), 0x1D_B040),
    ];
    for (name, (op0, op1, crn, crm, op2), packed) in table {
        assert_eq!(register(name), packed, "{name}");
        assert_eq!(encoding(op0, op1, crn, crm, op2), packed, "{name}");
        assert_eq!(generic_name(packed), alloc::format!("S{op0}_{op1}_C{crn}_C{crm}_{op2}"));
        assert_eq!(decode::msr_name(&FALKOR, packed).as_deref(), Some(name));
        assert!(is_pmu_register(Architecture::Aarch64, packed), "{name}");
        assert!(!is_pmu_register(Architecture::X86_64, packed), "{name}");
    }
}

#[test]
fn after_reset_nothing_counts_and_pmcr_identifies() {
    let mut guest = Guest::falkor();
    assert_eq!(guest.mrs("PMCR"), PMCR);
    for name in ["PMCNTENSET", "PMOVSCLR", "PMINTENSET", "PMUSERENR", "PMSELR", "PMCCNTR", "PMRESR0"] {
        assert_eq!(guest.mrs(name), 0, "{name}");
    }
    guest.happen(Event::InstRetired, 5, 5);
    assert_eq!((guest.counter(0), guest.pmu.active().count()), (0, 0));
}

/// Registers and their RES0 bits: what is read after all ones.
#[test]
fn reserved_bits_read_as_zero() {
    let table = [
        // E, D, X, DP; P and C read as 0, and the rest cannot be changed.
        ("PMCR", PMCR | 0x39),
        ("PMCNTENSET", 0x8000_00FF),
        ("PMOVSSET", 0x8000_00FF),
        ("PMINTENSET", 0x8000_00FF),
        ("PMSELR", 0x1F),
        ("PMUSERENR", 0xF),
        ("PMCCNTR", u64::MAX),
        ("PMEVCNTR3", 0xFFFF_FFFF),
        ("PMEVTYPER3", 0xFC00_03FF),
        ("PMCCFILTR", 0xFC00_0000),
        ("PMRESR1", u64::MAX),
        ("PMACTLR", 1),
    ];
    for (name, expected) in table {
        let mut guest = Guest::falkor();
        guest.msr(name, u64::MAX);
        assert_eq!(guest.mrs(name), expected, "{name}");
        guest.reset();
        assert_eq!(guest.mrs(name), if name == "PMCR" { PMCR } else { 0 }, "{name} after reset");
    }
    let mut wide = Guest::on(FALKOR.with_arm(|pmu| pmu.version = 4));
    wide.msr("PMEVTYPER0", u64::MAX);
    assert_eq!(wide.mrs("PMEVTYPER0"), 0xFC00_FFFF);
    let mut with_aarch32 = Guest::on(FALKOR.with_arm(|pmu| pmu.aarch32 = true));
    assert_eq!(with_aarch32.mrs("PMCR"), PMCR & !LC);
    with_aarch32.msr("PMCR", u64::MAX);
    assert_eq!(with_aarch32.mrs("PMCR"), PMCR | 0x79);
}

#[test]
fn set_and_clear_are_two_names_of_one_word() {
    for (set, clear) in [("PMCNTENSET", "PMCNTENCLR"), ("PMOVSSET", "PMOVSCLR"), ("PMINTENSET", "PMINTENCLR")]
    {
        let mut guest = Guest::falkor();
        guest.msr(set, CYCLES | 0x5);
        guest.msr(set, 0x10);
        assert_eq!([guest.mrs(set), guest.mrs(clear)], [CYCLES | 0x15; 2], "{set}");
        guest.msr(clear, CYCLES | 1);
        assert_eq!([guest.mrs(set), guest.mrs(clear)], [0x14; 2], "{clear}");
    }
}

#[test]
fn a_counter_counts_while_all_enables_say_so() {
    let mut guest = Guest::falkor();
    guest.count(2, INST_RETIRED);
    guest.happen(Event::InstRetired, 3, 4);
    assert_eq!(guest.counter(2), 7);
    guest.msr("PMCR", 0);
    guest.happen(Event::InstRetired, 3, 4);
    guest.msr("PMCR", E);
    guest.msr("PMCNTENCLR", 1 << 2);
    guest.happen(Event::InstRetired, 3, 4);
    assert_eq!(guest.counter(2), 7);
    guest.msr("PMCNTENSET", 1 << 2);
    guest.happen(Event::InstRetired, 1, 0);
    assert_eq!(guest.counter(2), 8);
}

#[test]
fn p_and_c_zero_counters_and_leave_flags() {
    let mut guest = Guest::falkor();
    guest.count(2, INST_RETIRED);
    guest.msr("PMOVSSET", 1 << 2);
    guest.msr("PMCNTENSET", CYCLES);
    guest.happen(Event::InstRetired, 8, 0);
    guest.happen(Event::CpuCycles, 10, 0);
    guest.msr("PMCR", E | 1 << 1);
    assert_eq!((guest.counter(2), guest.mrs("PMCCNTR"), guest.mrs("PMOVSCLR")), (0, 10, 4));
    guest.happen(Event::InstRetired, 1, 0);
    guest.msr("PMCR", E | 1 << 2);
    assert_eq!((guest.counter(2), guest.mrs("PMCCNTR"), guest.mrs("PMCR")), (1, 0, PMCR | E));
}

/// EL0 counts if U = NSU, EL1 if P = NSK: all sixteen.
#[test]
fn filters_compare_two_bits_for_each_level() {
    for filter in 0..16_u64 {
        let bits = filter << 28;
        let kernel = u64::from((bits & P != 0) == (bits & NSK != 0));
        let user = u64::from((bits & U != 0) == (bits & NSU != 0));
        let mut guest = Guest::falkor();
        guest.count(0, INST_RETIRED | bits);
        guest.msr("PMCCFILTR", bits);
        guest.msr("PMCNTENSET", CYCLES);
        guest.happen(Event::InstRetired, 100, 10);
        guest.happen(Event::CpuCycles, 100, 10);
        let expected = 100 * kernel + 10 * user;
        assert_eq!([guest.counter(0), guest.mrs("PMCCNTR")], [expected; 2], "{bits:#x}");
    }
}

#[test]
fn both_ways_reach_the_same_counter() {
    let mut guest = Guest::falkor();
    for n in 0..8 {
        let value = u64::from(n);
        guest.msr("PMSELR", value);
        guest.msr("PMXEVTYPER", 0x10 + value);
        guest.msr("PMXEVCNTR", 0xDEAD_BEE0 + value);
        let types = numbered("PMEVTYPER{n}", n);
        assert_eq!((guest.mrs(&types), guest.counter(n)), (0x10 + value, 0xDEAD_BEE0 + value));
        guest.msr(&types, P | value);
        guest.set_counter(n, value);
        assert_eq!((guest.mrs("PMXEVTYPER"), guest.mrs("PMXEVCNTR")), (P | value, value));
    }
    guest.msr("PMSELR", 31);
    guest.msr("PMXEVTYPER", U | 0x11);
    assert_eq!((guest.mrs("PMCCFILTR"), guest.mrs("PMXEVTYPER")), (U, U));
}

#[test]
fn counters_beyond_the_last_are_undefined_or_zero() {
    let on = |beyond| {
        Guest::on(FALKOR.with_arm(|pmu| (pmu.selected_beyond, pmu.direct_beyond) = (beyond, beyond)))
    };
    for selector in [8, 30] {
        let (mut zero, mut undefined) = (on(BeyondLast::Zero), on(BeyondLast::Undefined));
        for guest in [&mut zero, &mut undefined] {
            guest.msr("PMSELR", u64::from(selector));
            // Drivers that reset all elements go beyond the last.
            guest.msr("PMXEVCNTCR", 5);
            assert_eq!(guest.mrs("PMXEVCNTCR"), 0);
        }
        let direct = ["PMEVTYPER{n}", "PMEVCNTR{n}"].map(|name| numbered(name, selector));
        for name in ["PMXEVTYPER", "PMXEVCNTR", &direct[0], &direct[1]] {
            zero.msr(name, 1);
            assert_eq!(zero.mrs(name), 0, "{name}");
            assert_eq!(undefined.read_fault(name), Fault::Absent, "{name}");
            assert_eq!(undefined.write_fault(name, 1), Fault::Absent, "{name}");
        }
    }
    // The cycle counter is no event counter.
    let mut guest = Guest::falkor();
    guest.msr("PMSELR", 31);
    guest.msr("PMXEVCNTR", 7);
    assert_eq!((guest.mrs("PMXEVCNTR"), guest.mrs("PMCCNTR")), (0, 0));
    assert_eq!(guest.read_fault("PMEVCNTR8"), Fault::Absent);
}

/// Counter, occurrences left, and whether the overflow interrupts, of all that runs.
fn deadlines(guest: &Guest) -> Vec<(CounterId, u64, bool)> {
    guest.pmu.active().map(|active| (active.counter, active.until_overflow, active.interrupts)).collect()
}

#[test]
fn an_overflow_raises_the_line_until_software_clears_the_flag() {
    let mut guest = Guest::falkor();
    guest.count(0, CPU_CYCLES);
    guest.count(1, INST_RETIRED);
    guest.set_counter(0, 0xFFFF_FFF0);
    guest.set_counter(1, 0xFFFF_FFF0);
    guest.msr("PMINTENSET", 1);
    assert_eq!(deadlines(&guest), [(CounterId::Gp(0), 16, true), (CounterId::Gp(1), 16, false)]);
    guest.happen(Event::CpuCycles, 15, 0);
    guest.sync();
    assert!(!guest.line);
    guest.happen(Event::CpuCycles, 1, 0);
    guest.happen(Event::InstRetired, 3, 0);
    guest.sync();
    assert!(guest.line);
    assert_eq!((guest.counter(0), guest.mrs("PMOVSCLR")), (0, 1));
    // The line follows E, the enables and the flags, and nothing else.
    let steps = [
        ("PMCR", 0, false),
        ("PMCR", E, true),
        ("PMINTENCLR", 1, false),
        ("PMINTENSET", 3, true),
        ("PMOVSCLR", 1, false),
        ("PMOVSSET", 2, true),
        ("PMCNTENCLR", 3, true),
    ];
    for (name, value, line) in steps {
        guest.msr(name, value);
        assert_eq!(guest.line, line, "{name} = {value}");
    }
    guest.reset();
    assert!(!guest.line);
}

#[test]
fn an_overflow_without_an_interrupt_sets_its_flag() {
    let mut guest = Guest::falkor();
    guest.count(7, INST_RETIRED);
    guest.set_counter(7, u64::MAX);
    guest.happen(Event::InstRetired, 0, 2);
    assert_eq!((guest.counter(7), guest.mrs("PMOVSSET"), guest.line), (1, 1 << 7, false));
}

#[test]
fn chain_counts_overflows_of_the_counter_below() {
    let mut guest = Guest::falkor();
    guest.count(0, INST_RETIRED);
    guest.count(1, CHAIN);
    guest.set_counter(0, 0xFFFF_FFFF);
    guest.happen(Event::InstRetired, 1, 0);
    assert_eq!((guest.counter(1), guest.counter(0), guest.mrs("PMOVSCLR")), (1, 0, 1));
    // Many rounds at once.
    guest.happen(Event::InstRetired, 3 << 32 | 5, 0);
    assert_eq!((guest.counter(1), guest.counter(0)), (4, 5));
    // The odd counter overflows with the even one, which the engine is told.
    guest.set_counter(1, 0xFFFF_FFFE);
    guest.msr("PMOVSCLR", u64::MAX);
    guest.msr("PMINTENSET", 2);
    let left = (1 << 32) - 5;
    let expected = [(CounterId::Gp(0), left, false), (CounterId::Gp(1), left + (1 << 32), true)];
    assert_eq!(deadlines(&guest), expected);
    guest.happen(Event::InstRetired, left + (1 << 32) - 1, 0);
    guest.sync();
    assert!(!guest.line);
    guest.happen(Event::InstRetired, 1, 0);
    guest.sync();
    assert_eq!((guest.line, guest.counter(1), guest.mrs("PMOVSCLR")), (true, 0, 3));
}

#[test]
fn chain_adds_nothing_while_disabled_or_on_an_even_counter() {
    let mut guest = Guest::falkor();
    guest.count(0, INST_RETIRED);
    guest.count(1, CHAIN);
    guest.msr("PMCNTENCLR", 2);
    guest.happen(Event::InstRetired, 1 << 32, 0);
    assert_eq!((guest.counter(1), guest.mrs("PMOVSCLR")), (0, 1));
    let mut even = Guest::falkor();
    even.count(1, INST_RETIRED);
    even.count(2, CHAIN);
    even.happen(Event::InstRetired, 1 << 32, 0);
    assert_eq!((even.counter(2), even.mrs("PMOVSCLR")), (0, 2));
}

#[test]
fn software_increments_count_where_the_counter_may() {
    let mut guest = Guest::falkor();
    guest.count(0, 0);
    guest.count(1, INST_RETIRED);
    guest.count(2, P);
    for _ in 0..100 {
        guest.msr("PMSWINC", CYCLES | 7);
    }
    assert_eq!([0, 1, 2].map(|n| guest.counter(n)), [100, 0, 0]);
    guest.msr("PMUSERENR", 1 << 1);
    guest.level = Level::User;
    guest.msr("PMSWINC", 7);
    guest.level = Level::Kernel;
    assert_eq!([0, 1, 2].map(|n| guest.counter(n)), [101, 0, 1]);
    guest.msr("PMCR", 0);
    guest.msr("PMSWINC", 1);
    assert_eq!(guest.counter(0), 101);
    // It overflows, chains and interrupts like others.
    guest.count(1, CHAIN);
    guest.msr("PMINTENSET", 1);
    guest.set_counter(0, 0xFFFF_FFFF);
    guest.msr("PMSWINC", 1);
    assert_eq!((guest.line, guest.counter(0), guest.counter(1), guest.mrs("PMOVSCLR")), (true, 0, 1, 1));
    assert_eq!(guest.read_fault("PMSWINC"), Fault::WriteOnly);
}

#[test]
fn the_cycle_counter_has_64_bits() {
    let mut guest = Guest::falkor();
    guest.msr("PMCNTENSET", CYCLES);
    guest.msr("PMINTENSET", CYCLES);
    guest.msr("PMCCNTR", u64::from(u32::MAX));
    // LC is RES1, and D means nothing.
    guest.msr("PMCR", E | D);
    guest.happen(Event::CpuCycles, 2, 3);
    assert_eq!((guest.mrs("PMCCNTR"), guest.mrs("PMOVSCLR"), guest.line), ((1 << 32) + 4, 0, false));
    guest.msr("PMCCNTR", u64::MAX - 1);
    assert_eq!(deadlines(&guest), [(CounterId::Fixed(0), 2, true)]);
    guest.happen(Event::CpuCycles, 2, 0);
    guest.sync();
    assert_eq!((guest.line, guest.mrs("PMCCNTR"), guest.mrs("PMOVSCLR")), (true, 0, CYCLES));
}

#[test]
fn without_lc_the_cycle_counter_overflows_from_bit_31_and_may_divide() {
    let mut guest = Guest::on(FALKOR.with_arm(|pmu| pmu.aarch32 = true));
    guest.msr("PMCNTENSET", CYCLES);
    guest.msr("PMCCNTR", 7 << 32 | 0xFFFF_FFFE);
    guest.msr("PMCR", E);
    assert_eq!(deadlines(&guest), [(CounterId::Fixed(0), 2, false)]);
    guest.happen(Event::CpuCycles, 2, 0);
    assert_eq!((guest.mrs("PMCCNTR"), guest.mrs("PMOVSCLR")), (8 << 32, CYCLES));
    // Every 64th of all cycles: 2 have passed.
    guest.msr("PMCR", E | D);
    guest.msr("PMCCNTR", 0xFFFF_FFFF);
    assert_eq!(deadlines(&guest), [(CounterId::Fixed(0), 62, false)]);
    guest.happen(Event::CpuCycles, 61, 0);
    assert_eq!(guest.mrs("PMCCNTR"), 0xFFFF_FFFF);
    guest.happen(Event::CpuCycles, 1, 0);
    assert_eq!(guest.mrs("PMCCNTR"), 1 << 32);
    guest.happen(Event::CpuCycles, 640 + 63, 0);
    assert_eq!(guest.mrs("PMCCNTR"), (1 << 32) + 10);
    // LC wins.
    guest.msr("PMCR", E | D | LC);
    guest.msr("PMOVSCLR", u64::MAX);
    guest.msr("PMCCNTR", 0xFFFF_FFFF);
    guest.happen(Event::CpuCycles, 1, 0);
    assert_eq!((guest.mrs("PMCCNTR"), guest.mrs("PMOVSCLR")), (1 << 32, 0));
}

/// Which accesses at EL0 each bit of PMUSERENR_EL0 allows.
#[test]
fn pmuserenr_opens_registers_to_el0() {
    const ER: u64 = 1 << 3;
    const CR: u64 = 1 << 2;
    const SW: u64 = 1 << 1;
    const EN: u64 = 1;
    /// Reads of PMUSERENR_EL0 itself need nothing.
    const ALWAYS: u64 = u64::MAX;
    // Bits that allow a read, and those that allow a write; 0: UNDEFINED whatever they say.
    let table = [
        ("PMCR", EN, EN),
        ("PMCNTENSET", EN, EN),
        ("PMCNTENCLR", EN, EN),
        ("PMOVSSET", EN, EN),
        ("PMOVSCLR", EN, EN),
        ("PMINTENSET", 0, 0),
        ("PMINTENCLR", 0, 0),
        ("PMSWINC", 0, EN | SW),
        ("PMSELR", EN | ER, EN | ER),
        ("PMCEID0", EN, 0),
        ("PMCEID1", EN, 0),
        ("PMCCNTR", EN | CR, EN),
        ("PMXEVTYPER", EN, EN),
        ("PMXEVCNTR", EN | ER, EN),
        ("PMEVCNTR3", EN | ER, EN),
        ("PMEVTYPER3", EN, EN),
        ("PMCCFILTR", EN, EN),
        ("PMUSERENR", ALWAYS, 0),
        ("PMRESR0", 0, 0),
        ("PMXEVCNTCR", 0, 0),
        ("PMACTLR", 0, 0),
    ];
    for allowed in 0..16 {
        // `Some(true)`: trapped to EL1.
        let denied = |bits: u64| match bits {
            0 => Some(false),
            ALWAYS => None,
            bits => (bits & allowed == 0).then_some(true),
        };
        for (name, read, write) in table {
            let mut guest = Guest::falkor();
            guest.msr("PMUSERENR", allowed);
            guest.level = Level::User;
            let found = match guest.read(register(name)) {
                ReadOutcome::Fault(fault) => Some(fault == Fault::Trapped),
                _ => None,
            };
            assert_eq!(found, denied(read), "mrs {name}, PMUSERENR {allowed:#x}");
            let found = match guest.write(register(name), 0) {
                WriteOutcome::Fault(fault) => Some(fault == Fault::Trapped),
                _ => None,
            };
            assert_eq!(found, denied(write), "msr {name}, PMUSERENR {allowed:#x}");
        }
    }
}

/// A source that knows cycles alone.
struct CyclesAlone;

impl CountsSource for CyclesAlone {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        let known = request.event.map(Event::counts_as) == Some(Event::CpuCycles.counts_as());
        if known { Provenance::Exact } else { Provenance::Unknown }
    }

    fn total(&mut self, _: &EventRequest, _: PrivilegeFilter) -> u64 {
        0
    }

    fn topdown(&mut self, _: PrivilegeFilter) -> Option<TopdownSlots> {
        None
    }
}

#[test]
fn pmceid_shows_what_the_source_can_count() {
    let mut pmu = Vpmu::new(FALKOR);
    let mut read = |name| pmu.read_register(Level::Kernel, register(name), &mut CyclesAlone).into_parts().0;
    // SW_INCR and CHAIN are the PMU's own.
    assert_eq!(read("PMCEID0"), ReadOutcome::Value(1 << 0 | 1 << 0x11 | 1 << 0x1E));
    assert_eq!(read("PMCEID1"), ReadOutcome::Value(0));
    // A source that knows all: 0 to 35H.
    let mut guest = Guest::falkor();
    assert_eq!((guest.mrs("PMCEID0"), guest.mrs("PMCEID1")), (0xFFFF_FFFF, 0x003F_FFFF));
}

#[test]
fn a_saved_state_goes_on_in_another_vpmu() {
    let mut guest = Guest::falkor();
    guest.count(0, INST_RETIRED);
    guest.count(1, CHAIN);
    guest.count(2, 0xE9);
    guest.msr("PMRESR2", 1 << 63 | 0x4100);
    guest.msr("PMINTENSET", 1);
    guest.set_counter(0, 0xFFFF_FFFF);
    guest.happen(Event::InstRetired, 3, 0);
    let state = guest.save();
    assert!(guest.line);
    let mut other = Guest::falkor();
    assert_eq!(other.pmu.restore(&state, &mut other.source), Ok(()));
    other.line = other.pmu.interrupt_line();
    assert!(other.line);
    assert_eq!(other.save(), state);
    other.happen(Event::InstRetired, (1 << 32) - 2, 0);
    other.happen(Event::L1dCacheRefill, 9, 0);
    assert_eq!([0, 1, 2].map(|n| other.counter(n)), [0, 2, 9]);
}

#[test]
fn the_ledger_has_what_the_pmu_counts_itself() {
    let mut guest = Guest::falkor();
    guest.count(0, INST_RETIRED);
    guest.count(1, CHAIN);
    guest.count(2, 0);
    guest.happen(Event::InstRetired, 2 << 32, 0);
    guest.msr("PMSWINC", 4);
    guest.sync();
    let entries = guest.pmu.ledger().entries();
    let found: Vec<_> = entries.map(|(key, count)| (key.counter, key.request.event, count)).collect();
    let expected = [
        (CounterId::Gp(0), Some(Event::InstRetired), 2 << 32),
        (CounterId::Gp(1), Some(Event::Chain), 2),
        (CounterId::Gp(2), Some(Event::SwIncr), 1),
    ];
    assert_eq!(found, expected);
}

#[test]
fn values_are_decoded_with_the_names_of_events() {
    let line = |name, value| decode::one_line(&FALKOR, register(name), value);
    assert_eq!(line("PMCR", PMCR | E), "E LC N=0x8 IMP=0x51");
    assert_eq!(line("PMEVTYPER0", P | 0x11), "evtCount=0x11 P (CPU_CYCLES)");
    let selector = "evtCount=0xe9 (Matrix: the code of group 1 in PMRESR2_EL0)";
    assert_eq!(line("PMEVTYPER0", 0xE9), selector);
}
