//! Debug console: every byte written is a character (QEMU `isa-debugcon`, Bochs port 0xE9 hack).

use super::Output;
use core::fmt;
use std::io::Write;

/// What reading its register gives; guests detect the device by it.
pub const SIGNATURE: u8 = 0xE9;

/// The debug console.
pub struct DebugConsole {
    output: Output,
    lost: u64,
}

impl DebugConsole {
    /// A console whose output goes to `output`.
    #[must_use]
    pub fn new(output: Output) -> Self {
        Self { output, lost: 0 }
    }

    /// Bytes that the output refused.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn write(&mut self, byte: u8) {
        if self.output.write_all(&[byte]).and_then(|()| self.output.flush()).is_err() {
            self.lost += 1;
        }
    }
}

impl fmt::Debug for DebugConsole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugConsole").field("lost", &self.lost).finish_non_exhaustive()
    }
}
