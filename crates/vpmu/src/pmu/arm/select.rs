//! What a counter counts: common events, what the PMU itself counts, and the codes of Falkor's matrix.

use super::Arm;
use crate::event::{EventCode, MatrixEvent};
use crate::register::arm::{Pmevtyper, Pmresr};
use crate::source::{CountsSource, EventRequest, Provenance};

impl Arm {
    /// Sets what an event counter counts, from its type register and, where that selects from it, the matrix.
    pub(super) fn reprogram(&mut self, n: u32) {
        let selector = self.bank.nth::<Pmevtyper>(n).event_number();
        let request = match MatrixEvent::place_of(selector) {
            None => self.request(EventCode::new(selector, 0), n),
            Some((region, group)) => {
                let codes = self.bank.nth::<Pmresr>(region.into());
                let event = MatrixEvent { region, code: codes.code(group), group };
                match codes.enable() && self.arm.matrix {
                    true => self.request(event.code(), n),
                    // Counts nothing, whatever the code.
                    false => EventRequest { code: EventCode::new(selector, 0), ..EventRequest::default() },
                }
            }
        };
        self.ledger.reprogram(&mut self.events[n as usize], request);
    }

    pub(super) fn reprogram_all(&mut self) {
        (0..self.counters()).for_each(|n| self.reprogram(n));
    }

    fn request(&self, code: EventCode, n: u32) -> EventRequest {
        EventRequest::resolved(code, &self.profile.events.resolve(code), n)
    }

    /// PMCEID0_EL0 and PMCEID1_EL0: of the 32 common events from `first` on those that can be counted.
    pub(super) fn common_events(&self, first: u16, source: &dyn CountsSource) -> u64 {
        let can_be_counted = |number: u16| {
            let request = self.request(EventCode::new(number, 0), 0);
            request.event.is_some() && request.provenance(source) != Provenance::Unknown
        };
        (0..32).filter(|&n| can_be_counted(first + n)).fold(0, |bits, n| bits | 1 << n)
    }
}
