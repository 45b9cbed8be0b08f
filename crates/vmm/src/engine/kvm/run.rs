//! The exit loop.

#![expect(unsafe_code, reason = "a flag in the page that KVM shares")]

use super::KvmEngine;
use super::complete::Completed;
use super::error::KvmError;
use super::exit::{Exit, InternalError, Kind, PortIo};
use super::kick::{Bound, monotonic_ns};
use super::{rdpmc, report};
use crate::counts::Slice;
use crate::engine::RunLimits;
use crate::machine::stop::LOOK_NS;
use crate::machine::x86::{MSR_APIC_BASE, Pc};
use crate::machine::{Machine, Outcome};
use kvm_bindings::{KVM_INTERNAL_ERROR_EMULATION, kvm_sregs};
use platform::time::GuestTime;

impl KvmEngine {
    /// Runs the vCPU until the machine has an outcome.
    ///
    /// # Errors
    /// KVM failed in a way that is not the guest's doing.
    pub(super) fn run_machine(
        &mut self,
        machine: &mut Machine<Pc>,
        limits: RunLimits,
    ) -> Result<Outcome, KvmError> {
        // SAFETY: the flag lies in the vCPU's shared page, which outlives `bound`: `self` is borrowed.
        let mut bound = unsafe { Bound::new(self.vcpu.immediate_exit()) }?;
        let mut now = monotonic_ns();
        let end = now.saturating_add(u64::try_from(limits.timeout.as_nanos()).unwrap_or(u64::MAX));
        // The guest time before the run is charged to no counter.
        machine.advance(self.guest_time(now), Slice::default());
        let mut last = Exit::Interrupted;
        let mut refused = false;
        loop {
            machine.poll_input();
            if let Some(outcome) = machine.outcome().cloned() {
                if last.completes_on_entry() {
                    self.vcpu.complete()?;
                }
                return Ok(outcome);
            }
            if now >= end {
                machine.stop(Outcome::TimedOut);
                continue;
            }
            self.inject(machine, refused)?;
            let timer = machine
                .board
                .apic
                .next_deadline()
                .map_or(u64::MAX, |timer| self.origin.saturating_add(timer.0));
            // Until a counter may overflow, or the privilege level wants sampling.
            let source = machine.pmu.source();
            let run = [source.earliest_overflow(), source.sample_interval()].into_iter().flatten().min();
            let run = run.map_or(u64::MAX, |run| now.saturating_add(run));
            // A signal may go to another thread, and does not take this one out of the guest then.
            let look = now.saturating_add(LOOK_NS);
            bound.arm(now, end.min(timer).min(run).min(look))?;

            let cpl = self.vcpu.cpl();
            let entered = monotonic_ns();
            last = self.vcpu.run()?;
            now = monotonic_ns();
            let ran = slice(now.saturating_sub(entered), cpl, self.vcpu.cpl());

            self.mirror_cr8(machine);
            machine.advance(self.guest_time(now), ran);
            if bound.take_kick() {
                machine.poll_pmu();
            }
            refused = self.handle(last, machine, &mut bound, end)?;
            self.intercept.follow(&self.vcpu, &machine.memory)?;
        }
    }

    fn guest_time(&self, now: u64) -> GuestTime {
        GuestTime(now.saturating_sub(self.origin))
    }

    /// Hands KVM what the APIC wants delivered. `refused`: the next entry begins with a #GP that we
    /// asked for, so that an interrupt has to wait its turn.
    fn inject(&mut self, machine: &mut Machine<Pc>, refused: bool) -> Result<(), KvmError> {
        let pending = machine.board.apic.pending();
        let mut wants_window = false;
        if pending.any() {
            if pending.nmi && machine.board.apic.take_nmi() {
                self.vcpu.nmi()?;
            }
            if pending.vector.is_some() {
                let page = self.vcpu.run_page();
                if page.ready_for_interrupt_injection != 0 && page.if_flag != 0 && !refused {
                    if let Some(vector) = machine.board.apic.accept_vector() {
                        self.vcpu.interrupt(vector)?;
                    }
                    wants_window = machine.board.apic.pending().vector.is_some();
                } else {
                    wants_window = true;
                }
            }
        }
        let cr8 = u64::from(machine.board.apic.cr8());
        let page = self.vcpu.run_mut();
        page.request_interrupt_window = u8::from(wants_window);
        page.cr8 = cr8;
        Ok(())
    }

    /// Takes over CR8, which the guest changes without an exit.
    fn mirror_cr8(&self, machine: &mut Machine<Pc>) {
        let cr8 = self.vcpu.run_page().cr8;
        // KVM has checked the value already: a MOV to CR8 above 15 raised #GP there.
        if cr8 != u64::from(machine.board.apic.cr8()) && machine.board.apic.set_cr8(cr8).is_err() {
            log::warn!("KVM reports CR8 {cr8:#x}, which no CPU can hold");
        }
    }

