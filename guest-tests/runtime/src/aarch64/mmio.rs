//! Registers of devices. Plain loads and stores, of which a hypervisor is told what it needs to know.

use core::arch::asm;

/// Reads 32 bits of a device.
pub(super) fn read(address: u64) -> u32 {
    let value: u32;
    // SAFETY: the address is one of a device, which the firmware maps; no device of an image has DMA.
    unsafe { asm!("ldr {:w}, [{}]", out(reg) value, in(reg) address, options(nostack, preserves_flags)) };
    value
}

/// Writes 32 bits to a device.
pub(super) fn write(address: u64, value: u32) {
    // SAFETY: as for `read`.
    unsafe { asm!("str {:w}, [{}]", in(reg) value, in(reg) address, options(nostack, preserves_flags)) };
}

/// Reads 8 bits of a device.
pub(super) fn read_u8(address: u64) -> u8 {
    let value: u32;
    // SAFETY: as for `read`.
    unsafe { asm!("ldrb {:w}, [{}]", out(reg) value, in(reg) address, options(nostack, preserves_flags)) };
    value as u8
}

/// Writes 16 bits to a device.
pub(super) fn write_u16(address: u64, value: u16) {
    // SAFETY: as for `read`.
    unsafe {
        asm!("strh {:w}, [{}]", in(reg) u32::from(value), in(reg) address, options(nostack, preserves_flags));
    };
}
