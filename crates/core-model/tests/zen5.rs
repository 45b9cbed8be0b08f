//! Zen 5, beside what was measured on an EPYC 9005 (docs/silicon.md, "Mechanisms").
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{Run, about, assemble, looped, looped_as_block, read};
use core_model::ZEN5;
use iced_x86::code_asm::*;
use retire::MemoryAccess;

/// Cycles of some instructions, in a loop of some copies.
fn cycles(body: impl Fn(&mut CodeAssembler)) -> f64 {
    looped(&ZEN5, body)
}

#[test]
fn what_waits_for_a_prompt_operation_is_selected_in_vain() {
    let both = |source| {
        cycles(move |a: &mut CodeAssembler| {
            a.lea(rax, rsi + rdi).unwrap();
            a.cmp(source, rdi).unwrap();
        })
    };
    let (waits, does_not) = (both(rax), both(rbx));
    assert!((0.5..0.55).contains(&waits) && (0.33..0.39).contains(&does_not), "{waits:.3} and {does_not:.3}");
    // Flags make what waits for them just as early, and an eliminated move hands that on.
    let flags = cycles(|a| {
        a.xor(ebp, ebp).unwrap();
        a.cmp(rsi, 3).unwrap();
        a.setc(bpl).unwrap();
    });
    let moved = cycles(|a| {
        a.lea(rax, rsi + rdi).unwrap();
        a.mov(rbp, rax).unwrap();
        a.cmp(rbp, rdi).unwrap();
    });
    assert!(flags > 0.5 && moved > 0.5, "{flags:.3} and {moved:.3}");
}

/// Measured, for each pair: operations one behind the other, and others of as many registers behind them.
#[test]
fn the_farther_behind_it_is_the_less_is_selected_in_vain() {
    let registers = [rax, rcx, rdx, r8, r9, r10, r11, r12];
    let pairs = |count: usize, first: fn(&mut CodeAssembler, _), second: fn(&mut CodeAssembler, _)| {
        let all = cycles(move |a: &mut CodeAssembler| {
            registers[..count].iter().for_each(|&register| first(a, register));
            registers[..count].iter().for_each(|&register| second(a, register));
        });
        all / count as f64
    };
    let sum = |a: &mut CodeAssembler, register| a.lea(register, rsi + rdi).unwrap();
    let compare = |a: &mut CodeAssembler, register| a.cmp(register, rdi).unwrap();
    // Three of the six units have these.
    let rotate = |a: &mut CodeAssembler, register| a.rorx(register, r14, 5).unwrap();
    let again = |a: &mut CodeAssembler, register| a.rorx(rbp, register, 5).unwrap();
    for (count, sums, rotations) in [(1, 0.53, 1.10), (4, 0.51, 0.86), (8, 0.42, 0.68)] {
        let (sums_here, rotations_here) = (pairs(count, sum, compare), pairs(count, rotate, again));
        assert!((sums_here / sums - 1.0).abs() < 0.1, "{count}: {sums_here:.3}");
        assert!((rotations_here / rotations - 1.0).abs() < 0.1, "{count}: {rotations_here:.3}");
    }
    // None of these sums waits, as there are units enough beside the rotations.
    let beside = pairs(1, sum, again);
    assert!(beside < 0.4, "{beside:.3}");
}

#[test]
fn a_move_and_the_operation_behind_it_are_one() {
    let moved = |operation: fn(&mut CodeAssembler)| {
        looped_as_block(&ZEN5, move |a: &mut CodeAssembler| {
            a.mov(rax, rsi).unwrap();
            operation(a);
        })
    };
    let one = [
        moved(|a| a.add(rax, rbx).unwrap()),
        moved(|a| a.and(rax, 15).unwrap()),
        moved(|a| a.not(rax).unwrap()),
        moved(|a| a.inc(rax).unwrap()),
    ];
    // A negation does not, nor do other widths, the register itself and another destination.
    let two = [
        moved(|a| a.neg(rax).unwrap()),
        moved(|a| a.add(eax, 1).unwrap()),
        moved(|a| a.add(rax, rax).unwrap()),
        moved(|a| a.cmp(rax, rbx).unwrap()),
        moved(|a| a.mov(rcx, rdi).unwrap()),
    ];
    assert!(one.iter().all(|cycles| (0.16..0.2).contains(cycles)), "{one:?}");
    assert!(two.iter().all(|&cycles| cycles > 0.25), "{two:?}");
    // The operation waits for what was moved.
    let chain = looped_as_block(&ZEN5, |a| {
        a.mov(rax, rsi).unwrap();
        a.add(rax, rbx).unwrap();
        a.mov(rsi, rax).unwrap();
        a.add(rsi, rbx).unwrap();
    });
    about(chain, 2.0);
}

#[test]
fn conditions_of_two_flags_take_a_cycle_longer_from_these() {
    about(cycles(|a| a.cmova(rdx, rsi).unwrap()), 1.0);
    let through_flags = |a: &mut CodeAssembler| {
        a.cmp(rax, rdx).unwrap();
        a.cmovle(rdx, rax).unwrap();
    };
    about(cycles(through_flags), 3.0);
}

#[test]
fn ways_from_vectors_are_those_of_stores() {
    let stored = |from: fn(&mut CodeAssembler)| {
        cycles(move |a: &mut CodeAssembler| {
            a.movups(xmmword_ptr(rbx), xmm5).unwrap();
            from(a);
        })
    };
    about(stored(|a| a.comiss(xmm8, xmm0).unwrap()), 1.0);
    about(stored(|a| a.movd(eax, xmm0).unwrap()), 1.0);
    about(stored(|a| a.lea(rax, rsi + 1).unwrap()), 0.5);
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

/// Measured.
#[test]
fn operations_on_vectors_take_two_cycles() {
    about(cycles(|a| a.pxor(xmm2, xmm3).unwrap()), 2.0);
    about(cycles(|a| a.psubd(xmm2, xmm3).unwrap()), 2.0);
    about(cycles(|a| a.movhlps(xmm2, xmm2).unwrap()), 2.0);
    about(cycles(|a| a.paddd(xmm2, xmm3).unwrap()), 2.0);
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
    // But for 24 loads that are known, renaming looks at registers, which were written.
    let computed = |a: &mut CodeAssembler| {
        a.mov(rbx, rdi).unwrap();
        a.mov(rax, qword_ptr(rbx)).unwrap();
        a.add(rax, 1).unwrap();
        a.mov(qword_ptr(rbx), rax).unwrap();
    };
    about(cycles(computed), 8.0);
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

/// Measured: 15 cycles in place of 5.
#[test]
fn a_chain_through_two_addresses_of_a_line_waits_for_each() {
    let load = |linear: u64| MemoryAccess { linear, physical: 0x8000, ..read(0x8000, 8) };
    let chain = |addresses: [u64; 2]| {
        let mut run = Run::new(&ZEN5);
        let code = run.define(&assemble(|a| {
            a.mov(rax, qword_ptr(rbx)).unwrap();
            a.add(rbx, rax).unwrap();
        }));
        let cycles = (0..400).map(|n| {
            run.step(&code[0], &[load(addresses[n % 2])], None);
            run.step(&code[1], &[], None);
            run.totals().cycles
        });
        let cycles: Vec<_> = cycles.collect();
        (cycles[399] - cycles[199]) as f64 / 200.0
    };
    let (one, two) = (chain([0x10_0000; 2]), chain([0x10_0000, 0x20_0000]));
    assert!((two - one - 10.0).abs() < 1.0, "{one:.2} and {two:.2}");
}
