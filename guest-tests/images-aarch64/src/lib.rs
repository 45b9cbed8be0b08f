//! What the test images for AArch64 share.
//!
//! Numbers here and in the images are written by hand from the Arm ARM and the review of Falkor's driver, not taken
//! from the vPMU: a test that asked the vPMU what to expect could not find it wrong.
#![no_std]
#![cfg(target_arch = "aarch64")]

pub mod counting;
pub mod driver;
pub mod falkor;
pub mod overflow;
pub mod pmu;
pub mod table;

pub use guest_runtime::checks;
