//! What the interpreter of AArch64 sees around it: the machine.

use crate::counts::Slice;
use crate::counts::totals::Retired;
use crate::engine::soft::clock::Clock;
use crate::engine::soft::ram::Ram;
use crate::machine::Board as _;
use crate::machine::Machine;
use crate::machine::arm::{SystemFault, Virt};
use crate::machine::exceptions::Moment;
use arm_cpu::{Access, Bus, Delivery, ExternalAbort, SystemRegister, Totals, Tracer};
use guest_protocol::mmio;
use platform::arm::timer::GenericTimer;
use vpmu::Profile;

/// The machine as the CPU's bus.
pub(super) struct ArmBus<'a> {
    pub(super) machine: &'a mut Machine<Virt>,
    ram: Ram<{ mmio::RAM }>,
    profile: &'a Profile,
    retired: Retired<Totals>,
    /// Guest time as of the last [`publish`](Self::publish); an instruction is a cycle.
    pub(super) clock: Clock,
    /// Something has happened that the run loop has to look at.
    pub(super) attention: bool,
}

impl<'a> ArmBus<'a> {
    pub(super) fn new(
        machine: &'a mut Machine<Virt>,
        ram: Ram<{ mmio::RAM }>,
        profile: &'a Profile,
        retired: Retired<Totals>,
        clock: Clock,
    ) -> Self {
        Self { machine, ram, profile, retired, clock, attention: false }
    }

    /// Brings counts and guest time up to date.
    pub(super) fn publish(&mut self, totals: &Totals) {
        self.retired.set(totals);
        self.clock.cycles = totals.instructions();
        self.machine.advance(self.clock.now(), Slice::default());
        self.machine.poll_pmu();
    }

    /// Instructions until the first of: `most` instructions, a counter overflow, a timer.
    pub(super) fn budget(&self, most: u64) -> u64 {
        let source = self.machine.pmu.source();
        let timer = self.machine.board.next_deadline().map(|then| self.clock.ticks_until(then));
        let due = [source.instructions_to_overflow(), source.cycles_to_overflow(), timer];
        due.into_iter().flatten().fold(most, u64::min).max(1)
    }

    /// An access to a device, which takes effect at its end. It takes a period of the system counter: with no time at
    /// all, a guest that polls a device until a time-out would execute hundreds of instructions for each tick.
    fn access_device(&mut self, totals: &Totals) {
        self.clock.wait(self.profile.tsc_hz.div_ceil(u64::from(self.profile.crystal_hz).max(1)));
        // The next timer has come closer.
        self.attention = true;
        self.publish(totals);
    }
}

impl arm_cpu::Ram for ArmBus<'_> {
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

impl Bus for ArmBus<'_> {
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

    fn attention(&self) -> bool {
        self.attention
    }
}

impl Tracer for ArmBus<'_> {
    fn delivery(&mut self, delivery: &Delivery, totals: &Totals) {
        let moment = if self.machine.exceptions.is_traced() {
            let instructions = totals.instructions();
            Moment { now: self.clock.time_at(instructions), instructions }
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
