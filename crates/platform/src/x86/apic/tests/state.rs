//! Saved state.

use super::*;
use crate::x86::apic::{ApicState, StateError, TimerState};

/// Makes one field of a good state impossible.
type Spoil = fn(&mut ApicState);

fn busy() -> LocalApic {
    let mut apic = enabled();
    apic.set(TPR, 0x25);
    apic.set(LVTPC, NMI_MODE);
    apic.set(DIVIDE, 0xB);
    apic.set(LVT_TIMER, 1 << 17 | 0x40);
    apic.set(INITIAL, 1000);
    apic.inject_message(0x91);
    apic.accept_vector();
    apic.inject_message(0x95);
    apic.raise_pmi();
    apic.get(0x040);
    apic
}

#[test]
fn a_restored_apic_goes_on_like_the_original() {
    let mut original = busy();
    let json = serde_json::to_string(&original.save()).unwrap();
    let mut copy = fresh();
    copy.restore(&serde_json::from_str(&json).unwrap()).unwrap();
    assert_eq!(copy, original);
    for apic in [&mut original, &mut copy] {
        assert!(apic.take_nmi());
        apic.set_at(EOI, 0, NOW + 2500);
        assert_eq!(apic.accept_vector(), Some(0x95));
        assert_eq!(apic.next_deadline(), Some(NOW + 3000));
    }
}

#[test]
fn deadline_timers_survive_too() {
    let config = ApicConfig { tsc_deadline_hz: Some(1_000_000_000), ..ApicConfig::default() };
    let mut apic = with(config);
    apic.set(SVR, 0x1FF);
    apic.set(LVT_TIMER, 2 << 17 | 0x40);
    apic.write_tsc_deadline(500, 100, NOW).unwrap();
    let mut copy = with(config);
    copy.restore(&apic.save()).unwrap();
    assert_eq!(copy, apic);
    assert!(matches!(fresh().restore(&apic.save()), Err(StateError::Register { name: "LVT timer", .. })));
}

#[test]
fn impossible_states_are_refused_and_change_nothing() {
    let good = busy().save();
    let cases: [(&str, Spoil); 19] = [
        ("version 2", |s| s.version = 2),
        ("APIC ID 0x7", |s| s.id = 7),
        ("IA32_APIC_BASE", |s| s.base = 0xFEE0_0400),
        ("IA32_APIC_BASE", |s| s.base |= 1),
        ("LDR", |s| s.ldr = 1),
        ("DFR", |s| s.dfr = 0),
        ("SVR", |s| s.svr = 0x1000),
        ("disabled APIC", |s| s.svr = 0xFF),
        ("ICR", |s| s.icr = 1 << 13),
        ("LVTPC", |s| s.lvt[2] |= 1 << 17),
        ("LINT1", |s| s.lvt[4] |= 1 << 31),
        ("divide", |s| s.divide = 4),
        ("ESR = 0x1", |s| s.esr = 1),
        ("unpublished", |s| s.new_errors = 1),
        ("IRR", |s| s.irr[0] = 0x8000),
        ("ISR", |s| s.isr[0] = 1),
        ("TMR", |s| s.tmr[0] = 1),
        ("timer", |s| s.timer = TimerState::Deadline { tsc: 1, due: 1 }),
        ("timer", |s| s.initial_count = 0),
    ];
    for (message, spoil) in cases {
        let mut state = good.clone();
        spoil(&mut state);
        let mut apic = fresh();
        let error = apic.restore(&state).unwrap_err();
        assert!(error.to_string().contains(message), "{error} should mention {message}");
        assert_eq!(apic, fresh());
    }
    fresh().restore(&good).unwrap();
}

#[test]
fn unknown_fields_in_a_file_are_refused() {
    let mut value = serde_json::to_value(busy().save()).unwrap();
    value["surprise"] = 1.into();
    assert!(serde_json::from_value::<ApicState>(value).is_err());
}
