//! The ACPI tables that tell a guest its interrupt controllers: RSDP, XSDT and MADT. No FADT and no DSDT: there is
//! nothing for them to describe, and Linux does without.

use crate::apic::spec::DEFAULT_BASE;
use crate::devices::ioapic;
use acpi_tables::madt::{EnabledStatus, IoApic, LocalInterruptController, MADT, ProcessorLocalApic};
use acpi_tables::rsdp::Rsdp;
use acpi_tables::xsdt::XSDT;
use acpi_tables::{Aml, AmlSink};
use std::ops::Range;

/// Where firmware keeps the RSDP and where guests look for it (ACPI 6.5, 5.2.5.1).
pub(super) const WINDOW: Range<u64> = 0xE_0000..0x10_0000;
/// Alignment of the RSDP.
pub(super) const ALIGN: u64 = 16;

const OEM: [u8; 6] = *b"VPMU  ";
const OEM_TABLE: [u8; 8] = *b"VPMU    ";

#[derive(Default)]
struct Bytes(Vec<u8>);

impl AmlSink for Bytes {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }
}

fn bytes(table: &dyn Aml) -> Vec<u8> {
    let mut bytes = Bytes::default();
    table.to_aml_bytes(&mut bytes);
    bytes.0
}

/// The tables for address `base`, RSDP first. The length does not depend on `base`.
pub(super) fn tables(base: u64) -> Vec<u8> {
    let mut madt = MADT::new(OEM, OEM_TABLE, 1, LocalInterruptController::Address(DEFAULT_BASE as u32));
    madt.add_structure(ProcessorLocalApic::new(0, 0, EnabledStatus::Enabled));
    madt.add_structure(IoApic::new(ioapic::ID, ioapic::BASE as u32, 0));
    let madt = bytes(&madt);
    let mut tables = vec![0; Rsdp::len().next_multiple_of(8)];
    let madt_at = base + tables.len() as u64;
    tables.extend(madt);
    tables.resize(tables.len().next_multiple_of(8), 0);
    let xsdt_at = base + tables.len() as u64;
    let mut xsdt = XSDT::new(OEM, OEM_TABLE, 1);
    xsdt.add_entry(madt_at);
    tables.extend(bytes(&xsdt));
    let rsdp = bytes(&Rsdp::new(OEM, xsdt_at));
    tables[..rsdp.len()].copy_from_slice(&rsdp);
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u32_at(bytes: &[u8], at: u64) -> u32 {
        u32::from_le_bytes(bytes[at as usize..][..4].try_into().unwrap())
    }

    fn u64_at(bytes: &[u8], at: u64) -> u64 {
        u64::from_le_bytes(bytes[at as usize..][..8].try_into().unwrap())
    }

    fn sum(bytes: &[u8]) -> u8 {
        bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
    }

    #[test]
    fn pointers_lead_from_the_rsdp_to_the_controllers_and_checksums_are_zero() {
        let base = 0xE_0000;
        let tables = tables(base);
        assert_eq!((&tables[..8], tables[15]), (b"RSD PTR ".as_slice(), 2));
        assert_eq!((sum(&tables[..20]), sum(&tables[..36])), (0, 0));
        let xsdt = u64_at(&tables, 24) - base;
        let length = u32_at(&tables, xsdt + 4);
        assert_eq!((&tables[xsdt as usize..][..4], length), (b"XSDT".as_slice(), 36 + 8));
        assert_eq!(sum(&tables[xsdt as usize..][..length as usize]), 0);
        let madt = u64_at(&tables, xsdt + 36) - base;
        let length = u32_at(&tables, madt + 4);
        let table = &tables[madt as usize..][..length as usize];
        assert_eq!((&table[..4], sum(table)), (b"APIC".as_slice(), 0));
        let expected = [
            // Local APIC address, flags: no 8259.
            [0xFEE0_0000_u32.to_le_bytes(), [0; 4]].concat(),
            // Local APIC: type, length, UID, ID, enabled.
            vec![0, 8, 0, 0, 1, 0, 0, 0],
            // I/O APIC: type, length, ID, reserved, address, first GSI.
            vec![1, 12, 1, 0, 0, 0, 0xC0, 0xFE, 0, 0, 0, 0],
        ];
        assert_eq!(table[36..], expected.concat());
    }
}
