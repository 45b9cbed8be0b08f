//! Taken or not: a bimodal table and tagged tables with longer and longer histories, after TAGE (Seznec and Michaud,
//! "A case for (partially) TAgged GEometric history length branch prediction", 2006), without its statistical
//! corrector. Half&Half (see [`super::path`]) found such tables in Intel's cores.

use super::Guess;
use super::path::{Folds, TABLES, Xorshift, hash};
use crate::core::Prediction;

/// Predictions between two ageings of the useful counters.
const AGEING: u32 = 1 << 18;
/// No entry has the branch.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u16,
    /// -4 to 3: taken from 0 on.
    counter: i8,
    useful: u8,
}

#[derive(Debug)]
pub(crate) struct Direction {
    /// -2 to 1: taken from 0 on.
    bimodal: Box<[i8]>,
    /// Of each table its sets.
    tables: Box<[Entry]>,
    sets: usize,
    ways: usize,
    count: usize,
    /// How much better than new entries those are that they come after: -8 to 7. `None` where new entries predict at
    /// once: see [`Prediction::trusts_new_entries`].
    newcomers: Option<i8>,
    /// See [`Prediction::spreads_branches`].
    spreads: bool,
    /// See [`Prediction::overridden_directions`].
    is_overridden: bool,
    first_is_fast: bool,
    random: Xorshift,
    updates: u32,
    /// How often a tag changed.
    changes: u64,
    recent: Box<[Recent; RECENT]>,
}

/// The history with which a branch was looked up last, where, and which entries had it when so many tags had changed:
/// branches of steady loops come back to the same history.
#[derive(Debug, Clone, Copy)]
struct Recent {
    rip: u64,
    history: Folds,
    places: [Place; TABLES],
    changes: u64,
    /// The entries with the longest and second longest history that have the branch.
    provider: u32,
    alternate: u32,
    /// The first table with a longer history than the provider's.
    longer: usize,
}

/// No conditional branch is at the last address.
const NOTHING: Recent = Recent {
    rip: u64::MAX,
    history: [0; TABLES],
    places: [Place { set: 0, tag: 0 }; TABLES],
    changes: 0,
    provider: NONE,
    alternate: NONE,
    longer: 0,
};

/// How many branches that is kept of.
const RECENT: usize = 16;

/// Where a branch is looked up: the first entry of a set, and a tag.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    set: u32,
    tag: u16,
}

impl Direction {
    pub(crate) fn new(parameters: &Prediction) -> Self {
        let count = parameters.histories.len().min(TABLES);
        let (sets, ways) = (parameters.tagged.sets as usize, parameters.tagged.ways as usize);
        Self {
            bimodal: vec![-1; 1 << parameters.bimodal_bits].into_boxed_slice(),
            tables: vec![Entry::default(); count * sets * ways].into_boxed_slice(),
            sets,
            ways,
            count,
            newcomers: (!parameters.trusts_new_entries).then_some(0),
            spreads: parameters.spreads_branches,
            is_overridden: parameters.overridden_directions.cycles > 0,
            first_is_fast: parameters.overridden_directions.first_is_fast,
            random: Xorshift::new(),
            updates: 0,
            changes: 0,
            recent: Box::new([NOTHING; RECENT]),
        }
    }

    /// Looks a branch up; the number of its record.
    #[inline(always)]
    fn look_up(&mut self, rip: u64, history: &Folds) -> usize {
        let number = (rip ^ rip >> 4) as usize % RECENT;
        let recent = &self.recent[number];
        let known = recent.rip == rip && recent.history == *history;
        if !known || recent.changes != self.changes {
            let places = if known { recent.places } else { self.place(rip, history) };
            let (mut provider, mut alternate, mut longer) = (NONE, NONE, 0);
            for (table, place) in places[..self.count].iter().enumerate() {
                if let Some(entry) = self.find(*place) {
                    (alternate, provider, longer) = (provider, entry, table + 1);
                }
            }
            let (history, changes) = (*history, self.changes);
            self.recent[number] = Recent { rip, history, places, changes, provider, alternate, longer };
        }
        number
    }

    /// The entry of a place that has the branch.
    #[inline(always)]
    fn find(&self, place: Place) -> Option<u32> {
        let set = &self.tables[place.set as usize..][..self.ways];
        set.iter().position(|entry| entry.tag == place.tag).map(|way| place.set + way as u32)
    }

