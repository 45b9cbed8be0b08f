//! Which pages hold decoded code.

use crate::{ByAddress, OFFSET};

/// Which guest pages hold decoded code, so that writes to it are noticed. The TLB must not let writes to these pages
/// through.
#[derive(Debug, Default)]
pub struct CodePages {
    /// Guest physical page address to its 64-byte chunks that hold code, one bit each.
    chunks: ByAddress<u64, u64>,
    /// Pages whose decoded code was written to.
    stale: Vec<u64>,
}

impl CodePages {
    /// Notes that bytes of a page have been decoded. True if none of that page were before: writes to it have to be
    /// caught from now on.
    #[must_use]
    pub fn mark(&mut self, gpa: u64, len: u64) -> bool {
        let mut known = true;
        let chunks = self.chunks.entry(gpa & !OFFSET).or_insert_with(|| {
            known = false;
            0
        });
        *chunks |= chunk_mask(gpa, len);
        !known
    }

    /// Nothing of this page is decoded any more.
    pub fn forget(&mut self, page: u64) {
        self.chunks.remove(&page);
    }

    /// Nothing at all is.
    pub fn forget_all(&mut self) {
        self.chunks.clear();
    }

    /// True if something of this page is decoded.
    #[must_use]
    pub fn contains(&self, page: u64) -> bool {
        self.chunks.contains_key(&page)
    }

    /// A write to physical memory within a page; true if it hit decoded code, which is stale from now on.
    pub fn note_write(&mut self, gpa: u64, len: u64) -> bool {
        let page = gpa & !OFFSET;
        match self.chunks.get(&page) {
            Some(chunks) if chunks & chunk_mask(gpa, len) != 0 => {
                self.stale.push(page);
                true
            }
            _ => false,
        }
    }

    /// A page whose decoded code was written to; each write is told once.
    #[inline]
    pub fn take_stale(&mut self) -> Option<u64> {
        self.stale.pop()
    }
}

/// Bits of the chunks that `len` bytes at `gpa` touch; the bytes stay in one page.
fn chunk_mask(gpa: u64, len: u64) -> u64 {
    let first = (gpa & OFFSET) / 64;
    let last = ((gpa & OFFSET) + len.max(1) - 1).min(OFFSET) / 64;
    (u64::MAX >> (63 - (last - first))) << first
}
