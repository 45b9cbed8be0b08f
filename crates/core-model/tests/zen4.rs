//! Zen 4, beside what was measured on an EPYC 9004 (docs/silicon.md, "Mechanisms").
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, about, assemble, block, describe, looped, new};
use core_model::ZEN4;
use iced_x86::code_asm::*;
use iced_x86::{Decoder, DecoderOptions, IcedError, Instruction};
use retire::{Block, Branch, BranchKind, CoreEvent, Observer};

/// Cycles of some instructions, in a loop of some copies.
fn cycles(body: impl Fn(&mut CodeAssembler)) -> f64 {
    looped(&ZEN4, body)
}

#[test]
fn a_nop_has_the_slot_of_the_instruction_before_it() {
    let moves = |nops: bool| {
        cycles(move |a: &mut CodeAssembler| {
            for _ in 0..6 {
                a.mov(rcx, rbx).unwrap();
                if nops {
                    a.nop().unwrap();
                }
            }
        })
    };
    about(moves(false), 1.0);
    about(moves(true), 1.0);
}

#[test]
fn a_load_by_the_registers_of_its_store_has_the_value_from_renaming() {
    // More loads than any predictor knows.
    let chain = |changed: bool| {
        cycles(move |a: &mut CodeAssembler| {
            for _ in 0..40 {
                a.mov(qword_ptr(rdi + 8), rax).unwrap();
                if changed {
                    a.lea(rdi, ptr(rdi)).unwrap();
                }
                a.mov(rax, qword_ptr(rdi + 8)).unwrap();
            }
        })
    };
    about(chain(false), 40.0);
    assert!(chain(true) > 200.0, "{}", chain(true));
}

/// The root waits for the division of the turn before, but the divider does not wait for the root.
#[test]
fn a_division_goes_ahead_of_an_older_one_that_waits() {
    let turn = |waits: bool| {
        cycles(move |a: &mut CodeAssembler| {
            if !waits {
                a.xorps(xmm0, xmm0).unwrap();
            }
            a.sqrtsd(xmm0, xmm1).unwrap();
            a.movaps(xmm0, xmm1).unwrap();
            a.divsd(xmm0, xmm1).unwrap();
        })
    };
    about(turn(false), 13.0);
    about(turn(true), 13.0);
}

#[test]
fn as_many_stores_as_renaming_looks_back() {
    let behind = |stores: u32| {
        cycles(move |a: &mut CodeAssembler| {
            a.mov(qword_ptr(rdi), rax).unwrap();
            (0..stores).for_each(|_| a.mov(qword_ptr(rdi + 64), rcx).unwrap());
            a.mov(rax, qword_ptr(rdi)).unwrap();
            (0..6).for_each(|_| a.imul_2(rax, rax).unwrap());
        })
    };
    about(behind(10), 18.0);
    assert!(behind(16) > 22.0, "{}", behind(16));
}

#[test]
fn a_stored_constant_takes_a_unit_of_arithmetic() {
    let with = |constant: bool| {
        cycles(move |a: &mut CodeAssembler| {
            if constant {
                a.mov(dword_ptr(rbp), 1).unwrap();
            } else {
                a.mov(dword_ptr(rbp), eax).unwrap();
            }
            (0..3).for_each(|_| a.lea(rcx, ptr(rbx + 1)).unwrap());
        })
    };
    about(with(true), 1.0);
    about(with(false), 0.75);
}

#[test]
fn vectors_change_their_domain_without_delay() {
    let body = |a: &mut CodeAssembler| {
        a.addps(xmm0, xmm1).unwrap();
        a.paddd(xmm0, xmm2).unwrap();
    };
    about(cycles(body), 4.0);
}

#[test]
fn two_shifts_and_two_additions_take_a_cycle() {
    let body = |a: &mut CodeAssembler| {
        for _ in 0..2 {
            a.mov(edx, eax).unwrap();
            a.shr(edx, 5).unwrap();
        }
        (0..2).for_each(|_| a.lea(rcx, ptr(rbx + 1)).unwrap());
    };
    let cycles = cycles(body);
    assert!(cycles < 1.2, "{cycles}");
}

