//! System registers by name, and what refuses an access to one.

/// The name of a system register: `op0<<19 | op1<<16 | CRn<<12 | CRm<<8 | op2<<5`, where MRS and MSR have it (Arm ARM
/// C5.1), as Linux' `sys_reg()`.
#[must_use]
pub const fn encoding(op0: u32, op1: u32, crn: u32, crm: u32, op2: u32) -> u32 {
    op0 << 19 | op1 << 16 | crn << 12 | crm << 8 | op2 << 5
}

/// Why an access is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such register at this exception level, or not for reading or for writing: UNDEFINED.
    #[error("there is no such access at this exception level")]
    Undefined,
    /// A control of EL1 traps it.
    #[error("EL1 traps it from EL0")]
    Trapped,
}
