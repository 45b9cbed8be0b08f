//! I/O APIC with 24 pins (Intel 82093AA data sheet).
//!
//! Plain state: pins change levels, [`IoApic::take_message`] gives the interrupt messages that result. Version
//! 11H, so that the end of a level-triggered interrupt comes from the local APIC's EOI broadcast.

use crate::convert::{low_u8, low_u32};
use serde::{Deserialize, Serialize};

/// Physical address of the register page.
pub const BASE: u64 = 0xFEC0_0000;
/// Bytes of the page that belong to the I/O APIC.
pub const SIZE: u64 = 0x1000;
/// Number of pins.
pub const PINS: usize = 24;
/// ID after reset, for the MADT too; different from the CPU's.
pub const ID: u8 = 1;

/// "I/O Register Select".
const SELECT: u64 = 0x00;
/// "I/O Window".
const WINDOW: u64 = 0x10;

/// Registers behind the window.
mod register {
    pub(super) const ID: u8 = 0;
    pub(super) const VERSION: u8 = 1;
    pub(super) const ARBITRATION: u8 = 2;
    pub(super) const REDIRECTION: u8 = 0x10;
}

/// Version 11H, highest redirection entry in bits 23:16.
const VERSION: u32 = 0x11 | (low_u32(PINS as u64) - 1) << 16;

/// Fields of a redirection entry.
mod entry {
    pub(super) const DELIVERY_STATUS: u64 = 1 << 12;
    pub(super) const REMOTE_IRR: u64 = 1 << 14;
    pub(super) const LEVEL: u64 = 1 << 15;
    pub(super) const MASK: u64 = 1 << 16;
    /// Vector, delivery mode, destination mode, polarity, trigger mode, mask, destination.
    pub(super) const WRITABLE: u64 = 0xFF00_0000_0001_AFFF;
}

/// What an I/O APIC sends to the local APICs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptMessage {
    /// Vector, meaningful for fixed and lowest-priority delivery.
    pub vector: u8,
    /// Delivery mode, 3 bits as in the local APIC's ICR: 0 fixed, 1 lowest priority, 4 NMI.
    pub delivery_mode: u8,
    /// Destination is logical.
    pub logical: bool,
    /// Destination field.
    pub destination: u8,
    /// Level-triggered: an EOI has to come back.
    pub level: bool,
}

/// The I/O APIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IoApic {
    select: u8,
    id: u8,
    entries: [u64; PINS],
    /// Bit per pin: the device's line is asserted.
    lines: u32,
    /// Bit per pin: an edge waits to be sent.
    edges: u32,
}

impl Default for IoApic {
    /// As after reset: every pin masked.
    fn default() -> Self {
        Self { select: 0, id: ID, entries: [entry::MASK; PINS], lines: 0, edges: 0 }
    }
}

impl IoApic {
    /// Offset into the register page if physical `address` lies in it.
    #[must_use]
    pub fn page_offset(address: u64) -> Option<u64> {
        address.checked_sub(BASE).filter(|offset| *offset < SIZE)
    }

    /// Sets the line of a pin: true is asserted, whatever polarity the guest programmed.
    pub fn set_line(&mut self, pin: usize, asserted: bool) {
        let Some(entry) = self.entries.get(pin) else { return };
        let bit = 1 << pin;
        let rising = asserted && self.lines & bit == 0;
        self.lines = if asserted { self.lines | bit } else { self.lines & !bit };
        // An edge at a masked pin is lost (82093AA, "Interrupt Mask").
        if rising && entry & (entry::LEVEL | entry::MASK) == 0 {
            self.edges |= bit;
        }
    }

    /// The next message to send, lowest pin first. Sending it counts as accepted.
    pub fn take_message(&mut self) -> Option<InterruptMessage> {
        for (pin, entry) in self.entries.iter_mut().enumerate() {
            let bit = 1_u32 << pin;
            let level = *entry & entry::LEVEL != 0;
            let due = if level {
                self.lines & bit != 0 && *entry & (entry::MASK | entry::REMOTE_IRR) == 0
            } else {
                self.edges & bit != 0
            };
            if !due {
                continue;
            }
            self.edges &= !bit;
            if level {
                *entry |= entry::REMOTE_IRR;
            }
            return Some(InterruptMessage {
                vector: low_u8(*entry),
                delivery_mode: low_u8(*entry >> 8 & 7),
                logical: *entry >> 11 & 1 != 0,
                destination: low_u8(*entry >> 56),
                level,
            });
        }
        None
    }

    /// The local APIC ended a level-triggered interrupt.
    pub fn end_of_interrupt(&mut self, vector: u8) {
        for entry in &mut self.entries {
            if *entry & entry::LEVEL != 0 && low_u8(*entry) == vector {
                *entry &= !entry::REMOTE_IRR;
            }
        }
    }

