//! Answers as numbers, to find out whether they are the same as before.

use super::caches::Level;
use super::interface::{Entered, LoadFlags, Loaded, Stored};
use crate::predictor::Outcome;
use retire::Branch;

/// In the place of a number: the answer has none.
pub(crate) const NO_CODE: u64 = u64::MAX;
/// The number of the answer that there is nothing.
const NOTHING: u64 = 1 << 62;

/// Bits of a number for each part of what loads met: flags, how often a port is taken again, and cycles, of which there
/// are two. The level is before them.
const FLAGS: u32 = LoadFlags::all().bits().count_ones();
const AGAIN: u32 = 4;
const CYCLES: u32 = 24;

/// An answer that may be known by a number.
pub(crate) trait Answer: Sized {
    /// The number of the answer; `None` if it is too unusual to have one. Never [`NO_CODE`].
    fn code(&self) -> Option<u64>;

    /// The answer with this number; `None` if there is none.
    fn of_code(code: u64) -> Option<Self>;
}

/// Puts a number of so many bits behind others.
fn pack(word: u64, part: u64, bits: u32) -> Option<u64> {
    (part >> bits == 0).then_some(word << bits | part)
}

impl Answer for Entered {
    #[inline]
    fn code(&self) -> Option<u64> {
        pack(pack(self.hit.into(), self.translation, 24)?, self.wait, 24)
    }

    fn of_code(code: u64) -> Option<Self> {
        let (translation, wait) = (code >> 24 & 0xFF_FFFF, code & 0xFF_FFFF);
        Some(Self { translation, hit: code >> 48 & 1 == 1, wait })
    }
}

impl Answer for Option<Loaded> {
    #[inline]
    fn code(&self) -> Option<u64> {
        let Some(Loaded { delay, level, flags, data, again }) = *self else { return Some(NOTHING) };
        let flags = pack(level as u64, flags.bits().into(), FLAGS)?;
        pack(pack(pack(flags, again.into(), AGAIN)?, delay, CYCLES)?, data, CYCLES)
    }

    fn of_code(code: u64) -> Option<Self> {
        if code == NOTHING {
            return Some(None);
        }
        let (mut rest, mut part) = (code, 0);
        let mut take = |bits: u32| {
            (rest, part) = (rest >> bits, rest & ((1 << bits) - 1));
            part
        };
        let (data, delay, again) = (take(CYCLES), take(CYCLES), take(AGAIN) as u8);
        let flags = LoadFlags::from_bits_truncate(take(FLAGS) as u8);
        Some(Some(Loaded { delay, level: Level::of_number(rest)?, flags, data, again }))
    }
}

/// Cycles.
impl Answer for u64 {
    #[inline]
    fn code(&self) -> Option<u64> {
        pack(0, *self, 32)
    }

    fn of_code(code: u64) -> Option<Self> {
        Some(code)
    }
}

impl Answer for Option<Stored> {
    #[inline]
    fn code(&self) -> Option<u64> {
        let flags =
            |Stored { more, room, twice }| u64::from(twice) << 2 | u64::from(more) << 1 | u64::from(room);
        Some(self.map_or(NOTHING, flags))
    }

    fn of_code(code: u64) -> Option<Self> {
        let flag = |bit: u32| code >> bit & 1 == 1;
        Some((code != NOTHING).then(|| Stored { twice: flag(2), more: flag(1), room: flag(0) }))
    }
}

/// The number of how a branch went and was predicted. A target has at most 57 bits and their sign, which leaves room.
#[inline]
pub(crate) fn branch_code(branch: &Branch, outcome: Outcome) -> u64 {
    let Outcome { mispredicted, unknown, slow, overridden, passed } = outcome;
    let flags = [branch.taken, mispredicted, unknown, slow, overridden, passed];
    flags.iter().fold(branch.target, |word, &flag| word << 1 | u64::from(flag)) & (u64::MAX >> 1)
}
