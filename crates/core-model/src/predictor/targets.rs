//! Where branches go: indirect targets by history, and return addresses.

use super::Guess;
use super::path::{Folds, TABLES, Xorshift, hash};
use crate::core::{Geometry, Prediction};

/// How sure an entry can be of its target.
const SURE: u8 = 3;

/// What is known by address and one of the histories.
#[derive(Debug)]
struct Table {
    /// The number of the history.
    history: usize,
    /// All ways of all sets.
    entries: Box<[Entry]>,
    sets: usize,
    ways: usize,
}

/// The entries of a set of a table, and the tag of a branch.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    set: usize,
    tag: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u32,
    sure: u8,
    target: u64,
}

/// Targets of indirect jumps and calls: by address, and by address and history (ITTAGE: Seznec, "A 64-Kbytes ITTAGE
/// indirect branch predictor", 2011).
#[derive(Debug)]
pub(crate) struct Indirect {
    plain: Box<[Entry]>,
    /// By history, shortest first.
    tables: Box<[Table]>,
    random: Xorshift,
}

impl Indirect {
    pub(crate) fn new(parameters: &Prediction) -> Self {
        let table = |&(history, Geometry { sets, ways }): &(usize, Geometry)| {
            let (sets, ways) = (sets as usize, ways as usize);
            Table { history, entries: vec![Entry::default(); sets * ways].into_boxed_slice(), sets, ways }
        };
        Self {
            plain: vec![Entry::default(); 1 << parameters.indirect_bits].into_boxed_slice(),
            tables: parameters.indirect.iter().map(table).collect(),
            random: Xorshift::new(),
        }
    }

    /// Predicts, and learns where it went.
    pub(super) fn predict(&mut self, rip: u64, history: &Folds, target: u64) -> Guess {
        let (mut places, mut provider, mut alternate) = ([Place::default(); TABLES], None, None);
        for (number, (table, place)) in self.tables.iter().zip(&mut places).enumerate() {
            let hash = hash(rip, history[table.history]);
            let (set, tag) = ((hash as usize & (table.sets - 1)) * table.ways, (hash >> 32) as u32 | 1);
            *place = Place { set, tag };
            if let Some(way) = table.entries[set..][..table.ways].iter().position(|entry| entry.tag == tag) {
                (alternate, provider) = (provider, Some((number, set + way)));
            }
        }
        let by_address = self.by_address(rip, target);
        let of = |(table, entry): (usize, usize)| self.tables[table].entries[entry];
        let before = alternate.map_or(by_address, |place| Some(of(place).target));
        let predicted = match provider.map(of) {
            // A new entry may know less than the one before it.
            Some(entry) if entry.sure > 0 || before.is_none() => Some(entry.target),
            _ => before,
        };
        let known = provider.is_some_and(|place| of(place).target == target);
        if let Some((table, entry)) = provider {
            learn(&mut self.tables[table].entries[entry], places[table].tag, target);
        }
        if predicted != Some(target) && !known {
            self.allocate(&places, provider.map_or(0, |(table, _)| table + 1), target);
        }
        Guess { right: predicted == Some(target), overrides: by_address.is_some() && predicted != by_address }
    }

    /// Predicts by address alone, and learns.
    pub(super) fn by_address(&mut self, rip: u64, target: u64) -> Option<u64> {
        let mask = self.plain.len() - 1;
        let entry = &mut self.plain[(rip ^ rip >> 12) as usize & mask];
        let tag = (rip >> 4) as u32 | 1;
        if entry.tag == tag {
            let predicted = entry.target;
            learn(entry, tag, target);
            Some(predicted)
        } else {
            *entry = Entry { tag, sure: 0, target };
            None
        }
    }

    /// Gives a mispredicted branch an entry with a longer history, of the first table from a number on that has one to
    /// spare, or as often of the next.
    fn allocate(&mut self, places: &[Place], from: usize, target: u64) {
        let random = self.random.next() as usize;
        let skipped = if from + 1 < self.tables.len() { random >> 8 & 1 } else { 0 };
        for (table, &Place { set, tag }) in self.tables.iter_mut().zip(places).skip(from + skipped) {
            let ways = &mut table.entries[set..][..table.ways];
            let mut order = (0..table.ways).map(|way| (way + random) % table.ways);
            if let Some(way) = order.find(|&way| ways[way].sure == 0) {
                ways[way] = Entry { tag, sure: 0, target };
                return;
            }
            ways.iter_mut().for_each(|entry| entry.sure -= 1);
        }
    }

    pub(crate) fn forget(&mut self) {
        self.plain.fill(Entry::default());
        self.tables.iter_mut().for_each(|table| table.entries.fill(Entry::default()));
    }
}

fn learn(entry: &mut Entry, tag: u32, target: u64) {
    if entry.target == target {
        entry.sure = (entry.sure + 1).min(SURE);
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
