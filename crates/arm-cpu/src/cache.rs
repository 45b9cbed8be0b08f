//! Decoded basic blocks, by physical address. Instructions are words, so a page has a table of the blocks that begin at
//! its words.

use crate::block::Position;
use crate::bus::Bus;
use crate::exec::Insn;
use crate::exec::chain::Chain;
use crate::mmu::{Mmu, OFFSET, PAGE};
use retire::{BlockId, BranchKind};
use soft_base::{ByAddress, Low};

/// Blocks after which the cache starts anew.
const MAX_BLOCKS: usize = 1 << 17;
/// Entries of the table by virtual address.
const JUMPS: usize = 1 << 15;
/// Words of a page.
const WORDS: usize = 1024;
const _: () = assert!(4 * WORDS as u64 == PAGE);
/// Bits of a block's number beside the tag in a [`Jump`].
const NUMBER: u32 = 24;
const NONE: u32 = u32::MAX;

/// A run of instructions without a branch but at its end, all in one page.
pub(crate) struct Block<B> {
    /// Executes them.
    pub(crate) chain: Chain<B>,
    pub(crate) insns: Box<[Insn<B>]>,
    /// What retires in the block.
    pub(crate) end: Position,
    /// Physical address of the first instruction.
    pub(crate) address: u64,
    /// The branch that its last instruction is.
    pub(crate) branch: Option<BranchKind>,
    /// While there is an observer: what it knows the block by, and log2 of the size of the page that it was fetched
    /// from.
    pub(crate) observed: Option<(BlockId, u8)>,
}

/// The block that begins at a virtual address.
#[derive(Debug, Clone, Copy)]
struct Jump {
    pc: u64,
    /// The block's number below the tag of the translations by which it was found.
    entry: u64,
}

/// No tag is 0.
const NO_JUMP: Jump = Jump { pc: 0, entry: 0 };

/// Blocks of a page, by the word at which they begin.
type PageBlocks = Box<[u32; WORDS]>;

pub(crate) struct Cache<B> {
    blocks: Vec<Block<B>>,
    /// Numbers of blocks that are no more.
    free: Vec<u32>,
    /// What an observer knew them by.
    released: Vec<BlockId>,
    pages: ByAddress<u64, PageBlocks>,
    jumps: Box<[Jump; JUMPS]>,
}

impl<B: Bus> Cache<B> {
    pub(crate) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            free: Vec::new(),
            released: Vec::new(),
            pages: ByAddress::default(),
            jumps: Box::new([NO_JUMP; JUMPS]),
        }
    }

    /// The block at a virtual address, if it was looked up before by these translations.
    #[inline(always)]
    pub(crate) fn jump(&self, pc: u64, tag: u64) -> Option<&Block<B>> {
        let jump = &self.jumps[slot(pc)];
        if jump.pc == pc && jump.entry >> NUMBER == tag {
            self.blocks.get((jump.entry & ((1 << NUMBER) - 1)).low_usize())
        } else {
            None
        }
    }

    pub(crate) fn set_jump(&mut self, pc: u64, tag: u64, number: u32) {
        self.jumps[slot(pc)] = Jump { pc, entry: tag << NUMBER | u64::from(number) };
    }

    /// The block that begins at a physical address.
    pub(crate) fn find(&self, address: u64) -> Option<u32> {
        let blocks = self.pages.get(&(address & !OFFSET))?;
        let number = blocks[word(address)];
        (number != NONE).then_some(number)
    }

    /// Adds a block; there is none at its address.
    pub(crate) fn insert(&mut self, block: Block<B>, mmu: &mut Mmu) -> u32 {
        if self.blocks.len() - self.free.len() >= MAX_BLOCKS {
            self.clear(mmu);
        }
        let address = block.address;
        mmu.mark_code(address, block.end.bytes());
        let number = self.free.pop().unwrap_or(self.blocks.len().low_u32());
        match self.blocks.get_mut(number.low_usize()) {
            Some(place) => *place = block,
            None => self.blocks.push(block),
        }
        let page = self.pages.entry(address & !OFFSET).or_insert_with(|| Box::new([NONE; WORDS]));
        page[word(address)] = number;
        number
    }

    /// Drops everything decoded from a page. Virtual addresses still lead to it: the caller makes them lead nowhere.
    pub(crate) fn invalidate(&mut self, page: u64, mmu: &mut Mmu) {
        if let Some(blocks) = self.pages.remove(&page) {
            for number in blocks.iter().filter(|number| **number != NONE) {
                self.free.push(*number);
                let observed =
                    self.blocks.get_mut(number.low_usize()).and_then(|block| block.observed.take());
                self.released.extend(observed.map(|(id, _)| id));
            }
        }
        mmu.code.forget(page);
    }

    /// What an observer knew those blocks by that are no more, once.
    pub(crate) fn released(&mut self) -> impl Iterator<Item = BlockId> {
        self.released.drain(..)
    }

    /// Drops everything, also what virtual addresses lead to.
    pub(crate) fn clear(&mut self, mmu: &mut Mmu) {
        self.released.extend(self.blocks.drain(..).filter_map(|block| block.observed).map(|(id, _)| id));
        self.free.clear();
        self.pages.clear();
        self.jumps.fill(NO_JUMP);
        mmu.code.forget_all();
    }
}

#[inline(always)]
fn slot(pc: u64) -> usize {
    let word = pc >> 2;
    (word ^ word >> JUMPS.ilog2()).low_usize() % JUMPS
}

fn word(address: u64) -> usize {
    (address & OFFSET).low_usize() / 4
}
