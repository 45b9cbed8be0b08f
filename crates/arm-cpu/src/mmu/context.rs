//! Translation contexts: the values of TTBR0_EL1 and TTBR1_EL1, ASID included, that have been in use lately. Each has
//! its own parts of the TLB, so that a switch between processes, or between a process and the kernel's reserved
//! tables, drops nothing.
//!
//! Global translations are found again in each context, which the architecture does not mind: what is not in a TLB is
//! what the tables say. Changes of the other registers that control translation drop everything.

use super::Mmu;
use super::maintenance::Invalidation;
use super::regime::Regime;
use soft_base::{ByAddress, Flushed};

/// Views of memory: a context at an exception level. Each is a part of the TLB.
pub(crate) mod view {
    /// Contexts that have views.
    pub(super) const CONTEXTS: usize = 8;
    /// Number of views.
    pub(crate) const COUNT: usize = 2 * CONTEXTS;

    /// The view of EL0 or EL1 that belongs to a context.
    pub(super) fn of(context: usize, el0: bool) -> usize {
        2 * context + usize::from(!el0)
    }

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
const SIZES: [u8; 3] = [12, 21, 30];

#[derive(Debug, Clone, Copy, Default)]
struct Context {
    /// TTBR0_EL1 and TTBR1_EL1.
    tables: [u64; 2],
    /// The ASID that they have.
    asid: u64,
    /// What code is known by at EL0 and EL1; 0 is no tag.
    tags: [u64; 2],
    /// The larger, the later it was in use.
    used: u64,
}

/// What the CPU needs to know of the current context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Selected {
    /// The view of its exception level.
    pub(crate) view: usize,
    /// What code is known by: found by its virtual address under this tag, it is what would be executed.
    pub(crate) code_tag: u64,
}

/// What the views of the TLB stand for.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    regime: Regime,
    all: [Context; view::CONTEXTS],
    current: usize,
    last_used: u64,
    last_tag: u64,
    /// Pages with code that is known by a tag: their number and log2 of their size.
    code: ByAddress<(u64, u8), ()>,
}

impl Mmu {
    /// The registers that translation depends on.
    #[inline(always)]
    pub(crate) fn regime(&self) -> &Regime {
        &self.contexts.regime
    }

    /// Chooses the context after a change of the exception level or of a register.
    pub(crate) fn select(&mut self, regime: &Regime, el0: bool) -> Selected {
        if self.contexts.regime != *regime {
            let kept = self.contexts.regime.differs_in_tables_only(regime);
            self.contexts.regime = *regime;
            if kept {
                self.switch();
            } else {
                self.forget_all();
            }
        }
        let contexts = &mut self.contexts;
        let tag = &mut contexts.all[contexts.current].tags[usize::from(!el0)];
        if *tag == 0 {
            contexts.last_tag += 1;
            *tag = contexts.last_tag;
        }
        Selected { view: view::of(contexts.current, el0), code_tag: *tag }
    }

    /// To the context of the tables, which takes the place of the one that was not in use for longest if it is new.
    fn switch(&mut self) {
        let contexts = &mut self.contexts;
        let tables = contexts.regime.tables;
        let known = contexts.all.iter().position(|context| context.tables == tables);
        let place =
            known.or_else(|| (0..view::CONTEXTS).min_by_key(|place| contexts.all[*place].used)).unwrap_or(0);
        contexts.current = place;
        if known.is_none() {
            contexts.all[place] = Context { tables, asid: contexts.regime.asid(), ..Context::default() };
        }
        contexts.last_used += 1;
        contexts.all[place].used = contexts.last_used;
        if known.is_none() {
            self.forget_context(place);
        }
    }

    /// Forgets the translations of a context.
    fn forget_context(&mut self, place: usize) {
        self.tlb.flush_view(view::of(place, false));
        self.tlb.flush_view(view::of(place, true));
        self.contexts.all[place].tags = [0; 2];
    }

    /// Code in this page, of so many bytes as log2, is known by a tag.
    pub(crate) fn note_code(&mut self, va: u64, size: u8) {
        self.contexts.code.insert((va >> size, size), ());
    }

    /// Code may be elsewhere from now on: it is looked for again. The current context has to be selected again.
    pub(crate) fn forget_code_addresses(&mut self) {
        self.contexts.code.clear();
        self.contexts.all.iter_mut().for_each(|context| context.tags = [0; 2]);
    }

    /// Forgets all translations. The current context has to be selected again.
    pub(crate) fn forget_all(&mut self) {
        self.tlb.flush();
        self.forget_code_addresses();
        let contexts = &mut self.contexts;
        contexts.last_used += 1;
        let tables = contexts.regime.tables;
        let current =
            Context { tables, asid: contexts.regime.asid(), used: contexts.last_used, ..Context::default() };
        contexts.all = [Context::default(); view::CONTEXTS];
        contexts.all[0] = current;
        contexts.current = 0;
    }

    /// TLBI. The current context has to be selected again.
    pub(crate) fn invalidate(&mut self, what: Invalidation) {
        match what {
            Invalidation::All => self.forget_all(),
            Invalidation::Asid(asid) => {
                self.tlb.flushed = Some(Flushed::All);
                let asid = self.contexts.regime.asid_bits(asid);
                for place in 0..view::CONTEXTS {
                    if self.contexts.all[place].asid == asid {
                        self.forget_context(place);
                    }
                }
            }
            // Whatever the ASID: a global translation goes with any.
            Invalidation::Address(va) => {
                self.tlb.flush_page(va);
                let code = &self.contexts.code;
                if SIZES.iter().any(|size| code.contains_key(&(va >> size, *size))) {
                    self.forget_code_addresses();
                }
            }
        }
    }
}
