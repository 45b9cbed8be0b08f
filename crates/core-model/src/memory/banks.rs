//! Banks of the first-level cache: each four bytes of a line can be read by two loads a cycle.
//!
//! Measured on Granite Rapids (docs/silicon.md): of three loads a cycle no four bytes, by their place in a line, may be
//! read by all three, be it the same line or others.

/// Cycles that are remembered: loads come in program order, and begin in another one.
const CYCLES: usize = 256;
/// Log2 of the bytes of a bank.
const SHIFT: u32 = 2;

/// What loads read in a cycle: a bit for each bank.
#[derive(Debug, Clone, Copy, Default)]
struct Reads {
    cycle: u64,
    once: u16,
    twice: u16,
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
        let first = linear % 64;
        let last = first + u64::from(size.max(1)) - 1;
        let banks = ((2_u32 << (last >> SHIFT).min(15)) - (1 << (first >> SHIFT))) as u16;
        let mut cycle = at;
        loop {
            let reads = &mut self.reads[cycle as usize % CYCLES];
            if reads.cycle != cycle {
                *reads = Reads { cycle, once: 0, twice: 0 };
            }
            if reads.twice & banks == 0 {
                reads.twice |= reads.once & banks;
                reads.once |= banks;
                return cycle;
            }
            cycle += 1;
        }
    }
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
