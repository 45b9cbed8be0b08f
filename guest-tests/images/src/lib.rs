//! What the test images share: register names, counting windows, ways to keep the CPU busy, PMIs.
//!
//! Numbers here and in the images are written by hand from the Intel SDM, not taken from the vPMU:
//! a test that asked the vPMU what to expect could not find it wrong.
#![no_std]

pub mod amd;
pub mod counts;
pub mod debug_store;
pub mod faulting;
pub mod msr;
pub mod pmi;
pub mod pmu;
pub mod ring0;
pub mod storm;
pub mod table;
pub mod vector;
pub mod work;

pub use guest_runtime::checks;
