//! Interrupt command register and SELF IPI on one CPU.

use super::*;

const SELF: u32 = 1 << 18;
const ALL: u32 = 2 << 18;
const OTHERS: u32 = 3 << 18;
const LOGICAL: u32 = 1 << 11;

#[test]
fn shorthands_reach_this_cpu_or_nobody() {
    for (icr, arrives) in [(SELF | 0x50, true), (ALL | 0x50, true), (OTHERS | 0x50, false)] {
        let mut apic = enabled();
        apic.set(ICR_LOW, icr);
        assert_eq!(apic.accept_vector().is_some(), arrives, "ICR {icr:#x}");
        assert_eq!(apic.get(ICR_LOW) & 1 << 12, 0, "delivery status is idle");
    }
}

#[test]
fn xapic_destinations() {
    // LDR, DFR, destination field, ICR mode bits, arrives.
    let flat = u32::MAX;
    let cluster = 0x0FFF_FFFF;
    let table = [
        (0, flat, 0x05, 0, true),
        (0, flat, 0x06, 0, false),
        (0, flat, 0xFF, 0, true),
        (0x82, flat, 0x02, LOGICAL, true),
        (0x82, flat, 0x40, LOGICAL, false),
        (0, flat, 0xFF, LOGICAL, true),
        (0x32, cluster, 0x3E, LOGICAL, true),
        (0x32, cluster, 0x3C, LOGICAL, false),
        (0x32, cluster, 0x22, LOGICAL, false),
    ];
    for (ldr, dfr, destination, bits, arrives) in table {
        let mut apic = with(ApicConfig { id: 5, ..ApicConfig::default() });
        apic.set(SVR, 0x1FF);
        apic.set(0xD0, ldr << 24);
        apic.set(0xE0, dfr);
        apic.set(ICR_HIGH, destination << 24);
        apic.set(ICR_LOW, bits | 0x50);
        assert_eq!(apic.accept_vector().is_some(), arrives, "{ldr:#x} {dfr:#x} {destination:#x}");
    }
}

#[test]
fn x2apic_destinations_and_self_ipi() {
    // ID 0x23: cluster 2, logical bit 3.
    let table = [
        (0x23_u64, 0, true),
        (0x22, 0, false),
        (0xFFFF_FFFF, 0, true),
        (0x0002_0008, LOGICAL, true),
        (0x0002_0004, LOGICAL, false),
        (0x0001_0008, LOGICAL, false),
    ];
    for (destination, bits, arrives) in table {
        let mut apic = x2apic(ApicConfig { id: 0x23, ..ApicConfig::default() });
        apic.wrmsr(0x80F, 0x1FF).unwrap();
        apic.wrmsr(0x830, destination << 32 | u64::from(bits) | 0x50).unwrap();
        assert_eq!(apic.accept_vector().is_some(), arrives, "{destination:#x} {bits:#x}");
        assert_eq!(apic.rdmsr(0x830), Ok(destination << 32 | u64::from(bits) | 0x50));
    }
    let mut apic = x2apic(ApicConfig::default());
    apic.wrmsr(0x80F, 0x1FF).unwrap();
    apic.wrmsr(0x83F, 0x51).unwrap();
    assert_eq!(apic.accept_vector(), Some(0x51));
}

#[test]
fn nmi_works_even_while_software_disabled() {
    let mut apic = fresh();
    apic.set(ICR_LOW, SELF | NMI_MODE);
    assert!(apic.take_nmi());
    apic.set(ICR_LOW, SELF | 0x50);
    assert_eq!(apic.accept_vector(), None);
}

#[test]
fn init_and_startup_broadcasts_change_nothing() {
    let mut apic = enabled();
    let before = apic.save();
    for icr in [OTHERS | 0xC500, OTHERS | 0x8500, OTHERS | 0x4608, ALL | 0x4500, SELF | 0x4200] {
        apic.set(ICR_LOW, icr);
        assert!(!apic.pending().any());
    }
    apic.set(ICR_LOW, 0xC_0000);
    assert_eq!(crate::x86::apic::ApicState { icr: before.icr, new_errors: 0, ..apic.save() }, before);
}

#[test]
fn illegal_vectors_set_the_send_and_receive_errors() {
    let mut apic = enabled();
    apic.set(ICR_LOW, OTHERS | 0x0F);
    apic.set(ESR, 0);
    assert_eq!(apic.get(ESR), 1 << 5);
    apic.set(ICR_LOW, SELF | 0x0F);
    apic.set(ESR, 0);
    assert_eq!(apic.get(ESR), 1 << 5 | 1 << 6);
    assert_eq!(apic.accept_vector(), None);
}
