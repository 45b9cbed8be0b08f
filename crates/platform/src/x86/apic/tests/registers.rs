//! Every register: value after reset, reserved bits, access rights in both modes.

use super::*;
use crate::x86::apic::ConfigError;
use crate::x86::apic::spec::ApicMode;

/// xAPIC offset, value after reset, value read back after writing all ones to a software-enabled
/// APIC without TSC-deadline mode. From the SDM's register map and figures, not from `spec.rs`.
const XAPIC: &[(u64, &str, u32, u32)] = &[
    (0x020, "ID", 0x0500_0000, 0x0500_0000),
    (0x030, "version", 0x0005_0014, 0x0005_0014),
    (0x080, "TPR", 0, 0xFF),
    (0x090, "APR", 0, 0),
    (0x0A0, "PPR", 0, 0),
    (0x0B0, "EOI", 0, 0),
    (0x0C0, "remote read", 0, 0),
    (0x0D0, "LDR", 0, 0xFF00_0000),
    (0x0E0, "DFR", 0xFFFF_FFFF, 0xFFFF_FFFF),
    (0x0F0, "SVR", 0xFF, 0x3FF),
    (0x100, "ISR", 0, 0),
    (0x170, "ISR", 0, 0),
    (0x180, "TMR", 0, 0),
    (0x1F0, "TMR", 0, 0),
    (0x200, "IRR", 0, 0),
    (0x270, "IRR", 0, 0),
    (0x280, "ESR", 0, 0),
    (0x300, "ICR low", 0, 0x000C_CFFF),
    (0x310, "ICR high", 0, 0xFF00_0000),
    (0x320, "LVT timer", 0x1_0000, 0x3_00FF),
    (0x330, "LVT thermal", 0x1_0000, 0x1_07FF),
    (0x340, "LVTPC", 0x1_0000, 0x1_07FF),
    (0x350, "LINT0", 0x1_0000, 0x1_A7FF),
    (0x360, "LINT1", 0x1_0000, 0x1_A7FF),
    (0x370, "LVT error", 0x1_0000, 0x1_00FF),
    (0x380, "initial count", 0, 0xFFFF_FFFF),
    (0x390, "current count", 0, 0),
    (0x3E0, "divide", 0, 0xB),
];

#[test]
fn xapic_registers_have_their_reset_values_and_drop_reserved_bits() {
    for &(offset, name, reset, _) in XAPIC {
        let mut apic = with(ApicConfig { id: 5, ..ApicConfig::default() });
        assert_eq!(apic.get(offset), reset, "{name} at {offset:#x} after reset");
    }
    for &(offset, name, _, ones) in XAPIC {
        let mut apic = with(ApicConfig { id: 5, ..ApicConfig::default() });
        apic.set(SVR, 0x1FF);
        apic.set(offset, u32::MAX);
        assert_eq!(apic.get(offset), ones, "{name} at {offset:#x} after writing ones");
        assert_eq!(apic.get(ESR), 0, "{name} is no reserved register");
    }
}

#[test]
fn tsc_deadline_mode_adds_timer_mode_bit_18() {
    let mut apic = with(ApicConfig { tsc_deadline_hz: Some(1), ..ApicConfig::default() });
    apic.set(LVT_TIMER, u32::MAX);
    assert_eq!(apic.get(LVT_TIMER), 0x7_00FF);
}

/// Writable bits of every x2APIC MSR, `None` where a write always faults.
const X2APIC: &[(u32, &str, Option<u64>, Option<u64>)] = &[
    // index, name, value read in a fresh x2APIC with ID 0x123, bits that may be written
    (0x802, "ID", Some(0x123), None),
    (0x803, "version", Some(0x0005_0014), None),
    (0x808, "TPR", Some(0), Some(0xFF)),
    (0x809, "APR", None, None),
    (0x80A, "PPR", Some(0), None),
    (0x80B, "EOI", None, Some(0)),
    (0x80C, "remote read", None, None),
    (0x80D, "LDR", Some(0x0012_0008), None),
    (0x80E, "DFR", None, None),
    (0x80F, "SVR", Some(0xFF), Some(0x3FF)),
    (0x810, "ISR", Some(0), None),
    (0x817, "ISR", Some(0), None),
    (0x818, "TMR", Some(0), None),
    (0x820, "IRR", Some(0), None),
    (0x827, "IRR", Some(0), None),
    (0x828, "ESR", Some(0), Some(0)),
    (0x82F, "LVT CMCI", None, None),
    (0x830, "ICR", Some(0), Some(0xFFFF_FFFF_000C_DFFF)),
    (0x831, "ICR high", None, None),
    (0x832, "LVT timer", Some(0x1_0000), Some(0x3_10FF)),
    (0x833, "LVT thermal", Some(0x1_0000), Some(0x1_17FF)),
    (0x834, "LVTPC", Some(0x1_0000), Some(0x1_17FF)),
    (0x835, "LINT0", Some(0x1_0000), Some(0x1_F7FF)),
    (0x836, "LINT1", Some(0x1_0000), Some(0x1_F7FF)),
    (0x837, "LVT error", Some(0x1_0000), Some(0x1_10FF)),
    (0x838, "initial count", Some(0), Some(0xFFFF_FFFF)),
    (0x839, "current count", Some(0), None),
    (0x83E, "divide", Some(0), Some(0xB)),
    (0x83F, "SELF IPI", None, Some(0xFF)),
    (0x840, "past the end", None, None),
    (0x8FF, "past the end", None, None),
];

