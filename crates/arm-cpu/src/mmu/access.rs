//! Memory accesses of guest instructions.

use super::context::view;
use super::fault::Status;
use super::{Intent, OFFSET, PAGE};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use retire::{CoreEvent, Observer};
use soft_base::{Low, Operand, Place};

/// The bits of an address that tell pages apart and, for an operand, whether it is aligned.
const fn checked_bits<T: Operand>() -> u64 {
    !OFFSET | (T::BYTES as u64 - 1)
}

fn is_aligned(va: u64, size: usize) -> bool {
    va & (size as u64 - 1) == 0
}

impl Core {
    /// Loads from a virtual address.
    #[inline(always)]
    pub(crate) fn load<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64) -> Result<T, Fault> {
        self.load_as(bus, va, self.view)
    }

    /// Stores to a virtual address.
    #[inline(always)]
    pub(crate) fn store<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64, value: T) -> Done {
        self.store_as(bus, va, value, self.view)
    }

    /// Loads as EL0 would: LDTR.
    #[inline(always)]
    pub(crate) fn load_unprivileged<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64) -> Result<T, Fault> {
        self.load_as(bus, va, view::of_el0(self.view))
    }

    /// Stores as EL0 would: STTR.
    #[inline(always)]
    pub(crate) fn store_unprivileged<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64, value: T) -> Done {
        self.store_as(bus, va, value, view::of_el0(self.view))
    }

    /// Loads an aligned operand from RAM, if its translation is at hand. With an observer it never is.
    #[inline(always)]
    pub(crate) fn load_quick<T: Operand, B: Bus>(&self, bus: &mut B, va: u64) -> Option<T> {
        // An aligned operand does not cross pages.
        let entry = self.mmu.tlb.entry(self.view, va);
        if B::OBSERVED || entry.read != va & checked_bits::<T>() {
            return None;
        }
        T::ram_read_quick(bus, entry.addend.wrapping_add(va))
    }

    /// The same for a store; whether it has taken place.
    #[inline(always)]
    pub(crate) fn store_quick<T: Operand, B: Bus>(&self, bus: &mut B, va: u64, value: T) -> bool {
        let entry = self.mmu.tlb.entry(self.view, va);
        !B::OBSERVED
            && entry.write == va & checked_bits::<T>()
            && value.ram_write_quick(bus, entry.addend.wrapping_add(va))
    }

    #[inline(always)]
    fn load_as<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64, view: usize) -> Result<T, Fault> {
        let entry = self.mmu.tlb.entry(view, va);
        if !B::OBSERVED && entry.read == va & checked_bits::<T>() {
            return Ok(T::ram_read(bus, entry.addend.wrapping_add(va)));
        }
        self.load_slow(bus, va, view)
    }

    #[inline(always)]
    fn store_as<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64, value: T, view: usize) -> Done {
        let entry = self.mmu.tlb.entry(view, va);
        if !B::OBSERVED && entry.write == va & checked_bits::<T>() {
            value.ram_write(bus, entry.addend.wrapping_add(va));
            return Ok(());
        }
        self.store_slow(bus, va, value, view)
    }

    #[inline(never)]
    fn load_slow<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64, view: usize) -> Result<T, Fault> {
        self.check_alignment(va, T::BYTES, Intent::Read)?;
        if let Some((position, place)) = self.known(va, T::BYTES, Intent::Read, view) {
            self.note_access::<B>(place, T::BYTES, false);
            self.count_unaligned(va, T::BYTES);
            return Ok(T::ram_read(bus, position));
        }
        let (first, second, split) = self.parts(bus, va, T::BYTES, Intent::Read, view)?;
        let mut bytes = [0; 16];
        let (low, high) = bytes[..T::BYTES].split_at_mut(split);
        self.read_physical(bus, va, first, low)?;
        if !high.is_empty() {
            self.read_physical(bus, va.wrapping_add(split as u64), second, high)?;
        }
        self.count_unaligned(va, T::BYTES);
        Ok(T::from_bytes(&bytes))
    }

    #[inline(never)]
    fn store_slow<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64, value: T, view: usize) -> Done {
        self.check_alignment(va, T::BYTES, Intent::Write)?;
        if let Some((position, place)) = self.known(va, T::BYTES, Intent::Write, view) {
            self.note_access::<B>(place, T::BYTES, true);
            self.count_unaligned(va, T::BYTES);
            value.ram_write(bus, position);
            return Ok(());
        }
        let (first, second, split) = self.parts(bus, va, T::BYTES, Intent::Write, view)?;
        let mut bytes = [0; 16];
        value.to_bytes(&mut bytes);
        let (low, high) = bytes[..T::BYTES].split_at(split);
        self.write_physical(bus, va, first, low)?;
        if !high.is_empty() {
            self.write_physical(bus, va.wrapping_add(split as u64), second, high)?;
        }
        self.count_unaligned(va, T::BYTES);
        Ok(())
    }

    /// Position and place of an operand in RAM, if the TLB has its page, where addresses have no tags.
    #[inline(always)]
    fn known(&self, va: u64, size: usize, intent: Intent, view: usize) -> Option<(u64, Place)> {
        let regime = self.mmu.regime();
        if !is_aligned(va, size) && !regime.is_on() {
            return None;
        }
        let va = regime.untagged(va);
        let entry = self.mmu.tlb.entry(view, va);
        let position =
            if intent == Intent::Write { entry.writable(va, size) } else { entry.readable(va, size) }?;
        Some((position, entry.place(va, position)))
    }

    /// Refuses an access that is not aligned where all have to be, before anything else about its address matters.
    #[inline(always)]
    fn check_alignment(&mut self, va: u64, size: usize, intent: Intent) -> Done {
        if self.aligned { self.require_aligned(va, size, intent) } else { Ok(()) }
    }

    /// Counts an access that has taken place if it was not aligned.
    #[inline(always)]
    fn count_unaligned(&mut self, va: u64, size: usize) {
        self.totals.at(self.el).unaligned += u64::from(!is_aligned(va, size));
    }

    /// An alignment fault unless the address is a multiple of `size`: exclusives, acquire and release.
    #[inline(always)]
    pub(crate) fn require_aligned(&mut self, va: u64, size: usize, intent: Intent) -> Done {
        if is_aligned(va, size) { Ok(()) } else { Err(self.abort(va, Status::Alignment, intent)) }
    }

    /// Physical addresses of the part of an operand in its first page and the rest, and how many bytes
    /// are in the first.
    pub(crate) fn parts<B: Bus>(
        &mut self,
        bus: &mut B,
        va: u64,
        size: usize,
        intent: Intent,
        view: usize,
    ) -> Result<(u64, u64, usize), Fault> {
        let aligned = is_aligned(va, size);
        let first = self.translate(bus, va, intent, view, aligned)?;
        self.check_watchpoints(self.mmu.regime().untagged(va), size, intent)?;
        let last = va.wrapping_add(size as u64 - 1);
        if va & !OFFSET == last & !OFFSET {
            return Ok((first.address, 0, size));
        }
        let next = last & !OFFSET;
        let second = self.translate(bus, next, intent, view, aligned)?;
        Ok((first.address, second.address, (PAGE - (va & OFFSET)).low_usize()))
    }

    /// Reads within a page, from RAM or a device.
    pub(crate) fn read_physical<B: Bus>(
        &mut self,
        bus: &mut B,
        va: u64,
        address: u64,
        data: &mut [u8],
    ) -> Done {
        let Some(page) = bus.ram_page(address & !OFFSET) else {
            self.note_device::<B>(va, address, data.len(), false);
            self.before_bus(bus);
            if bus.mmio_read(address, data, &self.access()).is_err() {
                return Err(self.abort(va, Status::External, Intent::Read));
            }
            self.after_bus(bus);
            return Ok(());
        };
        self.note_walked::<B>(va, address, data.len(), false);
        let position = page + (address & OFFSET);
        match <&mut [u8; 8]>::try_from(&mut *data) {
            Ok(word) => *word = bus.ram_read(position),
            Err(_) => data.iter_mut().zip(position..).for_each(|(byte, at)| [*byte] = bus.ram_read(at)),
        }
        Ok(())
    }

    /// Writes within a page, to RAM or a device.
    pub(crate) fn write_physical<B: Bus>(&mut self, bus: &mut B, va: u64, address: u64, data: &[u8]) -> Done {
        let Some(page) = bus.ram_page(address & !OFFSET) else {
            self.note_device::<B>(va, address, data.len(), true);
            self.before_bus(bus);
            if bus.mmio_write(address, data, &self.access()).is_err() {
                return Err(self.abort(va, Status::External, Intent::Write));
            }
            self.after_bus(bus);
            return Ok(());
        };
        self.note_walked::<B>(va, address, data.len(), true);
        if self.mmu.code.note_write(address, data.len() as u64) {
            self.stop = true;
            self.report_past(bus);
            if let Some(observer) = bus.observer() {
                observer.event(CoreEvent::CodeWritten(address));
            }
        }
        let position = page + (address & OFFSET);
        for (byte, at) in data.iter().zip(position..) {
            bus.ram_write(at, [*byte]);
        }
        Ok(())
    }
}

impl Core {
    /// DC ZVA is about to write: it may, and not to Device memory.
    pub(crate) fn prepare_zeroing<B: Bus>(&mut self, bus: &mut B, va: u64) -> Done {
        if !self.mmu.regime().is_on() || self.known(va, 1, Intent::Write, self.view).is_none() {
            self.translate(bus, va, Intent::Write, self.view, false)?;
        }
        Ok(())
    }

    /// Where an access at the current level goes.
    pub(crate) fn physical_address<B: Bus>(
        &mut self,
        bus: &mut B,
        va: u64,
        intent: Intent,
    ) -> Result<u64, Fault> {
        let entry = self.mmu.tlb.entry(self.view, va);
        let known = if intent == Intent::Write { entry.write } else { entry.read };
        if known == va & !OFFSET {
            return Ok(entry.gpa() | va & OFFSET);
        }
        Ok(self.translate(bus, va, intent, self.view, true)?.address)
    }
}
