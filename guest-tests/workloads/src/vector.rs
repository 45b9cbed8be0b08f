//! Workloads of AVX to AVX-512: arithmetic on whole registers, and copies as the C library has them.
//!
//! They are in assembly, because what they are about is the instructions.
#![expect(unsafe_code, reason = "instructions that the compiler may not use by itself")]

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

/// Instructions beyond x86-64 itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extension {
    /// AVX2 and FMA, of x86-64-v3.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, of x86-64-v4.
    Avx512,
    /// REP MOVSB that is fast (ERMS); any CPU executes it.
    Erms,
}

impl Extension {
    /// True if this CPU has it and the system allows it, by CPUID and XCR0 (SDM volume 1, section 14.3).
    #[must_use]
    pub fn is_usable(self) -> bool {
        const AVX_STATE: u64 = 0b110;
        const AVX512_STATE: u64 = 0b1110_0110;
        const OSXSAVE: u32 = 1 << 27;
        // FMA (12), AVX (28); AVX2 (5); F (16), DQ (17), BW (30), VL (31).
        const AVX_AND_FMA: u32 = 1 << 12 | 1 << 28;
        const AVX2: u32 = 1 << 5;
        const AVX512: u32 = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;
        const ERMS: u32 = 1 << 9;
        let seven = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        let one = __cpuid(1).ecx;
        // SAFETY: CPUID says that the system has set CR4.OSXSAVE.
        let state = || if one & OSXSAVE != 0 { unsafe { _xgetbv(0) } } else { 0 };
        let has = |words: bool, wanted: u64| words && state() & wanted == wanted;
        match self {
            Self::Avx2 => has(one & AVX_AND_FMA == AVX_AND_FMA && seven & AVX2 != 0, AVX_STATE),
            Self::Avx512 => has(seven & AVX512 == AVX512, AVX512_STATE),
            Self::Erms => seven & ERMS != 0,
        }
    }
}

/// Factor, then addend: 0.75 and 0.25, a fixed point at 1 that pulls, so that the values stay normal numbers.
static STEP: [f32; 2] = [0.75, 0.25];
/// A loop has this many fused multiplications and additions: four for each of six chains. A chain has one in flight, so
/// that six of them keep two units of four cycles three quarters busy.
const STEPS: u64 = 24;

/// A loop of six chains in registers of this name and size; `$finish` leaves a lane of their sum in XMM0.
macro_rules! chains {
    ($name:ident, $register:literal, $($finish:literal),*) => {
        /// Six chains of fused multiplications and additions of whole registers.
        #[inline(never)]
        pub(crate) fn $name(_: &mut [u64], iterations: u64) -> u64 {
            let start = 2.0 + iterations as f32;
            let sum: f32;
            // SAFETY: a workload is only prepared where it is usable; the loop touches the named registers only.
            unsafe {
                asm!(
                    concat!("vbroadcastss ", $register, "6, [{step}]"),
                    concat!("vbroadcastss ", $register, "7, [{step} + 4]"),
                    concat!("vbroadcastss ", $register, "0, xmm0"),
                    concat!("vaddps ", $register, "1, ", $register, "0, ", $register, "7"),
                    concat!("vaddps ", $register, "2, ", $register, "1, ", $register, "7"),
                    concat!("vaddps ", $register, "3, ", $register, "2, ", $register, "7"),
                    concat!("vaddps ", $register, "4, ", $register, "3, ", $register, "7"),
                    concat!("vaddps ", $register, "5, ", $register, "4, ", $register, "7"),
                    "test {n}, {n}",
                    "jz 3f",
                    ".p2align 6",
                    "2:",
                    ".rept 4",
                    concat!("vfmadd213ps ", $register, "0, ", $register, "6, ", $register, "7"),
                    concat!("vfmadd213ps ", $register, "1, ", $register, "6, ", $register, "7"),
                    concat!("vfmadd213ps ", $register, "2, ", $register, "6, ", $register, "7"),
                    concat!("vfmadd213ps ", $register, "3, ", $register, "6, ", $register, "7"),
                    concat!("vfmadd213ps ", $register, "4, ", $register, "6, ", $register, "7"),
                    concat!("vfmadd213ps ", $register, "5, ", $register, "6, ", $register, "7"),
                    ".endr",
                    "dec {n}",
                    "jnz 2b",
                    "3:",
                    concat!("vaddps ", $register, "0, ", $register, "0, ", $register, "5"),
                    $($finish,)*
                    "vzeroupper",
                    n = inout(reg) iterations => _,
                    step = in(reg) &raw const STEP,
                    inout("xmm0") start => sum,
                    out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                    out("xmm6") _, out("xmm7") _,
                    options(nostack),
                );
            }
            u64::from(sum.to_bits()) << 32 | iterations.wrapping_mul(STEPS) & 0xFFFF_FFFF
        }
    };
}

