//! The x87 transcendental functions: known values, rounding, operands out of range, special operands, the stack.

use crate::common::TestBus;
use soft_cpu::{Budget, Cpu, Exit, Segment, State};

const VALUES: &str = include_str!("transcendental/values.txt");

const FSIN: u8 = 0xFE;
const FCOS: u8 = 0xFF;
const FSINCOS: u8 = 0xFB;
const FPTAN: u8 = 0xF2;
const FPATAN: u8 = 0xF3;
const F2XM1: u8 = 0xF0;
const FYL2X: u8 = 0xF1;
const FYL2XP1: u8 = 0xF9;

const ZERO: u128 = 0;
const ONE: u128 = 0x3FFF_8000_0000_0000_0000;
const INFINITY: u128 = 0x7FFF_8000_0000_0000_0000;
const NEGATIVE: u128 = 1 << 79;
const INDEFINITE: u128 = 0xFFFF_C000_0000_0000_0000;
const HALF_PI: u128 = 0x3FFF_C90F_DAA2_2168_C235;
const PI: u128 = 0x4000_C90F_DAA2_2168_C235;

const IE: u16 = 1;
const DE: u16 = 1 << 1;
const ZE: u16 = 1 << 2;
const UE: u16 = 1 << 4;
const PE: u16 = 1 << 5;
const SF: u16 = 1 << 6;
const C1: u16 = 1 << 9;
const C2: u16 = 1 << 10;
const ALL: u16 = 0x7F;

/// All exceptions masked, extended precision, to nearest.
const DEFAULT: u16 = 0x37F;

/// Runs D9 and a second byte on ST(0) and ST(1), with the other registers empty unless `full`.
fn run_on(second: u8, st0: u128, st1: u128, fcw: u16, full: bool) -> State {
    let mut bus = TestBus::new(1 << 16);
    bus.write(0x1000, &[0xD9, second, 0xF4]);
    let mut state = State { rip: 0x1000, cr0: 0x33, fcw, fsw: 0, ..State::default() };
    state.ftw = if full { 0xFF } else { 3 };
    (state.st[0], state.st[1]) = (st0, st1);
    state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xC09B };
    for number in [0, 2, 3, 4, 5] {
        state.segments[number] = Segment { selector: 16, base: 0, limit: u32::MAX, rights: 0xC093 };
    }
    let mut cpu = Cpu::default();
    cpu.set_state(&state);
    let exit = cpu.run(&mut bus, Budget { instructions: 10, interrupt_window: false });
    assert_eq!(exit, Exit::Halted);
    cpu.state()
}

fn run(second: u8, st0: u128, st1: u128) -> State {
    run_on(second, st0, st1, DEFAULT, false)
}

