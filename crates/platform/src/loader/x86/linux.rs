//! Linux's 64-bit boot protocol: bzImage, and the vmlinux inside it.
//!
//! Source: Linux `Documentation/arch/x86/boot.rst` ("64-bit boot protocol") and `zero-page.rst`. The structures
//! are those of `linux-loader`.

use crate::convert::{host_size, low_u16, low_u32};
use crate::loader::elf::{Elf, Segment, checked_range};
use crate::loader::error::ImageError;
use crate::loader::params::PlacedModule;
use crate::loader::plan::Plan;
use crate::loader::protocol::Protocol;
use crate::x86::memory::MapEntry;
use linux_loader::bootparam::{boot_e820_entry, boot_params, setup_header};
use vm_memory::ByteValued as _;

/// Owner of the notes that every vmlinux has.
const NOTE_OWNER: &[u8] = b"Linux";
/// `LINUX_ELFNOTE_BUILD_SALT`.
const BUILD_SALT: u32 = 0x100;

/// Offset of the setup header in a bzImage and in `boot_params`.
const HEADER: usize = 0x1F1;
/// "HdrS".
const HEADER_MAGIC: u32 = 0x5372_6448;
/// The first version with `xloadflags`.
const MIN_VERSION: u16 = 0x020C;
/// `xloadflags`: there is a 64-bit entry point at 0x200.
const XLF_KERNEL_64: u16 = 1 << 0;
/// `loadflags`: the protected-mode code is loaded high.
const LOADED_HIGH: u8 = 1 << 0;
/// The 64-bit entry point's distance from the protected-mode code.
const ENTRY_64: u64 = 0x200;
const SECTOR: u64 = 512;
/// `type_of_loader`: one without a number of its own. 0 would make the kernel ignore the initrd.
const LOADER_UNDEFINED: u8 = 0xFF;

/// Parts of the boot information, from its start.
const PAGE_TABLES: u64 = 0x1000;
const PAGE: u64 = 0x1000;
/// The identity map reaches this many GiB, one page directory each.
const MAPPED_GIB: u64 = 4;
const GDT: u64 = PAGE_TABLES + (2 + MAPPED_GIB) * PAGE;
/// Null, unused, code at 0x10 (`__BOOT_CS`) and data at 0x18 (`__BOOT_DS`).
const DESCRIPTORS: [u64; 4] = [0, 0, 0x00AF_9B00_0000_FFFF, 0x00CF_9300_0000_FFFF];
const CMDLINE: u64 = GDT + 8 * DESCRIPTORS.len() as u64;

/// Page table entries: present, writable, accessed.
const TABLE: u64 = 1 << 0 | 1 << 1 | 1 << 5;
/// The same with dirty and "page size".
const LARGE: u64 = TABLE | 1 << 6 | 1 << 7;

/// Long mode as the protocol wants it, in the boot information at some address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) cr3: u64,
    pub(super) gdt: u64,
    pub(super) gdt_limit: u16,
}

impl Entry {
    pub(super) fn at(base: u64) -> Self {
        let gdt_limit = low_u16(8 * DESCRIPTORS.len() as u64 - 1);
        Self { cr3: base + PAGE_TABLES, gdt: base + GDT, gdt_limit }
    }
}

/// True for a boot sector with a setup header.
pub(super) fn is_bzimage(bytes: &[u8]) -> bool {
    bytes.get(0x1FE..0x200) == Some(b"\x55\xAA") && bytes.get(0x202..0x206) == Some(b"HdrS")
}

/// How to start a vmlinux; `None` if the file is something else.
///
/// # Errors
/// A note is malformed, or the entry point is not in the image.
pub(super) fn vmlinux(image: &[u8], elf: &Elf) -> Result<Option<Plan>, ImageError> {
    if !elf.is_64 || elf.note(image, NOTE_OWNER, BUILD_SALT)?.is_none() {
        return Ok(None);
    }
    super::plan(Protocol::Linux, elf.segments.clone(), elf.entry).map(Some)
}

/// The header's size is in the jump instruction over it.
fn header_end(image: &[u8]) -> usize {
    0x202 + usize::from(image.get(0x201).copied().unwrap_or(0))
}

/// The setup header of a bzImage; a shorter one has no fields behind its end, and they are 0.
pub(super) fn setup_header(image: &[u8]) -> setup_header {
    let mut header = setup_header::default();
    let bytes = image.get(HEADER..header_end(image)).unwrap_or_default();
    for (to, from) in header.as_mut_slice().iter_mut().zip(bytes) {
        *to = *from;
    }
    header
}