chains!(flops_avx2, "ymm", "vextractf128 xmm1, ymm0, 1", "vaddss xmm0, xmm0, xmm1");
chains!(flops_avx512, "zmm", "vextractf32x4 xmm1, zmm0, 3", "vaddss xmm0, xmm0, xmm1");

/// Bytes that one iteration of a copy moves.
const PIECE: usize = 1024;
const PIECE_WORDS: usize = PIECE / size_of::<u64>();

/// Numbers in the half that is read.
pub(crate) fn prepare_copy(memory: &mut [u64]) {
    let half = memory.len() / 2;
    for (index, word) in memory.iter_mut().enumerate() {
        *word = if index < half { index as u64 } else { 0 };
    }
}

/// Copies piece after piece of the first half to the second. The first word says how far earlier calls came.
#[inline(always)]
fn copy(
    memory: &mut [u64],
    iterations: u64,
    piece: impl Fn(&[u64; PIECE_WORDS], &mut [u64; PIECE_WORDS]),
) -> u64 {
    let (from, to) = memory.split_at_mut(memory.len() / 2);
    let (from, _) = from.as_chunks_mut::<PIECE_WORDS>();
    let (to, _) = to.as_chunks_mut::<PIECE_WORDS>();
    let mut next = from[0][0] as usize;
    let mut last = 0;
    for _ in 0..iterations {
        // Piece 0 stays: it has the place.
        next = if next + 1 < from.len() { next + 1 } else { 1 };
        piece(&from[next], &mut to[next]);
        last = to[next][PIECE_WORDS - 1];
    }
    from[0][0] = next as u64;
    last
}

/// REP MOVSB, as `__memmove_avx_unaligned_erms` copies what is long.
#[inline(never)]
pub(crate) fn copy_erms(memory: &mut [u64], iterations: u64) -> u64 {
    copy(memory, iterations, |from, to| {
        // SAFETY: both pieces have so many bytes.
        unsafe {
            asm!(
                "rep movsb",
                inout("rcx") PIECE => _, inout("rsi") from.as_ptr() => _, inout("rdi") to.as_mut_ptr() => _,
                options(nostack, preserves_flags),
            );
        }
    })
}

/// Four loads and four stores a turn, of registers of 32 bytes: the loop of the C library's memmove.
macro_rules! by_four {
    ($name:ident, $doc:literal, [$a:literal, $b:literal, $c:literal, $d:literal], $load:literal, $store:literal
     $(, $finish:literal)*) => {
        #[doc = $doc]
        #[inline(never)]
        pub(crate) fn $name(memory: &mut [u64], iterations: u64) -> u64 {
            copy(memory, iterations, |from, to| {
                // SAFETY: a workload is only prepared where it is usable; both pieces have so many bytes. The compiler
                // uses no register from 16 on.
                unsafe {
                    asm!(
                        "2:",
                        concat!($load, " ", $a, ", [{from}]"),
                        concat!($load, " ", $b, ", [{from} + 32]"),
                        concat!($load, " ", $c, ", [{from} + 64]"),
                        concat!($load, " ", $d, ", [{from} + 96]"),
                        "sub {from}, -128",
                        concat!($store, " [{to}], ", $a),
                        concat!($store, " [{to} + 32], ", $b),
                        concat!($store, " [{to} + 64], ", $c),
                        concat!($store, " [{to} + 96], ", $d),
                        "sub {to}, -128",
                        "cmp {to}, {end}",
                        "jb 2b",
                        $($finish,)*
                        from = inout(reg) from.as_ptr() => _,
                        to = inout(reg) to.as_mut_ptr() => _,
                        end = in(reg) to.as_ptr_range().end,
                        out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                        options(nostack),
                    );
                }
            })
        }
    };
}

by_four!(
    copy_avx,
    "As `__memmove_avx_unaligned_erms` copies what is short.",
    ["ymm1", "ymm2", "ymm3", "ymm4"],
    "vmovdqu",
    "vmovdqu",
    "vzeroupper"
);
by_four!(
    copy_evex,
    "As `__memmove_evex_unaligned_erms` copies what is short: without VZEROUPPER.",
    ["ymm16", "ymm17", "ymm18", "ymm19"],
    "vmovdqu64",
    "vmovdqu64"
);
