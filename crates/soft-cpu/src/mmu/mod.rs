//! Memory: translations, accesses, and which pages hold decoded code.

mod access;
pub(crate) mod view;
mod walk;

pub(crate) use access::Target;
pub(crate) use soft_base::{Flushed, OFFSET, PAGE};
pub(crate) use walk::Intent;

use soft_base::CodePages;

type Tlb = soft_base::Tlb<{ view::COUNT }>;

/// The software TLB, and which guest pages hold decoded code.
#[derive(Debug, Default)]
pub(crate) struct Mmu {
    pub(crate) tlb: Tlb,
    pub(crate) code: CodePages,
}

impl Mmu {
    /// Notes that the bytes have been decoded.
    pub(crate) fn mark_code(&mut self, gpa: u64, len: u64) {
        if self.code.mark(gpa, len) {
            self.tlb.protect(gpa & !OFFSET);
        }
    }
}

/// Bits 63 to 47 are equal.
pub(crate) fn is_canonical(linear: u64) -> bool {
    ((linear << 16).cast_signed() >> 16).cast_unsigned() == linear
}
