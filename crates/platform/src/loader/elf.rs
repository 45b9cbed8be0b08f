//! The ELF container: segments, notes and named sections, with every range checked against the file.

use crate::convert::{host_size, low_u16};
use std::ops::Range;

use object::LittleEndian;
use object::elf::{
    EM_386, EM_AARCH64, EM_X86_64, ET_DYN, ET_EXEC, FileHeader32, FileHeader64, PT_INTERP, PT_LOAD, PT_NOTE,
    SHT_NOBITS,
};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};

use super::error::ImageError;

/// First bytes of every ELF file.
pub(super) const MAGIC: &[u8] = b"\x7fELF";
/// Bound for program headers; a Linux kernel has 5. Keeps pairwise checks short.
pub(super) const MAX_PROGRAM_HEADERS: u32 = 128;
/// Bound for the size of one note segment in bytes; a Linux kernel's has a few hundred.
pub(super) const MAX_NOTE_SEGMENT: usize = 1 << 20;

const LE: LittleEndian = LittleEndian;

/// A part of the image and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// Address that the code was linked for.
    pub(super) vaddr: u64,
    /// Guest physical address to load to.
    pub(super) paddr: u64,
    /// Its bytes in the file.
    pub(super) file: Range<usize>,
    /// Bytes in memory; those behind the file's are zero.
    pub(super) mem_size: u64,
}

impl Segment {
    /// Physical address behind the segment, with bss. Cannot overflow: checked when it was made.
    pub(super) fn end(&self) -> u64 {
        self.paddr + self.mem_size
    }

    /// Where `vaddr` lies in the file, if the file has that byte.
    fn offset_of(&self, vaddr: u64) -> Option<usize> {
        let offset = usize::try_from(vaddr.checked_sub(self.vaddr)?).ok()?;
        (offset < self.file.len()).then_some(offset)
    }

    /// Translates `vaddr` to a physical address, if the file has that byte.
    pub(super) fn physical(&self, vaddr: u64) -> Option<u64> {
        Some(self.paddr + self.offset_of(vaddr)? as u64)
    }

    /// True if the byte at physical address `paddr` comes from the file.
    pub(super) fn holds_physical(&self, paddr: u64) -> bool {
        paddr.checked_sub(self.paddr).is_some_and(|offset| offset < self.file.len() as u64)
    }

    /// The `len` bytes at `vaddr`, if the file has all of them.
    pub(super) fn bytes<'a>(&self, image: &'a [u8], vaddr: u64, len: u64) -> Option<&'a [u8]> {
        let offset = self.offset_of(vaddr)?;
        let len = usize::try_from(len).ok()?;
        image.get(self.file.clone())?.get(offset..)?.get(..len)
    }
}

/// What loaders need of an ELF file.
#[derive(Debug)]
pub(super) struct Elf {
    /// `e_entry`, as it stands in the header.
    pub(super) entry: u64,
    /// ELF64.
    pub(super) is_64: bool,
    /// PT_LOAD segments that have a size, in ascending physical order, not overlapping.
    pub(super) segments: Vec<Segment>,
    /// PT_NOTE segments: file range and `p_align`.
    pub(super) notes: Vec<(Range<usize>, u64)>,
    /// A dynamic linker is named: a program of an operating system.
    pub(super) has_interpreter: bool,
}

impl Elf {
    /// Reads the headers.
    ///
    /// # Errors
    /// Not an ELF file for this machine, or one with a header that does not fit the file.
    pub(super) fn parse(image: &[u8]) -> Result<Self, ImageError> {
        match class(image)? {
            Class::Elf32 => Self::read::<FileHeader32<LittleEndian>>(image),
            Class::Elf64 => Self::read::<FileHeader64<LittleEndian>>(image),
        }
    }

    fn read<H: FileHeader<Endian = LittleEndian>>(image: &[u8]) -> Result<Self, ImageError> {
        let header = header::<H>(image)?;
        let kind = header.e_type(LE);
        if kind != ET_EXEC && kind != ET_DYN {
            let what = match kind.0 {
                1 => "a relocatable object file".to_owned(),
                4 => "a core dump".to_owned(),
                other => format!("of unknown type {other:#x}"),
            };
            return Err(ImageError::NotExecutable { what });
        }
        let mut elf = Self {
            entry: header.e_entry(LE).into(),
            is_64: header.is_class_64(),
            segments: Vec::new(),
            notes: Vec::new(),
            has_interpreter: false,
        };
        for (index, program) in program_headers(header, image)?.iter().enumerate() {
            match program.p_type(LE) {
                PT_LOAD => elf.segments.extend(segment::<H>(index, program, image)?),
                PT_NOTE => {
                    let range = file_range::<H>(index, program, image)?;
                    elf.notes.push((range, program.p_align(LE).into()));
                }
                PT_INTERP => elf.has_interpreter = true,
                _ => {}
            }
        }
        if elf.segments.is_empty() {
            return Err(ImageError::NoSegments);
        }
        elf.segments.sort_by_key(|s| s.paddr);
        for pair in elf.segments.windows(2) {
            if let [a, b] = pair
                && a.end() > b.paddr
            {
                return Err(ImageError::SegmentsOverlap {
                    first: (a.paddr, a.end()),
                    second: (b.paddr, b.end()),
                });
            }
        }
        Ok(elf)
    }

