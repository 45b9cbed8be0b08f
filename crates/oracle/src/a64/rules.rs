//! What is not compared, and why: one table, which `docs/oracle.md` shows. "Arm ARM" is DDI 0487, whose sections are
//! named where their numbers move; QEMU is version 7.2, by its file.

use super::case::{Case, Outcome, Signal};
use super::forms::Form;
use crate::changes::Memory;
use a64_runner::CONSTANTS;
use disarm64::{InsnOpcode as _, decoder};
use disarm64_defn::InsnClass;
use std::fmt::Write as _;

/// A row.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The instructions.
    pub instructions: &'static str,
    /// What is not compared.
    pub not_compared: &'static str,
    /// The reason, and where it is said.
    pub why: &'static str,
    effect: Effect,
}

/// What a row does.
#[derive(Debug, Clone, Copy)]
enum Effect {
    /// No case has such a word.
    Omit(fn(u32) -> bool),
    /// Changes both outcomes so that they are equal in what is not compared. They may differ in anything.
    Clear(fn(&Case, &mut Outcome, &mut Outcome)),
}

/// All rows.
pub const RULES: [Rule; 13] = [
    Rule {
        instructions: "SVC",
        not_compared: "all",
        why: "a system call: under QEMU the host's kernel would execute it (QEMU linux-user/aarch64/cpu_loop.c)",
        effect: Effect::Omit(|word| word & 0xFFE0_001F == 0xD400_0001),
    },
    Rule {
        instructions: "HLT #0xF000",
        not_compared: "all",
        why: "a semihosting call of QEMU (target/arm/translate-a64.c, disas_exc); elsewhere UNDEFINED without an \
              external debugger. HLT with other numbers is compared",
        effect: Effect::Omit(|word| word == 0xD440_0000 | 0xF000 << 5),
    },
    Rule {
        instructions: "WFI",
        not_compared: "all",
        why: "waits for an interrupt, which no case has; QEMU has it as a NOP in user mode (target/arm/op_helper.c)",
        effect: Effect::Omit(|word| word == 0xD503_207F),
    },
    Rule {
        instructions: "MRS of an identification register of EL1 (op0 3, op1 0, CRn 0)",
        not_compared: "all",
        why: "UNDEFINED at EL0; Linux, and QEMU as Linux, answer in its place \
              (Documentation/arch/arm64/cpu-feature-registers.rst)",
        effect: Effect::Omit(|word| word & 0xFFFF_F000 == 0xD538_0000),
    },
    Rule {
        instructions: "MRS of CNTFRQ_EL0, CNTPCT_EL0, CNTVCT_EL0",
        not_compared: "all",
        why: "time, and the platform's frequency of it (Arm ARM, The Generic Timer in AArch64 state)",
        effect: Effect::Omit(|word| word & 0xFFFF_FF00 == 0xD53B_E000),
    },
    Rule {
        instructions: "LDP, LDNP, LDPSW, LDXP, LDAXP with Rt as Rt2; loads and stores with writeback whose base is \
                       also transferred; store exclusives whose status register is also data or base; exclusives, \
                       LDAR, STLR, SMULH and UMULH with registers in fields that are to be ones",
        not_compared: "all",
        why: "CONSTRAINED UNPREDICTABLE (Arm ARM, Architectural constraints on UNPREDICTABLE behaviors, K1.2)",
        effect: Effect::Omit(is_unpredictable),
    },
    Rule {
        instructions: "MSR FPCR, MSR FPSR",
        not_compared: "FPCR bits 21:16 (Stride, Len), FPSR bits 31:28 (N, Z, C, V)",
        why: "without function in AArch64; they can be written where EL0 can be AArch32 (Arm ARM, FPCR and FPSR), as \
              on the Cortex-A57 and not on Falkor",
        effect: Effect::Clear(|_, native, _| {
            native.state.fpcr &= !0x3F_0000;
            native.state.fpsr &= !0xF000_0000;
        }),
    },
    Rule {
        instructions: "STXR, STXP and others of another size than the load exclusive before them",
        not_compared: "all",
        why: "whether they store is CONSTRAINED UNPREDICTABLE (Arm ARM, Exclusive access instructions and \
              Shareable memory locations, B2.9): arm-cpu never stores, QEMU compares the bytes of the store",
        effect: Effect::Clear(|case, native, soft| {
            if has_mixed_sizes(&case.code) {
                native.clone_from(soft);
            }
        }),
    },
    Rule {
        instructions: "DC ZVA at a SIGSEGV",
        not_compared: "which address of its block it is about",
        why: "that in the register (Arm ARM, FAR_EL1); QEMU has the first of the block \
              (target/arm/helper-a64.c, dc_zva)",
        effect: Effect::Clear(|case, native, soft| {
            let zeroes = case.at(soft.state.pc).is_some_and(|word| word & 0xFFFF_FFE0 == 0xD50B_7420);
            if zeroes && native.address == soft.address & !63 {
                native.address = soft.address;
            }
        }),
    },
    Rule {
        instructions: "any that branches to an address that is no multiple of 4",
        not_compared: "SIGBUS or SIGSEGV",
        why: "the PC alignment fault comes first (Arm ARM, Synchronous exception prioritization for exceptions taken \
              to AArch64 state); QEMU looks for the page first (accel/tcg/cpu-exec.c, tb_lookup)",
        effect: Effect::Clear(|_, native, soft| {
            if soft.signal == Signal::Bus && soft.state.pc % 4 != 0 && is_segv(native) {
                (soft.signal, soft.address) = (native.signal, native.address);
            }
        }),
    },
    Rule {
        instructions: "any at a SIGSEGV",
        not_compared: "an address at or above 2^47",
        why: "QEMU has the address from a signal of its host, whose addresses end there: x86-64 raises #GP, without \
              an address (SDM volume 1, Canonical Addressing)",
        effect: Effect::Clear(|_, native, soft| {
            if native.signal == Signal::NoPage && native.address == 0 && soft.address >> 47 != 0 {
                native.address = soft.address;
            }
        }),
    },
    Rule {
        instructions: "loads and stores of several registers, stores of 16 bytes, at a SIGSEGV of both",
        not_compared: "the registers of a load, but for the base; memory that a store is to change",
        why: "some may have been loaded or stored (Arm ARM, Definition of a precise exception and imprecise \
              exception); QEMU does so, arm-cpu not",
        effect: Effect::Clear(partial),
    },
    Rule {
        instructions: "STXR, STXP, STLXR, STLXP without a marked address; DC CVAC, DC CVAU, DC CIVAC, IC IVAU",
        not_compared: "whether an address faults, and what follows",
        why: "whether a store exclusive that fails looks at its address is IMPLEMENTATION DEFINED (Arm ARM, \
              AArch64.ExclusiveMonitorsPass); QEMU has maintenance by address as NOPs in user mode \
              (target/arm/helper.c, v8_cp_reginfo), where a translation fault may be raised (Arm ARM, DC CVAU)",
        effect: Effect::Clear(|case, native, soft| {
            // Without a mark QEMU compares with the last address of all.
            if native.address == u64::MAX && case.at(native.state.pc).is_some_and(is_store_exclusive) {
                native.clone_from(soft);
            }
            if may_go_on(case, soft) {
                native.clone_from(soft);
            }
        }),
    },
];