/// Instructions by letter: loads, LEA, rotations, multiplications, comparisons with memory, and moves that renaming
/// does.
fn letters(a: &mut CodeAssembler, letters: &str) {
    let registers = [rcx, rsi, r8, r9, r10, r11, r12, r13];
    for (n, letter) in letters.chars().enumerate() {
        let register = registers[n % registers.len()];
        let place = qword_ptr(rdi + 8 * (n % 8));
        match letter {
            'L' => a.mov(register, place),
            'A' => a.lea(register, ptr(rbx + 1)),
            'R' => a.rorx(register, rbx, 8),
            'I' => a.imul_3(register, rbx, 3),
            'C' => a.cmp(place, rbx),
            _ => a.mov(register, rbx),
        }
        .unwrap();
    }
}

/// Holds the cycles of sequences of [`letters`] to those that were measured.
fn compare(measured: &[(&str, f64)], within: f64) {
    for (sequence, expected) in measured {
        let found = cycles(|a| letters(a, sequence));
        assert!(
            (found / expected - 1.0).abs() < within,
            "{sequence}: {found:.3} cycles instead of {expected}"
        );
    }
}

#[test]
fn schedulers_take_so_many_uops_a_cycle() {
    // Measured on an EPYC 9004, in loops.
    let measured = [
        ("LLA", 0.75),
        ("ALL", 0.75),
        ("LLALLA", 1.49),
        ("LLM", 0.67),
        ("LLAA", 0.68),
        ("LLLA", 1.00),
        ("LLLLA", 1.33),
        ("LLLAAAAA", 1.50),
        ("LLLAAAAAA", 1.67),
        ("LLLLLAAAAA", 2.00),
        ("LLLLLMMMMM", 2.00),
        ("AAAAAMMMMM", 2.00),
        ("LLLLLMMMM", 1.67),
        ("LC", 0.67),
        ("CCA", 0.76),
        ("CCCCMMMM", 1.57),
        ("LLCA", 1.00),
        // Of two units a cycle takes one operation each.
        ("RRRM", 1.50),
        ("RRRAA", 1.50),
        ("RRRAAA", 2.00),
        ("RRRAAMMM", 2.00),
        ("RRRAAAMM", 2.00),
        ("RRRMMMMMM", 2.00),
        ("RRAAAA", 1.53),
    ];
    compare(&measured, 0.07);
}

#[test]
fn a_unit_has_one_result_in_a_cycle() {
    // Measured on an EPYC 9004, in loops. What follows a multiplication two cycles later on its unit is one of those.
    let measured = [
        ("IR", 1.00),
        ("IRR", 1.83),
        ("IRRM", 1.83),
        ("IRRR", 2.00),
        ("IRRAAA", 2.00),
        ("IIR", 2.00),
        ("IIRRR", 3.67),
        ("IIIRR", 3.00),
        ("IIIRRR", 5.00),
        ("IRIRIR", 3.00),
        ("IRIRRIR", 5.00),
        ("IRIRA", 2.00),
        ("IAAAA", 1.62),
        ("IAAAAA", 1.83),
        ("IAAAAAA", 2.00),
        ("IIAAA", 2.00),
    ];
    compare(&measured, 0.08);
}

/// Cycles of some LEA and a jump that is not taken, with a comparison or a decrement; of 32 of these in a loop.
fn with_jump(result: bool, leas: u32) -> f64 {
    let code = assemble(|a| {
        for counter in [rcx, rdx, rsi, r8, r9, r10, r11, r12].repeat(4) {
            (0..leas).for_each(|_| a.lea(r13, ptr(rbx + 1)).unwrap());
            if result {
                a.dec(counter).unwrap();
            } else {
                a.cmp(rax, rbx).unwrap();
            }
            a.jne(CODE).unwrap();
        }
        a.jmp(CODE).unwrap();
    });
    let mut model = new(&ZEN4);
    let blocks: Vec<_> = code
        .split_inclusive(Instruction::is_jcc_short_or_near)
        .map(|instructions| (instructions[0].ip(), describe(instructions)))
        .map(|(rip, instructions)| (rip, model.define(&instructions), instructions))
        .collect();
    for _ in 0..2000 {
        for (rip, id, instructions) in &blocks {
            let jump = instructions.len() == 1;
            let kind = if jump { BranchKind::DirectJump } else { BranchKind::Conditional };
            let branch = Some(Branch { kind, taken: jump, target: CODE });
            model.retire(&Block { rip: *rip, fetch_pa: *rip, branch, ..block(*id, instructions) });
        }
    }
    model.event(CoreEvent::Serialise);
    model.cycles() as f64 / 64_000.0
}

