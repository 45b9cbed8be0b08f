//! The area of KVM_SET_XSAVE and KVM_GET_XSAVE: the standard format (SDM volume 1, section 13.4).

use crate::case::Outcome;
use crate::machine::Machine;
use crate::start::Start;
use crate::vectors::Vectors;

/// As KVM has it: 4096 bytes as words.
pub(crate) type Words = [u32; 1024];

/// Words of the legacy region (SDM volume 1, tables 10-2 and 13-1).
const MXCSR: usize = 6;
const ST: usize = 8;
const XMM: usize = 40;
/// The first word of XSTATE_BV.
const BV: usize = 128;

/// MXCSR after RESET.
const MXCSR_INIT: u32 = 0x1F80;

/// Bits of XSTATE_BV.
const X87_SSE: u32 = 3;
const SSE: u32 = 1 << 1;
const AVX: u32 = 1 << 2;
const OPMASK: u32 = 1 << 5;
const ZMM_HI256: u32 = 1 << 6;
const HI16_ZMM: u32 = 1 << 7;
/// The bit of EAX of CPUID leaf 0DH, subleaf 1, for XSAVES.
const XSAVES: u32 = 1 << 3;

/// Where the host's CPU has the components beyond SSE, in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Area {
    avx: usize,
    opmask: usize,
    zmm_hi256: usize,
    hi16_zmm: usize,
    /// Linux saves with XSAVES, which writes MXCSR with the SSE state only (SDM volume 1, section 13.11).
    compacted: bool,
}

impl Area {
    /// Asks CPUID leaf 0DH (SDM volume 2). A component that there is not has no place.
    pub(crate) fn host() -> Self {
        #[cfg(target_arch = "x86_64")]
        let leaf = |component| {
            let leaf = std::arch::x86_64::__cpuid_count(0xD, component);
            (leaf.eax, leaf.ebx)
        };
        #[cfg(not(target_arch = "x86_64"))]
        let leaf = |_component| (0, 0);
        let place = |component| leaf(component).1 as usize / 4;
        let compacted = leaf(1).0 & XSAVES != 0;
        Self { avx: place(2), opmask: place(5), zmm_hi256: place(6), hi16_zmm: place(7), compacted }
    }

    /// The area in which a case starts. What is 0 everywhere is in its initial state.
    pub(crate) fn fill(self, machine: Machine, start: &Start, vectors: &Vectors) -> Words {
        let mut words = [0; 1024];
        words[0] = u32::from(start.fcw) | u32::from(start.fsw) << 16;
        words[1] = u32::from(start.ftw);
        words[MXCSR] = start.mxcsr;
        let mut used = X87_SSE;
        let mut put = |at: usize, value: u128| {
            for n in 0..4 {
                words[at + n] = (value >> (32 * n)) as u32;
            }
            value != 0
        };
        for (n, value) in start.st.iter().enumerate() {
            put(ST + 4 * n, *value);
        }
        for (n, register) in vectors.zmm.iter().take(16).enumerate() {
            put(XMM + 4 * n, register[0]);
            if machine >= Machine::Avx && put(self.avx + 4 * n, register[1]) {
                used |= AVX;
            }
        }
        if machine == Machine::Avx512 {
            for n in 0..4 {
                let pair = u128::from(vectors.k[2 * n]) | u128::from(vectors.k[2 * n + 1]) << 64;
                used |= if put(self.opmask + 4 * n, pair) { OPMASK } else { 0 };
            }
            let (low, high) = vectors.zmm.split_at(16);
            for (n, register) in low.iter().enumerate() {
                for (half, value) in register[2..].iter().enumerate() {
                    used |= if put(self.zmm_hi256 + 8 * n + 4 * half, *value) { ZMM_HI256 } else { 0 };
                }
            }
            for (n, value) in high.iter().flatten().enumerate() {
                used |= if put(self.hi16_zmm + 4 * n, *value) { HI16_ZMM } else { 0 };
            }
        }
        words[BV] = used;
        words
    }

    /// Fills the x87, vector and mask registers.
    pub(crate) fn read(self, words: &Words, outcome: &mut Outcome) {
        let wide = |at: usize| (0..4).fold(0, |value, n| value | u128::from(words[at + n]) << (32 * n));
        let used = |bit: u32| words[BV] & bit != 0;
        // What is there was MXCSR earlier.
        let stale = self.compacted && !used(SSE);
        outcome.mxcsr = if stale { MXCSR_INIT } else { words[MXCSR] };
        outcome.fcw = words[0] as u16;
        outcome.fsw = (words[0] >> 16) as u16;
        outcome.ftw = words[1] as u8;
        for (n, register) in outcome.st.iter_mut().enumerate() {
            *register = wide(ST + 4 * n) & ((1 << 80) - 1);
        }
        let (low, high) = outcome.zmm.split_at_mut(16);
        for (n, register) in low.iter_mut().enumerate() {
            register[0] = wide(XMM + 4 * n);
            if used(AVX) {
                register[1] = wide(self.avx + 4 * n);
            }
            if used(ZMM_HI256) {
                register[2] = wide(self.zmm_hi256 + 8 * n);
                register[3] = wide(self.zmm_hi256 + 8 * n + 4);
            }
        }
        if used(HI16_ZMM) {
            for (n, value) in high.iter_mut().flatten().enumerate() {
                *value = wide(self.hi16_zmm + 4 * n);
            }
        }
        if used(OPMASK) {
            for (n, pair) in outcome.k.chunks_exact_mut(2).enumerate() {
                let value = wide(self.opmask + 4 * n);
                (pair[0], pair[1]) = (value as u64, (value >> 64) as u64);
            }
        }
    }
}
