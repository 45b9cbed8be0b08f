//! Boot protocols of x86.
//!
//! | file | what it is |
//! | --- | --- |
//! | `identify.rs` | which protocols a file offers |
//! | `boot.rs`, [`BootState`] | places an image and its boot information, gives the first register state |
//! | `pvh.rs` | PVH: the entry note and the start info |
//! | `multiboot.rs` | multiboot 1: the header and the boot information |
//! | `linux.rs` | Linux's 64-bit boot protocol: bzImage and vmlinux |
//! | `acpi.rs` | the ACPI tables |
//! | `block.rs` | lays out boot information |

mod acpi;
mod block;
mod boot;
pub(super) mod identify;
mod linux;
mod multiboot;
mod pvh;
mod state;

pub use boot::{MAX_CMDLINE, MAX_MODULES, load};
pub use state::{BootState, SegmentState};