/// The table, for the page.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| instructions | not compared | why |\n| --- | --- | --- |\n");
    for rule in &RULES {
        let _ = writeln!(text, "| {} | {} | {} |", rule.instructions, rule.not_compared, rule.why);
    }
    text
}

/// Whether cases are made of an encoding.
pub(super) fn is_generated(form: &Form) -> bool {
    form.definition.class != InsnClass::EXCEPTION || form.mnemonic() == "brk"
}

/// Whether a word may be in a case.
pub(super) fn is_compared(word: u32) -> bool {
    !RULES.iter().any(|rule| matches!(rule.effect, Effect::Omit(omitted) if omitted(word)))
}

/// Makes both outcomes equal in what is not compared.
pub(super) fn clear(case: &Case, native: &mut Outcome, soft: &mut Outcome) {
    for rule in &RULES {
        if let Effect::Clear(clear) = rule.effect {
            clear(case, native, soft);
        }
    }
}

/// Whether the interpreter has ended a case where QEMU may have gone on.
pub(super) fn may_go_on(case: &Case, soft: &Outcome) -> bool {
    let may = |word| is_store_exclusive(word) || is_maintenance(word);
    (is_segv(soft) || soft.signal == Signal::Bus) && case.at(soft.state.pc).is_some_and(may)
}

fn is_segv(outcome: &Outcome) -> bool {
    matches!(outcome.signal, Signal::NoPage | Signal::NoAccess)
}

