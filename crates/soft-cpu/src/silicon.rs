//! What CPUs do differently where the manuals leave it open, or where each vendor's says something else: one table,
//! which `docs/oracle.md` shows. The CPU takes a side with [`Cpu::with_silicon`](crate::Cpu::with_silicon).
//!
//! SDM is Intel's Software Developer's Manual, APM is AMD's Architecture Programmer's Manual.

/// CPUs that differ in some row of [`RULES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Silicon {
    /// Intel's. Seen: Cascade Lake, Emerald Rapids.
    Intel,
    /// AMD's up to Zen 3. Seen: Zen 3.
    Zen3,
    /// AMD's Zen 4. Seen: Zen 4.
    Zen4,
    /// AMD's from Zen 5 on. Seen: Zen 5.
    Zen5,
}

impl Silicon {
    /// All.
    pub const ALL: [Self; 4] = [Self::Intel, Self::Zen3, Self::Zen4, Self::Zen5];

    /// The rules that hold.
    pub(crate) const fn rules(self) -> Rules {
        let mut bits = 0;
        let mut n = 0;
        while n < RULES.len() {
            let mut m = 0;
            while m < RULES[n].holds_on.len() {
                if RULES[n].holds_on[m] as u8 == self as u8 {
                    bits |= 1 << RULES[n].rule as u32;
                }
                m += 1;
            }
            n += 1;
        }
        Rules(bits)
    }
}

/// The rules that hold for a CPU, a bit for each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules(u32);

impl Rules {
    #[inline(always)]
    pub(crate) const fn holds(self, rule: Rule) -> bool {
        self.0 >> rule as u32 & 1 != 0
    }
}

/// What some CPUs do and others do not: names the row of [`RULES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Rule {
    /// SYSCALL works outside of 64-bit mode, SYSENTER does not work in long mode.
    LegacySyscall,
    /// MOV SS holds back an instruction breakpoint.
    MovSsHoldsCodeBreakpoint,
    /// CALL stores the return address before it looks at an indirect target.
    CallStoresFirst,
    /// CMPS reads the operand at RDI first, but for REPE CMPSB.
    CmpsReadsRdiFirst,
    /// REPE CMPSB reads the operand at RDI first.
    RepeCmpsbReadsRdiFirst,
    /// An MMX store that faults has set TOP to 0.
    MmxStoreSetsTopFirst,
    /// A fault within REP CMPS and REP SCAS leaves the flags as they were before the instruction.
    RepCompareFaultKeepsFlags,
    /// A REP string instruction with 32-bit addresses zero-extends registers before it does anything.
    RepZeroExtendsFirst,
    /// An x87 store without a result does not look at its memory.
    SuppressedStoreIgnoresMemory,
    /// FSTP m80 and FBSTP store eight bytes, and then the other two.
    Store80InTwoParts,
    /// The operand of an addition of DPPS and DPPD whose NaN counts depends on the lane.
    DotProductNanByLane,
    /// FSIN and FCOS do not round some results that are next to the operand or to 1.
    TinySineAndCosineUnrounded,
    /// The state of AVX-512 follows that of AVX in an XSAVE area.
    XsaveWithoutGap,
    /// XRSTOR of the compacted format looks at MXCSR last in the legacy region.
    CompactedMxcsrLast,
    /// The memory operand of an instruction of SHA has to be aligned.
    ShaAligned,
    /// VCVTPS2PH notes its exceptions before it looks at its memory.
    HalfStoreRaisesFirst,
    /// A #PF of a masked store's second page is about the last byte.
    MaskedStoreFaultsAtEnd,
    /// VCVTPS2PH of a subnormal number is inexact beside an unmasked UE, whatever its significand.
    HalfOfSubnormalInexact,
    /// What has to be aligned and is not raises #SS if its address in the stack segment is not canonical either.
    MisalignedStackRaisesSs,
    /// XRSTOR looks for #PF before it looks at the reserved bits of the header.
    XrstorFaultsBeforeHeader,
    /// VREDUCExx applies FTZ whether UE is masked or not.
    ReduceFlushesAlways,
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub struct RuleRow {
    /// Its name.
    pub rule: Rule,
    /// The instructions.
    pub instructions: &'static str,
    /// The CPUs on which it holds.
    pub holds_on: &'static [Silicon],
    /// What they do.
    pub does: &'static str,
    /// What the others do.
    pub otherwise: &'static str,
    /// What it was seen on, or where it is written down.
    pub evidence: &'static str,
}

const RECORDED: &str = "seen: recordings of Cascade Lake, Emerald Rapids, Zen 3, Zen 4 and Zen 5; Emerald Rapids, \
                        Zen 3, Zen 4 and Zen 5 live";
const AVX: &str = "seen: Granite Rapids, Zen 3 and Zen 5, live and recorded; Zen 4 live";

