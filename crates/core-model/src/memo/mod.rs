//! Remembers what a block did to the pipeline, so that it need not be worked out again.
//!
//! The pipeline is a function of its state, the block, and the answers of the world around it. Loops come back to the same
//! states again and again. So each state that was seen at the start of a block gets a number, and each execution of a block
//! leaves a path: the questions that the pipeline asked, with the cycle of each, the answers, and at the end the totals to add
//! and the next state. When block and state come together again, the questions are put to the world, and as long as the
//! answers are the same the pipeline itself does not move. At another answer it is restored, is given the answers that are
//! known already, and leaves another path.
//!
//! The totals are the same as without it.

mod recorder;
mod shape;
mod sums;
mod tree;

use crate::pipeline::Pipeline;
use crate::step::BlockStep;
use crate::totals::CoreTotals;
use crate::world::World;
use recorder::Recorder;
pub(crate) use shape::{Shaped, Words};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use tree::Tree;

/// Words of shapes, and nodes, after which everything is forgotten.
const MOST_WORDS: usize = 6 << 20;
const MOST_NODES: usize = 3 << 19;
/// A block that is known earns a credit, of which this many are kept; what others cost, and when the state that they lead
/// to is known at least.
const CREDIT: i32 = 1 << 10;
const UNKNOWN: i32 = 8;
const NEW_PATH: i32 = 2;
/// Blocks that are not looked at after too many failures: so many at first, and at most.
const SHORTEST_REST: u32 = 1 << 10;
const LONGEST_REST: u32 = 1 << 14;

/// A state of the pipeline at the start of a block.
#[derive(Debug, Clone, Copy)]
struct State {
    start: u32,
    len: u32,
}

/// Where the pipeline is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Whereabouts {
    /// Where it says. The number of its state, if that is known.
    Here(Option<u32>),
    /// In the state with this number at this cycle; it has not been told.
    Away { state: u32, cycle: u64 },
}

/// Hashes are hashed already.
#[derive(Debug, Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Numbers by the hash of what they stand for.
type Hashed = HashMap<u64, u32, BuildHasherDefault<Identity>>;

#[derive(Debug)]
pub(crate) struct Memo {
    shapes: Vec<u64>,
    states: Vec<State>,
    known: Hashed,
    tree: Tree,
    /// The shape at hand, and what the block at hand adds.
    shape: Vec<u64>,
    moved: Box<CoreTotals>,
    credit: i32,
    resting: u32,
    rest: u32,
}

impl Memo {
    pub(crate) fn new() -> Self {
        Self {
            shapes: Vec::new(),
            states: Vec::new(),
            known: HashMap::default(),
            tree: Tree::default(),
            shape: Vec::new(),
            moved: Box::default(),
            credit: 0,
            resting: 0,
            rest: SHORTEST_REST,
        }
    }

    /// True if a block is better run without being looked at.
    pub(crate) fn rests(&mut self) -> bool {
        self.resting = self.resting.saturating_sub(1);
        self.resting > 0
    }

    /// The number of the state that the pipeline is in, of which what is over has been booked; `None` if it has none.
    pub(crate) fn number(&mut self, pipeline: &Pipeline) -> Option<u32> {
        self.shape.clear();
        if pipeline.save(pipeline.cycles(), &mut self.shape).is_none() {
            self.fail(UNKNOWN);
            return None;
        }
        let hash = hash(&self.shape);
        if let Some(&number) = self.known.get(&hash) {
            return (self.shape_of(number) == self.shape).then_some(number);
        }
        let number = u32::try_from(self.states.len()).ok()?;
        let (start, len) = (self.shapes.len() as u32, self.shape.len() as u32);
        self.shapes.extend_from_slice(&self.shape);
        self.states.push(State { start, len });
        self.tree.add_state();
        self.known.insert(hash, number);
        Some(number)
    }

    fn shape_of(&self, number: u32) -> &[u64] {
        let State { start, len } = self.states[number as usize];
        &self.shapes[start as usize..][..len as usize]
    }

    /// Brings the pipeline into a state.
    pub(crate) fn restore(&self, pipeline: &mut Pipeline, state: u32, cycle: u64) {
        pipeline.restore(cycle, &mut Words::new(self.shape_of(state)));
    }

    /// Does what the block did before in this state, if the world answers as it did then: the next state and its cycle.
    #[inline]
    pub(crate) fn replay(
        &mut self,
        world: &mut World,
        totals: &mut CoreTotals,
        (state, cycle): (u32, u64),
        block: &BlockStep<'_>,
    ) -> Option<(u32, u64)> {
        let next = self.tree.replay(world, totals, (state, cycle), block)?;
        self.credit = (self.credit + 1).min(CREDIT);
        Some(next)
    }

    /// Runs a block for which [`replay`](Self::replay) has just failed, in the state with this number; the next state.
    pub(crate) fn record(
        &mut self,
        pipeline: &mut Pipeline,
        world: &mut World,
        totals: &mut CoreTotals,
        state: u32,
        block: &BlockStep<'_>,
    ) -> Option<u32> {
        let from = pipeline.cycles();
        let mut recorder = Recorder::new(&mut self.tree, world, totals, (state, from), block);
        pipeline.retire_block(&mut recorder, &mut self.moved, block);
        let end = recorder.end();
        pipeline.back_end.settle(&mut self.moved);
        let sum = self.tree.sums.take(&mut self.moved, totals);
        let states = self.states.len();
        let next = self.number(pipeline);
        if let (Some(end), Some(sum), Some(next)) = (end, sum, next) {
            self.tree.finish(end, sum, next, pipeline.cycles() - from);
        }
        self.fail(if self.states.len() > states { UNKNOWN } else { NEW_PATH });
        if self.shapes.len() > MOST_WORDS || self.tree.len() > MOST_NODES {
            self.clear(totals);
            return None;
        }
        next.filter(|_| self.resting == 0)
    }

    /// Looking at a block was in vain. After too many of them it is better to look at none for a while.
    fn fail(&mut self, cost: i32) {
        self.credit -= cost;
        if self.credit > 0 {
            self.rest = SHORTEST_REST;
        } else if self.credit < -CREDIT {
            (self.credit, self.resting) = (0, self.rest);
            self.rest = (self.rest * 2).min(LONGEST_REST);
        }
    }

    /// Adds to the totals what known blocks have added.
    pub(crate) fn settle(&mut self, totals: &mut CoreTotals) {
        self.tree.sums.settle(totals);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self, totals: &mut CoreTotals) {
        self.settle(totals);
        self.shapes.clear();
        self.states.clear();
        self.known.clear();
        self.tree = Tree::default();
    }
}

fn hash(words: &[u64]) -> u64 {
    const FACTORS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F];
    let mut sums = [words.len() as u64, 0];
    for pair in words.chunks(2) {
        for ((sum, factor), &word) in sums.iter_mut().zip(FACTORS).zip(pair) {
            *sum = (sum.rotate_left(25) ^ word).wrapping_mul(factor);
            *sum ^= *sum >> 32;
        }
    }
    let hash = (sums[0] ^ sums[1].rotate_left(31)).wrapping_mul(FACTORS[0]);
    hash ^ hash >> 29
}