#[test]
fn jumps_that_are_not_taken_have_a_unit_beside_those_of_arithmetic() {
    // Measured on an EPYC 9004, in loops.
    about(with_jump(false, 4), 1.06);
    about(with_jump(true, 4), 1.28);
    about(with_jump(false, 1), 0.53);
    about(with_jump(true, 1), 0.53);
}

/// Cycles of an instruction and three moves that renaming makes.
fn beside_moves(body: impl Fn(&mut CodeAssembler) -> Result<(), IcedError>) -> f64 {
    cycles(|a| {
        body(a).unwrap();
        (0..3).for_each(|_| a.mov(rcx, rbx).unwrap());
    })
}

#[test]
fn operations_with_an_index_are_two_macro_operations() {
    // Measured on an EPYC 9004: 1.0 cycles, as the two are dispatched together, and 0.71 of one.
    let index = rdi + 4 * r13;
    let two = [
        beside_moves(|a| a.mov(dword_ptr(index), esi)),
        beside_moves(|a| a.mov(dword_ptr(index), 1)),
        beside_moves(|a| a.cmp(dword_ptr(index), esi)),
        beside_moves(|a| a.movsxd(rsi, dword_ptr(index))),
        beside_moves(|a| a.andn(esi, r11d, dword_ptr(index))),
        beside_moves(|a| a.lea(rsi, ptr(index + 8))),
        beside_moves(|a| a.rorx(esi, dword_ptr(rdi), 3)),
        beside_moves(|a| a.sete(byte_ptr(rdi))),
        beside_moves(|a| a.add(dword_ptr(rdi), esi)),
    ];
    for (number, cycles) in two.into_iter().enumerate() {
        assert!((0.97..1.05).contains(&cycles), "{number}: {cycles}");
    }
    let one = [
        beside_moves(|a| a.mov(esi, dword_ptr(index))),
        beside_moves(|a| a.movzx(esi, word_ptr(index))),
        beside_moves(|a| a.movups(xmm1, xmmword_ptr(index))),
        beside_moves(|a| a.mov(dword_ptr(rdi), esi)),
        beside_moves(|a| a.cmp(dword_ptr(rdi), esi)),
        beside_moves(|a| a.movsxd(rsi, dword_ptr(rdi))),
        beside_moves(|a| a.andn(esi, r11d, dword_ptr(rdi))),
        beside_moves(|a| a.lea(rsi, ptr(index))),
        beside_moves(|a| a.mov(r9, 0x7FFF_FFFF_FFFF_FFFFu64)),
    ];
    for (number, cycles) in one.into_iter().enumerate() {
        assert!((0.65..0.75).contains(&cycles), "{number}: {cycles}");
    }
}

/// Cycles of an iteration of a loop of three additions and a comparison with its jump, so many bytes behind the
/// beginning of a line of code.
fn loop_at(offset: u64) -> f64 {
    let begin = CODE + offset;
    let mut a = CodeAssembler::new(64).unwrap();
    let mut top = a.create_label();
    a.set_label(&mut top).unwrap();
    for register in [rbx, rcx, rdx] {
        a.add(register, 1).unwrap();
    }
    a.cmp(rax, rsi).unwrap();
    a.jb(top).unwrap();
    let code: Vec<_> =
        Decoder::with_ip(64, &a.assemble(begin).unwrap(), begin, DecoderOptions::NONE).iter().collect();
    let mut instructions = describe(&code);
    for (described, one) in instructions.iter_mut().zip(&code) {
        described.offset = (one.ip() - begin) as u16;
    }
    let mut model = new(&ZEN4);
    let id = model.define(&instructions);
    let branch = Some(Branch { kind: BranchKind::Conditional, taken: true, target: begin });
    for _ in 0..20_000 {
        model.retire(&Block { rip: begin, fetch_pa: begin, branch, ..block(id, &instructions) });
    }
    model.event(CoreEvent::Serialise);
    model.cycles() as f64 / 20_000.0
}

#[test]
fn a_loop_takes_a_cycle_for_each_line_that_it_has_a_part_in() {
    // Measured on an EPYC 9004 at each of 64 places; the loop has 17 bytes.
    for (offset, cycles) in
        [(0, 1.0), (13, 1.0), (30, 1.0), (47, 1.0), (48, 2.0), (49, 2.0), (55, 2.0), (63, 2.0)]
    {
        let found = loop_at(offset);
        assert!((found - cycles).abs() < 0.05, "{offset}: {found}");
    }
}
