//! How AArch64 images start: Linux's arm64 `Image`, and ELF files.
//!
//! | file | what it is |
//! | --- | --- |
//! | `mod.rs` | what a file is |
//! | `linux.rs` | the header of an `Image` |
//! | `unpack.rs` | an `Image` that is compressed |
//! | `boot.rs`, [`BootState`] | places an image with its devicetree, gives the first register state |
//!
//! Both start as Linux's boot protocol says (`Documentation/arch/arm64/booting.rst`): EL1, MMU off, the devicetree's
//! address in X0.

mod boot;
mod linux;
mod unpack;

pub use boot::{BootState, load};
pub(super) use unpack::unpack;

use super::elf::{self, Elf};
use super::error::ImageError;
use super::plan::Plan;
use super::protocol::Protocol;

/// How to start a file; `None` if it is not for AArch64.
///
/// # Errors
/// It is, and cannot be started.
pub(super) fn plan(bytes: &[u8]) -> Result<Option<Plan>, ImageError> {
    if linux::is_image(bytes) {
        return linux::plan(bytes).map(Some);
    }
    if !elf::is_aarch64(bytes) {
        return Ok(None);
    }
    let elf = Elf::parse(bytes)?;
    // `e_entry` may be virtual, as that of a multiboot image.
    let entry = elf.segments.iter().find_map(|s| s.physical(elf.entry)).unwrap_or(elf.entry);
    Plan::new(Protocol::Linux, elf.segments, entry).map(Some)
}
