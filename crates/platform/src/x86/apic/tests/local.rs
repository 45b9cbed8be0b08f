//! Local vector table: PMI, LINT pins, errors.

use super::*;
use crate::x86::apic::spec::DeliveryMode;
use crate::x86::apic::{Delivery, LintPin};

#[test]
fn nmi_mode_pmi_masks_lvtpc_on_intel() {
    let mut apic = enabled();
    apic.set(LVTPC, NMI_MODE);
    assert_eq!(apic.raise_pmi(), Delivery::Nmi);
    assert_eq!(apic.get(LVTPC), NMI_MODE | MASKED);
    assert!(apic.pending().nmi && apic.take_nmi() && !apic.take_nmi());
}

#[test]
fn amd_leaves_lvtpc_unmasked() {
    let mut apic = with(ApicConfig { auto_mask_lvtpc: false, ..ApicConfig::default() });
    apic.set(SVR, 0x1FF);
    apic.set(LVTPC, NMI_MODE);
    for _ in 0..2 {
        assert_eq!(apic.raise_pmi(), Delivery::Nmi);
        assert!(apic.take_nmi());
    }
    assert_eq!(apic.get(LVTPC), NMI_MODE);
}

#[test]
fn fixed_mode_pmi_goes_through_irr_and_masks_too() {
    let mut apic = enabled();
    apic.set(LVTPC, 0xE9);
    assert_eq!(apic.raise_pmi(), Delivery::Vector(0xE9));
    assert_eq!(apic.get(LVTPC), 0xE9 | MASKED);
    assert_eq!(apic.accept_vector(), Some(0xE9));
}

#[test]
fn a_masked_pmi_is_lost_for_good() {
    let mut apic = enabled();
    apic.set(LVTPC, NMI_MODE | MASKED);
    assert_eq!(apic.raise_pmi(), Delivery::Masked);
    apic.set(LVTPC, NMI_MODE);
    assert!(!apic.pending().any(), "unmasking does not bring it back");
    assert_eq!(apic.raise_pmi(), Delivery::Nmi, "the next one arrives");
}

#[test]
fn two_pmis_before_the_nmi_is_taken_are_one() {
    let mut apic = enabled();
    for _ in 0..2 {
        apic.set(LVTPC, NMI_MODE);
        apic.raise_pmi();
    }
    assert!(apic.take_nmi());
    assert!(!apic.take_nmi());
}

#[test]
fn pmi_needs_an_enabled_apic_and_a_usable_delivery_mode() {
    assert_eq!(fresh().raise_pmi(), Delivery::Masked);
    let mut off = enabled();
    off.set(LVTPC, NMI_MODE);
    off.set_base(0xFEE0_0000).unwrap();
    assert_eq!(off.raise_pmi(), Delivery::Masked);
    for (bits, mode) in
        [(0x200, DeliveryMode::Smi), (0x500, DeliveryMode::Init), (0x700, DeliveryMode::ExtInt)]
    {
        let mut apic = enabled();
        apic.set(LVTPC, bits);
        assert_eq!(apic.raise_pmi(), Delivery::Unsupported(mode));
        assert_eq!(apic.get(LVTPC), bits, "not delivered, so not masked");
    }
}

#[test]
fn illegal_vectors_are_reported_in_esr_instead_of_delivered() {
    let mut apic = enabled();
    apic.set(LVTPC, 0x0F);
    assert_eq!(apic.raise_pmi(), Delivery::IllegalVector(0x0F));
    assert_eq!(apic.get(ESR), 0, "ESR shows errors only after a write");
    apic.set(ESR, 0);
    assert_eq!(apic.get(ESR), 1 << 6);
    apic.set(ESR, 0);
    assert_eq!(apic.get(ESR), 0);
    assert_eq!(apic.get(0x200), 0);
}

#[test]
fn reserved_registers_set_illegal_address_and_raise_one_error_interrupt() {
    let mut apic = enabled();
    apic.set(LVT_ERROR, 0xFE);
    assert_eq!(apic.get(0x040), 0);
    apic.set(0x3F0, 1);
    assert_eq!(apic.accept_vector(), Some(0xFE));
    apic.set(EOI, 0);
    apic.get(0xFF0);
    assert_eq!(apic.accept_vector(), None, "not armed again before ESR is written");
    apic.set(ESR, 0);
    assert_eq!(apic.get(ESR), 1 << 7);
    apic.get(0x2F0);
    assert_eq!(apic.accept_vector(), Some(0xFE));
}

#[test]
fn an_error_interrupt_with_an_illegal_vector_does_not_recurse() {
    let mut apic = enabled();
    apic.set(LVT_ERROR, 0);
    apic.get(0x040);
    apic.set(ESR, 0);
    assert_eq!(apic.get(ESR), 1 << 7 | 1 << 6);
}

