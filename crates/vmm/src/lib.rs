//! The mini-VMM around the virtual PMU. What is around the CPU is the [`platform`].
//!
//! | module | what it is |
//! | --- | --- |
//! | [`counts`] | counts sources: the soft engine's own counts, a model of the core, the host, synthetic ones |
//! | [`engine`] | what executes guest instructions: KVM or a software CPU |
//! | [`machine`] | everything around the vCPU, the same for every engine; its PMU, its exceptions |
//! | [`run`] | one run, from an image to a report |
//! | [`snapshot`] | the whole machine in a file |
//! | [`guest_program`] | a program of the host in a Linux guest |
//! | [`recording`] | everything that such a program executes, by function, line and caller |
//! | [`inject`] | files of faults that the PMU has on command, and skid |
//! | [`gdb`] | a stub for GDB |
//! | [`mod@file`] | results in files, whole or not at all |
//! | [`profile`] | the CPU that the guest shall see: a built-in profile or a file |

// What a guest says and what a register holds keeps its value, or the conversion says so.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod counts;
pub mod engine;
pub mod file;
pub mod gdb;
pub mod guest_program;
pub mod inject;
pub mod machine;
pub mod profile;
pub mod recording;
pub mod run;
pub mod snapshot;

#[cfg(test)]
mod test_code;
#[cfg(test)]
mod test_guest;
#[cfg(test)]
mod test_guest_arm;