/// How to start a bzImage.
///
/// # Errors
/// It is too old, has no 64-bit entry point, or is truncated.
pub(super) fn bzimage(image: &[u8]) -> Result<Plan, ImageError> {
    let end = header_end(image);
    checked_range(image, HEADER as u64, (end - HEADER) as u64, || "the setup header".into())?;
    let header = setup_header(image);
    let refuse = |reason: String| Err(ImageError::BzImage { reason });
    let (version, flags) = (header.version, header.xloadflags);
    if version < MIN_VERSION {
        return refuse(format!(
            "its boot protocol {}.{:02} is older than 2.12",
            version >> 8,
            version & 0xFF
        ));
    }
    if flags & XLF_KERNEL_64 == 0 {
        return refuse("it is a 32-bit kernel, without the 64-bit entry point".into());
    }
    // 0 means 4 ("the setup_sects field").
    let sectors = if header.setup_sects == 0 { 4 } else { u64::from(header.setup_sects) };
    let start = (sectors + 1) * SECTOR;
    let size = u64::from(header.syssize) * 16;
    let file = checked_range(image, start, size, || "the protected-mode kernel".into())?;
    if size <= ENTRY_64 {
        return refuse(format!("its protected-mode kernel has only {size} bytes"));
    }
    let paddr = header.pref_address;
    let mem_size = u64::from(header.init_size).max(size);
    if paddr.checked_add(mem_size).is_none() {
        return refuse(format!("its preferred address {paddr:#x} is out of range"));
    }
    let segments = vec![Segment { vaddr: paddr, paddr, file, mem_size }];
    super::plan(Protocol::Linux, segments, paddr + ENTRY_64)
}

/// Builds the boot information for address `base`: `boot_params`, page tables, GDT, command line. Its length
/// does not depend on `base`.
pub(super) fn info(
    base: u64,
    cmdline: &str,
    modules: &[PlacedModule<'_>],
    map: &[MapEntry],
    rsdp: u64,
    header: Option<&setup_header>,
) -> Vec<u8> {
    let mut params = boot_params { acpi_rsdp_addr: rsdp, ..boot_params::default() };
    if let Some(header) = header {
        params.hdr = *header;
    }
    params.hdr.header = HEADER_MAGIC;
    params.hdr.boot_flag = 0xAA55;
    params.hdr.version = params.hdr.version.max(MIN_VERSION);
    params.hdr.type_of_loader = LOADER_UNDEFINED;
    params.hdr.loadflags |= LOADED_HIGH;
    let cmdline_at = base + CMDLINE;
    (params.hdr.cmd_line_ptr, params.ext_cmd_line_ptr) = halves(cmdline_at);
    if let Some(initrd) = modules.first() {
        (params.hdr.ramdisk_image, params.ext_ramdisk_image) = halves(initrd.start);
        (params.hdr.ramdisk_size, params.ext_ramdisk_size) = halves(initrd.data.len() as u64);
    }
    let mut table = params.e820_table;
    for (to, from) in table.iter_mut().zip(map) {
        *to = boot_e820_entry { addr: from.start, size: from.size, r#type: from.kind as u32 };
    }
    params.e820_table = table;
    params.e820_entries = u8::try_from(map.len().min(table.len())).unwrap_or(u8::MAX);

    let mut bytes = params.as_slice().to_vec();
    bytes.resize(host_size(PAGE_TABLES), 0);
    page_tables(base + PAGE_TABLES, &mut bytes);
    bytes.extend(DESCRIPTORS.iter().flat_map(|descriptor| descriptor.to_le_bytes()));
    bytes.extend(cmdline.bytes());
    bytes.push(0);
    bytes
}

/// Appends an identity map of the first [`MAPPED_GIB`] GiB in 2 MiB pages, which will lie at `at`.
fn page_tables(at: u64, bytes: &mut Vec<u8>) {
    let directories = at + 2 * PAGE;
    let first = |index: u64| if index == 0 { (at + PAGE) | TABLE } else { 0 };
    let second = |index: u64| if index < MAPPED_GIB { (directories + index * PAGE) | TABLE } else { 0 };
    bytes.extend((0..512).flat_map(|index| first(index).to_le_bytes()));
    bytes.extend((0..512).flat_map(|index| second(index).to_le_bytes()));
    bytes.extend((0..512 * MAPPED_GIB).flat_map(|index| (index << 21 | LARGE).to_le_bytes()));
}

/// Low and high half.
fn halves(value: u64) -> (u32, u32) {
    (low_u32(value), low_u32(value >> 32))
}
