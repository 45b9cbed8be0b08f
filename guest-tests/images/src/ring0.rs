//! The interrupt table, for images that misbehave.

#![expect(unsafe_code, reason = "code that runs in ring 0")]

use core::arch::asm;

/// One gate of the interrupt descriptor table.
type Gate = [u64; 2];

/// Vector of #UD.
const INVALID_OPCODE: usize = 6;
/// Selector of the firmware's 64-bit code segment.
const KERNEL_CS: u64 = 0x10;
/// Present interrupt gate, DPL 0.
const INTERRUPT_GATE: u64 = 0x8E00 << 32;

unsafe extern "C" {
    /// Memory of the firmware, open to ring 3 like everything below 4 GiB.
    static mut firmware_idt: [Gate; 256];
}

fn undefined_instruction() -> ! {
    // SAFETY: raises #UD and does not come back.
    unsafe { asm!("ud2", options(noreturn)) }
}

/// Empties the interrupt table and raises an exception: neither it nor the faults that follow can be
/// delivered, so the CPU shuts down.
pub fn triple_fault() -> ! {
    // SAFETY: the end of this program; nothing else runs.
    unsafe { (&raw mut firmware_idt).write_volatile([[0; 2]; 256]) };
    undefined_instruction()
}

/// Jumps to `code` in ring 0, with interrupts off.
pub fn enter(code: unsafe extern "C" fn() -> !) -> ! {
    let address = code as *const () as u64;
    let low = address & 0xFFFF | KERNEL_CS << 16 | INTERRUPT_GATE | (address >> 16 & 0xFFFF) << 48;
    // SAFETY: the gate leads to code that never returns; nothing else runs.
    unsafe { (&raw mut firmware_idt[INVALID_OPCODE]).write_volatile([low, address >> 32]) };
    undefined_instruction()
}
