//! Samples of where a program is, at exact numbers of instructions.
//!
//! Which file an address belongs to is read from the guest's memory: the first page of an ELF file lies below its
//! code, and says which of the guest's files it is. That works for every process, with every loader.

mod image;
mod unwind;

use super::files::Files;
use crate::engine::paging::Paging;
use image::Image;
use platform::memory::GuestMemory;
use soft_cpu::State;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU64;
use std::path::Path;
use unwind::{Frame, Frames};

const PAGE: u64 = 4096;
/// Code lies at most so far above the beginning of its file.
const MOST_CODE: u64 = 64 << 20;
/// Most frames of a stack.
const MOST_FRAMES: usize = 128;
/// Largest stack that is looked at.
const MOST_STACK: u64 = 8 << 20;
/// Most pages whose file is remembered.
const MOST_PAGES: usize = 1 << 16;
/// Register numbers.
const RSP: usize = 4;
const RBP: usize = 5;
const CS: usize = 1;

/// A place in the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    Kernel,
    /// An address in one of the images, as that has it.
    Image(usize, u64),
    Unknown,
}

/// A function, or what is known instead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// Its name; of code without symbols that of its file, of the kernel `[kernel]`.
    pub name: String,
    /// The file's name, empty for the kernel.
    pub file: String,
}

/// Stacks, outermost function first, and how often each was seen.
pub type Stacks = BTreeMap<Vec<Function>, u64>;

/// Takes samples.
#[derive(Debug)]
pub struct Sampler {
    period: NonZeroU64,
    images: Vec<Image>,
    /// Where the file of a page begins, by page tables and page.
    pages: HashMap<(u64, u64), Option<(usize, u64)>>,
    stacks: BTreeMap<Vec<Place>, u64>,
    /// Of images that have been unwound, if they say anything.
    frames: HashMap<usize, Option<Frames>>,
}

impl Sampler {
    /// One sample each `period` instructions of the whole guest, of programs among these files.
    #[must_use]
    pub fn new(period: NonZeroU64, files: &Files) -> Self {
        let images = files.iter().filter_map(|(path, entry)| Image::of(path, entry)).collect();
        Self { period, images, pages: HashMap::new(), stacks: BTreeMap::new(), frames: HashMap::new() }
    }

    /// Instructions between two samples.
    #[must_use]
    pub fn period(&self) -> NonZeroU64 {
        self.period
    }

    /// Takes a sample of a process.
    pub(super) fn take(&mut self, state: &State, memory: &GuestMemory) {
        const USER: u16 = 3;
        let stack = if state.segments[CS].selector & USER == USER {
            self.unwind(state, memory)
        } else {
            vec![Place::Kernel]
        };
        *self.stacks.entry(stack).or_default() += 1;
    }

    /// All samples, by function.
    #[must_use]
    pub fn stacks(&self) -> Stacks {
        let symbols: Vec<_> = self.images.iter().map(Image::symbols).collect();
        let mut stacks = Stacks::new();
        for (stack, count) in &self.stacks {
            let functions = stack.iter().rev().map(|place| match place {
                Place::Kernel => Function { name: "[kernel]".into(), file: String::new() },
                Place::Unknown => Function { name: "[unknown]".into(), file: String::new() },
                Place::Image(index, address) => {
                    let file = file_name(self.images[*index].path());
                    let name = symbols[*index].find(*address).map(str::to_owned);
                    Function { name: name.unwrap_or_else(|| format!("[{file}]")), file }
                }
            });
            *stacks.entry(functions.collect()).or_default() += count;
        }
        stacks
    }

