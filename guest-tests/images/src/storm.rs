//! The MSRs that an unfriendly guest tries.

use crate::random::Random;

/// First and last index of the PMU's MSRs, with neighbours on both sides. What a VMM may need to live
/// on (APIC base, EFER, TSC deadline) is not among them.
const RANGES: [(u32, u32); 26] = [
    (0xC0, 0xCB),
    (0x185, 0x192),
    (0x1A0, 0x1A0),
    (0x1A5, 0x1A8),
    (0x1C7, 0x1CA),
    (0x1D9, 0x1E0),
    (0x300, 0x312),
    (0x328, 0x32A),
    (0x344, 0x346),
    (0x38C, 0x396),
    (0x3E0, 0x3E4),
    (0x3F0, 0x3F8),
    (0x4C0, 0x4CB),
    (0x5FF, 0x601),
    (0x680, 0x6DF),
    (0xDC0, 0xDE0),
    (0x1200, 0x1220),
    (0x1308, 0x1312),
    (0x14C0, 0x14D0),
    (0x1500, 0x1520),
    (0x1600, 0x1620),
    (0x1900, 0x1924),
    (0x1980, 0x1994),
    (0xC001_0000, 0xC001_0007),
    (0xC001_0200, 0xC001_020B),
    (0xC000_0300, 0xC000_0303),
];

/// An MSR of the PMU or next to one.
#[must_use]
pub fn msr(random: &mut Random) -> u32 {
    let (first, last) = random.pick(&RANGES);
    first + random.below(u64::from(last - first) + 1) as u32
}

/// An ECX for RDPMC: mostly near the indices that exist.
#[must_use]
pub fn rdpmc_index(random: &mut Random) -> u32 {
    const TYPES: [u32; 6] = [0, 0x4000_0000, 0x2000_0000, 0x8000_0000, 0x1000_0000, 0xFFFF_0000];
    match random.below(8) {
        0 => random.bits() as u32,
        _ => random.pick(&TYPES) | random.below(12) as u32,
    }
}
