//! Multiboot 1: the header in the file and the boot information in memory.
//!
//! Source: Multiboot Specification 0.6.96, sections 3.1 (header), 3.3 (information). What
//! kvm-unit-tests images read of it is a subset.

use super::block::BootBlock;
use crate::convert::{count_u32, low_u32};
use crate::loader::elf::{Elf, Segment, checked_range};
use crate::loader::error::ImageError;
use crate::loader::params::PlacedModule;
use crate::loader::plan::Plan;
use crate::loader::protocol::Protocol;
use crate::memory::GuestMemory;
use crate::x86::memory::{HIGH_RAM_START, LOW_RAM_END, low_end, memory_map};

/// First word of the header in the file.
pub(super) const HEADER_MAGIC: u32 = 0x1BAD_B002;
/// EAX at the entry point: "a multiboot loader started you".
pub(super) const BOOT_MAGIC: u32 = 0x2BAD_B002;
/// First word of a multiboot 2 header; only to recognise it.
const HEADER2_MAGIC: u32 = 0xE852_50D6;
/// The header lies in the first 8 KiB of the file, 4-byte aligned.
const SEARCH: usize = 8192;
/// Multiboot 2 headers lie in the first 32 KiB, 8-byte aligned.
const SEARCH2: usize = 32768;

/// Header flag: modules page-aligned. We always align them.
const ALIGN_MODULES: u32 = 1 << 0;
/// Header flag: memory information wanted. We always give it.
const MEMORY_INFO: u32 = 1 << 1;
/// Flags in the low half are demands; a loader must refuse those that it does not know.
const DEMANDS: u32 = 0xFFFF;
/// Header flag: the address fields are valid.
const ADDRESSES: u32 = 1 << 16;

/// A header with a valid checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Offset in the file.
    offset: usize,
    addresses: Option<Addresses>,
}

/// The address fields (flag bit 16); all are physical addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Addresses {
    header: u32,
    load: u32,
    load_end: u32,
    bss_end: u32,
    entry: u32,
}

impl Header {
    /// Finds the header; `None` if there is none.
    ///
    /// # Errors
    /// The only thing that looks like a header has a wrong checksum, is cut off, or asks for
    /// something that we do not have.
    pub(super) fn find(image: &[u8]) -> Result<Option<Self>, ImageError> {
        let window = image.get(..SEARCH).unwrap_or(image);
        let mut wrong = None;
        for offset in (0..window.len()).step_by(4).filter(|&o| word(window, o) == Some(HEADER_MAGIC)) {
            let cut = ImageError::MultibootHeaderCut { offset };
            let (Some(flags), Some(checksum)) = (word(window, offset + 4), word(window, offset + 8)) else {
                wrong.get_or_insert(cut);
                continue;
            };
            if HEADER_MAGIC.wrapping_add(flags).wrapping_add(checksum) != 0 {
                wrong.get_or_insert(ImageError::MultibootChecksum { offset, checksum });
                continue;
            }
            let demands = flags & DEMANDS & !(ALIGN_MODULES | MEMORY_INFO);
            if demands != 0 {
                return Err(ImageError::MultibootFeatures { flags: demands });
            }
            let addresses = match flags & ADDRESSES {
                0 => None,
                _ => Some(Addresses::read(window, offset + 12).ok_or(cut)?),
            };
            return Ok(Some(Self { offset, addresses }));
        }
        wrong.map_or(Ok(None), Err)
    }

    /// True if the header itself says what goes where.
    pub(super) fn has_addresses(&self) -> bool {
        self.addresses.is_some()
    }

    /// Where the parts of the image go. The address fields win over an ELF header, as the
    /// specification demands.
    pub(super) fn plan(&self, image: &[u8], elf: Option<&Elf>) -> Result<Plan, ImageError> {
        if let Some(addresses) = self.addresses {
            return addresses.plan(self.offset, image);
        }
        let elf = elf.ok_or(ImageError::MultibootNoAddresses)?;
        // `e_entry` of a kernel that is linked high may be virtual or physical; other loaders try it
        // as a virtual address first.
        let entry = elf.segments.iter().find_map(|s| s.physical(elf.entry)).unwrap_or(elf.entry);
        super::plan(Protocol::Multiboot, elf.segments.clone(), entry)
    }
}

