//! The software TLB: direct-mapped, one part per [view](super::view), RAM only.

use super::view;
use crate::low::Low;
use crate::observe::Place;

const ENTRIES: usize = 1024;
/// No page-aligned address has this value.
const NONE: u64 = 1;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Linear page address for which reads are allowed, or [`NONE`].
    pub(crate) read: u64,
    /// The same for writes. Never set for pages with decoded code.
    pub(crate) write: u64,
    /// What to add to a linear address in the page to get its position in the embedder's RAM.
    pub(crate) addend: u64,
    /// Guest physical address of the page; in the low bits log2 of the size of the page that it was found in.
    gpa: u64,
}

const EMPTY: Entry = Entry { read: NONE, write: NONE, addend: 0, gpa: 0 };

type Views = [Box<[Entry; ENTRIES]>; view::COUNT];

/// What an observer is to know of translations that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// The page of this linear address.
    Page(u64),
    All,
}

#[derive(Debug)]
pub(crate) struct Tlb {
    views: Views,
    /// Views that are not empty.
    used: [bool; view::COUNT],
    /// Some pages were parts of large pages.
    large: bool,
    pub(crate) flushed: Option<Flushed>,
}

impl Entry {
    /// Guest physical address of the page.
    #[inline(always)]
    pub(crate) fn gpa(&self) -> u64 {
        self.gpa & !0xFFF
    }

    /// Log2 of the size of the page that it was found in.
    #[inline(always)]
    pub(crate) fn size(&self) -> u8 {
        self.gpa.low_u8()
    }

    /// Position of the `size` bytes at `linear`, if they may be read and are all in the page.
    #[inline(always)]
    pub(crate) fn readable(&self, linear: u64, size: usize) -> Option<u64> {
        (self.read == page_of_last(linear, size)).then(|| self.addend.wrapping_add(linear))
    }

    /// What an address in the page is, for an observer: with one, a position is a physical address.
    #[inline(always)]
    pub(crate) fn place(&self, linear: u64, position: u64) -> Place {
        Place { linear, physical: position, page: self.size() }
    }

    /// The same for writes.
    #[inline(always)]
    pub(crate) fn writable(&self, linear: u64, size: usize) -> Option<u64> {
        (self.write == page_of_last(linear, size)).then(|| self.addend.wrapping_add(linear))
    }
}

/// The page of an operand's last byte. It is not that of the entry for the first byte if the operand crosses pages,
/// which so needs no check of its own.
#[inline(always)]
fn page_of_last(linear: u64, size: usize) -> u64 {
    linear.wrapping_add(size as u64 - 1) & !0xFFF
}

impl Tlb {
    pub(crate) fn new() -> Self {
        Self {
            views: std::array::from_fn(|_| Box::new([EMPTY; ENTRIES])),
            used: [false; view::COUNT],
            large: false,
            flushed: None,
        }
    }

    #[inline(always)]
    pub(crate) fn entry(&self, view: usize, linear: u64) -> &Entry {
        &self.views[view & 3][(linear >> 12) as usize % ENTRIES]
    }

    /// `size` is log2 of the size of the page in the page tables.
    pub(crate) fn fill(&mut self, view: usize, linear: u64, position: u64, gpa: u64, size: u8, write: bool) {
        if view == view::ALIGNED {
            return;
        }
        let page = linear & !0xFFF;
        let entry = &mut self.views[view & 3][(linear >> 12) as usize % ENTRIES];
        let keep_write = entry.write == page && entry.gpa() == gpa;
        let write = if write || keep_write { page } else { NONE };
        *entry = Entry { read: page, write, addend: position.wrapping_sub(page), gpa: gpa | u64::from(size) };
        self.used[view & 3] = true;
        self.large |= size > 12;
    }

    /// Writes to this guest physical page take the slow path from now on.
    pub(crate) fn protect(&mut self, gpa: u64) {
        for entry in self.views.iter_mut().flat_map(|view| view.iter_mut()) {
            if entry.gpa() == gpa {
                entry.write = NONE;
            }
        }
    }

    pub(crate) fn flush(&mut self) {
        self.flushed = Some(Flushed::All);
        for (view, used) in self.views.iter_mut().zip(&mut self.used) {
            if std::mem::take(used) {
                view.fill(EMPTY);
            }
        }
        self.large = false;
    }

    /// Forgets the translation of an address, and everything else that the same large page may have translated.
    pub(crate) fn flush_page(&mut self, linear: u64) {
        self.flushed.get_or_insert(Flushed::Page(linear));
        if !self.large {
            for view in self.views.iter_mut() {
                view[(linear >> 12) as usize % ENTRIES] = EMPTY;
            }
            return;
        }
        for entry in self.views.iter_mut().flat_map(|view| view.iter_mut()) {
            // Large pages have 4 MiB without PAE, which is recorded as the 2 MiB that they have with it.
            let size = if entry.size() == 21 { 22 } else { entry.size().max(12) };
            if (entry.read ^ linear) >> size == 0 {
                *entry = EMPTY;
            }
        }
    }
}
