//! Memory accesses of guest instructions.

use super::{Flushed, Intent, OFFSET, PAGE, is_canonical, view};
use crate::bus::Bus;
use crate::context::{CR0_AM, CR4_SMAP, Core};
use crate::exception::{self, Done, Exception, Fault};
use crate::exec::Insn;
use crate::flags::AC;
use crate::low::Low;
use crate::width::Memory;
use retire::{CoreEvent, Observer};

/// Bytes of an operand at most.
const LARGEST: usize = 64;
/// Bytes that a device is asked for at once at most.
const MMIO: usize = 16;

/// Where a read-modify-write goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// A RAM position in a page without code.
    Ram(u64),
    /// Anything else: physical addresses of the first and, if the access crosses a page, second part.
    Slow { first: u64, second: u64, split: usize },
}

impl Core {
    /// Loads from a linear address. `stack` selects #SS over #GP for non-canonical addresses.
    #[inline(always)]
    pub(crate) fn load<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        stack: bool,
    ) -> Result<T, Fault> {
        if !B::OBSERVED
            && let Some(position) = self.mmu.tlb.entry(self.user, linear).readable(linear, T::BYTES)
        {
            return Ok(T::ram_read(bus, position));
        }
        self.load_slow(bus, linear, self.user, stack)
    }

    /// Stores to a linear address.
    #[inline(always)]
    pub(crate) fn store<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        value: T,
        stack: bool,
    ) -> Result<(), Fault> {
        if !B::OBSERVED
            && let Some(position) = self.mmu.tlb.entry(self.user, linear).writable(linear, T::BYTES)
        {
            value.ram_write(bus, position);
            return Ok(());
        }
        self.store_slow(bus, linear, value, self.user, stack)
    }

    /// Loads for a read-modify-write: also checks that the store will succeed.
    #[inline(always)]
    pub(crate) fn load_for_update<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        stack: bool,
    ) -> Result<(T, Target), Fault> {
        if !B::OBSERVED
            && let Some(position) = self.mmu.tlb.entry(self.user, linear).writable(linear, T::BYTES)
        {
            return Ok((T::ram_read(bus, position), Target::Ram(position)));
        }
        self.load_for_update_slow(bus, linear, stack)
    }

    #[inline(always)]
    pub(crate) fn store_update<T: Memory, B: Bus>(&mut self, bus: &mut B, target: Target, value: T) {
        match target {
            Target::Ram(position) => value.ram_write(bus, position),
            Target::Slow { first, second, split } => {
                self.write_parts(bus, value, first, second, split);
            }
        }
    }

    /// Loads, if the TLB knows the page.
    #[inline(always)]
    pub(crate) fn quick_load<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        i: &Insn<B>,
        linear: u64,
    ) -> Option<T> {
        let entry = self.mmu.tlb.entry(self.user, linear);
        let position = entry.readable(linear, T::BYTES)?;
        let value = T::ram_read_quick(bus, position)?;
        if B::OBSERVED {
            self.watch.note_quick(i.position.index, entry.place(linear, position), T::BYTES, false);
        }
        Some(value)
    }

    /// Stores, if the TLB knows the page; false, and nothing happens, if not.
    #[inline(always)]
    pub(crate) fn quick_store<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        i: &Insn<B>,
        linear: u64,
        value: T,
    ) -> bool {
        let entry = self.mmu.tlb.entry(self.user, linear);
        let Some(position) = entry.writable(linear, T::BYTES) else { return false };
        if !value.ram_write_quick(bus, position) {
            return false;
        }
        if B::OBSERVED {
            self.watch.note_quick(i.position.index, entry.place(linear, position), T::BYTES, true);
        }
        true
    }

    /// Reads, applies `f` and writes, if the TLB knows the page; false, and nothing happens, if not.
    #[inline(always)]
    pub(crate) fn quick_update<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        i: &Insn<B>,
        linear: u64,
        f: impl FnOnce(&mut Self, T) -> T,
    ) -> bool {
        let entry = self.mmu.tlb.entry(self.user, linear);
        let Some(position) = entry.writable(linear, T::BYTES) else { return false };
        // What can be read quickly can be written so.
        let Some(old) = T::ram_read_quick(bus, position) else { return false };
        if B::OBSERVED {
            self.watch.note_update(i.position.index, entry.place(linear, position), T::BYTES);
        }
        let new = f(self, old);
        new.ram_write_quick(bus, position)
    }

    /// Where a linear address is in RAM, and how many bytes of its page follow, if the TLB knows that it can be
    /// read.
    pub(crate) fn readable(&self, linear: u64) -> Option<(u64, u64)> {
        let position = self.mmu.tlb.entry(self.user, linear).readable(linear, 1)?;
        Some((position, PAGE - (linear & OFFSET)))
    }

    /// The same for writes.
    pub(crate) fn writable(&self, linear: u64) -> Option<(u64, u64)> {
        let position = self.mmu.tlb.entry(self.user, linear).writable(linear, 1)?;
        Some((position, PAGE - (linear & OFFSET)))
    }

    /// Loads with supervisor rights: descriptor tables and task state.
    pub(crate) fn system_load<T: Memory, B: Bus>(&mut self, bus: &mut B, linear: u64) -> Result<T, Fault> {
        self.load_slow(bus, linear, 0, false)
    }

    /// Stores with supervisor rights.
    pub(crate) fn system_store<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        value: T,
    ) -> Result<(), Fault> {
        self.store_slow(bus, linear, value, 0, false)
    }

    #[cold]
    #[inline(never)]
    fn load_slow<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        user: usize,
        stack: bool,
    ) -> Result<T, Fault> {
        if B::OBSERVED
            && let Some(value) = self.watched_load(bus, linear, user)
        {
            return Ok(value);
        }
        let (first, second, split) = self.parts::<T, B>(bus, linear, Intent::Read, user, stack)?;
        if B::OBSERVED && self.watch.batched {
            self.watch_single(bus, (first, second, split), T::BYTES, false)?;
        }
        self.watch_parts::<B>(linear, T::BYTES, (first, second, split), false);
        Ok(self.read_parts(bus, first, second, split))
    }

    #[cold]
    #[inline(never)]
    fn store_slow<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        value: T,
        user: usize,
        stack: bool,
    ) -> Result<(), Fault> {
        if B::OBSERVED && self.watched_store(bus, linear, value, user) {
            return Ok(());
        }
        let (first, second, split) = self.parts::<T, B>(bus, linear, Intent::Write, user, stack)?;
        if B::OBSERVED && self.watch.batched {
            self.watch_single(bus, (first, second, split), T::BYTES, true)?;
        }
        self.watch_parts::<B>(linear, T::BYTES, (first, second, split), true);
        self.write_parts(bus, value, first, second, split);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn load_for_update_slow<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        stack: bool,
    ) -> Result<(T, Target), Fault> {
        if B::OBSERVED
            && let Some(update) = self.watched_update(bus, linear)
        {
            return Ok(update);
        }
        let (first, second, split) = self.parts::<T, B>(bus, linear, Intent::Write, self.user, stack)?;
        if B::OBSERVED && self.watch.batched {
            self.watch_single(bus, (first, second, split), T::BYTES, true)?;
        }
        self.watch_parts::<B>(linear, T::BYTES, (first, second, split), false);
        self.watch_parts::<B>(linear, T::BYTES, (first, second, split), true);
        let value = self.read_parts(bus, first, second, split);
        Ok((value, Target::Slow { first, second, split }))
    }

    /// Physical addresses of the part of an operand in its first page and the rest, and how many bytes
    /// are in the first.
    fn parts<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        intent: Intent,
        user: usize,
        stack: bool,
    ) -> Result<(u64, u64, usize), Fault> {
        let last = self.wrap_linear(linear.wrapping_add(T::BYTES as u64 - 1));
        if !self.canonical(linear) || !self.canonical(last) {
            let vector = if stack { exception::SS } else { exception::GP };
            return Err(self.raise(Exception::with_error(vector, 0)));
        }
        let first = self.translate(bus, linear, intent, user)?;
        if self.breakpoints.data {
            self.watch_data(linear, T::BYTES, intent);
        }
        let parts = if linear & !OFFSET == last & !OFFSET {
            (first, 0, T::BYTES)
        } else {
            let second = self.translate(bus, last & !OFFSET, intent, user)?;
            (first, second, (PAGE - (linear & OFFSET)).low_usize())
        };
        if user == view::ALIGNED {
            self.check_alignment(linear, T::BYTES)?;
        }
        Ok(parts)
    }

    fn read_parts<T: Memory, B: Bus>(&mut self, bus: &mut B, first: u64, second: u64, split: usize) -> T {
        let mut bytes = [0; LARGEST];
        let (low, high) = bytes[..T::BYTES].split_at_mut(split);
        self.read_physical(bus, first, low);
        if !high.is_empty() {
            self.read_physical(bus, second, high);
        }
        T::from_bytes(&bytes)
    }

    fn write_parts<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        value: T,
        first: u64,
        second: u64,
        split: usize,
    ) {
        let mut bytes = [0; LARGEST];
        value.to_bytes(&mut bytes);
        let (low, high) = bytes[..T::BYTES].split_at(split);
        self.write_physical(bus, first, low);
        if !high.is_empty() {
            self.write_physical(bus, second, high);
        }
    }

    /// Reads within a page, from RAM or a device.
    pub(crate) fn read_physical<B: Bus>(&mut self, bus: &mut B, gpa: u64, data: &mut [u8]) {
        let Some(page) = bus.ram_page(gpa & !OFFSET) else {
            self.sync(bus);
            self.watch.mark_uncached();
            for (part, at) in data.chunks_mut(MMIO).zip((gpa..).step_by(MMIO)) {
                bus.mmio_read(at, part, &self.access());
            }
            self.after_bus(bus);
            return;
        };
        let position = page + (gpa & OFFSET);
        match <&mut [u8; 8]>::try_from(&mut *data) {
            Ok(word) => *word = bus.ram_read(position),
            Err(_) => data.iter_mut().zip(position..).for_each(|(byte, at)| [*byte] = bus.ram_read(at)),
        }
    }

    /// Writes within a page, to RAM or a device.
    pub(crate) fn write_physical<B: Bus>(&mut self, bus: &mut B, gpa: u64, data: &[u8]) {
        let Some(page) = bus.ram_page(gpa & !OFFSET) else {
            self.sync(bus);
            self.watch.mark_uncached();
            for (part, at) in data.chunks(MMIO).zip((gpa..).step_by(MMIO)) {
                bus.mmio_write(at, part, &self.access());
            }
            self.after_bus(bus);
            return;
        };
        if self.mmu.code.note_write(gpa, data.len() as u64) {
            self.stop = true;
            if let Some(observer) = bus.observer() {
                observer.event(CoreEvent::CodeWritten(gpa));
            }
        }
        let position = page + (gpa & OFFSET);
        for (byte, at) in data.iter().zip(position..) {
            bus.ram_write(at, [*byte]);
        }
    }

    /// Linear addresses have 32 bits outside 64-bit mode.
    pub(crate) fn wrap_linear(&self, linear: u64) -> u64 {
        if self.in_64_bit_mode() || self.long_mode() { linear } else { linear & 0xFFFF_FFFF }
    }

    pub(crate) fn canonical(&self, linear: u64) -> bool {
        !self.long_mode() || is_canonical(linear)
    }

    pub(crate) fn flush_tlb(&mut self) {
        self.mmu.tlb.flush();
        self.remap = Some(Flushed::All);
        // What is known of code is forgotten before the next block.
        self.stop = true;
    }
}

impl Core {
    /// The view of explicit accesses at a privilege level.
    pub(crate) fn view_at(&self, cpl: u8) -> usize {
        let ac = self.rflags & AC != 0;
        match cpl {
            3 if ac && self.cr0 & CR0_AM != 0 => view::ALIGNED,
            3 => view::USER,
            _ if ac && self.cr4 & CR4_SMAP != 0 => view::UNGUARDED,
            _ => view::SUPERVISOR,
        }
    }

    /// #AC unless an operand of `size` bytes is aligned. Those of 16 bytes have rules of their own.
    #[cold]
    pub(crate) fn check_alignment(&mut self, linear: u64, size: usize) -> Done {
        if matches!(size, 2 | 4 | 8) && linear & (size as u64 - 1) != 0 {
            return Err(self.raise(Exception::with_error(exception::AC, 0)));
        }
        Ok(())
    }
}
