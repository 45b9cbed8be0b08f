//! Decoded basic blocks, by guest physical address and mode.

use crate::block::{BlockId, Position};
use crate::bus::Bus;
use crate::compiled::Compiled;
use crate::context::Mode;
use crate::exec::Insn;
use crate::exec::chain::Chain;
use crate::low::Low;
use crate::mmu::{Mmu, PAGE};
use crate::observe::Observed;
use core::cell::Cell;
use core::num::NonZeroU64;
use soft_base::{ByAddress, prefetch};

/// Blocks after which the cache starts anew.
const MAX_BLOCKS: usize = 1 << 16;
/// Entries of the table by linear address.
const JUMPS: usize = 1 << 15;
/// Code pages known at once.
const PAGES: usize = 1 << 12;
/// Bits of a generation in [`Jump::tag`]: those of a linear address that repeat its sign, but for bit 62.
const GENERATIONS: u64 = 1 << 13;

/// A run of instructions without a branch but at its end. What each execution needs comes first, in one cache line of
/// the host.
#[repr(C, align(64))]
pub(crate) struct Block<B> {
    /// Executes them.
    pub(crate) chain: Chain<B>,
    pub(crate) insns: Box<[Insn<B>]>,
    /// Length in bytes and what retires in the block.
    pub(crate) end: Position,
    /// How it was met last by following others: [`Jump::tag`].
    pub(crate) tag: u64,
    /// The block that followed it last.
    pub(crate) next: BlockId,
    /// How often it was interpreted, while there is a compiler.
    pub(crate) heat: Cell<u32>,
    /// Guest physical address of the first byte.
    pub(crate) gpa: u64,
    /// While there is an observer.
    pub(crate) observed: Option<Observed>,
    pub(crate) mode: Mode,
    /// The page into which its only instruction continues.
    pub(crate) second: Option<PageAddress>,
    pub(crate) compiled: Cell<Compiled>,
}

// Where a block is found from its number is on the way from each to the next, and one cache line more would cost there.
const _: () = assert!(size_of::<Block<()>>() == 128);

impl<B> Block<B> {
    /// The page into which its only instruction continues.
    pub(crate) fn second(&self) -> Option<u64> {
        self.second.map(PageAddress::gpa)
    }
}

/// The guest physical address of a page, in eight bytes also where there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageAddress(NonZeroU64);

impl PageAddress {
    pub(crate) fn of(gpa: u64) -> Self {
        // The bits of the offset are free.
        Self(NonZeroU64::MIN | gpa)
    }

    fn gpa(self) -> u64 {
        self.0.get() & !(PAGE - 1)
    }
}

#[derive(Debug, Clone, Copy)]
struct Jump {
    /// Linear address with user or supervisor and the generation in its upper bits; see [`Cache::tag`].
    tag: u64,
    block: BlockId,
}

const NO_JUMP: Jump = Jump { tag: 0, block: BlockId(0) };

/// Where a run is, and what it is expected to come by next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    last: BlockId,
    next: BlockId,
}

impl Path {
    pub(crate) const START: Self = Self { last: BlockId::NONE, next: BlockId::NONE };

    /// Where it is.
    #[inline(always)]
    pub(crate) fn here(&self) -> BlockId {
        self.last
    }
}

pub(crate) struct Cache<B> {
    blocks: Vec<Block<B>>,
    /// Blocks that are no more.
    free: Vec<BlockId>,
    /// What an observer knew them by.
    released: Vec<retire::BlockId>,
    by_gpa: ByAddress<(u64, Mode), BlockId>,
    /// First bytes of the blocks that have bytes in a page.
    by_page: ByAddress<u64, Vec<(u64, Mode)>>,
    jumps: Box<[Jump; JUMPS]>,
    /// Where code has been fetched from in this generation: physical addresses, and log2 of the sizes of pages.
    ///
    /// None is forgotten before the next generation: page tables are walked for code, which sets accessed bits, when a
    /// page is come to first. So that does not depend on which blocks were looked up, and compiled code, which looks up
    /// fewer, has the guest see the same.
    pages: ByAddress<u64, (u64, u8)>,
    generation: u64,
    /// As the generation, but never the same again.
    epoch: u64,
}

