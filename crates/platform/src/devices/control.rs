//! Control device of our VMM, see [`guest_protocol::control`].

use guest_protocol::control;
use serde::{Deserialize, Serialize};

/// Longest label in bytes; the rest of a longer one is dropped.
pub const MAX_LABEL: usize = 128;

/// A command that the machine has to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
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
    pub(crate) fn status(&self) -> u32 {
        self.status
    }

    /// A 32-bit command. Until the machine reports back, the status says that it failed.
    pub(crate) fn command(&mut self, command: u32) -> Option<Command> {
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

    pub(crate) fn done(&mut self, success: bool) {
        self.status = if success { control::STATUS_OK } else { control::STATUS_FAILED };
    }

    /// A byte of a label; the 0 at its end returns it. Bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn label_byte(&mut self, byte: u8) -> Option<String> {
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
