//! Leaves 15H and 16H: the clocks. A guest that believes them measures nothing itself, so they must
//! be those that it really has.

use platform::convert::low_u32;
use vpmu::cpuid::CpuidResult;

/// Leaf 15H: TSC rate = crystal x EBX / EAX, crystal clock in ECX. Linux times the APIC timer by it.
/// All 0 (not enumerated) when the TSC rate is unknown.
pub(crate) fn leaf_15(crystal_hz: u64, tsc_khz: u32) -> CpuidResult {
    let Ok(crystal) = u32::try_from(crystal_hz) else { return CpuidResult::default() };
    if tsc_khz == 0 || crystal < 1000 {
        return CpuidResult::default();
    }
    // Linux computes crystal kHz x EBX in 32 bits (arch/x86/kernel/tsc.c, native_calibrate_tsc).
    let largest = u32::MAX / (crystal / 1000);
    let (numerator, denominator) = ratio(u64::from(tsc_khz) * 1000, u64::from(crystal), u64::from(largest));
    CpuidResult { eax: denominator, ebx: numerator, ecx: crystal, edx: 0 }
}

/// Leaf 16H: base and maximum frequency in MHz, and a reference clock of 100 MHz.
pub(crate) fn leaf_16(tsc_khz: u32) -> CpuidResult {
    if tsc_khz == 0 {
        return CpuidResult::default();
    }
    let mhz = (tsc_khz + 500) / 1000;
    CpuidResult { eax: mhz, ebx: mhz, ecx: 100, edx: 0 }
}

/// The last continued-fraction convergent of `n / d` whose parts do not exceed `largest`.
fn ratio(mut n: u64, mut d: u64, largest: u64) -> (u32, u32) {
    let (mut before, mut last) = ((0, 1), (1, 0));
    while d != 0 {
        let whole = n / d;
        let next =
            (u64::saturating_add(last.0 * whole, before.0), u64::saturating_add(last.1 * whole, before.1));
        if next.0 > largest || next.1 > largest {
            break;
        }
        (before, last) = (last, next);
        (n, d) = (d, n % d);
    }
    // Both are at most `largest`, which fits 32 bits. A rate so far from the crystal's that not even one
    // convergent fits leaves 1/0, which reads as "not enumerated".
    (low_u32(last.0), low_u32(last.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_gives_the_tsc_rate_and_does_not_overflow_linux() {
        for crystal in [25_000_000_u32, 24_000_000, 1_000_000_000, 38_400_000, 19_200_000] {
            for tsc_khz in [2_596_122_u32, 2_600_000, 1_999_999, 3_700_001, 800_000] {
                let leaf = leaf_15(u64::from(crystal), tsc_khz);
                let linux = (crystal / 1000).checked_mul(leaf.ebx).expect("overflows in Linux") / leaf.eax;
                let error = f64::from(linux.abs_diff(tsc_khz)) / f64::from(tsc_khz);
                assert!(error < 2e-6, "{crystal} Hz, {tsc_khz} kHz: Linux gets {linux} kHz");
                assert_eq!(leaf.ecx, crystal);
            }
        }
    }

    #[test]
    fn exact_multiples_stay_exact() {
        assert_eq!(leaf_15(25_000_000, 2_600_000), CpuidResult { eax: 1, ebx: 104, ecx: 25_000_000, edx: 0 });
        assert_eq!(leaf_16(2_596_122), CpuidResult { eax: 2596, ebx: 2596, ecx: 100, edx: 0 });
    }

    #[test]
    fn an_unknown_rate_is_not_enumerated() {
        assert_eq!(leaf_15(25_000_000, 0), CpuidResult::default());
        assert_eq!(leaf_15(1 << 40, 2_600_000), CpuidResult::default());
        assert_eq!(leaf_16(0), CpuidResult::default());
    }
}
