//! The software TLB: direct-mapped, one half per user/supervisor, RAM only.

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
    /// Guest physical address of the page.
    pub(crate) gpa: u64,
}

const EMPTY: Entry = Entry { read: NONE, write: NONE, addend: 0, gpa: 0 };

#[derive(Debug)]
pub(crate) struct Tlb {
    halves: [Box<[Entry; ENTRIES]>; 2],
    used: bool,
}

impl Entry {
    /// Position of the `size` bytes at `linear`, if they may be read and are all in the page.
    #[inline(always)]
    pub(crate) fn readable(&self, linear: u64, size: usize) -> Option<u64> {
        (self.read == page_of_last(linear, size)).then(|| self.addend.wrapping_add(linear))
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
        Self { halves: [Box::new([EMPTY; ENTRIES]), Box::new([EMPTY; ENTRIES])], used: false }
    }

    #[inline(always)]
    pub(crate) fn entry(&self, user: usize, linear: u64) -> &Entry {
        &self.halves[user & 1][(linear >> 12) as usize % ENTRIES]
    }

    pub(crate) fn fill(&mut self, user: usize, linear: u64, position: u64, gpa: u64, write: bool) {
        let page = linear & !0xFFF;
        let entry = &mut self.halves[user & 1][(linear >> 12) as usize % ENTRIES];
        let keep_write = entry.write == page && entry.gpa == gpa;
        let write = if write || keep_write { page } else { NONE };
        *entry = Entry { read: page, write, addend: position.wrapping_sub(page), gpa };
        self.used = true;
    }

    /// Writes to this guest physical page take the slow path from now on.
    pub(crate) fn protect(&mut self, gpa: u64) {
        for entry in self.halves.iter_mut().flat_map(|half| half.iter_mut()) {
            if entry.gpa == gpa {
                entry.write = NONE;
            }
        }
    }

    pub(crate) fn flush(&mut self) {
        if self.used {
            self.halves.iter_mut().for_each(|half| half.fill(EMPTY));
            self.used = false;
        }
    }

    pub(crate) fn flush_page(&mut self, linear: u64) {
        for half in &mut self.halves {
            half[(linear >> 12) as usize % ENTRIES] = EMPTY;
        }
    }
}
