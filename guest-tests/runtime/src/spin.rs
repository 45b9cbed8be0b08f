//! Waiting without sleep.

use crate::machine::ticks;

/// Spins for `duration` ticks of the machine's clock: the time stamp counter, on AArch64 the virtual counter.
pub fn spin_for(duration: u64) {
    let start = ticks();
    while ticks().wrapping_sub(start) < duration {
        core::hint::spin_loop();
    }
}

/// Spins until `done` says true, at most `patience` ticks as for [`spin_for`]; false on time-out.
pub fn spin_until(patience: u64, mut done: impl FnMut() -> bool) -> bool {
    let start = ticks();
    loop {
        if done() {
            return true;
        }
        if ticks().wrapping_sub(start) >= patience {
            return false;
        }
        core::hint::spin_loop();
    }
}
