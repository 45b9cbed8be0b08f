//! The memory accesses of the current instruction or block.

use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::mmu::{PAGE, Target};
use crate::width::Memory;
use core_model::{Assist, MemoryAccess};

const LINE: u64 = 64;
/// Accesses of one instruction from which on neighbours are merged; only REP instructions and XSAVE's kin make more.
const MERGE_FROM: usize = 16;
/// Most accesses that are kept; further ones of the same instruction are lost.
const MAX: usize = 1 << 16;
/// The same of a block whose instructions are told of together: four for each, a read and a write across pages.
const MAX_TOGETHER: usize = 128;

/// Whether somebody watches, and what he has to be told about the current instruction.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) on: bool,
    /// Log2 of the size of the page that was translated last.
    pub(crate) page: u8,
    /// Instructions are told of together.
    pub(crate) together: bool,
    /// Of an instruction that is told of alone.
    pub(crate) accesses: Vec<MemoryAccess>,
    /// How many there are of a block whose instructions are told of together, these, and the positions in the block of
    /// the instructions that they belong to.
    count: usize,
    of_block: [MemoryAccess; MAX_TOGETHER],
    owners: [u8; MAX_TOGETHER],
    /// The current instruction has done nothing: it is to be told of alone.
    pub(crate) alone: bool,
    /// Iterations of a REP instruction that has not finished.
    pub(crate) repetitions: u64,
    /// Microcode assists that nobody has been told of, and whether they were at CPL 3.
    pub(crate) assists: Vec<(Assist, bool)>,
}

impl Core {
    /// An Intel CPU needs a microcode assist here.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_assist(&mut self, assist: Assist) {
        if self.watch.on && self.watch.assists.len() < MAX {
            self.watch.assists.push((assist, self.cpl == 3));
        }
    }
}

impl Watch {
    pub(crate) fn new() -> Self {
        const NONE: MemoryAccess =
            MemoryAccess { linear: 0, physical: 0, size: 0, page: 0, write: false, uncached: false };
        Self {
            on: false,
            page: 0,
            together: false,
            accesses: Vec::new(),
            count: 0,
            of_block: [NONE; MAX_TOGETHER],
            owners: [0; MAX_TOGETHER],
            alone: false,
            repetitions: 0,
            assists: Vec::new(),
        }
    }

    /// Notes an access of an instruction that is told of with others; false if there is no room.
    #[inline(always)]
    pub(crate) fn note_quick(&mut self, owner: u8, place: Place, size: usize, write: bool) -> bool {
        let Place { linear, physical, page } = place;
        let count = self.count;
        let room = count < MAX_TOGETHER;
        if room {
            self.of_block[count] =
                MemoryAccess { linear, physical, size: size as u8, page, write, uncached: false };
            self.owners[count] = owner;
            self.count = count + 1;
        }
        room
    }

    /// The same of a read and a write.
    #[inline(always)]
    pub(crate) fn note_update(&mut self, owner: u8, place: Place, size: usize) -> bool {
        self.note_quick(owner, place, size, false) && self.note_quick(owner, place, size, true)
    }

    /// The accesses of instructions that are told of together, and to which they belong.
    #[inline(always)]
    pub(crate) fn of_block(&self) -> (&[MemoryAccess], &[u8]) {
        let count = self.count.min(MAX_TOGETHER);
        (&self.of_block[..count], &self.owners[..count])
    }

    /// Notes an access that stays within a page.
    #[inline(always)]
    fn note(&mut self, owner: u8, place: Place, size: usize, write: bool) {
        if self.together {
            self.note_quick(owner, place, size, write);
            return;
        }
        let Place { linear, physical, page } = place;
        let access = MemoryAccess { linear, physical, size: size as u8, page, write, uncached: false };
        if self.accesses.len() < MERGE_FROM {
            self.accesses.push(access);
        } else {
            self.merge(access);
        }
    }

    /// Notes an access, or extends one of the last two that it continues in the same cache line.
    #[inline(never)]
    fn merge(&mut self, access: MemoryAccess) {
        let size = u64::from(access.size);
        for last in self.accesses.iter_mut().rev().take(2) {
            let together = u64::from(last.size) + size;
            if last.write != access.write || last.physical / LINE != access.physical / LINE || together > LINE
            {
                continue;
            }
            if last.linear.wrapping_add(u64::from(last.size)) == access.linear {
                last.size = together as u8;
                return;
            }
            if access.linear.wrapping_add(size) == last.linear {
                (last.linear, last.physical) = (access.linear, access.physical);
                last.size = together as u8;
                return;
            }
        }
        if self.accesses.len() < MAX {
            self.accesses.push(access);
        }
    }

    /// For the next instruction.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.accesses.clear();
        self.repetitions = 0;
    }

    /// For the next block.
    #[inline(always)]
    pub(crate) fn clear_block(&mut self) {
        self.count = 0;
    }

    /// Drops the accesses of the last instruction of a block, which has not retired.
    pub(crate) fn forget(&mut self, owner: u8) {
        let (_, owners) = self.of_block();
        self.count = owners.iter().take_while(|other| **other < owner).count();
    }

    /// Notes an access to a device: the newest one is.
    #[cold]
    pub(crate) fn mark_uncached(&mut self) {
        if let Some(last) = self.accesses.last_mut() {
            last.uncached = true;
        }
    }
}

/// Where an operand is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) linear: u64,
    pub(crate) physical: u64,
    pub(crate) page: u8,
}

impl Place {
    fn behind(self, bytes: u64) -> Self {
        let Self { linear, physical, page } = self;
        Self { linear: linear.wrapping_add(bytes), physical: physical + bytes, page }
    }
}

impl Core {
    /// Position and place of an operand in RAM, if its translation is at hand.
    #[inline(always)]
    fn watched(&self, user: usize, linear: u64, size: usize, write: bool) -> Option<(u64, Place)> {
        let entry = self.mmu.tlb.entry(user, linear);
        let position = if write { entry.writable(linear, size) } else { entry.readable(linear, size) }?;
        Some((position, entry.place(linear)))
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

    /// To be asked before an access that had to be translated. A fault without an exception if the instruction is to be
    /// told of alone, because it accesses a device or code.
    #[cold]
    pub(crate) fn watch_alone<B: Bus>(
        &mut self,
        bus: &mut B,
        parts: (u64, u64, usize),
        size: usize,
        write: bool,
    ) -> Done {
        let (first, second, split) = parts;
        let second = (split < size).then_some(second);
        let mut pages = [Some(first), second].into_iter().flatten().map(|at| at & !(PAGE - 1));
        self.watch.alone = pages.any(|page| bus.ram_page(page).is_none() || write && self.mmu.is_code(page));
        if self.watch.alone { Err(Fault) } else { Ok(()) }
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
