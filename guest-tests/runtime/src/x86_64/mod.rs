//! What an image needs of an x86-64 machine: ring 3 on top of the firmware.

pub mod apic;
mod calls;
pub mod cpu;
pub(crate) mod devices;
mod exception;
mod frame;
pub(crate) mod have;
pub(crate) mod loader;
mod pmu;
pub mod port;
pub mod traps;
pub mod vector;

use core::arch::global_asm;

pub use calls::{
    halt, rdmsr, rdpmc, rdpmc_ring0, read_cr0, read_cr4, ring0_loop, ring0_loop_interruptible, ring0_window,
    ring3_loop, set_interrupts, set_osxsave, set_pce, wrmsr, xrstors, xsaves, xsetbv,
};
pub use cpu::{cpuid, rdtsc};
pub use exception::{Exception, Fault};
pub use firmware::{
    BRANCHES_AFTER_ACCESS, BRANCHES_BEFORE_ACCESS, CALL_WRITE_CR0, CR0_TS, INSTRUCTIONS_AFTER_READ,
    INSTRUCTIONS_AFTER_WRITE, INSTRUCTIONS_BEFORE_READ, INSTRUCTIONS_BEFORE_WRITE, LOOP_BRANCHES,
    LOOP_INSTRUCTIONS, WINDOW_EXTRA_INSTRUCTIONS,
};
pub use frame::Frame;
pub use have::PerfMon;

global_asm!(include_str!("runtime.S"));

/// Ticks of the machine's clock.
pub(crate) use cpu::rdtsc as ticks;

/// Makes the machine ready for the first test.
pub(crate) fn prepare() -> Result<(), Exception> {
    cpu::initialise();
    apic::mask_legacy_interrupts();
    apic::enable(apic::Mode::XApic)?;
    pmu::note_power_on_values();
    Ok(())
}

/// Allows the vector registers that CPUID offers; false if the machine refuses.
pub(crate) fn allow_vectors() -> bool {
    vector::enable(vector::offered() & (vector::AVX | vector::AVX512)).is_ok()
}

/// Puts the machine back to where a test may expect it.
pub(crate) fn reset() {
    traps::quiesce();
    pmu::reset();
    let _ = calls::set_pce(false);
}

/// Nothing is left to do.
pub(crate) fn stop() -> ! {
    traps::quiesce();
    loop {
        halt();
    }
}
