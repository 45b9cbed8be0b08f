//! KVM's MSR filter: which accesses leave the guest.

use super::error::KvmError;
use kvm_bindings::KVM_MSR_FILTER_MAX_RANGES;
use kvm_ioctls::{MsrFilterDefaultAction, MsrFilterRange, MsrFilterRangeFlags, VmFd};

/// MSRs that one range of the filter can cover: KVM_MSR_FILTER_MAX_BITMAP_SIZE (0x600 bytes) x 8.
const RANGE_MSRS: u32 = 0x3000;

/// One range of the filter. Bit n of the bitmap is MSR `base + n`; 1 allows, 0 denies (and exits).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilterRange {
    base: u32,
    count: u32,
    bitmap: Vec<u8>,
}

/// Packs MSR ranges `(first, count)` into as few filter ranges as possible: KVM has 16, and walks
/// them in order on every access that it intercepts. The MSRs in between stay allowed.
pub(super) fn pack(mut denied: Vec<(u32, u32)>) -> Vec<FilterRange> {
    denied.sort_unstable();
    let mut packed: Vec<FilterRange> = Vec::new();
    for msr in denied.into_iter().flat_map(|(first, count)| first..first.saturating_add(count)) {
        let range = match packed.last_mut() {
            Some(range) if msr - range.base < RANGE_MSRS => range,
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

/// Sends every read and write of the `denied` MSRs to user space.
///
/// # Errors
/// More ranges than KVM has, or KVM refuses.
pub(super) fn install(vm: &VmFd, denied: Vec<(u32, u32)>) -> Result<(), KvmError> {
    let packed = pack(denied);
    let max = KVM_MSR_FILTER_MAX_RANGES as usize;
    if packed.len() > max {
        return Err(KvmError::FilterTooLarge { slots: packed.len(), max });
    }
    let ranges: Vec<MsrFilterRange<'_>> = packed
        .iter()
        .map(|range| MsrFilterRange {
            flags: MsrFilterRangeFlags::READ | MsrFilterRangeFlags::WRITE,
            base: range.base,
            msr_count: range.count,
            bitmap: &range.bitmap,
        })
        .collect();
    vm.set_msr_filter(MsrFilterDefaultAction::ALLOW, &ranges)
        .map_err(KvmError::setup("install the MSR filter"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::register::trapped_ranges;

    fn denies(packed: &[FilterRange], msr: u32) -> bool {
        packed.iter().filter(|r| (r.base..r.base + r.count).contains(&msr)).any(|r| {
            let bit = msr - r.base;
            r.bitmap[bit as usize / 8] & (1 << (bit % 8)) == 0
        })
    }

    #[test]
    fn exactly_the_trapped_msrs_are_denied() {
        let trapped = trapped_ranges();
        let packed = pack(trapped.clone());
        for msr in 0..0x8000 {
            let wanted = trapped.iter().any(|&(first, count)| (first..first + count).contains(&msr));
            assert_eq!(denies(&packed, msr), wanted, "MSR {msr:#x}");
        }
    }

    /// Intel's registers in one, AMD's in C000_xxxxH and C001_xxxxH in one each.
    #[test]
    fn all_of_the_vpmu_fits_three_ranges() {
        let bases: Vec<u32> = pack(trapped_ranges()).iter().map(|range| range.base).collect();
        assert_eq!(bases, [0xC1, 0xC000_010E, 0xC001_0000]);
    }

    #[test]
    fn distant_msrs_get_ranges_of_their_own_within_the_bitmap_limit() {
        let packed = pack(vec![(0xC001_0200, 12), (0xC1, 2), (0xC1 + RANGE_MSRS - 1, 2)]);
        let bounds: Vec<_> = packed.iter().map(|r| (r.base, r.count)).collect();
        assert_eq!(bounds, [(0xC1, RANGE_MSRS), (0xC1 + RANGE_MSRS, 1), (0xC001_0200, 12)]);
        assert!(packed.iter().all(|r| r.bitmap.len() == (r.count as usize).div_ceil(8)));
    }
}
