//! Everything that can be wrong with an image, or with placing it.

use std::{fmt, io};

use thiserror::Error;

use super::architecture::Architecture;
use super::protocol::Protocol;
use crate::memory::MemoryError;

/// Why a file cannot be booted, whatever the machine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file could not be read.
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    /// A directory or a device.
    #[error("it is {what}, not an image file")]
    NotAFile {
        /// What it is, with its article.
        what: &'static str,
    },
    /// Larger than [`MAX_IMAGE_SIZE`](super::image::MAX_IMAGE_SIZE).
    #[error("The image is larger than {limit} bytes")]
    TooLarge {
        /// The bound in bytes.
        limit: u64,
    },
    /// No bytes at all.
    #[error("The image is empty (0 bytes)")]
    Empty,
    /// A compressed Linux kernel that cannot be booted.
    #[error("The bzImage cannot be booted: {reason}")]
    BzImage {
        /// What is wrong.
        reason: String,
    },
    /// A Linux kernel for arm64 that cannot be booted.
    #[error("The arm64 kernel cannot be booted: {reason}")]
    Arm64Image {
        /// What is wrong.
        reason: String,
    },
    /// Some other known format.
    #[error("Not an ELF image: {0}")]
    NotElf(OtherFormat),
    /// A multiboot 2 header and no older protocol.
    #[error("The image offers multiboot 2 only, which is not supported")]
    Multiboot2,
    /// `EI_CLASS` or `EI_VERSION` out of range.
    #[error("Broken ELF identification: {field} is {value}, which no ELF standard defines")]
    Identification {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: u8,
    },
    /// Big-endian ELF.
    #[error("The image is big-endian (for {machine}); guests are little-endian")]
    BigEndian {
        /// Name and number of the machine.
        machine: String,
    },
    /// Built for another processor.
    #[error("The image is for {machine}; guests are EM_386, EM_X86_64 or EM_AARCH64")]
    WrongMachine {
        /// Name and number of the machine.
        machine: String,
    },
    /// Not an executable.
    #[error("The ELF file is {what}, not an executable")]
    NotExecutable {
        /// What it is, with its article.
        what: String,
    },
    /// A part of the image lies outside the file.
    #[error(
        "The image is truncated: {what} is at bytes {start:#x}..{end:#x}, but the file ends at {file_size:#x}"
    )]
    Truncated {
        /// Which part.
        what: String,
        /// File offset of its first byte.
        start: u64,
        /// File offset behind its last byte; `u64::MAX` if that is not a number any more.
        end: u64,
        /// Size of the file in bytes.
        file_size: u64,
    },
    /// A program or section header has another size than the ELF class says.
    #[error("Broken ELF: {table} entries are {size} bytes, but this class has {expected}")]
    EntrySize {
        /// Name of the table.
        table: &'static str,
        /// What the file says.
        size: u16,
        /// What the standard says.
        expected: u16,
    },
    /// More program headers than any sensible image.
    #[error("The image has {count} program headers; the limit is {limit}")]
    TooManyProgramHeaders {
        /// What the file says.
        count: u32,
        /// The bound.
        limit: u32,
    },
    /// Nothing to load.
    #[error("The image has nothing to load: no PT_LOAD segment with a size")]
    NoSegments,
    /// `p_filesz` is larger than `p_memsz`.
    #[error("Program header {index} has {file_size:#x} bytes in the file for {mem_size:#x} bytes of memory")]
    FileLargerThanMemory {
        /// Index of the program header.
        index: usize,
        /// `p_filesz`.
        file_size: u64,
        /// `p_memsz`.
        mem_size: u64,
    },
    /// A segment ends behind the last address.
    #[error("Program header {index} wraps around the address space: {size:#x} bytes at {start:#x}")]
    SegmentWraps {
        /// Index of the program header.
        index: usize,
        /// Its address.
        start: u64,
        /// `p_memsz`.
        size: u64,
    },
    /// Two segments want the same memory.
    #[error(
        "Two segments overlap in physical memory: {:#x}..{:#x} and {:#x}..{:#x}",
        first.0, first.1, second.0, second.1
    )]
    SegmentsOverlap {
        /// Start and end of the lower one.
        first: (u64, u64),
        /// Start and end of the other one.
        second: (u64, u64),
    },
    /// A note segment that does not parse.
    #[error("Malformed ELF note segment at file offset {offset:#x}: {reason}")]
    Note {
        /// File offset of the segment.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// The entry point is not in anything that was loaded from the file.
    #[error(
        "The entry point of {protocol}, {entry:#x}, lies outside of the code and data that the file loads"
    )]
    EntryOutside {
        /// Whose entry point.
        protocol: Protocol,
        /// The address.
        entry: u64,
    },
    /// PVH and multiboot start in 32-bit mode, and Linux on x86 below 4 GiB.
    #[error("The entry point of {protocol}, {entry:#x}, is above 4 GiB, where 32-bit code cannot start")]
    EntryAbove4Gib {
        /// Whose entry point.
        protocol: Protocol,
        /// The address.
        entry: u64,
    },
    /// ELF without any protocol that we know.
    #[error(
        "The ELF file has no boot protocol: neither a PVH note (Xen, type 18) nor a multiboot 1 header \
         in its first 8 KiB{}",
        if *program { "; it is a program for an operating system" } else { "" }
    )]
    NoProtocol {
        /// It names an interpreter, as programs of an operating system do.
        program: bool,
    },
    /// Magic number without a valid checksum.
    #[error(
        "The multiboot header at offset {offset:#x} has checksum {checksum:#010x}; magic, flags and checksum \
         must add up to 0"
    )]
    MultibootChecksum {
        /// File offset of the header.
        offset: usize,
        /// What the header has.
        checksum: u32,
    },
    /// The header runs over the end of the file or of its window.
    #[error("The multiboot header at offset {offset:#x} does not end within the first 8 KiB of the file")]
    MultibootHeaderCut {
        /// File offset of the header.
        offset: usize,
    },
    /// The image wants something that we do not have.
    #[error("The multiboot header asks for unsupported features: flags {flags:#x} (bit 2 is a video mode)")]
    MultibootFeatures {
        /// The mandatory flags that are not supported.
        flags: u32,
    },
    /// A multiboot image that says nowhere where it wants to be.
    #[error("The multiboot image is neither ELF nor does its header give load addresses (flag bit 16)")]
    MultibootNoAddresses,
    /// The address fields contradict each other.
    #[error("The multiboot header's address fields contradict each other: {0}")]
    MultibootAddresses(String),
    /// The list of tests is broken.
    #[error("Broken test list (section {section}): {reason}", section = guest_protocol::TEST_SECTION)]
    TestSection {
        /// What is wrong.
        reason: String,
    },
    /// One test of the list is broken.
    #[error("Test {index} of the image's list is broken: {reason}")]
    TestDescriptor {
        /// Which one, from 0.
        index: usize,
        /// What is wrong, with the value.
        reason: String,
    },
}

