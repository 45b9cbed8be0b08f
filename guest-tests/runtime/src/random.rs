//! Reproducible random numbers (splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014).

/// A generator with a fixed seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// A register value of the kinds that find bugs: few bits, many bits, all ones, near a wrap.
    pub fn value(&mut self) -> u64 {
        match self.below(6) {
            0 => 0,
            1 => 1 << self.below(64),
            2 => u64::MAX >> self.below(64),
            3 => u64::MAX << self.below(64),
            4 => self.bits() & self.bits() & self.bits(),
            _ => self.bits(),
        }
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}
