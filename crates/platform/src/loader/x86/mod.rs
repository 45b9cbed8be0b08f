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

pub use boot::load;
pub use state::{BootState, SegmentState};

use super::elf::Segment;
use super::error::ImageError;
use super::plan::Plan;
use super::protocol::Protocol;

/// A plan that starts in 32-bit mode, or where Linux's 64-bit entry point may be.
///
/// # Errors
/// The entry point does not come from the file, or is not a 32-bit address.
fn plan(protocol: Protocol, segments: Vec<Segment>, entry: u64) -> Result<Plan, ImageError> {
    let plan = Plan::new(protocol, segments, entry)?;
    match u32::try_from(entry) {
        Ok(_) => Ok(plan),
        Err(_) => Err(ImageError::EntryAbove4Gib { protocol, entry }),
    }
}
