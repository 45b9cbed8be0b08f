//! Decoded basic blocks, by guest physical address and mode.

use crate::bus::Bus;
use crate::context::{Mode, Position};
use crate::exec::Insn;
use crate::mmu::{Mmu, PAGE};
use crate::observe::Observed;
use std::collections::HashMap;

/// Blocks after which the cache starts anew.
const MAX_BLOCKS: usize = 1 << 16;
/// Entries of the table by linear address.
const JUMPS: usize = 1 << 12;

/// A run of instructions without a branch but at its end.
pub(crate) struct Block<B> {
    pub(crate) insns: Box<[Insn<B>]>,
    /// Length in bytes and what retires in the block.
    pub(crate) end: Position,
    pub(crate) mode: Mode,
    /// Guest physical address of the first byte.
    pub(crate) gpa: u64,
    /// The page into which its only instruction continues.
    pub(crate) second: Option<u64>,
    /// While somebody watches.
    pub(crate) observed: Option<Box<Observed>>,
}

#[derive(Debug, Clone, Copy)]
struct Jump {
    key: u64,
    generation: u64,
    block: u32,
}

pub(crate) struct Cache<B> {
    blocks: Vec<Option<Block<B>>>,
    free: Vec<u32>,
    by_gpa: HashMap<(u64, Mode), u32>,
    /// Blocks that have bytes in a page.
    by_page: HashMap<u64, Vec<u32>>,
    jumps: Box<[Jump; JUMPS]>,
    generation: u64,
}

impl<B: Bus> Cache<B> {
    pub(crate) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            free: Vec::new(),
            by_gpa: HashMap::new(),
            by_page: HashMap::new(),
            jumps: Box::new([Jump { key: 0, generation: 0, block: 0 }; JUMPS]),
            generation: 1,
        }
    }

    /// Linear addresses may lead elsewhere from now on.
    pub(crate) fn forget_jumps(&mut self) {
        self.generation += 1;
    }

    /// The block at a linear address, if it was looked up before. `key` tells user from supervisor.
    #[inline(always)]
    pub(crate) fn jump(&self, key: u64) -> Option<u32> {
        let jump = &self.jumps[slot(key)];
        (jump.key == key && jump.generation == self.generation).then_some(jump.block)
    }

    pub(crate) fn set_jump(&mut self, key: u64, block: u32) {
        self.jumps[slot(key)] = Jump { key, generation: self.generation, block };
    }

    #[inline(always)]
    pub(crate) fn get(&self, block: u32) -> Option<&Block<B>> {
        self.blocks.get(block as usize).and_then(Option::as_ref)
    }

    pub(crate) fn find(&self, gpa: u64, mode: Mode) -> Option<u32> {
        self.by_gpa.get(&(gpa, mode)).copied()
    }

    pub(crate) fn insert(&mut self, block: Block<B>, mmu: &mut Mmu) -> u32 {
        if self.by_gpa.len() >= MAX_BLOCKS {
            self.clear(mmu);
        }
        if let Some(old) = self.find(block.gpa, block.mode) {
            self.remove(old);
        }
        let len = u64::from(block.end.start);
        let first_len = if block.second.is_some() { PAGE - block.gpa % PAGE } else { len };
        mmu.mark_code(block.gpa, first_len);
        let index = self.free.pop().unwrap_or(self.blocks.len() as u32);
        if let Some(second) = block.second {
            mmu.mark_code(second, len - first_len);
            self.by_page.entry(second).or_default().push(index);
        }
        self.by_page.entry(block.gpa & !(PAGE - 1)).or_default().push(index);
        self.by_gpa.insert((block.gpa, block.mode), index);
        match self.blocks.get_mut(index as usize) {
            Some(place) => *place = Some(block),
            None => self.blocks.push(Some(block)),
        }
        index
    }

    fn remove(&mut self, index: u32) {
        if let Some(block) = self.blocks.get_mut(index as usize).and_then(Option::take) {
            self.by_gpa.remove(&(block.gpa, block.mode));
            for page in [Some(block.gpa & !(PAGE - 1)), block.second].into_iter().flatten() {
                if let Some(list) = self.by_page.get_mut(&page) {
                    list.retain(|other| *other != index);
                }
            }
            self.free.push(index);
            self.forget_jumps();
        }
    }

    /// Drops everything decoded from a page.
    pub(crate) fn invalidate(&mut self, page: u64, mmu: &mut Mmu) {
        for index in self.by_page.remove(&page).unwrap_or_default() {
            self.remove(index);
        }
        mmu.forget_code(page);
        self.forget_jumps();
    }

    pub(crate) fn clear(&mut self, mmu: &mut Mmu) {
        self.blocks.clear();
        self.free.clear();
        self.by_gpa.clear();
        self.by_page.clear();
        mmu.forget_all_code();
        self.forget_jumps();
    }
}

#[inline(always)]
fn slot(key: u64) -> usize {
    (key ^ key >> 12) as usize % JUMPS
}
