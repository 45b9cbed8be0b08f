//! A guest that clears accessed bits of pages of code, and does not flush, sees them set again at the same time whether
//! its blocks are interpreted or compiled.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(missing_docs, clippy::unwrap_used, reason = "test code")]
#![expect(unsafe_code, reason = "compiled code accesses the RAM of the test")]

#[path = "../../soft-cpu/tests/common/mod.rs"]
mod common;

use common::TestBus;
use iced_x86::code_asm::*;
use soft_compile::{BlockCompiler, Ram};
use soft_cpu::{Budget, Cpu, Segment, State};

const CODE: u64 = 0x1_0000;
const TABLE: u64 = 0x4000;
/// Two functions that the interpreter's tables of blocks and of pages had in the same places once.
const FUNCTIONS: [u64; 2] = [0x2_0000, 0xA_0010];

/// Page tables that map the first 2 MiB as they are, and a program that calls both functions, clears the accessed bits
/// of their pages, and adds up the entries.
fn bus() -> TestBus {
    let mut bus = TestBus::new(1 << 20);
    bus.write_u64(0x1000, 0x2007);
    bus.write_u64(0x2000, 0x3007);
    bus.write_u64(0x3000, TABLE | 7);
    (0..512).for_each(|page| bus.write_u64(TABLE + page * 8, page << 12 | 7));
    let mut a = CodeAssembler::new(64).unwrap();
    let mut again = a.create_label();
    a.set_label(&mut again).unwrap();
    for function in FUNCTIONS {
        a.call(function).unwrap();
    }
    for function in FUNCTIONS {
        let entry = i32::try_from(TABLE + (function >> 12) * 8).unwrap();
        a.add(rax, qword_ptr(entry)).unwrap();
        a.rol(rax, 1).unwrap();
        a.and(byte_ptr(entry), !0x20).unwrap();
    }
    a.jmp(again).unwrap();
    bus.write(CODE, &a.assemble(CODE).unwrap());
    FUNCTIONS.iter().for_each(|function| bus.write(*function, &[0xC3]));
    bus
}

#[test]
fn accessed_bits_of_code_do_not_depend_on_compilation() {
    let mut state =
        State { rip: CODE, cr0: 0x8001_0033, cr3: 0x1000, cr4: 0x620, efer: 0xD01, ..State::default() };
    state.gpr[4] = 0x8_0000;
    state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xA09B };
    let (mut one, mut other) = (bus(), bus());
    // SAFETY: the vector stays as long as the CPU, and does not move.
    let ram = unsafe { Ram::new(other.ram.as_mut_ptr(), other.ram.len() as u64) };
    let mut interpreted = Cpu::new(&state);
    let mut compiled = Cpu::new(&state).with_compiler(Box::new(BlockCompiler::new(ram, 0).unwrap()));
    for run in 0..40 {
        let budget = Budget { instructions: 500, interrupt_window: false };
        let exits = [interpreted.run(&mut one, budget), compiled.run(&mut other, budget)];
        assert_eq!(exits[0], exits[1], "run {run}");
        assert_eq!(interpreted.state(), compiled.state(), "run {run}");
        assert!(one.ram == other.ram, "run {run}");
    }
    assert!(compiled.compiled() > 10_000, "{} instructions compiled", compiled.compiled());
}
