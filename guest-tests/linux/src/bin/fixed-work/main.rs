//! A process of known instructions from its first to its last, see [`linux_guest::FixedWork`].
//!
//! It starts in its own assembly: no C library, no start-up that depends on the environment. Around its loop it
//! tells the VMM, if there is one of ours, to count an interval for itself.
#![no_main]
#![expect(unsafe_code, reason = "a process in assembly, whose instructions are counted")]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;
