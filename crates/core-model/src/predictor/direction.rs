//! Taken or not: a bimodal table and tagged tables with longer and longer histories, after TAGE (Seznec and Michaud,
//! "A case for (partially) TAgged GEometric history length branch prediction", 2006), without its statistical
//! corrector.

use super::{History, Kept};
use crate::core::Prediction;

/// Most tagged tables.
const TABLES: usize = 6;
/// Predictions between two ageings of the useful counters.
const AGEING: u32 = 1 << 18;

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
    tables: Box<[Entry]>,
    bits: u32,
    /// The history of each table.
    histories: [Kept; TABLES],
    count: usize,
    updates: u32,
    /// How often a tag changed.
    changes: u64,
    recent: Box<[Recent; RECENT]>,
}

/// The history with which a branch was looked up last, where, and which tables had it when so many tags had changed:
/// branches of steady loops come back to the same history.
#[derive(Debug, Clone, Copy)]
struct Recent {
    rip: u64,
    history: History,
    places: [Place; TABLES],
    changes: u64,
    /// The tables with the longest and second longest history that have the branch, by number from 1 on; 0 is the
    /// bimodal one.
    provider: usize,
    alternate: usize,
}

/// No conditional branch is at the last address.
const NOTHING: Recent = Recent {
    rip: u64::MAX,
    history: History { near: 0, far: 0 },
    places: [Place { index: 0, tag: 0 }; TABLES],
    changes: 0,
    provider: 0,
    alternate: 0,
};

/// How many branches that is kept of.
const RECENT: usize = 16;

/// Where a branch is looked up.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    index: u32,
    tag: u16,
}

impl Direction {
    pub(crate) fn new(parameters: &Prediction) -> Self {
        let count = parameters.histories.len().min(TABLES);
        let mut histories = [Kept::default(); TABLES];
        for (history, &length) in histories.iter_mut().zip(parameters.histories) {
            *history = Kept::new(length);
        }
        Self {
            bimodal: vec![-1; 1 << parameters.bimodal_bits].into_boxed_slice(),
            tables: vec![Entry::default(); count << parameters.tagged_bits].into_boxed_slice(),
            bits: parameters.tagged_bits,
            histories,
            count,
            updates: 0,
            changes: 0,
            recent: Box::new([NOTHING; RECENT]),
        }
    }

    /// Looks a branch up; the number of its record.
    #[inline(always)]
    fn look_up(&mut self, rip: u64, history: &History) -> usize {
        let number = (rip ^ rip >> 4) as usize % RECENT;
        let recent = &self.recent[number];
        let known = recent.rip == rip && recent.history == *history;
        if !known || recent.changes != self.changes {
            let places = if known { recent.places } else { self.place(rip, history) };
            let (mut provider, mut alternate) = (0, 0);
            for (table, place) in places[..self.count].iter().enumerate() {
                if self.tables[place.index as usize].tag == place.tag {
                    alternate = provider;
                    provider = table + 1;
                }
            }
            let history = *history;
            self.recent[number] = Recent { rip, history, places, changes: self.changes, provider, alternate };
        }
        number
    }

    /// Works out where a branch is looked up.
    #[inline]
    fn place(&self, rip: u64, history: &History) -> [Place; TABLES] {
        let mut places = [Place::default(); TABLES];
        for (table, (kept, place)) in self.histories[..self.count].iter().zip(&mut places).enumerate() {
            let hash = history.hash(rip, kept);
            let index = table << self.bits | (hash as usize & ((1 << self.bits) - 1));
            // No tag is 0, which marks empty entries.
            *place = Place { index: index as u32, tag: (hash >> 40) as u16 & 0xFFF | 0x1000 };
        }
        places
    }

    /// Predicts, and learns what was right; true if the prediction was.
    #[inline]
    pub(crate) fn predict(&mut self, rip: u64, history: &History, taken: bool) -> bool {
        let number = self.look_up(rip, history);
        let Recent { places, provider, alternate, .. } = &self.recent[number];
        let (provider, alternate) = (*provider, *alternate);
        let mask = self.bimodal.len() - 1;
        let base = &mut self.bimodal[(rip ^ rip >> 13) as usize & mask];
        let base_taken = *base >= 0;
        let Some(place) = provider.checked_sub(1).map(|table| places[table]) else {
            *base = (*base + if taken { 1 } else { -1 }).clamp(-2, 1);
            if base_taken != taken {
                self.allocate(number, 0, taken);
            }
            return base_taken == taken;
        };
        let alternate_taken = match alternate.checked_sub(1) {
            Some(table) => self.tables[places[table].index as usize].counter >= 0,
            None => base_taken,
        };
        let entry = &mut self.tables[place.index as usize];
        let entry_taken = entry.counter >= 0;
        // A new entry knows less than the one before it.
        let new = entry.useful == 0 && matches!(entry.counter, -1 | 0);
        let predicted = if new { alternate_taken } else { entry_taken };
        if entry_taken != alternate_taken {
            entry.useful =
                if entry_taken == taken { (entry.useful + 1).min(3) } else { entry.useful.saturating_sub(1) };
        }
        entry.counter = (entry.counter + if taken { 1 } else { -1 }).clamp(-4, 3);
        if new && alternate == 0 {
            *base = (*base + if taken { 1 } else { -1 }).clamp(-2, 1);
        }
        if entry_taken != taken {
            self.allocate(number, provider, taken);
        }
        predicted == taken
    }

    /// Gives a mispredicted branch an entry with a longer history.
    fn allocate(&mut self, number: usize, from: usize, taken: bool) {
        let longer = &self.recent[number].places[from.min(self.count)..self.count];
        let free = longer.iter().find(|place| self.tables[place.index as usize].useful == 0);
        match free {
            Some(place) => {
                self.changes += 1;
                self.tables[place.index as usize] =
                    Entry { tag: place.tag, counter: if taken { 0 } else { -1 }, useful: 0 };
            }
            None => {
                for place in longer {
                    self.tables[place.index as usize].useful =
                        self.tables[place.index as usize].useful.saturating_sub(1);
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
        self.changes += 1;
    }
}
