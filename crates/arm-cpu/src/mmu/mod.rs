//! Memory: translations, accesses, and which pages hold decoded code.

mod access;
mod context;
mod control;
mod fault;
mod maintenance;
mod probe;
mod regime;
mod request;
mod walk;

pub(crate) use context::view;
pub(crate) use fault::Status;
pub(crate) use maintenance::Invalidation;
pub(crate) use probe::probe;
pub(crate) use regime::Regime;
pub(crate) use request::{Intent, Request};
pub(crate) use soft_base::{OFFSET, PAGE};
pub(crate) use walk::{Translation, locate, translate};

use context::Contexts;
use soft_base::{CodePages, Ram, Tlb};

/// The software TLB, and which pages hold decoded code.
#[derive(Debug, Default)]
pub(crate) struct Mmu {
    pub(crate) tlb: Tlb<{ view::COUNT }>,
    pub(crate) code: CodePages,
    contexts: Contexts,
}

impl Mmu {
    /// Translates an untagged address for an access in a view of the current context. Data in RAM to which accesses of
    /// any alignment may go is remembered, if `keep` is set.
    ///
    /// # Errors
    /// As [`translate`].
    pub(crate) fn translate<R: Ram>(
        &mut self,
        ram: &mut R,
        va: u64,
        request: Request,
        view: usize,
        keep: bool,
    ) -> Result<Translation, Status> {
        let regime = self.regime();
        let translation = translate(regime, ram, va, request)?;
        let page = translation.address & !OFFSET;
        // While the MMU is off all data has to be aligned: the fast path is for aligned accesses only.
        let aligned_only = translation.is_device() && regime.is_on();
        if keep
            && !aligned_only
            && matches!(request.intent, Intent::Read | Intent::Write)
            && let Some(position) = ram.ram_page(page)
        {
            let write = translation.writable && !self.code.contains(page);
            self.tlb.fill(view, va, position, page, translation.size, write);
        }
        Ok(translation)
    }

    /// Notes that bytes have been decoded.
    pub(crate) fn mark_code(&mut self, address: u64, len: u64) {
        if self.code.mark(address, len) {
            self.tlb.protect(address & !OFFSET);
        }
    }
}

#[cfg(test)]
mod tests;
