//! Falkor's matrix of events.

use super::test_guest::Guest;
use crate::event::{Event, MatrixError, MatrixEvent};
use crate::profile::FALKOR;
use crate::register::arm::Pmresr;
use crate::register::{index_by_name, numbered};
use crate::source::Level;
use crate::{Fault, ReadOutcome, WriteOutcome, decode};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

/// PMEVTYPER filters.
const P: u64 = 1 << 31;
const U: u64 = 1 << 30;
/// PMRESR.
const EN: u64 = 1 << 63;

/// The worked examples of the reference.
#[test]
fn matrix_events_have_a_number_a_selector_and_a_register() {
    let table = [
        (0x1_0203, (0, 0x20, 3), 0xDB, 0x8000_0000_2000_0000),
        (0x1_1300, (1, 0x30, 0), 0xE0, 0x8000_0000_0000_0030),
        (0x1_2411, (2, 0x41, 1), 0xE9, 0x8000_0000_0000_4100),
        (0x1_2517, (2, 0x51, 7), 0xEF, 0xD100_0000_0000_0000),
        (0x1_0000, (0, 0x00, 0), 0xD8, EN),
        (0x1_0FF6, (0, 0xFF, 6), 0xDE, 0x80FF_0000_0000_0000),
    ];
    for (number, (region, code, group), selector, register) in table {
        let event = MatrixEvent { region, code, group };
        assert_eq!(MatrixEvent::from_number(number), Ok(event));
        assert_eq!((event.number(), event.selector(), event.register().0), (number, selector, register));
        assert_eq!(MatrixEvent::from_code(event.code()), Some(event));
        assert_eq!(Pmresr(register).code(group), code);
    }
    let refused = [
        (0x0_0203, MatrixError::Flag(0x0203)),
        (0x3_0203, MatrixError::Flag(0x3_0203)),
        (0x1_3000, MatrixError::Region(3)),
        (0x1_0008, MatrixError::Group(8)),
        (0x1_0807, MatrixError::Code(0x80)),
    ];
    for (number, error) in refused {
        assert_eq!(MatrixEvent::from_number(number), Err(error));
    }
}

/// Every selector is one place of 3 x 8, and no other number is.
#[test]
fn selectors_are_the_places_of_the_matrix() {
    let places: BTreeSet<_> = (0..=u16::MAX).filter_map(MatrixEvent::place_of).collect();
    let selectors = (0..=u16::MAX).filter(|&n| MatrixEvent::place_of(n).is_some());
    assert!(selectors.eq(0xD8..=0xEF));
    assert!(places.into_iter().eq((0..3).flat_map(|region| (0..8).map(move |group| (region, group)))));
}

#[test]
fn the_matrix_counts_what_its_groups_select_while_enabled() {
    let mut guest = Guest::falkor();
    // Code 0 of region 0, group 0 is a row like others.
    guest.count(0, 0xD8);
    guest.happen(Event::InstRetired, 10, 0);
    assert_eq!(guest.counter(0), 0, "EN is 0");
    guest.msr("PMRESR0", EN);
    guest.happen(Event::InstRetired, 10, 1);
    assert_eq!(guest.counter(0), 11);
    guest.msr("PMRESR0", 0);
    guest.happen(Event::InstRetired, 10, 0);
    assert_eq!(guest.counter(0), 11);
    // The highest code of group 7, with EN beside it; a group that nothing uses does not matter.
    guest.count(1, 0xDF);
    guest.msr("PMRESR0", EN | 0x7F << 56 | 0xFF << 48);
    guest.happen(Event::CpuCycles, 20, 0);
    assert_eq!(guest.counter(1), 20);
    // A code without an event counts nothing, and neither does one of another region.
    guest.msr("PMRESR0", EN | 0x7E << 56);
    guest.msr("PMRESR1", EN | 0x7F << 56);
    guest.happen(Event::CpuCycles, 20, 0);
    assert_eq!(guest.counter(1), 20);
    // PMCR.P leaves the matrix alone.
    guest.msr("PMCR", 1 | 2);
    assert_eq!((guest.counter(1), guest.mrs("PMRESR0")), (0, EN | 0x7E << 56));
}

#[test]
fn counters_share_a_group_and_the_last_code_wins() {
    let mut guest = Guest::falkor();
    guest.msr("PMRESR2", EN | 0x06);
    guest.count(0, 0xE8 | U);
    guest.count(1, 0xE8 | P);
    guest.count(2, 0xE8);
    guest.happen(Event::LdRetired, 5, 7);
    assert_eq!([0, 1, 2].map(|n| guest.counter(n)), [5, 7, 12]);
    // All switch to the second code; what was counted stays.
    guest.msr("PMRESR2", EN | 0x0D);
    guest.happen(Event::LdRetired, 100, 100);
    guest.happen(Event::L1dTlb, 1, 2);
    assert_eq!([0, 1, 2].map(|n| guest.counter(n)), [6, 9, 15]);
}

