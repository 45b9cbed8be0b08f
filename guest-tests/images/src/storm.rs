//! The MSRs that an unfriendly guest tries.

use guest_runtime::random::Random;

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

/// The registers that everything hangs on.
const CORE: [(u32, u32); 8] = [
    (0xC1, 0xC8),
    (0x186, 0x18D),
    (0x1D9, 0x1D9),
    (0x309, 0x30C),
    (0x329, 0x329),
    (0x38D, 0x392),
    (0x38F, 0x38F),
    (0x4C1, 0x4C8),
];

/// An MSR of the PMU or next to one; half of them are the registers that everything hangs on.
#[must_use]
pub fn msr(random: &mut Random) -> u32 {
    let (first, last) = if random.below(2) == 0 { random.pick(&CORE) } else { random.pick(&RANGES) };
    first + random.below(u64::from(last - first) + 1) as u32
}

/// A value for `msr`: often one that it accepts, so that counters run, overflow and freeze.
#[must_use]
pub fn value_for(msr: u32, random: &mut Random) -> u64 {
    let bits = random.bits();
    match msr {
        _ if random.below(3) == 0 => random.value(),
        // Close to an overflow.
        0xC1..=0xC8 | 0x309..=0x30C | 0x4C1..=0x4C8 => (1 << 48) - 1 - (bits & 0xFFFF),
        // Instructions or cycles, enabled, with a random rest.
        0x186..=0x18D => bits & 0x00BF_0000 | 0x40_0000 | random.pick(&[0xC0, 0x3C, 0xC4, 0x1A4]),
        0x1D9 => bits & 1 << 12,
        0x38D => bits & 0xBBBB,
        0x38F | 0x391 => bits & 0x0001_000F_0000_00FF,
        // Thaw most of the time, or one PMI would be the last.
        0x390 => bits & 0x0001_000F_0000_00FF | 1 << 59,
        _ => random.value(),
    }
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
