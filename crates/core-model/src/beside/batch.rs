//! Blocks on their way to an account on another thread.

use crate::account::Account;
use crate::predictor::Outcome;
use crate::prepared::Prepared;
use crate::step::{BlockId, BlockStep, Predicted, Step};
use retire::{Branch, BranchKind, MemoryAccess};

/// Blocks, and accesses to memory, after which a batch is full.
const BLOCKS: usize = 512;
const ACCESSES: usize = 1 << 12;

/// What is the same each time that a block retires.
#[derive(Debug, Clone, Copy)]
struct Fixed {
    id: Option<BlockId>,
    fetch_pa: u64,
    fetch_page: u8,
    last: u16,
    length: u16,
    /// Instructions.
    count: u16,
}

/// A block that has retired, apart from what is fixed and its accesses.
#[derive(Debug, Clone, Copy)]
struct Told {
    rip: u64,
    target: u64,
    place: Place,
    accesses: u32,
    /// How its branch went: kind, if there is one, and whether it was taken.
    kind: Option<BranchKind>,
    taken: bool,
    user: bool,
    outcome: Outcome,
}

/// Where the instructions of a block are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The receiver has them here.
    Known(u16),
    /// They are the next ones in the batch, to be kept here.
    New(u16),
    /// They are the next ones in the batch, for this once.
    Once,
    /// The next one in the batch is told of alone.
    Alone,
}

/// Blocks in the order of their execution.
#[derive(Debug, Default)]
pub(super) struct Batch {
    blocks: Vec<Told>,
    /// All their accesses.
    memory: Vec<MemoryAccess>,
    /// What is fixed of the blocks that the receiver does not know.
    fixed: Vec<Fixed>,
    instructions: Vec<Prepared>,
    /// How often each instruction is repeated that is told of alone.
    repetitions: Vec<u64>,
}

/// Blocks that a receiver knows at a time.
pub(super) const PLACES: usize = 1 << 15;

/// A block that a receiver knows.
#[derive(Debug)]
struct Kept {
    fixed: Fixed,
    instructions: Box<[Prepared]>,
}

/// The blocks that a receiver knows, by place.
#[derive(Debug)]
pub(super) struct Known(Box<[Option<Kept>]>);

impl Known {
    pub(super) fn new() -> Self {
        Self(std::iter::repeat_with(|| None).take(PLACES).collect())
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// It should be sent off.
    pub(super) fn is_full(&self) -> bool {
        self.blocks.len() >= BLOCKS || self.memory.len() >= ACCESSES
    }

    #[inline(always)]
    pub(super) fn push(&mut self, block: &Predicted<BlockStep<'_>>, place: Place) {
        if !matches!(place, Place::Known(_)) {
            self.introduce(block);
        }
        let &Predicted { step: BlockStep { rip, user, branch, memory, .. }, outcome } = block;
        self.memory.extend_from_slice(memory);
        let kind = branch.map(|branch| branch.kind);
        let (taken, target) = branch.map_or((false, 0), |branch| (branch.taken, branch.target));
        let accesses = memory.len() as u32;
        self.blocks.push(Told { rip, target, place, accesses, kind, taken, user, outcome });
    }

    #[cold]
    fn introduce(&mut self, block: &BlockStep<'_>) {
        let &BlockStep { id, fetch_pa, fetch_page, instructions, last, length, .. } = block;
        let count = instructions.len() as u16;
        self.fixed.push(Fixed { id, fetch_pa, fetch_page, last, length, count });
        self.instructions.extend_from_slice(instructions);
    }

    /// An instruction that is told of alone.
    pub(super) fn push_alone(&mut self, prepared: &Prepared, step: &Predicted<Step<'_>>) {
        let &Predicted { step, outcome } = step;
        self.repetitions.push(step.repetitions);
        let step = BlockStep {
            id: None,
            rip: step.rip,
            fetch_pa: step.fetch_pa,
            instructions: std::slice::from_ref(prepared),
            memory: step.memory,
            branch: step.branch,
            last: 0,
            length: u16::from(step.length),
            user: step.user,
            fetch_page: step.fetch_page,
        };
        self.push(&Predicted { step, outcome }, Place::Alone);
    }

    /// Tells an account of everything, and is empty then.
    pub(super) fn tell(&mut self, account: &mut Account, known: &mut Known) {
        let mut memory = self.memory.as_slice();
        let (mut fixed, mut new) = (self.fixed.as_slice(), self.instructions.as_slice());
        let mut repetitions = self.repetitions.iter();
        for &Told { rip, target, place, accesses, kind, taken, user, outcome } in &self.blocks {
            let (fixed, instructions) = match place {
                Place::Known(place) => {
                    let Some(kept) = &known.0[usize::from(place)] else { continue };
                    (&kept.fixed, &*kept.instructions)
                }
                Place::New(_) | Place::Once | Place::Alone => {
                    let [fixed] = split(&mut fixed, 1) else { continue };
                    (fixed, split(&mut new, u32::from(fixed.count)))
                }
            };
            let &Fixed { id, fetch_pa, fetch_page, last, length, .. } = fixed;
            let memory = split(&mut memory, accesses);
            let branch = kind.map(|kind| Branch { kind, taken, target });
            if let (Place::Alone, [prepared]) = (place, instructions) {
                let repetitions = repetitions.next().copied().unwrap_or(1);
                let length = prepared.length;
                let step = Step { rip, fetch_pa, fetch_page, length, user, memory, branch, repetitions };
                account.retire(prepared, &Predicted { step, outcome });
                continue;
            }
            let step =
                BlockStep { id, rip, fetch_pa, instructions, memory, branch, last, length, user, fetch_page };
            account.retire_block(&Predicted { step, outcome });
            if let Place::New(place) = place {
                known.0[usize::from(place)] = Some(Kept { fixed: *fixed, instructions: instructions.into() });
            }
        }
        self.blocks.clear();
        self.memory.clear();
        // A string instruction may have many.
        self.memory.shrink_to(2 * ACCESSES);
        self.fixed.clear();
        self.instructions.clear();
        self.repetitions.clear();
    }
}

/// Takes so many from the front.
#[inline(always)]
fn split<'a, T>(from: &mut &'a [T], count: u32) -> &'a [T] {
    let (front, rest) = from.split_at((count as usize).min(from.len()));
    *from = rest;
    front
}
const _: () = assert!(size_of::<Told>() == 32);
