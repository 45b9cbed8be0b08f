//! What is around the CPU: guest memory, image loaders, devices, interrupt controllers, firmware tables.
//!
//! Nothing here knows an engine, the PMU or a thread. Devices hold no clock: they are told guest time.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`convert`] | conversions between widths |
//! | [`memory`] | guest RAM, its size limits and the map that the guest is shown |
//! | [`time`] | guest time |
//! | [`loader`] | images: ELF files, boot protocols, the tests that an image lists |
//! | [`devices`] | devices that every machine has, and consoles |
//! | [`arm`] | the AArch64 machine |
//! | [`x86`] | the PC: port devices, local APIC, I/O APIC |

// What a guest says and what a register holds keeps its value, or the conversion says so.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod arm;
pub mod convert;
pub mod devices;
pub mod loader;
pub mod memory;
pub mod time;
pub mod x86;
