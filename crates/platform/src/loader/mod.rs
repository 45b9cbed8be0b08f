//! Boots images: reads an ELF, multiboot or Linux file, places it in guest memory, says where the vCPU
//! starts.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`image`] | a file that can boot |
//! | [`x86`] | the boot protocols of x86: which of them a file offers, placing it, the first register state |
//! | [`arm`] | those of AArch64 |
//! | [`tests_list`] | the tests that an image lists, read without booting it |
//! | [`error`] | everything that can be wrong with an image |
//! | `elf` | the ELF container |
//! | `plan`, `protocol` | how a file wants to be started |
//! | `params` | what a guest is given besides its image |
//! | `place`, `placement` | finds free guest memory, and places image and modules there |
//!
//! Images are not trusted. Every offset and sum is checked, nothing is allocated by a number from
//! the file, and all checks are made before the first byte of guest memory is written.
//!
//! Not supported: 32-bit Linux, multiboot 2, relocatable images.

mod architecture;
pub mod arm;
mod elf;
pub mod error;
pub mod image;
mod params;
mod place;
mod placement;
mod plan;
mod protocol;
#[cfg(test)]
mod tests;
pub mod tests_list;
pub mod x86;

pub use architecture::Architecture;
pub use error::{ImageError, LoadError, OtherFormat};
pub use image::Image;
pub use params::{BootParams, Content, LoadedRange, Module};
pub use place::{MAX_CMDLINE, MAX_MODULES};
pub use protocol::Protocol;
pub use tests_list::{TestInfo, tests};