    /// The place of the next instruction, and of the calls that led there, as far as `.eh_frame` and frame pointers
    /// tell.
    fn unwind(&mut self, state: &State, memory: &GuestMemory) -> Vec<Place> {
        let paging = Paging::new(state.cr0, state.cr3, state.cr4, state.efer);
        let space = Space { paging, memory, tables: state.cr3 };
        let mut place = self.place(&space, state.rip);
        let mut stack = vec![place];
        let top = state.gpr[RSP];
        let mut frame = Frame { rsp: top, rbp: state.gpr[RBP] };
        while stack.len() < MOST_FRAMES {
            let Some((back, next)) = self.caller(&space, place, stack.len() == 1, frame) else { break };
            // A stack grows downwards, so that its callers lie above.
            if next.rsp <= frame.rsp || next.rsp - top > MOST_STACK || !space.is_behind_call(back) {
                break;
            }
            // The call is the instruction before.
            place = self.place(&space, back.wrapping_sub(1));
            if !matches!(place, Place::Image(..)) {
                break;
            }
            stack.push(place);
            frame = next;
        }
        stack
    }

    /// The return address of what runs at a place, or has called there, and its caller's registers.
    fn caller(&mut self, space: &Space<'_>, place: Place, first: bool, frame: Frame) -> Option<(u64, Frame)> {
        if let Place::Image(index, address) = place {
            let image = &self.images[index];
            let frames = self.frames.entry(index).or_insert_with(|| Frames::of(&image.read()?));
            // Of a caller the place of the call is known.
            let address = if first { address } else { address.wrapping_add(1) };
            if let Some(frames) = frames
                && let Some(found) = frames.caller(space, address, first, frame)
            {
                return found;
            }
        }
        let Frame { rsp, rbp } = frame;
        if rbp < rsp || rbp % 8 != 0 {
            return None;
        }
        let [next, back] = space.words(rbp)?;
        Some((back, Frame { rsp: rbp.wrapping_add(16), rbp: next }))
    }

    fn place(&mut self, space: &Space<'_>, address: u64) -> Place {
        let key = (space.tables, address / PAGE);
        let known = self.pages.get(&key).copied();
        // Page tables may have become another process's.
        let still = |(index, base): &(usize, u64)| self.images[*index].begins_at(space, *base);
        let found = match known {
            Some(None) => None,
            Some(Some(known)) if still(&known) => Some(known),
            _ => {
                let found = self.search(space, address);
                if self.pages.len() >= MOST_PAGES {
                    self.pages.clear();
                }
                self.pages.insert(key, found);
                found
            }
        };
        found.map_or(Place::Unknown, |(index, base)| {
            Place::Image(index, address.wrapping_sub(base).wrapping_add(self.images[index].first_address()))
        })
    }

    /// Downwards to the first page of one of the images.
    fn search(&self, space: &Space<'_>, address: u64) -> Option<(usize, u64)> {
        let page = address & !(PAGE - 1);
        (0..MOST_CODE.min(page) / PAGE).map(|below| page - below * PAGE).find_map(|base| {
            let mut magic = [0; 4];
            let is_elf = space.read(base, &mut magic) && magic == *b"\x7fELF";
            let index = || self.images.iter().position(|image| image.begins_at(space, base));
            is_elf.then(index).flatten().map(|index| (index, base))
        })
    }
}

/// What a process has mapped.
struct Space<'a> {
    paging: Paging,
    memory: &'a GuestMemory,
    tables: u64,
}

impl Space<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.paging.read(self.memory, address, buffer)
    }

    fn words(&self, address: u64) -> Option<[u64; 2]> {
        let mut bytes = [0; 16];
        self.read(address, &mut bytes).then(|| {
            let (low, high) = bytes.split_at(8);
            [low, high].map(|half| half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
        })
    }

    /// The instruction before this address may be a CALL (E8, or FF /2 with one to five bytes of operand): a frame
    /// pointer that is used for something else seldom leads to one.
    fn is_behind_call(&self, address: u64) -> bool {
        const LONGEST: usize = 7;
        let mut bytes = [0; LONGEST];
        if !self.read(address.wrapping_sub(LONGEST as u64), &mut bytes) {
            return false;
        }
        let indirect = |at: usize| bytes[at] == 0xFF && bytes[at + 1] >> 3 & 7 == 2;
        bytes[LONGEST - 5] == 0xE8 || (0..LONGEST - 1).any(indirect)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
