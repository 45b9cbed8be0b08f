//! KVM's MSR filter: which accesses leave the guest.

use super::error::KvmError;
use kvm_bindings::KVM_MSR_FILTER_MAX_RANGES;
use kvm_ioctls::{MsrFilterDefaultAction, MsrFilterRange, MsrFilterRangeFlags, VmFd};
use vpmu::register::filter_ranges;

/// Sends every read and write of the `denied` MSRs to user space.
///
/// # Errors
/// More ranges than KVM has, or KVM refuses.
pub(super) fn install(vm: &VmFd, denied: Vec<(u32, u32)>) -> Result<(), KvmError> {
    let packed = filter_ranges(denied);
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
