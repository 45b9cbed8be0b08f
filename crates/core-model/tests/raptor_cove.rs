//! Raptor Cove, beside what was measured on an Emerald Rapids (docs/silicon.md, "Mechanisms").
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, Random, Run, about, assemble, block, describe, looped, new, read, second_time};
use core_model::RAPTOR_COVE;
use iced_x86::code_asm::*;
use iced_x86::{Code, IcedError, Instruction, OpKind};
use retire::{Block, Observer};

/// Cycles of some instructions, twelve times in a loop.
fn cycles(body: impl Fn(&mut CodeAssembler) -> Result<(), IcedError>) -> f64 {
    let copies = 12;
    looped(&RAPTOR_COVE, |a| (0..copies).for_each(|_| body(a).unwrap())) / f64::from(copies)
}

/// Asserts that each is within 8 % of what it is on silicon.
fn are_about<const N: usize>(rows: [(f64, f64); N]) {
    for (number, (model, silicon)) in rows.into_iter().enumerate() {
        assert!((model / silicon - 1.0).abs() < 0.08, "{number}: {model}, {silicon} on silicon");
    }
}

#[test]
fn operations_on_high_bytes_are_as_multiplications() {
    are_about([
        (cycles(|a| a.test(al, 2)), 0.20),
        (cycles(|a| a.test(ah, 2)), 1.0),
        (cycles(|a| a.movzx(ecx, ah)), 1.0),
        (cycles(|a| a.movzx(eax, ah)), 2.99),
        (cycles(|a| a.mov(ah, cl)), 2.99),
        (cycles(|a| a.add(ah, cl)), 2.99),
        (cycles(|a| a.mov(byte_ptr(rsi), ah)), 0.50),
    ]);
}

#[test]
fn a_choice_by_flags_of_logic_takes_longer() {
    let choice = |flags: fn(&mut CodeAssembler) -> Result<(), IcedError>| {
        cycles(move |a| {
            flags(a)?;
            a.cmovne(ecx, edx)
        })
    };
    let logic = [
        choice(|a| a.test(rbx, rbx)),
        choice(|a| a.and(r8, rbx)),
        choice(|a| a.xor(r8d, r8d)),
        choice(|a| a.andn(r8, rsi, rdi)),
    ];
    assert!(logic.iter().all(|cycles| (1.75..2.05).contains(cycles)), "{logic:?}, 1.83 on silicon");
    are_about([
        (choice(|a| a.cmp(rbx, rsi)), 1.0),
        (choice(|a| a.sub(rbx, rsi)), 1.0),
        (choice(|a| a.inc(rbx)), 1.0),
    ]);
    let carry = cycles(|a| {
        a.test(rbx, rbx)?;
        a.adc(ecx, edx)
    });
    are_about([(carry, 1.0)]);
}

#[test]
fn a_shift_adds_the_constant_of_renaming_first() {
    let behind = |constant: bool| {
        cycles(move |a| {
            if constant {
                a.lea(rax, ptr(rbx + 1))?;
            } else {
                a.mov(rax, rbx)?;
            }
            a.shl(rax, 4)
        })
    };
    let chain = cycles(|a| {
        a.add(rax, 1)?;
        a.shl(rax, 4)
    });
    let halves = cycles(|a| {
        a.add(eax, 1)?;
        a.shl(eax, 4)
    });
    are_about([(behind(true), 1.04), (behind(false), 0.52), (chain, 2.99), (halves, 1.99)]);
}

#[test]
fn vector_registers_keep_where_their_values_were_made() {
    let product = |made: fn(&mut CodeAssembler) -> Result<(), IcedError>| {
        cycles(move |a| {
            made(a)?;
            a.mulps(xmm1, xmm2)?;
            a.mulps(xmm1, xmm2)
        })
    };
    are_about([
        (product(|a| a.movaps(xmm2, xmmword_ptr(rsi))), 7.98),
        (product(|a| a.paddd(xmm2, xmm3)), 9.95),
        (product(|a| a.addps(xmm2, xmm3)), 9.98),
        (product(|a| a.pshufd(xmm2, xmm3, 3)), 7.98),
        (cycles(|a| a.addps(xmm1, xmm2)), 2.0),
    ]);
    let sum_and = |then: fn(&mut CodeAssembler) -> Result<(), IcedError>| {
        cycles(move |a| {
            a.addps(xmm1, xmm2)?;
            then(a)
        })
    };
    are_about([
        (sum_and(|a| a.mulps(xmm1, xmm2)), 6.98),
        (sum_and(|a| a.pshufd(xmm1, xmm1, 3)), 3.99),
        (sum_and(|a| a.andps(xmm1, xmm3)), 3.99),
        (sum_and(|a| a.subps(xmm1, xmm2)), 3.99),
    ]);
}

#[test]
fn renaming_connects_loads_and_operations_in_place_that_read_no_flags() {
    are_about([
        (cycles(|a| a.add(qword_ptr(rdi), 3)), 1.0),
        (cycles(|a| a.inc(qword_ptr(rdi))), 1.0),
        (cycles(|a| a.not(qword_ptr(rdi))), 1.0),
        (cycles(|a| a.add(qword_ptr(rdi), rax)), 7.35),
    ]);
    let stored = |load: fn(&mut CodeAssembler) -> Result<(), IcedError>| {
        cycles(move |a| {
            load(a)?;
            a.mov(dword_ptr(rdi), eax)
        })
    };
    are_about([
        (stored(|a| a.add(eax, dword_ptr(rdi))), 1.0),
        (stored(|a| a.imul_2(eax, dword_ptr(rdi))), 3.0),
        (stored(|a| a.cmovne(eax, dword_ptr(rdi))), 7.55),
        (stored(|a| a.adc(eax, dword_ptr(rdi))), 7.46),
        (stored(|a| a.rorx(eax, dword_ptr(rdi), 3)), 7.36),
    ]);
}

