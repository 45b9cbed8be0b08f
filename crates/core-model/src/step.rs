//! What the engine tells the model of each retired instruction.

use crate::predictor::Outcome;
use crate::prepared::Prepared;
use retire::{Branch, MemoryAccess};
use std::num::NonZeroU64;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

/// One retired instruction, as it happened.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Linear address of the first byte.
    pub rip: u64,
    /// Physical address of the first byte.
    pub fetch_pa: u64,
    /// Log2 of the size of the page that it was fetched from, in bytes: 12, 21 or 30.
    pub fetch_page: u8,
    /// Bytes.
    pub length: u8,
    /// Retired at privilege level 3.
    pub user: bool,
    /// Its reads and writes of memory in the order of execution, without fetches and page walks.
    pub memory: &'a [MemoryAccess],
    /// Set for branches, also those that fall through.
    pub branch: Option<Branch>,
    /// Iterations of a string instruction with a REP prefix, else 1.
    pub repetitions: u64,
}

/// Names the instructions of a block: blocks with the same name have the same ones at the same physical address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockId(NonZeroU64);

impl BlockId {
    /// A name that no block has had before. `None` if one of the instructions has to be worked out each time, or if there
    /// are more than 255.
    #[must_use]
    pub fn new(instructions: &[Prepared]) -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let few = instructions.len() <= usize::from(u8::MAX);
        let repeatable = few && instructions.iter().all(Prepared::is_repeatable);
        repeatable.then(|| NEXT.fetch_add(1, Ordering::Relaxed)).and_then(NonZeroU64::new).map(Self)
    }

    pub(crate) fn number(self) -> u64 {
        self.0.get()
    }
}

/// Consecutive instructions that have retired, of which only the last one may be a branch.
#[derive(Debug, Clone, Copy)]
pub struct BlockStep<'a> {
    /// Names the instructions, so that it can be remembered what they do. `None` if they are not remembered.
    pub id: Option<BlockId>,
    /// Linear address at which the instructions were decoded as if it were 0.
    pub rip: u64,
    /// The physical address that belongs to it.
    pub fetch_pa: u64,
    /// What the instructions are, in the order of their execution.
    pub instructions: &'a [Prepared],
    /// All their reads and writes of memory, in the order of execution.
    pub memory: &'a [MemoryAccess],
    /// How the last instruction went, if it is a branch.
    pub branch: Option<Branch>,
    /// Where the last instruction begins, in bytes from `rip`, and where it ends.
    pub last: u16,
    /// See [`last`](Self::last).
    pub length: u16,
    /// Retired at privilege level 3.
    pub user: bool,
    /// Log2 of the size of the page that they were fetched from, in bytes: 12, 21 or 30.
    pub fetch_page: u8,
}

impl<'a> BlockStep<'a> {
    /// The instructions one by one. None of them is a string instruction with a REP prefix.
    pub fn steps(self) -> impl Iterator<Item = (&'a Prepared, Step<'a>)> {
        let mut rest = 0;
        let last = self.instructions.len().wrapping_sub(1);
        self.instructions.iter().enumerate().map(move |(number, prepared)| {
            let step = Step {
                rip: self.rip.wrapping_add(u64::from(prepared.offset)),
                fetch_pa: self.fetch_pa + u64::from(prepared.offset),
                fetch_page: self.fetch_page,
                length: prepared.length,
                user: self.user,
                memory: self.memory_of(number, &mut rest),
                branch: self.branch.filter(|_| number == last),
                repetitions: 1,
            };
            (prepared, step)
        })
    }

    /// The accesses of an instruction, of which those from `rest` on belong to this or younger ones, or to ones that
    /// nobody has asked for.
    #[inline(always)]
    pub(crate) fn memory_of(&self, number: usize, rest: &mut usize) -> &'a [MemoryAccess] {
        while self.memory.get(*rest).is_some_and(|access| usize::from(access.owner) < number) {
            *rest += 1;
        }
        let first = *rest;
        while self.memory.get(*rest).is_some_and(|access| usize::from(access.owner) == number) {
            *rest += 1;
        }
        self.memory.get(first..*rest).unwrap_or_default()
    }
}

/// What has retired, and what was predicted of the branch at its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Predicted<S> {
    pub(crate) step: S,
    pub(crate) outcome: Outcome,
}

impl<S> Deref for Predicted<S> {
    type Target = S;

    #[inline(always)]
    fn deref(&self) -> &S {
        &self.step
    }
}
