//! Zen 3, beside what was measured on an EPYC 7003 (docs/silicon.md, "Mechanisms").
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, Run, about, assemble, looped, read};
use core_model::ZEN3;
use iced_x86::code_asm::*;

/// Cycles of some instructions, in a loop of some copies.
fn cycles(body: impl Fn(&mut CodeAssembler)) -> f64 {
    looped(&ZEN3, body)
}

#[test]
fn units_of_arithmetic_are_taken_in_turn() {
    // A chain of one cycle and what waits for it: three find each other in the same scheduler, four never do.
    let three = |a: &mut CodeAssembler| {
        a.sub(rdx, 8).unwrap();
        a.lea(rcx, rdx + 2).unwrap();
        a.lea(rcx, rcx + 2).unwrap();
    };
    about(cycles(three), 1.5);
    let four = |a: &mut CodeAssembler| {
        three(a);
        a.lea(rcx, rcx + 2).unwrap();
    };
    about(cycles(four), 1.0);
    let independent = |a: &mut CodeAssembler| {
        for register in [rax, rbx, rcx, rdx, r8, r9] {
            a.add(register, 1).unwrap();
        }
    };
    about(cycles(independent), 1.5);
}

#[test]
fn lea_of_three_parts_takes_an_aligned_pair_of_turns() {
    let lea = |a: &mut CodeAssembler| a.lea(rax, r13 + rdi + 5).unwrap();
    about(cycles(lea), 0.5);
    let with = |tests: u32| {
        cycles(move |a: &mut CodeAssembler| {
            a.lea(rax, r13 + rdi + 5).unwrap();
            (0..tests).for_each(|_| a.test(rcx, rcx).unwrap());
        })
    };
    for (tests, expected) in [(1, 1.0), (2, 1.0), (4, 1.5), (5, 2.0)] {
        about(with(tests), expected);
    }
}

#[test]
fn shifts_share_the_turns_of_two_units() {
    let body = |a: &mut CodeAssembler| {
        a.shl(rax, 5u32).unwrap();
        a.add(rbx, 1).unwrap();
        a.add(rcx, 1).unwrap();
        a.add(rdx, 1).unwrap();
        a.add(r8, 1).unwrap();
    };
    about(cycles(body), 1.25);
    about(cycles(|a| a.shl(rax, 5u32).unwrap()), 1.0);
}

#[test]
fn a_move_of_a_register_to_itself_takes_no_cycle() {
    let body = |a: &mut CodeAssembler| {
        a.add(rax, 1).unwrap();
        a.mov(rax, rax).unwrap();
    };
    about(cycles(body), 1.0);
}

#[test]
fn a_run_of_stores_to_32_bytes_reaches_the_cache_together() {
    let stores = |last: u32| {
        cycles(move |a: &mut CodeAssembler| {
            for place in [0, 8, 16, last] {
                a.mov(qword_ptr(rdi + place), rbx).unwrap();
            }
        })
    };
    about(stores(64), 2.0);
    let three_lines = |a: &mut CodeAssembler| {
        for place in [0, 64, 128] {
            a.mov(qword_ptr(rdi + place), rbx).unwrap();
        }
    };
    about(cycles(three_lines), 3.0);
}

#[test]
fn operations_with_a_load_get_in_the_way_of_plain_loads() {
    let both = |a: &mut CodeAssembler| {
        a.mov(rax, qword_ptr(rdi)).unwrap();
        a.cmp(rcx, qword_ptr(rdi + 8)).unwrap();
    };
    about(cycles(both), 0.75);
    about(cycles(|a| a.cmp(rcx, qword_ptr(rdi + 8)).unwrap()), 0.333);
}

#[test]
fn flags_of_vectors_share_a_way_with_their_stores() {
    let both = |a: &mut CodeAssembler| {
        a.movups(xmmword_ptr(rsp + 0x330), xmm5).unwrap();
        a.comiss(xmm8, xmm0).unwrap();
    };
    about(cycles(both), 1.5);
}

#[test]
fn exchanges_take_as_long_without_a_lock() {
    let exchange = |locked: bool| {
        cycles(move |a: &mut CodeAssembler| {
            if locked {
                a.lock().cmpxchg(qword_ptr(r8), rsi).unwrap();
            } else {
                a.cmpxchg(qword_ptr(r8), rsi).unwrap();
            }
        })
    };
    about(exchange(false), 9.1);
    about(exchange(true), 9.1);
    about(cycles(|a| a.xadd(qword_ptr(rdi), rcx).unwrap()), 7.9);
}

#[test]
fn the_upper_half_of_a_product_comes_a_cycle_later() {
    let of = |again: bool| {
        cycles(move |a: &mut CodeAssembler| {
            a.mul(r10).unwrap();
            if again {
                a.mov(rax, rdx).unwrap();
            }
        })
    };
    about(of(false), 3.0);
    about(of(true), 4.0);
}

#[test]
fn every_other_load_of_what_a_store_has_takes_a_port_twice() {
    let of_a_store = |loads: u32, there: u32| {
        cycles(move |a: &mut CodeAssembler| {
            a.mov(qword_ptr(rdi + rsi), rbx).unwrap();
            (0..loads).for_each(|_| a.mov(rcx, qword_ptr(rdi + rsi + there)).unwrap());
        })
    };
    about(of_a_store(4, 0), 2.35);
    about(of_a_store(4, 64), 1.67);
    about(of_a_store(8, 64), 3.0);
    // In place it is the load that takes one twice, and not the store.
    let in_place = |loads: u32| {
        cycles(move |a: &mut CodeAssembler| {
            a.add(dword_ptr(rsp + 0x28), 1).unwrap();
            (0..loads).for_each(|_| a.mov(ecx, dword_ptr(rdi)).unwrap());
            a.nop().unwrap();
            a.nop().unwrap();
        })
    };
    about(in_place(2), 1.48);
    about(in_place(3), 1.77);
}

#[test]
fn loads_that_take_a_port_twice_keep_out_of_the_way_of_their_chain() {
    // Measured on an EPYC 7003: 4 cycles each, whatever counts them.
    let mut run = Run::new(&ZEN3);
    let code = run.define(&assemble(|a| {
        (0..8).for_each(|_| a.mov(rax, qword_ptr(rax)).unwrap());
        a.sub(rsi, 8).unwrap();
        a.jne(CODE).unwrap();
    }));
    for _ in 0..10_000 {
        for (n, step) in code.iter().enumerate() {
            let memory = [read(0x10_0000, 8)];
            run.step(step, if n < 8 { &memory } else { &[] }, (n == 9).then_some((true, CODE)));
        }
    }
    let cycles = run.totals().cycles as f64 / 80_000.0;
    assert!((cycles - 4.0).abs() < 0.02, "{cycles}");
}
