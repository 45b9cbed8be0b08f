//! Costs of system and other instructions that LLVM's models do not have, or have without their microcode.
//!
//! Uops and cycles are of the order that Agner Fog's instruction tables and uops.info report for Skylake and its
//! successors, rounded; microcode differs from one stepping to the next.

use iced_x86::Mnemonic;

/// What an instruction waits for, and what waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    /// Nothing.
    #[default]
    Free,
    /// Everything older has to be complete first, and nothing younger starts before it is complete itself.
    Serialising,
    /// As [`Serialising`](Self::Serialising), and older stores have reached the cache too.
    Fence,
}

/// One instruction's cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SystemCost {
    pub(crate) uops: u16,
    pub(crate) cycles: u16,
    pub(crate) order: Order,
}

/// Cost of an instruction that is in no table.
pub(crate) fn system_cost(mnemonic: Mnemonic) -> Option<SystemCost> {
    use Mnemonic as M;
    use Order::{Fence, Free, Serialising};
    let (uops, cycles, order) = match mnemonic {
        M::Cpuid => (30, 110, Serialising),
        M::Lfence => (2, 2, Serialising),
        M::Mfence => (4, 33, Fence),
        M::Sfence => (2, 6, Free),
        M::Serialize => (10, 60, Serialising),
        M::Rdtsc => (15, 25, Free),
        M::Rdtscp => (20, 32, Serialising),
        M::Rdpmc => (31, 38, Free),
        M::Rdmsr => (40, 90, Serialising),
        M::Wrmsr => (60, 150, Serialising),
        M::Xgetbv => (8, 11, Free),
        M::Xsetbv => (20, 60, Serialising),
        M::Rdrand | M::Rdseed => (16, 350, Free),
        M::Cli => (3, 4, Free),
        M::Sti => (6, 7, Free),
        M::Pushf | M::Pushfd | M::Pushfq => (3, 3, Free),
        M::Popf | M::Popfd | M::Popfq => (9, 20, Free),
        M::Syscall | M::Sysenter => (45, 70, Serialising),
        M::Sysret | M::Sysretq | M::Sysexit | M::Sysexitq => (40, 60, Serialising),
        M::Iret | M::Iretd | M::Iretq => (45, 90, Serialising),
        M::Int | M::Int3 | M::Into | M::Int1 => (80, 200, Serialising),
        M::Swapgs => (8, 25, Free),
        M::Rdfsbase | M::Rdgsbase => (2, 3, Free),
        M::Wrfsbase | M::Wrgsbase => (4, 18, Free),
        M::Invlpg | M::Invpcid => (40, 150, Serialising),
        M::Wbinvd | M::Invd => (200, 2000, Fence),
        M::Lgdt | M::Lidt | M::Lldt | M::Ltr => (30, 60, Serialising),
        M::Sgdt | M::Sidt | M::Sldt | M::Str | M::Smsw => (6, 15, Free),
        M::Lmsw | M::Clts => (20, 60, Serialising),
        M::Hlt | M::Mwait => (20, 60, Serialising),
        M::Monitor => (8, 12, Free),
        M::In | M::Out => (30, 300, Serialising),
        M::Insb | M::Insw | M::Insd | M::Outsb | M::Outsw | M::Outsd => (40, 300, Serialising),
        M::Xsave | M::Xsave64 | M::Xsavec | M::Xsavec64 | M::Xsaves | M::Xsaves64 => (110, 70, Free),
        M::Xsaveopt | M::Xsaveopt64 => (110, 60, Free),
        M::Xrstor | M::Xrstor64 | M::Xrstors | M::Xrstors64 => (120, 60, Free),
        M::Fxsave | M::Fxsave64 => (110, 70, Free),
        M::Clflush => (4, 4, Free),
        M::Clflushopt | M::Clwb => (4, 2, Free),
        M::Ud0 | M::Ud1 | M::Ud2 => (4, 20, Serialising),
        _ => return None,
    };
    Some(SystemCost { uops, cycles, order })
}
