//! What an ELF file says of its interpreter and libraries (gABI, "Dynamic Linking").

use object::Endianness;
use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRTAB, EM_X86_64, ET_DYN, ET_EXEC, FileHeader64,
};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// A program or library for x86-64.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Elf {
    /// The dynamic linker, of a program that has one.
    pub interpreter: Option<PathBuf>,
    /// Names of the libraries that it needs.
    pub needed: Vec<String>,
    /// Its own name as a library.
    pub soname: Option<String>,
    /// Directories in which its libraries are looked for first, and those of its libraries; `$ORIGIN` is not replaced.
    pub rpath: Vec<String>,
    /// Directories in which its libraries are looked for.
    pub runpath: Vec<String>,
}

/// Whether this is the beginning of an ELF file, of any machine.
#[must_use]
pub fn is_elf(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF")
}

impl Elf {
    /// Reads a file; `None` if it is no program or library for x86-64.
    #[must_use]
    pub fn parse(data: &[u8]) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let kind = header.e_type(endian);
        if header.e_machine(endian) != EM_X86_64 || ![ET_EXEC, ET_DYN].contains(&kind) {
            return None;
        }
        let mut elf = Self::default();
        let segments = header.program_headers(endian, data).ok()?;
        for segment in segments {
            if let Ok(Some(path)) = segment.interpreter(endian, data) {
                elf.interpreter = Some(PathBuf::from(OsStr::from_bytes(path)));
            }
        }
        let dynamic = segments.iter().find_map(|segment| segment.dynamic(endian, data).ok().flatten());
        let Some(dynamic) = dynamic else { return Some(elf) };
        let value =
            |wanted| dynamic.iter().find(|entry| entry.tag(endian) == wanted).map(|entry| entry.val(endian));
        let Some(strings) = value(DT_STRTAB) else { return Some(elf) };
        let text = |offset: u64| {
            let at = strings.checked_add(offset)?;
            let bytes = segments.iter().find_map(|segment| {
                let (start, size) = (segment.p_vaddr(endian), segment.p_filesz(endian));
                let inside = at.checked_sub(start).filter(|inside| *inside < size)?;
                let from = usize::try_from(segment.p_offset(endian).checked_add(inside)?).ok()?;
                data.get(from..)
            })?;
            let end = bytes.iter().position(|byte| *byte == 0)?;
            Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
        };
        let directories = |wanted| {
            let list = value(wanted).and_then(text).unwrap_or_default();
            list.split(':').filter(|directory| !directory.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        elf.rpath = directories(DT_RPATH);
        elf.runpath = directories(DT_RUNPATH);
        elf.soname = value(DT_SONAME).and_then(text);
        let needed = dynamic.iter().filter(|entry| entry.tag(endian) == DT_NEEDED);
        elf.needed = needed.filter_map(|entry| text(entry.val(endian))).collect();
        Some(elf)
    }
}
