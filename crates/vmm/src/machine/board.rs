//! What the architecture of a machine decides.

use super::exceptions::Delivered;
use super::{BoardState, StateError};
use platform::devices::{Console, Uart};
use platform::time::GuestTime;
use std::fmt;
use vpmu::PmiRequests;

/// What is around a CPU of one architecture: interrupt controller, timers and devices. A fresh one has its devices as
/// after RESET, or as they were saved; [`resume`](Self::resume) does the rest.
pub trait Board: fmt::Debug + Sized {
    /// What the boot loader leaves to the CPU.
    type Boot;
    /// What its CPU delivers.
    type Delivery: Delivered;
    /// The registers of its CPU.
    type Registers;
    /// The UART behind the console.
    type Uart: Uart;

    /// Takes a copy of everything that the guest can notice.
    fn save(&self) -> BoardState;

    /// Goes on from a saved state.
    ///
    /// # Errors
    /// What no guest can have brought about, or another board's state.
    fn resume(&mut self, saved: &BoardState) -> Result<(), StateError>;

    /// Guest time is now `now`.
    fn advance(&mut self, now: GuestTime);

    /// When the next timer expires that may interrupt the CPU.
    fn next_deadline(&self) -> Option<GuestTime>;

    /// Passes what the devices ask for to the interrupt controller.
    fn route_interrupts(&mut self);

    /// Passes what the PMU requests to the interrupt controller, and says for the trace what becomes of it.
    fn interrupt(&mut self, requests: PmiRequests, trace: impl FnMut(&'static str));

    /// The console.
    fn console(&self) -> &Console<Self::Uart>;

    /// The console, to pass on input.
    fn console_mut(&mut self) -> &mut Console<Self::Uart>;

    /// The answer to the last command of the program port, for a board that has one.
    fn answer_program(&mut self, _length: u32) {}

    /// The last command of the control device has been carried out; the guest reads the result.
    fn control_done(&mut self, success: bool);
}