#[test]
fn every_row_of_the_table_counts_its_event_and_says_that_it_is_made_up() {
    let mut made_up = 0;
    for row in FALKOR.events.encodings() {
        let event = MatrixEvent::from_code(row.code);
        assert_eq!(row.name.starts_with("synthetic."), event.is_some(), "{}", row.name);
        assert_eq!(row.event.name(), row.name);
        let described =
            row.event.description().starts_with("Made up for this project, no event of Qualcomm's");
        assert_eq!(described, event.is_some(), "{}", row.name);
        let Some(event) = event else { continue };
        made_up += 1;
        let mut guest = Guest::falkor();
        guest.msr(&numbered("PMRESR{n}", event.region.into()), event.register().0);
        guest.count(3, event.selector().into());
        guest.happen(row.event, 3, 4);
        assert_eq!(guest.counter(3), 7, "{} {event}", row.name);
    }
    assert_eq!(made_up, 26);
    assert_eq!(Event::from_name("syn_basic_instr").map(Event::name), Some("synthetic.basic_instr"));
}

#[test]
fn pmxevcntcr_is_one_for_each_counter() {
    let mut guest = Guest::falkor();
    for n in (0..8).chain([31]) {
        guest.msr("PMSELR", n);
        guest.msr("PMXEVCNTCR", 0x100 + n);
    }
    for n in (0..8).chain([31]) {
        guest.msr("PMSELR", n);
        assert_eq!(guest.mrs("PMXEVCNTCR"), 0x100 + n);
    }
    // The elements have no encoding.
    let saved = guest.save();
    let elements: Vec<u32> = saved.registers.keys().copied().filter(|index| index >> 21 != 0).collect();
    assert_eq!(elements.len(), 9);
    for element in elements {
        assert_eq!(guest.read(element), ReadOutcome::Fault(Fault::Absent));
        assert_eq!(guest.write(element, 0), WriteOutcome::Fault(Fault::Absent));
    }
}

#[test]
fn pmactlr_opens_the_matrix_to_el0() {
    let mut guest = Guest::falkor();
    guest.msr("PMACTLR", 1);
    guest.level = Level::User;
    guest.msr("PMRESR2", 5);
    guest.msr("PMXEVCNTCR", 6);
    assert_eq!((guest.mrs("PMRESR2"), guest.mrs("PMXEVCNTCR")), (5, 6));
    assert_eq!(guest.write_fault("PMACTLR", 0), Fault::Privilege);
}

#[test]
fn without_the_matrix_its_registers_are_undefined_and_selectors_count_nothing() {
    let mut guest = Guest::on(FALKOR.with_arm(|pmu| pmu.matrix = false));
    for name in ["PMRESR0", "PMRESR2", "PMXEVCNTCR", "PMACTLR"] {
        assert_eq!((guest.read_fault(name), guest.write_fault(name, 0)), (Fault::Absent, Fault::Absent));
    }
    guest.count(0, 0xD8);
    guest.happen(Event::InstRetired, 5, 0);
    assert_eq!((guest.counter(0), guest.mrs("PMEVTYPER0")), (0, 0xD8));
}

#[test]
fn poison_is_in_what_reset_leaves_unknown_and_differs_each_time() {
    let values = |guest: &mut Guest| -> Vec<u64> {
        let mut values: Vec<u64> = ["PMRESR0", "PMRESR1", "PMRESR2"].map(|name| guest.mrs(name)).into();
        for n in (0..8).chain([31]) {
            guest.msr("PMSELR", n);
            values.push(guest.mrs("PMXEVCNTCR"));
        }
        values
    };
    let poisoned = || Guest::on(FALKOR.with_arm(|pmu| pmu.poison = Some(7)));
    let (mut guest, mut same) = (poisoned(), poisoned());
    let first = values(&mut guest);
    assert_eq!(first, values(&mut same), "it follows from the seed");
    assert!(first[..3].iter().all(|value| value & EN == 0), "{first:x?}");
    assert!(first.iter().all(|&value| value != 0), "{first:x?}");
    guest.reset();
    let second = values(&mut guest);
    assert!(first.iter().zip(&second).all(|(a, b)| a != b));
    let state = guest.save();
    let mut other = poisoned();
    assert_eq!(other.pmu.restore(&state, &mut other.source), Ok(()));
    assert_eq!(other.mrs("PMRESR0"), second[0]);
    assert_eq!(values(&mut Guest::falkor()), [0; 12]);
}

#[test]
fn a_region_is_decoded_with_the_names_of_its_events() {
    let index = index_by_name("PMRESR2_EL0").expect("a register");
    let meaning = |value| {
        let decoded = decode::decode(&FALKOR, index, value).expect("a register");
        decoded.fields[0].meaning.clone()
    };
    assert_eq!(meaning(EN | 0x4100), "Event 0x12411: synthetic.l1d_misses");
    assert_eq!(meaning(EN | 0x4200), "Event 0x12421: not published");
}

#[test]
fn every_way_to_write_an_event_comes_back() {
    let rows = FALKOR.events.encodings();
    for row in rows {
        assert_eq!(FALKOR.code_of_config(FALKOR.config_of_code(row.code)), row.code, "{}", row.name);
    }
    let names: BTreeSet<String> = rows.iter().map(|row| FALKOR.perf_event(row)).collect();
    assert_eq!(names.len(), rows.len());
    assert!(names.contains("qcom_pmuv3_0/event=0x8/") && names.contains("qcom_pmuv3_0/config=0x12517/"));
}
