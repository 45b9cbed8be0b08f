//! The ACPI tables: RSDP, XSDT, MADT with the interrupt controllers, FADT with power-off and reset, and a DSDT with
//! `\_S5` and the `pvpanic` device.

use crate::convert::{low_u8, low_u32};
use crate::x86::apic::spec::DEFAULT_BASE;
use crate::x86::devices::{RESET_CONTROL, RESET_CPU, ioapic, power};
use acpi_tables::aml::{Device, IO, Name, Package, Path, ResourceTemplate, Scope};
use acpi_tables::fadt::{FADTBuilder, Flags};
use acpi_tables::gas::{AccessSize, AddressSpace, GAS};
use acpi_tables::madt::{EnabledStatus, IoApic, LocalInterruptController, MADT, ProcessorLocalApic};
use acpi_tables::rsdp::Rsdp;
use acpi_tables::sdt::Sdt;
use acpi_tables::xsdt::XSDT;
use acpi_tables::{Aml, AmlSink};
use std::ops::Range;

/// Where firmware keeps the RSDP and where guests look for it (ACPI 6.5, 5.2.5.1).
pub(super) const WINDOW: Range<u64> = 0xE_0000..0x10_0000;
/// Alignment of the RSDP.
pub(super) const ALIGN: u64 = 16;

const OEM: [u8; 6] = *b"VPMU  ";
const OEM_TABLE: [u8; 8] = *b"VPMU    ";
/// Length of a table that has nothing but its header.
const HEADER: u32 = 36;
/// DSDT revision from which integers have 64 bits.
const DSDT_REVISION: u8 = 2;
/// IA-PC boot architecture flags (ACPI 6.5, table 5.10): ISA devices, here COM1; no 8042, since only its reset is
/// there; no VGA, no message signalled interrupts, no CMOS clock.
const BOOT_ARCHITECTURE: u16 = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5;
/// More than 100 and 1000 us: no C2, no C3.
const NO_C_STATE: u16 = 0xFFFF;

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

fn madt() -> Vec<u8> {
    let mut madt = MADT::new(OEM, OEM_TABLE, 1, LocalInterruptController::Address(low_u32(DEFAULT_BASE)));
    madt.add_structure(ProcessorLocalApic::new(0, 0, EnabledStatus::Enabled));
    madt.add_structure(IoApic::new(ioapic::ID, low_u32(ioapic::BASE), 0));
    bytes(&madt)
}

fn dsdt() -> Vec<u8> {
    let port = IO::new(power::PANIC, power::PANIC, 1, 1);
    let panic = ResourceTemplate::new(vec![&port]);
    let id = Name::new(Path::new("_HID"), &"QEMU0001");
    let resources = Name::new(Path::new("_CRS"), &panic);
    let device = Device::new(Path::new("PEVT"), vec![&id, &resources]);
    let mut dsdt = Sdt::new(*b"DSDT", HEADER, DSDT_REVISION, OEM, OEM_TABLE, 1);
    dsdt.append_slice(&bytes(&Name::new(Path::new("\\_S5_"), &Package::new(vec![&power::S5; 2]))));
    dsdt.append_slice(&bytes(&Scope::new(Path::new("\\_SB_"), vec![&device])));
    dsdt.as_slice().to_vec()
}

/// No SMI command port: ACPI mode is always on. No PM timer, no general-purpose events.
fn fadt(dsdt: u32) -> Vec<u8> {
    let reset = GAS::new(AddressSpace::SystemIo, 8, 0, AccessSize::ByteAccess, u64::from(RESET_CONTROL));
    let mut fadt = FADTBuilder::new(OEM, OEM_TABLE, 1).dsdt_32(dsdt);
    fadt.sci_int = power::SCI.into();
    fadt.pm1a_evt_blk = u32::from(power::EVENT).into();
    fadt.pm1_evt_len = low_u8(power::EVENT_PORTS.into());
    fadt.pm1a_cnt_blk = u32::from(power::CONTROL).into();
    fadt.pm1_cnt_len = low_u8(power::CONTROL_PORTS.into());
    fadt.p_lvl2_lat = NO_C_STATE.into();
    fadt.p_lvl3_lat = NO_C_STATE.into();
    fadt.iapc_boot_arch = BOOT_ARCHITECTURE.into();
    fadt.reset_reg = reset;
    fadt.reset_value = RESET_CPU;
    // The flags of buttons and clock say that they are not in the PM1 registers.
    let flags = [
        Flags::Wbinvd,
        Flags::PwrButton,
        Flags::SlpButton,
        Flags::FixRtc,
        Flags::ResetRegSup,
        Flags::Headless,
    ];
    bytes(&flags.into_iter().fold(fadt, FADTBuilder::flag).finalize())
}

