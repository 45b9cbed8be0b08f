//! The table against what iced-x86 knows of flags.

use super::*;
use crate::machine::Machine;
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
    let case = Case {
        code: vec![0x48, 0x83, 0xB9, 0xFF, 0xFF, 0xFF, 0xFF, 0x00],
        offset: 0,
        seed: 0,
        machine: Machine::Sse,
    };
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

/// What a repeated MOVS leaves in memory is compared, but where it reads by one address what it writes by another.
#[test]
fn memory_is_masked_where_source_and_destination_are_one_page_at_two_addresses() {
    use crate::compare::{Verdict, compare};
    use crate::layout::{DATA, HIGH};
    let rep_movsd = Case { code: vec![0xF3, 0xA5], offset: 0, seed: 0, machine: Machine::Sse };
    let movsd = Case { code: vec![0xA5], offset: 0, seed: 0, machine: Machine::Sse };
    for (case, source, destination, masked) in [
        (&rep_movsd, DATA + HIGH, DATA + 0x30, true),
        (&rep_movsd, DATA, DATA + HIGH + 0x30, true),
        (&rep_movsd, DATA, DATA + 0x30, false),
        (&rep_movsd, DATA + HIGH, DATA + HIGH + 0x30, false),
        (&movsd, DATA + HIGH, DATA + 0x30, false),
    ] {
        let mut soft = Outcome { vector: 3, rip: case.rip(), rflags: 2, ..Outcome::default() };
        (soft.gpr[6], soft.gpr[7]) = (source, destination);
        let native = Outcome { memory: vec![(0x1800, 7)], ..soft.clone() };
        let verdict = compare(case, &native, &soft);
        assert_eq!(verdict == Verdict::Undefined, masked, "{source:#x} {destination:#x}: {verdict:?}");
        let moved = Outcome { rflags: 3, ..native };
        assert!(matches!(compare(case, &moved, &soft), Verdict::Different(_)), "flags are compared");
    }
}

/// Of a CMPS whose operands both fault, KVM's emulator reports the one at RSI: in the stack segment an #SS.
#[test]
fn a_stack_fault_of_cmps_is_masked_with_the_stack_segment_only() {
    use crate::compare::{Verdict, compare};
    for (prefix, masked) in [(0x36, true), (0x64, false)] {
        let case = Case { code: vec![prefix, 0xF2, 0xA7], offset: 0, seed: 0, machine: Machine::Sse };
        let soft = Outcome { vector: 13, rip: case.rip(), rflags: 2, ..Outcome::default() };
        let native = Outcome { vector: 12, ..soft.clone() };
        assert_eq!(compare(&case, &native, &soft) == Verdict::Emulated, masked, "prefix {prefix:#x}");
    }
}

/// A page fault of XRSTOR passes only where EDX:EAX names components that para-virtual KVM leaves enabled.
#[test]
fn a_page_fault_is_masked_where_the_hosts_components_make_the_area_longer() {
    use crate::compare::{Verdict, compare};
    // xrstor64 [21C00h]; xor eax, eax
    let xrstor = vec![0x48, 0x0F, 0xAE, 0x2C, 0x25, 0x00, 0x1C, 0x02, 0x00, 0x31, 0xC0];
    let verdict = |code: &[u8], requested: u64| {
        let case = Case { code: code.to_vec(), offset: 0, seed: 1, machine: Machine::Avx512 };
        let mut native =
            Outcome { vector: 14, error: 4, cr2: 0x2_3000, rip: case.rip(), ..Outcome::default() };
        (native.gpr[0], native.gpr[2]) = (requested & 0xFFFF_FFFF, requested >> 32);
        compare(&case, &native, &Outcome { vector: 3, rip: case.rip() + 12, ..Outcome::default() })
    };
    for component in [9, 17, 18] {
        assert_eq!(verdict(&xrstor, 1 << component), Verdict::Emulated, "component {component}");
    }
    for requested in [0xE7, 1 << 8, 1 << 49] {
        assert!(matches!(verdict(&xrstor, requested), Verdict::Different(_)), "{requested:#x}");
    }
    assert!(matches!(verdict(&[0x48, 0x8B, 0x00], 1 << 18), Verdict::Different(_)), "mov rax, [rax]");
}
