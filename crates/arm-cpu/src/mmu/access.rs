//! Memory accesses of guest instructions.

use super::context::view;
use super::fault::Status;
use super::{Intent, OFFSET, PAGE};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use retire::{CoreEvent, Observer};
use soft_base::{Low, Operand};

/// The bits of an address that tell pages apart and, for an operand, whether it is aligned.
const fn checked_bits<T: Operand>() -> u64 {
    !OFFSET | (T::BYTES as u64 - 1)
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

    #[inline(always)]
    fn load_as<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64, view: usize) -> Result<T, Fault> {
        // An aligned operand does not cross pages.
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
        let entry = self.mmu.tlb.entry(view, va);
        if let Some(position) = entry.readable(va, T::BYTES) {
            let place = entry.place(va, position);
            self.note_access::<B>(place, T::BYTES, false);
            return Ok(T::ram_read(bus, position));
        }
        let (first, second, split) = self.parts(bus, va, T::BYTES, Intent::Read, view)?;
        let mut bytes = [0; 16];
        let (low, high) = bytes[..T::BYTES].split_at_mut(split);
        self.read_physical(bus, va, first, low)?;
        if !high.is_empty() {
            self.read_physical(bus, va.wrapping_add(split as u64), second, high)?;
        }
        Ok(T::from_bytes(&bytes))
    }

    #[inline(never)]
    fn store_slow<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64, value: T, view: usize) -> Done {
        self.check_alignment(va, T::BYTES, Intent::Write)?;
        let entry = self.mmu.tlb.entry(view, va);
        if let Some(position) = entry.writable(va, T::BYTES) {
            let place = entry.place(va, position);
            self.note_access::<B>(place, T::BYTES, true);
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
        Ok(())
    }

    /// Counts an access that is not aligned, and refuses it where all have to be.
    #[inline(always)]
    fn check_alignment(&mut self, va: u64, size: usize, intent: Intent) -> Done {
        if va & (size as u64 - 1) == 0 {
            return Ok(());
        }
        if self.aligned {
            return Err(self.abort(va, Status::Alignment, intent));
        }
        self.totals.at(self.el).unaligned += 1;
        Ok(())
    }

    /// An alignment fault unless the address is a multiple of `size`: exclusives, acquire and release.
    #[inline(always)]
    pub(crate) fn require_aligned(&mut self, va: u64, size: usize, intent: Intent) -> Done {
        if va & (size as u64 - 1) == 0 { Ok(()) } else { Err(self.abort(va, Status::Alignment, intent)) }
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
        let first = self.translate(bus, va, intent, view)?;
        let unaligned = va & (size as u64 - 1) != 0;
        if unaligned && first.is_device() {
            return Err(self.abort(va, Status::Alignment, intent));
        }
        self.check_watchpoints(va, size, intent)?;
        let last = va.wrapping_add(size as u64 - 1);
        if va & !OFFSET == last & !OFFSET {
            return Ok((first.address, 0, size));
        }
        let next = last & !OFFSET;
        let second = self.translate(bus, next, intent, view)?;
        if second.is_device() {
            return Err(self.abort(next, Status::Alignment, intent));
        }
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
            self.sync();
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
            self.sync();
            if bus.mmio_write(address, data, &self.access()).is_err() {
                return Err(self.abort(va, Status::External, Intent::Write));
            }
            self.after_bus(bus);
            return Ok(());
        };
        self.note_walked::<B>(va, address, data.len(), true);
        if self.mmu.code.note_write(address, data.len() as u64) {
            self.stop = true;
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
        Ok(self.translate(bus, va, intent, self.view)?.address)
    }
}
