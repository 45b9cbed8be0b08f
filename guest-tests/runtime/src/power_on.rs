//! What registers held before any test touched them.

use crate::global::Global;

/// Most registers that are kept.
const ROOM: usize = 40;

static VALUES: Global<[Option<(u32, u64)>; ROOM]> = Global::new([None; ROOM]);

/// Keeps what `read` finds in each of the registers.
pub(crate) fn note(registers: impl Iterator<Item = u32>, read: impl Fn(u32) -> Option<u64>) {
    // SAFETY: nothing reads before this returns.
    let values = unsafe { &mut *VALUES.get() };
    let found = registers.filter_map(|register| Some((register, read(register)?)));
    values.iter_mut().zip(found).for_each(|(place, found)| *place = Some(found));
}

/// What the PMU register `register` held when the image started; `None` if it cannot be read, or is none of those that
/// are kept.
///
/// On x86-64 these are the first ten counters and selects, the first four fixed counters, PERF_METRICS, DEBUGCTL,
/// MISC_ENABLE and 38DH to 392H; on AArch64 PMCR, the enables, flags, PMSELR, PMUSERENR and Falkor's PMRESR0 to 2.
#[must_use]
pub fn power_on_value(register: u32) -> Option<u64> {
    // SAFETY: written once, before any test runs.
    unsafe { &*VALUES.get() }.iter().flatten().find(|(kept, _)| *kept == register).map(|(_, value)| *value)
}