#[test]
fn x2apic_msrs_fault_exactly_on_reserved_registers_and_bits() {
    let config = ApicConfig { id: 0x123, ..ApicConfig::default() };
    for &(index, name, value, writable) in X2APIC {
        assert_eq!(x2apic(config).rdmsr(index).ok(), value, "reading {name} {index:#x}");
        assert_eq!(x2apic(config).wrmsr(index, 0).is_ok(), writable.is_some(), "writing 0 to {name}");
        for bit in 0..64 {
            let written = x2apic(config).wrmsr(index, 1 << bit);
            let allowed = writable.is_some_and(|bits| bits >> bit & 1 != 0);
            assert_eq!(written.is_ok(), allowed, "writing bit {bit} of {name} {index:#x}");
        }
    }
    let known: Vec<u32> = X2APIC.iter().map(|row| row.0).collect();
    for index in (0x800..=0x8FF).filter(|index| !known.contains(index)) {
        let readable = matches!(index, 0x810..=0x827);
        assert_eq!(x2apic(config).rdmsr(index).is_ok(), readable, "reading {index:#x}");
        assert!(x2apic(config).wrmsr(index, 0).is_err(), "writing {index:#x}");
    }
}

#[test]
fn msrs_fault_outside_x2apic_mode_and_the_page_vanishes_inside_it() {
    assert_eq!(fresh().rdmsr(0x802), Err(GeneralProtection));
    assert_eq!(fresh().wrmsr(0x80B, 0), Err(GeneralProtection));
    let mut apic = x2apic(ApicConfig::default());
    apic.set(TPR, 0x30);
    assert_eq!((apic.get(TPR), apic.rdmsr(0x808)), (u32::MAX, Ok(0)));
    apic.set_base(0xFEE0_0000).unwrap();
    assert_eq!((apic.get(0x030), apic.rdmsr(0x803)), (u32::MAX, Err(GeneralProtection)));
}

#[test]
fn base_allows_the_transitions_of_the_state_diagram() {
    const OFF: u64 = 0xFEE0_0000;
    const XAPIC: u64 = OFF | 0x800;
    const X2APIC: u64 = OFF | 0xC00;
    let table = [
        (OFF, OFF, true),
        (OFF, XAPIC, true),
        (OFF, X2APIC, false),
        (XAPIC, OFF, true),
        (XAPIC, XAPIC, true),
        (XAPIC, X2APIC, true),
        (X2APIC, OFF, true),
        (X2APIC, XAPIC, false),
        (X2APIC, X2APIC, true),
    ];
    for (from, to, legal) in table {
        let mut apic = fresh();
        apic.set_base(from).unwrap();
        assert_eq!(apic.set_base(to).is_ok(), legal, "{from:#x} to {to:#x}");
        assert_eq!(apic.base(), if legal { to } else { from });
        assert_eq!(apic.set_base(OFF | 0x400), Err(GeneralProtection), "EXTD without EN");
    }
    for reserved in [0, 7, 9, 46, 63] {
        assert_eq!(fresh().set_base(XAPIC | 1 << reserved), Err(GeneralProtection), "bit {reserved}");
    }
    let mut old = with(ApicConfig { x2apic: false, ..ApicConfig::default() });
    assert_eq!(old.set_base(X2APIC), Err(GeneralProtection), "EXTD is reserved without x2APIC");
    let mut moved = fresh();
    moved.set_base(0x1000_0800).unwrap();
    assert_eq!(moved.page_offset(0x1000_0FF0), Some(0xFF0));
    assert_eq!((moved.page_offset(0xFEE0_0000), moved.page_offset(0x1000_1000)), (None, None));
}

