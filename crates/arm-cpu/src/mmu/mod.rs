//! Memory: translations, accesses, and which pages hold decoded code.

mod access;
mod context;
pub(crate) mod fault;
mod maintenance;
mod walk;

pub(crate) use context::view;
pub(crate) use soft_base::{OFFSET, PAGE};
pub(crate) use walk::Intent;

use context::Contexts;
use soft_base::{CodePages, Tlb};

/// The software TLB, and which pages hold decoded code.
#[derive(Debug, Default)]
pub(crate) struct Mmu {
    pub(crate) tlb: Tlb<{ view::COUNT }>,
    pub(crate) code: CodePages,
    pub(crate) contexts: Contexts,
}

impl Mmu {
    /// Notes that bytes have been decoded.
    pub(crate) fn mark_code(&mut self, address: u64, len: u64) {
        if self.code.mark(address, len) {
            self.tlb.protect(address & !OFFSET);
        }
    }
}
