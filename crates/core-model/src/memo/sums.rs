//! What executions add to the totals. The same additions come again and again, so it is counted how often each is due,
//! and they are made when the totals are read.

use super::Hashed;
use crate::totals::CoreTotals;

/// Words of the totals that are looked at together.
const GROUP: usize = 8;

/// What is added to a word of the totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Addition {
    word: u16,
    add: i32,
}

/// Additions that belong together.
#[derive(Debug, Clone, Copy)]
struct Sum {
    first: u32,
    count: u32,
}

#[derive(Debug, Default)]
pub(super) struct Sums {
    additions: Vec<Addition>,
    sums: Vec<Sum>,
    known: Hashed,
    /// How often each is due, and which are due at all.
    due: Vec<u64>,
    waiting: Vec<u32>,
}

impl Sums {
    /// Forgets everything of which nothing is due.
    pub(super) fn clear(&mut self) {
        self.additions.clear();
        self.sums.clear();
        self.known.clear();
        self.due.clear();
    }

    /// Additions that are kept.
    pub(super) fn len(&self) -> usize {
        self.additions.len()
    }

    /// The number of what these totals add, which are 0 again afterwards, and are added to others; `None` if it cannot
    /// be written down.
    pub(super) fn take(&mut self, moved: &mut CoreTotals, totals: &mut CoreTotals) -> Option<u32> {
        let first = self.additions.len();
        let (mut hash, mut fits) = (0_u64, true);
        // Most are 0, and looked at by groups.
        let groups = moved.words_mut().chunks_mut(GROUP).zip(totals.words_mut().chunks_mut(GROUP));
        for (group, (moved, totals)) in groups.enumerate() {
            if moved.iter().fold(0, |any, word| any | word) == 0 {
                continue;
            }
            for (word, (moved, total)) in (group * GROUP..).zip(moved.iter_mut().zip(totals)) {
                let add = std::mem::take(moved);
                if add == 0 {
                    continue;
                }
                *total = total.wrapping_add(add);
                fits &= i32::try_from(add as i64).is_ok();
                hash = (hash.rotate_left(23) ^ add << 16 ^ word as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                self.additions.push(Addition { word: word as u16, add: add as i32 });
            }
        }
        let count = self.additions.len() - first;
        if !fits {
            self.additions.truncate(first);
            return None;
        }
        hash ^= hash >> 32;
        if let Some(&known) = self.known.get(&hash) {
            let Sum { first: start, count: same } = self.sums[known as usize];
            let (old, new) = self.additions.split_at(first);
            let equal = same as usize == count && old[start as usize..][..count] == *new;
            if equal {
                self.additions.truncate(first);
                return Some(known);
            }
        }
        let number = u32::try_from(self.sums.len()).ok()?;
        self.sums.push(Sum { first: u32::try_from(first).ok()?, count: count as u32 });
        self.due.push(0);
        self.known.insert(hash, number);
        Some(number)
    }

    /// Adds a sum once more.
    #[inline(always)]
    pub(super) fn add(&mut self, number: u32) {
        let due = &mut self.due[number as usize];
        *due += 1;
        if *due == 1 {
            self.waiting.push(number);
        }
    }

    /// Adds what is due.
    pub(super) fn settle(&mut self, totals: &mut CoreTotals) {
        let words = totals.words_mut();
        for number in self.waiting.drain(..) {
            let Sum { first, count } = self.sums[number as usize];
            let due = std::mem::take(&mut self.due[number as usize]);
            for addition in &self.additions[first as usize..][..count as usize] {
                let word = &mut words[usize::from(addition.word)];
                *word = word.wrapping_add((addition.add as i64 as u64).wrapping_mul(due));
            }
        }
    }
}
