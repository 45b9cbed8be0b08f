//! What the interpreter of AArch64 sees around it: the machine.

use crate::counts::Slice;
use crate::counts::totals::Retired;
use crate::engine::soft::clock::Clock;
use crate::engine::soft::ram::Ram;
use crate::engine::soft::timing::Timing;
use crate::machine::Board as _;
use crate::machine::Machine;
use crate::machine::arm::{SystemFault, Virt};
use crate::machine::exceptions::Moment;
use arm_cpu::{Access, Bus, Delivery, ExternalAbort, SystemRegister, Totals, Tracer};
use guest_protocol::mmio;
use platform::arm::timer::GenericTimer;
use retire::{CoreEvent, Observer};
use vpmu::Profile;

/// The machine as the CPU's bus; `TIMED` with a model of the core.
pub(super) struct ArmBus<'a, const TIMED: bool> {
    pub(super) machine: &'a mut Machine<Virt>,
    ram: Ram<{ mmio::RAM }>,
    profile: &'a Profile,
    retired: Retired<Totals>,
    /// The model of the core, with `--detail timing`.
    timing: Option<Timing>,
    /// Guest time as of the last [`publish`](Self::publish); without a model an instruction is a cycle.
    pub(super) clock: Clock,
    /// Something has happened that the run loop has to look at.
    pub(super) attention: bool,
}

impl<'a, const TIMED: bool> ArmBus<'a, TIMED> {
    pub(super) fn new(
        machine: &'a mut Machine<Virt>,
        ram: Ram<{ mmio::RAM }>,
        profile: &'a Profile,
        retired: Retired<Totals>,
        timing: Option<Timing>,
        clock: Clock,
    ) -> Self {
        Self { machine, ram, profile, retired, timing, clock, attention: false }
    }

    /// Brings counts and guest time up to date.
    pub(super) fn publish(&mut self, totals: &Totals) {
        self.retired.set(totals);
        self.machine.pmu.set_instructions(totals.instructions());
        self.clock.cycles = self.cycles_at(totals);
        self.machine.advance(self.clock.now(), Slice::default());
        self.machine.poll_pmu();
        self.machine.inject_due();
    }

    fn cycles_at(&self, totals: &Totals) -> u64 {
        let timing = self.timing.as_ref();
        timing.map_or_else(|| totals.instructions(), |timing| timing.core.drive().cycles())
    }

    /// Instructions until the first of: `most` instructions, a counter overflow, a timer. A model of the core looks
    /// by itself for timers, and for overflows of what it counts.
    pub(super) fn budget(&self, most: u64) -> u64 {
        let source = self.machine.pmu.source();
        let timer = self.machine.board.next_deadline().map(|then| self.clock.ticks_until(then));
        if let Some(timing) = &self.timing {
            let timer = timer.map_or(u64::MAX, |ticks| self.clock.cycles.saturating_add(ticks));
            timing.core.drive().arm(timer);
            return source.instructions_to_overflow().map_or(most, |left| left.min(most)).max(1);
        }
        let due = [source.instructions_to_overflow(), source.cycles_to_overflow(), timer];
        due.into_iter().flatten().fold(most, u64::min).max(1)
    }

    /// An access to a device, which takes effect at its end. A model of the core knows how long it takes. Without
    /// one it takes a period of the system counter: with no time at all, a guest that polls a device until a
    /// time-out would execute hundreds of instructions for each tick.
    fn access_device(&mut self, totals: &Totals) {
        if !TIMED {
            self.clock.wait(self.profile.tsc_hz.div_ceil(u64::from(self.profile.crystal_hz).max(1)));
        }
        // The next timer may have come closer, and interrupts may have changed.
        self.attention = true;
        self.publish(totals);
    }

    /// Tells a model of the core.
    fn event(&self, event: CoreEvent) {
        if let Some(timing) = &self.timing {
            timing.core.drive().event(event);
        }
    }

    /// WFI has retired, and the CPU waits.
    pub(super) fn halt(&self) {
        self.event(CoreEvent::Halt);
    }
}

impl<const TIMED: bool> arm_cpu::Ram for ArmBus<'_, TIMED> {
    fn ram_page(&mut self, gpa: u64) -> Option<u64> {
        self.ram.has_page(gpa).then_some(gpa)
    }

    #[inline(always)]
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N] {
        self.ram.read(position)
    }

    #[inline(always)]
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]) {
        self.ram.write(position, bytes);
    }

    #[inline(always)]
    fn ram_read_quick<const N: usize>(&mut self, position: u64) -> Option<[u8; N]> {
        self.ram.read_quick(position)
    }

    #[inline(always)]
    fn ram_write_quick<const N: usize>(&mut self, position: u64, bytes: [u8; N]) -> bool {
        self.ram.write_quick(position, bytes)
    }
}

impl<const TIMED: bool> Bus for ArmBus<'_, TIMED> {
    const OBSERVED: bool = TIMED;

    fn mmio_read(&mut self, address: u64, data: &mut [u8], access: &Access<'_>) -> Result<(), ExternalAbort> {
        self.access_device(access.totals);
        if self.machine.mmio_read(address, data) { Ok(()) } else { Err(ExternalAbort) }
    }

    fn mmio_write(&mut self, address: u64, data: &[u8], access: &Access<'_>) -> Result<(), ExternalAbort> {
        self.access_device(access.totals);
        self.clock.alive();
        if self.machine.mmio_write(address, data) { Ok(()) } else { Err(ExternalAbort) }
    }

    fn read_system(&mut self, register: SystemRegister, access: &Access<'_>) -> Result<u64, SystemFault> {
        self.publish(access.totals);
        // Reading a timer changes nothing.
        self.attention |= !GenericTimer::owns_register(register.0);
        self.machine.read_system(register.0, access.el, access.pc)
    }

    fn write_system(
        &mut self,
        register: SystemRegister,
        value: u64,
        access: &Access<'_>,
    ) -> Result<(), SystemFault> {
        // Writing to a PMU register takes effect between what is older and what is younger.
        self.event(CoreEvent::Serialise);
        self.publish(access.totals);
        self.attention = true;
        self.machine.write_system(register.0, value, access.el, access.pc)
    }

    fn hypervisor_call(
        &mut self,
        _immediate: u16,
        registers: &mut [u64; 8],
        access: &Access<'_>,
    ) -> Result<(), SystemFault> {
        self.publish(access.totals);
        self.attention = true;
        self.machine.hypervisor_call(registers);
        Ok(())
    }

    fn tracer(&mut self) -> Option<&mut impl Tracer> {
        Some(self)
    }

    #[inline(always)]
    fn observer(&mut self) -> Option<&mut impl Observer> {
        self.timing.as_mut()
    }

    fn attention(&self) -> bool {
        self.attention
    }
}

impl<const TIMED: bool> Tracer for ArmBus<'_, TIMED> {
    fn delivery(&mut self, delivery: &Delivery, totals: &Totals) {
        let moment = if self.machine.exceptions.is_traced() {
            let instructions = totals.instructions();
            Moment { now: self.clock.time_at(self.cycles_at(totals)), instructions }
        } else {
            Moment::default()
        };
        self.machine.exceptions.note(delivery, self.profile, moment);
    }

    fn unimplemented(&mut self, name: &str, access: &Access<'_>) {
        self.publish(access.totals);
        self.machine.note_unimplemented(name, access.pc);
    }
}
