//! The encodings that there are, by disarm64's tables: fixed bits, and the class that says what the others are.

use disarm64::{InsnOpcode as _, decoder};
use disarm64_defn::defn::Insn;
use disarm64_defn::{InsnClass, InsnFeatureSet};
use std::collections::BTreeMap;

/// An encoding.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// What disarm64 knows of it.
    pub definition: &'static Insn,
}

/// What is in the lowest ten bits when encodings are looked for: registers mostly, and what FCMP, FCCMP and RET have
/// there.
const LOW: [u32; 6] = [0, 0x3FF, 0x3E0, 0x008, 0x010, 0x018];

impl Form {
    /// Every encoding that is no system instruction: those that a CPU of Armv8.0 with CRC32 and the cryptographic
    /// extension has, then the others, but for those of SVE and SME.
    #[must_use]
    pub fn all() -> (Vec<Self>, Vec<Self>) {
        let mut found = BTreeMap::new();
        for high in 0..1_u32 << 22 {
            // Bits 28:25: reserved, SVE and SME.
            if (high >> 15 & 0xF) < 4 || high >> 12 == 0b11_0101_0100 {
                continue;
            }
            for low in LOW {
                if let Some(opcode) = decoder::decode(high << 10 | low) {
                    let definition = opcode.definition();
                    found.entry((definition.opcode, definition.mask)).or_insert(Self { definition });
                }
            }
        }
        found.into_values().partition(Self::is_announced)
    }

    /// Its name in the manual, in small letters.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        self.definition.mnemonic
    }

    /// Whether the CPU has it.
    fn is_announced(&self) -> bool {
        use InsnFeatureSet as F;
        matches!(self.definition.feature_set, F::V8 | F::FP | F::SIMD | F::CRC | F::AES | F::SHA2)
    }

    /// The group that it is counted in.
    #[must_use]
    pub fn group(&self) -> Group {
        use InsnClass as C;
        use InsnFeatureSet as F;
        match (self.definition.feature_set, self.definition.class) {
            (F::CRC | F::AES | F::SHA2, _) => Group::Extensions,
            (F::FP, _) => Group::Fp,
            (F::SIMD, C::ASISDLSE | C::ASISDLSEP | C::ASISDLSO | C::ASISDLSOP) => Group::Structures,
            (F::SIMD, _) => Group::Simd,
            (
                F::V8,
                C::LDST_POS
                | C::LDST_UNSCALED
                | C::LDST_IMM9
                | C::LDST_REGOFF
                | C::LDST_UNPRIV
                | C::LOADLIT
                | C::LDSTPAIR_OFF
                | C::LDSTPAIR_INDEXED
                | C::LDSTNAPAIR_OFFS
                | C::LDSTEXCL,
            ) => Group::Memory,
            (F::V8, _) => Group::Integer,
            _ => Group::Absent,
        }
    }

    /// A word of this encoding: bits that are not fixed from `random`.
    #[must_use]
    pub fn word(&self, random: u32) -> u32 {
        self.definition.opcode & self.definition.mask | random & !self.definition.mask
    }
}

/// What cases start with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Base instructions without memory, and branches.
    Integer,
    /// Loads and stores of registers and pairs, exclusives.
    Memory,
    /// Scalar FP.
    Fp,
    /// Advanced SIMD.
    Simd,
    /// LD1 to LD4, ST1 to ST4.
    Structures,
    /// CRC32, AES, SHA-1, SHA-256, PMULL of 64 bits.
    Extensions,
    /// Hints, barriers, system registers and cache maintenance.
    System,
    /// Of later extensions: UNDEFINED.
    Absent,
    /// Any word.
    Word,
}

impl Group {
    /// As tables have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer, branches",
            Self::Memory => "loads and stores of registers and pairs",
            Self::Fp => "scalar FP",
            Self::Simd => "Advanced SIMD",
            Self::Structures => "LD1 to LD4, ST1 to ST4",
            Self::Extensions => "CRC32, AES, PMULL, SHA-1, SHA-256",
            Self::System => "hints, barriers, system registers, cache maintenance",
            Self::Absent => "later extensions",
            Self::Word => "random words",
        }
    }
}
