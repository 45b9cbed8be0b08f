//! Port I/O. The firmware's I/O bitmap opens all ports to ring 3, so these are plain instructions.

use core::arch::asm;

/// Reads a byte from `port`.
#[must_use]
pub fn read_u8(port: u16) -> u8 {
    let value: u8;
    // SAFETY: an IN touches no memory; the devices that an image sees have no DMA that it could start.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Writes a byte to `port`.
pub fn write_u8(port: u16, value: u8) {
    // SAFETY: as for `read_u8`.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags)) };
}

/// Writes 16 bits to `port`.
pub fn write_u16(port: u16, value: u16) {
    // SAFETY: as for `read_u8`.
    unsafe { asm!("out dx, ax", in("dx") port, in("ax") value, options(nomem, nostack, preserves_flags)) };
}

/// Reads 32 bits from `port`.
#[must_use]
pub fn read_u32(port: u16) -> u32 {
    let value: u32;
    // SAFETY: as for `read_u8`.
    unsafe { asm!("in eax, dx", in("dx") port, out("eax") value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Writes 32 bits to `port`.
pub fn write_u32(port: u16, value: u32) {
    // SAFETY: as for `read_u8`.
    unsafe { asm!("out dx, eax", in("dx") port, in("eax") value, options(nomem, nostack, preserves_flags)) };
}