/// The tables for address `base`, RSDP first. The length does not depend on `base`, which is below 1 MiB.
pub(super) fn tables(base: u64) -> Vec<u8> {
    let mut tables = vec![0; Rsdp::len()];
    let mut place = |table: Vec<u8>| {
        tables.resize(tables.len().next_multiple_of(8), 0);
        let at = base + tables.len() as u64;
        tables.extend(table);
        at
    };
    let madt_at = place(madt());
    let dsdt_at = place(dsdt());
    let fadt_at = place(fadt(low_u32(dsdt_at)));
    let mut xsdt = XSDT::new(OEM, OEM_TABLE, 1);
    xsdt.add_entry(fadt_at);
    xsdt.add_entry(madt_at);
    let xsdt_at = place(bytes(&xsdt));
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

    /// The table at an address, whose checksum has to be right.
    fn table(tables: &[u8], at: u64) -> &[u8] {
        let length = u32_at(tables, at + 4);
        let table = &tables[at as usize..][..length as usize];
        assert_eq!(sum(table), 0);
        table
    }

    #[test]
    fn pointers_lead_from_the_rsdp_to_the_other_tables() {
        let base = 0xE_0000;
        let tables = tables(base);
        assert_eq!((&tables[..8], tables[15]), (b"RSD PTR ".as_slice(), 2));
        assert_eq!((sum(&tables[..20]), sum(&tables[..36])), (0, 0));
        let xsdt = table(&tables, u64_at(&tables, 24) - base);
        assert_eq!((&xsdt[..4], xsdt.len()), (b"XSDT".as_slice(), 36 + 2 * 8));
        let fadt = table(&tables, u64_at(xsdt, 36) - base);
        assert_eq!(&fadt[..4], b"FACP");
        assert_eq!(&table(&tables, u64::from(u32_at(fadt, 40)) - base)[..4], b"DSDT");
        let madt = table(&tables, u64_at(xsdt, 44) - base);
        assert_eq!(&madt[..4], b"APIC");
        let expected = [
            // Local APIC address, flags: no 8259.
            [0xFEE0_0000_u32.to_le_bytes(), [0; 4]].concat(),
            // Local APIC: type, length, UID, ID, enabled.
            vec![0, 8, 0, 0, 1, 0, 0, 0],
            // I/O APIC: type, length, ID, reserved, address, first GSI.
            vec![1, 12, 1, 0, 0, 0, 0xC0, 0xFE, 0, 0, 0, 0],
        ];
        assert_eq!(madt[36..], expected.concat());
    }

    #[test]
    fn fadt_and_dsdt_tell_how_to_switch_off_and_reset() {
        let fadt = fadt(0xE_1234);
        assert_eq!((u32_at(&fadt, 56), fadt[88]), (0x600, 4), "PM1a event block");
        assert_eq!((u32_at(&fadt, 64), fadt[89]), (0x604, 2), "PM1a control block");
        assert_eq!(u32_at(&fadt, 112) >> 10 & 1, 1, "RESET_REG_SUP");
        // I/O space, 8 bits, byte accesses.
        assert_eq!(fadt[116..128], [1, 8, 0, 1, 0xF9, 0x0C, 0, 0, 0, 0, 0, 0]);
        let dsdt = dsdt();
        // Name (\_S5, Package { 0, 0 }).
        let s5 = b"\x08\\_S5_\x12\x04\x02\0\0";
        assert!(dsdt.windows(s5.len()).any(|window| window == s5), "{dsdt:x?}");
        assert!(dsdt.windows(8).any(|window| window == b"QEMU0001"));
    }
}
