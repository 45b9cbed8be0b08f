//! Notes the memory accesses of instructions, and what needs an assist.

use super::watch::{LINE, MAX};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::mmu::{PAGE, Target};
use crate::width::Memory;
use retire::Assist;
use soft_base::Place;

impl Core {
    /// An Intel CPU needs a microcode assist here.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_assist(&mut self, assist: Assist) {
        if self.watch.on && self.watch.assists.len() < MAX {
            self.watch.assists.push((assist, self.cpl == 3));
        }
    }

    /// To be called before a division whose dividend needs both registers. A fault without an exception if it is to
    /// be executed and reported by itself.
    #[cold]
    pub(crate) fn note_long_division(&mut self) -> Done {
        (self.watch.single, self.watch.long) = (self.watch.batched, !self.watch.batched);
        if self.watch.batched { Err(Fault) } else { Ok(()) }
    }

    /// Position and place of an operand in RAM, if its translation is at hand.
    #[inline(always)]
    fn watched(&self, user: usize, linear: u64, size: usize, write: bool) -> Option<(u64, Place)> {
        let entry = self.mmu.tlb.entry(user, linear);
        let position = if write { entry.writable(linear, size) } else { entry.readable(linear, size) }?;
        Some((position, entry.place(linear, position)))
    }

    /// A load, if its translation is at hand.
    #[inline(always)]
    pub(crate) fn watched_load<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        user: usize,
    ) -> Option<T> {
        let (position, place) = self.watched(user, linear, T::BYTES, false)?;
        self.watch.note(self.position.index, place, T::BYTES, false);
        Some(T::ram_read(bus, position))
    }

    /// A store, if its translation is at hand; whether it was.
    #[inline(always)]
    pub(crate) fn watched_store<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
        value: T,
        user: usize,
    ) -> bool {
        let Some((position, place)) = self.watched(user, linear, T::BYTES, true) else { return false };
        self.watch.note(self.position.index, place, T::BYTES, true);
        value.ram_write(bus, position);
        true
    }

    /// The load of a read-modify-write, if its translation is at hand.
    #[inline(always)]
    pub(crate) fn watched_update<T: Memory, B: Bus>(
        &mut self,
        bus: &mut B,
        linear: u64,
    ) -> Option<(T, Target)> {
        let (position, place) = self.watched(self.user, linear, T::BYTES, true)?;
        self.watch.note(self.position.index, place, T::BYTES, false);
        self.watch.note(self.position.index, place, T::BYTES, true);
        Some((T::ram_read(bus, position), Target::Ram(position)))
    }

    /// Notes an access that had to be translated, in its one or two pages.
    pub(crate) fn watch_parts<B: Bus>(
        &mut self,
        linear: u64,
        size: usize,
        parts: (u64, u64, usize),
        write: bool,
    ) {
        let (first, second, split) = parts;
        if B::OBSERVED && self.watch.on {
            let page = self.watch.page;
            self.watch.note(self.position.index, Place { linear, physical: first, page }, split, write);
            if split < size {
                let linear = linear.wrapping_add(split as u64);
                self.watch.note(
                    self.position.index,
                    Place { linear, physical: second, page },
                    size - split,
                    write,
                );
            }
        }
    }

    /// To be called before an access that had to be translated. A fault without an exception if the instruction is
    /// to be executed and reported by itself, because it accesses a device or code.
    #[cold]
    pub(crate) fn watch_single<B: Bus>(
        &mut self,
        bus: &mut B,
        parts: (u64, u64, usize),
        size: usize,
        write: bool,
    ) -> Done {
        let (first, second, split) = parts;
        let second = (split < size).then_some(second);
        let mut pages = [Some(first), second].into_iter().flatten().map(|at| at & !(PAGE - 1));
        self.watch.single =
            pages.any(|page| bus.ram_page(page).is_none() || write && self.mmu.code.contains(page));
        if self.watch.single { Err(Fault) } else { Ok(()) }
    }

    /// Notes what a REP instruction does at once, line by line.
    #[cold]
    pub(crate) fn watch_bulk(&mut self, linear: u64, bytes: u64, write: bool) {
        let Some((_, place)) = self.watched(self.user, linear, 1, write) else { return };
        let mut done = 0;
        while done < bytes {
            let size = (LINE - (place.physical + done) % LINE).min(bytes - done);
            self.watch.note(self.position.index, place.behind(done), size as usize, write);
            done += size;
        }
    }

    /// Notes a prefetch. One whose translation is not at hand is dropped, as a CPU may do.
    pub(crate) fn watch_prefetch(&mut self, linear: u64) {
        if let Some((_, place)) = self.watched(self.user, linear, 1, false) {
            self.watch.note(self.position.index, place, 1, false);
        }
    }
}
