//! Which MSRs a VMM traps.

use super::{Access, Located, Register, registers};
use crate::profile::{Architecture, Profile, Vendor};
use alloc::vec::Vec;

/// MSRs in a row that a VMM traps alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MsrRange {
    /// Index of the first.
    pub first: u32,
    /// How many there are, at least one.
    pub count: u32,
    /// The profile has them: RDMSR reads what only the vPMU knows. Otherwise it raises #GP.
    pub read: bool,
    /// WRMSR can succeed, and the vPMU has to see the value. Otherwise it raises #GP, whatever the value.
    pub write: bool,
}

impl Profile {
    /// The MSRs to trap for a guest with this CPU, sorted; neighbours with the same needs are joined.
    ///
    /// Deny all of them to the hypervisor's own handling, for reads and for writes: the ranges are the same for
    /// every profile, and what this one lacks (a register that another generation or vendor has) must raise #GP
    /// too, which a hypervisor with a PMU of its own would not do. Only accesses that [`read`](MsrRange::read) and
    /// [`write`](MsrRange::write) name have to reach [`Vpmu`](crate::Vpmu); it answers the others as well, with a
    /// [`Fault`](crate::Fault) that says why. [`filter_ranges`] puts them into a form that KVM takes.
    #[must_use]
    pub fn trapped_ranges(&self) -> Vec<MsrRange> {
        let all = Vendor::of(self.architecture()).flat_map(registers);
        let msr = |register: &'static Register, instance: u32| {
            let read = Located { register, instance }.exists_in(self);
            let write = read && register.access != Access::ReadOnly;
            MsrRange { first: register.index_of(instance), count: 1, read, write }
        };
        join(all.flat_map(|r| (0..r.span).map(move |n| msr(r, n))).collect())
    }
}

/// Sorts the MSRs and joins neighbours with the same needs. An index may belong to a register of each vendor, of which
/// one is the profile's.
fn join(mut msrs: Vec<MsrRange>) -> Vec<MsrRange> {
    msrs.sort_unstable_by_key(|msr| msr.first);
    msrs.dedup_by(|next, kept| {
        let same = next.first == kept.first;
        if same {
            kept.read |= next.read;
            kept.write |= next.write;
        }
        same
    });
    let mut joined: Vec<MsrRange> = Vec::new();
    for msr in msrs {
        match joined.last_mut() {
            Some(range)
                if range.first + range.count == msr.first
                    && (range.read, range.write) == (msr.read, msr.write) =>
            {
                range.count += 1;
            }
            _ => joined.push(msr),
        }
    }
    joined
}

/// MSR ranges `(first, count)` of the registers of every vendor of x86 CPUs, as [`Profile::trapped_ranges`] without
/// what differs by profile.
#[must_use]
pub fn trapped_ranges() -> Vec<(u32, u32)> {
    let all = Vendor::of(Architecture::X86_64).flat_map(registers);
    let msr = |first| MsrRange { first, count: 1, read: true, write: true };
    let ranges = join(all.flat_map(|r| (0..r.span).map(move |n| msr(r.index_of(n)))).collect());
    ranges.into_iter().map(|range| (range.first, range.count)).collect()
}

/// MSRs that one range of KVM's filter can cover: KVM_MSR_FILTER_MAX_BITMAP_SIZE (0x600 bytes) times 8.
const FILTER_RANGE_MSRS: u32 = 0x3000;

/// A range as KVM_X86_SET_MSR_FILTER takes it (Linux, Documentation/virt/kvm/api.rst).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterRange {
    /// MSR of bit 0.
    pub base: u32,
    /// Number of MSRs, at most 3000H.
    pub count: u32,
    /// Bit n % 8 of byte n / 8 is MSR `base + n`: 1 allows it, 0 denies it.
    pub bitmap: Vec<u8>,
}

