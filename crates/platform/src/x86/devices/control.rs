//! Control port of our VMM, see [`guest_protocol::control`].

use guest_protocol::{control, ports};
use serde::{Deserialize, Serialize};

/// First port of the 32-bit command and status register.
pub const BASE: u16 = ports::CONTROL;
/// Number of ports.
pub const PORTS: u16 = 4;
/// The label port, one byte wide.
pub const LABEL: u16 = ports::CONTROL_LABEL;
/// Longest label in bytes; the rest of a longer one is dropped.
pub const MAX_LABEL: usize = 128;

/// A command that the machine has to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    SaveRestore,
    IntervalBegin,
    IntervalEnd,
}

/// Status of the last command and the label that is being written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Control {
    status: u32,
    label: Vec<u8>,
}

impl Control {
    pub(super) fn status(&self) -> u32 {
        self.status
    }

    /// A 32-bit command. Until the machine reports back, the status says that it failed.
    pub(super) fn command(&mut self, command: u32) -> Option<Command> {
        match command {
            control::SAVE_RESTORE => {
                self.status = control::STATUS_FAILED;
                Some(Command::SaveRestore)
            }
            control::INTERVAL_BEGIN => {
                self.status = control::STATUS_OK;
                Some(Command::IntervalBegin)
            }
            control::INTERVAL_END => {
                self.status = control::STATUS_OK;
                Some(Command::IntervalEnd)
            }
            _ => {
                self.status = control::STATUS_UNKNOWN;
                None
            }
        }
    }

    pub(super) fn done(&mut self, success: bool) {
        self.status = if success { control::STATUS_OK } else { control::STATUS_FAILED };
    }

    /// A byte of a label; the 0 at its end returns it. Bytes that are not UTF-8 become U+FFFD.
    pub(super) fn label_byte(&mut self, byte: u8) -> Option<String> {
        if byte == 0 {
            let label = String::from_utf8_lossy(&self.label).into_owned();
            self.label.clear();
            return Some(label);
        }
        if self.label.len() < MAX_LABEL {
            self.label.push(byte);
        }
        None
    }
}