#[test]
fn x2apic_keeps_registers_and_disabling_loses_them() {
    let mut apic = enabled();
    apic.set(LVTPC, NMI_MODE);
    apic.set_base(ApicBase::RESET.0 | ApicBase::EXTD).unwrap();
    assert_eq!((apic.rdmsr(0x834), apic.rdmsr(0x80F)), (Ok(0x400), Ok(0x1FF)));
    apic.set_base(0xFEE0_0000).unwrap();
    apic.set_base(0xFEE0_0800).unwrap();
    assert_eq!((apic.mode(), apic.get(LVTPC), apic.get(SVR)), (ApicMode::XApic, MASKED, 0xFF));
}

#[test]
fn only_aligned_32_bit_writes_reach_a_register() {
    let mut apic = fresh();
    apic.mmio_write(TPR, &[0x20], NOW);
    apic.mmio_write(TPR, &[0x20, 0], NOW);
    apic.mmio_write(TPR, &[0x20, 0, 0, 0, 0, 0, 0, 0], NOW);
    apic.mmio_write(TPR + 4, &[0x20, 0, 0, 0], NOW);
    apic.mmio_write(TPR, &[], NOW);
    assert_eq!(apic.get(TPR), 0);
    apic.set(TPR, 0x20);
    assert_eq!(apic.get(TPR), 0x20);
}

#[test]
fn narrow_and_wide_reads_see_the_bytes_of_the_register() {
    let mut apic = fresh();
    let mut byte = [0];
    apic.mmio_read(0x32, &mut byte, NOW);
    assert_eq!(byte, [0x05], "byte 2 of the version register");
    let mut wide = [0xAA; 20];
    apic.mmio_read(0x30, &mut wide, NOW);
    assert_eq!(wide[..5], [0x14, 0, 5, 0, 0]);
    assert!(wide[5..].iter().all(|byte| *byte == 0));
}

#[test]
fn software_disable_masks_every_lvt_entry_and_keeps_it_masked() {
    let mut apic = enabled();
    for lvt in (LVT_TIMER..=LVT_ERROR).step_by(16) {
        apic.set(lvt, 0x40);
        assert_eq!(apic.get(lvt), 0x40);
    }
    apic.set(SVR, 0xFF);
    for lvt in (LVT_TIMER..=LVT_ERROR).step_by(16) {
        apic.set(lvt, 0x50);
        assert_eq!(apic.get(lvt), 0x1_0050, "cannot be unmasked while disabled");
    }
    apic.set(SVR, 0x1FF);
    assert_eq!(apic.get(LVTPC), 0x1_0050, "enabling does not unmask");
}

#[test]
fn cr8_is_the_upper_half_of_tpr() {
    let mut apic = enabled();
    apic.set(TPR, 0x5A);
    assert_eq!(apic.cr8(), 5);
    apic.set_cr8(9).unwrap();
    assert_eq!(apic.get(TPR), 0x90);
    assert_eq!(apic.set_cr8(16), Err(GeneralProtection));
    assert_eq!(apic.set_cr8(1 << 32), Err(GeneralProtection));
    assert_eq!(apic.get(TPR), 0x90);
}

#[test]
fn impossible_configurations_are_refused_with_the_value() {
    let refused = |config| LocalApic::new(config).unwrap_err();
    let good = ApicConfig::default();
    assert_eq!(refused(ApicConfig { timer_hz: 0, ..good }), ConfigError::ZeroClock("timer"));
    assert_eq!(refused(ApicConfig { tsc_deadline_hz: Some(0), ..good }), ConfigError::ZeroClock("TSC"));
    assert_eq!(
        refused(ApicConfig { physical_address_bits: 53, ..good }).to_string(),
        "53 physical address bits; x86-64 CPUs have 32 to 52"
    );
    assert!(refused(ApicConfig { id: 0xFF, x2apic: false, ..good }).to_string().contains("0xff"));
    assert!(refused(ApicConfig { id: u32::MAX, ..good }).to_string().contains("x2APIC"));
}

#[test]
fn reset_returns_to_power_up() {
    let mut apic = enabled();
    apic.set(LVTPC, NMI_MODE);
    apic.raise_pmi();
    apic.inject_message(0x41);
    apic.set_base(0xFEE0_0000).unwrap();
    apic.reset();
    assert_eq!(apic, fresh());
}
