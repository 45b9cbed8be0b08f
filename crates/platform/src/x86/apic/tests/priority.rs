//! IRR, ISR, TPR, PPR and EOI.

use super::*;
use crate::x86::apic::{Delivery, Pending};

#[test]
fn a_vector_moves_from_irr_to_isr_to_nowhere() {
    let mut apic = enabled();
    assert_eq!(apic.inject_message(0x31), Delivery::Vector(0x31));
    assert_eq!((apic.get(0x210), apic.get(0x110)), (1 << 17, 0));
    assert_eq!(apic.pending(), Pending { vector: Some(0x31), ..Pending::default() });
    assert_eq!(apic.accept_vector(), Some(0x31));
    assert_eq!((apic.get(0x210), apic.get(0x110)), (0, 1 << 17));
    assert!(!apic.pending().any());
    apic.set(EOI, 0);
    assert_eq!(apic.get(0x110), 0);
    apic.set(EOI, 0);
    assert_eq!(apic.accept_vector(), None, "an EOI too many is harmless");
}

#[test]
fn higher_classes_nest_and_eoi_unwinds_them() {
    let mut apic = enabled();
    apic.inject_message(0x35);
    assert_eq!(apic.accept_vector(), Some(0x35));
    apic.inject_message(0x3F);
    assert_eq!(apic.accept_vector(), None, "same class waits although the number is higher");
    apic.inject_message(0x40);
    assert_eq!(apic.accept_vector(), Some(0x40));
    assert_eq!(apic.get(PPR), 0x40);
    apic.set(EOI, 0);
    assert_eq!(apic.get(PPR), 0x30, "0x35 is in service again");
    apic.set(EOI, 0);
    assert_eq!(apic.accept_vector(), Some(0x3F));
}

#[test]
fn ppr_is_the_higher_class_of_tpr_and_isr() {
    // TPR, vector in service, PPR ("Processor-Priority Register").
    let table = [(0x00, None, 0x00), (0x2B, None, 0x2B), (0x2B, Some(0x41), 0x40), (0x4B, Some(0x41), 0x4B)];
    for (tpr, in_service, ppr) in table {
        let mut apic = enabled();
        if let Some(vector) = in_service {
            apic.inject_message(vector);
            assert_eq!(apic.accept_vector(), Some(vector));
        }
        apic.set(TPR, tpr);
        assert_eq!(apic.get(PPR), ppr, "TPR {tpr:#x} with {in_service:x?} in service");
    }
}

#[test]
fn raising_tpr_holds_a_request_back_until_it_is_lowered() {
    let mut apic = enabled();
    apic.set(TPR, 0x50);
    apic.inject_message(0x5F);
    assert_eq!(apic.pending().vector, None);
    apic.set_cr8(4).unwrap();
    assert_eq!(apic.pending().vector, Some(0x5F));
}

#[test]
fn same_vector_merges() {
    let mut apic = enabled();
    apic.inject_message(0x60);
    apic.inject_message(0x60);
    assert_eq!(apic.accept_vector(), Some(0x60));
    apic.inject_message(0x60);
    apic.set(EOI, 0);
    assert_eq!(apic.accept_vector(), Some(0x60), "one more was requested while in service");
    apic.set(EOI, 0);
    assert_eq!(apic.accept_vector(), None);
}

#[test]
fn a_disabled_apic_takes_no_messages_but_keeps_what_it_has() {
    let mut apic = enabled();
    apic.inject_message(0x70);
    apic.set(SVR, 0xFF);
    assert_eq!(apic.inject_message(0x80), Delivery::Masked);
    assert_eq!(apic.accept_vector(), Some(0x70), "pending interrupts are held for the CPU");
    apic.set(SVR, 0x1FF);
    apic.set_base(0xFEE0_0000).unwrap();
    assert_eq!(apic.inject_message(0x80), Delivery::Masked);
}
