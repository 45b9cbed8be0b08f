//! Million instructions per second of small loops, interpreted and compiled:
//! `cargo run --release -p soft-compile --example compiled_speed`.
#![allow(clippy::unwrap_used, reason = "the code assembles")]
#![expect(unsafe_code, reason = "compiled code accesses the RAM of the example")]

#[path = "../../soft-cpu/tests/common/mod.rs"]
mod common;

use common::TestBus;
use iced_x86::code_asm::*;
use soft_compile::{BlockCompiler, HOT, Ram};
use soft_cpu::{Budget, Cpu, Segment, State};
use std::time::Instant;

/// 64-bit mode with an identity map of the first 2 MiB.
fn machine(code: &[u8], compiled: bool) -> (TestBus, Cpu<TestBus>) {
    let mut bus = TestBus::new(2 << 20);
    bus.write_u64(0x1000, 0x2007);
    bus.write_u64(0x2000, 0x3007);
    bus.write_u64(0x3000, 0x4007);
    (0..512).for_each(|page| bus.write_u64(0x4000 + page * 8, page << 12 | 7));
    bus.write(0x1_0000, code);
    let mut state = State {
        rip: 0x1_0000,
        cr0: 0x8001_0033,
        cr3: 0x1000,
        cr4: 0x4_0620,
        efer: 0xD01,
        ..State::default()
    };
    state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xA09B };
    state.gpr[4] = 0x8_0000;
    state.gpr[7] = 0x10_0000;
    let mut cpu = Cpu::new(&state);
    if compiled {
        // SAFETY: the vector stays as long as the CPU, and does not move.
        let ram = unsafe { Ram::new(bus.ram.as_mut_ptr(), bus.ram.len() as u64) };
        cpu = cpu.with_compiler(Box::new(BlockCompiler::new(ram, HOT).unwrap()));
    }
    (bus, cpu)
}

macro_rules! code {
    ($a:ident: $($line:stmt);*) => {{
        let mut $a = CodeAssembler::new(64).unwrap();
        $($line)*
        $a.assemble(0x1_0000).unwrap()
    }};
}