#[test]
fn lint0_in_extint_mode_passes_the_level_through() {
    let mut apic = enabled();
    apic.set(LINT0, 0x700);
    assert_eq!(apic.set_lint(LintPin::Lint0, true), Delivery::ExtInt);
    apic.set(TPR, 0xF0);
    assert!(apic.pending().ext_int, "external interrupts ignore the task priority");
    apic.set(LINT0, 0x700 | MASKED);
    assert!(!apic.pending().ext_int);
    apic.set(LINT0, 0x700);
    apic.set_lint(LintPin::Lint0, false);
    assert!(!apic.pending().ext_int);
}

#[test]
fn lint1_nmi_fires_on_the_rising_edge() {
    let mut apic = enabled();
    apic.set(LINT1, NMI_MODE);
    assert_eq!(apic.set_lint(LintPin::Lint1, true), Delivery::Nmi);
    apic.set_lint(LintPin::Lint1, true);
    assert!(apic.take_nmi() && !apic.take_nmi());
}

#[test]
fn level_triggered_lint0_comes_back_after_eoi_while_asserted() {
    let mut apic = enabled();
    apic.set(LINT0, 0x8045);
    apic.set_lint(LintPin::Lint0, true);
    assert_eq!(apic.get(LINT0), 0x8045 | 1 << 14, "remote IRR");
    assert_eq!(apic.accept_vector(), Some(0x45));
    assert_eq!(apic.get(0x1A0), 1 << 5, "TMR bit of a level-triggered vector");
    apic.set(EOI, 0);
    assert_eq!(apic.accept_vector(), Some(0x45));
    apic.set_lint(LintPin::Lint0, false);
    apic.set(EOI, 0);
    assert_eq!(apic.accept_vector(), None);
    assert_eq!(apic.get(LINT0), 0x8045);
}

#[test]
fn going_back_to_edge_forgets_the_level() {
    let mut apic = enabled();
    apic.set(LINT0, 0x8045);
    apic.set_lint(LintPin::Lint0, true);
    apic.set(LINT0, 0x45);
    assert_eq!(apic.get(LINT0), 0x45, "remote IRR is gone");
    apic.accept_vector();
    apic.inject_message(0x45);
    assert_eq!(apic.get(0x1A0), 0, "TMR follows the last request of the vector");
}

#[test]
fn disabled_apic_turns_the_pins_into_intr_and_nmi() {
    let mut apic = fresh();
    apic.set_base(0xFEE0_0000).unwrap();
    apic.set_lint(LintPin::Lint0, true);
    apic.set_lint(LintPin::Lint1, true);
    assert!(apic.pending().ext_int && apic.pending().nmi);
}

/// AMD's extended space: entry n delivers what it says, and nothing masks it.
#[test]
fn the_extended_table_delivers() {
    let mut apic = with(ApicConfig { extended_space: true, auto_mask_lvtpc: false, ..ApicConfig::default() });
    let now = GuestTime(0);
    let read = |apic: &mut LocalApic, offset| {
        let mut bytes = [0; 4];
        apic.mmio_read(offset, &mut bytes, now);
        u32::from_le_bytes(bytes)
    };
    apic.mmio_write(0xF0, &0x1FF_u32.to_le_bytes(), now);
    assert_eq!(read(&mut apic, 0x30) >> 31, 1, "the version register says so");
    assert_eq!(read(&mut apic, 0x400), 4 << 16);
    assert_eq!(read(&mut apic, 0x500), 1 << 16, "masked after RESET");
    assert_eq!(apic.raise_extended(0), Delivery::Masked);
    apic.mmio_write(0x500, &0x400_u32.to_le_bytes(), now);
    apic.mmio_write(0x530, &0x55_u32.to_le_bytes(), now);
    assert_eq!((apic.raise_extended(0), apic.raise_extended(0)), (Delivery::Nmi, Delivery::Nmi));
    assert_eq!(apic.raise_extended(3), Delivery::Vector(0x55));
    assert_eq!((apic.raise_extended(1), apic.raise_extended(4)), (Delivery::Masked, Delivery::Masked));
    let saved = apic.save();
    let mut other =
        with(ApicConfig { extended_space: true, auto_mask_lvtpc: false, ..ApicConfig::default() });
    other.restore(&saved).expect("its own state");
    assert_eq!(read(&mut other, 0x530), 0x55);
    let mut plain = with(ApicConfig::default());
    assert!(plain.restore(&saved).is_err(), "an APIC without it");
    plain.mmio_write(0x500, &0x400_u32.to_le_bytes(), now);
    assert_eq!((plain.raise_extended(0), read(&mut plain, 0x30) >> 31), (Delivery::Masked, 0));
    // A software disable masks these too.
    apic.mmio_write(0xF0, &0xFF_u32.to_le_bytes(), now);
    assert_eq!(read(&mut apic, 0x500), 0x1_0400);
}
