//! Descriptions beside disarm64's text, and by hand.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;

const SP: u32 = 31;
const V: u32 = 32;

fn set(registers: &[u32]) -> u128 {
    registers.iter().fold(0, |set, register| set | 1 << register)
}

/// The registers that a text names: X0 to X30, SP, V0 to V31.
fn named(text: &str) -> u128 {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').skip(1);
    let registers = words.filter_map(|word| {
        if matches!(word, "sp" | "wsp") {
            return Some(SP);
        }
        let number: u32 = word.get(1..)?.parse().ok().filter(|number| *number < 32)?;
        match word.chars().next()? {
            'w' | 'x' => Some(number),
            'b' | 'h' | 's' | 'd' | 'q' | 'v' => Some(V + number),
            _ => None,
        }
    });
    registers.fold(0, |set, register| set | 1 << register)
}

/// Those of the instruction that its text names: not flags, system registers and the link register of a call.
fn visible(word: u32) -> u128 {
    let described = instruction(word, 0);
    let base = described.base.map_or(0, |base| 1 << base);
    let all = described.address | described.sources | described.results | base;
    let hidden = 1 << registers::NZCV | 1 << registers::SYSTEM;
    let link = if matches!(name(word).as_str(), "bl" | "blr") { set(&[30]) } else { 0 };
    all & !hidden & !link
}

#[test]
fn every_form_has_the_registers_of_its_text() {
    let mut compared = 0;
    for (name, word) in examples() {
        // disarm64 has no text for what is reserved, and stops at some of it. System instructions have aliases.
        let text = catch_unwind(|| decoder::decode(word).map(|opcode| opcode.to_string()));
        let Ok(Some(text)) = text else { continue };
        if name == "udf" || system::is_system(word) || text.contains("undefined") {
            continue;
        }
        assert_eq!(visible(word), named(&text), "{name}: {word:#010x} {text}");
        compared += 1;
    }
    assert!(compared > 2400, "{compared}");
}

/// A name stands for one instruction of disarm64's, and a number for one name.
#[test]
fn forms_are_told_apart() {
    let mut numbers = BTreeMap::new();
    for (name, word) in examples() {
        assert_eq!(form::named(&name), Some(form::number(word)));
        let other = numbers.insert(form::number(word), name.clone());
        assert_eq!(other, None, "{name}");
    }
    let mut opcodes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for word in (0..1_u32 << 22).map(|n| n << 10 | 0x22).filter(|word| bits(*word, 26, 1) == 0) {
        let Some(opcode) = decoder::decode(word).filter(|_| definition(word).is_some()) else { continue };
        opcodes.entry(name(word)).or_default().insert(opcode.definition().mnemonic.to_owned());
    }
    for (name, mnemonics) in opcodes {
        assert!(mnemonics.len() == 1, "{name}: {mnemonics:?}");
    }
}

struct Row {
    word: u32,
    name: &'static str,
    address: u128,
    sources: u128,
    results: u128,
}

