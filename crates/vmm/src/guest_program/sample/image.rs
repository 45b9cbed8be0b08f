//! An ELF file of the guest: how its first page is known, and its symbols.

use super::Space;
use crate::guest_program::files::elf::is_elf;
use crate::guest_program::files::{Content, Entry};
use object::elf::{FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _, SymbolKind};
use std::path::{Path, PathBuf};

/// Bytes by which files are told apart: the header with its offsets, and most of the program headers.
const BEGINNING: u64 = 1024;

/// A program or library.
#[derive(Debug)]
pub(super) struct Image {
    path: PathBuf,
    content: Content,
    beginning: Vec<u8>,
    first_address: u64,
}

impl Image {
    /// `None` for what is no ELF file.
    pub(super) fn of(path: &Path, entry: &Entry) -> Option<Self> {
        let content = entry.content.clone();
        let beginning = content.beginning(BEGINNING).ok()?;
        if !content.is_found() || !is_elf(&beginning) {
            return None;
        }
        let data = content.read().ok()?;
        let header = FileHeader64::<Endianness>::parse(&*data).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, &*data).ok()?;
        let loaded = |segment: &&object::elf::ProgramHeader64<Endianness>| {
            segment.p_type(endian) == PT_LOAD && segment.p_offset(endian) == 0
        };
        let first_address = segments.iter().find(loaded)?.p_vaddr(endian);
        Some(Self { path: path.to_owned(), content, beginning, first_address })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where its first byte lies, if it lies where it is linked for.
    pub(super) fn first_address(&self) -> u64 {
        self.first_address
    }

    /// Whether it is mapped from this address on.
    pub(super) fn begins_at(&self, space: &Space<'_>, base: u64) -> bool {
        let mut mapped = vec![0; self.beginning.len()];
        space.read(base, &mut mapped) && mapped == self.beginning
    }

    /// The whole file; `None` if it is gone.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        self.content.read().ok()
    }

    /// Its functions; none where it has none, or is gone.
    pub(super) fn symbols(&self) -> Symbols {
        let mut symbols = Vec::new();
        if let Some(data) = self.read()
            && let Ok(file) = object::read::elf::ElfFile64::<Endianness>::parse(&*data)
        {
            for symbol in file.symbols().chain(file.dynamic_symbols()) {
                if symbol.kind() == SymbolKind::Text
                    && symbol.is_definition()
                    && let Ok(name) = symbol.name()
                {
                    symbols.push((symbol.address(), symbol.size(), name.to_owned()));
                }
            }
        }
        // Of several names for a function the first in order, for every host.
        symbols.sort();
        symbols.dedup_by_key(|(address, ..)| *address);
        Symbols(symbols)
    }
}

/// Functions by address, with size and name.
pub(super) struct Symbols(Vec<(u64, u64, String)>);

impl Symbols {
    /// The function in which an address lies.
    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let behind = self.0.partition_point(|(start, ..)| *start <= address);
        let (start, size, name) = self.0.get(behind.checked_sub(1)?)?;
        // Assembly often has no sizes.
        (*size == 0 || address - start < *size).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_ends_where_its_size_says() {
        let list = [(16, 8, "a"), (32, 0, "start"), (64, 4, "b")];
        let symbols = Symbols(list.map(|(start, size, name)| (start, size, name.to_owned())).to_vec());
        let found = [15, 16, 23, 24, 32, 63, 64, 68].map(|address| symbols.find(address));
        let (a, start, b) = (Some("a"), Some("start"), Some("b"));
        assert_eq!(found, [None, a, a, None, start, start, b, None]);
    }
}