    /// Does what the exit asks for. True if the guest's instruction was answered with #GP.
    fn handle(
        &mut self,
        exit: Exit,
        machine: &mut Machine<Pc>,
        bound: &mut Bound,
        end: u64,
    ) -> Result<bool, KvmError> {
        let kind = match exit {
            Exit::Rdmsr { index } => {
                let answer = machine.rdmsr(index, Some(self.vcpu.regs().rip));
                self.vcpu.answer_msr(answer.ok());
                self.counts.add(Kind::Rdmsr);
                return Ok(answer.is_err());
            }
            Exit::Wrmsr { index, value } => {
                let answer = machine.wrmsr(index, value, Some(self.vcpu.regs().rip));
                self.vcpu.answer_msr(answer.ok().map(|()| value));
                self.counts.add(Kind::Wrmsr);
                if index == MSR_APIC_BASE && answer.is_ok() {
                    // KVM shows CPUID's APIC bit by it.
                    let sregs = kvm_sregs { apic_base: machine.board.apic.base(), ..*self.vcpu.sregs() };
                    self.vcpu.set_sregs(&sregs)?;
                }
                return Ok(answer.is_err());
            }
            Exit::Io(io) => {
                self.port_io(io, machine)?;
                Kind::Io
            }
            Exit::Mmio { address, len, write } => {
                let data = self.vcpu.mmio_data(len);
                if write {
                    machine.mmio_write(address, data);
                } else {
                    machine.mmio_read(address, data);
                }
                Kind::Mmio
            }
            Exit::Hlt => {
                self.halt(machine, bound, end)?;
                Kind::Hlt
            }
            Exit::Debug { exception, dr6, .. } => {
                match self.intercept.on_debug(exception, dr6, &mut self.vcpu, machine)? {
                    rdpmc::Debug::Served => Kind::Rdpmc,
                    rdpmc::Debug::Passed => Kind::Debug,
                }
            }
            Exit::IrqWindow => Kind::IrqWindow,
            Exit::Interrupted | Exit::Again => Kind::Kick,
            Exit::SetTpr => Kind::Other,
            Exit::Shutdown | Exit::SystemEvent { .. } => {
                machine.stop(Outcome::TripleFault);
                Kind::Other
            }
            Exit::Internal(InternalError { suberror: KVM_INTERNAL_ERROR_EMULATION, .. }) => {
                match self.complete_instruction(machine)? {
                    Completed::Done => Kind::Completed,
                    Completed::TripleFault => {
                        machine.stop(Outcome::TripleFault);
                        Kind::Other
                    }
                    Completed::Unknown(code) => {
                        let what = report::unknown_instruction(&code, &self.vcpu, &machine.memory);
                        machine.stop(Outcome::CannotExecute { what });
                        Kind::Other
                    }
                }
            }
            Exit::FailEntry { .. }
            | Exit::Internal(_)
            | Exit::MemoryFault { .. }
            | Exit::BadAddress
            | Exit::Other { .. } => {
                let what = self.describe(exit, machine);
                machine.stop(Outcome::CannotExecute { what });
                Kind::Other
            }
        };
        self.counts.add(kind);
        Ok(false)
    }

    #[cold]
    fn describe(&self, exit: Exit, machine: &Machine<Pc>) -> String {
        let memory = &machine.memory;
        match exit {
            Exit::FailEntry { reason } => report::entry_failure(reason, &self.vcpu, memory),
            Exit::Internal(error) => report::internal_error(&error, &self.vcpu, memory),
            Exit::MemoryFault { address } => report::bad_address(Some(address), &self.vcpu, memory),
            Exit::Other { reason } => report::unexpected(reason, &self.vcpu, memory),
            _ => report::bad_address(None, &self.vcpu, memory),
        }
    }

    /// Port I/O, item by item for string instructions.
    fn port_io(&mut self, io: PortIo, machine: &mut Machine<Pc>) -> Result<(), KvmError> {
        for item in self.vcpu.io_data(io)?.chunks_exact_mut(io.size) {
            if io.out {
                machine.port_out(io.port, item);
            } else {
                machine.port_in(io.port, item);
            }
        }
        Ok(())
    }
}

/// Books `ns` to the privilege levels at both ends.
fn slice(ns: u64, before: u8, after: u8) -> Slice {
    match (before, after) {
        (0, 0) => Slice { os: ns, usr: 0 },
        (0, _) | (_, 0) => Slice { os: ns / 2, usr: ns - ns / 2 },
        _ => Slice { os: 0, usr: ns },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_time_goes_to_the_privilege_levels_at_both_ends() {
        assert_eq!(slice(7, 0, 0), Slice { os: 7, usr: 0 });
        assert_eq!(slice(7, 3, 3), Slice { os: 0, usr: 7 });
        assert_eq!(slice(7, 1, 3), Slice { os: 0, usr: 7 });
        assert_eq!(slice(7, 0, 3).total(), 7);
        assert_eq!(slice(8, 3, 0), Slice { os: 4, usr: 4 });
    }
}