#[test]
fn results_are_the_exact_ones_rounded() {
    let mut wrong = String::new();
    let mut seen = 0;
    for line in VALUES.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |n: usize| u128::from_str_radix(words[n], 16).unwrap();
        let (second, at) = match words[0] {
            "fsin" => (FSIN, 0),
            "fcos" => (FCOS, 0),
            "fptan" => (FPTAN, 1),
            "f2xm1" => (F2XM1, 0),
            "fyl2x" => (FYL2X, 0),
            "fyl2xp1" => (FYL2XP1, 0),
            "fpatan" => (FPATAN, 0),
            name => panic!("{name}"),
        };
        let result = run(second, number(1), number(2)).st[at];
        if result != number(3) {
            wrong += &format!("{line}: {result:020x}\n");
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(seen > 150, "{seen} values");
}

#[test]
fn both_results_of_fsincos() {
    for x in [ONE, PI, 0xC005_9ABC_DEF0_1234_5678] {
        let state = run(FSINCOS, x, ZERO);
        assert_eq!(state.st[1], run(FSIN, x, ZERO).st[0]);
        assert_eq!(state.st[0], run(FCOS, x, ZERO).st[0]);
    }
}

#[test]
fn rounding_follows_the_control_word_but_precision_control_does_not_matter() {
    let rounded = |direction: u16| run_on(FSIN, ONE, ZERO, DEFAULT | direction << 10, false);
    let (nearest, down, up, zero) = (rounded(0), rounded(1), rounded(2), rounded(3));
    assert_eq!(up.st[0], down.st[0] + 1);
    assert_eq!(down.st[0], zero.st[0]);
    assert!(nearest.st[0] == up.st[0] || nearest.st[0] == down.st[0]);
    assert_eq!((up.fsw & (PE | C1), down.fsw & (PE | C1)), (PE | C1, PE));
    assert_eq!(run_on(FSIN, ONE, ZERO, DEFAULT & !0x300, false).st[0], nearest.st[0]);
    // An exact result of a logarithm has more bits than single precision too.
    let y = 0x3FFF_8000_0000_0000_0001;
    assert_eq!(run_on(FYL2X, ONE + (1 << 64), y, DEFAULT & !0x300, false).st[0], y);
    assert_eq!(run(FYL2X, ONE, y).fsw & ALL, 0);
}

#[test]
fn a_whole_logarithm_that_makes_a_denormal_number_is_called_inexact() {
    // The smallest normal number, 2^-16382, and the smallest of all: as a Granite Rapids has it.
    let state = run(FYL2X, 1 << 64 | 1 << 63, 1);
    assert_eq!((state.st[0], state.fsw & ALL), (NEGATIVE | 16382, DE | UE | PE));
}

#[test]
fn operands_out_of_range_stay() {
    for second in [FSIN, FCOS, FSINCOS, FPTAN] {
        for x in [0x403E_8000_0000_0000_0000, 0xFFFE_FFFF_FFFF_FFFF_FFFF] {
            let state = run(second, x, ZERO);
            assert_eq!((state.st[0], state.fsw & (C2 | ALL), state.ftw), (x, C2, 3));
        }
    }
    assert_eq!(run(FSIN, 0x403D_8000_0000_0000_0000, ZERO).fsw & C2, 0);
}

#[test]
fn special_operands() {
    let minus = |bits: u128| bits | NEGATIVE;
    let denormal = 1;
    for (second, st0, st1, result, exceptions) in [
        (FSIN, minus(ZERO), ZERO, minus(ZERO), 0),
        (FCOS, ZERO, ZERO, ONE, 0),
        (FSIN, INFINITY, ZERO, INDEFINITE, IE),
        (FCOS, minus(INFINITY), ZERO, INDEFINITE, IE),
        (FSIN, denormal, ZERO, denormal, DE | UE | PE),
        (F2XM1, minus(ZERO), ZERO, minus(ZERO), 0),
        (F2XM1, ONE, ZERO, ONE, PE),
        (F2XM1, minus(ONE), ZERO, minus(ONE - (1 << 64)), PE),
        (F2XM1, minus(INFINITY), ZERO, minus(ONE), 0),
        (F2XM1, INFINITY, ZERO, INFINITY, 0),
        (FYL2X, ZERO, ONE, minus(INFINITY), ZE),
        (FYL2X, minus(ZERO), minus(ONE), INFINITY, ZE),
        (FYL2X, ZERO, INFINITY, minus(INFINITY), 0),
        (FYL2X, ZERO, ZERO, INDEFINITE, IE),
        (FYL2X, minus(ONE), ONE, INDEFINITE, IE),
        (FYL2X, ONE, minus(ONE), minus(ZERO), 0),
        (FYL2X, ONE, INFINITY, INDEFINITE, IE),
        (FYL2X, INFINITY, ZERO, INDEFINITE, IE),
        (FYL2X, INFINITY, minus(ONE), minus(INFINITY), 0),
        (FYL2X, PI, ZERO, ZERO, 0),
        (FYL2X, ONE - (1 << 64) + 1, INFINITY, minus(INFINITY), 0),
        (FYL2XP1, minus(ZERO), ONE, minus(ZERO), 0),
        (FYL2XP1, ZERO, INFINITY, INDEFINITE, IE),
        (FYL2XP1, minus(ONE - (3 << 64)), INFINITY, minus(INFINITY), 0),
        (FPATAN, ONE, minus(ZERO), minus(ZERO), 0),
        (FPATAN, minus(ONE), ZERO, PI, PE),
        (FPATAN, minus(ZERO), minus(ZERO), minus(PI), PE),
        (FPATAN, ZERO, ONE, HALF_PI, PE),
        (FPATAN, INFINITY, INFINITY, HALF_PI - (1 << 64), PE),
        (FPATAN, minus(INFINITY), minus(ONE), minus(PI), PE),
        (FPATAN, INFINITY, minus(ONE), minus(ZERO), 0),
        (FPATAN, ONE, minus(INFINITY), minus(HALF_PI), PE),
    ] {
        let state = run(second, st0, st1);
        assert_eq!(
            (state.st[0], state.fsw & ALL),
            (result, exceptions),
            "{second:x} of {st0:020x} and {st1:020x}: {:020x}",
            state.st[0]
        );
    }
}

#[test]
fn what_is_pushed_needs_room() {
    let state = run(FPTAN, ONE, ZERO);
    assert_eq!((state.st[0], state.ftw, state.fsw >> 11 & 7), (ONE, 0x83, 7));
    for second in [FPTAN, FSINCOS] {
        let state = run_on(second, ONE, ZERO, DEFAULT, true);
        assert_eq!((state.st[0], state.st[1]), (INDEFINITE, INDEFINITE));
        assert_eq!(state.fsw & (ALL | C1), IE | SF | C1);
    }
}
