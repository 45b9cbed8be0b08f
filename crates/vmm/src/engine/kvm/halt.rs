//! HLT: sleeping until the guest has something to do.

use super::KvmEngine;
use super::error::KvmError;
use super::kick::{Bound, monotonic_ns};
use crate::counts::Slice;
use crate::machine::stop::LOOK_NS;
use crate::machine::x86::Pc;
use crate::machine::{Board as _, Machine, Outcome};
use platform::time::GuestTime;

/// How often a halted guest's console is looked at, in nanoseconds: sooner than a user types the next key.
const TYPING_NS: u64 = 10_000_000;

impl KvmEngine {
    /// Returns when the guest can go on, or when the machine has an outcome.
    ///
    /// Counters stand still while the guest is halted, so a PMI can only be one that is already on
    /// its way. What is left is the APIC timer, and that needs interrupts to be on.
    pub(super) fn halt(
        &self,
        machine: &mut Machine<Pc>,
        bound: &mut Bound,
        end: u64,
    ) -> Result<(), KvmError> {
        let interrupts_on = self.vcpu.run_page().if_flag != 0;
        bound.take_kick();
        machine.poll_pmu();
        loop {
            let now = monotonic_ns();
            machine.advance(GuestTime(now.saturating_sub(self.origin)), Slice::default());
            machine.poll_input();
            let pending = machine.board.apic.pending();
            if pending.nmi || (interrupts_on && pending.vector.is_some()) || machine.outcome().is_some() {
                return Ok(());
            }
            if interrupts_on && machine.idle_input() {
                continue;
            }
            let live = interrupts_on && machine.board.console().is_live();
            let wake = machine.board.apic.next_deadline().filter(|_| interrupts_on);
            let wake = wake.map(|wake| self.origin.saturating_add(wake.0));
            if wake.is_none() && !live {
                machine.stop(Outcome::Halted);
                return Ok(());
            }
            if now >= end {
                machine.stop(Outcome::TimedOut);
                return Ok(());
            }
            let look = if live { TYPING_NS } else { LOOK_NS };
            bound.sleep(end.min(wake.unwrap_or(u64::MAX)).min(now.saturating_add(look)));
            if bound.take_kick() {
                machine.poll_pmu();
            }
        }
    }
}
