//! The privileged shim of the guest test images: what brings a machine from its loader to `guest_main`, and lets
//! tests use privileged instructions, interrupts and exceptions. All of it is assembly; the Rust files name what both
//! sides must agree on.
#![no_std]
#![expect(unsafe_code, reason = "the firmware is assembly")]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;
