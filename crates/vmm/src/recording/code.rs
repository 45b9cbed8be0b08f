//! Which file, and which function, a piece of guest code is of.
//!
//! A page of code is known by its content: files are mapped as they are, so that it is a page of one of the files that
//! the guest got. That holds from a program's first instruction on, for every process and loader.

use super::data::{Function, Image, ImageKind, Place, Segment};
use super::symbols::{Symbols, demangled};
use crate::guest_program::files::{Content, Files};
use object::elf::{DF_1_PIE, DT_FLAGS_1, ET_EXEC, FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _};
use platform::convert::host_size;
use platform::memory::GuestMemory;
use rustc_hash::FxHashMap;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE_SIZE: usize = 4096;
const PAGE: u64 = PAGE_SIZE as u64;
/// Positions of images that are no files.
pub(super) const KERNEL: u16 = 0;
pub(super) const UNKNOWN: u16 = 1;
/// More files than that are not looked at.
const MOST_IMAGES: usize = u16::MAX as usize;

/// What code of a guest may be of.
#[derive(Debug)]
pub(super) struct Code {
    images: Vec<Image>,
    /// On the host, of files.
    paths: Vec<PathBuf>,
    symbols: Vec<Option<Symbols>>,
    /// Image and address of each page of code, by its content.
    pages: FxHashMap<u64, (u16, u64)>,
    functions: Vec<Function>,
    by_start: FxHashMap<(u16, u64), u32>,
}

impl Code {
    /// Programs and libraries among these files, and a kernel with these functions.
    pub(super) fn new(files: &Files, kernel: Symbols) -> Self {
        let other = |name: &str, kind| Image {
            name: name.to_owned(),
            path: String::new(),
            build_id: None,
            kind,
            segments: Vec::new(),
        };
        let mut code = Self {
            images: vec![other("[kernel]", ImageKind::Kernel), other("[unknown]", ImageKind::Unknown)],
            paths: vec![PathBuf::new(); 2],
            symbols: vec![Some(kernel), Some(Symbols::default())],
            pages: FxHashMap::default(),
            functions: Vec::new(),
            by_start: FxHashMap::default(),
        };
        for (path, entry) in files.iter() {
            if let Content::Host(host) = &entry.content
                && code.images.len() < MOST_IMAGES
            {
                // What is no ELF file has no code.
                let _ = code.add(path, host);
            }
        }
        code
    }

    fn add(&mut self, path: &Path, host: &Path) -> Option<()> {
        use std::io::Read as _;
        let mut file = fs::File::open(host).ok()?;
        let mut magic = [0; 4];
        file.read_exact(&mut magic).ok()?;
        if magic != *b"\x7fELF" {
            return None;
        }
        let mut data = magic.to_vec();
        file.read_to_end(&mut data).ok()?;
        let header = FileHeader64::<Endianness>::parse(&*data).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, &*data).ok()?;
        let number = u16::try_from(self.images.len()).ok()?;
        let mut code = Vec::new();
        for segment in segments {
            if segment.p_type(endian) != PT_LOAD || !segment.p_flags(endian).contains(PF_X) {
                continue;
            }
            // Whole pages of the file are mapped.
            let offset = segment.p_offset(endian);
            let (first, end) = (offset & !(PAGE - 1), offset.saturating_add(segment.p_filesz(endian)));
            let address = segment.p_vaddr(endian);
            code.push(Segment { address, size: segment.p_filesz(endian), offset });
            let base = address.wrapping_sub(offset);
            for page in (first..end.min(data.len() as u64)).step_by(PAGE_SIZE) {
                let mut content = [0; PAGE_SIZE];
                let rest = &data[host_size(page)..];
                let part = rest.len().min(content.len());
                content[..part].copy_from_slice(&rest[..part]);
                let place = (number, page.wrapping_add(base));
                self.pages.entry(key(&content)).or_insert(place);
            }
        }
        let dynamic = segments.iter().find_map(|segment| segment.dynamic(endian, &*data).ok().flatten());
        let is_pie = dynamic
            .into_iter()
            .flatten()
            .any(|entry| entry.tag(endian) == DT_FLAGS_1 && entry.val(endian) & DF_1_PIE.0 != 0);
        let kind =
            if is_pie || header.e_type(endian) == ET_EXEC { ImageKind::Program } else { ImageKind::Library };
        let file = object::read::elf::ElfFile64::<Endianness>::parse(&*data).ok();
        let build_id = file.and_then(|file| file.build_id().ok().flatten().map(hex));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.images.push(Image {
            name,
            path: path.to_string_lossy().into_owned(),
            build_id,
            kind,
            segments: code,
        });
        self.paths.push(host.to_owned());
        self.symbols.push(None);
        Some(())
    }

    /// Where the code is that lies at a physical and at a linear address.
    pub(super) fn place(&self, memory: &GuestMemory, physical: u64, linear: u64, user: bool) -> Place {
        if !user {
            return Place { image: KERNEL, address: linear };
        }
        let mut content = [0; PAGE_SIZE];
        let read = memory.read(physical & !(PAGE - 1), &mut content);
        match self.pages.get(&key(&content)).filter(|_| read.is_ok()) {
            Some((image, page)) => Place { image: *image, address: page + physical % PAGE },
            None => Place { image: UNKNOWN, address: linear },
        }
    }

    /// The number of the function in which a place lies.
    pub(super) fn function(&mut self, place: Place) -> u32 {
        let Place { image, address } = place;
        let number = usize::from(image);
        if self.symbols[number].is_none() {
            let data = fs::read(&self.paths[number]).unwrap_or_default();
            self.symbols[number] = Some(Symbols::of_elf(&data));
        }
        let symbol = self.symbols[number].as_ref().and_then(|symbols| symbols.find(address));
        let start = symbol.map_or(u64::MAX, |symbol| symbol.address);
        let (images, functions) = (&self.images, &mut self.functions);
        *self.by_start.entry((image, start)).or_insert_with(|| {
            functions.push(match symbol {
                Some(symbol) => Function {
                    name: demangled(&symbol.name),
                    symbol: symbol.name.clone(),
                    image,
                    address: symbol.address,
                    size: symbol.size,
                },
                None => {
                    let name = &images[number].name;
                    let name =
                        if number <= usize::from(UNKNOWN) { name.clone() } else { format!("[{name}]") };
                    Function { symbol: name.clone(), name, image, address: 0, size: 0 }
                }
            });
            u32::try_from(functions.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// Whether a function only jumps to another one.
    pub(super) fn is_linkage(&self, function: u32) -> bool {
        self.functions.get(function as usize).is_some_and(|function| function.symbol == super::symbols::PLT)
    }

    /// The images with their files on the host, and the functions that were asked for.
    pub(super) fn into_parts(self) -> (Vec<(Image, PathBuf)>, Vec<Function>) {
        (self.images.into_iter().zip(self.paths).collect(), self.functions)
    }
}

/// A page's content in few bits.
fn key(page: &[u8; PAGE_SIZE]) -> u64 {
    let (low, high) = page.split_at(page.len() / 2);
    u64::from(crc32fast::hash(low)) << 32 | u64::from(crc32fast::hash(high))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
