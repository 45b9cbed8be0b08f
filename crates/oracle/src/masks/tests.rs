//! The table against what iced-x86 knows of flags.

use super::*;
use iced_x86::{OpKind, RflagsBits};

const FLAGS: [(u64, u32); 6] = [
    (1, RflagsBits::CF),
    (1 << 2, RflagsBits::PF),
    (1 << 4, RflagsBits::AF),
    (1 << 6, RflagsBits::ZF),
    (1 << 7, RflagsBits::SF),
    (1 << 11, RflagsBits::OF),
];

/// Flags that are undefined for large counts only, which iced-x86 does not tell.
fn depends_on_count(mnemonic: Mnemonic) -> u64 {
    match mnemonic {
        Mnemonic::Shl | Mnemonic::Sal | Mnemonic::Shr => 1,
        Mnemonic::Shld | Mnemonic::Shrd => 1 | 1 << 2 | 1 << 6 | 1 << 7,
        _ => 0,
    }
}

/// Of flags that are not compared whatever happens, all are undefined.
#[test]
fn flags_that_are_masked_are_undefined() {
    let mut checked = 0;
    for code in Code::values() {
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        if matches!(code.op_code().op_kinds().last(), Some(Kind::imm8)) {
            // A shift by 2.
            instruction.try_set_op_kind(code.op_code().op_count() - 1, OpKind::Immediate8).unwrap();
            instruction.set_immediate8(2);
        }
        let undefined: u64 = FLAGS
            .iter()
            .filter(|(_, iced)| instruction.rflags_undefined() & iced != 0)
            .map(|(flag, _)| flag)
            .sum();
        for mask in MASKS.iter().filter(|mask| mask.which.contains(code) && mask.when != When::Unmasked) {
            let Effect::Flags(masked) = mask.effect else { continue };
            let by_one = mask.when == When::NotByOne && shifts_by_one(code);
            let rest = masked & !undefined & !depends_on_count(code.mnemonic());
            assert!(by_one || rest == 0, "{code:?}: {rest:#x} is defined");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} rows and forms");
}

/// A page fault in place of #GP passes only where an operand can run across the end of the lower half.
#[test]
fn a_page_fault_is_masked_at_the_end_of_the_lower_half_only() {
    use crate::compare::{Verdict, compare};
    // cmp qword ptr [rcx-1],0
    let case = Case { code: vec![0x48, 0x83, 0xB9, 0xFF, 0xFF, 0xFF, 0xFF, 0x00], offset: 0, seed: 0 };
    let soft = Outcome { vector: 13, rip: case.rip(), rflags: 2, ..Outcome::default() };
    for (cr2, masked) in [
        (0x7FFF_FFFF_FFFF, true),
        (0x7FFF_FFFF_FFF1, true),
        (0x7FFF_FFFF_FFF0, false),
        (0x8000_0000_0000, false),
        (0, false),
    ] {
        let native = Outcome { vector: 14, error: 4, cr2, ..soft.clone() };
        let verdict = compare(&case, &native, &soft);
        assert_eq!(verdict == Verdict::Emulated, masked, "{cr2:#x}: {verdict:?}");
        // All else has to be equal.
        let moved = Outcome { gpr: [1; 16], ..native };
        assert!(matches!(compare(&case, &moved, &soft), Verdict::Different(_)), "{cr2:#x}");
    }
}
