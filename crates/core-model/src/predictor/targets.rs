//! Where branches go: indirect targets by history, and return addresses.

use super::path::{Folds, hash};
use crate::core::Prediction;

/// The history of the second indirect table: that of this one for directions.
const HISTORY: usize = 0;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u32,
    sure: u8,
    target: u64,
}

/// Targets of indirect jumps and calls: by address, and by address and history.
#[derive(Debug)]
pub(crate) struct Indirect {
    plain: Box<[Entry]>,
    by_history: Box<[Entry]>,
}

impl Indirect {
    pub(crate) fn new(parameters: &Prediction) -> Self {
        let table = || vec![Entry::default(); 1 << parameters.indirect_bits].into_boxed_slice();
        Self { plain: table(), by_history: table() }
    }

    /// Predicts and learns; true if the target was right.
    pub(crate) fn predict(&mut self, rip: u64, history: &Folds, target: u64) -> bool {
        let hash = hash(rip, history[HISTORY]);
        let (mask, tag) = (self.plain.len() - 1, (hash >> 32) as u32 | 1);
        let long = &mut self.by_history[hash as usize & mask];
        let plain_tag = (rip >> 4) as u32 | 1;
        let plain = &mut self.plain[(rip ^ rip >> 12) as usize & mask];
        let plain_right = plain.tag == plain_tag && plain.target == target;
        let known = long.tag == tag;
        let right = if known { long.target == target } else { plain_right };
        if known {
            learn(long, tag, target);
        } else if !plain_right {
            // What the address alone does not tell, the history may.
            if long.sure > 0 && long.tag != 0 {
                long.sure -= 1;
            } else {
                *long = Entry { tag, sure: 0, target };
            }
        }
        if plain.tag == plain_tag {
            learn(plain, plain_tag, target);
        } else {
            *plain = Entry { tag: plain_tag, sure: 0, target };
        }
        right
    }

    pub(crate) fn forget(&mut self) {
        self.plain.fill(Entry::default());
        self.by_history.fill(Entry::default());
    }
}

fn learn(entry: &mut Entry, tag: u32, target: u64) {
    if entry.target == target {
        entry.sure = (entry.sure + 1).min(3);
    } else if entry.sure > 0 {
        entry.sure -= 1;
    } else {
        *entry = Entry { tag, sure: 0, target };
    }
}

/// Return addresses: a ring, which forgets the oldest.
#[derive(Debug)]
pub(crate) struct ReturnStack {
    addresses: Box<[u64]>,
    top: usize,
    depth: usize,
}

impl ReturnStack {
    pub(crate) fn new(parameters: &Prediction) -> Self {
        let entries = parameters.return_stack.max(1) as usize;
        Self { addresses: vec![0; entries].into_boxed_slice(), top: 0, depth: 0 }
    }

    pub(crate) fn push(&mut self, address: u64) {
        self.top = if self.top + 1 == self.addresses.len() { 0 } else { self.top + 1 };
        self.addresses[self.top] = address;
        self.depth = (self.depth + 1).min(self.addresses.len());
    }

    /// The newest address; `None` if all are used up.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        self.depth = self.depth.checked_sub(1)?;
        let address = self.addresses[self.top];
        self.top = if self.top == 0 { self.addresses.len() - 1 } else { self.top - 1 };
        Some(address)
    }

    pub(crate) fn forget(&mut self) {
        self.depth = 0;
    }
}