    /// The descriptor of the first note with this owner and type.
    ///
    /// # Errors
    /// A note segment before it is malformed.
    pub(super) fn note<'a>(
        &self,
        image: &'a [u8],
        owner: &[u8],
        kind: u32,
    ) -> Result<Option<&'a [u8]>, ImageError> {
        for (range, align) in &self.notes {
            let malformed = |reason: String| ImageError::Note { offset: range.start as u64, reason };
            if range.len() > MAX_NOTE_SEGMENT {
                return Err(malformed(format!(
                    "{} bytes is more than the limit of {MAX_NOTE_SEGMENT}",
                    range.len()
                )));
            }
            let data = image.get(range.clone()).unwrap_or_default();
            // The note header is the same in both classes; only the type of the alignment differs.
            let notes = NoteIterator::<FileHeader64<LittleEndian>>::new(LE, *align, data)
                .map_err(|error| malformed(format!("{error} (p_align is {align:#x})")))?;
            for note in notes {
                let note = note.map_err(|error| malformed(error.to_string()))?;
                if note.name() == owner && note.n_type(LE).0 == kind {
                    return Ok(Some(note.desc()));
                }
            }
        }
        Ok(None)
    }
}

/// The bytes of the section with this name; `None` if there is none.
///
/// # Errors
/// The section table, or that section, does not fit the file.
pub(super) fn section<'a>(image: &'a [u8], name: &str) -> Result<Option<&'a [u8]>, ImageError> {
    match class(image)? {
        Class::Elf32 => find_section::<FileHeader32<LittleEndian>>(image, name),
        Class::Elf64 => find_section::<FileHeader64<LittleEndian>>(image, name),
    }
}

fn find_section<'a, H: FileHeader<Endian = LittleEndian>>(
    image: &'a [u8],
    name: &str,
) -> Result<Option<&'a [u8]>, ImageError> {
    let broken = |reason: object::read::Error| ImageError::TestSection { reason: reason.to_string() };
    let header = header::<H>(image)?;
    let sections = header.section_headers(LE, image).map_err(broken)?;
    if sections.is_empty() {
        return Ok(None);
    }
    let names = header.shstrndx(LE, image).map_err(broken)?;
    let names = usize::try_from(names).ok().and_then(|index| sections.get(index)).ok_or_else(|| {
        ImageError::TestSection { reason: format!("section {names} with the section names does not exist") }
    })?;
    let names = section_data::<H>(names, image, "the table of section names")?;
    // Compare at the offset instead of looking for each name's end: that would take a hostile
    // file's count of sections times its size.
    let wanted = [name.as_bytes(), b"\0"].concat();
    let is_wanted = |section: &&H::SectionHeader| {
        usize::try_from(section.sh_name(LE))
            .ok()
            .and_then(|offset| names.get(offset..))
            .is_some_and(|rest| rest.starts_with(&wanted))
    };
    match sections.iter().find(is_wanted) {
        None => Ok(None),
        Some(section) => section_data::<H>(section, image, &format!("section {name}")).map(Some),
    }
}

fn section_data<'a, H: FileHeader<Endian = LittleEndian>>(
    section: &H::SectionHeader,
    image: &'a [u8],
    what: &str,
) -> Result<&'a [u8], ImageError> {
    if section.sh_type(LE) == SHT_NOBITS {
        return Err(ImageError::TestSection { reason: format!("{what} has no bytes in the file (NOBITS)") });
    }
    let range =
        checked_range(image, section.sh_offset(LE).into(), section.sh_size(LE).into(), || what.into())?;
    Ok(image.get(range).unwrap_or_default())
}

/// True for an ELF file for AArch64, whatever else is wrong with it.
pub(super) fn is_aarch64(image: &[u8]) -> bool {
    image.starts_with(MAGIC) && image.get(18..20) == Some(&EM_AARCH64.0.to_le_bytes())
}

enum Class {
    Elf32,
    Elf64,
}