/// The table.
pub const RULES: &[RuleRow] = &[
    RuleRow {
        rule: Rule::LegacySyscall,
        instructions: "SYSCALL, SYSRET, SYSENTER, SYSEXIT",
        holds_on: &[Silicon::Zen3, Silicon::Zen4, Silicon::Zen5],
        does: "SYSCALL in every protected mode, SYSENTER and SYSEXIT in legacy mode only",
        otherwise: "SYSCALL in 64-bit mode only, SYSENTER and SYSEXIT in every protected mode",
        evidence: "SDM volume 2, SYSCALL and SYSENTER; APM volume 3, the same",
    },
    RuleRow {
        rule: Rule::MovSsHoldsCodeBreakpoint,
        instructions: "MOV SS, POP SS",
        holds_on: &[Silicon::Intel],
        does: "an instruction breakpoint on the next instruction is not reported",
        otherwise: "it is reported",
        evidence: "SDM volume 3, Instruction-Breakpoint Exception Condition; kvm-unit-tests x86/emulator.c, \
                   test_mov_pop_ss_code_db, expects it of Intel's CPUs only",
    },
    RuleRow {
        rule: Rule::CallStoresFirst,
        instructions: "CALL r/m64",
        holds_on: &[Silicon::Intel],
        does: "at the #GP of a target that is not canonical the return address is in memory",
        otherwise: "memory is unchanged",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::CmpsReadsRdiFirst,
        instructions: "CMPS, but for REPE CMPSB",
        holds_on: &[Silicon::Intel, Silicon::Zen3, Silicon::Zen4],
        does: "the operand at RDI faults first",
        otherwise: "the operand at RSI faults first",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::RepeCmpsbReadsRdiFirst,
        instructions: "REPE CMPSB",
        holds_on: &[Silicon::Intel, Silicon::Zen3],
        does: "the operand at RDI faults first",
        otherwise: "the operand at RSI faults first",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::MmxStoreSetsTopFirst,
        instructions: "MOVD, MOVQ, MOVNTQ from an MMX register to memory",
        holds_on: &[Silicon::Intel],
        does: "TOP is 0 at a fault; the tags are as before",
        otherwise: "the x87 state is as before",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::RepCompareFaultKeepsFlags,
        instructions: "REP CMPS, REP SCAS",
        holds_on: &[Silicon::Intel],
        does: "at a fault the flags are those before the instruction",
        otherwise: "at a fault the flags are those of the last comparison",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::RepZeroExtendsFirst,
        instructions: "REP MOVS, STOS, LODS, SCAS, CMPS with 32-bit addresses in 64-bit mode",
        holds_on: &[Silicon::Intel],
        does: "RCX, with MOVS and STOS also RSI and RDI, are zero-extended at once, even if ECX is 0 or the first \
               access faults",
        otherwise: "each is zero-extended when it changes",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::SuppressedStoreIgnoresMemory,
        instructions: "FST, FSTP, FIST, FISTP, FISTTP, FBSTP to memory",
        holds_on: &[Silicon::Intel],
        does: "with an unmasked exception that keeps the result away, memory is not looked at: no #PF, #GP or #SS",
        otherwise: "the fault of the operand comes first",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::Store80InTwoParts,
        instructions: "FSTP m80, FBSTP",
        holds_on: &[Silicon::Intel],
        does: "if the upper two bytes fault the lower eight are in memory",
        otherwise: "memory is unchanged",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::DotProductNanByLane,
        instructions: "DPPS, DPPD",
        holds_on: &[Silicon::Intel],
        does: "of several NaNs lane n of DPPS takes that of product n^1, else n, n^3, n^2; lane n of DPPD that of n, \
               else n^1",
        otherwise: "every lane takes that of the lowest product that is one",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::TinySineAndCosineUnrounded,
        instructions: "FSIN, FCOS, FSINCOS",
        holds_on: &[Silicon::Intel],
        does: "the sine of the smallest normal number is the number, without UE; the cosine of that and of \
               denormals is 1; both whatever the rounding mode",
        otherwise: "they are rounded as everything else, and may underflow",
        evidence: RECORDED,
    },
    RuleRow {
        rule: Rule::XsaveWithoutGap,
        instructions: "XSAVE, XSAVEOPT, XRSTOR in the standard format",
        holds_on: &[Silicon::Zen3, Silicon::Zen4, Silicon::Zen5],
        does: "opmask, ZMM_Hi256 and Hi16_ZMM are at 832, 896 and 1408",
        otherwise: "they are at 1088, 1152 and 1664, behind the state of MPX",
        evidence: "CPUID leaf 0DH in public dumps of Skylake-SP to Granite Rapids, and of Zen 4 and Zen 5",
    },
    RuleRow {
        rule: Rule::CompactedMxcsrLast,
        instructions: "XRSTOR, XRSTORS in the compacted format",
        holds_on: &[Silicon::Intel],
        does: "at the #GP of reserved bits in MXCSR the x87 and XMM registers are loaded, and components that are not \
               in the area are as after RESET",
        otherwise: "all components are as before, as with the standard format",
        evidence: "seen: Granite Rapids, and Zen 5 live; not looked for on other cores",
    },
    RuleRow {
        rule: Rule::ShaAligned,
        instructions: "SHA1RNDS4, SHA1NEXTE, SHA1MSG1, SHA1MSG2, SHA256RNDS2, SHA256MSG1, SHA256MSG2",
        holds_on: &[Silicon::Intel],
        does: "a memory operand that is not aligned to 16 bytes raises #GP",
        otherwise: "it need not be aligned",
        evidence: AVX,
    },
    RuleRow {
        rule: Rule::HalfStoreRaisesFirst,
        instructions: "VCVTPS2PH to memory",
        holds_on: &[Silicon::Intel],
        does: "#XM comes before a #PF of the operand, and exceptions that are masked are in MXCSR then",
        otherwise: "the fault of the operand comes first, and MXCSR is as before",
        evidence: AVX,
    },
    RuleRow {
        rule: Rule::MaskedStoreFaultsAtEnd,
        instructions: "VMASKMOVPS, VMASKMOVPD, VPMASKMOVD, VPMASKMOVQ to memory, and stores with a write mask",
        holds_on: &[Silicon::Intel],
        does: "where the elements run across the end of a page, a #PF of the second one is about the last byte",
        otherwise: "it is about the first byte that is written there",
        evidence: "seen: Granite Rapids, Zen 3 and Zen 5, live and recorded; not looked for on Zen 4",
    },
    RuleRow {
        rule: Rule::HalfOfSubnormalInexact,
        instructions: "VCVTPS2PH",
        holds_on: &[Silicon::Intel],
        does: "a subnormal number raises PE beside an unmasked UE, whatever its significand",
        otherwise: "it does if its significand does not fit",
        evidence: AVX,
    },
    RuleRow {
        rule: Rule::MisalignedStackRaisesSs,
        instructions: "memory operands that have to be aligned",
        holds_on: &[Silicon::Intel],
        does: "one that is neither aligned nor canonical raises #SS in the stack segment",
        otherwise: "it raises #GP",
        evidence: "seen: Granite Rapids, Zen 3 and Zen 5, live; not looked for on Zen 4",
    },
    RuleRow {
        rule: Rule::XrstorFaultsBeforeHeader,
        instructions: "XRSTOR, XRSTORS",
        holds_on: &[Silicon::Intel],
        does: "a #PF of the components comes before the #GP of XSTATE_BV and of the header's reserved bytes",
        otherwise: "the #GP comes first",
        evidence: "seen: Granite Rapids, Zen 3 and Zen 5, live; not looked for on Zen 4",
    },
    RuleRow {
        rule: Rule::ReduceFlushesAlways,
        instructions: "VREDUCEPD, VREDUCEPS, VREDUCESD, VREDUCESS",
        holds_on: &[Silicon::Intel],
        does: "with FTZ a subnormal result becomes 0 with PE, even if UE is not masked",
        otherwise: "only if UE is masked",
        evidence: "seen: Granite Rapids, Zen 4 and Zen 5, live; Zen 4 and Zen 5 recorded",
    },
];

