//! Unprivileged CPU facts: CPUID, the time stamp counter.

use core::arch::{asm, x86_64};

use super::calls;

/// Brings x87 and SSE to their defaults; the firmware only allows them.
pub(crate) fn initialise() {
    let mxcsr: u32 = 0x1F80;
    // SAFETY: these are the values that the Rust ABI asks for.
    unsafe { asm!("fninit", "ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack)) };
}

/// Registers that CPUID returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cpuid {
    /// EAX
    pub eax: u32,
    /// EBX
    pub ebx: u32,
    /// ECX
    pub ecx: u32,
    /// EDX
    pub edx: u32,
}

/// CPUID `leaf`, sub-leaf `sub`, executed in ring 0: KVM hosts that interpret ring 0 run ring 3
/// natively, and it sees the host's CPU. All zero if the CPU does not have the leaf (the hardware
/// would answer with another leaf's data).
#[must_use]
pub fn cpuid(leaf: u32, sub: u32) -> Cpuid {
    let [highest, ..] = calls::cpuid_ring0(leaf & 0xFFFF_0000, 0);
    if leaf > highest && leaf & 0xFFFF != 0 {
        return Cpuid::default();
    }
    let [eax, ebx, ecx, edx] = calls::cpuid_ring0(leaf, sub);
    Cpuid { eax, ebx, ecx, edx }
}

/// Family and model of the CPU, extended fields folded in as the SDM says.
#[must_use]
pub fn family_model() -> (u32, u32) {
    let signature = cpuid(1, 0).eax;
    let base_family = signature >> 8 & 0xF;
    let family = if base_family == 0xF { base_family + (signature >> 20 & 0xFF) } else { base_family };
    let extended = if base_family == 6 || base_family == 0xF { signature >> 12 & 0xF0 } else { 0 };
    (family, extended | signature >> 4 & 0xF)
}

/// True if the vendor string is `GenuineIntel`.
#[must_use]
pub fn is_intel() -> bool {
    let vendor = cpuid(0, 0);
    (vendor.ebx, vendor.edx, vendor.ecx) == (0x756E_6547, 0x4965_6E69, 0x6C65_746E)
}

/// True for AMD CPUs.
#[must_use]
pub fn is_amd() -> bool {
    let vendor = cpuid(0, 0);
    (vendor.ebx, vendor.edx, vendor.ecx) == (0x6874_7541, 0x6974_6E65, 0x444D_4163)
}

/// The time stamp counter, in TSC ticks.
#[must_use]
pub fn rdtsc() -> u64 {
    // SAFETY: CR4.TSD is clear, so RDTSC is allowed in ring 3.
    unsafe { x86_64::_rdtsc() }
}
