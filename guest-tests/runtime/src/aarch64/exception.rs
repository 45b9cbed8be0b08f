//! Exceptions of AArch64.

use core::fmt;

/// A synchronous exception that an instruction raised: ESR_EL1 (Arm ARM, D24.2.40).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Exception {
    /// ESR_EL1, bits 31:0.
    pub syndrome: u32,
}

/// IL: the instruction is 32 bits long.
const LENGTH_32: u32 = 1 << 25;

impl Exception {
    /// Class "unknown reason": what an instruction that is UNDEFINED raises.
    pub const UNDEFINED: Self = Self { syndrome: LENGTH_32 };
    /// Class of a trapped MSR, MRS or system instruction.
    pub const CLASS_SYSTEM: u32 = 0x18;
    /// Class of SVC in AArch64.
    pub const CLASS_SVC: u32 = 0x15;
    /// Class of a data abort from EL0.
    pub const CLASS_DATA_ABORT_EL0: u32 = 0x24;
    /// Class of a data abort from EL1.
    pub const CLASS_DATA_ABORT: u32 = 0x25;

    /// What a trapped MRS or MSR with X0 raises; the register in Linux' packed form.
    #[must_use]
    pub fn trapped(packed: u32, is_read: bool) -> Self {
        let field = |low: u32, mask: u32| packed >> low & mask;
        let name = field(19, 3) << 20
            | field(5, 7) << 17
            | field(16, 7) << 14
            | field(12, 15) << 10
            | field(8, 15) << 1;
        Self { syndrome: Self::CLASS_SYSTEM << 26 | LENGTH_32 | name | u32::from(is_read) }
    }

    /// Exception class, bits 31:26.
    #[must_use]
    pub const fn class(self) -> u32 {
        self.syndrome >> 26
    }

    /// What the class says besides, bits 24:0.
    #[must_use]
    pub const fn specific(self) -> u32 {
        self.syndrome & 0x1FF_FFFF
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.class() {
            0 => "undefined instruction",
            0x07 => "trapped floating point",
            0x0E => "illegal execution state",
            0x15 => "SVC",
            0x18 => "trapped system register",
            0x20 | 0x21 => "instruction abort",
            0x22 => "PC alignment fault",
            0x24 | 0x25 => "data abort",
            0x26 => "SP alignment fault",
            0x2F => "SError",
            0x3C => "BRK",
            other => return write!(f, "exception class {other:#x}, ISS {:#x}", self.specific()),
        };
        write!(f, "{name} (EC {:#x}, ISS {:#x})", self.class(), self.specific())
    }
}

impl fmt::Debug for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An exception and where it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What was raised.
    pub exception: Exception,
    /// ELR_EL1: the instruction, or for SVC the one after.
    pub pc: u64,
    /// FAR_EL1: the faulting address if this is an abort.
    pub address: u64,
    /// Exception level that it came from.
    pub level: u8,
}

impl Fault {
    /// What there is to know, by name.
    pub(crate) fn fields(&self) -> [(&'static str, u64); 4] {
        [
            ("syndrome", self.exception.syndrome.into()),
            ("pc", self.pc),
            ("address", self.address),
            ("level", self.level.into()),
        ]
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at pc {:#x} in EL{}", self.exception, self.pc, self.level)?;
        if matches!(self.exception.class(), 0x20 | 0x21 | 0x24 | 0x25) {
            write!(f, ", address {:#x}", self.address)?;
        }
        Ok(())
    }
}
