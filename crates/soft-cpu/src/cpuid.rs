//! What the CPU can do, as CPUID says it.

use crate::low::Low;

/// The four registers that CPUID returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuidLeaf {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

/// Physical address bits.
pub(crate) const PHYSICAL_BITS: u32 = 46;
/// State component of XCR0: x87.
pub(crate) const X87_STATE: u64 = 1;
/// State component of XCR0: XMM registers and MXCSR.
pub(crate) const SSE_STATE: u64 = 1 << 1;
/// State component of XCR0: the upper halves of YMM0 to YMM15.
pub(crate) const AVX_STATE: u64 = 1 << 2;
/// State components of XCR0: opmask, ZMM_Hi256, Hi16_ZMM.
pub(crate) const AVX512_STATE: u64 = 0b111 << 5;

/// Highest basic leaf.
const MAX_BASIC: u32 = 0xD;
const MAX_EXTENDED: u32 = 0x8000_0008;

const fn bits<const N: usize>(positions: [u32; N]) -> u32 {
    let mut mask = 0;
    let mut n = 0;
    while n < N {
        mask |= 1 << positions[n];
        n += 1;
    }
    mask
}

/// Leaf 1 ECX: SSE3 (0), PCLMULQDQ (1), SSSE3 (9), FMA (12), CX16 (13), PCID (17), SSE4.1 (19), SSE4.2 (20),
/// MOVBE (22), POPCNT (23), AES (25), XSAVE (26), AVX (28), F16C (29), RDRAND (30).
const LEAF_1_ECX: u32 = bits([0, 1, 9, 12, 13, 17, 19, 20, 22, 23, 25, 26, 28, 29, 30]);
/// Leaf 1 EDX: FPU (0), DE (2), PSE (3), TSC (4), MSR (5), PAE (6), CX8 (8), SEP (11), PGE (13), CMOV (15),
/// PAT (16), CLFSH (19), MMX (23), FXSR (24), SSE (25), SSE2 (26).
const LEAF_1_EDX: u32 = bits([0, 2, 3, 4, 5, 6, 8, 11, 13, 15, 16, 19, 23, 24, 25, 26]);
/// Leaf 7 EBX: FSGSBASE (0), BMI1 (3), AVX2 (5), FDP_EXCPTN_ONLY (6), SMEP (7), BMI2 (8), ERMS (9), INVPCID (10),
/// no x87 CS and DS (13), AVX512F (16), AVX512DQ (17), RDSEED (18), ADX (19), SMAP (20), AVX512_IFMA (21),
/// CLFLUSHOPT (23), CLWB (24), AVX512CD (28), SHA (29), AVX512BW (30), AVX512VL (31).
const LEAF_7_EBX: u32 = bits([0, 3, 5, 6, 7, 8, 9, 10, 13, 16, 17, 18, 19, 20, 21, 23, 24, 28, 29, 30, 31]);
/// Leaf 7 ECX: AVX512_VBMI (1), UMIP (2), AVX512_VBMI2 (6), GFNI (8), VAES (9), VPCLMULQDQ (10), AVX512_VNNI (11),
/// AVX512_BITALG (12), AVX512_VPOPCNTDQ (14), RDPID (22), CLDEMOTE (25), MOVDIRI (27), MOVDIR64B (28).
const LEAF_7_ECX: u32 = bits([1, 2, 6, 8, 9, 10, 11, 12, 14, 22, 25, 27, 28]);
/// Leaf 7 EDX: FSRM (4), AVX512_VP2INTERSECT (8), SERIALIZE (14), AVX512_FP16 (23).
const LEAF_7_EDX: u32 = bits([4, 8, 14, 23]);
/// Leaf 7, subleaf 1, EAX: AVX_VNNI (4), AVX512_BF16 (5), FZRM (10), FSRS (11), FSRC (12), AVX_IFMA (23).
const LEAF_7_1_EAX: u32 = bits([4, 5, 10, 11, 12, 23]);
/// Leaf 7, subleaf 1, EDX: AVX_VNNI_INT8 (4), AVX_VNNI_INT16 (10), PREFETCHIT (14).
const LEAF_7_1_EDX: u32 = bits([4, 10, 14]);
/// Leaf 0DH, subleaf 1, EAX: XSAVEOPT (0), XSAVEC (1), XGETBV with ECX = 1 (2), XSAVES (3).
const LEAF_D_1_EAX: u32 = bits([0, 1, 2, 3]);
/// Bytes of an XSAVE area with x87 and SSE state.
const XSAVE_AREA: u32 = 576;
/// Leaf 8000_0001H ECX: LAHF (0), LZCNT (5), PREFETCHW (8).
const EXTENDED_ECX: u32 = bits([0, 5, 8]);
/// Leaf 8000_0001H EDX: SYSCALL (11), NX (20), 1 GiB pages (26), RDTSCP (27), LM (29).
const EXTENDED_EDX: u32 = bits([11, 20, 26, 27, 29]);
/// Leaf 8000_0001H EDX of AMD's CPUs has bits of leaf 1 too, 0 to 9, 12 to 17, 23 and 24, and MMX extensions (22),
/// which SSE includes.
const EXTENDED_EDX_AMD: u32 = LEAF_1_EDX & 0x0183_F3FF | bits([22]);
/// Leaf 8000_0008H EBX: CLZERO (0), WBNOINVD (9).
const EXTENDED_8_EBX: u32 = bits([0, 9]);

