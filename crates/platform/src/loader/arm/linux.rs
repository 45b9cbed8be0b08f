//! The header of Linux's arm64 `Image`.
//!
//! Source: Linux `Documentation/arch/arm64/booting.rst`, "Call the kernel image".

use crate::loader::elf::Segment;
use crate::loader::error::ImageError;
use crate::loader::plan::Plan;
use crate::loader::protocol::Protocol;
use guest_protocol::mmio;

/// Bytes of the header.
pub(super) const HEADER: usize = 64;
/// `magic`: "ARM\x64".
const MAGIC: (usize, &[u8]) = (56, b"ARM\x64");
/// Offsets of `text_offset`, `image_size` and `flags`.
const TEXT_OFFSET: usize = 8;
const IMAGE_SIZE: usize = 16;
const FLAGS: usize = 24;
/// `flags`: the kernel is big-endian.
const BIG_ENDIAN: u64 = 1 << 0;
/// `flags`, page size in bits 2:1: 0 is not specified.
const PAGE_SIZE_SHIFT: u32 = 1;
const PAGE_SIZE_4_KIB: u64 = 1;
/// Kernels start at a multiple of 2 MiB. The first 2 MiB of RAM are left to the devicetree.
const BASE: u64 = mmio::RAM + (2 << 20);

/// True for a file with the magic number.
pub(super) fn is_image(bytes: &[u8]) -> bool {
    let (at, magic) = MAGIC;
    bytes.get(at..HEADER - 4) == Some(magic)
}

/// Where the kernel goes.
///
/// # Errors
/// It needs what the machine does not have, or its header makes no sense.
pub(super) fn plan(image: &[u8]) -> Result<Plan, ImageError> {
    let refuse = |reason: String| Err(ImageError::Arm64Image { reason });
    let field =
        |at: usize| image.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let (Some(offset), Some(size), Some(flags)) = (field(TEXT_OFFSET), field(IMAGE_SIZE), field(FLAGS))
    else {
        return refuse("its header is cut off".into());
    };
    if size == 0 {
        return refuse("it says no size, as kernels before 3.17".into());
    }
    if flags & BIG_ENDIAN != 0 {
        return refuse("it is big-endian".into());
    }
    match flags >> PAGE_SIZE_SHIFT & 3 {
        0 | PAGE_SIZE_4_KIB => {}
        other => {
            let kib = if other == 2 { 16 } else { 64 };
            return refuse(format!("it has pages of {kib} KiB, and the CPU has 4 KiB ones only"));
        }
    }
    let mem_size = size.max(image.len() as u64);
    let Some(paddr) = BASE.checked_add(offset).filter(|start| start.checked_add(mem_size).is_some()) else {
        return refuse(format!("its text offset {offset:#x} is out of range"));
    };
    let segment = Segment { vaddr: paddr, paddr, file: 0..image.len(), mem_size };
    Plan::new(Protocol::Linux, vec![segment], paddr)
}
