//! Functions and marks of a program's file.

use super::spec::Mark;
use super::{GuestMemory, State};
use crate::engine::Registers as _;
use crate::guest_program::ProgramError;
use crate::guest_program::files::Files;
use crate::recording::symbols::demangled;
use object::elf::{ET_DYN, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolKind};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Scripts may be executed by scripts, as the kernel has it.
const MOST_SCRIPTS: usize = 5;
/// `mov $imm32, %ebx`, and what follows the number.
const SSC_BEFORE: u8 = 0xBB;
const SSC_BEHIND: [u8; 3] = [0x64, 0x67, 0x90];
/// Bytes by which code is told apart.
const CODE: usize = 16;

/// The file that the kernel executes.
#[derive(Debug)]
pub(super) struct Places {
    path: PathBuf,
    entry: u64,
    moves: bool,
    /// Functions with their names as the file has them, and demangled.
    symbols: Vec<(String, String, u64)>,
    marks: Vec<(u32, u64)>,
    /// Code by address.
    sections: Vec<(u64, Vec<u8>)>,
}

impl Places {
    /// Of a program, or of the one that executes it as a script.
    pub(super) fn of(files: &Files, program: &Path) -> Result<Self, ProgramError> {
        let mut path = program.to_owned();
        for _ in 0..MOST_SCRIPTS {
            let real = files.resolve(&path).unwrap_or_else(|| path.clone());
            let entry = files.get(&real).ok_or_else(|| ProgramError::Foreign(path.clone()))?;
            let data = entry.content.read().map_err(ProgramError::file(&real))?;
            let Some(line) = data.strip_prefix(b"#!") else { return Self::parse(&real, &data) };
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            path = PathBuf::from(OsStr::from_bytes(words.next().unwrap_or_default()));
        }
        Err(ProgramError::Foreign(program.to_owned()))
    }

    fn parse(path: &Path, data: &[u8]) -> Result<Self, ProgramError> {
        let foreign = || ProgramError::Foreign(path.to_owned());
        let file = ElfFile64::<Endianness>::parse(data).map_err(|_| foreign())?;
        let header = FileHeader64::<Endianness>::parse(data).map_err(|_| foreign())?;
        let mut symbols = Vec::new();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if symbol.kind() == SymbolKind::Text
                && symbol.is_definition()
                && let Ok(name) = symbol.name()
            {
                symbols.push((name.to_owned(), demangled(name), symbol.address()));
            }
        }
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections: Vec<(u64, Vec<u8>)> = code
            .filter_map(|section| Some((section.address(), section.uncompressed_data().ok()?.into_owned())))
            .collect();
        let marks = sections.iter().flat_map(|(address, code)| ssc_marks(*address, code)).collect();
        let endian = header.endian().map_err(|_| foreign())?;
        let moves = header.e_type(endian) == ET_DYN;
        Ok(Self { path: path.to_owned(), entry: file.entry(), moves, symbols, marks, sections })
    }

    /// Whether it is loaded elsewhere than it says.
    pub(super) fn moves(&self) -> bool {
        self.moves
    }

    /// Its entry point, as it says.
    pub(super) fn entry(&self) -> u64 {
        self.entry
    }

    /// Where functions of this name begin.
    pub(super) fn symbol(&self, wanted: &str) -> Result<Vec<u64>, ProgramError> {
        let named = self.symbols.iter().filter(|(name, plain, _)| name == wanted || plain == wanted);
        self.found(named.map(|(.., address)| *address).collect(), || format!("function {wanted}"))
    }

    /// Where a mark is.
    pub(super) fn mark(&self, mark: &Mark) -> Result<Vec<u64>, ProgramError> {
        match mark {
            Mark::Symbol(name) => self.symbol(name),
            Mark::Ssc(wanted) => {
                let marks = self.marks.iter().filter(|(number, _)| number == wanted);
                self.found(marks.map(|(_, address)| *address).collect(), || format!("SSC mark {wanted:#x}"))
            }
        }
    }

    fn found(&self, mut found: Vec<u64>, what: impl Fn() -> String) -> Result<Vec<u64>, ProgramError> {
        found.sort_unstable();
        found.dedup();
        if found.is_empty() {
            return Err(ProgramError::NoPlace { path: self.path.clone(), what: what() });
        }
        Ok(found)
    }

    /// Whether what is about to be executed is this file's code, and not another program's at the same address.
    pub(super) fn is_at(&self, state: &State, memory: &GuestMemory, base: u64) -> bool {
        let address = state.rip.wrapping_sub(base);
        let code = self.sections.iter().find_map(|(start, code)| {
            let from = usize::try_from(address.checked_sub(*start)?).ok()?;
            code.get(from..)
        });
        let Some(code) = code else { return false };
        // A page that has not been touched cannot be compared, and is loaded by this very instruction.
        code.iter().take(CODE).enumerate().all(|(at, byte)| {
            let mut there = [0];
            let physical = state.translate(memory, state.rip.wrapping_add(at as u64));
            physical.is_none_or(|physical| memory.read(physical, &mut there).is_ok() && there[0] == *byte)
        })
    }
}

/// Numbers and addresses of the marks in code.
fn ssc_marks(address: u64, code: &[u8]) -> impl Iterator<Item = (u32, u64)> {
    code.windows(8).zip(address..).filter_map(|(bytes, at)| match bytes {
        [SSC_BEFORE, a, b, c, d, behind @ ..] if *behind == SSC_BEHIND => {
            Some((u32::from_le_bytes([*a, *b, *c, *d]), at))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_in_code() {
        let code = [0x90, 0xBB, 0x11, 1, 0, 0, 0x64, 0x67, 0x90, 0xC3, 0xBB, 1, 2, 3, 4, 0x64, 0x67, 0x91];
        assert_eq!(ssc_marks(0x1000, &code).collect::<Vec<_>>(), [(0x111, 0x1001)]);
    }
}
