//! What the programs of this crate share: the devices of our VMM from user space, and results as TAP.
//!
//! The programs are built as static executables and run in the initial RAM disk of `cargo xtask linux`:
//!
//! | program | what it is for |
//! | --- | --- |
//! | `call-chain` | a workload with a call chain, to sample and to record branches of |
//! | `fixed-flops` | floating-point operations of known number |
//! | `fixed-work` | a process of known instructions from its first to its last |
//! | `guest-exit` | ends the run with a status, through the exit device |
//! | `host-perf-check` | lets `host-perf` count on this machine, and checks what it says |
//! | `pmu-checks` | asks the PMU what the kernel and rr ask it at their start |
//! | `workload` | a workload with one clear bottleneck, which the VMM measures for itself |
//!
//! `fixed-flops`, `host-perf-check` and `pmu-checks` are about x86.

#![expect(unsafe_code, reason = "system calls")]

pub mod checks;
pub mod vmm;

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
#[derive(Debug, Clone, Copy)]
pub struct FixedWork {
    /// Instructions between the two accesses that mark the interval, with the first of them and without the second.
    pub interval_instructions: u64,
    /// Branches between them, taken or not: a call and its return, one forward, one back.
    pub interval_branches: u64,
    /// Instructions of the whole process.
    pub instructions: u64,
    /// Branches of the whole process without its system calls.
    pub branches: u64,
    /// System calls of the process.
    pub system_calls: u64,
}

impl FixedWork {
    /// Times round the loop; even.
    pub const ROUNDS: u64 = 1_000_000;
    /// Branches that are not taken: the forward one of every second round, and the last one of each loop.
    pub const NOT_TAKEN: u64 = Self::ROUNDS / 2 + 2;
    /// Bytes of the interval's name with its 0.
    const NAME: u64 = 11;

    /// On x86-64. A system call is a far branch.
    pub const X86_64: Self = Self::new(6, 3 + 2 + 4 * Self::NAME + 3, 2);
    /// On AArch64.
    pub const AARCH64: Self = Self::new(5, 6 + 8 + 2 + 3 * Self::NAME + 3, 3);

    /// By the instructions of a round, of which every second one has one more, and those before the interval. Behind
    /// it come the access that ends it and three instructions of the last system call.
    const fn new(round: u64, before: u64, system_calls: u64) -> Self {
        let interval_instructions = 1 + round * Self::ROUNDS + Self::ROUNDS / 2 + 1;
        let interval_branches = 4 * Self::ROUNDS;
        Self {
            interval_instructions,
            interval_branches,
            instructions: before + interval_instructions + (1 + 3),
            branches: Self::NAME + interval_branches,
            system_calls,
        }
    }
}
