//! What this host's core finds outside of itself: its share of the last-level cache, and the latency of memory.
//!
//! A virtual machine has neighbours, and often a partition of the cache, which CPUID does not tell.
#![expect(unsafe_code, reason = "asks for large pages")]

use super::native::Host;
use core_model::{Core, Geometry, Uncore};
use std::hint::black_box;
use std::mem;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Instant;

/// Memory of a chase is a power of two of this, or half as much again.
const MIB: u64 = 1 << 20;
/// As much as this at most.
const MOST: u64 = 512 * MIB;
/// Loads of a sample, and samples.
const LOADS: usize = 100_000;
const SAMPLES: usize = 9;
/// Bytes of a large page.
const LARGE: usize = 2 << 20;
/// Bytes of a chase that hits the first level.
const NEAR: u64 = 16 << 10;
/// Cycles of a load from there in a chain: 4 on AMD's cores, 5 on Intel's with an index.
const FIRST_LEVEL: f64 = 5.0;

/// A line with the index of the next one.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line(usize);

/// As much of the last level as a chase of large pages goes through before a load costs more than half of the way to
/// memory; the latter, by the farthest chase. Without memory beyond the level, nothing is known of either.
pub(crate) fn measure(host: &mut Host, core: &Core) -> Option<Uncore> {
    let bytes = |cache: Geometry| u64::from(cache.sets) * u64::from(cache.ways) * 64;
    let far = (2 * bytes(core.memory.llc)).next_power_of_two().clamp(8 * MIB, MOST);
    let near = chase(host, NEAR)?;
    let base = near - FIRST_LEVEL;
    let memory = chase(host, far)? - base;
    let level = f64::from(core.memory.llc_latency);
    if memory < 1.5 * level {
        return None;
    }
    let sizes = (0..).flat_map(|power| [MIB << (power + 1), (3 * MIB) << power]);
    let mut llc = MIB;
    for size in sizes.take_while(|size| *size <= far / 2) {
        if chase(host, size)? - base > (level + memory) / 2.0 {
            break;
        }
        llc = size;
    }
    Some(Uncore { llc: NonZeroU64::new(llc), memory_latency: NonZeroU32::new(memory.round() as u32) })
}

/// Cycles of each load of a chain of them to so many bytes, in a random order.
fn chase(host: &mut Host, bytes: u64) -> Option<f64> {
    let count = bytes as usize / mem::size_of::<Line>();
    // From an address that is a multiple of a large page.
    let mut lines: Vec<Line> = Vec::with_capacity(count + LARGE / mem::size_of::<Line>());
    let skipped = lines.as_ptr().cast::<u8>().align_offset(LARGE);
    // SAFETY: advice about memory that the vector owns, and in which it has nothing; it may be refused.
    unsafe {
        libc::madvise(
            lines.as_mut_ptr().cast::<u8>().add(skipped).cast(),
            bytes as usize,
            libc::MADV_HUGEPAGE,
        )
    };
    lines.resize(skipped / mem::size_of::<Line>(), Line(0));
    lines.extend((0..count).map(Line));
    let lines = &mut lines[skipped / mem::size_of::<Line>()..];
    // Sattolo's algorithm: one cycle through all of them.
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for last in (1..count).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = (random >> 33) as usize % last;
        let (a, b) = (lines[last].0, lines[other].0);
        (lines[last].0, lines[other].0) = (b, a);
    }
    let mut at = 0;
    let mut walk = |loads| {
        let started = Instant::now();
        for _ in 0..loads {
            at = lines[at].0;
        }
        at = black_box(at);
        started.elapsed().as_secs_f64()
    };
    walk(LOADS.max(count.min(4 * LOADS)));
    let sampled = host.sample_seconds(SAMPLES, || Some(walk(LOADS)))?;
    Some(sampled.cycles / LOADS as f64)
}
