//! Faults on command at the interface of the vPMU: see [`crate::inject`].

use super::faulty::Faulty as _;
use super::{Answer, Machine, PmiRequests, ReadOutcome, Vpmu, each};
use crate::inject::{Effect, Fate, Injected, Injector, Later, Trigger};
use crate::source::{CountsSource, Level};
use alloc::boxed::Box;
use alloc::vec::Vec;

impl Vpmu {
    /// From here on things go wrong as planned.
    pub fn inject(&mut self, mut injector: Injector) {
        injector.line = self.overflow_line();
        self.injector = Some(Box::new(injector));
    }

    /// So many instructions have retired: for faults and delays that count them. Nothing happens yet; see
    /// [`inject_due`](Self::inject_due).
    #[inline]
    pub fn set_instructions(&mut self, retired: u64) {
        if let Some(injector) = &mut self.injector {
            injector.set_now(retired);
        }
    }

    /// Instructions until a fault or a delayed interrupt is due: the embedder stops there and calls
    /// [`inject_due`](Self::inject_due).
    #[must_use]
    pub fn until_injection(&self) -> Option<u64> {
        self.injector.as_ref()?.until_due()
    }

    /// Does what is due at this instruction.
    pub fn inject_due(&mut self, source: &mut dyn CountsSource) -> PmiRequests {
        let mut requests = PmiRequests::NONE;
        let Some(mut injector) = self.injector.take() else { return requests };
        for later in injector.take_due() {
            match later {
                Later::Delayed(count) | Later::Skidded(count) => {
                    requests += self.comes(&mut injector, count);
                }
                Later::Thaw(counter) => {
                    each!(&mut self.machine, own => own.set_stuck(counter, false, source));
                }
            }
        }
        for effect in injector.occurs(Trigger::Instruction) {
            requests += self.apply(&mut injector, effect, source);
        }
        self.injector = Some(injector);
        let more = self.take_requests();
        requests += self.meddle(more, source);
        requests
    }

    /// The CPU waits for an interrupt: skid, which is about instructions in flight, is over.
    pub fn end_skid(&mut self) -> PmiRequests {
        let Some(mut injector) = self.injector.take() else { return PmiRequests::NONE };
        let requests = match injector.take_skidded() {
            0 => PmiRequests::NONE,
            count => self.comes(&mut injector, count),
        };
        self.injector = Some(injector);
        requests
    }

    /// The faults that have happened since the last call.
    pub fn take_injected(&mut self) -> Vec<Injected> {
        self.injector.as_mut().map(|injector| injector.take_log()).unwrap_or_default()
    }

    /// Reads a register as the kernel would, without being an access of the guest: no fault waits for it.
    pub fn look_at(&mut self, index: u32, source: &mut dyn CountsSource) -> Answer<ReadOutcome> {
        let injector = self.injector.take();
        let (outcome, requests) = self.read_register(Level::Kernel, index, source).into_parts();
        self.injector = injector;
        Answer::new(outcome, self.meddle(requests, source))
    }

    /// A register is about to be read. True if the value is to be stale.
    pub(super) fn before_read(&mut self, index: u32, source: &mut dyn CountsSource) -> bool {
        self.injector.is_some() && self.access(Trigger::Read(index), source)
    }

    /// The value that the guest gets.
    pub(super) fn after_read(&mut self, index: u32, outcome: ReadOutcome, stale: bool) -> ReadOutcome {
        match (&mut self.injector, outcome) {
            (Some(injector), ReadOutcome::Value(value)) => {
                ReadOutcome::Value(injector.read(index, value, stale))
            }
            _ => outcome,
        }
    }

    /// A register has been written.
    pub(super) fn after_write(&mut self, index: u32, source: &mut dyn CountsSource) {
        if self.injector.is_some() {
            self.access(Trigger::Write(index), source);
        }
    }

