//! Which CPUs an image is for.

use std::fmt;

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// 32-bit and 64-bit x86.
    X86,
    /// 64-bit Arm.
    Aarch64,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86 => "x86",
            Self::Aarch64 => "AArch64",
        })
    }
}