/// The leaf of a CPU that has exactly what this crate implements, Intel's and AMD's, without signature (leaf 1 EAX),
/// APIC (leaf 1 EDX bit 9) and PMU leaves, which the embedder adds. The embedder takes away what the CPU that it
/// shows has not, and tells [`Cpu::with_features`](crate::Cpu::with_features).
#[must_use]
pub fn leaf(leaf: u32, subleaf: u32) -> CpuidLeaf {
    match leaf {
        0 => {
            let word = |text: &[u8; 4]| u32::from_le_bytes(*text);
            CpuidLeaf { eax: MAX_BASIC, ebx: word(b"Genu"), edx: word(b"ineI"), ecx: word(b"ntel") }
        }
        // CLFLUSH of 64 bytes (8 x 8), one logical CPU.
        1 => CpuidLeaf { eax: 0, ebx: 1 << 16 | 8 << 8, ecx: LEAF_1_ECX, edx: LEAF_1_EDX },
        // "Use leaf 4", which the embedder has.
        2 => CpuidLeaf { eax: 0xFF01, ..CpuidLeaf::default() },
        7 if subleaf == 0 => CpuidLeaf { eax: 1, ebx: LEAF_7_EBX, ecx: LEAF_7_ECX, edx: LEAF_7_EDX },
        7 if subleaf == 1 => CpuidLeaf { eax: LEAF_7_1_EAX, edx: LEAF_7_1_EDX, ..CpuidLeaf::default() },
        // x87 and SSE state. The CPU itself adds components and sizes.
        0xD if subleaf == 0 => {
            let state = X87_STATE | SSE_STATE;
            CpuidLeaf { eax: state.low_u32(), ebx: XSAVE_AREA, ecx: XSAVE_AREA, edx: 0 }
        }
        0xD if subleaf == 1 => CpuidLeaf { eax: LEAF_D_1_EAX, ebx: XSAVE_AREA, ecx: 0, edx: 0 },
        0x8000_0000 => CpuidLeaf { eax: MAX_EXTENDED, ..CpuidLeaf::default() },
        0x8000_0001 => {
            CpuidLeaf { ecx: EXTENDED_ECX, edx: EXTENDED_EDX | EXTENDED_EDX_AMD, ..CpuidLeaf::default() }
        }
        // Address sizes: 48 bits linear.
        0x8000_0008 => {
            CpuidLeaf { eax: 48 << 8 | PHYSICAL_BITS, ebx: EXTENDED_8_EBX, ..CpuidLeaf::default() }
        }
        _ => CpuidLeaf::default(),
    }
}
