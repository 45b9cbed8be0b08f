//! Banks of the first-level cache: each four bytes of a line can be read by two loads a cycle.
//!
//! Measured on Granite Rapids (docs/silicon.md): of three loads a cycle no four bytes, by their place in a line, may be
//! read by all three, be it the same line or others.

/// Cycles that are remembered: loads come in program order, and begin in another one.
const CYCLES: usize = 256;
/// Log2 of the bytes of a bank.
const SHIFT: u32 = 2;

/// What loads read in a cycle.
#[derive(Debug, Clone, Copy, Default)]
struct Reads {
    cycle: u64,
    /// The first two loads, which never wait: places in the line, and sizes.
    loads: [(u8, u8); 2],
    count: u8,
    /// Banks that any load reads, and those that two do: a bit for each, worked out for the third load.
    once: u16,
    twice: u16,
}

impl Reads {
    /// Adds a load to those of a cycle if it is one of the first two.
    #[inline(always)]
    fn add_first(&mut self, cycle: u64, load: (u8, u8)) -> bool {
        let count = if self.cycle == cycle { self.count } else { 0 };
        let Some(place) = self.loads.get_mut(usize::from(count)) else { return false };
        *place = load;
        (self.cycle, self.count) = (cycle, count + 1);
        true
    }
}

/// What loads read in the last cycles, and in those to come.
#[derive(Debug)]
pub(super) struct Banks {
    reads: Box<[Reads; CYCLES]>,
}

impl Banks {
    pub(super) fn new() -> Self {
        Self { reads: Box::new([Reads::default(); CYCLES]) }
    }

    /// The first cycle from `at` in which a load can read all its banks, which it does then. It is within a line.
    #[inline]
    pub(super) fn read(&mut self, linear: u64, size: u8, at: u64) -> u64 {
        let load = ((linear % 64) as u8, size);
        if self.reads[at as usize % CYCLES].add_first(at, load) { at } else { self.read_later(load, at) }
    }

    #[inline(never)]
    fn read_later(&mut self, load: (u8, u8), at: u64) -> u64 {
        let wanted = banks(load);
        let mut cycle = at;
        loop {
            let reads = &mut self.reads[cycle as usize % CYCLES];
            if reads.add_first(cycle, load) {
                return cycle;
            }
            if reads.count == 2 {
                let [first, second] = reads.loads.map(banks);
                (reads.once, reads.twice) = (first | second, first & second);
            }
            if reads.twice & wanted == 0 {
                reads.twice |= reads.once & wanted;
                reads.once |= wanted;
                reads.count = 3;
                return cycle;
            }
            cycle += 1;
        }
    }
}

/// The banks of a load, by its place in the line and its size: a bit for each.
fn banks((first, size): (u8, u8)) -> u16 {
    let last = first + size.max(1) - 1;
    ((2_u32 << (last >> SHIFT).min(15)) - (1 << (first >> SHIFT))) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles of three loads with these places, and bytes each.
    fn last_of(places: [u64; 3], size: u8) -> u64 {
        let mut banks = Banks::new();
        places.into_iter().map(|place| banks.read(0x1000 + place, size, 50)).max().unwrap_or_default()
    }

    #[test]
    fn three_loads_conflict_as_measured() {
        let conflicts = [[0, 0, 0], [0, 64, 128], [0, 0, 64]];
        let none = [[0, 8, 16], [0, 64, 8], [4, 8, 64]];
        assert!(conflicts.iter().all(|&places| last_of(places, 8) == 51));
        assert!(none.iter().all(|&places| last_of(places, 8) == 50));
        assert_eq!([last_of([0, 4, 64], 4), last_of([0, 1, 2], 1)], [50, 51]);
        for (places, conflict) in
            [([0, 16, 32], 0), ([0, 8, 16], 0), ([0, 8, 80], 0), ([0, 8, 64], 1), ([8, 16, 72], 1)]
        {
            assert_eq!(last_of(places, 16), 50 + conflict, "{places:?}");
        }
    }
}
