//! 16550 UART at COM1, by `vm-superio`.
//!
//! Transmission is instant and the transmitter always ready. Not emulated (see `vm-superio`): FCR,
//! line errors, modem status interrupts, baud rates.

use crate::devices::{Output, Uart};
use core::convert::Infallible;
use core::fmt;
use serde::{Deserialize, Serialize};
use std::io::Sink;

use vm_superio::serial::{NoEvents, SerialState};
use vm_superio::{Serial as Port, Trigger};

/// ISA interrupt line of COM1.
pub const IRQ: u8 = 4;
/// First port.
pub const BASE: u16 = guest_protocol::ports::COM1;
/// Number of ports.
pub const PORTS: u16 = 8;

/// Interrupt enable bits ("Interrupt Enable Register" of the 16550 data sheet).
mod ier {
    pub(super) const RECEIVED_DATA: u8 = 1 << 0;
    pub(super) const TRANSMITTER_EMPTY: u8 = 1 << 1;
}
/// "Line Status Register": received data waits.
const LSR_DATA_READY: u8 = 1 << 0;
/// "Interrupt Identification Register", as `vm-superio` keeps it: a bit per source.
const IIR_TRANSMITTER_EMPTY: u8 = 1 << 1;

/// The line is read as a level by [`Serial::interrupt`], so edges are not reported.
struct NoTrigger;

impl Trigger for NoTrigger {
    type E = Infallible;

    fn trigger(&self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The registers of a serial port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UartState {
    /// DLL and DLM.
    pub divisor: [u8; 2],
    /// IER.
    pub interrupt_enable: u8,
    /// IIR.
    pub interrupt_identification: u8,
    /// LCR.
    pub line_control: u8,
    /// LSR.
    pub line_status: u8,
    /// MCR.
    pub modem_control: u8,
    /// MSR.
    pub modem_status: u8,
    /// SCR.
    pub scratch: u8,
    /// Received bytes, at most 64.
    pub input: Vec<u8>,
}

/// The serial port.
pub struct Serial {
    port: Port<NoTrigger, NoEvents, Output>,
    lost: u64,
}

impl Serial {
    /// A port whose output goes to `output`, byte by byte, each followed by a flush.
    #[must_use]
    pub fn new(output: Output) -> Self {
        Self { port: Port::new(NoTrigger, output), lost: 0 }
    }

    /// Level of the interrupt line [`IRQ`].
    #[must_use]
    pub fn interrupt(&self) -> bool {
        let SerialState { interrupt_enable, interrupt_identification, line_status, .. } = self.port.state();
        let received = interrupt_enable & ier::RECEIVED_DATA != 0 && line_status & LSR_DATA_READY != 0;
        let transmitted = interrupt_enable & ier::TRANSMITTER_EMPTY != 0
            && interrupt_identification & IIR_TRANSMITTER_EMPTY != 0;
        received || transmitted
    }

    /// Bytes that the output refused. The guest does not notice, the caller may want to say so.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes a copy of the registers and of the input that the guest has not read.
    #[must_use]
    pub fn save(&self) -> UartState {
        let s = self.port.state();
        UartState {
            divisor: [s.baud_divisor_low, s.baud_divisor_high],
            interrupt_enable: s.interrupt_enable,
            interrupt_identification: s.interrupt_identification,
            line_control: s.line_control,
            line_status: s.line_status,
            modem_control: s.modem_control,
            modem_status: s.modem_status,
            scratch: s.scratch,
            input: s.in_buffer,
        }
    }

    /// A port in a saved state; `None` if it holds more input than the receive buffer.
    #[must_use]
    pub fn resume(output: Output, saved: &UartState) -> Option<Self> {
        let state = SerialState {
            baud_divisor_low: saved.divisor[0],
            baud_divisor_high: saved.divisor[1],
            interrupt_enable: saved.interrupt_enable,
            interrupt_identification: saved.interrupt_identification,
            line_control: saved.line_control,
            line_status: saved.line_status,
            modem_control: saved.modem_control,
            modem_status: saved.modem_status,
            scratch: saved.scratch,
            in_buffer: saved.input.clone(),
        };
        let port = Port::from_state(&state, NoTrigger, NoEvents, output).ok()?;
        Some(Self { port, lost: 0 })
    }

    pub(super) fn read(&mut self, register: u8) -> u8 {
        self.port.read(register)
    }

    pub(super) fn write(&mut self, register: u8, value: u8) {
        if self.port.write(register, value).is_err() {
            self.lost += 1;
        }
    }
}

impl Uart for Serial {
    /// The receive buffer has 64 bytes. Nothing is received in loopback mode.
    fn enqueue(&mut self, input: &[u8]) -> usize {
        // The only error is a full buffer.
        self.port.enqueue_raw_bytes(input).unwrap_or(0)
    }

    fn wants_input(&self) -> bool {
        let SerialState { interrupt_enable, line_status, .. } = self.port.state();
        interrupt_enable & ier::RECEIVED_DATA != 0 && line_status & LSR_DATA_READY == 0
    }
}

impl Default for Serial {
    /// Output is thrown away.
    fn default() -> Self {
        Self::new(Box::new(Sink::default()))
    }
}

impl fmt::Debug for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serial").field("uart", &self.port.state()).field("lost", &self.lost).finish()
    }
}
