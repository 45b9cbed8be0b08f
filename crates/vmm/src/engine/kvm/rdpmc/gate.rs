//! The guest's #GP gate, and descriptors of its GDT and LDT.
//!
//! Layouts: SDM volume 3A, "Segment Descriptors", "IDT Descriptors", "64-Bit Mode IDT".

use crate::engine::paging::Paging;
use kvm_bindings::{kvm_segment, kvm_sregs};
use platform::convert::{host_size, low_u16, low_u32};
use platform::memory::GuestMemory;

/// Vector of #GP.
const GP_VECTOR: u64 = 13;
/// CR0.PE.
const CR0_PE: u64 = 1;

/// Width of what a gate pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameSize {
    Bits16,
    Bits32,
    Bits64,
}

/// Where #GP takes the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gate {
    /// Linear address of the handler's first instruction.
    pub(super) handler: u64,
    pub(super) size: FrameSize,
}

/// Raw bytes of the gate; a 32-bit gate uses the first eight.
pub(super) type GateBytes = [u8; 16];

/// Linear address and size of the #GP gate; `None` in real mode or when the IDT ends before it.
pub(super) fn location(sregs: &kvm_sregs, long: bool) -> Option<(u64, usize)> {
    let size: u64 = if long { 16 } else { 8 };
    let start = GP_VECTOR * size;
    let inside = u64::from(sregs.idt.limit) >= start + size - 1;
    (inside && sregs.cr0 & CR0_PE != 0).then(|| (sregs.idt.base.wrapping_add(start), host_size(size)))
}

impl Gate {
    /// Decodes an interrupt or trap gate; `None` for a gate that is absent or of another type.
    pub(super) fn decode(
        bytes: &GateBytes,
        sregs: &kvm_sregs,
        paging: &Paging,
        memory: &GuestMemory,
    ) -> Option<Self> {
        let low = u64::from_le_bytes(first_8(bytes));
        let present = low >> 47 & 1 != 0;
        let kind = low >> 40 & 0x1F;
        let selector = low_u16(low >> 16);
        let offset = low & 0xFFFF | low >> 32 & 0xFFFF_0000;
        if !present {
            return None;
        }
        let (offset, size) = match (paging.is_long(), kind) {
            (true, 0xE | 0xF) => {
                let high = u64::from(u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]));
                (offset | high << 32, FrameSize::Bits64)
            }
            (false, 0xE | 0xF) => (offset, FrameSize::Bits32),
            (false, 0x6 | 0x7) => (offset & 0xFFFF, FrameSize::Bits16),
            _ => return None,
        };
        let handler = match size {
            FrameSize::Bits64 => offset,
            _ => {
                let code = segment(selector, sregs, paging, memory)?;
                code.base.wrapping_add(offset) & 0xFFFF_FFFF
            }
        };
        Some(Self { handler, size })
    }
}

/// The segment register that loading `selector` gives, hidden part included; `None` for a null
/// selector, one beyond its table, or a descriptor that is absent or not code or data.
pub(super) fn segment(
    selector: u16,
    sregs: &kvm_sregs,
    paging: &Paging,
    memory: &GuestMemory,
) -> Option<kvm_segment> {
    const LOCAL: u16 = 1 << 2;
    let (base, limit) = if selector & LOCAL == 0 {
        (sregs.gdt.base, u32::from(sregs.gdt.limit))
    } else if sregs.ldt.unusable == 0 && sregs.ldt.present != 0 {
        (sregs.ldt.base, sregs.ldt.limit)
    } else {
        return None;
    };
    let offset = u32::from(selector & !7);
    if selector & !3 == 0 || offset + 7 > limit {
        return None;
    }
    let mut bytes = [0; 8];
    if !paging.read(memory, base.wrapping_add(u64::from(offset)), &mut bytes) {
        return None;
    }
    let found = descriptor(u64::from_le_bytes(bytes), selector);
    (found.present != 0 && found.s != 0).then_some(found)
}

fn descriptor(raw: u64, selector: u16) -> kvm_segment {
    let bit = |n: u32| (raw >> n & 1) as u8;
    let limit = low_u32(raw & 0xFFFF | raw >> 32 & 0xF_0000);
    kvm_segment {
        base: raw >> 16 & 0xFF_FFFF | raw >> 32 & 0xFF00_0000,
        limit: if bit(55) != 0 { limit << 12 | 0xFFF } else { limit },
        selector,
        type_: (raw >> 40 & 0xF) as u8,
        s: bit(44),
        dpl: (raw >> 45 & 3) as u8,
        present: bit(47),
        avl: bit(52),
        l: bit(53),
        db: bit(54),
        g: bit(55),
        unusable: 0,
        padding: 0,
    }
}

fn first_8(bytes: &GateBytes) -> [u8; 8] {
    let mut first = [0; 8];
    first.copy_from_slice(&bytes[..8]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_user_code_descriptor_has_its_attributes() {
        let user = descriptor(0x00AF_FB00_0000_FFFF, 0x33);
        assert_eq!((user.base, user.limit, user.selector), (0, u32::MAX, 0x33));
        assert_eq!((user.type_, user.s, user.dpl, user.present), (0xB, 1, 3, 1));
        assert_eq!((user.l, user.db, user.g), (1, 0, 1));
    }

    #[test]
    fn base_and_byte_limit_are_put_together() {
        let odd = descriptor(0x1240_F334_5678_9ABC, 0x8);
        assert_eq!((odd.base, odd.limit), (0x1234_5678, 0x9ABC));
        assert_eq!((odd.db, odd.g, odd.dpl), (1, 0, 3));
    }

    #[test]
    fn the_gate_must_lie_inside_the_idt() {
        let mut sregs = kvm_sregs { cr0: CR0_PE, ..kvm_sregs::default() };
        sregs.idt.base = 0x1000;
        sregs.idt.limit = 14 * 16 - 1;
        assert_eq!(location(&sregs, true), Some((0x10D0, 16)));
        assert_eq!(location(&sregs, false), Some((0x1068, 8)));
        sregs.idt.limit = 14 * 16 - 2;
        assert_eq!(location(&sregs, true), None);
        sregs.cr0 = 0;
        assert_eq!(location(&sregs, false), None, "real mode");
    }
}
