//! What the CPU makes of translation: its registers choose the context, and faults become exceptions.

use super::context::view;
use super::fault::Status;
use super::maintenance::Invalidation;
use super::request::{Intent, Request};
use super::walk::{self, Translation};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Class, Exception, Fault};

impl Core {
    /// Chooses the context after a change of the exception level or of a register that controls translation.
    pub(crate) fn select_translations(&mut self) {
        let regime = self.system.regime(self.identification.mmfr0);
        let selected = self.mmu.select(&regime, self.el == 0);
        self.view = selected.view;
        self.code_tag = selected.code_tag;
    }

    /// Code may be elsewhere from now on: it is looked for again.
    pub(crate) fn forget_code_addresses(&mut self) {
        self.mmu.forget_code_addresses();
        self.select_translations();
    }

    /// Forgets all translations.
    pub(crate) fn flush_translations(&mut self) {
        self.invalidate(Invalidation::All);
    }

    /// TLBI.
    pub(crate) fn invalidate(&mut self, what: Invalidation) {
        self.mmu.invalidate(what);
        self.select_translations();
    }

    /// Translates for an access in a view, and remembers RAM.
    pub(crate) fn translate<B: Bus>(
        &mut self,
        bus: &mut B,
        va: u64,
        intent: Intent,
        view: usize,
        aligned: bool,
    ) -> Result<Translation, Fault> {
        let untagged = self.mmu.regime().untagged(va);
        let request = Request { intent, el0: view::is_el0(view), aligned };
        let keep = !self.watches_page(untagged);
        match self.mmu.translate(bus, untagged, request, view, keep) {
            Ok(translation) => {
                self.watch.page = translation.size;
                Ok(translation)
            }
            Err(status) => Err(self.abort(va, status, intent)),
        }
    }

    /// Translates with the rights of the current level, and nothing else happens.
    pub(crate) fn look_up<B: Bus>(
        &self,
        bus: &mut B,
        va: u64,
        intent: Intent,
    ) -> Result<Translation, Status> {
        let regime = self.mmu.regime();
        walk::translate(
            regime,
            bus,
            regime.untagged(va),
            Request { intent, el0: self.el == 0, aligned: true },
        )
    }

    /// An instruction or data abort at a virtual address.
    #[cold]
    pub(crate) fn abort(&mut self, va: u64, status: Status, intent: Intent) -> Fault {
        let class = if intent == Intent::Fetch { Class::InstructionAbort } else { Class::DataAbort };
        let iss = status.syndrome(intent);
        self.raise(Exception { class, iss, address: Some(va), behind: false })
    }
}
