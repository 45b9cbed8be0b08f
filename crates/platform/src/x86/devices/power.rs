//! ACPI power management: the PM1 event and control blocks at port 0x600, as on QEMU's q35, and `pvpanic` at 0x505.
//!
//! Nothing here raises an event, so the status register stays 0 and the SCI silent. There is no SMM: ACPI mode is
//! always on.

use serde::{Deserialize, Serialize};

/// PM1 event block (ACPI 6.5, 4.8.3.1): status, then enable, 2 bytes each.
pub const EVENT: u16 = 0x600;
/// Bytes of the event block.
pub const EVENT_PORTS: u16 = 4;
/// PM1 control block (4.8.3.2).
pub const CONTROL: u16 = 0x604;
/// Bytes of the control block.
pub const CONTROL_PORTS: u16 = 2;
/// SLP_TYP of the state S5, as `\_S5` of the DSDT says.
pub const S5: u8 = 0;
/// System control interrupt, an ISA interrupt.
pub const SCI: u16 = 9;
/// Where the guest tells that it panicked.
pub const PANIC: u16 = 0x505;

/// PM1 control: ACPI mode.
const SCI_EN: u16 = 1 << 0;
/// PM1 control: SLP_TYP, bits 12:10.
const SLP_TYP_SHIFT: u16 = 10;
/// PM1 control: go to sleep; reads 0.
const SLP_EN: u16 = 1 << 13;
/// pvpanic: the guest has panicked.
const PANICKED: u8 = 1 << 0;

/// What a write asks of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PowerEffect {
    None,
    PowerOff,
    Panicked,
}

/// The registers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    enable: u16,
    control: u16,
}

impl Power {
    /// Whether it answers this port.
    #[must_use]
    pub(super) fn owns(port: u16) -> bool {
        (EVENT..EVENT + EVENT_PORTS).contains(&port)
            || (CONTROL..CONTROL + CONTROL_PORTS).contains(&port)
            || port == PANIC
    }

    pub(super) fn read(&self, port: u16) -> u8 {
        let [low, high] = match port {
            PANIC => return PANICKED,
            CONTROL.. => self.control | SCI_EN,
            _ if port >= EVENT + 2 => self.enable,
            _ => 0,
        }
        .to_le_bytes();
        if port.is_multiple_of(2) { low } else { high }
    }

    pub(super) fn write(&mut self, port: u16, byte: u8) -> PowerEffect {
        if port == PANIC {
            return if byte & PANICKED != 0 { PowerEffect::Panicked } else { PowerEffect::None };
        }
        let register = match port {
            CONTROL.. => &mut self.control,
            _ if port >= EVENT + 2 => &mut self.enable,
            // Status: bits are cleared by writing 1, and none is set.
            _ => return PowerEffect::None,
        };
        let [low, high] = register.to_le_bytes();
        let bytes = if port.is_multiple_of(2) { [byte, high] } else { [low, byte] };
        *register = u16::from_le_bytes(bytes);
        if self.control & SLP_EN == 0 {
            return PowerEffect::None;
        }
        self.control &= !SLP_EN;
        // Other states are not offered.
        if self.control >> SLP_TYP_SHIFT & 7 == u16::from(S5) {
            PowerEffect::PowerOff
        } else {
            PowerEffect::None
        }
    }
}