/// The table for `docs/oracle.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| instructions | Intel | AMD | source |\n| --- | --- | --- | --- |\n");
    for row in RULES {
        let side = |silicon| if row.holds_on.contains(&silicon) { row.does } else { row.otherwise };
        let [zen3, zen4, zen5] = [Silicon::Zen3, Silicon::Zen4, Silicon::Zen5].map(side);
        let amd = match (zen3 == zen4, zen4 == zen5) {
            (true, true) => zen3.to_owned(),
            (true, false) => format!("Zen 3 and Zen 4: {zen4}; Zen 5: {zen5}"),
            (false, _) => format!("Zen 3: {zen3}; Zen 4 and Zen 5: {zen4}"),
        };
        text += &format!("| {} | {} | {amd} | {} |\n", row.instructions, side(Silicon::Intel), row.evidence);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_one_row_and_two_sides() {
        for (n, row) in RULES.iter().enumerate() {
            assert_eq!(row.rule as usize, n, "{:?}", row.rule);
            assert!((1..Silicon::ALL.len()).contains(&row.holds_on.len()), "{:?}", row.rule);
        }
        let holds = |silicon: Silicon, rule: Rule| silicon.rules().holds(rule);
        assert!(holds(Silicon::Intel, Rule::CmpsReadsRdiFirst));
        assert!(holds(Silicon::Zen3, Rule::RepeCmpsbReadsRdiFirst));
        assert!(!holds(Silicon::Zen4, Rule::RepeCmpsbReadsRdiFirst));
        assert!(holds(Silicon::Zen4, Rule::CmpsReadsRdiFirst));
        assert!(!holds(Silicon::Zen5, Rule::CmpsReadsRdiFirst));
    }
}
