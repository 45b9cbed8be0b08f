//! Zen 4, beside what was measured on an EPYC 9004 (docs/silicon.md, "Mechanisms").
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{about, looped};
use core_model::ZEN4;
use iced_x86::code_asm::*;

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
