//! The program port of our VMM, see [`guest_protocol::program`].

use serde::{Deserialize, Serialize};

/// What the guest's init asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramCommand {
    /// The command.
    pub command: u32,
    /// Bytes of the window that it is about, or what else the command says of its length.
    pub length: u32,
}

/// Its length register; the machine carries out commands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ProgramPort {
    length: u32,
}

impl ProgramPort {
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    pub(crate) fn set_length(&mut self, length: u32) {
        self.length = length;
    }

    pub(crate) fn command(&self, command: u32) -> ProgramCommand {
        ProgramCommand { command, length: self.length }
    }
}
