//! The shim at EL1.
//!
//! It is entered at EL1 with the MMU off, as the arm64 Linux boot protocol and QEMU leave a machine, turns on MMU and
//! caches, and calls `guest_main` at EL1. Test code runs at EL1; parts of it go to EL0 and back.
//!
//! # What the image supplies
//!
//! * `guest_main(&BootInfo) -> !`, entered at EL1 with all exceptions masked;
//! * `guest_exception(&mut frame)`, for exceptions of both levels: see `vectors.S` for the frame;
//! * a linker script that defines the stacks; `firmware/aarch64.ld` does.
//!
//! # Memory
//!
//! Devices below 1 GiB and the RAM from 1 to 2 GiB are mapped one to one and open to EL0. The 2 MiB of the image's
//! code are read-only and executable at both levels, everything else is not executable: a page that EL0 can
//! write is never executable at EL1 (Arm ARM, D8.4 "Memory access control").

use core::arch::global_asm;

/// How the image was entered; the argument of `guest_main`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct BootInfo {
    /// X0 at entry: address of the devicetree, or 0 from loaders of ELF files that say nothing.
    pub devicetree: u64,
}

/// Comes from EL0 back to the EL1 code that went there: immediate of the SVC.
pub const SVC_LEAVE_EL0: u32 = 0xE10;

/// Set in X1 when an access of [`registers`] raised an exception; bits 31:0 are ESR_EL1 then.
pub const FAULT_FLAG: u64 = 1 << 32;

/// Instructions in one iteration of the counting loop (eight NOP, SUBS, B.NE).
pub const LOOP_INSTRUCTIONS: u64 = 10;
/// Branches in one iteration of the counting loop; all taken but the last.
pub const LOOP_BRANCHES: u64 = 1;

/// Bytes of the code of one register, see [`registers`].
const REGISTER_SIZE: u64 = 16;
/// System registers with op0 = 3.
const REGISTERS: u64 = 1 << 14;

/// Offset of a vector in the table is its number times 80H.
const VECTORS: u32 = 16;

/// T0SZ = 25 (39 bits, so that tables start at level 1), write-back cacheable and inner shareable walks, 4 KiB granule,
/// nothing through TTBR1, 36 bits of physical address.
const TCR: u64 = 25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23 | 1 << 32;
/// Attribute 0 is write-back memory, attribute 1 Device-nGnRE.
const MAIR: u64 = 0x04FF;
/// RES1 bits and M, C, SA, SA0, I, DZE, UCT, nTWI, nTWE, UCI.
const SCTLR: u64 =
    0x30D0_0800 | 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 12 | 0xC000 | 1 << 16 | 1 << 18 | 1 << 26;
/// FPEN: no traps of floating point.
const CPACR: u64 = 3 << 20;
/// EL0 may read the virtual counter.
const CNTKCTL: u64 = 1 << 1;

global_asm!(
    include_str!("boot.S"),
    include_str!("vectors.S"),
    include_str!("user.S"),
    include_str!("registers.S"),
    include_str!("loops.S"),
    TCR = const TCR,
    MAIR = const MAIR,
    SCTLR = const SCTLR,
    CPACR = const CPACR,
    CNTKCTL = const CNTKCTL,
    VECTORS = const VECTORS,
    SVC_LEAVE_EL0 = const SVC_LEAVE_EL0,
    REGISTERS = const REGISTERS,
);

unsafe extern "C" {
    fn firmware_registers();
    fn firmware_left_el0();

    /// Calls `function(argument)` at EL0 with the exception masks of `pstate`, and returns what it returns.
    ///
    /// # Safety
    /// As for calling `function`.
    pub fn firmware_enter_el0(function: extern "C" fn(u64) -> u64, argument: u64, pstate: u64) -> u64;

    /// The counting loop, at least one iteration.
    pub safe fn firmware_loop(iterations: u64);

    /// Writes `first` to PMCR_EL0, runs the counting loop, writes `second`. At EL0 it needs PMUSERENR_EL0.EN.
    /// Between the two MSRs retire an ISB and the loop.
    ///
    /// # Safety
    /// The register must exist.
    pub fn firmware_window(first: u64, iterations: u64, second: u64);
}

/// Where the code of all registers with op0 = 3 lies: for each `MRS X0, register; RET` and `MSR register, X0; RET`.
/// An exception at the MRS or MSR is for `guest_exception` to report: it sets X1 by [`FAULT_FLAG`] and goes on at the
/// RET.
#[must_use]
pub fn registers() -> core::ops::Range<u64> {
    let start = firmware_registers as *const () as u64;
    start..start + REGISTERS * REGISTER_SIZE
}

/// Address of the MRS of a register in Linux' packed form, op0 = 3; the MSR is 8 bytes further.
#[must_use]
pub fn register_code(packed: u32) -> u64 {
    registers().start + u64::from(packed >> 5 & 0x3FFF) * REGISTER_SIZE
}

/// Where EL1 goes on after [`SVC_LEAVE_EL0`], with the stack pointer and X0 as they are.
#[must_use]
pub fn left_el0() -> u64 {
    firmware_left_el0 as *const () as u64
}