impl<B: Bus> Cache<B> {
    pub(crate) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            free: Vec::new(),
            released: Vec::new(),
            by_gpa: ByAddress::default(),
            by_page: ByAddress::default(),
            jumps: Box::new([NO_JUMP; JUMPS]),
            pages: ByAddress::default(),
            generation: 1,
            epoch: 0,
        }
    }

    /// Changes with everything that was known of addresses of code.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// No block has code any more.
    pub(crate) fn forget_code(&mut self) {
        self.blocks.iter().for_each(Block::forget_code);
    }

    /// Linear addresses may lead elsewhere from now on.
    pub(crate) fn forget_jumps(&mut self) {
        self.generation += 1;
        self.epoch += 1;
        self.pages.clear();
        if self.generation == GENERATIONS {
            self.jumps.fill(NO_JUMP);
            self.blocks.iter_mut().for_each(|block| block.tag = 0);
            self.generation = 1;
        }
    }

    /// The page of a linear address may lead elsewhere from now on. Most such pages have data.
    pub(crate) fn forget_page(&mut self, linear: u64) {
        // Keys have the privilege level in a bit that canonical addresses repeat.
        let other = |key: &u64| (key ^ linear) & !(1 << 62);
        if self.pages.iter().any(|(key, (_, size))| other(key) >> (*size).max(12) == 0) {
            self.forget_jumps();
        }
    }

    /// What a key is known by in this generation; never 0. A canonical address repeats its bit 47 in those above, so
    /// that different keys have different tags. So do those that code gets to by running or jumping over the end of
    /// the canonical space, whose bit 63 differs from bit 47.
    #[inline(always)]
    fn tag(&self, key: u64) -> u64 {
        key ^ self.generation << 48
    }

    /// The block at a linear address, if it was looked up before. `key` tells user from supervisor.
    #[inline(always)]
    pub(crate) fn jump(&self, key: u64) -> Option<&Block<B>> {
        let jump = &self.jumps[slot(key)];
        if jump.tag == self.tag(key) { self.block(jump.block) } else { None }
    }

    /// The same, by its place.
    #[inline(always)]
    pub(crate) fn jump_id(&self, key: u64) -> Option<BlockId> {
        let jump = &self.jumps[slot(key)];
        (jump.tag == self.tag(key)).then_some(jump.block)
    }

    pub(crate) fn set_jump(&mut self, key: u64, block: BlockId) {
        let tag = self.tag(key);
        let jump = &mut self.jumps[slot(key)];
        (jump.tag, jump.block) = (tag, block);
    }

    #[inline(always)]
    pub(crate) fn block(&self, id: BlockId) -> Option<&Block<B>> {
        self.blocks.get(id.0 as usize)
    }

    /// As [`jump`](Self::jump) on the way from block to block, on which each block has the next one expected. Brings
    /// what is expected behind it into the host's caches, one step after the other: the header of the second block,
    /// and instructions when it is the first.
    #[inline(always)]
    pub(crate) fn follow(&mut self, path: &mut Path, key: u64) -> Option<&Block<B>> {
        let tag = self.tag(key);
        let mut id = path.next;
        if self.block(id).is_none_or(|block| block.tag != tag) {
            id = self.meet(path.last, key)?;
        }
        let block = self.block(id)?;
        (path.last, path.next) = (id, block.next);
        if let Some(next) = self.block(path.next) {
            prefetch::<_, 5>(&*next.insns);
            if let Some(second) = self.block(next.next) {
                prefetch::<_, 2>(second);
            }
        }
        Some(block)
    }

    /// The block at a linear address, if it was looked up before. From now on it is expected there and behind `last`.
    #[inline(never)]
    fn meet(&mut self, last: BlockId, key: u64) -> Option<BlockId> {
        let tag = self.tag(key);
        let jump = &self.jumps[slot(key)];
        let id = jump.block;
        if jump.tag != tag {
            return None;
        }
        if let Some(last) = self.blocks.get_mut(last.0 as usize) {
            last.next = id;
        }
        self.blocks.get_mut(id.0 as usize)?.tag = tag;
        Some(id)
    }

    /// Guest physical address of the code at a linear address, and log2 of the size of its page, if it was fetched
    /// from in this generation; `key` as for jumps.
    pub(crate) fn code_address(&self, key: u64) -> Option<(u64, u8)> {
        let (gpa, size) = self.pages.get(&(key & !(PAGE - 1))).copied()?;
        Some((gpa | key & (PAGE - 1), size))
    }

    pub(crate) fn set_code_address(&mut self, key: u64, (gpa, size): (u64, u8)) {
        if self.pages.len() >= PAGES {
            self.forget_jumps();
        }
        self.pages.insert(key & !(PAGE - 1), (gpa & !(PAGE - 1), size));
    }

    pub(crate) fn find(&self, gpa: u64, mode: Mode) -> Option<BlockId> {
        self.by_gpa.get(&(gpa, mode)).copied()
    }

    pub(crate) fn insert(&mut self, block: Block<B>, mmu: &mut Mmu) -> BlockId {
        if self.by_gpa.len() >= MAX_BLOCKS {
            self.clear(mmu);
        }
        let key = (block.gpa, block.mode);
        self.remove(key);
        let len = u64::from(block.end.start);
        let first_len = if block.second.is_some() { PAGE - block.gpa % PAGE } else { len };
        mmu.mark_code(block.gpa, first_len);
        if let Some(second) = block.second() {
            mmu.mark_code(second, len - first_len);
            self.by_page.entry(second).or_default().push(key);
        }
        self.by_page.entry(block.gpa & !(PAGE - 1)).or_default().push(key);
        let id = self.free.pop().unwrap_or(BlockId(self.blocks.len().low_u32()));
        match self.blocks.get_mut(id.0 as usize) {
            Some(place) => *place = block,
            None => self.blocks.push(block),
        }
        self.by_gpa.insert(key, id);
        id
    }

    fn remove(&mut self, key: (u64, Mode)) {
        let Some(id) = self.by_gpa.remove(&key) else { return };
        self.free.push(id);
        if let Some(block) = self.blocks.get_mut(id.0 as usize) {
            self.released.extend(block.observed.take().map(|observed| observed.id));
            for page in [Some(block.gpa & !(PAGE - 1)), block.second()].into_iter().flatten() {
                if let Some(list) = self.by_page.get_mut(&page) {
                    list.retain(|other| *other != key);
                }
            }
            self.forget_jumps();
        }
    }

    /// What an observer knew those blocks by that are no more, once.
    pub(crate) fn released(&mut self) -> impl Iterator<Item = retire::BlockId> {
        self.released.drain(..)
    }

    /// Drops everything decoded from a page.
    pub(crate) fn invalidate(&mut self, page: u64, mmu: &mut Mmu) {
        for key in self.by_page.remove(&page).unwrap_or_default() {
            self.remove(key);
        }
        mmu.code.forget(page);
        self.forget_jumps();
    }

    /// Something has been decoded from a page.
    pub(crate) fn has_code(&self, page: u64) -> bool {
        self.by_page.contains_key(&page)
    }

    pub(crate) fn clear(&mut self, mmu: &mut Mmu) {
        let observed = self.blocks.drain(..).filter_map(|block| block.observed);
        self.released.extend(observed.map(|observed| observed.id));
        self.free.clear();
        self.by_gpa.clear();
        self.by_page.clear();
        mmu.code.forget_all();
        self.forget_jumps();
    }
}

#[inline(always)]
fn slot(key: u64) -> usize {
    (key ^ key >> JUMPS.ilog2()).low_usize() % JUMPS
}
