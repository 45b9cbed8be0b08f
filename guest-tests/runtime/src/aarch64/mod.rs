//! What an image needs of an AArch64 machine: EL1 and EL0 on top of the firmware.

pub(crate) mod devices;
mod devicetree;
mod exception;
mod frame;
pub mod gic;
pub(crate) mod have;
pub(crate) mod loader;
mod mmio;
mod pmu;
pub mod registers;
pub mod timer;
mod user;
pub mod vectors;

use core::arch::{asm, global_asm};

pub use exception::{Exception, Fault};
pub use firmware::{LOOP_BRANCHES, LOOP_INSTRUCTIONS, firmware_loop as counting_loop};
pub use frame::Frame;
pub use pmu::{counters, is_falkor};
pub(crate) use timer::now as ticks;
pub use user::at_el0;

global_asm!(include_str!("runtime.S"), SVC_THROW = const vectors::SVC_THROW);

/// Lets interrupts in or keeps them out, at EL1.
pub fn set_interrupts(enabled: bool) {
    // SAFETY: handlers keep all registers.
    unsafe {
        if enabled {
            asm!("msr daifclr, #2", options(nostack));
        } else {
            asm!("msr daifset, #2", options(nostack));
        }
    }
}

/// Writes `first` to PMCR_EL0, runs the counting loop (at least once), writes `second`. At EL0 it needs
/// PMUSERENR_EL0.EN. Between the two MSRs retire an ISB and the loop.
pub fn pmcr_window(first: u64, iterations: u64, second: u64) {
    // SAFETY: without a PMU the access is an exception, which ends the test.
    unsafe { firmware::firmware_window(first, iterations.max(1), second) };
}

/// Waits for an interrupt, also one that is masked.
pub fn wait_for_interrupt() {
    // SAFETY: changes nothing.
    unsafe { asm!("dsb sy", "wfi", options(nostack, preserves_flags)) };
}

/// Makes the machine ready for the first test.
pub(crate) fn prepare() -> Result<(), Exception> {
    gic::initialise()?;
    pmu::note_power_on_values();
    Ok(())
}

/// Nothing has to be allowed beside what the firmware does.
pub(crate) fn allow_vectors() -> bool {
    true
}

/// Puts the machine back to where a test may expect it.
pub(crate) fn reset() {
    set_interrupts(false);
    timer::stop();
    pmu::reset();
    gic::quiesce();
    vectors::set_synchronous_handler(None);
}

/// Nothing is left to do.
pub(crate) fn stop() -> ! {
    set_interrupts(false);
    loop {
        wait_for_interrupt();
    }
}
