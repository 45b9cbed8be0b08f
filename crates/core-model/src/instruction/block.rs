//! Blocks of instructions: what they cost, which is worked out once, and their executions.

use super::prepared::Prepared;
use super::units::UnitsInTurn;
use crate::core::Core;
use crate::predictor::Outcome;
use retire::{Block, BlockId, MemoryAccess};
use std::ops::Deref;

/// The instructions of a block, ready to be executed.
#[derive(Debug, Default)]
pub(crate) struct Definition {
    instructions: Box<[Prepared]>,
    /// What an execution of all of it does depends on nothing but the state of the pipeline and on the answers that it
    /// gets.
    pub(crate) repeatable: bool,
}

impl Definition {
    pub(crate) fn new(mut instructions: Box<[Prepared]>, core: &Core, in_turn: UnitsInTurn) -> Self {
        for second in 1..instructions.len() {
            let (older, younger) = instructions.split_at_mut(second);
            if let (Some(older), Some(younger)) = (older.last_mut(), younger.first_mut()) {
                older.take_ports_of(younger, in_turn.jumps);
                if core.joins_moves {
                    older.join(younger);
                }
            }
        }
        if in_turn.all != 0 {
            instructions.iter_mut().for_each(|instruction| instruction.find_operation(in_turn));
        }
        let repeatable = instructions.iter().all(Prepared::is_repeatable);
        Self { instructions, repeatable }
    }

    /// Those that have retired.
    #[inline(always)]
    pub(crate) fn retired(&self, block: &Block<'_>) -> &[Prepared] {
        let first = usize::from(block.first);
        self.instructions.get(first..first + usize::from(block.count)).unwrap_or_default()
    }
}

/// All definitions, by [`BlockId::index`].
#[derive(Debug, Default)]
pub(crate) struct Definitions(Vec<Definition>);

impl Definitions {
    pub(crate) fn define(&mut self, id: BlockId, definition: Definition) {
        let index = id.index as usize;
        if index >= self.0.len() {
            self.0.resize_with(index + 1, Definition::default);
        }
        self.0[index] = definition;
    }

    #[inline(always)]
    pub(crate) fn get(&self, id: BlockId) -> Option<&Definition> {
        self.0.get(id.index as usize)
    }
}

/// Instructions that have retired, and what was predicted of the branch at their end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Predicted<'a> {
    pub(crate) block: &'a Block<'a>,
    pub(crate) outcome: Outcome,
}

impl<'a> Deref for Predicted<'a> {
    type Target = Block<'a>;

    #[inline(always)]
    fn deref(&self) -> &Block<'a> {
        self.block
    }
}

/// The accesses of an instruction by its position in the block, of which those from `rest` on belong to this or
/// younger ones, or to ones whose accesses were not looked at.
#[inline(always)]
pub(crate) fn accesses_of<'a>(block: &Block<'a>, number: usize, rest: &mut usize) -> &'a [MemoryAccess] {
    while block.memory.get(*rest).is_some_and(|access| usize::from(access.owner) < number) {
        *rest += 1;
    }
    let first = *rest;
    while block.memory.get(*rest).is_some_and(|access| usize::from(access.owner) == number) {
        *rest += 1;
    }
    block.memory.get(first..*rest).unwrap_or_default()
}
