//! What is around the CPU: guest memory, image loaders, devices, interrupt controllers, firmware tables.
//!
//! Nothing here knows an engine, the PMU or a thread. Devices hold no clock: they are told guest time.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`memory`] | guest RAM, its size limits and the map that the guest is shown |
//! | [`time`] | guest time |
//! | [`loader`] | images: ELF files, boot protocols, the tests that an image lists |
//! | [`x86`] | the PC: port devices, local APIC, I/O APIC |

pub mod loader;
pub mod memory;
pub mod time;
pub mod x86;
