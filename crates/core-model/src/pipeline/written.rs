//! How many stores ago registers were written.

use crate::instruction::Prepared;

/// Bits of each register.
const BITS: u32 = 4;
/// The lowest bit of each.
const ONES: u64 = u64::MAX / 15;

/// Stores since each of the first 16 registers was written, up to 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written(u64);

impl Written {
    /// None was written lately.
    pub(super) fn new() -> Self {
        Self(u64::MAX)
    }

    pub(super) fn word(self) -> u64 {
        self.0
    }

    pub(super) fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// What an instruction writes.
    #[inline]
    pub(super) fn retire(&mut self, prepared: &Prepared, stores: bool) {
        if stores {
            let full = self.0 & self.0 >> 1 & self.0 >> 2 & self.0 >> 3 & ONES;
            self.0 += ONES ^ full;
        }
        let mut registers = prepared.first_results;
        while registers != 0 {
            self.0 &= !(0xF << (BITS * registers.trailing_zeros()));
            registers &= registers - 1;
        }
    }

    /// Stores since any of these was written.
    #[inline]
    pub(super) fn stores_since(self, registers: [u8; 2]) -> u8 {
        let since = |register: u8| (self.0 >> (BITS * u32::from(register)) & 0xF) as u8;
        registers.into_iter().filter(|&register| register < 16).map(since).min().unwrap_or(0xF)
    }
}
