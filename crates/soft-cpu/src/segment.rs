//! Segment descriptors and loading of segment registers (SDM volume 3, chapters 3 and 5).

use crate::bus::Bus;
use crate::context::{CS, Core, FS, SS};
use crate::exception::{self, Done, Exception, Fault};
use crate::low::Low;
use crate::state::Segment;

/// A descriptor as it stands in memory; the upper half only counts for system descriptors in long
/// mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Descriptor {
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// Linear address of the entry.
    pub(crate) address: u64,
}

impl Descriptor {
    pub(crate) fn kind(&self) -> u16 {
        (self.low >> 40 & 0xF) as u16
    }
    /// S: code or data.
    pub(crate) fn ordinary(&self) -> bool {
        self.low >> 44 & 1 != 0
    }
    pub(crate) fn dpl(&self) -> u8 {
        (self.low >> 45 & 3) as u8
    }
    pub(crate) fn present(&self) -> bool {
        self.low >> 47 & 1 != 0
    }
    pub(crate) fn is_code(&self) -> bool {
        self.ordinary() && self.kind() & 8 != 0
    }
    pub(crate) fn conforming(&self) -> bool {
        self.kind() & 4 != 0
    }
    pub(crate) fn long(&self) -> bool {
        self.low >> 53 & 1 != 0
    }
    pub(crate) fn big(&self) -> bool {
        self.low >> 54 & 1 != 0
    }

    /// The segment register that this descriptor makes.
    pub(crate) fn segment(&self, selector: u16) -> Segment {
        let granular = self.low >> 55 & 1 != 0;
        let limit = (self.low & 0xFFFF | self.low >> 32 & 0xF_0000).low_u32();
        let base = self.low >> 16 & 0xFF_FFFF | self.low >> 32 & 0xFF00_0000;
        let rights = (self.low >> 40).low_u16() & 0xF0FF;
        Segment {
            selector,
            base: base | if self.ordinary() { 0 } else { self.high << 32 },
            limit: if granular { limit << 12 | 0xFFF } else { limit },
            rights,
        }
    }
}

/// Error code of a selector.
pub(crate) fn selector_error(selector: u16) -> u32 {
    u32::from(selector & !3)
}

impl Core {
    pub(crate) fn selector_fault(&mut self, vector: u8, selector: u16) -> Fault {
        self.raise(Exception::with_error(vector, selector_error(selector)))
    }

    /// Reads the descriptor of a selector; `wide` for 16-byte system descriptors.
    pub(crate) fn descriptor<B: Bus>(
        &mut self,
        bus: &mut B,
        selector: u16,
        vector: u8,
        wide: bool,
    ) -> Result<Descriptor, Fault> {
        let (base, limit) = if selector & 4 == 0 {
            (self.gdtr.base, u32::from(self.gdtr.limit))
        } else if self.ldtr.present() && self.ldtr.selector & !3 != 0 {
            (self.ldtr.base, self.ldtr.limit)
        } else {
            return Err(self.selector_fault(vector, selector));
        };
        let offset = u32::from(selector & !7);
        let size = if wide { 16 } else { 8 };
        if offset + size - 1 > limit {
            return Err(self.selector_fault(vector, selector));
        }
        let address = base.wrapping_add(u64::from(offset));
        let low = self.system_load(bus, address)?;
        let high = if wide { self.system_load(bus, address.wrapping_add(8))? } else { 0 };
        Ok(Descriptor { low, high, address })
    }

    /// Sets the accessed bit (or the busy bit of a TSS, type bit 1) in memory.
    fn set_descriptor_bit<B: Bus>(&mut self, bus: &mut B, descriptor: &mut Descriptor, bit: u32) -> Done {
        if descriptor.low >> bit & 1 == 0 {
            descriptor.low |= 1 << bit;
            self.system_store(bus, descriptor.address.wrapping_add(5), (descriptor.low >> 40).low_u8())?;
        }
        Ok(())
    }

    pub(crate) fn set_accessed<B: Bus>(&mut self, bus: &mut B, descriptor: &mut Descriptor) -> Done {
        self.set_descriptor_bit(bus, descriptor, 40)
    }