/// Packs MSR ranges `(first, count)` that are to be denied into as few of KVM's as possible: it has 16
/// (KVM_MSR_FILTER_MAX_RANGES), and walks them in order on every access that it intercepts. The MSRs in between stay
/// allowed. Those of the vPMU take three.
#[must_use]
pub fn filter_ranges(mut denied: Vec<(u32, u32)>) -> Vec<FilterRange> {
    denied.sort_unstable();
    let mut packed: Vec<FilterRange> = Vec::new();
    for msr in denied.into_iter().flat_map(|(first, count)| first..first.saturating_add(count)) {
        let range = match packed.last_mut() {
            Some(range) if msr - range.base < FILTER_RANGE_MSRS => range,
            _ => {
                packed.push(FilterRange { base: msr, count: 0, bitmap: Vec::new() });
                let Some(range) = packed.last_mut() else { continue };
                range
            }
        };
        let bit = msr - range.base;
        range.count = range.count.max(bit + 1);
        range.bitmap.resize((range.count as usize).div_ceil(8), 0xFF);
        range.bitmap[bit as usize / 8] &= !(1 << (bit % 8));
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::PROFILES;
    use crate::source::ScriptedSource;
    use crate::{Fault, Level, ReadOutcome, Vpmu, WriteOutcome};

    /// The MSRs in which any register can be, and their neighbours.
    fn msrs() -> impl Iterator<Item = u32> {
        (0..0x3000).chain(0xC000_0000..0xC000_0400).chain(0xC001_0000..0xC001_0400)
    }

    #[test]
    fn every_profile_traps_what_it_answers_and_says_what_can_succeed() {
        for profile in PROFILES {
            let ranges = profile.trapped_ranges();
            let mut source = ScriptedSource::new();
            for index in msrs() {
                let mut pmu = Vpmu::new((*profile).clone());
                let range =
                    ranges.iter().find(|range| (range.first..range.first + range.count).contains(&index));
                let needs = range.map(|range| (range.read, range.write));
                let expected = match pmu.read_register(Level::Kernel, index, &mut source).quiet() {
                    ReadOutcome::NotHandled => None,
                    outcome => {
                        let there = outcome != ReadOutcome::Fault(Fault::Absent);
                        let written = pmu.write_register(Level::Kernel, index, 0, &mut source);
                        Some((there, there && written != WriteOutcome::Fault(Fault::ReadOnly)))
                    }
                };
                assert_eq!(needs, expected, "{} {index:#x}", profile.name);
            }
        }
    }

    #[test]
    fn ranges_are_joined_and_cover_the_same_for_every_profile() {
        let all = trapped_ranges();
        for profile in Architecture::X86_64.profiles() {
            let ranges = profile.trapped_ranges();
            assert!(ranges.windows(2).all(|pair| pair[0].first + pair[0].count < pair[1].first
                || (pair[0].read, pair[0].write) != (pair[1].read, pair[1].write)));
            let covered: u32 = ranges.iter().map(|range| range.count).sum();
            assert_eq!(covered, all.iter().map(|(_, count)| count).sum::<u32>(), "{}", profile.name);
        }
        let of_fixed = |profile: &Profile| {
            let ranges = profile.trapped_ranges();
            ranges.into_iter().find(|range| range.first <= 0x30C && 0x30C < range.first + range.count)
        };
        let fixed_ctr3 = of_fixed(&crate::profile::SAPPHIRE_RAPIDS).map(|range| (range.read, range.write));
        assert_eq!(fixed_ctr3, Some((true, true)));
        assert_eq!(of_fixed(&crate::profile::CASCADE_LAKE).map(|range| range.read), Some(false));
    }

    fn denies(packed: &[FilterRange], msr: u32) -> bool {
        packed.iter().filter(|r| (r.base..r.base + r.count).contains(&msr)).any(|r| {
            let bit = msr - r.base;
            r.bitmap[bit as usize / 8] & (1 << (bit % 8)) == 0
        })
    }

    #[test]
    fn exactly_the_trapped_msrs_are_denied() {
        let trapped = trapped_ranges();
        let packed = filter_ranges(trapped.clone());
        for msr in msrs() {
            let wanted = trapped.iter().any(|&(first, count)| (first..first + count).contains(&msr));
            assert_eq!(denies(&packed, msr), wanted, "MSR {msr:#x}");
        }
    }

    /// Intel's registers in one, AMD's in C000_xxxxH and C001_xxxxH in one each.
    #[test]
    fn all_of_the_vpmu_fits_three_ranges() {
        let bases: Vec<u32> = filter_ranges(trapped_ranges()).iter().map(|range| range.base).collect();
        assert_eq!(bases, [0xC1, 0xC000_010E, 0xC001_0000]);
    }

    #[test]
    fn distant_msrs_get_ranges_of_their_own_within_the_bitmap_limit() {
        let packed =
            filter_ranges([(0xC001_0200, 12), (0xC1, 2), (0xC1 + FILTER_RANGE_MSRS - 1, 2)].to_vec());
        let bounds: Vec<_> = packed.iter().map(|r| (r.base, r.count)).collect();
        assert_eq!(bounds, [(0xC1, FILTER_RANGE_MSRS), (0xC1 + FILTER_RANGE_MSRS, 1), (0xC001_0200, 12)]);
        assert!(packed.iter().all(|r| r.bitmap.len() == (r.count as usize).div_ceil(8)));
    }
}
