//! Exceptions of x86-64.

use core::fmt;

use firmware::FAULT_FLAG;

/// An exception that an instruction raised. Printed as manuals do: `#GP(0)`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Exception {
    /// Vector, for example [`Exception::GENERAL_PROTECTION`].
    pub vector: u8,
    /// Error code; 0 for exceptions that have none.
    pub error: u32,
}

impl Exception {
    /// #DE
    pub const DIVIDE_ERROR: u8 = 0;
    /// #UD
    pub const INVALID_OPCODE: u8 = 6;
    /// #GP
    pub const GENERAL_PROTECTION: u8 = 13;
    /// #PF
    pub const PAGE_FAULT: u8 = 14;

    /// `#GP(0)`: what a refused MSR or counter access raises.
    pub const GP0: Self = Self { vector: Self::GENERAL_PROTECTION, error: 0 };

    pub(super) fn from_word(word: u64) -> Result<(), Self> {
        if word & FAULT_FLAG == 0 {
            return Ok(());
        }
        Err(Self { vector: (word >> 32) as u8, error: word as u32 })
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.vector {
            0 => "#DE",
            1 => "#DB",
            3 => "#BP",
            4 => "#OF",
            5 => "#BR",
            6 => "#UD",
            7 => "#NM",
            8 => "#DF",
            10 => "#TS",
            11 => "#NP",
            12 => "#SS",
            13 => "#GP",
            14 => "#PF",
            16 => "#MF",
            17 => "#AC",
            18 => "#MC",
            19 => "#XM",
            other => return write!(f, "exception {other}({:#x})", self.error),
        };
        match self.error {
            0 => write!(f, "{name}(0)"),
            error => write!(f, "{name}({error:#x})"),
        }
    }
}

/// An exception of ring 3 and where it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Vector and error code.
    pub exception: Exception,
    /// Instruction that faulted, or for traps the one after.
    pub rip: u64,
    /// CR2: the faulting address if this is a page fault.
    pub cr2: u64,
}

impl Fault {
    /// What there is to know, by name.
    pub(crate) fn fields(&self) -> [(&'static str, u64); 4] {
        let Exception { vector, error } = self.exception;
        [("vector", vector.into()), ("error", error.into()), ("rip", self.rip), ("cr2", self.cr2)]
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at rip {:#x}", self.exception, self.rip)?;
        if self.exception.vector == Exception::PAGE_FAULT {
            write!(f, ", address {:#x}", self.cr2)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
