//! Runtime of the guest test images.
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
//! The runtime runs them one after the other and reports TAP 13 on the console. A failed check, a panic or
//! an exception ends only the test in which it happens. Before each test the PMU and the local APIC
//! are stopped, interrupts are off, no handlers are registered and CR4.PCE is clear.
//!
//! Command line: `test=NAME[,NAME...]` selects tests, `list` prints them.
#![no_std]
#![expect(unsafe_code, reason = "ports, traps, calls of the firmware and the memory of a bare machine")]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(panic = "abort")]
mod bare_metal;
pub mod boot;
pub mod check;
pub mod console;
pub mod control;
pub mod fw_cfg;
mod global;
mod handlers;
mod have;
mod heap;
pub mod pace;
mod power_on;
pub mod random;
mod recovery;
mod runner;
pub mod speed;
mod spin;
mod table;
mod text;
pub mod workload;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as machine;
use firmware::BootInfo;

pub use guest_macros::guest_test;
pub use guest_protocol as protocol;
pub use handlers::{Handler, set_handler, with_interrupts};
pub use have::has;
pub use machine::*;
pub use power_on::power_on_value;
pub use recovery::{Failure, catch, fail, skip};
pub use runner::{Test, run_tests};
pub use spin::{spin_for, spin_until};
pub use text::Text;
#[cfg(target_arch = "x86_64")]
use x86_64 as machine;

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

/// Ends the run with `status`, see [`guest_protocol::exit`]. Without a device for that the CPU halts.
pub fn exit(status: u8) -> ! {
    machine::devices::flush();
    machine::devices::exit(status);
    machine::stop()
}
