//! The oracle of A64: a short run of it, recorded cases everywhere.
#![allow(missing_docs)]

use oracle::a64::case::{Case, Outcome, Signal};
use oracle::a64::compare::compare;
use oracle::a64::corpus::Corpus;
use oracle::a64::generator::Generator;
use oracle::a64::run::{Difference, Oracle};
use oracle::a64::soft::Soft;
use oracle::a64::start::Start;
use oracle::a64::{
    forms::{Form, Group},
    rules,
};
use oracle::compare::Verdict;
use oracle::corpus::CorpusError;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const PAGE: &str = include_str!("../../../docs/oracle.md");
const RECORDING: &[u8] = include_bytes!("../corpus/qemu-cortex-a57.bin");
const CASES: u64 = 5000;

/// The first of them.
fn text(differences: &[Difference]) -> String {
    let mut text = String::new();
    for difference in differences.iter().take(10) {
        let _ = writeln!(text, "{difference}");
    }
    text
}

#[test]
fn qemu_and_the_interpreter_agree() {
    let mut oracle = match Oracle::new() {
        Ok(oracle) => oracle,
        Err(error) => return println!("SKIP oracle of A64: {error}"),
    };
    let report = oracle.run(&Generator::new(), 1, CASES, |_, _| {});
    assert_eq!(report.different, 0, "{}", text(&report.differences));
    assert!(report.cases > CASES * 9 / 10, "{} of {CASES} cases compared", report.cases);
    assert!(report.masked < CASES / 25, "{} of {CASES} cases are masked", report.masked);
    assert!(report.signals.len() >= 5, "too few kinds of ends: {:?}", report.signals);
    assert!(
        report.groups.contains_key(&Group::System) && report.groups.len() == 9,
        "{:?}",
        report.groups.keys()
    );
}

#[test]
fn the_interpreter_does_what_qemu_did() {
    let corpus = Corpus::from_bytes(RECORDING).expect("a corpus");
    assert!(corpus.len() >= 9500, "{} cases", corpus.len());
    let replay = corpus.replay(&mut Soft::new());
    let count = replay.different.len();
    assert_eq!(count, 0, "{count} of {} cases differ:\n{}", corpus.len(), text(&replay.different));
    assert!(replay.masked < 300, "{} cases are masked", replay.masked);
}

#[test]
fn other_bytes_are_refused() {
    assert!(matches!(Corpus::from_bytes(&[]), Err(CorpusError::Format(_))));
    let mut bytes = RECORDING.to_vec();
    bytes[0] ^= 1;
    assert!(matches!(Corpus::from_bytes(&bytes), Err(CorpusError::Stale)));
    assert!(matches!(Corpus::from_bytes(&RECORDING[..RECORDING.len() / 2]), Err(CorpusError::Format(_))));
}

/// Code with the start of a seed.
fn outcome(code: &[u32]) -> (Case, Outcome) {
    let case = Case { code: code.to_vec(), offset: 0x100, seed: 11 };
    let end = Soft::new().run(&case, &Start::from_seed(11, case.pc())).expect("an end");
    (case, end)
}

#[test]
fn a_difference_anywhere_is_seen() {
    // ADDS X1, X2, X3.
    let (case, right) = outcome(&[0xAB03_0041]);
    assert_eq!(right.signal, Signal::Trap);
    assert_eq!(compare(&case, &right, &right), Verdict::Same);
    let changes: [fn(&mut Outcome); 11] = [
        |end| end.state.x[1] ^= 1,
        |end| end.state.x[30] ^= 1 << 63,
        |end| end.state.sp ^= 8,
        |end| end.state.pc += 4,
        |end| end.state.nzcv ^= 1 << 28,
        |end| end.state.tpidr ^= 1,
        |end| end.state.fpsr ^= 1 << 4,
        |end| end.state.fpcr ^= 1 << 24,
        |end| end.state.v[31][1] ^= 1,
        |end| end.signal = Signal::Illegal,
        |end| end.memory.push((0x1800, 7)),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut wrong = right.clone();
        change(&mut wrong);
        assert!(matches!(compare(&case, &wrong, &right), Verdict::Different(_)), "change {number}");
    }
}

#[test]
fn rules_mask_what_they_say_and_no_more() {
    // LD1 {V4.16B, V5.16B}, [X0] at an address without a page: X0 is made 0 by MOVZ.
    let (case, right) = outcome(&[0xD280_0000, 0x4C40_A004]);
    assert_eq!(right.signal, Signal::NoPage);
    let mut loaded = right.clone();
    loaded.state.v[4][0] ^= 1;
    assert_eq!(compare(&case, &loaded, &right), Verdict::Undefined);
    loaded.state.v[8][0] ^= 1;
    assert!(matches!(compare(&case, &loaded, &right), Verdict::Different(_)));
    // STR Q28, [X0], and STR D28, [X0]: the first has two parts.
    for (word, expected) in [(0x3D80_001C, true), (0xFD00_001C, false)] {
        let (case, right) = outcome(&[0xD280_0000, word]);
        let mut stored = right.clone();
        (stored.address, stored.memory) = (0x12_3402_3000, vec![(0x2FF8, 1)]);
        let aside = Outcome { address: stored.address, ..right };
        let masked = compare(&case, &stored, &aside) == Verdict::Undefined;
        assert_eq!(masked, expected, "{word:#x}");
    }
    // FPCR's Len, but not its rounding mode.
    let (case, right) = outcome(&[0xD503_201F]);
    let mut other = right.clone();
    other.state.fpcr ^= 1 << 16;
    assert_eq!(compare(&case, &other, &right), Verdict::Undefined);
    other.state.fpcr ^= 1 << 22;
    assert!(matches!(compare(&case, &other, &right), Verdict::Different(_)));
}

#[test]
fn the_generator_knows_the_whole_user_instruction_set() {
    let generator = Generator::new();
    let names: BTreeSet<_> = generator.forms().iter().map(Form::mnemonic).collect();
    for name in
        ["madd", "ldxp", "crc32cx", "aese", "sha256h2", "pmull2", "fmadd", "sqrdmulh", "ld4r", "tbx", "blr"]
    {
        assert!(names.contains(name), "{name}");
    }
    assert!(!names.contains("svc") && !names.contains("ldadd") && !names.contains("sqrdmlah"));
    assert!(generator.forms().len() > 650, "{}", generator.forms().len());
    // Most cases are of instructions that are there.
    let cases = 2 * generator.forms().len() as u64;
    let starts = |turn| generator.case(turn, turn).0.code.first().is_some_and(|word| Soft::is_defined(*word));
    let defined = (0..cases).filter(|turn| starts(*turn)).count();
    assert!(defined as u64 > cases * 9 / 10, "{defined} of {cases}");
}

#[test]
fn the_page_shows_the_table_of_rules() {
    let (_, rest) =
        PAGE.split_once("<!-- masks: cargo xtask oracle --isa a64 --masks -->\n").expect("the table");
    let (table, _) = rest.split_once("<!-- end of masks -->").expect("its end");
    assert_eq!(table, rules::markdown(), "paste: cargo xtask oracle --isa a64 --masks");
}
