//! Overflows and the interrupt that they request.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_runtime::{Frame, gic, protocol::mmio::PMU_INTID, set_handler};

use crate::pmu::{PMOVSCLR, read, write};

static ARRIVALS: AtomicU64 = AtomicU64::new(0);
static FLAGS: AtomicU64 = AtomicU64::new(0);
static PC: AtomicU64 = AtomicU64::new(0);
static LEVEL: AtomicU64 = AtomicU64::new(0);

/// Notes the interrupt and clears the flags that caused it.
pub fn note_and_clear(frame: &mut Frame) {
    let flags = read(PMOVSCLR);
    write(PMOVSCLR, flags);
    ARRIVALS.fetch_add(1, Relaxed);
    FLAGS.fetch_or(flags, Relaxed);
    PC.store(frame.pc, Relaxed);
    LEVEL.store(u64::from(frame.level()), Relaxed);
    gic::end(PMU_INTID);
}

/// Lets the PMU's interrupt through to `handler`.
pub fn interrupts_to(handler: fn(&mut Frame)) {
    ARRIVALS.store(0, Relaxed);
    FLAGS.store(0, Relaxed);
    set_handler(PMU_INTID as u8, Some(handler));
    gic::enable(PMU_INTID);
}

/// Interrupts that [`note_and_clear`] has seen since [`interrupts_to`].
#[must_use]
pub fn arrivals() -> u64 {
    ARRIVALS.load(Relaxed)
}

/// All flags that it cleared.
#[must_use]
pub fn flags() -> u64 {
    FLAGS.load(Relaxed)
}

/// Where the last interrupt came.
#[must_use]
pub fn interrupted_pc() -> u64 {
    PC.load(Relaxed)
}

/// Exception level at which the last interrupt came.
#[must_use]
pub fn interrupted_level() -> u64 {
    LEVEL.load(Relaxed)
}

/// The PMU's interrupt line is high.
#[must_use]
pub fn line_is_high() -> bool {
    gic::is_pending(PMU_INTID)
}
