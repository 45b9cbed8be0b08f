//! The PC: local APIC, I/O APIC and port devices around an x86 CPU.

mod amd_msr;
mod delivery;
mod msr;
#[cfg(test)]
mod tests;

pub use self::msr::{GeneralProtection, MSR_MCG_CAP, MsrResult};
pub use platform::x86::apic::spec::{MSR_APIC_BASE, MSR_TSC_DEADLINE};

use super::pmu::Origin;
use super::{Board, BoardState, MAX_TIME, Machine, StateError};
use platform::convert::scale;
use platform::devices::Console;
use platform::loader::x86::BootState;
use platform::time::GuestTime;
use platform::x86::apic::{ApicState, LocalApic, TimerState};
use platform::x86::devices::{Devices, DevicesState, IoApic, Serial, TestDevice};
use serde::{Deserialize, Serialize};
use soft_cpu::Delivery;
use vpmu::PmiRequests;
use vpmu::ibs::{IbsSample, IbsTags};
use vpmu::pebs::{DebugStore, PebsSample};

/// What is around an x86 CPU.
#[derive(Debug)]
pub struct Pc {
    /// Port devices and I/O APIC.
    pub devices: Devices,
    /// The local APIC.
    pub apic: LocalApic,
    /// TSC rate that the guest sees, in Hz.
    pub tsc_hz: u64,
    /// What the guest's writes to its TSC have added to it.
    pub tsc_offset: u64,
}

/// The saved state of a [`Pc`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcState {
    apic: ApicState,
    pub(crate) devices: DevicesState,
    tsc_offset: u64,
}

impl Pc {
    /// Puts the parts together; the TSC runs at `tsc_hz` in Hz.
    #[must_use]
    pub fn new(devices: Devices, apic: LocalApic, tsc_hz: u64) -> Self {
        Self { devices, apic, tsc_hz, tsc_offset: 0 }
    }

    /// The TSC at a point in guest time, never later than what the guest reads then.
    fn tsc(&self, now: GuestTime) -> u64 {
        scale(now.0, self.tsc_hz, 1_000_000_000).wrapping_add(self.tsc_offset)
    }

    /// The guest has written its TSC, which adds `offset` to it: what waits for a value of it waits for another time.
    pub fn move_tsc(&mut self, offset: u64, now: GuestTime) {
        self.tsc_offset = offset;
        if let Ok(deadline @ 1..) = self.apic.read_tsc_deadline() {
            let rearmed = self.apic.write_tsc_deadline(deadline, self.tsc(now), now);
            log::debug!("TSC deadline {deadline:#x} after the TSC was written: {rearmed:?}");
        }
    }
}

impl Board for Pc {
    type Boot = BootState;
    type Delivery = Delivery;
    type Registers = soft_cpu::State;
    type Uart = Serial;

    fn save(&self) -> BoardState {
        BoardState::X86(Box::new(PcState {
            apic: self.apic.save(),
            devices: self.devices.save(),
            tsc_offset: self.tsc_offset,
        }))
    }

    fn resume(&mut self, saved: &BoardState) -> Result<(), StateError> {
        let BoardState::X86(saved) = saved else { return Err(StateError::Architecture) };
        let times = match saved.apic.timer {
            TimerState::Idle => [0; 2],
            TimerState::Counting { start, end } => [start, end],
            TimerState::Deadline { due, .. } => [due, 0],
        };
        if times.iter().any(|time| *time > MAX_TIME) {
            return Err(StateError::Time);
        }
        self.apic.restore(&saved.apic)?;
        self.tsc_offset = saved.tsc_offset;
        Ok(())
    }

    fn advance(&mut self, now: GuestTime) {
        self.apic.advance(now);
        self.devices.advance(now);
    }

    fn next_deadline(&self) -> Option<GuestTime> {
        self.apic.next_deadline()
    }

    /// Through the I/O APIC to the local APIC.
    fn route_interrupts(&mut self) {
        if let Some(vector) = self.apic.take_eoi() {
            self.devices.ioapic_mut().end_of_interrupt(vector);
        }
        while let Some(message) = self.devices.take_interrupt() {
            self.apic.receive(message);
        }
    }

    fn interrupt(&mut self, requests: PmiRequests, mut trace: impl FnMut(&'static str)) {
        for _ in 0..requests.nmis() {
            trace(self.apic.raise_nmi().as_str());
        }
        requests.deliver(|| trace(self.apic.raise_pmi().as_str()));
    }

    fn console(&self) -> &Console<Serial> {
        self.devices.console()
    }

    fn console_mut(&mut self) -> &mut Console<Serial> {
        self.devices.console_mut()
    }

    fn answer_program(&mut self, length: u32) {
        self.devices.answer_program(length);
    }

    fn control_done(&mut self, success: bool) {
        self.devices.control_done(success);
    }
}

impl Machine<Pc> {
    /// Writes the PEBS record that is due.
    pub fn write_pebs(&mut self, sample: &PebsSample, store: &mut dyn DebugStore) {
        let pmis = self.pmu.write_pebs(sample, store, Origin { now: self.now, rip: Some(sample.event_ip) });
        self.deliver(pmis);
    }

    /// What IBS has tagged has retired.
    pub fn ibs_sample(&mut self, tags: IbsTags, sample: &IbsSample) {
        let origin = Origin { now: self.now, rip: Some(sample.address) };
        let (answer, pmis) = self.pmu.ibs_sample(tags, sample, origin);
        self.deliver(pmis);
        if let Some(entry) = answer.interrupt {
            let delivery = self.board.apic.raise_extended(entry);
            self.pmu.trace_pmi(delivery.as_str(), self.now);
        }
    }

    /// IN of `data.len()` bytes (1, 2 or 4).
    pub fn port_in(&mut self, port: u16, data: &mut [u8]) {
        self.board.devices.read_port(port, data);
        self.board.route_interrupts();
    }

    /// OUT of `data.len()` bytes (1, 2 or 4).
    pub fn port_out(&mut self, port: u16, data: &[u8]) {
        let effect = self.board.devices.write_port(port, data);
        self.carry_out(effect);
    }

    /// MMIO read; addresses of no device read as all ones.
    pub fn mmio_read(&mut self, address: u64, data: &mut [u8]) {
        if let Some(offset) = self.board.apic.page_offset(address) {
            self.board.apic.mmio_read(offset, data, self.now);
        } else if let Some(offset) = IoApic::page_offset(address) {
            self.board.devices.ioapic_mut().read(offset, data);
        } else if let Some(offset) = TestDevice::memory_offset(address) {
            self.board.devices.test_mut().read(offset, data);
        } else {
            data.fill(0xFF);
        }
    }

    /// MMIO write; addresses of no device swallow it.
    pub fn mmio_write(&mut self, address: u64, data: &[u8]) {
        if let Some(offset) = self.board.apic.page_offset(address) {
            self.board.apic.mmio_write(offset, data, self.now);
        } else if let Some(offset) = IoApic::page_offset(address) {
            self.board.devices.ioapic_mut().write(offset, data);
        } else if let Some(offset) = TestDevice::memory_offset(address) {
            self.board.devices.test_mut().write(offset, data);
        } else {
            return;
        }
        self.board.route_interrupts();
    }
}
