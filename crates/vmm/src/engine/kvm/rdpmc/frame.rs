//! What the CPU pushed before the first instruction of the #GP handler.
//!
//! SDM volume 3A, "Exception- or Interrupt-Handler Procedures" and "64-Bit Mode Stack Frame". #GP
//! always has an error code, which lies on top.

use super::gate::{self, FrameSize};
use crate::engine::paging::Paging;
use kvm_bindings::{kvm_regs, kvm_segment, kvm_sregs};
use platform::convert::{low_u8, low_u16};
use platform::memory::GuestMemory;

/// RFLAGS.VM.
const VM86: u64 = 1 << 17;

/// The interrupted context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) error_code: u64,
    pub(super) rip: u64,
    pub(super) cs: u16,
    pub(super) rflags: u64,
    pub(super) rsp: u64,
    /// The pushed SS; `None` when the stack was not switched, so that SS is still the old one.
    pub(super) ss: Option<u16>,
}

/// The segment registers to go back to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segments {
    pub(super) cs: kvm_segment,
    pub(super) ss: kvm_segment,
}

impl Frame {
    /// Reads the frame at SS:RSP. `None` if it is not in RAM, or comes from virtual-8086 mode.
    pub(super) fn read(
        size: FrameSize,
        regs: &kvm_regs,
        sregs: &kvm_sregs,
        paging: &Paging,
        memory: &GuestMemory,
    ) -> Option<Self> {
        let word: usize = match size {
            FrameSize::Bits16 => 2,
            FrameSize::Bits32 => 4,
            FrameSize::Bits64 => 8,
        };
        let long = size == FrameSize::Bits64;
        let stack_mask = match (long, sregs.ss.db) {
            (true, _) => u64::MAX,
            (false, 0) => 0xFFFF,
            (false, _) => 0xFFFF_FFFF,
        };
        let top =
            if long { regs.rsp } else { sregs.ss.base.wrapping_add(regs.rsp & stack_mask) & 0xFFFF_FFFF };
        let read = |words: usize| {
            let mut bytes = [0; 6 * 8];
            let bytes = &mut bytes[..words * word];
            if !paging.read(memory, top, bytes) {
                return None;
            }
            let mut values = [0_u64; 6];
            for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(word)) {
                *value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            }
            Some(values)
        };
        let [error_code, rip, cs, rflags, ..] = read(4)?;
        if rflags & VM86 != 0 {
            return None;
        }
        let switched = long || (low_u8(cs) & 3) > sregs.ss.dpl & 3;
        let (rsp, ss) = if switched {
            let [.., rsp, ss] = read(6)?;
            (rsp, Some(low_u16(ss)))
        } else {
            let below = regs.rsp.wrapping_add(4 * word as u64);
            (regs.rsp & !stack_mask | below & stack_mask, None)
        };
        Some(Self { error_code, rip, cs: low_u16(cs), rflags, rsp, ss })
    }

    /// Privilege level of the interrupted code.
    pub(super) fn cpl(&self) -> u8 {
        low_u8(self.cs.into()) & 3
    }

    /// CS and SS of the interrupted context with their hidden parts: unchanged registers as they are,
    /// others from the descriptor tables, where the CPU had them from. `None` if they are not there.
    pub(super) fn segments(
        &self,
        sregs: &kvm_sregs,
        paging: &Paging,
        memory: &GuestMemory,
    ) -> Option<Segments> {
        let same_cpl = self.cpl() == sregs.ss.dpl & 3;
        let cs = if same_cpl && self.cs == sregs.cs.selector {
            sregs.cs
        } else {
            gate::segment(self.cs, sregs, paging, memory)?
        };
        let ss = match self.ss {
            None => sregs.ss,
            Some(selector) if same_cpl && selector == sregs.ss.selector => sregs.ss,
            // A null SS is legal in 64-bit code below ring 3; it still carries the CPL.
            Some(selector) if selector & !3 == 0 && self.cpl() < 3 && paging.is_long() => {
                kvm_segment { selector, dpl: self.cpl(), unusable: 1, ..kvm_segment::default() }
            }
            Some(selector) => {
                let ss = gate::segment(selector, sregs, paging, memory)?;
                (ss.dpl == self.cpl()).then_some(ss)?
            }
        };
        Some(Segments { cs, ss })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::memory::MemoryConfig;
    use platform::x86::memory::LAYOUT;

    const STACK: u64 = 0x8000;

    /// Guest RAM with `values` of `word` bytes each at [`STACK`], paging off.
    fn stack(word: usize, values: &[u64]) -> GuestMemory {
        let memory = GuestMemory::new(MemoryConfig { size_mib: 4 }, &LAYOUT).unwrap();
        for (n, value) in values.iter().enumerate() {
            memory.write(STACK + (n * word) as u64, &value.to_le_bytes()[..word]).unwrap();
        }
        memory
    }

    fn read(size: FrameSize, memory: &GuestMemory, cpl: u8, rsp: u64, db: u8) -> Option<Frame> {
        let regs = kvm_regs { rsp, ..kvm_regs::default() };
        let ss = kvm_segment { dpl: cpl, db, ..kvm_segment::default() };
        let sregs = kvm_sregs { ss, ..kvm_sregs::default() };
        Frame::read(size, &regs, &sregs, &Paging::of(&sregs), memory)
    }

    #[test]
    fn a_64_bit_frame_always_has_the_stack() {
        let memory = stack(8, &[0, 0xFFFF_8000_0000_1234, 0x10, 0x10246, 0x7FFF_0000, 0x18]);
        let frame = read(FrameSize::Bits64, &memory, 0, STACK, 0).unwrap();
        assert_eq!((frame.rip, frame.cs, frame.cpl()), (0xFFFF_8000_0000_1234, 0x10, 0));
        assert_eq!((frame.rsp, frame.ss, frame.rflags), (0x7FFF_0000, Some(0x18), 0x10246));
    }

    #[test]
    fn a_32_bit_frame_of_the_same_ring_ends_after_eflags() {
        let memory = stack(4, &[0, 0x40_1000, 0x08, 0x202, 0xDEAD, 0xBEEF]);
        let frame = read(FrameSize::Bits32, &memory, 0, STACK, 1).unwrap();
        assert_eq!((frame.rip, frame.rsp, frame.ss), (0x40_1000, STACK + 16, None));
    }

    #[test]
    fn a_32_bit_frame_from_ring_3_has_the_stack() {
        let memory = stack(4, &[0, 0x40_1000, 0x1B, 0x202, 0x9000, 0x23]);
        let frame = read(FrameSize::Bits32, &memory, 0, STACK, 1).unwrap();
        assert_eq!((frame.cpl(), frame.rsp, frame.ss), (3, 0x9000, Some(0x23)));
    }

    #[test]
    fn sixteen_bit_gates_and_stacks() {
        let memory = stack(2, &[0, 0x1000, 0x08, 0x202]);
        let frame = read(FrameSize::Bits16, &memory, 0, 0xABCD_0000 | STACK, 0).unwrap();
        assert_eq!((frame.rip, frame.rsp), (0x1000, 0xABCD_0000 | (STACK + 8)));
    }

    #[test]
    fn virtual_8086_mode_and_stacks_outside_of_ram_are_refused() {
        let memory = stack(4, &[0, 0x1000, 0x1B, 0x202 | VM86, 0, 0]);
        assert_eq!(read(FrameSize::Bits32, &memory, 0, STACK, 1), None);
        assert_eq!(read(FrameSize::Bits32, &memory, 0, 0x4000_0000, 1), None);
    }

    /// A GDT at 0x1000: null, ring-0 code and data, ring-3 data and 64-bit code.
    fn with_gdt(memory: &GuestMemory) -> kvm_sregs {
        let entries: [u64; 5] =
            [0, 0x00AF_9B00_0000_FFFF, 0x00CF_9300_0000_FFFF, 0x00CF_F300_0000_FFFF, 0x00AF_FB00_0000_FFFF];
        for (n, entry) in entries.into_iter().enumerate() {
            memory.write(0x1000 + 8 * n as u64, &entry.to_le_bytes()).unwrap();
        }
        let mut sregs = kvm_sregs::default();
        sregs.gdt.base = 0x1000;
        sregs.gdt.limit = 39;
        sregs.cs = kvm_segment { selector: 0x08, l: 1, ..kvm_segment::default() };
        sregs.ss = kvm_segment { selector: 0, dpl: 0, unusable: 1, ..kvm_segment::default() };
        sregs
    }

    fn frame(cs: u16, ss: u16) -> Frame {
        Frame { error_code: 0, rip: 0x1000, cs, rflags: 2, rsp: 0x2000, ss: Some(ss) }
    }

    #[test]
    fn ring_3_segments_come_from_the_gdt() {
        let memory = stack(8, &[]);
        let sregs = with_gdt(&memory);
        let to = frame(0x23, 0x1B).segments(&sregs, &Paging::of(&sregs), &memory).unwrap();
        assert_eq!((to.cs.selector, to.cs.dpl, to.cs.l), (0x23, 3, 1));
        assert_eq!((to.ss.selector, to.ss.dpl, to.ss.db), (0x1B, 3, 1));
    }

    #[test]
    fn an_unchanged_null_ss_stays() {
        let memory = stack(8, &[]);
        let sregs = with_gdt(&memory);
        let to = frame(0x08, 0).segments(&sregs, &Paging::of(&sregs), &memory).unwrap();
        assert_eq!((to.cs, to.ss), (sregs.cs, sregs.ss));
    }

    #[test]
    fn a_stack_of_the_wrong_ring_and_a_selector_beyond_the_table_are_refused() {
        let memory = stack(8, &[]);
        let sregs = with_gdt(&memory);
        let paging = Paging::of(&sregs);
        assert_eq!(frame(0x23, 0x10).segments(&sregs, &paging, &memory), None);
        assert_eq!(frame(0x2B, 0x1B).segments(&sregs, &paging, &memory), None);
        assert_eq!(frame(0x23, 0x03).segments(&sregs, &paging, &memory), None, "null SS in ring 3");
    }
}
