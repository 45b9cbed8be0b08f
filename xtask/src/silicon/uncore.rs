//! What this host's core finds outside of itself: its share of the last-level cache, how long that keeps a line, and
//! the latency of memory.
//!
//! A virtual machine has neighbours, and often a partition of the cache, which CPUID does not tell.

use super::micro::{chase, chase_after};
use super::native::Host;
use crate::error::TaskError;
use core_model::{Core, Geometry, Uncore};
use std::num::{NonZeroU32, NonZeroU64};

/// Memory of a chase is a power of two of this, or half as much again.
const MIB: u64 = 1 << 20;
/// As much as this at most.
const MOST: u64 = 512 * MIB;
/// Milliseconds for which lines are not used, and how often that is doubled.
const IDLE: f64 = 0.5;
const DOUBLED: u32 = 9;

/// How long the last level keeps lines; as much of it as a chase of large pages goes through before a load costs more
/// than half of the way to memory; the latter, by the farthest chase. Without memory beyond the level, nothing is known
/// of either.
///
/// A chase that takes so long for a walk that the level has lost its lines says nothing of the level's size.
pub(crate) fn measure(host: &mut Host, core: &Core) -> Result<Option<Uncore>, TaskError> {
    let bytes = |cache: Geometry| u64::from(cache.sets) * u64::from(cache.ways) * 64;
    let far = (2 * bytes(core.memory.llc)).next_power_of_two().clamp(8 * MIB, MOST);
    let level = f64::from(core.memory.llc_latency);
    let Some(memory) = chase(host, far)?.filter(|&memory| memory >= 1.5 * level) else { return Ok(None) };
    let lifetime = lifetime(host, 2 * bytes(core.memory.l2), memory)?;
    let walked = |size: &u64| lifetime.is_none_or(|cycles| (size / 64) as f64 * memory < cycles / 2.0);
    let sizes = (0..).flat_map(|power| [MIB << (power + 1), (3 * MIB) << power]);
    // Where lines are lost, a size that is kept is no limit.
    let (mut llc, mut limited) = (MIB, lifetime.is_none());
    for size in sizes.take_while(|size| *size <= far / 2).take_while(walked) {
        let Some(cycles) = chase(host, size)? else { return Ok(None) };
        if cycles > (level + memory) / 2.0 {
            limited = true;
            break;
        }
        llc = size;
    }
    Ok(Some(Uncore {
        llc: NonZeroU64::new(llc).filter(|_| limited),
        llc_lifetime: lifetime.and_then(|cycles| NonZeroU64::new(cycles.round() as u64)),
        memory_latency: NonZeroU32::new(memory.round() as u32),
    }))
}

/// Cycles after which half of what so many bytes have in the last level is in memory; `None` if most of it stays, or
/// cannot be told.
fn lifetime(host: &mut Host, bytes: u64, memory: f64) -> Result<Option<f64>, TaskError> {
    let idle: Vec<f64> = (0..=DOUBLED).map(|doubled| IDLE * 1e-3 * f64::from(1_u32 << doubled)).collect();
    let Some(clock) = host.clock() else { return Ok(None) };
    let (walk, loads) = chase_after(host, bytes, &idle)?;
    let known: Vec<(f64, f64)> =
        idle.into_iter().zip(loads).filter_map(|(seconds, load)| Some((seconds, load?))).collect();
    let Some(&(_, level)) = known.first() else { return Ok(None) };
    let half = (level + memory) / 2.0;
    let crosses = known.windows(2).find(|pair| pair[0].1 <= half && pair[1].1 > half);
    Ok(crosses.map(|pair| {
        let [(from, low), (to, high)] = [pair[0], pair[1]];
        (walk + from + (to - from) * (half - low) / (high - low)) * clock
    }))
}
