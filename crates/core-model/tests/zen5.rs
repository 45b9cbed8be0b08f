//! Zen 5, beside what was measured on an EPYC 9005 (docs/silicon.md, "Mechanisms").
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{about, looped};
use core_model::ZEN5;
use iced_x86::code_asm::*;

/// Cycles of some instructions, in a loop of some copies.
fn cycles(body: impl Fn(&mut CodeAssembler)) -> f64 {
    looped(&ZEN5, body)
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
