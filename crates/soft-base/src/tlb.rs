//! The software TLB: direct-mapped, RAM only, one part per view. A view is what decides, besides the page tables,
//! whether an access is allowed and where it goes: the privilege level, for instance.

use crate::{Low, OFFSET};

/// Entries of a view; a linear address belongs to the one that its page number says, modulo this.
pub const ENTRIES: usize = 1024;
/// No page-aligned address has this value, and none with the lowest bits of an address in it, by which a CPU may see
/// whether an operand is aligned.
const NONE: u64 = 1 << 11;

/// A translation. Compiled code reads it too, so its layout is fixed.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Entry {
    /// Linear page address for which reads are allowed, or one that no address has.
    pub read: u64,
    /// The same for writes. Never set for pages with decoded code.
    pub write: u64,
    /// What to add to a linear address in the page to get its position in the embedder's RAM.
    pub addend: u64,
    /// Guest physical address of the page; in the low bits log2 of the size of the page that it was found in.
    gpa: u64,
}

const EMPTY: Entry = Entry { read: NONE, write: NONE, addend: 0, gpa: 0 };

type View = Box<[Entry; ENTRIES]>;

/// Where an operand is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Linear address.
    pub linear: u64,
    /// Physical address.
    pub physical: u64,
    /// Log2 of the size of its page.
    pub page: u8,
}

impl Place {
    /// So many bytes behind it, in the same page.
    #[must_use]
    pub fn behind(self, bytes: u64) -> Self {
        let Self { linear, physical, page } = self;
        Self { linear: linear.wrapping_add(bytes), physical: physical + bytes, page }
    }
}

/// What an observer is to know of translations that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    /// The page of this linear address.
    Page(u64),
    /// All of them.
    All,
}

/// The TLB; the number of views is a power of two.
#[derive(Debug)]
pub struct Tlb<const VIEWS: usize> {
    views: [View; VIEWS],
    /// Views that are not empty.
    used: [bool; VIEWS],
    /// Pages that are larger than those of the TLB and have entries, as their first address and log2 of their size.
    large: Vec<(u64, u8)>,
    /// For an observer, which resets it.
    pub flushed: Option<Flushed>,
}

/// Most large pages that are told apart. With more of them all entries are looked at when one is flushed.
const LARGE: usize = 64;

impl Entry {
    /// Guest physical address of the page.
    #[inline(always)]
    #[must_use]
    pub fn gpa(&self) -> u64 {
        self.gpa & !OFFSET
    }

    /// Log2 of the size of the page that it was found in.
    #[inline(always)]
    #[must_use]
    pub fn size(&self) -> u8 {
        self.gpa.low_u8()
    }

    /// Position of the `size` bytes at `linear`, if they may be read and are all in the page.
    #[inline(always)]
    #[must_use]
    pub fn readable(&self, linear: u64, size: usize) -> Option<u64> {
        (self.read == page_of_last(linear, size)).then(|| self.addend.wrapping_add(linear))
    }

    /// What an address in the page is, for an observer: with one, a position is a physical address.
    #[inline(always)]
    #[must_use]
    pub fn place(&self, linear: u64, position: u64) -> Place {
        Place { linear, physical: position, page: self.size() }
    }

    /// The same for writes.
    #[inline(always)]
    #[must_use]
    pub fn writable(&self, linear: u64, size: usize) -> Option<u64> {
        (self.write == page_of_last(linear, size)).then(|| self.addend.wrapping_add(linear))
    }
}

/// The page of an operand's last byte. It is not that of the entry for the first byte if the operand crosses pages,
/// which so needs no check of its own.
#[inline(always)]
fn page_of_last(linear: u64, size: usize) -> u64 {
    linear.wrapping_add(size as u64 - 1) & !OFFSET
}

impl<const VIEWS: usize> Tlb<VIEWS> {
    /// Without translations.
    #[must_use]
    pub fn new() -> Self {
        const { assert!(VIEWS.is_power_of_two()) };
        Self {
            views: std::array::from_fn(|_| Box::new([EMPTY; ENTRIES])),
            used: [false; VIEWS],
            large: Vec::new(),
            flushed: None,
        }
    }

    /// The entry that may have the translation of an address.
    #[inline(always)]
    #[must_use]
    pub fn entry(&self, view: usize, linear: u64) -> &Entry {
        &self.views[view % VIEWS][(linear >> 12).low_usize() % ENTRIES]
    }

    /// All entries of a view.
    #[must_use]
    pub fn view(&self, view: usize) -> &[Entry; ENTRIES] {
        &self.views[view % VIEWS]
    }

    /// Adds a translation to RAM at a position. `size` is log2 of the size of the page in the page tables.
    pub fn fill(&mut self, view: usize, linear: u64, position: u64, gpa: u64, size: u8, write: bool) {
        let page = linear & !OFFSET;
        let entry = &mut self.views[view % VIEWS][(linear >> 12).low_usize() % ENTRIES];
        let keep_write = entry.write == page && entry.gpa() == gpa;
        let write = if write || keep_write { page } else { NONE };
        *entry = Entry { read: page, write, addend: position.wrapping_sub(page), gpa: gpa | u64::from(size) };
        self.used[view % VIEWS] = true;
        if size > 12 {
            let first = linear >> size << size;
            if self.large.len() <= LARGE && !self.large.contains(&(first, size)) {
                self.large.push((first, size));
            }
        }
    }

    /// Writes to this guest physical page take the slow path from now on.
    pub fn protect(&mut self, gpa: u64) {
        for entry in self.used_entries() {
            if entry.gpa() == gpa {
                entry.write = NONE;
            }
        }
    }

    /// Forgets all translations.
    pub fn flush(&mut self) {
        self.flushed = Some(Flushed::All);
        for view in 0..VIEWS {
            self.flush_view(view);
        }
        self.large.clear();
    }

    /// Forgets those of a view, of which an observer learns nothing.
    pub fn flush_view(&mut self, view: usize) {
        if std::mem::take(&mut self.used[view % VIEWS]) {
            self.views[view % VIEWS].fill(EMPTY);
        }
    }

    /// Forgets the translation of an address, and everything else that the same large page may have translated.
    pub fn flush_page(&mut self, linear: u64) {
        self.flushed.get_or_insert(Flushed::Page(linear));
        let unknown = self.large.len() > LARGE;
        if !unknown && self.large.iter().all(|(first, size)| (first ^ linear) >> size != 0) {
            for view in self.views.iter_mut() {
                view[(linear >> 12).low_usize() % ENTRIES] = EMPTY;
            }
            return;
        }
        for entry in self.used_entries() {
            if (entry.read ^ linear) >> entry.size().max(12) == 0 {
                *entry = EMPTY;
            }
        }
    }

    fn used_entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        let used = self.views.iter_mut().zip(&self.used).filter(|(_, used)| **used);
        used.flat_map(|(view, _)| view.iter_mut())
    }
}

impl<const VIEWS: usize> Default for Tlb<VIEWS> {
    fn default() -> Self {
        Self::new()
    }
}
