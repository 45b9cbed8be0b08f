//! How fast the model is: nanoseconds for each retired instruction, of two synthetic streams.
//!
//! ```text
//! cargo run --release -p core-model --example model_speed
//! ```
#![allow(clippy::unwrap_used, clippy::panic, reason = "an example stops at the first error")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{CODE, Random, Run, assemble, read, shares, write};
use core_model::{Isa, pipelines};
use iced_x86::code_asm::*;
use std::fs;

const ROUNDS: u64 = 500_000;

/// What compiled integer code looks like: a load, a store and a branch in about ten instructions, in the caches.
fn typical(run: &mut Run) -> u64 {
    let code = run.define(&assemble(|a| {
        let mut skip = a.create_label();
        a.mov(rax, qword_ptr(rsi + 8)).unwrap();
        a.add(rax, rbx).unwrap();
        a.lea(rcx, rax + 16).unwrap();
        a.imul_2(rdx, rcx).unwrap();
        a.test(rdx, rcx).unwrap();
        a.jnz(skip).unwrap();
        a.xor(ebx, ebx).unwrap();
        a.set_label(&mut skip).unwrap();
        a.mov(qword_ptr(rdi), rdx).unwrap();
        a.add(rsi, 8).unwrap();
        a.cmp(rsi, r8).unwrap();
        a.jne(CODE).unwrap();
    }));
    let mut count = 0;
    for n in 0..ROUNDS {
        let address = 0x10_0000 + n % 2048 * 8;
        run.step(&code[0], &[read(address, 8)], None);
        for one in &code[1..5] {
            run.step(one, &[], None);
        }
        let taken = n % 5 != 0;
        run.step(&code[5], &[], Some((taken, code[7].1.ip())));
        if !taken {
            run.step(&code[6], &[], None);
            count += 1;
        }
        run.step(&code[7], &[write(address + 0x4008, 8)], None);
        run.step(&code[8], &[], None);
        run.step(&code[9], &[], None);
        run.step(&code[10], &[], Some((true, CODE)));
        count += 10;
    }
    count
}

/// Misses and mispredictions all the time.
fn hard(run: &mut Run) -> u64 {
    let code = run.define(&assemble(|a| {
        let mut skip = a.create_label();
        a.mov(rax, qword_ptr(rsi)).unwrap();
        a.test(rax, rax).unwrap();
        a.jnz(skip).unwrap();
        a.add(rbx, rax).unwrap();
        a.set_label(&mut skip).unwrap();
        a.add(rcx, 1).unwrap();
        a.jmp(CODE).unwrap();
    }));
    let mut random = Random(7);
    let mut count = 0;
    for _ in 0..ROUNDS / 4 {
        let taken = random.next() & 1 == 1;
        run.step(&code[0], &[read(0x1_0000_0000 + (random.below(1 << 28) & !7), 8)], None);
        run.step(&code[1], &[], None);
        run.step(&code[2], &[], Some((taken, code[4].1.ip())));
        if !taken {
            run.step(&code[3], &[], None);
            count += 1;
        }
        run.step(&code[4], &[], None);
        run.step(&code[5], &[], Some((true, CODE)));
        count += 5;
    }
    count
}

/// Processor time of this process, so that other work on the machine counts less.
fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    for core in pipelines(Isa::X86) {
        for name in ["typical", "hard"] {
            let mut run = Run::new(core);
            let start = processor_seconds();
            let count = if name == "typical" { typical(&mut run) } else { hard(&mut run) };
            let nanoseconds = (processor_seconds() - start) * 1e9 / count as f64;
            let totals = run.totals();
            println!(
                "{:12} {name:8} {nanoseconds:6.1} ns an instruction, IPC {:.2}, {:?}",
                core.name,
                count as f64 / totals.cycles as f64,
                shares(&totals)
            );
        }
    }
}
