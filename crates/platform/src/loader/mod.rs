//! Boots images: reads an ELF, multiboot or Linux file, places it in guest memory, says where the vCPU
//! starts.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`image`] | a file that can boot: what kind it is and where its parts go |
//! | [`boot`] | places an image and its boot information, gives the first register state |
//! | [`tests_list`] | the tests that an image lists, read without booting it |
//! | [`error`] | everything that can be wrong with an image |
//! | `elf` | the ELF container |
//! | `pvh` | PVH: the entry note and the start info |
//! | `multiboot` | multiboot 1: the header and the boot information |
//! | `linux` | Linux's 64-bit boot protocol: bzImage and vmlinux |
//! | `acpi` | the ACPI tables |
//! | `placement` | finds free guest memory |
//! | `block` | lays out boot information |
//!
//! Images are not trusted. Every offset and sum is checked, nothing is allocated by a number from
//! the file, and all checks are made before the first byte of guest memory is written.
//!
//! Not supported: 32-bit Linux, multiboot 2, relocatable images.

mod acpi;
mod block;
pub mod boot;
mod elf;
pub mod error;
pub mod image;
mod linux;
mod multiboot;
mod placement;
mod pvh;
#[cfg(test)]
mod tests;
pub mod tests_list;

pub use boot::{BootParams, BootState, Content, LoadedRange, Module, SegmentState, load};
pub use error::{ImageError, LoadError};
pub use image::{Image, Protocol};
pub use tests_list::{TestInfo, tests};
