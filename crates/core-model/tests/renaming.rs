//! What renaming and prediction do without a cycle, beside what was measured on a Granite Rapids (docs/silicon.md).
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, Run, assemble, per_pass, read};
use core_model::{Core, GOLDEN_COVE, Memory, RAPTOR_COVE, REDWOOD_COVE, SKYLAKE_SP};
use iced_x86::code_asm::*;

const PASSES: u32 = 2_000;

/// Cycles of some instructions, one pass behind the other in a loop of 8 passes.
fn cycles(core: &'static Core, body: impl Fn(&mut CodeAssembler)) -> f64 {
    let mut run = Run::new(core);
    let code = run.define(&assemble(|a| {
        (0..8).for_each(|_| body(a));
        a.jmp(CODE).unwrap();
    }));
    for _ in 0..PASSES {
        for step in &code {
            let jump = step.1.is_jmp_short_or_near();
            run.step(step, &[], jump.then_some((true, CODE)));
        }
    }
    run.totals().cycles as f64 / f64::from(8 * PASSES)
}

#[track_caller]
fn about(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.1, "{found:.2} cycles instead of {expected}");
}

#[test]
fn small_constants_are_added_without_a_cycle() {
    for least in [-1024, 5, 1023] {
        assert!(cycles(&GOLDEN_COVE, |a| a.add(rax, least).unwrap()) < 0.3, "{least}");
        assert!(cycles(&GOLDEN_COVE, |a| a.lea(rax, rax + least).unwrap()) < 0.3, "{least}");
    }
    about(cycles(&GOLDEN_COVE, |a| a.add(rax, 1024).unwrap()), 1.0);
    about(cycles(&GOLDEN_COVE, |a| a.add(rax, -1025).unwrap()), 1.0);
    about(cycles(&GOLDEN_COVE, |a| a.add(eax, 5).unwrap()), 1.0);
    about(cycles(&GOLDEN_COVE, |a| a.inc(eax).unwrap()), 1.0);
    assert!(cycles(&GOLDEN_COVE, |a| a.inc(rax).unwrap()) < 0.3);
    about(cycles(&SKYLAKE_SP, |a| a.inc(rax).unwrap()), 1.0);
}

#[test]
fn low_bytes_of_other_registers_are_extended_without_a_cycle() {
    let back = |a: &mut CodeAssembler| {
        a.movzx(eax, bl).unwrap();
        a.movzx(ebx, al).unwrap();
    };
    assert!(cycles(&GOLDEN_COVE, back) < 0.5);
    about(cycles(&GOLDEN_COVE, |a| a.movzx(eax, al).unwrap()), 1.0);
}

#[test]
fn a_multiplied_index_takes_a_cycle_more() {
    about(cycles(&GOLDEN_COVE, |a| a.lea(rax, rax + rbx).unwrap()), 1.0);
    about(cycles(&GOLDEN_COVE, |a| a.lea(rax, rax + rbx * 2).unwrap()), 2.0);
    about(cycles(&GOLDEN_COVE, |a| a.lea(rax, rbx + rax * 4 + 5).unwrap()), 2.0);
}

/// Cycles of three loads from these places.
fn three_loads(core: &'static Core, places: [u64; 3]) -> f64 {
    let mut run = Run::new(core);
    let code = run.define(&assemble(|a| {
        for register in [rax, rcx, rdx] {
            a.mov(register, qword_ptr(rsi)).unwrap();
        }
        a.jmp(CODE).unwrap();
    }));
    let pass = |run: &mut Run| {
        for (step, place) in code.iter().zip(places) {
            run.step(step, &[read(0x10_0040 + place, 8)], None);
        }
        run.step(&code[3], &[], Some((true, CODE)));
    };
    per_pass(code.len(), &mut run, pass, |run| run.totals().cycles)
}

#[test]
fn two_loads_a_cycle_read_the_same_bank() {
    about(three_loads(&REDWOOD_COVE, [0, 8, 16]), 1.0);
    about(three_loads(&REDWOOD_COVE, [0, 64, 8]), 1.0);
    about(three_loads(&REDWOOD_COVE, [0, 64, 128]), 1.5);
    let without = Memory { load_banks: false, ..REDWOOD_COVE.memory };
    let without = Box::leak(Box::new(Core { memory: without, ..REDWOOD_COVE }));
    about(three_loads(without, [0, 64, 128]), 1.0);
}

/// Cycles of each of some jumps 64 bytes apart, with some instructions of three bytes before each.
fn jumps(core: &'static Core, count: u64, instructions: u32) -> f64 {
    let mut run = Run::new(core);
    let code = run.define(&assemble(|a| {
        for n in 1..=count {
            (0..instructions).for_each(|_| a.lea(eax, dword_ptr(rbx + rcx)).unwrap());
            a.jmp(CODE + n % count * 64).unwrap();
            // An assembler takes the short form where it reaches.
            let length = 3 * instructions + if n == count { 5 } else { 2 };
            a.nops_with_size(64 - length as usize).unwrap();
        }
    }));
    let steps: Vec<_> = code.iter().filter(|(_, one)| one.mnemonic() != iced_x86::Mnemonic::Nop).collect();
    let mut before = 0;
    for pass in 0..8 {
        for step in &steps {
            let jump = step.1.is_jmp_short_or_near();
            run.step(step, &[], jump.then(|| (true, step.1.near_branch_target())));
        }
        if pass == 3 {
            before = run.totals().cycles;
        }
    }
    (run.totals().cycles - before) as f64 / (4 * count) as f64
}

#[test]
fn prediction_is_ahead_of_long_blocks_only() {
    let [short, long] = [4, 10].map(|instructions| jumps(&REDWOOD_COVE, 1024, instructions));
    assert!((1.9..2.2).contains(&short) && (1.9..2.3).contains(&long), "{short:.2} and {long:.2}");
}

/// The next one to a branch that closes a loop waits for the next cycle, others do not.
#[test]
fn two_taken_branches_go_together() {
    let several = jumps(&RAPTOR_COVE, 64, 3);
    assert!(several < 0.8, "{several:.2}");
    about(jumps(&GOLDEN_COVE, 64, 3), 1.0);
    let mut run = Run::new(&RAPTOR_COVE);
    let code = run.define(&assemble(|a| {
        a.nop_1::<AsmMemoryOperand>(dword_ptr(rax)).unwrap();
        a.jne(CODE).unwrap();
    }));
    let pass = |run: &mut Run| {
        run.step(&code[0], &[], None);
        run.step(&code[1], &[], Some((true, CODE)));
    };
    about(per_pass(code.len(), &mut run, pass, |run| run.totals().cycles), 1.0);
}
