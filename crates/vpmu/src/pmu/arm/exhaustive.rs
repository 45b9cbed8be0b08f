//! Every bit of every register, at both privilege levels, and every code of the matrix.

use super::test_guest::{Guest, register};
use crate::event::MatrixEvent;
use crate::profile::{FALKOR, Profile};
use crate::register::arm::Pmresr;
use crate::register::{Access, UserAccess, numbered, registers};
use crate::source::Level;
use crate::{Fault, ReadOutcome, WriteOutcome};

fn profiles() -> [Profile; 4] {
    [
        FALKOR,
        FALKOR.with_arm(|pmu| pmu.aarch32 = true),
        FALKOR.with_arm(|pmu| (pmu.version, pmu.matrix) = (4, false)),
        Profile { gp_counters: 3, ..FALKOR },
    ]
}

/// Bit by bit: no write of EL1 to a register that is there faults, a bit of a field is stored, set or cleared as the
/// declaration says, and all others keep their value of reset.
#[test]
fn every_bit_of_every_register_is_stored_or_res0() {
    for profile in profiles() {
        for register in registers(profile.vendor()) {
            for instance in 0..register.instances(&profile) {
                let index = register.index_of(instance);
                for bit in 0..64 {
                    let what = alloc::format!("{} bit {bit}", register.instance_name(instance));
                    let mut guest = Guest::on(profile.clone());
                    let outcome = match register.access {
                        Access::ReadOnly => WriteOutcome::Fault(Fault::ReadOnly),
                        Access::Indirect => WriteOutcome::Fault(Fault::Absent),
                        _ => WriteOutcome::Done,
                    };
                    assert_eq!(guest.write(index, 1 << bit), outcome, "{what}");
                    let stored = register.stored(&profile);
                    let reset = (register.reset)(&profile);
                    let expected = match register.access {
                        Access::WriteOnly => ReadOutcome::Fault(Fault::WriteOnly),
                        Access::Indirect => ReadOutcome::Fault(Fault::Absent),
                        Access::ReadOnly => continue,
                        Access::ClearBits => ReadOutcome::Value(0),
                        _ => ReadOutcome::Value(reset & !stored | 1 << bit & stored),
                    };
                    assert_eq!(guest.read(index), expected, "{what}");
                }
            }
        }
    }
}

/// With PMUSERENR_EL0 and PMACTLR_EL0 as they are after reset, EL0 reads PMUSERENR_EL0 and nothing else.
#[test]
fn after_reset_every_register_is_closed_to_el0() {
    for register in registers(FALKOR.vendor()) {
        for instance in 0..register.instances(&FALKOR) {
            let index = register.index_of(instance);
            let mut guest = Guest::falkor();
            guest.level = Level::User;
            let (read, written) = (guest.read(index), guest.write(index, 0));
            if register.user == UserAccess::Read {
                assert_eq!(read, ReadOutcome::Value(0));
                assert_eq!(written, WriteOutcome::Fault(Fault::Privilege));
                continue;
            }
            let name = register.instance_name(instance);
            assert!(matches!(read, ReadOutcome::Fault(_)), "{name}");
            assert!(matches!(written, WriteOutcome::Fault(_)), "{name}");
        }
    }
}

/// All codes of the 24 groups: number, selector and register stand for the same.
#[test]
fn every_code_of_every_group_selects_itself() {
    let mut codes = 0;
    for number in 0x1_0000..0x2_0000_u32 {
        let Ok(event) = MatrixEvent::from_number(number) else { continue };
        codes += 1;
        assert_eq!((event.number(), MatrixEvent::from_code(event.code())), (number, Some(event)));
        assert_eq!(MatrixEvent::place_of(event.selector()), Some((event.region, event.group)));
        let selected = event.register();
        assert!(selected.enable(), "{event}");
        for group in 0..8 {
            let expected = if group == event.group { event.code } else { 0 };
            assert_eq!(selected.code(group), expected, "{event}, group {group}");
        }
        assert_eq!(FALKOR.code_of_config(number.into()), event.code());
    }
    assert_eq!(codes, 3 * (7 * 256 + 128));
}

/// A counter's request follows its type register and the matrix: all codes of groups of 8 and of 7 bits.
#[test]
fn requests_follow_the_matrix() {
    for (region, group, codes) in [(0, 6, 0..=0xFF_u8), (0, 7, 0..=0x7F), (2, 1, 0..=0xFF)] {
        let mut guest = Guest::falkor();
        guest.count(0, MatrixEvent { region, code: 0, group }.selector().into());
        let index = register(&numbered("PMRESR{n}", region.into()));
        for code in codes {
            let event = MatrixEvent { region, code, group };
            let Pmresr(value) = event.register();
            assert_eq!(guest.write(index, value), WriteOutcome::Done);
            let found = guest.pmu.active().next().map(|active| (active.request.code, active.request.event));
            let named = FALKOR.events.resolve(event.code()).exact;
            assert_eq!(found, named.map(|name| (event.code(), Some(name))), "{event}");
        }
    }
}
