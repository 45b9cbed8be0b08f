//! The virtual timer (Arm ARM, D12).

use core::arch::asm;

/// CNTV_CTL_EL0.ENABLE.
const ENABLE: u64 = 1;

/// The virtual counter, in ticks of [`frequency`].
#[must_use]
pub fn now() -> u64 {
    let value: u64;
    // SAFETY: reads a register, open to EL0.
    unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) value, options(nostack, preserves_flags)) };
    value
}

/// Ticks in a second.
#[must_use]
pub fn frequency() -> u64 {
    let value: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, cntfrq_el0", out(reg) value, options(nostack, preserves_flags)) };
    value
}

/// Has the timer request an interrupt after so many ticks, for as long as it is not stopped.
pub fn start(ticks: u64) {
    let at = now() + ticks;
    // SAFETY: the interrupt goes to a handler.
    unsafe {
        asm!("msr cntv_cval_el0, {}", "msr cntv_ctl_el0, {}", "isb", in(reg) at, in(reg) ENABLE, options(nostack));
    }
}

/// Stops the timer; its interrupt request goes away.
pub fn stop() {
    // SAFETY: stops something.
    unsafe { asm!("msr cntv_ctl_el0, xzr", "isb", options(nostack)) };
}