    /// Works out where a branch is looked up.
    #[inline]
    fn place(&self, rip: u64, history: &Folds) -> [Place; TABLES] {
        let mut places = [Place::default(); TABLES];
        for (table, (&fold, place)) in history[..self.count].iter().zip(&mut places).enumerate() {
            let hash = hash(rip, fold);
            let set = table * self.sets + (hash as usize & (self.sets - 1));
            // No tag is 0, which marks empty entries.
            *place = Place { set: (set * self.ways) as u32, tag: (hash >> 40) as u16 & 0xFFF | 0x1000 };
        }
        places
    }

    /// Predicts, and learns what was right. A guess overrides what the fast part has.
    #[inline]
    pub(super) fn predict(&mut self, rip: u64, history: &Folds, taken: bool) -> Guess {
        let number = self.look_up(rip, history);
        let Recent { provider, alternate, longer, .. } = self.recent[number];
        let mask = self.bimodal.len() - 1;
        let base = &mut self.bimodal[(rip ^ rip >> 13) as usize & mask];
        let base_taken = *base >= 0;
        if provider == NONE {
            *base = (*base + if taken { 1 } else { -1 }).clamp(-2, 1);
            if base_taken != taken {
                self.allocate(number, 0, taken);
            }
            return Guess { right: base_taken == taken, overrides: false };
        }
        let alternate_taken = match alternate {
            NONE => base_taken,
            entry => self.tables[entry as usize].counter >= 0,
        };
        let entry = &mut self.tables[provider as usize];
        let entry_taken = entry.counter >= 0;
        // A new entry may know less than the one before it.
        let new = entry.useful == 0 && matches!(entry.counter, -1 | 0);
        let doubted = new && self.newcomers.is_some_and(|newcomers| newcomers >= 0);
        let predicted = if doubted { alternate_taken } else { entry_taken };
        if entry_taken != alternate_taken {
            if new && let Some(newcomers) = &mut self.newcomers {
                let worse = if entry_taken == taken { -1 } else { 1 };
                *newcomers = (*newcomers + worse).clamp(-8, 7);
            }
            entry.useful =
                if entry_taken == taken { (entry.useful + 1).min(3) } else { entry.useful.saturating_sub(1) };
        }
        entry.counter = (entry.counter + if taken { 1 } else { -1 }).clamp(-4, 3);
        if new && alternate == NONE {
            *base = (*base + if taken { 1 } else { -1 }).clamp(-2, 1);
        }
        if entry_taken != taken {
            self.allocate(number, longer, taken);
        }
        let overrides = self.is_overridden
            && (longer > 1 || !self.first_is_fast)
            && predicted != self.fast_direction(number, base_taken);
        Guess { right: predicted == taken, overrides }
    }

    /// What the fast part predicts: the bimodal table, and where it has that the first of the others; nothing is learnt
    /// there while a longer history has the branch.
    fn fast_direction(&self, number: usize, base_taken: bool) -> bool {
        if !self.first_is_fast {
            return base_taken;
        }
        let first = self.find(self.recent[number].places[0]);
        first.map_or(base_taken, |entry| self.tables[entry as usize].counter >= 0)
    }

    /// Gives a mispredicted branch an entry with a longer history, of the first table that has one to spare, or as
    /// often of the ones behind it.
    fn allocate(&mut self, number: usize, longer: usize, taken: bool) {
        let random = if self.spreads { self.random.next() } else { 0 };
        let places = &self.recent[number].places[longer.min(self.count)..self.count];
        let free = places.iter().filter_map(|place| {
            let set = &self.tables[place.set as usize..][..self.ways];
            let ways = (0..self.ways).map(|way| (way + random as usize) % self.ways);
            let way = ways.into_iter().find(|&way| set[way].useful == 0)?;
            Some((place.set as usize + way, place.tag))
        });
        let mut chosen = None;
        for (n, free) in free.enumerate() {
            chosen = Some(free);
            if random >> (8 + n) & 1 == 0 {
                break;
            }
        }
        if let Some((entry, tag)) = chosen {
            self.changes += 1;
            self.tables[entry] = Entry { tag, counter: if taken { 0 } else { -1 }, useful: 0 };
        } else {
            for place in places {
                for entry in &mut self.tables[place.set as usize..][..self.ways] {
                    entry.useful = entry.useful.saturating_sub(1);
                }
            }
        }
        self.updates += 1;
        if self.updates == AGEING {
            self.updates = 0;
            self.tables.iter_mut().for_each(|entry| entry.useful /= 2);
        }
    }

    pub(crate) fn forget(&mut self) {
        self.bimodal.fill(-1);
        self.tables.fill(Entry::default());
        self.newcomers = self.newcomers.map(|_| 0);
        self.changes += 1;
    }
}
