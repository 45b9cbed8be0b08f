//! Where it is worth to look for known states: a loop whose states come back goes on beside one whose states never do.

use retire::Block;

/// Blocks that are told apart, by the low bits of their indices.
const BLOCKS: usize = 1 << 12;
/// What a known block saves, in the unit of the costs of failures: a quarter of it.
const SAVED: i32 = 4;
/// What saved blocks can make up for at most.
const CREDIT: i32 = 256 * SAVED;
/// What failures at a block may cost together until it is given up: where most of what was looked for lately was
/// known, and where it was not. A program whose states do not come back should not pay this for each of its blocks.
const PATIENCE: i32 = 256 * SAVED;
const LITTLE_PATIENCE: i32 = 16 * SAVED;
/// How far the balance of all blocks together goes up and down.
const BALANCE: i32 = 1 << 16;
/// Times that a block is run without a look after too many failures, at first and at most.
const SHORTEST: u16 = 64;
/// Known blocks between two rests after which the next one is short.
const SOME: u16 = 64;
const LONGEST: u16 = 1 << 12;
/// Instructions of the blocks that costs are stated for, and most that count: the pipeline takes longer for a longer
/// block, a look does not.
const USUAL: i32 = 8;
const MANY: i32 = 32;
/// A block that was executed so often on end will go on, and the states of such a loop come back, if only after some
/// thousand iterations where many uops wait for their ports. So each of these is worth an allowance, until there were
/// so many more of them than known blocks: those of some loops never come back. A known outline says that a loop has
/// come around; then all of it is to be remembered at once, not a few blocks after each rest, so that costs nothing, as
/// often.
const LOOP: u32 = 256;
const ALLOWANCE: i32 = 1;
const ALLOWANCES: u16 = 1 << 15;
/// What these can make up for.
const LOOP_CREDIT: i32 = 1 << 14;

/// What came of looking at a block.
#[derive(Debug, Clone, Copy, Default)]
struct Prospect {
    /// Known blocks from there on less what failures cost.
    credit: i32,
    /// Times that it is not looked at it any more, and how many that were the last time.
    left: u16,
    rest: u16,
    /// Known blocks since it was looked at again.
    hits: u16,
    /// Allowances less known blocks, and failures that cost nothing less known blocks.
    allowed: u16,
    free: u16,
}

#[derive(Debug)]
pub(super) struct Prospects {
    blocks: Box<[Prospect; BLOCKS]>,
    /// The block that was looked at last, the instructions that count of it, and how often on end it was that one.
    newest: usize,
    length: i32,
    run: u32,
    /// Known blocks since then that its credit does not have yet.
    earned: u32,
    /// What all known blocks have saved lately, less what failures have cost.
    balance: i32,
}

impl Prospects {
    pub(super) fn new() -> Self {
        Self {
            blocks: Box::new([Prospect::default(); BLOCKS]),
            newest: 0,
            length: USUAL,
            run: 0,
            earned: 0,
            balance: 0,
        }
    }

    /// True if the pipeline should be looked at before this block.
    #[inline]
    pub(super) fn look(&mut self, block: &Block<'_>) -> bool {
        self.take_in();
        let index = block.id.index as usize % BLOCKS;
        self.run = if index == self.newest { self.run.saturating_add(1) } else { 0 };
        self.newest = index;
        let in_loop = self.run >= LOOP;
        self.length = if in_loop { i32::from(block.count).clamp(USUAL, MANY) } else { USUAL };
        let prospect = &mut self.blocks[self.newest];
        if in_loop && prospect.allowed < ALLOWANCES && prospect.credit < LOOP_CREDIT {
            prospect.credit += ALLOWANCE;
            prospect.allowed += 1;
        }
        let looks = prospect.left == 0;
        prospect.left = prospect.left.saturating_sub(1);
        looks
    }

    /// A block was known.
    #[inline(always)]
    pub(super) fn earn(&mut self) {
        self.earned = self.earned.saturating_add(1);
    }

    fn take_in(&mut self) {
        let Prospect { credit, hits, allowed, free, .. } = &mut self.blocks[self.newest];
        let saved = self.earned.min(CREDIT as u32) as i32 * SAVED;
        let known = self.earned.min(u16::MAX.into()) as u16;
        *credit = (*credit + saved).min(CREDIT.max(*credit));
        *hits = hits.saturating_add(known);
        *allowed = allowed.saturating_sub(known);
        *free = free.saturating_sub(known);
        self.balance = (self.balance + saved).min(BALANCE);
        self.earned = 0;
    }

    /// Looking was in vain; false if it should be given up.
    pub(super) fn pay(&mut self, cost: i32) -> bool {
        self.take_in();
        let mut cost = (cost * USUAL / self.length).max(1);
        let Prospect { credit, left, rest, hits, free, .. } = &mut self.blocks[self.newest];
        if self.run >= LOOP && cost > ALLOWANCE && *free < ALLOWANCES {
            *free += 1;
            cost = 0;
        }
        self.balance = (self.balance - cost).max(-BALANCE);
        let patience = if self.balance < 0 { LITTLE_PATIENCE } else { PATIENCE };
        *credit -= cost;
        if *credit > 0 {
            *rest = 0;
        } else if *credit < -patience {
            // Where some are known, more will be: the states are many, but they come back.
            *rest = if *hits > SOME { SHORTEST } else { (*rest * 2).clamp(SHORTEST, LONGEST) };
            (*credit, *left, *hits) = (0, *rest, 0);
        }
        *left == 0
    }
}
