//! HLT: sleeping until the guest has something to do.

use super::KvmEngine;
use super::board::Board;
use super::error::KvmError;
use super::kick::{Bound, monotonic_ns};
use crate::counts::Slice;
use crate::machine::Outcome;
use crate::machine::stop::LOOK_NS;
use platform::time::GuestTime;

/// How often a halted guest's console is looked at, in nanoseconds: sooner than anybody types the next key.
const TYPING_NS: u64 = 10_000_000;

impl KvmEngine {
    /// Returns when the guest can go on, or when the board has an outcome.
    ///
    /// Counters stand still while the guest is halted, so a PMI can only be one that is already on
    /// its way. What is left is the APIC timer, and that needs interrupts to be on.
    pub(super) fn halt<B: Board>(&self, board: &mut B, bound: &mut Bound, end: u64) -> Result<(), KvmError> {
        let interrupts_on = self.vcpu.run_page().if_flag != 0;
        bound.take_kick();
        board.poll_pmu();
        loop {
            let now = monotonic_ns();
            board.advance(GuestTime(now.saturating_sub(self.origin)), Slice::default());
            board.poll_input();
            let pending = board.pending();
            if pending.nmi || (interrupts_on && pending.vector.is_some()) || board.outcome().is_some() {
                return Ok(());
            }
            if interrupts_on && board.idle_input() {
                continue;
            }
            let live = interrupts_on && board.has_live_input();
            let wake = board.deadlines().timer.filter(|_| interrupts_on);
            let wake = wake.map(|wake| self.origin.saturating_add(wake.0));
            if wake.is_none() && !live {
                board.stop(Outcome::Halted);
                return Ok(());
            }
            if now >= end {
                board.stop(Outcome::TimedOut);
                return Ok(());
            }
            let look = if live { TYPING_NS } else { LOOK_NS };
            bound.sleep(end.min(wake.unwrap_or(u64::MAX)).min(now.saturating_add(look)));
            if bound.take_kick() {
                board.poll_pmu();
            }
        }
    }
}