    /// MOV or POP to a data segment register, or to SS.
    pub(crate) fn load_segment<B: Bus>(&mut self, bus: &mut B, number: usize, selector: u16) -> Done {
        if number == CS {
            return Err(self.ud());
        }
        if selector & !3 == 0 {
            if number == SS && !(self.in_64_bit_mode() && self.cpl != 3 && selector.low_u8() & 3 == self.cpl)
            {
                return Err(self.gp(0));
            }
            self.set_null(number, selector);
            return Ok(());
        }
        let mut descriptor = self.descriptor(bus, selector, exception::GP, false)?;
        let (rpl, dpl) = (selector.low_u8() & 3, descriptor.dpl());
        let writable = descriptor.kind() & 2 != 0;
        let allowed = if number == SS {
            descriptor.ordinary() && !descriptor.is_code() && writable && rpl == self.cpl && dpl == self.cpl
        } else {
            let readable = !descriptor.is_code() || writable;
            let conforming = descriptor.is_code() && descriptor.conforming();
            descriptor.ordinary() && readable && (conforming || rpl.max(self.cpl) <= dpl)
        };
        if !allowed {
            return Err(self.selector_fault(exception::GP, selector));
        }
        if !descriptor.present() {
            let vector = if number == SS { exception::SS } else { exception::NP };
            return Err(self.selector_fault(vector, selector));
        }
        self.set_accessed(bus, &mut descriptor)?;
        self.segs[number] = descriptor.segment(selector);
        self.update_bases();
        Ok(())
    }

    /// A null selector. The base stays, as on Intel CPUs; in 64-bit mode FS and GS get base 0.
    pub(crate) fn set_null(&mut self, number: usize, selector: u16) {
        let segment = &mut self.segs[number];
        segment.selector = selector;
        if number == SS {
            // Usable in 64-bit mode, with the DPL of the CPU.
            segment.rights = 0xC093 | u16::from(self.cpl) << 5;
            segment.base = 0;
            segment.limit = u32::MAX;
        } else {
            segment.rights &= !0x80;
            if number >= FS {
                segment.base = 0;
            }
        }
        self.update_bases();
    }

    /// LLDT.
    pub(crate) fn load_ldt<B: Bus>(&mut self, bus: &mut B, selector: u16) -> Done {
        if selector & !3 == 0 {
            self.ldtr = Segment { selector, ..Segment::default() };
            return Ok(());
        }
        if selector & 4 != 0 {
            return Err(self.selector_fault(exception::GP, selector));
        }
        let descriptor = self.descriptor(bus, selector, exception::GP, self.long_mode())?;
        if descriptor.ordinary() || descriptor.kind() != 2 {
            return Err(self.selector_fault(exception::GP, selector));
        }
        if !descriptor.present() {
            return Err(self.selector_fault(exception::NP, selector));
        }
        self.require_canonical_base(&descriptor, selector)?;
        self.ldtr = descriptor.segment(selector);
        Ok(())
    }

    /// LTR.
    pub(crate) fn load_task<B: Bus>(&mut self, bus: &mut B, selector: u16) -> Done {
        if selector & !3 == 0 {
            return Err(self.gp(0));
        }
        if selector & 4 != 0 {
            return Err(self.selector_fault(exception::GP, selector));
        }
        let mut descriptor = self.descriptor(bus, selector, exception::GP, self.long_mode())?;
        // Available TSS: 9, or 1 for 16 bits outside long mode.
        let available = descriptor.kind() == 9 || descriptor.kind() == 1 && !self.long_mode();
        if descriptor.ordinary() || !available {
            return Err(self.selector_fault(exception::GP, selector));
        }
        if !descriptor.present() {
            return Err(self.selector_fault(exception::NP, selector));
        }
        self.require_canonical_base(&descriptor, selector)?;
        self.set_descriptor_bit(bus, &mut descriptor, 41)?;
        self.tr = descriptor.segment(selector);
        Ok(())
    }

    /// LLDT and LTR refuse a base that is no address.
    fn require_canonical_base(&mut self, descriptor: &Descriptor, selector: u16) -> Done {
        if self.canonical(descriptor.segment(selector).base) {
            Ok(())
        } else {
            Err(self.selector_fault(exception::GP, selector))
        }
    }

    /// Nulls data segments that an outer privilege level may not use.
    pub(crate) fn drop_inner_segments(&mut self) {
        for number in [0, 3, 4, 5] {
            let segment = self.segs[number];
            let conforming_code = segment.kind() & 0xC == 0xC;
            if segment.present() && segment.dpl() < self.cpl && !conforming_code {
                self.segs[number].selector = 0;
                self.segs[number].rights &= !0x80;
            }
        }
        self.update_bases();
    }
}
