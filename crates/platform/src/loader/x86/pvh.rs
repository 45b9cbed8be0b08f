//! PVH: the note that names the entry point, and the start info.
//!
//! Source: Xen `docs/misc/pvh.pandoc` and `xen/include/public/arch-x86/hvm/start_info.h`; Linux boots
//! the same way from its vmlinux.

use super::block::BootBlock;
use crate::convert::count_u32;
use crate::loader::elf::Elf;
use crate::loader::error::ImageError;
use crate::loader::params::PlacedModule;
use crate::loader::plan::Plan;
use crate::loader::protocol::Protocol;
use crate::x86::memory::MapEntry;

/// Owner of Xen's ELF notes.
const NOTE_OWNER: &[u8] = b"Xen";
/// `XEN_ELFNOTE_PHYS32_ENTRY`: physical address of the 32-bit entry point.
const PHYS32_ENTRY: u32 = 18;

/// `XEN_HVM_START_MAGIC_VALUE`.
pub(super) const START_MAGIC: u32 = 0x336E_C578;
/// Version 1 added the memory map.
const START_VERSION: u32 = 1;
/// Size of `struct hvm_start_info`.
const START_INFO_SIZE: usize = 56;

/// Where the parts of the image go; `None` if the image has no PVH note.
///
/// # Errors
/// A note is malformed, or its entry point is not in the image.
pub(super) fn plan(image: &[u8], elf: &Elf) -> Result<Option<Plan>, ImageError> {
    let Some(desc) = elf.note(image, NOTE_OWNER, PHYS32_ENTRY)? else {
        return Ok(None);
    };
    // The assembler writes the size that the kernel's author chose: 4 bytes, or 8 in most ELF64 files.
    let entry = if let Ok(bytes) = <[u8; 8]>::try_from(desc) {
        u64::from_le_bytes(bytes)
    } else if let Ok(bytes) = <[u8; 4]>::try_from(desc) {
        u32::from_le_bytes(bytes).into()
    } else {
        let offset = elf.notes.first().map_or(0, |(range, _)| range.start as u64);
        let reason = format!("the PVH entry point has {} bytes instead of 4 or 8", desc.len());
        return Err(ImageError::Note { offset, reason });
    };
    super::plan(Protocol::Pvh, elf.segments.clone(), entry).map(Some)
}

/// Builds the start info for address `base`; it starts with the structure that EBX points to. Its
/// length does not depend on `base`.
pub(super) fn start_info(
    base: u64,
    cmdline: &str,
    modules: &[PlacedModule<'_>],
    map: &[MapEntry],
    rsdp: u64,
) -> Vec<u8> {
    let mut block = BootBlock::new(base, START_INFO_SIZE);
    let map_at = block.align(8);
    for entry in map {
        block.u64(entry.start);
        block.u64(entry.size);
        block.u32(entry.kind as u32);
        block.u32(0);
    }
    let names: Vec<u64> = modules.iter().map(|m| block.c_string(m.cmdline)).collect();
    let modules_at = block.align(8);
    for (module, name) in modules.iter().zip(names) {
        block.u64(module.start);
        block.u64(module.data.len() as u64);
        block.u64(name);
        block.u64(0);
    }
    let cmdline_at = block.c_string(cmdline);

    block.set_u32(0, START_MAGIC);
    block.set_u32(4, START_VERSION);
    block.set_u32(8, 0);
    block.set_u32(12, count_u32(modules.len()));
    block.set_u64(16, if modules.is_empty() { 0 } else { modules_at });
    block.set_u64(24, cmdline_at);
    block.set_u64(32, rsdp);
    block.set_u64(40, map_at);
    block.set_u32(48, count_u32(map.len()));
    block.into_bytes()
}