impl Addresses {
    fn read(window: &[u8], at: usize) -> Option<Self> {
        let field = |index: usize| word(window, at + index * 4);
        Some(Self {
            header: field(0)?,
            load: field(1)?,
            load_end: field(2)?,
            bss_end: field(3)?,
            entry: field(4)?,
        })
    }

    /// `header_offset` is where the header was found in the file.
    fn plan(&self, header_offset: usize, image: &[u8]) -> Result<Plan, ImageError> {
        let contradiction = |text: String| Err(ImageError::MultibootAddresses(text));
        let Self { header, load, load_end, bss_end, entry } = *self;
        let Some(before_header) = header.checked_sub(load) else {
            return contradiction(format!("load_addr {load:#x} is above header_addr {header:#x}"));
        };
        let Some(start) = (header_offset as u64).checked_sub(before_header.into()) else {
            return contradiction(format!(
                "{before_header:#x} bytes before the header are to be loaded, but it is at file offset \
                 {header_offset:#x}"
            ));
        };
        // 0 means "to the end of the file".
        let file_size = match load_end {
            0 => (image.len() as u64).saturating_sub(start),
            _ => match load_end.checked_sub(load) {
                Some(size) => size.into(),
                None => {
                    return contradiction(format!(
                        "load_end_addr {load_end:#x} is below load_addr {load:#x}"
                    ));
                }
            },
        };
        let file = checked_range(image, start, file_size, || "what the multiboot header loads".into())?;
        let end = u64::from(load) + file_size;
        // 0 means "no bss".
        let mem_end = match bss_end {
            0 => end,
            _ if u64::from(bss_end) < end => {
                return contradiction(format!(
                    "bss_end_addr {bss_end:#x} is below the end of the data {end:#x}"
                ));
            }
            _ => bss_end.into(),
        };
        let paddr = u64::from(load);
        let mem_size = mem_end - paddr;
        if mem_size == 0 {
            return Err(ImageError::NoSegments);
        }
        let segment = Segment { vaddr: paddr, paddr, file, mem_size };
        super::plan(Protocol::Multiboot, vec![segment], entry.into())
    }
}

/// True if the file has a multiboot 2 header.
pub(super) fn has_version_2(image: &[u8]) -> bool {
    let window = image.get(..SEARCH2).unwrap_or(image);
    (0..window.len()).step_by(8).any(|offset| word(window, offset) == Some(HEADER2_MAGIC))
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Size of the information structure up to and with the framebuffer fields.
const INFO_SIZE: usize = 116;
/// Which fields are valid: memory sizes (0), command line (2), modules (3), memory map (6), loader name (9).
const INFO_FLAGS: u32 = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 9;
/// What we call ourselves.
const LOADER_NAME: &str = "vpmu";

/// Builds the boot information for address `base`; it starts with the structure that EBX points to.
/// Its length does not depend on `base`.
pub(super) fn info(base: u64, cmdline: &str, modules: &[PlacedModule<'_>], memory: &GuestMemory) -> Vec<u8> {
    let map = memory_map(memory);
    let mut block = BootBlock::new(base, INFO_SIZE);
    let map_at = block.align(4);
    for entry in &map {
        // The size field does not count itself.
        block.u32(20);
        block.u64(entry.start);
        block.u64(entry.size);
        block.u32(entry.kind as u32);
    }
    let map_len = block.len() as u64 - (map_at - base);
    let names: Vec<u64> = modules.iter().map(|m| block.c_string(m.cmdline)).collect();
    let modules_at = block.align(4);
    for (module, name) in modules.iter().zip(names) {
        block.u32(low_u32(module.start));
        block.u32(low_u32(module.end()));
        block.u32(low_u32(name));
        block.u32(0);
    }
    let cmdline_at = block.c_string(cmdline);
    let name_at = block.c_string(LOADER_NAME);

    let kib = |bytes: u64| u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
    let fields = [
        (0, INFO_FLAGS),
        (4, kib(LOW_RAM_END)),
        (8, kib(low_end(memory) - HIGH_RAM_START)),
        (16, low_u32(cmdline_at)),
        (20, count_u32(modules.len())),
        (24, low_u32(modules_at)),
        (44, low_u32(map_len)),
        (48, low_u32(map_at)),
        (64, low_u32(name_at)),
    ];
    for (offset, value) in fields {
        block.set_u32(offset, value);
    }
    block.into_bytes()
}
