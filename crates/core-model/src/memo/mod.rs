//! Remembers what a block did to the pipeline, so that it need not be worked out again.
//!
//! The pipeline is a function of its state, the block, and the answers of the memory around it. Loops come back to
//! the same states again and again. So a state that comes again at the start of a block gets a number, and each
//! execution of a block leaves a path: the questions that the pipeline asked, with the cycle of each, the answers,
//! and at the end the totals to add and the next state. When block and state come together again, the questions are
//! put to memory, and as long as the answers are the same the pipeline itself does not move. At another answer
//! it is restored, is given the answers that are known already, and leaves another path.
//!
//! The totals are the same as without it.

mod prospects;
mod recorder;
mod sums;
mod tree;

use crate::instruction::{Definition, Predicted};
use crate::memory::MemorySystem;
use crate::pipeline::Pipeline;
use crate::state::{Shaped, Words};
use crate::totals::CoreTotals;
use prospects::Prospects;
use recorder::Recorder;
use retire::Block;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use tree::Tree;

/// Words of shapes, and nodes, after which everything is forgotten.
const MOST_WORDS: usize = 1 << 22;
const MOST_NODES: usize = 1 << 20;
/// What it costs to find a state of a new outline, one with a new number, one that has no shape, and that a block has
/// to be worked out in a known state: in quarters of what a known block saves.
const UNSEEN: i32 = 1;
const NEW_STATE: i32 = 8;
const SHAPELESS: i32 = 16;
const NEW_PATH: i32 = 12;
/// Outlines of states that are told apart.
const OUTLINES: usize = 1 << 20;

/// A state of the pipeline at the start of a block.
#[derive(Debug, Clone, Copy)]
struct State {
    start: u32,
    len: u32,
}

/// Where the pipeline is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PipelinePosition {
    /// Where its own state says. The number of that state, if it is known.
    Live(Option<u32>),
    /// In the state with this number at this cycle, into which it has to be brought before it can go on.
    Memoised { state: u32, cycle: u64 },
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
    /// A bit for each outline that a state had, and how many those are.
    seen: Vec<u64>,
    seen_count: usize,
    /// The pipeline is where the last record ended, whose outline had not come before.
    unknown: bool,
    tree: Tree,
    /// The shape at hand, and what the block at hand adds.
    shape: Vec<u64>,
    moved: Box<CoreTotals>,
    prospects: Prospects,
}

impl Memo {
    pub(crate) fn new() -> Self {
        Self {
            shapes: Vec::new(),
            states: Vec::new(),
            known: HashMap::default(),
            seen: vec![0; OUTLINES / 64],
            seen_count: 0,
            unknown: false,
            tree: Tree::default(),
            shape: Vec::new(),
            moved: Box::default(),
            prospects: Prospects::new(),
        }
    }

    /// The state that the pipeline is in at the start of a block, and its cycle, if there may be any use in them.
    pub(crate) fn look(
        &mut self,
        pipeline: &mut Pipeline,
        totals: &mut CoreTotals,
        block: &Block<'_>,
    ) -> Option<(u32, u64)> {
        let unknown = std::mem::take(&mut self.unknown);
        if !self.prospects.look(block) || unknown || !self.recognises(pipeline) {
            return None;
        }
        pipeline.back_end.settle(totals);
        let state = self.number(pipeline)?;
        Some((state, pipeline.cycles()))
    }

    /// True if the pipeline may have been in this state before. Most states never come back, and only the others are
    /// worth a number.
    fn recognises(&mut self, pipeline: &mut Pipeline) -> bool {
        let bit = hash(&pipeline.outline()) as usize % OUTLINES;
        let word = &mut self.seen[bit / 64];
        let recognised = *word >> (bit % 64) & 1 == 1;
        if !recognised {
            *word |= 1 << (bit % 64);
            self.seen_count += 1;
            if self.seen_count > OUTLINES / 8 {
                self.seen_count = 0;
                self.seen.fill(0);
            }
            self.prospects.pay(UNSEEN);
        }
        recognised
    }

    /// The number of the state that the pipeline is in, of which what is over has been booked; `None` if it has none.
    fn number(&mut self, pipeline: &Pipeline) -> Option<u32> {
        self.shape.clear();
        if pipeline.save(pipeline.cycles(), &mut self.shape).is_none() {
            self.prospects.pay(SHAPELESS);
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
        self.prospects.pay(NEW_STATE).then_some(number)
    }

    fn shape_of(&self, number: u32) -> &[u64] {
        let State { start, len } = self.states[number as usize];
        &self.shapes[start as usize..][..len as usize]
    }

    /// Brings the pipeline to its position.
    pub(crate) fn resume(&self, pipeline: &mut Pipeline, position: PipelinePosition) {
        if let PipelinePosition::Memoised { state, cycle } = position {
            pipeline.restore(cycle, &mut Words::new(self.shape_of(state)));
        }
    }

    /// Does what the block did before in this state, if memory answers as it did then: the next state and its
    /// cycle.
    #[inline]
    pub(crate) fn replay(
        &mut self,
        system: &mut MemorySystem,
        totals: &mut CoreTotals,
        (state, cycle): (u32, u64),
        block: &Predicted<'_>,
    ) -> Option<(u32, u64)> {
        let next = self.tree.replay(system, totals, (state, cycle), block)?;
        self.prospects.earn();
        Some(next)
    }

    /// Runs a block for which [`replay`](Self::replay) has just failed, in the state with this number; the next state.
    pub(crate) fn record(
        &mut self,
        pipeline: &mut Pipeline,
        system: &mut MemorySystem,
        totals: &mut CoreTotals,
        state: u32,
        definition: &Definition,
        block: &Predicted<'_>,
    ) -> Option<u32> {
        let from = pipeline.cycles();
        let mut recorder = Recorder::new(&mut self.tree, system, totals, (state, from), block);
        pipeline.retire(&mut recorder, &mut self.moved, definition, block);
        let end = recorder.end();
        pipeline.back_end.settle(&mut self.moved);
        self.unknown = !self.recognises(pipeline);
        let next = if self.unknown { None } else { self.number(pipeline) };
        if let (Some(end), Some(next)) = (end, next) {
            if let Some(sum) = self.tree.sums.take(&mut self.moved, totals) {
                self.tree.finish(end, sum, next, pipeline.cycles() - from);
            }
        } else {
            totals.take(&mut self.moved);
        }
        let goes_on = self.prospects.pay(NEW_PATH);
        if self.shapes.len() > MOST_WORDS || self.tree.len() > MOST_NODES {
            self.clear(totals);
            return None;
        }
        next.filter(|_| goes_on)
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
        self.tree.clear();
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