/// Checks the identification and the machine, in an order that gives the most useful error.
fn class(image: &[u8]) -> Result<Class, ImageError> {
    checked_range(image, 0, 20, || "the ELF identification".into())?;
    let byte = |index: usize| image.get(index).copied().unwrap_or_default();
    let machine = [byte(18), byte(19)];
    if byte(5) == 2 {
        return Err(ImageError::BigEndian { machine: machine_name(u16::from_be_bytes(machine)) });
    }
    for (field, value) in [("data encoding", byte(5)), ("version", byte(6))] {
        if value != 1 {
            return Err(ImageError::Identification { field, value });
        }
    }
    let machine = u16::from_le_bytes(machine);
    match (byte(4), machine) {
        (1, m) if m == EM_386.0 || m == EM_X86_64.0 => Ok(Class::Elf32),
        (2, m) if m == EM_X86_64.0 || m == EM_AARCH64.0 => Ok(Class::Elf64),
        (1 | 2, _) => Err(ImageError::WrongMachine { machine: machine_name(machine) }),
        (value, _) => Err(ImageError::Identification { field: "class", value }),
    }
}

/// Name and number of an `e_machine` value (generic ABI, "ELF header"); the usual suspects only.
fn machine_name(machine: u16) -> String {
    let name = match machine {
        2 => "SPARC",
        3 => "Intel 80386",
        6 => "Intel MCU",
        8 => "MIPS",
        20 => "PowerPC",
        21 => "64-bit PowerPC",
        22 => "S390",
        40 => "32-bit Arm",
        43 => "SPARC V9",
        50 => "IA-64",
        62 => "x86-64",
        183 => "AArch64 (64-bit Arm)",
        243 => "RISC-V",
        247 => "BPF",
        258 => "LoongArch",
        _ => "an unknown machine",
    };
    format!("{name}, e_machine {machine}")
}

fn header<H: FileHeader<Endian = LittleEndian>>(image: &[u8]) -> Result<&H, ImageError> {
    let size = size_of::<H>() as u64;
    checked_range(image, 0, size, || "the ELF header".into())?;
    // Cannot fail after the checks above; if it does, the file is as unusable.
    H::parse(image).map_err(|_| ImageError::Identification { field: "class", value: 0 })
}

fn program_headers<'a, H: FileHeader<Endian = LittleEndian>>(
    header: &H,
    image: &'a [u8],
) -> Result<&'a [H::ProgramHeader], ImageError> {
    let count = u32::from(header.e_phnum(LE));
    if count > MAX_PROGRAM_HEADERS {
        return Err(ImageError::TooManyProgramHeaders { count, limit: MAX_PROGRAM_HEADERS });
    }
    let expected = low_u16(size_of::<H::ProgramHeader>() as u64);
    let size = header.e_phentsize(LE);
    if count > 0 && size != expected {
        return Err(ImageError::EntrySize { table: "program header", size, expected });
    }
    let bytes = u64::from(count) * u64::from(expected);
    checked_range(image, header.e_phoff(LE).into(), bytes, || "the program header table".into())?;
    Ok(header.program_headers(LE, image).unwrap_or_default())
}

fn segment<H: FileHeader<Endian = LittleEndian>>(
    index: usize,
    program: &H::ProgramHeader,
    image: &[u8],
) -> Result<Option<Segment>, ImageError> {
    let mem_size = program.p_memsz(LE).into();
    let file_size = program.p_filesz(LE).into();
    if file_size > mem_size {
        return Err(ImageError::FileLargerThanMemory { index, file_size, mem_size });
    }
    if mem_size == 0 {
        return Ok(None);
    }
    let (vaddr, paddr): (u64, u64) = (program.p_vaddr(LE).into(), program.p_paddr(LE).into());
    if paddr.checked_add(mem_size).is_none() {
        return Err(ImageError::SegmentWraps { index, start: paddr, size: mem_size });
    }
    Ok(Some(Segment { vaddr, paddr, file: file_range::<H>(index, program, image)?, mem_size }))
}

fn file_range<H: FileHeader<Endian = LittleEndian>>(
    index: usize,
    program: &H::ProgramHeader,
    image: &[u8],
) -> Result<Range<usize>, ImageError> {
    let (offset, size) = (program.p_offset(LE).into(), program.p_filesz(LE).into());
    checked_range(image, offset, size, || format!("the segment of program header {index}"))
}

/// `size` bytes at `offset`, if the file has all of them.
pub(super) fn checked_range(
    image: &[u8],
    offset: u64,
    size: u64,
    what: impl FnOnce() -> String,
) -> Result<Range<usize>, ImageError> {
    let file_size = image.len() as u64;
    match offset.checked_add(size) {
        // An empty part needs no bytes, wherever it is said to be.
        _ if size == 0 => Ok(0..0),
        Some(end) if end <= file_size => Ok(host_size(offset)..host_size(end)),
        end => Err(ImageError::Truncated {
            what: what(),
            start: offset,
            end: end.unwrap_or(u64::MAX),
            file_size,
        }),
    }
}