/// Which of its registers an instruction reads and writes.
#[test]
fn operands_have_their_parts() {
    let flags = 1 << registers::NZCV;
    let system = 1 << registers::SYSTEM;
    let v = |number: u32| 1_u128 << (V + number);
    let row = |word, name, address, sources, results| Row { word, name, address, sources, results };
    let rows = [
        row(0x8B02_0020, "add_x_reg", 0, set(&[1, 2]), set(&[0])),
        row(0xAB22_4020, "adds_x_uxt", 0, set(&[1, 2]), set(&[0]) | flags),
        row(0xF100_0C3F, "subs_x_imm", 0, set(&[1]), flags),
        row(0x9A02_0020, "adc_x", 0, set(&[1, 2]) | flags, set(&[0])),
        row(0x9A82_0020, "csel_x", 0, set(&[1, 2]) | flags, set(&[0])),
        row(0xFA42_1020, "ccmp_x_reg", 0, set(&[1, 2]) | flags, flags),
        row(0x9100_43FF, "add_x_imm", 0, set(&[SP]), set(&[SP])),
        row(0xAA01_03E0, "orr_x_reg", 0, set(&[1]), set(&[0])),
        row(0xD280_0000, "movz_x_zero", 0, 0, set(&[0])),
        row(0xF280_0020, "movk_x", 0, set(&[0]), set(&[0])),
        row(0xB37D_0C20, "bfm_x", 0, set(&[0, 1]), set(&[0])),
        row(0x9B02_0C20, "madd_x", 0, set(&[1, 2, 3]), set(&[0])),
        row(0xB400_0041, "cbz_x", 0, set(&[1]), 0),
        row(0x5400_0040, "b_cond", 0, flags, 0),
        row(0x9400_0002, "bl", 0, 0, set(&[30])),
        row(0xD63F_0020, "blr", 0, set(&[1]), set(&[30])),
        row(0xD65F_03C0, "ret", 0, set(&[30]), 0),
        row(0xF862_7BE0, "ldr_x_reg", set(&[SP, 2]), 0, set(&[0])),
        row(0xAD40_0440, "ldp_q_imm", set(&[2]), 0, v(0) | v(1)),
        row(0xC800_7C41, "stxr_x_imm", set(&[2]), set(&[1]), set(&[0])),
        row(0x5800_0040, "ldr_x_lit", 0, 0, set(&[0])),
        row(0xF980_0020, "prfm_imm", set(&[1]), 0, 0),
        row(0x0D40_9020, "ld1_s_lane_imm", set(&[1]), v(0), v(0)),
        row(0x4D40_C820, "ld1r_v4s_imm", set(&[1]), 0, v(0)),
        row(0x4E62_CC20, "fmla_v2d", 0, v(0) | v(1) | v(2), v(0)),
        row(0x2F72_0820, "mla_v4h_lane", 0, v(0) | v(1) | v(2), v(0)),
        row(0x1E62_2020, "fcmp_d", 0, v(1) | v(2), flags),
        row(0x1E62_0C20, "fcsel_d", 0, v(1) | v(2) | flags, v(0)),
        row(0x4E18_1C20, "ins_d_w", 0, v(0) | set(&[1]), v(0)),
        row(0x4E21_2820, "xtn2_v16b", 0, v(0) | v(1), v(0)),
        row(0x4E02_23E0, "tbl_v16b_2", 0, v(31) | v(0) | v(2), v(0)),
        row(0x9E67_03E0, "fmov_d_zero", 0, 0, v(0)),
        row(0xD53B_4200, "mrs", 0, flags, set(&[0])),
        row(0xD51B_D040, "msr", 0, set(&[0]), system),
        row(0xD50B_7421, "dc", set(&[1]), 0, 0),
        row(0xD503_201F, "hint", 0, 0, 0),
        row(0x0000_0022, "udf", 0, 0, 0),
    ];
    for Row { word, name: expected, address, sources, results } in rows {
        let described = instruction(word, 0);
        assert_eq!(name(word), expected);
        assert_eq!(
            (described.address, described.sources, described.results, described.base),
            (address, sources, results, None),
            "{expected}"
        );
    }
}

#[test]
fn addresses_are_written_back() {
    // LDR X0, [X1], #8; STP X0, X1, [SP, #-16]!; LD3 {V30.4S, V31.4S, V0.4S}, [X1], X2
    let rows = [
        (0xF840_8420, set(&[1]), 0, set(&[0]), 1, true),
        (0xA9BF_07E0, set(&[SP]), set(&[0, 1]), 0, 31, false),
        (0x4CC2_483E, set(&[1, 2]), 0, set(&[V + 30, V + 31, V]), 1, true),
    ];
    for (word, address, sources, results, base, loads) in rows {
        let described = instruction(word, 0);
        assert_eq!((described.address, described.sources, described.results), (address, sources, results));
        assert_eq!((described.base, described.loads, described.stores), (Some(base), loads, !loads));
    }
}

#[test]
fn what_is_special_is_told() {
    let class = |word| instruction(word, 0).class;
    assert_eq!(class(0x1400_0002), Class::DirectBranch);
    assert_eq!(class(0xD61F_0020), Class::Plain, "BR");
    assert_eq!(class(0xD503_201F), Class::Nop);
    assert_eq!(class(0xD503_203F), Class::Pause, "YIELD");
    assert_eq!(class(0xD503_207F), Class::Plain, "WFI");
    assert_eq!(class(0xF980_0020), Class::Prefetch(Prefetch::First));
    assert_eq!(class(0xF980_0030), Class::Prefetch(Prefetch::Write), "PSTL1KEEP");
    assert_eq!(class(0xD50B_7E21), Class::LineFlush, "DC CIVAC");
    assert!(instruction(0xD50B_7421, 0).stores, "DC ZVA");
    let renaming = |word| instruction(word, 0).renaming;
    assert_eq!(renaming(0xAA01_03E0), Renaming::Move);
    assert_eq!(renaming(0xD280_0000), Renaming::Zero);
    assert_eq!(renaming(0x9E67_03E0), Renaming::Zero);
    assert_eq!(renaming(0xD280_0020), Renaming::None);
    assert_eq!(instruction(0x9AC2_0C20, 0).divider, Some(Divider::WideInteger));
    let fused = instruction(0x4E62_CC20, 0).arithmetic.expect("FMLA");
    assert_eq!((fused.count, fused.operations, fused.packed, fused.double), (2, [2, 2, 0, 0], true, true));
    assert_eq!(instruction(0x9E67_03E0, 0).register_file, RegisterFile::Vector);
}
