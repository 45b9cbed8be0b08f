//! System registers: how they are named, and which are the CPU's own.

mod identification;
mod own;

pub use identification::Identification;
pub(crate) use identification::{BREAKPOINTS, WATCHPOINTS, ZVA_SHIFT};
pub(crate) use own::{El0, FPCR, FPSR, Kind, Numbered, OWN, Own, SPSR};

use core::fmt;

/// Names a system register by its encoding: op0 in bits 20:19, op1 in 18:16, CRn in 15:12, CRm in 11:8, op2 in 7:5. It
/// is the value that instructions have in the same bits (Arm ARM C5.1), and that Linux calls `sys_reg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SystemRegister(pub u32);

impl SystemRegister {
    /// The register with this encoding.
    #[must_use]
    pub const fn new(op0: u32, op1: u32, crn: u32, crm: u32, op2: u32) -> Self {
        Self(op0 << 19 | op1 << 16 | crn << 12 | crm << 8 | op2 << 5)
    }

    /// The register that an MRS, MSR, SYS or SYSL instruction names.
    pub(crate) const fn of(word: u32) -> Self {
        Self(word & 0x1F_FFE0)
    }

    /// op0: 2 for debug, 3 for all others, 1 for instructions of the class SYS.
    #[must_use]
    pub const fn op0(self) -> u32 {
        self.0 >> 19 & 3
    }

    /// op1, which also says which exception levels may access it: 3 for EL0.
    #[must_use]
    pub const fn op1(self) -> u32 {
        self.0 >> 16 & 7
    }

    /// CRn.
    #[must_use]
    pub const fn crn(self) -> u32 {
        self.0 >> 12 & 15
    }

    /// CRm.
    #[must_use]
    pub const fn crm(self) -> u32 {
        self.0 >> 8 & 15
    }

    /// op2.
    #[must_use]
    pub const fn op2(self) -> u32 {
        self.0 >> 5 & 7
    }

    /// The ISS of a trapped access (EC 0x18, Arm ARM D17.2.37) from or to general-purpose register `rt`.
    pub(crate) const fn syndrome(self, rt: u32, read: bool) -> u32 {
        self.op0() << 20
            | self.op2() << 17
            | self.op1() << 14
            | self.crn() << 10
            | rt << 5
            | self.crm() << 1
            | read as u32
    }
}

impl fmt::Display for SystemRegister {
    /// The name of a register of the CPU; others as assemblers name what they do not know: `S3_0_C1_C0_0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(own) = Own::find(*self) {
            return f.write_str(own.declaration().name);
        }
        let (op0, op1, crn, crm, op2) = (self.op0(), self.op1(), self.crn(), self.crm(), self.op2());
        write!(f, "S{op0}_{op1}_C{crn}_C{crm}_{op2}")
    }
}
