//! The memory accesses of the current instruction or block.

use crate::block::BlockId;
use core::ops::Range;
use retire::{Assist, MemoryAccess};
use soft_base::Place;

pub(super) const LINE: u64 = 64;
/// Accesses of one instruction from which on neighbours are merged; only REP instructions and XSAVE's kin make more.
const MERGE_FROM: usize = 16;
/// Most accesses that are kept; further ones of the same instruction are lost.
pub(super) const MAX: usize = 1 << 16;
/// Most accesses of a block that is reported in a batch: four for each, a read and a write across pages.
const MAX_OF_BLOCK: u8 = 128;
/// Room in a log: as much as an index can tell apart.
const MAX_TOGETHER: usize = 1 << u8::BITS;
/// Blocks in a log.
const MAX_BLOCKS: u8 = 64;

/// Whether there is an observer, and what has to be reported to it.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) on: bool,
    /// Log2 of the size of the page that was translated last.
    pub(crate) page: u8,
    /// Blocks are executed in a batch.
    pub(crate) batched: bool,
    /// Of an instruction that is reported by itself.
    pub(crate) accesses: Vec<MemoryAccess>,
    /// The blocks of the batch. The one behind them is being executed.
    blocks: [Logged; MAX_TOGETHER],
    block_count: u8,
    /// Their accesses.
    of_blocks: [MemoryAccess; MAX_TOGETHER],
    count: u8,
    /// The current instruction has done nothing: it is to be executed and reported by itself.
    pub(crate) single: bool,
    /// It is a division whose dividend needs both registers.
    pub(crate) long: bool,
    /// Iterations of a REP instruction that has not finished.
    pub(crate) repetitions: u64,
    /// Microcode assists that have not been reported, and whether they were at CPL 3.
    pub(crate) assists: Vec<(Assist, bool)>,
}

/// A block that has been executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logged {
    /// RIP of its first instruction.
    pub(super) start: u64,
    pub(super) block: BlockId,
    /// Its first access in the log.
    pub(super) first: u8,
    /// It has jumped to where it would have gone without.
    pub(super) jumped_to_next: bool,
}

impl Watch {
    pub(crate) fn new() -> Self {
        const NONE: MemoryAccess = MemoryAccess {
            linear: 0,
            physical: 0,
            size: 0,
            page: 0,
            owner: 0,
            write: false,
            uncached: false,
        };
        Self {
            on: false,
            page: 0,
            batched: false,
            accesses: Vec::new(),
            blocks: [Logged { start: 0, block: BlockId::NONE, first: 0, jumped_to_next: false };
                MAX_TOGETHER],
            block_count: 0,
            of_blocks: [NONE; MAX_TOGETHER],
            count: 0,
            single: false,
            long: false,
            repetitions: 0,
            assists: Vec::new(),
        }
    }

    /// A block is about to be executed.
    #[inline(always)]
    pub(super) fn begin_block(&mut self, start: u64, block: BlockId) {
        self.blocks[usize::from(self.block_count)] =
            Logged { start, block, first: self.count, jumped_to_next: false };
    }

    /// It ends in a conditional jump to the next instruction, which is taken.
    #[cold]
    pub(crate) fn jump_to_next(&mut self) {
        self.blocks[usize::from(self.block_count)].jumped_to_next = true;
    }

    /// It has been. True if there may be no room for another one.
    #[inline(always)]
    pub(super) fn end_block(&mut self) -> bool {
        self.block_count += 1;
        self.block_count == MAX_BLOCKS || self.count >= MAX_OF_BLOCK
    }

    /// Blocks that have not been reported.
    #[inline(always)]
    pub(super) fn block_count(&self) -> u8 {
        self.block_count
    }

    /// Some of these blocks, and the one behind them.
    #[inline(always)]
    pub(super) fn blocks(&self, range: Range<u8>) -> &[Logged] {
        self.blocks.get(usize::from(range.start)..=usize::from(range.end)).unwrap_or_default()
    }

    /// The accesses of the blocks from one on up to another one.
    #[inline(always)]
    pub(super) fn accesses(&self, first: Logged, behind: u8) -> Option<&[MemoryAccess]> {
        let range = usize::from(first.first)..usize::from(behind);
        self.of_blocks.get(range)
    }

    /// Notes an access of an instruction of a batch.
    #[inline(always)]
    pub(crate) fn note_quick(&mut self, owner: u8, place: Place, size: usize, write: bool) {
        let Place { linear, physical, page } = place;
        let number = usize::from(self.count);
        self.of_blocks[number] =
            MemoryAccess { linear, physical, size: size as u8, page, owner, write, uncached: false };
        self.count += 1;
    }

    /// The same of a read and a write.
    #[inline(always)]
    pub(crate) fn note_update(&mut self, owner: u8, place: Place, size: usize) {
        self.note_quick(owner, place, size, false);
        self.note_quick(owner, place, size, true);
    }

    /// Notes an access that stays within a page.
    #[inline(always)]
    pub(super) fn note(&mut self, owner: u8, place: Place, size: usize, write: bool) {
        if self.batched {
            self.note_quick(owner, place, size, write);
            return;
        }
        let Place { linear, physical, page } = place;
        let access = MemoryAccess { linear, physical, size: size as u8, page, owner, write, uncached: false };
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
        (self.repetitions, self.long) = (0, false);
    }

    /// Everything has been reported.
    #[inline(always)]
    pub(super) fn clear_log(&mut self) {
        (self.block_count, self.count) = (0, 0);
    }

    /// Accesses in the log.
    #[inline(always)]
    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// The block that is being executed.
    #[inline(always)]
    pub(super) fn current(&self) -> Logged {
        self.blocks[usize::from(self.block_count)]
    }

    /// Drops the accesses of the last instruction of this block, which has not retired.
    pub(crate) fn forget(&mut self, owner: u8) {
        let current = self.current();
        let Some(accesses) = self.accesses(current, self.count) else { return };
        let kept = accesses.iter().take_while(|access| access.owner < owner).count();
        self.count = current.first + kept as u8;
    }

    /// Notes an access to a device: the newest one is.
    #[cold]
    pub(crate) fn mark_uncached(&mut self) {
        if let Some(last) = self.accesses.last_mut() {
            last.uncached = true;
        }
    }
}
