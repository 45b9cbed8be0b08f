//! Vector state beyond SSE: XCR0 (SDM volume 1, chapter 13).

use core::arch::asm;

use super::{
    Exception,
    calls::{set_osxsave, xsetbv},
    cpu::cpuid,
};

/// x87 and SSE, which are always there.
pub const SSE: u64 = 0b11;
/// The upper halves of YMM0 to YMM15.
pub const AVX: u64 = 1 << 2;
/// The mask registers, the upper halves of ZMM0 to ZMM15, and ZMM16 to ZMM31.
pub const AVX512: u64 = 0b111 << 5;

/// The bits of XCR0 that CPUID offers (leaf 0DH); 0 without XSAVE.
#[must_use]
pub fn offered() -> u64 {
    if cpuid(1, 0).ecx & 1 << 26 == 0 {
        return 0;
    }
    let leaf = cpuid(0xD, 0);
    u64::from(leaf.edx) << 32 | u64::from(leaf.eax)
}

/// Sets CR4.OSXSAVE, and XCR0 to these components beside SSE.
///
/// # Errors
/// The exception of either write.
pub fn enable(components: u64) -> Result<(), Exception> {
    set_osxsave(true)?;
    xsetbv(SSE | components)
}

/// XCR0, read in ring 3. Needs CR4.OSXSAVE.
#[must_use]
pub fn xcr0() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: reads a register; without CR4.OSXSAVE the #UD ends the test.
    unsafe { asm!("xgetbv", in("ecx") 0, out("rax") low, out("rdx") high, options(nomem, nostack)) };
    high << 32 | low
}

/// Has AVX2 and FMA, by CPUID.
#[must_use]
pub fn has_avx2() -> bool {
    let (one, seven) = (cpuid(1, 0).ecx, cpuid(7, 0).ebx);
    offered() & AVX != 0 && one & 1 << 12 != 0 && one & 1 << 28 != 0 && seven & 1 << 5 != 0
}

/// Has AVX-512 F, CD, BW, DQ and VL, by CPUID: what x86-64-v4 asks for.
#[must_use]
pub fn has_avx512() -> bool {
    const WANTED: u32 = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31;
    offered() & AVX512 == AVX512 && cpuid(7, 0).ebx & WANTED == WANTED
}
