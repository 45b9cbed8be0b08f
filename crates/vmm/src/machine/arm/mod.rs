//! The AArch64 machine: GICv3, generic timer and devices around an AArch64 CPU, on the map of QEMU's `virt`.

mod delivery;
mod system;

pub use self::system::SystemFault;

use super::{Board, BoardState, Machine, Outcome, StateError};
use arm_cpu::Delivery;
use guest_protocol::mmio;
use platform::arm::devices::{Devices, DevicesState};
use platform::arm::devicetree::UART_SPI;
use platform::arm::gic::{FIRST_SPI, FRAME, Gic, Lines};
use platform::arm::pl011::Pl011;
use platform::arm::psci;
use platform::arm::timer::GenericTimer;
use platform::devices::Console;
use platform::loader::arm::BootState;
use platform::time::GuestTime;
use serde::{Deserialize, Serialize};
use vpmu::PmiRequests;

/// What is around an AArch64 CPU.
#[derive(Debug)]
pub struct Virt {
    /// Devices by address.
    pub devices: Devices,
    gic: Gic,
    timer: GenericTimer,
    now: GuestTime,
}

/// The saved state of a [`Virt`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VirtState {
    gic: Gic,
    timer: GenericTimer,
    pub(crate) devices: DevicesState,
    now: GuestTime,
}

impl Virt {
    /// After reset; the generic timer runs at `timer_hz` in Hz.
    #[must_use]
    pub fn new(devices: Devices, timer_hz: u32) -> Self {
        Self { devices, gic: Gic::default(), timer: GenericTimer::new(timer_hz), now: GuestTime::default() }
    }

    /// What the GIC signals to the CPU.
    #[must_use]
    pub fn lines(&self) -> Lines {
        self.gic.lines()
    }
}

impl Board for Virt {
    type Boot = BootState;
    type Delivery = Delivery;
    type Registers = arm_cpu::State;
    type Uart = Pl011;

    fn save(&self) -> BoardState {
        BoardState::Arm(Box::new(VirtState {
            gic: self.gic.clone(),
            timer: self.timer.clone(),
            devices: self.devices.save(),
            now: self.now,
        }))
    }

    fn resume(&mut self, saved: &BoardState) -> Result<(), StateError> {
        let BoardState::Arm(saved) = saved else { return Err(StateError::Architecture) };
        if !saved.gic.is_valid() {
            return Err(StateError::Gic);
        }
        self.timer = self.timer.resume(&saved.timer).ok_or(StateError::Timer)?;
        self.gic = saved.gic.clone();
        self.now = saved.now;
        Ok(())
    }

    fn advance(&mut self, now: GuestTime) {
        self.now = now;
        self.route_interrupts();
    }

    fn next_deadline(&self) -> Option<GuestTime> {
        self.timer.next_deadline(self.now)
    }

    fn route_interrupts(&mut self) {
        let (physical, virtual_) = self.timer.interrupts(self.now);
        self.gic.set_level(mmio::PHYSICAL_TIMER_INTID, physical);
        self.gic.set_level(mmio::VIRTUAL_TIMER_INTID, virtual_);
        self.gic.set_level(FIRST_SPI + UART_SPI, self.devices.console().uart.interrupt());
    }

    fn interrupt(&mut self, requests: PmiRequests, mut trace: impl FnMut(&'static str)) {
        if let Some(high) = requests.line() {
            self.gic.set_level(mmio::PMU_INTID, high);
            trace(if high { "raised" } else { "lowered" });
        }
    }

    fn console(&self) -> &Console<Pl011> {
        self.devices.console()
    }

    fn console_mut(&mut self) -> &mut Console<Pl011> {
        self.devices.console_mut()
    }

    fn control_done(&mut self, success: bool) {
        self.devices.control_done(success);
    }
}

impl Machine<Virt> {
    /// Reads from a device. False if nothing answers.
    pub fn mmio_read(&mut self, address: u64, data: &mut [u8]) -> bool {
        let board = &mut self.board;
        match Frame::of(address) {
            Some(Frame::Distributor(offset)) => board.gic.read_distributor(offset, data),
            Some(Frame::Redistributor(offset)) => board.gic.read_redistributor(offset, data),
            None => {
                let answers = board.devices.read(address, data);
                // Reading a byte may have lowered the UART's line.
                board.route_interrupts();
                return answers;
            }
        }
        true
    }

    /// Writes to a device. False if nothing answers.
    pub fn mmio_write(&mut self, address: u64, data: &[u8]) -> bool {
        match Frame::of(address) {
            Some(Frame::Distributor(offset)) => self.board.gic.write_distributor(offset, data),
            Some(Frame::Redistributor(offset)) => self.board.gic.write_redistributor(offset, data),
            None => {
                let Some(effect) = self.board.devices.write(address, data) else { return false };
                self.carry_out(effect);
                // A restored vPMU says nothing of its line.
                let line = self.pmu.interrupt_line();
                self.board.gic.set_level(mmio::PMU_INTID, line);
            }
        }
        true
    }

    /// HVC: PSCI, with arguments and results in X0 to X3.
    pub fn hypervisor_call(&mut self, registers: &mut [u64; 8]) {
        let [function, first, second, ..] = *registers;
        match psci::call(function, [first, second]) {
            psci::Answer::Value(value) => registers[0] = value,
            psci::Answer::Off => self.stop(Outcome::PoweredOff),
            psci::Answer::Reset => self.stop(Outcome::Reset),
        }
    }
}

/// A frame of the GIC, and the offset in it.
enum Frame {
    Distributor(u64),
    Redistributor(u64),
}

impl Frame {
    fn of(address: u64) -> Option<Self> {
        let within = |base: u64, size: u64| address.checked_sub(base).filter(|offset| *offset < size);
        within(mmio::GICD, FRAME)
            .map(Self::Distributor)
            .or_else(|| within(mmio::GICR, 2 * FRAME).map(Self::Redistributor))
    }
}
