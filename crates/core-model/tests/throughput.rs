//! Throughput of small loops, by what limits them.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "test code")]

use core_model::{Core, GOLDEN_COVE, LlvmSimulation, SUNNY_COVE};
use iced_x86::code_asm::*;
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};
use soft_cpu::describe;

const ITERATIONS: u32 = 2000;

/// Cycles per iteration of a loop body, over many iterations.
fn cycles(core: &'static Core, body: impl FnOnce(&mut CodeAssembler)) -> f64 {
    let mut assembler = CodeAssembler::new(64).unwrap();
    body(&mut assembler);
    let bytes = assembler.assemble(0).unwrap();
    let mut info = InstructionInfoFactory::new();
    let body: Vec<_> = Decoder::new(64, &bytes, DecoderOptions::NONE)
        .iter()
        .map(|instruction| describe::instruction(&instruction, &[], &mut info))
        .collect();
    let simulation = LlvmSimulation::new(core, &describe::X86).unwrap();
    simulation.cycles(&body, ITERATIONS) as f64 / f64::from(ITERATIONS)
}

#[track_caller]
fn about(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.05, "{found:.2} cycles instead of {expected}");
}

#[test]
fn a_chain_costs_its_latencies() {
    let chain = |a: &mut CodeAssembler| {
        a.imul_2(rax, rbx).unwrap();
        a.add(rax, rcx).unwrap();
    };
    about(cycles(&SUNNY_COVE, chain), 4.0);
    about(cycles(&GOLDEN_COVE, chain), 4.0);
}

#[test]
fn independent_work_is_limited_by_the_dispatch_width() {
    let wide = |a: &mut CodeAssembler| {
        for register in [rax, rbx, rcx, rdx, r8, r9, r10, r11, r12, r13] {
            a.nop().unwrap();
            a.lea(register, rsi + 8).unwrap();
            a.nop().unwrap();
        }
    };
    assert!(cycles(&SUNNY_COVE, wide) >= 6.0 - 0.01);
    assert!(cycles(&GOLDEN_COVE, wide) >= 5.0 - 0.01);
}

#[test]
fn one_multiplier_limits_multiplications() {
    let multiply = |a: &mut CodeAssembler| {
        for register in [rax, rbx, rcx, rdx, r8, r9] {
            a.imul_3(register, rsi, 3).unwrap();
        }
    };
    about(cycles(&GOLDEN_COVE, multiply), 6.0);
}

#[test]
fn a_pointer_chase_costs_the_load_latency() {
    about(cycles(&SUNNY_COVE, |a| a.mov(rax, qword_ptr(rax)).unwrap()), 5.0);
}

#[test]
fn a_long_latency_fills_the_reorder_buffer() {
    // 352 slots of work that follows a chain of divisions overlap with it, more do not.
    let loop_of = |fill: usize| {
        cycles(&SUNNY_COVE, move |a| {
            a.divsd(xmm0, xmm1).unwrap();
            for _ in 0..fill {
                a.nop().unwrap();
            }
        })
    };
    about(loop_of(20), loop_of(0));
    about(loop_of(1000), 200.0);
}

#[test]
fn unrelated_work_does_not_delay_a_chain() {
    let found = cycles(&SUNNY_COVE, |a| {
        a.cmovb(rdx, r8).unwrap();
        a.pcmpeqd(xmm1, xmm3).unwrap();
        a.or(rcx, rdx).unwrap();
        a.movsxd(rcx, ebx).unwrap();
        a.mov(rcx, rdx).unwrap();
        a.imul_2(rbx, r8).unwrap();
    });
    about(found, 3.0);
}

/// LLVM's Sapphire Rapids has no uop for it: it takes no slot, and none may be booked.
#[test]
fn an_instruction_without_uops_takes_no_slot() {
    let moves = |a: &mut CodeAssembler| {
        a.movaps(xmm0, xmm1).unwrap();
        a.add(rax, rbx).unwrap();
    };
    about(cycles(&GOLDEN_COVE, moves), 1.0);
}
