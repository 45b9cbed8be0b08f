//! Translation contexts: the values of TTBR0_EL1 and TTBR1_EL1, ASID included, that have been in use lately. Each has
//! its own parts of the TLB, so that a switch between processes, or between a process and the kernel's reserved
//! tables, drops nothing.
//!
//! Changes of the other registers that control translation drop everything.

use crate::context::{Core, SCTLR_M, SCTLR_WXN};
use crate::register::Own;
use soft_base::ByAddress;

/// Views of memory: a context at an exception level. Each is a part of the TLB.
pub(crate) mod view {
    /// Contexts that have views.
    pub(super) const CONTEXTS: usize = 8;
    /// Number of views.
    pub(crate) const COUNT: usize = 2 * CONTEXTS;

    /// The view of EL0 that belongs to a view.
    #[inline(always)]
    pub(crate) fn of_el0(view: usize) -> usize {
        view & !1
    }

    /// True for a view of EL0.
    #[inline(always)]
    pub(crate) fn is_el0(view: usize) -> bool {
        view & 1 == 0
    }
}

/// Log2 of the sizes of pages and blocks.
const SIZES: [u64; 3] = [12, 21, 30];

/// What translation depends on besides the two tables.
type Regime = [u64; 3];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Context {
    /// TTBR0_EL1 and TTBR1_EL1.
    tables: [u64; 2],
    /// What code is known by at EL0 and EL1; 0 is no tag.
    tags: [u64; 2],
}

#[derive(Debug, Default)]
pub(crate) struct Contexts {
    contexts: [Context; view::CONTEXTS],
    current: usize,
    /// The context that is given up next.
    oldest: usize,
    regime: Regime,
    last_tag: u64,
    /// Pages with code that is known by a tag: the first address and log2 of the size.
    code: ByAddress<(u64, u64), ()>,
}

impl Core {
    /// Chooses the context after a change of the exception level or of what controls translation.
    pub(crate) fn select_translations(&mut self) {
        let mut tables = [self.own(Own::Ttbr0), self.own(Own::Ttbr1)];
        let sctlr = self.own(Own::Sctlr) & (SCTLR_M | SCTLR_WXN);
        let regime = [sctlr, self.own(Own::Tcr), self.own(Own::Mair)];
        if sctlr & SCTLR_M == 0 {
            tables = [0; 2];
        }
        if regime != self.mmu.contexts.regime {
            self.mmu.contexts.regime = regime;
            self.flush_translations();
        }
        let contexts = &mut self.mmu.contexts;
        if contexts.contexts[contexts.current].tables != tables {
            let found = contexts.contexts.iter().position(|context| context.tables == tables);
            contexts.current = match found {
                Some(found) => found,
                None => {
                    let given_up = contexts.oldest;
                    contexts.oldest = (given_up + 1) % view::CONTEXTS;
                    contexts.contexts[given_up] = Context { tables, tags: [0; 2] };
                    self.mmu.tlb.flush_view(2 * given_up);
                    self.mmu.tlb.flush_view(2 * given_up + 1);
                    given_up
                }
            };
        }
        self.select_view();
    }

    fn select_view(&mut self) {
        let contexts = &mut self.mmu.contexts;
        let el = usize::from(self.el);
        self.view = 2 * contexts.current + el;
        let tag = &mut contexts.contexts[contexts.current].tags[el];
        if *tag == 0 {
            contexts.last_tag += 1;
            *tag = contexts.last_tag;
        }
        self.code_tag = *tag;
    }

    /// Code at this address, in a page of so many bytes as log2, is known by the current tag.
    pub(crate) fn note_code(&mut self, va: u64, size: u8) {
        self.mmu.contexts.code.insert((va >> size, u64::from(size)), ());
    }

    /// Code may be elsewhere from now on.
    pub(crate) fn forget_code_addresses(&mut self) {
        self.mmu.contexts.code.clear();
        self.mmu.contexts.contexts.iter_mut().for_each(|context| context.tags = [0; 2]);
        self.select_view();
    }

    /// Forgets all translations.
    pub(crate) fn flush_translations(&mut self) {
        self.mmu.tlb.flush();
        self.forget_code_addresses();
    }

    /// Forgets the translation of an address in all contexts, and of the large page that it was in.
    pub(crate) fn flush_address(&mut self, va: u64) {
        self.mmu.tlb.flush_page(va);
        let code = &self.mmu.contexts.code;
        if SIZES.iter().any(|size| code.contains_key(&(va >> size, *size))) {
            self.forget_code_addresses();
        }
    }
}
