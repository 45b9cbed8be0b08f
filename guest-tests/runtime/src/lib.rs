//! Ring-3 runtime of the guest test images.
//!
//! An image is a list of tests:
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//! //! What this image tests.
//! guest_runtime::image!();
//!
//! use guest_runtime::{check_eq, guest_test, rdmsr, wrmsr};
//!
//! /// GLOBAL_CTRL keeps what was written.
//! #[guest_test(needs(pmu))]
//! fn global_ctrl_is_sticky() {
//!     check_eq!(wrmsr(0x38F, 1), Ok(()));
//!     check_eq!(rdmsr(0x38F), Ok(1));
//! }
//! ```
//!
//! The runtime runs them one after the other and reports TAP 13 on COM1. A failed check, a panic or
//! an exception ends only the test in which it happens. Before each test the PMU and the local APIC
//! are stopped, interrupts are off, no handlers are registered and CR4.PCE is clear.
//!
//! Command line: `test=NAME[,NAME...]` selects tests, `list` prints them.
#![no_std]
#![expect(unsafe_code, reason = "ports, traps, calls of the firmware and the memory of a bare machine")]

pub mod apic;
#[cfg(panic = "abort")]
mod bare_metal;
pub mod boot;
mod calls;
pub mod check;
pub mod console;
pub mod control;
pub mod cpu;
pub mod fw_cfg;
mod global;
mod have;
mod heap;
mod pmu;
pub mod port;
mod recovery;
mod runner;
mod text;
pub mod traps;

use core::arch::global_asm;

use firmware::BootInfo;

pub use calls::{
    Exception, Fault, halt, rdmsr, rdpmc, rdpmc_ring0, read_cr0, read_cr4, ring0_loop,
    ring0_loop_interruptible, ring0_window, ring3_loop, set_interrupts, set_pce, with_interrupts, wrmsr,
};
pub use cpu::{cpuid, rdtsc, spin_for, spin_until};
pub use firmware::{
    BRANCHES_AFTER_ACCESS, BRANCHES_BEFORE_ACCESS, INSTRUCTIONS_AFTER_READ, INSTRUCTIONS_AFTER_WRITE,
    INSTRUCTIONS_BEFORE_READ, INSTRUCTIONS_BEFORE_WRITE, LOOP_BRANCHES, LOOP_INSTRUCTIONS,
    WINDOW_EXTRA_INSTRUCTIONS,
};
pub use guest_macros::guest_test;
pub use guest_protocol as protocol;
pub use have::PerfMon;
pub use pmu::power_on_value;
pub use recovery::{Failure, fail, skip};
pub use runner::{Test, run_tests};
pub use text::Text;
pub use traps::{Frame, catch, set_handler};

global_asm!(include_str!("asm/runtime.S"));

/// Makes a crate an image. Once, in the crate root, together with `#![no_std]` and `#![no_main]`.
///
/// `image!()` runs the crate's tests. `image!(program)` calls `fn program()` instead, once, and ends
/// the run with [`guest_protocol::exit::PASS`] when it returns.
#[macro_export]
macro_rules! image {
    () => {
        $crate::image!(@ $crate::run_tests());
    };
    ($program:ident) => {
        $crate::image!(@ { $program(); $crate::protocol::exit::PASS });
    };
    (@ $status:expr) => {
        #[unsafe(no_mangle)]
        fn guest_image() -> u8 {
            $status
        }

        // Outside the `guest` profile an image is only checked, never run; the standard library
        // then supplies the panic handler and the unwinder that this profile asks for.
        #[cfg(not(panic = "abort"))]
        extern crate std as _;
    };
}

#[unsafe(no_mangle)]
extern "C" fn guest_main(info: &BootInfo) -> ! {
    runner::main(info)
}

/// Ends the run with `status`, see [`guest_protocol::exit`]. Without an exit device the CPU halts.
pub fn exit(status: u8) -> ! {
    console::flush();
    port::write_u32(guest_protocol::ports::EXIT, u32::from(status));
    println!("# no exit device at port {:#x}: halting", guest_protocol::ports::EXIT);
    traps::quiesce();
    loop {
        halt();
    }
}
