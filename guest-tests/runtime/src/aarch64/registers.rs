//! System registers by number. An access that is refused yields an [`Exception`] instead of ending the run.

use core::arch::asm;

use firmware::{FAULT_FLAG, register_code};

use super::Exception;

/// A register in Linux' packed form: `op0 << 19 | op1 << 16 | CRn << 12 | CRm << 8 | op2 << 5`.
#[must_use]
pub const fn packed(op0: u32, op1: u32, crn: u32, crm: u32, op2: u32) -> u32 {
    op0 << 19 | op1 << 16 | crn << 12 | crm << 8 | op2 << 5
}

/// Bytes from the MRS of a register to its MSR.
const WRITE: u64 = 8;

/// Calls the code of a register; returns X0 and the exception.
fn access(code: u64, value: u64) -> Result<u64, Exception> {
    let (result, fault): (u64, u64);
    // SAFETY: a test image owns its machine; a register that breaks it breaks that test only. The code is MRS or MSR
    // of X0, and RET; an exception sets X1.
    unsafe {
        asm!("blr {}", in(reg) code, inout("x0") value => result, inout("x1") 0_u64 => fault, out("x30") _);
    }
    if fault & FAULT_FLAG == 0 { Ok(result) } else { Err(Exception { syndrome: fault as u32 }) }
}

/// MRS of a register with op0 = 3, at the level of the caller.
///
/// # Errors
/// The exception of the MRS.
pub fn read(register: u32) -> Result<u64, Exception> {
    access(register_code(register), 0)
}

/// MSR of a register with op0 = 3, at the level of the caller. An ISB follows.
///
/// # Errors
/// The exception of the MSR.
pub fn write(register: u32, value: u64) -> Result<(), Exception> {
    access(register_code(register) + WRITE, value)?;
    // SAFETY: changes nothing.
    unsafe { asm!("isb", options(nostack, preserves_flags)) };
    Ok(())
}
