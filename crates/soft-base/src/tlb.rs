//! The software TLB: direct-mapped, RAM only, one part per view. A view is what decides, besides the page tables,
//! whether an access is allowed and where it goes: the privilege level, for instance. A view grows while its entries
//! take each other's places, and shrinks again where it is forgotten with few of them in use.

#[cfg(test)]
mod tests;

use crate::by_address::ByAddress;
use crate::{Low, OFFSET};

/// Entries of a view at least, and at most: pages of 64 MiB. A linear address belongs to the entry that its page
/// number says, modulo how many there are.
const FEWEST: usize = 1 << 10;
/// Entries of a view at most.
const MOST: usize = 1 << 14;
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

/// The entries of a view; their number is a power of two.
#[derive(Debug)]
struct View {
    entries: Vec<Entry>,
    /// Translations added since all were forgotten last.
    filled: usize,
    /// Those of them that took the place of another page's since the view has had its size.
    displaced: usize,
}

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
    large: Large,
    /// For an observer, which resets it.
    pub flushed: Option<Flushed>,
}

/// Pages that are larger than those of the TLB and have entries.
#[derive(Debug, Default)]
struct Large {
    /// Their first addresses with log2 of their size in the low bits.
    pages: ByAddress<u64, ()>,
    /// The sizes among them, as bits.
    sizes: u64,
}

/// Most large pages that are told apart. With more of them all entries are looked at when one is flushed.
const LARGE: usize = 1024;

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

impl View {
    fn new() -> Self {
        Self { entries: vec![EMPTY; FEWEST], filled: 0, displaced: 0 }
    }

    #[inline(always)]
    fn entry(&self, linear: u64) -> &Entry {
        // There are some, so that this is in range.
        &self.entries[(linear >> 12).low_usize() & (self.entries.len() - 1)]
    }

    #[inline(always)]
    fn entry_mut(&mut self, linear: u64) -> &mut Entry {
        let last = self.entries.len() - 1;
        &mut self.entries[(linear >> 12).low_usize() & last]
    }

    /// Notes that the entry of a page is to have another translation.
    fn note_fill(&mut self, page: u64) {
        self.filled += 1;
        let old = self.entry(page).read;
        if old == page || old == NONE {
            return;
        }
        self.displaced += 1;
        // Half as many walks as there are entries pay for moving these.
        if self.displaced > self.entries.len() / 2 && self.entries.len() < MOST {
            self.resize(self.entries.len() * 4);
        }
    }

    fn resize(&mut self, entries: usize) {
        let old = std::mem::replace(&mut self.entries, vec![EMPTY; entries.clamp(FEWEST, MOST)]);
        for entry in old.into_iter().filter(|entry| entry.read != NONE) {
            *self.entry_mut(entry.read) = entry;
        }
        self.displaced = 0;
    }

    fn forget(&mut self) {
        let filled = std::mem::take(&mut self.filled);
        if filled == 0 {
            return;
        }
        self.displaced = 0;
        if filled < self.entries.len() / 8 {
            self.entries.truncate((self.entries.len() / 4).max(FEWEST));
        }
        self.entries.fill(EMPTY);
    }
}

impl Large {
    fn note(&mut self, linear: u64, size: u8) {
        if size > 12 && self.pages.len() <= LARGE {
            self.pages.insert(linear >> size << size | u64::from(size), ());
            self.sizes |= 1 << size;
        }
    }

    /// True if a large page may be known that has this address.
    fn may_have(&self, linear: u64) -> bool {
        let mut sizes = self.sizes;
        while sizes != 0 {
            let size = sizes.trailing_zeros();
            if self.pages.contains_key(&(linear >> size << size | u64::from(size))) {
                return true;
            }
            sizes &= sizes - 1;
        }
        self.pages.len() > LARGE
    }

    fn clear(&mut self) {
        self.pages.clear();
        self.sizes = 0;
    }
}

impl<const VIEWS: usize> Tlb<VIEWS> {
    /// Without translations.
    #[must_use]
    pub fn new() -> Self {
        const { assert!(VIEWS.is_power_of_two() && FEWEST.is_power_of_two() && MOST.is_power_of_two()) };
        Self { views: std::array::from_fn(|_| View::new()), large: Large::default(), flushed: None }
    }

    /// The entry that may have the translation of an address.
    #[inline(always)]
    #[must_use]
    pub fn entry(&self, view: usize, linear: u64) -> &Entry {
        self.views[view % VIEWS].entry(linear)
    }

    /// All entries of a view: a power of two.
    #[must_use]
    pub fn view(&self, view: usize) -> &[Entry] {
        &self.views[view % VIEWS].entries
    }

    /// Adds a translation to RAM at a position. `size` is log2 of the size of the page in the page tables.
    pub fn fill(&mut self, view: usize, linear: u64, position: u64, gpa: u64, size: u8, write: bool) {
        let page = linear & !OFFSET;
        let view = &mut self.views[view % VIEWS];
        view.note_fill(page);
        let entry = view.entry_mut(linear);
        let keep_write = entry.write == page && entry.gpa() == gpa;
        let write = if write || keep_write { page } else { NONE };
        *entry = Entry { read: page, write, addend: position.wrapping_sub(page), gpa: gpa | u64::from(size) };
        self.large.note(linear, size);
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
        self.views.iter_mut().for_each(View::forget);
        self.large.clear();
    }

    /// Forgets those of a view, of which an observer learns nothing.
    pub fn flush_view(&mut self, view: usize) {
        self.views[view % VIEWS].forget();
    }

    /// Forgets the translation of an address, and everything else that the same large page may have translated.
    pub fn flush_page(&mut self, linear: u64) {
        self.flushed.get_or_insert(Flushed::Page(linear));
        if !self.large.may_have(linear) {
            for view in &mut self.views {
                *view.entry_mut(linear) = EMPTY;
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
        let used = self.views.iter_mut().filter(|view| view.filled > 0);
        used.flat_map(|view| view.entries.iter_mut())
    }
}

impl<const VIEWS: usize> Default for Tlb<VIEWS> {
    fn default() -> Self {
        Self::new()
    }
}
