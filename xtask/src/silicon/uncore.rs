//! What this host's core finds outside of itself: its share of the last-level cache, and the latency of memory.
//!
//! A virtual machine has neighbours, and often a partition of the cache, which CPUID does not tell.

use super::micro::chase;
use super::native::Host;
use crate::error::TaskError;
use core_model::{Core, Geometry, Uncore};
use std::num::{NonZeroU32, NonZeroU64};

/// Memory of a chase is a power of two of this, or half as much again.
const MIB: u64 = 1 << 20;
/// As much as this at most.
const MOST: u64 = 512 * MIB;

/// As much of the last level as a chase of large pages goes through before a load costs more than half of the way to
/// memory; the latter, by the farthest chase. Without memory beyond the level, nothing is known of either.
pub(crate) fn measure(host: &mut Host, core: &Core) -> Result<Option<Uncore>, TaskError> {
    let bytes = |cache: Geometry| u64::from(cache.sets) * u64::from(cache.ways) * 64;
    let far = (2 * bytes(core.memory.llc)).next_power_of_two().clamp(8 * MIB, MOST);
    let level = f64::from(core.memory.llc_latency);
    let Some(memory) = chase(host, far)?.filter(|&memory| memory >= 1.5 * level) else { return Ok(None) };
    let sizes = (0..).flat_map(|power| [MIB << (power + 1), (3 * MIB) << power]);
    let mut llc = MIB;
    for size in sizes.take_while(|size| *size <= far / 2) {
        let Some(cycles) = chase(host, size)? else { return Ok(None) };
        if cycles > (level + memory) / 2.0 {
            break;
        }
        llc = size;
    }
    let memory_latency = NonZeroU32::new(memory.round() as u32);
    Ok(Some(Uncore { llc: NonZeroU64::new(llc), memory_latency }))
}
