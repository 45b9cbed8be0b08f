//! Tests of the loader. Images are made byte by byte by [`elf_writer`], so that the reader is not
//! tested with the library that it uses.

mod arm;
mod boot;
mod elf_writer;
mod hostile;
mod image_errors;
mod listing;
mod load_errors;

use elf_writer::{ElfWriter, PT_LOAD, PT_NOTE};

use super::x86::{BootState, SegmentState, load};
use super::*;
use crate::memory::{GuestMemory, MemoryConfig};
use crate::x86::memory::LAYOUT;

/// Where the test images are linked to.
const BASE: u64 = 0x10_0000;
/// Entry point of the test images.
const ENTRY: u32 = 0x10_0040;

/// RAM of `size_mib` MiB whatever this host has free; untouched pages cost nothing.
fn memory(size_mib: u64) -> GuestMemory {
    GuestMemory::with_available(MemoryConfig { size_mib }, &LAYOUT, None).unwrap()
}

/// An ELF note with 4-byte padding.
fn note(owner: &[u8], kind: u32, desc: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((owner.len() as u32).to_le_bytes());
    bytes.extend((desc.len() as u32).to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    for part in [owner, desc] {
        bytes.extend(part);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

fn pvh_note(entry: u64) -> Vec<u8> {
    note(b"Xen\0", 18, &entry.to_le_bytes())
}

/// Recognisable code: 0x40 bytes 0x01, then 0x40 bytes 0x02 from the entry point on.
fn code() -> Vec<u8> {
    [[1; 0x40], [2; 0x40]].concat()
}

/// A PVH image in ELF64 with some bss.
fn pvh() -> ElfWriter {
    ElfWriter::elf64().segment(PT_LOAD, BASE, code(), 0x1000).segment(PT_NOTE, 0, pvh_note(ENTRY.into()), 0)
}

/// A multiboot header; `rest` are the address fields, if any.
fn multiboot_header(flags: u32, rest: &[u32]) -> Vec<u8> {
    let checksum = 0u32.wrapping_sub(0x1BAD_B002).wrapping_sub(flags);
    let words = [&[0x1BAD_B002, flags, checksum], rest].concat();
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The test code with a multiboot header at its start.
fn multiboot_code(flags: u32) -> Vec<u8> {
    let mut code = code();
    let header = multiboot_header(flags, &[]);
    code[..header.len()].copy_from_slice(&header);
    code
}

/// A multiboot image in ELF32, as kvm-unit-tests makes them.
fn multiboot() -> ElfWriter {
    ElfWriter::elf32().entry(ENTRY.into()).segment(PT_LOAD, BASE, multiboot_code(0), 0x1000)
}

/// A multiboot image without ELF: the header says what goes where.
fn multiboot_raw(load_end: u32, bss_end: u32) -> Vec<u8> {
    let base = BASE as u32;
    // 16 bytes of padding before the header, so that offsets in file and memory differ.
    let mut image = vec![0xEE; 16];
    image.extend(multiboot_header(1 << 16, &[base + 16, base, load_end, bss_end, ENTRY]));
    image.resize(0x40, 1);
    image.resize(0x80, 2);
    image
}

fn bytes_at(memory: &GuestMemory, start: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0xCC; len];
    memory.read(start, &mut bytes).unwrap();
    bytes
}

fn booted(bytes: Vec<u8>, memory: &GuestMemory, params: &BootParams) -> BootState {
    load(&Image::parse(bytes).unwrap(), memory, params).unwrap()
}

/// A bzImage with one setup sector and a protected-mode kernel of `paragraphs` times 16 bytes that wants to be
/// at 16 MiB; the bytes of the kernel are 1, 2 from the 64-bit entry point on.
fn bzimage(version: u16, xloadflags: u16, paragraphs: u32) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x1F1, &[1]);
    put(0x1F4, &paragraphs.to_le_bytes());
    put(0x1FE, b"\x55\xAA\xEB\x6AHdrS");
    put(0x206, &version.to_le_bytes());
    put(0x236, &xloadflags.to_le_bytes());
    put(0x258, &0x100_0000_u64.to_le_bytes());
    put(0x260, &0x20_0000_u32.to_le_bytes());
    let kernel = paragraphs as usize * 16;
    image.resize(0x400 + kernel.min(0x200), 1);
    image.resize(0x400 + kernel, 2);
    image
}
