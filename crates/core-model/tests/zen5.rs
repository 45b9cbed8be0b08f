//! Zen 5, beside what was measured on an EPYC 9005 (docs/silicon.md, "Mechanisms").
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, Run, assemble, read, write};
use core_model::ZEN5;
use iced_x86::code_asm::*;
use iced_x86::{Instruction, InstructionInfoFactory, OpAccess, UsedMemory};
use retire::MemoryAccess;

const PASSES: u32 = 2_000;
const COPIES: u32 = 56;
const PLACE: u64 = 0x10_0000;

/// What an instruction with a memory operand does to one place; LEA does nothing.
fn accesses(instruction: &Instruction) -> Vec<MemoryAccess> {
    let place = PLACE + instruction.memory_displacement64();
    let mut factory = InstructionInfoFactory::new();
    match factory.info(instruction).used_memory().first().map(UsedMemory::access) {
        Some(OpAccess::Read) => vec![read(place, 8)],
        Some(OpAccess::Write) => vec![write(place, 8)],
        Some(OpAccess::ReadWrite) => vec![read(place, 8), write(place, 8)],
        _ => Vec::new(),
    }
}

/// Cycles of some instructions, in a loop of some copies.
fn cycles(body: impl Fn(&mut CodeAssembler)) -> f64 {
    let mut run = Run::new(&ZEN5);
    let code = run.define(&assemble(|a| {
        (0..COPIES).for_each(|_| body(a));
        a.jmp(CODE).unwrap();
    }));
    let memory: Vec<_> = code.iter().map(|(_, one)| accesses(one)).collect();
    for _ in 0..PASSES {
        for (step, memory) in code.iter().zip(&memory) {
            let jump = step.1.is_jmp_short_or_near();
            run.step(step, memory, jump.then_some((true, CODE)));
        }
    }
    run.totals().cycles as f64 / f64::from(COPIES * PASSES)
}

#[track_caller]
fn about(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.08, "{found:.3} cycles instead of {expected}");
}

#[test]
fn what_waits_for_a_prompt_operation_takes_a_port_twice() {
    let both = |source| {
        cycles(move |a: &mut CodeAssembler| {
            a.lea(rax, rsi + rdi).unwrap();
            a.cmp(source, rdi).unwrap();
        })
    };
    let (waits, does_not) = (both(rax), both(rbx));
    assert!((0.5..0.55).contains(&waits) && (0.33..0.39).contains(&does_not), "{waits:.3} and {does_not:.3}");
}

#[test]
fn sums_take_a_cycle_less_to_sums() {
    about(cycles(|a| a.addps(xmm0, xmm1).unwrap()), 2.0);
    let product = |a: &mut CodeAssembler| {
        a.mulps(xmm0, xmm1).unwrap();
        a.addps(xmm0, xmm1).unwrap();
    };
    about(cycles(product), 6.0);
}

#[test]
fn a_load_has_the_value_of_a_store_without_a_cycle() {
    let through = |a: &mut CodeAssembler| {
        a.mov(qword_ptr(rbx), rax).unwrap();
        a.mov(rax, qword_ptr(rbx)).unwrap();
    };
    about(cycles(through), 0.5);
    about(cycles(|a| a.add(qword_ptr(rbx), 1).unwrap()), 1.0);
    let extended = |a: &mut CodeAssembler| {
        a.mov(qword_ptr(rbx), rax).unwrap();
        a.movzx(eax, word_ptr(rbx)).unwrap();
    };
    about(cycles(extended), 7.0);
}

#[test]
fn two_stores_a_cycle_reach_the_cache_wherever_they_go() {
    let stores = |a: &mut CodeAssembler| {
        a.mov(qword_ptr(rbx), rax).unwrap();
        a.mov(qword_ptr(rbx + 0x140), rax).unwrap();
    };
    about(cycles(stores), 1.0);
}

#[test]
fn dense_lines_of_code_come_more_slowly() {
    // 32 of them are in a line, and 21.
    let two = cycles(|a| a.mov(eax, esi).unwrap());
    let three = cycles(|a| a.mov(rax, rsi).unwrap());
    assert!(two > 1.05 * three && three < 0.16, "{two:.3} and {three:.3}");
    // Constants: 16 comparisons in a line, with two each or one.
    let both = cycles(|a| a.cmp(dword_ptr(rbx + 8), 1).unwrap());
    let one = cycles(|a| a.cmp(dword_ptr(rbx), 1).unwrap());
    assert!(both > 1.2 * one, "{both:.3} and {one:.3}");
}
