//! Model-specific configuration registers that guests of AMD CPUs expect.
//!
//! None has an effect on this machine, so they are constants, and writes are dropped. Source: what Linux
//! (`arch/x86/kernel/cpu/amd.c`, `arch/x86/kernel/cpu/mtrr/cleanup.c`) reads and writes without being ready for
//! #GP, and what `arch/x86/kvm/x86.c` answers for it.

/// SYSCFG: no memory encryption, no extra MTRR modes.
const SYSCFG: u32 = 0xC001_0010;
/// HWCR.
const HWCR: u32 = 0xC001_0015;
/// HWCR.TscFreqSel: the TSC counts at the P0 frequency.
const TSC_FREQ_SEL: u64 = 1 << 24;
/// NB_CFG.
const NB_CFG: u32 = 0xC001_001F;
/// LS_CFG.
const LS_CFG: u32 = 0xC001_1020;
/// DE_CFG.
const DE_CFG: u32 = 0xC001_1029;
/// DE_CFG: LFENCE serialises.
const LFENCE_SERIALIZE: u64 = 1 << 1;

/// The value of a register, or `None` when it is none of these.
pub(crate) fn read(index: u32) -> Option<u64> {
    Some(match index {
        HWCR => TSC_FREQ_SEL,
        DE_CFG => LFENCE_SERIALIZE,
        SYSCFG | NB_CFG | LS_CFG => 0,
        _ => return None,
    })
}