    /// Does what an access triggers. True if it is a read that is stale.
    #[cold]
    fn access(&mut self, trigger: Trigger, source: &mut dyn CountsSource) -> bool {
        let Some(mut injector) = self.injector.take() else { return false };
        // The line that rose without an overflow falls.
        injector.touched |= core::mem::take(&mut injector.pulse);
        let (count, nmis, line) = core::mem::take(&mut injector.held);
        let mut requests = PmiRequests { count, nmis, line };
        let mut stale = false;
        for effect in injector.occurs(trigger) {
            stale |= effect == Effect::Stale;
            requests += self.apply(&mut injector, effect, source);
        }
        injector.held = (requests.count, requests.nmis, requests.line);
        self.injector = Some(injector);
        stale
    }

    /// What becomes of the interrupts that the PMU requests.
    #[cold]
    pub(super) fn meddle(&mut self, mut requests: PmiRequests, source: &mut dyn CountsSource) -> PmiRequests {
        let Some(mut injector) = self.injector.take() else { return requests };
        let (count, nmis, line) = core::mem::take(&mut injector.held);
        let mut told = PmiRequests { count, nmis, line };
        if core::mem::take(&mut injector.touched) && !self.overflow_line() && injector.line {
            injector.line = false;
            told += PmiRequests::of_line(Some(false));
        }
        while requests != PmiRequests::NONE {
            let rises = u32::from(requests.line() == Some(true));
            for _ in 0..requests.count() + rises {
                for effect in injector.occurs(Trigger::Pmi) {
                    told += self.apply(&mut injector, effect, source);
                }
                if let Fate::Comes(count) = injector.fate() {
                    told += self.comes(&mut injector, count);
                }
            }
            if requests.line() == Some(false) {
                injector.forget_rises();
                injector.pulse = false;
                told += PmiRequests::of_line(core::mem::take(&mut injector.line).then_some(false));
            }
            // Bringing counters up to date for an effect may have found an overflow.
            requests = self.take_requests();
        }
        self.injector = Some(injector);
        told
    }

    /// Interrupts reach the interrupt controller: so many PMIs, or the rise of the line.
    fn comes(&self, injector: &mut Injector, count: u32) -> PmiRequests {
        if matches!(self.machine, Machine::Arm(_)) {
            let rises = !core::mem::replace(&mut injector.line, true);
            return PmiRequests::of_line(rises.then_some(true));
        }
        PmiRequests { count, ..PmiRequests::NONE }
    }

    /// Something goes wrong.
    fn apply(
        &mut self,
        injector: &mut Injector,
        effect: Effect,
        source: &mut dyn CountsSource,
    ) -> PmiRequests {
        match effect {
            Effect::LosePmi => injector.lose(),
            Effect::DelayPmi(instructions) => injector.delay(instructions),
            Effect::DoublePmi(instructions) => injector.double(instructions),
            Effect::AddPmi => {
                injector.pulse = true;
                return self.comes(injector, 1);
            }
            Effect::SpuriousNmi => return PmiRequests { nmis: 1, ..PmiRequests::NONE },
            Effect::Freeze { counter, instructions } => {
                each!(&mut self.machine, own => own.set_stuck(counter, true, source));
                if let Some(instructions) = instructions
                    && !injector.later(instructions.get(), Later::Thaw(counter))
                {
                    each!(&mut self.machine, own => own.set_stuck(counter, false, source));
                }
            }
            Effect::Stale => {}
            Effect::LoseCounts { .. }
            | Effect::Jump { .. }
            | Effect::StatusBit(_)
            | Effect::LoseBranches(_)
            | Effect::TruncatePebs(_) => each!(&mut self.machine, own => own.afflict(effect, source)),
        }
        PmiRequests::NONE
    }

    /// The line is as overflows make it: after a reset, or with another state.
    pub(super) fn follow_line(&mut self) {
        let line = self.overflow_line();
        if let Some(injector) = &mut self.injector {
            injector.forget_rises();
            (injector.line, injector.pulse) = (line, false);
        }
    }
}