#[test]
fn the_stack_engine_needs_no_uop() {
    let named = cycles(|a| {
        a.push(rbx)?;
        (0..4).try_for_each(|_| a.nop())?;
        a.mov(rax, rsp)?;
        a.pop(rcx)
    });
    are_about([(named, 1.19)]);
}

#[test]
fn uops_that_are_allocated_together_have_ports_of_their_own() {
    let chain = |dependents: usize| {
        cycles(move |a| {
            a.add(rbp, rsi)?;
            [rcx, rdx, r8, r9].into_iter().take(dependents).try_for_each(|to| a.lea(to, ptr(rbp + rdi)))
        })
    };
    are_about([(chain(0), 1.0), (chain(1), 1.03), (chain(2), 1.1)]);
    assert!((1.1..1.45).contains(&chain(3)), "{}, 1.2 to 1.25 on silicon", chain(3));
}

/// Blocks before others decide what these take, long after their results are ready.
#[test]
fn where_values_were_made_is_remembered() {
    let (mut remembering, mut forgetful) = (new(&RAPTOR_COVE), new(&RAPTOR_COVE));
    let code = |body: fn(&mut CodeAssembler)| describe(&assemble(body));
    let idle = |a: &mut CodeAssembler| (0..7).for_each(|_| a.imul_2(r9, rbx).unwrap());
    let made = [
        |a: &mut CodeAssembler| a.test(rbx, rbx).unwrap(),
        |a: &mut CodeAssembler| a.cmp(rbx, rsi).unwrap(),
        |a: &mut CodeAssembler| a.lea(rax, ptr(rbx + 1)).unwrap(),
        |a: &mut CodeAssembler| a.lea(rax, ptr(rbx + rsi)).unwrap(),
        |a: &mut CodeAssembler| a.addps(xmm2, xmm3).unwrap(),
        |a: &mut CodeAssembler| a.paddd(xmm2, xmm3).unwrap(),
        |a: &mut CodeAssembler| a.pshufd(xmm2, xmm3, 3).unwrap(),
    ];
    let used = code(|a| {
        (0..4).for_each(|_| a.cmovne(ecx, edx).unwrap());
        a.rorx(r8, rax, 3).unwrap();
        (0..4).for_each(|_| a.rorx(r8, r8, 3).unwrap());
        (0..3).for_each(|_| a.mulps(xmm1, xmm2).unwrap());
        a.imul_2(rcx, r8).unwrap();
        a.movq(r10, xmm1).unwrap();
        a.imul_2(rcx, r10).unwrap();
    });
    let mut define = |code: Vec<_>| {
        let ids = [&mut remembering, &mut forgetful].map(|model| model.define(&code));
        (ids[0], code)
    };
    let made = made.map(|body| {
        define(describe(&assemble(|a| {
            idle(a);
            body(a);
            idle(a);
        })))
    });
    let used = define(used);
    let mut random = Random(3);
    for n in 0..3000 {
        let (id, code) = if n % 2 == 0 { &made[random.below(7) as usize] } else { &used };
        let block = block(*id, code);
        remembering.retire(&block);
        forgetful.retire(&Block { whole: false, ..block });
        assert_eq!(remembering.cycles(), forgetful.cycles(), "{n}");
    }
}

/// Cycles that a misprediction takes with so many jumps to the next 64 bytes between it and the next branch that waits
/// for it.
fn misprediction_before_jumps(jumps: u64) -> f64 {
    let cycles = |random_direction: bool| {
        let mut run = Run::new(&RAPTOR_COVE);
        let parts = run.define(&assemble(|a| {
            a.and(eax, 0).unwrap();
            a.add(rax, rcx).unwrap();
            a.movzx(eax, byte_ptr(rsi + rax)).unwrap();
            a.test(eax, eax).unwrap();
            a.je(CODE + 32).unwrap();
        }));
        let far: Vec<_> = (0..=jumps).map(|n| run.define(&jump_at(CODE + 64 * n + 32))).collect();
        let mut random = Random(7);
        let execute = |run: &mut Run, n: usize| {
            let direction = random_direction && random.below(2) > 0;
            let byte = [read(0x10_0000 + n as u64, 1)];
            for step in &parts[..4] {
                let loads = step.1.op1_kind() == OpKind::Memory;
                run.step(step, if loads { &byte } else { &[] }, None);
            }
            run.step(&parts[4], &[], Some((!direction, CODE + 32)));
            for (n, jump) in far.iter().enumerate() {
                let target = CODE + if n as u64 == jumps { 0 } else { 64 * n as u64 + 96 };
                run.step(&jump[0], &[], Some((true, target)));
            }
        };
        second_time(20_000, &mut run, execute, |run| run.totals().cycles)
    };
    (cycles(true) - cycles(false)) / 0.5
}

fn jump_at(address: u64) -> Vec<Instruction> {
    let mut jump = Instruction::with_branch(Code::Jmp_rel8_64, address).unwrap();
    jump.set_ip(address);
    jump.set_len(2);
    vec![jump]
}

#[test]
fn taken_branches_behind_a_misprediction_take_two_cycles() {
    // Two jumps: 22.2 to 23.8 (docs/silicon.md).
    for (jumps, silicon) in [(0, 20.3), (2, 22.2), (4, 26.2), (8, 32.2)] {
        about(misprediction_before_jumps(jumps), silicon);
    }
}
