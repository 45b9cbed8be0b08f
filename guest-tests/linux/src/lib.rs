//! What the programs of this crate share: the ports of our VMM from user space, and results as TAP.
//!
//! The programs are built as static executables and run in the initial RAM disk of `cargo xtask linux`:
//!
//! | program | what it is for |
//! | --- | --- |
//! | `call-chain` | a workload with a call chain, to sample and to record branches of |
//! | `fixed-flops` | floating-point operations of known number |
//! | `fixed-work` | a process of known instructions from its first to its last |
//! | `guest-exit` | ends the run with a status, through the exit port |
//! | `host-perf-check` | lets `host-perf` count on this machine, and checks what it says |
//! | `pmu-checks` | asks the PMU what the kernel and rr ask it at their start |
//! | `workload` | a workload with one clear bottleneck, which the VMM measures for itself |

#![expect(unsafe_code, reason = "system calls")]

pub mod checks;

use std::io;

/// Lets this process use all I/O ports.
///
/// # Errors
/// The process lacks CAP_SYS_RAWIO, or the kernel the system call.
pub fn allow_ports() -> io::Result<()> {
    // SAFETY: iopl changes nothing but this thread's permission.
    if unsafe { libc::iopl(3) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// OUT of one byte; call [`allow_ports`] first, or the process gets SIGSEGV.
pub fn out8(port: u16, value: u8) {
    // SAFETY: the ports of our VMM do not touch memory.
    unsafe {
        std::arch::asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags));
    }
}

/// OUT of 32 bits; as [`out8`].
pub fn out32(port: u16, value: u32) {
    // SAFETY: the ports of our VMM do not touch memory.
    unsafe {
        std::arch::asm!("out dx, eax", in("dx") port, in("eax") value, options(nomem, nostack, preserves_flags));
    }
}

/// What the program `fixed-flops` does, besides its start-up.
pub mod fixed_flops {
    /// Times round the loop.
    pub const ROUNDS: u64 = 1_000_000;
    /// MULPS: four in each round.
    pub const MULTIPLICATIONS: u64 = 4 * ROUNDS;
    /// ADDPD: two in each round.
    pub const ADDITIONS: u64 = 2 * ROUNDS;
}

/// What the program `fixed-work` executes, by counting its source.
pub mod fixed_work {
    /// Times round the loop; even.
    pub const ROUNDS: u64 = 1_000_000;
    /// Bytes of the interval's name with its 0.
    const NAME: u64 = 11;
    /// Instructions between the two OUT that mark the interval, with the first of them and without the second.
    pub const INTERVAL_INSTRUCTIONS: u64 = 1 + 6 * ROUNDS + ROUNDS / 2 + 1;
    /// Branches between them, taken or not: call, jz, ret, jnz.
    pub const INTERVAL_BRANCHES: u64 = 4 * ROUNDS;
    /// Instructions of the whole process: before the interval, in it, after it.
    pub const INSTRUCTIONS: u64 = (3 + 2 + 4 * NAME + 3) + INTERVAL_INSTRUCTIONS + (1 + 3);
    /// Branches of the whole process without its two SYSCALLs.
    pub const BRANCHES: u64 = NAME + INTERVAL_BRANCHES;
    /// SYSCALLs of the process, which are far branches.
    pub const SYSCALLS: u64 = 2;
}
