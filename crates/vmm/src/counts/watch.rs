//! Overflows that a source must not run past, how fast they can come, and what CMASK and INV make of steady events:
//! the same for every source.

use vpmu::event::EventCode;
use vpmu::source::PrivilegeFilter;
use vpmu::{Active, CounterId};

/// Most floating-point operations of one instruction: of a multiplication with addition of 16 singles.
pub(super) const FLOPS_PER_INSTRUCTION: u64 = 32;

/// How fast a quantity can grow at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rate {
    /// By so much in a core cycle.
    Cycle(u64),
    /// By so much in an instruction.
    Instruction(u64),
    /// There is no bound.
    Unbounded,
}

/// A counter whose overflow requests a PMI, with what it counts in a source's own terms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch<Q> {
    pub(super) quantity: Q,
    pub(super) filter: PrivilegeFilter,
    /// The total at which it overflows.
    target: u64,
}

impl<Q> Watch<Q> {
    /// Watches a counter from a total on.
    pub(super) fn new(counter: &Active, quantity: Q, total: u64) -> Self {
        Self { quantity, filter: counter.filter, target: total.saturating_add(counter.until_overflow) }
    }

    /// What is left until the overflow at a later total.
    pub(super) fn left(&self, total: u64) -> u64 {
        self.target.saturating_sub(total)
    }
}

/// What a counter counts: a field of PERF_METRICS, or what its event select asks for.
pub(super) fn counted<Q>(
    counter: &Active,
    field: impl FnOnce(u8) -> Option<Q>,
    request: impl FnOnce() -> Option<Q>,
) -> Option<Q> {
    match counter.counter {
        CounterId::Metric(index) => field(index),
        CounterId::Gp(_) | CounterId::Fixed(_) | CounterId::Ibs(_) => request(),
    }
}

/// Whether CMASK and INV of a code select every cycle or none, of an event that happens at least and at most so
/// often in each; `None` if some cycles only. CMASK 0 is taken as 1.
pub(super) fn every_cycle(code: EventCode, (least, most): (u64, u64)) -> Option<bool> {
    let threshold = u64::from(code.cmask.max(1));
    if threshold <= least {
        Some(!code.inv)
    } else if threshold > most {
        Some(code.inv)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_selects_all_cycles_or_none_where_that_is_certain() {
        let of = |cmask, inv| every_cycle(EventCode { cmask, inv, ..EventCode::default() }, (2, 4));
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|cmask| of(cmask, false)),
            [Some(true), Some(true), Some(true), None, None, Some(false)]
        );
        assert_eq!([2, 3, 5].map(|cmask| of(cmask, true)), [Some(false), None, Some(true)]);
    }
}
