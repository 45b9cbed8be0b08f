//! Memory: translations, accesses, and which pages hold decoded code.

mod access;
mod tlb;
pub(crate) mod view;
mod walk;

use crate::by_address::ByAddress;
pub(crate) use access::Target;
pub(crate) use tlb::{Flushed, Tlb};
pub(crate) use walk::Intent;

pub(crate) const PAGE: u64 = 4096;
const OFFSET: u64 = PAGE - 1;

/// The software TLB, and which guest pages hold decoded code.
#[derive(Debug)]
pub(crate) struct Mmu {
    pub(crate) tlb: Tlb,
    /// Guest physical page address to its 64-byte chunks that hold code, one bit each.
    code: ByAddress<u64, u64>,
    /// Pages whose decoded code was written to.
    pub(crate) stale: Vec<u64>,
}

impl Mmu {
    pub(crate) fn new() -> Self {
        Self { tlb: Tlb::new(), code: ByAddress::default(), stale: Vec::new() }
    }

    /// Notes that the bytes have been decoded.
    pub(crate) fn mark_code(&mut self, gpa: u64, len: u64) {
        let page = gpa & !OFFSET;
        let mut known = true;
        let chunks = self.code.entry(page).or_insert_with(|| {
            known = false;
            0
        });
        *chunks |= chunk_mask(gpa, len);
        if !known {
            self.tlb.protect(page);
        }
    }

    pub(crate) fn forget_code(&mut self, page: u64) {
        self.code.remove(&page);
    }

    pub(crate) fn forget_all_code(&mut self) {
        self.code.clear();
    }

    pub(crate) fn is_code(&self, page: u64) -> bool {
        self.code.contains_key(&page)
    }

    /// A write to physical memory; true if it hit decoded code.
    pub(crate) fn note_write(&mut self, gpa: u64, len: u64) -> bool {
        let page = gpa & !OFFSET;
        match self.code.get(&page) {
            Some(chunks) if chunks & chunk_mask(gpa, len) != 0 => {
                self.stale.push(page);
                true
            }
            _ => false,
        }
    }
}

/// Bits of the chunks that `len` bytes at `gpa` touch; the bytes stay in one page.
fn chunk_mask(gpa: u64, len: u64) -> u64 {
    let first = (gpa & OFFSET) / 64;
    let last = ((gpa & OFFSET) + len.max(1) - 1).min(OFFSET) / 64;
    (u64::MAX >> (63 - (last - first))) << first
}

/// Bits 63 to 47 are equal.
pub(crate) fn is_canonical(linear: u64) -> bool {
    ((linear << 16).cast_signed() >> 16).cast_unsigned() == linear
}
