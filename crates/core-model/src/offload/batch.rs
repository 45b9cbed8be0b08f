//! Blocks on their way to a machine on another thread.

use crate::instruction::{Definition, Predicted};
use crate::machine::Machine;
use crate::predictor::Outcome;
use retire::{Block, BlockId, Branch, BranchKind, MemoryAccess};

/// Blocks, and accesses to memory, after which a batch is full.
const BLOCKS: usize = 512;
const ACCESSES: usize = 1 << 12;

/// A block that has retired, apart from its accesses and repetitions.
#[derive(Debug, Clone, Copy)]
struct Entry {
    id: BlockId,
    rip: u64,
    fetch_pa: u64,
    target: u64,
    accesses: u32,
    first: u8,
    count: u8,
    fetch_page: u8,
    /// How its branch went: kind, if there is one, and whether it was taken.
    kind: Option<BranchKind>,
    taken: bool,
    whole: bool,
    user: bool,
    outcome: Outcome,
}
const _: () = assert!(size_of::<Entry>() == 48);

/// A definition, and how many blocks of the batch come before it.
#[derive(Debug)]
struct New {
    before: usize,
    id: BlockId,
    definition: Definition,
}

/// Blocks in the order of their execution.
#[derive(Debug, Default)]
pub(super) struct Batch {
    blocks: Vec<Entry>,
    /// All their accesses.
    memory: Vec<MemoryAccess>,
    /// Repetitions of those that are not whole.
    repetitions: Vec<u64>,
    new: Vec<New>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.new.is_empty()
    }

    /// It should be sent off.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.blocks.len() >= BLOCKS || self.memory.len() >= ACCESSES
    }

    pub(super) fn define(&mut self, id: BlockId, definition: Definition) {
        self.new.push(New { before: self.blocks.len(), id, definition });
    }

    #[inline(always)]
    pub(super) fn push(&mut self, block: &Predicted<'_>) {
        let &Predicted { block, outcome } = block;
        let Block { id, first, count, whole, user, fetch_page, rip, fetch_pa, memory, branch, .. } = *block;
        self.memory.extend_from_slice(memory);
        if !whole {
            self.repetitions.push(block.repetitions);
        }
        let kind = branch.map(|branch| branch.kind);
        let (taken, target) = branch.map_or((false, 0), |branch| (branch.taken, branch.target));
        let accesses = memory.len() as u32;
        self.blocks.push(Entry {
            id,
            rip,
            fetch_pa,
            target,
            accesses,
            first,
            count,
            fetch_page,
            kind,
            taken,
            whole,
            user,
            outcome,
        });
    }

    /// Gives everything to a machine, and is empty then.
    pub(super) fn retire(&mut self, machine: &mut Machine) {
        let mut memory = self.memory.as_slice();
        let mut repetitions = self.repetitions.iter();
        let mut new = self.new.drain(..).peekable();
        for (number, entry) in self.blocks.iter().enumerate() {
            while let Some(New { id, definition, .. }) = new.next_if(|new| new.before <= number) {
                machine.define(id, definition);
            }
            let &Entry { id, first, count, whole, user, fetch_page, rip, fetch_pa, .. } = entry;
            let accesses;
            (accesses, memory) = memory.split_at((entry.accesses as usize).min(memory.len()));
            let branch = entry.kind.map(|kind| Branch { kind, taken: entry.taken, target: entry.target });
            let repetitions = if whole { 1 } else { repetitions.next().copied().unwrap_or(1) };
            let block = Block {
                id,
                first,
                count,
                whole,
                user,
                fetch_page,
                rip,
                fetch_pa,
                memory: accesses,
                branch,
                // The branch is predicted already.
                last: 0,
                end: 0,
                repetitions,
            };
            machine.retire(&Predicted { block: &block, outcome: entry.outcome });
        }
        new.for_each(|New { id, definition, .. }| machine.define(id, definition));
        self.blocks.clear();
        self.memory.clear();
        // A string instruction may have many.
        self.memory.shrink_to(2 * ACCESSES);
        self.repetitions.clear();
    }
}