fn field(word: u32, lowest: u32, width: u32) -> u32 {
    word >> lowest & ((1 << width) - 1)
}

fn class(word: u32) -> Option<InsnClass> {
    decoder::decode(word).map(|opcode| opcode.definition().class)
}

fn is_store_exclusive(word: u32) -> bool {
    word & 0x3FC0_0000 == 0x0800_0000
}

/// DC CVAC, DC CVAU, DC CIVAC, IC IVAU.
fn is_maintenance(word: u32) -> bool {
    word & 0xFFFF_F0E0 == 0xD50B_7020 && matches!(field(word, 8, 4), 5 | 10 | 11 | 14)
}

/// Whether a store exclusive follows a load exclusive of another size.
fn has_mixed_sizes(code: &[u32]) -> bool {
    let mut loaded = None;
    code.iter().any(|word| {
        // Size, and whether it is of a pair.
        let size = word & (3 << 30 | 1 << 21);
        let load = word & 0x3FC0_0000 == 0x0840_0000;
        if load {
            loaded = Some(size);
        }
        is_store_exclusive(*word) && loaded.is_some_and(|loaded| loaded != size)
    })
}

fn is_unpredictable(word: u32) -> bool {
    use InsnClass as C;
    let [t, n, s, t2] = [0, 5, 16, 10].map(|lowest| field(word, lowest, 5));
    let (load, vector) = (field(word, 22, 1) == 1, field(word, 26, 1) == 1);
    // Ra of SMULH and UMULH.
    if word & 0xFF60_8000 == 0x9B40_0000 {
        return t2 != 31;
    }
    // Rt2 of single registers, Rs of loads and of those without a monitor.
    if word & 0x3F00_0000 == 0x0800_0000 {
        let (plain, pair) = (field(word, 23, 1) == 1, field(word, 21, 1) == 1);
        if !pair && t2 != 31 || (load || plain) && s != 31 {
            return true;
        }
    }
    match class(word) {
        Some(C::LDSTPAIR_OFF | C::LDSTNAPAIR_OFFS) => load && t == t2,
        Some(C::LDSTPAIR_INDEXED) => load && t == t2 || !vector && n != 31 && (n == t || n == t2),
        Some(C::LDST_IMM9) => !vector && n == t && n != 31,
        Some(C::LDSTEXCL) => {
            let (exclusive, pair) = (field(word, 23, 1) == 0, field(word, 21, 1) == 1);
            exclusive && if load { pair && t == t2 } else { s == t || pair && s == t2 || s == n && n != 31 }
        }
        _ => false,
    }
}

/// What a load or store of several registers has done before it faulted.
fn partial(case: &Case, native: &mut Outcome, soft: &mut Outcome) {
    use InsnClass as C;
    if !is_segv(native) || native.signal != soft.signal || native.state.pc != soft.state.pc {
        return;
    }
    let Some(word) = case.at(soft.state.pc) else { return };
    let first = field(word, 0, 5) as usize;
    let structures = matches!(class(word), Some(C::ASISDLSE | C::ASISDLSEP | C::ASISDLSO | C::ASISDLSOP));
    let pair = matches!(class(word), Some(C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS));
    // V, size and opc of STR and STUR of a Q register.
    let single = matches!(class(word), Some(C::LDST_POS | C::LDST_UNSCALED | C::LDST_IMM9 | C::LDST_REGOFF));
    let quad = single && word & (3 << 30 | 1 << 26 | 3 << 22) == 1 << 26 | 2 << 22;
    if !structures && !pair && !quad {
        return;
    }
    if field(word, 22, 1) == 0 {
        // At most 64 bytes, of which the first that faults is known.
        let touched = |memory: &mut Memory, address: u64| {
            memory.retain(|(at, _)| (CONSTANTS + u64::from(*at)).abs_diff(address) > 64);
        };
        touched(&mut native.memory, soft.address);
        touched(&mut soft.memory, soft.address);
    } else if structures {
        for number in (first..first + 4).map(|number| number % 32) {
            native.state.v[number] = soft.state.v[number];
        }
    } else if field(word, 26, 1) == 1 {
        for number in [first, field(word, 10, 5) as usize] {
            native.state.v[number] = soft.state.v[number];
        }
    } else {
        let base = field(word, 5, 5) as usize;
        for number in [first, field(word, 10, 5) as usize] {
            if number != base && number < 31 {
                native.state.x[number] = soft.state.x[number];
            }
        }
    }
}
