//! The mini-VMM around the virtual PMU.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`memory`] | guest RAM, its size limits and the map that the guest is shown |
//! | [`loader`] | PVH and multiboot images, the tests that an image lists |
//! | [`devices`] | serial port, exit port, fw_cfg, debug console, control port |
//! | [`apic`] | the local APIC model that both engines share |
//! | [`counts`] | counts sources: synthetic and host |
//! | [`engine`] | what executes guest instructions |
//! | [`mod@file`] | results in files, whole or not at all |
//! | [`stop`] | asking a run to end |
//! | [`exceptions`] | what the CPU delivers through the IDT: trace, cause of a crash |
//! | [`gdb`] | a stub for GDB |
//! | [`machine`] | everything around the vCPU, the same for every engine |
//! | [`pmu`] | the virtual PMU in the machine: trace, measuring windows |
//! | [`run`] | one run, from an image to a report |
//! | [`snapshot`] | the whole machine in a file |
//! | [`time`] | guest time |

mod amd_msr;
pub mod apic;
pub mod counts;
pub mod devices;
pub mod engine;
pub mod exceptions;
pub mod file;
pub mod gdb;
mod json_lines;
pub mod loader;
pub mod machine;
pub mod memory;
pub mod pmu;
pub mod profile;
pub mod progress;
pub mod run;
pub mod snapshot;
pub mod stop;
pub mod time;
pub mod warning;

#[cfg(test)]
mod test_code;