/// What a file that is not ELF seems to be, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherFormat {
    /// A compressed file.
    Compressed {
        /// Name of the format.
        format: &'static str,
        /// The program that unpacks it.
        unpack: &'static str,
    },
    /// An archive of object files.
    StaticLibrary,
    /// A disk image of QEMU.
    Qcow2,
    /// A program for Windows or UEFI.
    Pe,
    /// A text with an interpreter in its first line.
    Script,
    /// None of these, and no kernel either.
    Unknown,
}

impl fmt::Display for OtherFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compressed { format, .. } => return write!(f, "it is {format}-compressed"),
            Self::StaticLibrary => "it is a static library",
            Self::Qcow2 => "it is a qcow2 disk image",
            Self::Pe => "it is a PE/EFI program",
            Self::Script => "it is a script",
            Self::Unknown => "it has neither the ELF magic number nor a multiboot header",
        })
    }
}

/// Why an image cannot be placed in this guest's memory.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Built for other CPUs than the profile's.
    #[error("The image is for {image}, and the CPU of the profile is {machine}")]
    Architecture {
        /// What it is for.
        image: Architecture,
        /// What there is.
        machine: Architecture,
    },
    /// The image does not offer the protocol that was asked for.
    #[error("The image cannot be booted with {asked}; it offers {offered}")]
    Protocol {
        /// What was asked for.
        asked: Protocol,
        /// What there is.
        offered: Protocol,
    },
    /// More memory would do.
    #[error(
        "The image needs guest memory at {start:#x}..{end:#x}; it needs at least {needed_mib} MiB, \
         the guest has {size_mib} MiB"
    )]
    NotEnoughMemory {
        /// First address of the segment.
        start: u64,
        /// First address behind it, with bss.
        end: u64,
        /// Smallest guest that can hold this segment, in MiB.
        needed_mib: u64,
        /// Size of this guest in MiB.
        size_mib: u64,
    },
    /// No guest has RAM there.
    #[error(
        "The image wants to be at {start:#x}..{end:#x}, where no guest has RAM (devices are at 3 GiB..4 GiB, \
         RAM ends at 65 GiB)"
    )]
    NoRamThere {
        /// First address of the segment.
        start: u64,
        /// First address behind it.
        end: u64,
    },
    /// Longer than guests read.
    #[error("The command line has {len} bytes; the limit is {limit}")]
    CmdlineTooLong {
        /// Bytes without the terminating 0.
        len: usize,
        /// The bound.
        limit: usize,
    },
    /// A C string cannot hold a 0.
    #[error("The {what} contains a NUL byte at position {position}")]
    CmdlineNul {
        /// Which string.
        what: &'static str,
        /// Where.
        position: usize,
    },
    /// More modules than the bound.
    #[error("{count} modules were given; the limit is {limit}")]
    TooManyModules {
        /// How many.
        count: usize,
        /// The bound.
        limit: usize,
    },
    /// A module does not fit beside the image.
    #[error(
        "Module {index} ({size} bytes) does not fit into the guest's {size_mib} MiB of memory beside the \
         image"
    )]
    NoRoomForModule {
        /// Which one, from 0.
        index: usize,
        /// Its size in bytes.
        size: usize,
        /// Size of this guest in MiB.
        size_mib: u64,
    },
    /// Linux takes one initrd.
    #[error("Linux takes one initrd, {count} modules were given")]
    OneInitrd {
        /// How many.
        count: usize,
    },
    /// No free memory is left for the boot information.
    #[error(
        "The image covers so much memory that {size} bytes of boot information do not fit beside \
         it"
    )]
    NoRoomForBootInfo {
        /// Bytes wanted.
        size: usize,
    },
    /// A string with a NUL, which the checks of the parameters exclude.
    #[error("Cannot make the devicetree")]
    Devicetree(#[from] vm_fdt::Error),
    /// A write failed after all checks.
    #[error("Cannot write the image to guest memory")]
    Memory(#[from] MemoryError),
}
