//! Devices of the AArch64 machine that our images use, by physical address.
//!
//! All but [`control`] lie where QEMU's `virt` machine has them (`hw/arm/virt.c`, `base_memmap`), so that the same
//! images run there.

/// First byte of RAM. The devicetree of an ELF image lies here.
pub const RAM: u64 = 0x4000_0000;
/// Where our images are linked: above any devicetree.
pub const IMAGE: u64 = 0x4020_0000;
/// GICv3 distributor (Arm IHI 0069), 64 KiB.
pub const GICD: u64 = 0x0800_0000;
/// GICv3 redistributor of the only CPU: `RD_base` and `SGI_base`, 64 KiB each.
pub const GICR: u64 = 0x080A_0000;
/// PL011 UART (Arm DDI 0183).
pub const PL011: u64 = 0x0900_0000;
/// fw_cfg data: a read of 1, 2, 4 or 8 bytes takes as many from the file, the first in the lowest byte.
pub const FW_CFG_DATA: u64 = 0x0902_0000;
/// fw_cfg selector: a write of 16 bits, big-endian (QEMU `docs/specs/fw_cfg`).
pub const FW_CFG_SELECTOR: u64 = 0x0902_0008;

/// Interrupt of the PMU: PPI 7 (Arm Base System Architecture).
pub const PMU_INTID: u32 = 23;
/// Interrupt of the virtual timer: PPI 11.
pub const VIRTUAL_TIMER_INTID: u32 = 27;
/// Interrupt of the EL1 physical timer: PPI 14.
pub const PHYSICAL_TIMER_INTID: u32 = 30;

/// The control device of our VMM: what the I/O ports `EXIT`, `DEBUGCON`, `CONTROL` and `CONTROL_LABEL` are on the
/// x86 machine, as 32-bit registers.
///
/// It is there if the devicetree has a node whose `compatible` is [`COMPATIBLE`](control::COMPATIBLE); no other machine
/// has it. A register takes aligned accesses of 32 bits. Other accesses and other offsets of the page
/// read as zero and ignore writes.
pub mod control {
    /// `compatible` of the node.
    pub const COMPATIBLE: &str = "vpmu,control";
    /// First byte, which is the node's `reg`.
    pub const BASE: u64 = 0x0A80_0000;
    /// Bytes.
    pub const SIZE: u64 = 0x1000;

    /// Offset; write: ends the run with process status `((v << 1) | 1) & 0xFF`. Reads as zero.
    pub const EXIT: u64 = 0x0;
    /// Offset; write: bits 7:0 are a character of the debug console. Reads as E9H.
    pub const DEBUGCON: u64 = 0x4;
    /// Offset; write: a [`control`](crate::control) command. Read: status of the last one.
    pub const CONTROL: u64 = 0x8;
    /// Offset; write: bits 7:0 are a byte of the label that names the next measuring window; 0 ends it. Reads as zero.
    pub const LABEL: u64 = 0xC;
}