    /// Reads at `offset` into the page. Registers are 32 bits wide; bytes beside them are 0.
    pub fn read(&mut self, offset: u64, data: &mut [u8]) {
        let value = match offset {
            SELECT => u32::from(self.select),
            WINDOW => self.read_register(),
            _ => 0,
        };
        data.fill(0);
        for (to, from) in data.iter_mut().zip(value.to_le_bytes()) {
            *to = from;
        }
    }

    /// Writes at `offset` into the page; the select register takes any width, the window 32 bits.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        match (offset, data) {
            (SELECT, [first, ..]) => self.select = *first,
            (WINDOW, data) => {
                if let Ok(bytes) = data.try_into() {
                    self.write_register(u32::from_le_bytes(bytes));
                }
            }
            _ => {}
        }
    }

    fn read_register(&self) -> u32 {
        match self.select {
            register::ID | register::ARBITRATION => u32::from(self.id) << 24,
            register::VERSION => VERSION,
            select => match redirection(select) {
                Some((pin, high)) => {
                    let waits = if self.edges >> pin & 1 != 0 { entry::DELIVERY_STATUS } else { 0 };
                    let entry = self.entries.get(pin).copied().unwrap_or(0) | waits;
                    low_u32(entry >> if high { 32 } else { 0 })
                }
                None => 0,
            },
        }
    }

    fn write_register(&mut self, value: u32) {
        if self.select == register::ID {
            self.id = (value >> 24 & 0xF) as u8;
        }
        let Some((pin, high)) = redirection(self.select) else { return };
        let Some(entry) = self.entries.get_mut(pin) else { return };
        let (shift, part) = if high { (32, u64::from(u32::MAX) << 32) } else { (0, u64::from(u32::MAX)) };
        let mask = entry::WRITABLE & part;
        *entry = *entry & !mask | u64::from(value) << shift & mask;
        if *entry & entry::LEVEL == 0 {
            *entry &= !entry::REMOTE_IRR;
        }
    }
}

/// Pin, and whether it is the high half, of a register number.
fn redirection(select: u8) -> Option<(usize, bool)> {
    let index = usize::from(select.checked_sub(register::REDIRECTION)?);
    (index < 2 * PINS).then_some((index / 2, index % 2 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(apic: &mut IoApic, register: u8, value: u32) {
        apic.write(SELECT, &[register]);
        apic.write(WINDOW, &value.to_le_bytes());
    }

    fn read(apic: &mut IoApic, register: u8) -> u32 {
        apic.write(SELECT, &u32::from(register).to_le_bytes());
        let mut data = [0; 4];
        apic.read(WINDOW, &mut data);
        u32::from_le_bytes(data)
    }

    #[test]
    fn after_reset_it_has_24_masked_pins() {
        let mut apic = IoApic::default();
        assert_eq!(read(&mut apic, 1), 0x0017_0011);
        for pin in 0..24 {
            assert_eq!(read(&mut apic, 0x10 + 2 * pin), 0x1_0000);
            apic.set_line(usize::from(pin), true);
        }
        assert_eq!(read(&mut apic, 0x40), 0, "no 25th pin");
        assert_eq!(apic.take_message(), None);
    }

    #[test]
    fn an_edge_sends_one_message() {
        let mut apic = IoApic::default();
        write(&mut apic, 0x18, 0x0834);
        write(&mut apic, 0x19, 0x0100_0000);
        apic.set_line(4, true);
        apic.set_line(4, true);
        let message =
            InterruptMessage { vector: 0x34, delivery_mode: 0, logical: true, destination: 1, level: false };
        assert_eq!(apic.take_message(), Some(message));
        assert_eq!(apic.take_message(), None);
        apic.set_line(4, false);
        assert_eq!(apic.take_message(), None);
        apic.set_line(4, true);
        assert_eq!(apic.take_message(), Some(message));
    }

    #[test]
    fn a_level_waits_for_its_eoi_and_comes_again() {
        let mut apic = IoApic::default();
        write(&mut apic, 0x18, 0x8034);
        apic.set_line(4, true);
        assert!(apic.take_message().is_some_and(|m| m.level));
        assert_eq!(apic.take_message(), None);
        assert_eq!(read(&mut apic, 0x18), 0xC034, "remote IRR");
        apic.end_of_interrupt(0x35);
        assert_eq!(apic.take_message(), None);
        apic.end_of_interrupt(0x34);
        assert!(apic.take_message().is_some());
        apic.set_line(4, false);
        apic.end_of_interrupt(0x34);
        assert_eq!(apic.take_message(), None);
    }

    #[test]
    fn read_only_bits_stay() {
        let mut apic = IoApic::default();
        write(&mut apic, 0x12, u32::MAX);
        write(&mut apic, 0x13, u32::MAX);
        assert_eq!((read(&mut apic, 0x12), read(&mut apic, 0x13)), (0x1_AFFF, 0xFF00_0000));
        write(&mut apic, 0, u32::MAX);
        assert_eq!(read(&mut apic, 0), 0x0F00_0000);
    }
}
