//! The guest's RAM, as compiled code accesses it.
#![expect(unsafe_code, reason = "what a pointer leads to is the word of who gives it")]

use crate::frame::Passed;
use crate::plan::LONGEST;
use crate::registers::Vectors;
use core::ptr;
use soft_base::{Entry, PAGE};
use soft_cpu::compiled::{self, Frame, NOTES};

/// Masks of all exceptions in MXCSR (SDM volume 1, section 10.2.3): no instruction raises #XM.
const MASKS: u32 = 0x3F << 7;
/// Bits that are reserved in it, or that not every CPU has.
const RESERVED: u32 = !0xFFFF;
/// MXCSR after a reset.
const RESET_MXCSR: u32 = 0x1F80;
/// Bytes by which operands of SSE instructions are aligned.
const ALIGNMENT: usize = 16;

/// RAM whose positions from 0 on, as [`soft_cpu::Ram`] has them, are bytes in a row in the host's memory.
#[derive(Debug, Clone, Copy)]
pub struct Ram {
    start: *mut u8,
    size: u64,
}

// SAFETY: a pointer and a number; what `new` asks for holds on any thread that uses them.
unsafe impl Send for Ram {}

/// More than what all notes have room for.
const MANY: u64 = (NOTES * compiled::LONGEST) as u64;

impl Ram {
    /// RAM of so many bytes. Other positions are left to the interpreter.
    ///
    /// # Safety
    /// As long as a CPU runs with a compiler that has this, the bytes can be read and written through the pointer, and
    /// Rust references to them are not in use.
    #[must_use]
    pub unsafe fn new(start: *mut u8, size: u64) -> Self {
        Self { start, size }
    }

    /// What code is entered with; the flags are still missing.
    pub(crate) fn passed(&self, frame: &mut Frame<'_>) -> Passed {
        // With less no position gets through, as it compares with the last one that does.
        let (start, ram_end, group_end) = match self.size.checked_sub(LONGEST + PAGE) {
            Some(end) => (self.start, end + PAGE, end),
            None => (ptr::null_mut(), 0, 0),
        };
        let notes = frame.notes.first();
        let [.., fs, gs, _, _] = *frame.bases;
        let floats = frame.mxcsr & (MASKS | RESERVED) == MASKS;
        Passed {
            registers: frame.registers.as_mut_ptr(),
            epoch: frame.epoch,
            limit: notes.wrapping_add(frame.limit),
            tlb: frame.tlb.as_ptr(),
            tlb_mask: (frame.tlb.len().saturating_sub(1) * size_of::<Entry>()) as u64,
            ram: start,
            ram_end,
            group_end,
            fs,
            gs,
            rip: frame.rip,
            block: 0,
            detail: 0,
            branches: frame.branches.as_mut_ptr(),
            note: notes.wrapping_add(frame.next),
            flags: 0,
            vectors: frame.vectors,
            operations: frame.operations.as_mut_ptr(),
            // Reserved bits would fault.
            mxcsr: if floats { frame.mxcsr } else { RESET_MXCSR },
            masks: frame.masks.as_mut_ptr(),
            most: match frame {
                Frame { sse: false, .. } => Vectors::None,
                Frame { avx: false, .. } => Vectors::Sse,
                Frame { avx512: false, .. } => Vectors::Avx,
                _ => Vectors::Avx512,
            } as u32,
            no_floats: u32::from(!floats),
            resume: 0,
            room: notes.wrapping_add(frame.room),
            // More cannot be executed until the notes are full.
            left: frame.left.min(MANY),
        }
    }

    /// True if there is enough for an operand, and what is aligned for the guest is for the host.
    pub(crate) fn suffices(&self) -> bool {
        self.size >= LONGEST + PAGE && self.start.addr().is_multiple_of(ALIGNMENT)
    }
}