fn loops() -> Vec<(&'static str, Vec<u8>)> {
    let alu = code! { a:
        let mut start = a.create_label(); a.set_label(&mut start).unwrap();
        a.add(rax, 0x1111_1111).unwrap(); a.xor(rax, 0x2222_2222).unwrap();
        a.xor(rdx, 0x3333_3333).unwrap(); a.add(rdx, 0x4444_4444).unwrap();
        a.xor(rsi, 0x6666_6666).unwrap(); a.sub(rsi, 0x5555_5555).unwrap(); a.neg(rsi).unwrap();
        a.add(ebx, 0x1111_1111).unwrap(); a.xor(ebx, 0x2222_2222).unwrap();
        a.xor(ebp, 0x3333_3333).unwrap(); a.add(ebp, 0x4444_4444).unwrap();
        a.xor(r8d, 0x6666_6666).unwrap(); a.sub(r8d, 0x5555_5555).unwrap();
        a.dec(rcx).unwrap(); a.jne(start).unwrap(); a.jmp(start).unwrap()
    };
    let memory = code! { a:
        let mut start = a.create_label(); a.set_label(&mut start).unwrap();
        a.mov(rax, ptr(rdi)).unwrap(); a.mov(rdx, ptr(rdi + 8)).unwrap(); a.add(rax, rdx).unwrap();
        a.mov(ptr(rdi + 16), rax).unwrap(); a.and(edx, 1023).unwrap();
        a.mov(esi, ptr(rdi + rdx * 4 + 64)).unwrap(); a.add(ptr(rdi + 24), rsi).unwrap();
        a.movzx(r8d, byte_ptr(rdi + 32)).unwrap(); a.mov(ptr(rdi + 40), r8d).unwrap();
        a.dec(rcx).unwrap(); a.jne(start).unwrap(); a.jmp(start).unwrap()
    };
    let calls = code! { a:
        let mut start = a.create_label(); let mut one = a.create_label(); let mut two = a.create_label();
        let mut over = a.create_label();
        a.set_label(&mut start).unwrap();
        a.call(one).unwrap(); a.call(two).unwrap(); a.jmp(over).unwrap();
        a.set_label(&mut one).unwrap(); a.push(rax).unwrap(); a.mov(rax, rcx).unwrap(); a.pop(rax).unwrap();
        a.ret().unwrap();
        a.set_label(&mut two).unwrap(); a.lea(rdx, ptr(rax + rcx)).unwrap(); a.ret().unwrap();
        a.set_label(&mut over).unwrap(); a.dec(rcx).unwrap(); a.jne(start).unwrap(); a.jmp(start).unwrap()
    };
    let branches = code! { a:
        let mut start = a.create_label(); let mut skip = a.create_label(); let mut last = a.create_label();
        a.mov(rax, 0x1234_5678_9ABC_DEF1_u64).unwrap();
        a.set_label(&mut start).unwrap();
        a.mov(rdx, rax).unwrap(); a.shl(rdx, 13).unwrap(); a.xor(rax, rdx).unwrap();
        a.mov(rdx, rax).unwrap(); a.shr(rdx, 7).unwrap(); a.xor(rax, rdx).unwrap();
        a.test(al, 1).unwrap(); a.je(skip).unwrap(); a.add(rbx, 3).unwrap();
        a.set_label(&mut skip).unwrap(); a.test(al, 2).unwrap(); a.jne(last).unwrap(); a.rol(rbx, 1).unwrap();
        a.set_label(&mut last).unwrap(); a.dec(rcx).unwrap(); a.jne(start).unwrap(); a.jmp(start).unwrap()
    };
    let vector = code! { a:
        let mut start = a.create_label(); a.set_label(&mut start).unwrap();
        a.movdqu(xmm0, ptr(rdi)).unwrap(); a.paddd(xmm1, xmm0).unwrap(); a.pxor(xmm2, xmm1).unwrap();
        a.pshufd(xmm3, xmm2, 27).unwrap(); a.movdqa(xmm4, xmm3).unwrap(); a.pcmpeqb(xmm4, xmm0).unwrap();
        a.pmovmskb(eax, xmm4).unwrap(); a.movdqu(ptr(rdi + 32), xmm2).unwrap();
        a.dec(rcx).unwrap(); a.jne(start).unwrap(); a.jmp(start).unwrap()
    };
    let float = code! { a:
        let mut start = a.create_label(); a.set_label(&mut start).unwrap();
        a.movsd_2(xmm0, ptr(rdi)).unwrap(); a.addsd(xmm1, xmm0).unwrap(); a.mulsd(xmm1, qword_ptr(rdi + 8)).unwrap();
        a.subsd(xmm2, xmm1).unwrap(); a.movsd_2(ptr(rdi + 16), xmm2).unwrap(); a.addss(xmm3, xmm0).unwrap();
        a.cvtsi2sd(xmm4, ecx).unwrap(); a.mulsd(xmm4, xmm0).unwrap();
        a.dec(rcx).unwrap(); a.jne(start).unwrap(); a.jmp(start).unwrap()
    };
    vec![
        ("ALU", alu),
        ("loads and stores", memory),
        ("calls", calls),
        ("branches", branches),
        ("SSE scalar", float),
        ("SSE vector", vector),
    ]
}

fn main() {
    const INSTRUCTIONS: u64 = 300_000_000;
    for (name, code) in loops() {
        let speed = [false, true].map(|compiled| {
            let (mut bus, mut cpu) = machine(&code, compiled);
            let start = Instant::now();
            cpu.run(&mut bus, Budget { instructions: INSTRUCTIONS, interrupt_window: false });
            cpu.totals().instructions() as f64 / start.elapsed().as_secs_f64() / 1e6
        });
        println!("{:7.1} {:7.1} million/s  {name}", speed[0], speed[1]);
    }
}
