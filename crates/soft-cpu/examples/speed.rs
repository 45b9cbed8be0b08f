//! Million instructions per second of small loops: `cargo run --release --example speed`.
#![allow(clippy::unwrap_used, reason = "the code assembles")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::TestBus;
use soft_cpu::{Budget, Cpu, Segment, State};
use std::time::Instant;

/// 64-bit mode with an identity map of the first 2 MiB.
fn machine(code: &[u8]) -> (TestBus, Cpu<TestBus>) {
    let mut bus = TestBus::new(2 << 20);
    bus.write_u64(0x1000, 0x2007);
    bus.write_u64(0x2000, 0x3007);
    bus.write_u64(0x3000, 0x87);
    bus.write(0x1_0000, code);
    let mut state = State {
        rip: 0x1_0000,
        cr0: 0x8001_0033,
        cr3: 0x1000,
        cr4: 0x4_0620,
        efer: 0xD01,
        xcr0: 0xE7,
        ..State::default()
    };
    state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xA09B };
    state.gpr[4] = 0x8_0000;
    state.gpr[6] = 0x10_0000;
    (bus, Cpu::new(&state))
}

/// Loops of AVX to AVX-512.
fn vector_loops() -> Vec<(&'static str, Vec<u8>)> {
    macro_rules! code {
        ($($mnemonic:ident($($operand:expr),*));*) => {{
            use iced_x86::code_asm::*;
            let mut assembler = CodeAssembler::new(64).unwrap();
            let mut start = assembler.create_label();
            assembler.set_label(&mut start).unwrap();
            $(assembler.$mnemonic($($operand),*).unwrap();)*
            assembler.jmp(start).unwrap();
            assembler.assemble(0x1_0000).unwrap()
        }};
    }
    vec![
        ("PADDD, PXOR xmm, JMP", code! { paddd(xmm0, xmm1); pxor(xmm2, xmm0) }),
        ("VPADDD, VPXOR ymm, JMP", code! { vpaddd(ymm0, ymm0, ymm1); vpxor(ymm2, ymm2, ymm0) }),
        (
            "VMOVDQU load, VPADDD memory, VMOVDQU store ymm, JMP",
            code! {
                vmovdqu(ymm0, ymmword_ptr(rsi)); vpaddd(ymm0, ymm0, ymmword_ptr(rsi + 32));
                vmovdqu(ymmword_ptr(rsi + 64), ymm0)
            },
        ),
        (
            "VPCMPEQB, VPMOVMSKB ymm, ADD, JMP",
            code! { vpcmpeqb(ymm0, ymm1, ymmword_ptr(rsi)); vpmovmskb(eax, ymm0); add(rcx, rax) },
        ),
        (
            "VPSHUFB, VPUNPCKLBW, VPSRLD, VPERMQ ymm, JMP",
            code! {
                vpshufb(ymm0, ymm1, ymm2); vpunpcklbw(ymm3, ymm0, ymm1); vpsrld(ymm3, ymm3, 3);
                vpermq(ymm4, ymm3, 0x1B)
            },
        ),
        ("VADDPS, VMULPS ymm, JMP", code! { vaddps(ymm0, ymm0, ymm1); vmulps(ymm2, ymm2, ymm1) }),
        (
            "VFMADD231PS zmm, VADDPD zmm, JMP",
            code! { vfmadd231ps(zmm0, zmm1, zmm2); vaddpd(zmm3, zmm3, zmm2) },
        ),
        ("VADDSD, VMULSD, JMP", code! { vaddsd(xmm0, xmm0, xmm1); vmulsd(xmm2, xmm2, xmm1) }),
        (
            "VPCMPUB zmm to k, KORTESTQ, VPADDD zmm{k}, JMP",
            code! { vpcmpub(k1, zmm0, zmm1, 1); kortestq(k1, k1); vpaddd(zmm2.k1(), zmm3, zmm4) },
        ),
    ]
}

fn main() {
    const INSTRUCTIONS: u64 = 100_000_000;
    let loops: [(&str, &[u8]); 6] = [
        (
            "8 NOP, DEC, JNZ",
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0xFF, 0xCF, 0x75, 0xF3, 0xEB, 0xF1],
        ),
        (
            "ADD, XOR, SHL, LEA, CMP, JNE",
            &[
                0x48, 0x01, 0xC8, 0x48, 0x31, 0xC2, 0x48, 0xC1, 0xE1, 3, 0x48, 0x8D, 0x5C, 0xC8, 1, 0x48,
                0x39, 0xC3, 0x75, 0xEC, 0xEB, 0xEA,
            ],
        ),
        (
            "MOV load, ADD, MOV store, INC, JNZ",
            &[
                0x48, 0x8B, 0x06, 0x48, 0x01, 0xC8, 0x48, 0x89, 0x46, 8, 0x48, 0xFF, 0xC1, 0x75, 0xF1, 0xEB,
                0xEF,
            ],
        ),
        ("CALL, PUSH, POP, RET, JMP", &[0xE8, 2, 0, 0, 0, 0xEB, 0xF9, 0x50, 0x58, 0xC3]),
        (
            "MOV, MOV, MOV, REP MOVSB of 1000 bytes, JMP",
            &[0xBE, 0, 0, 0x10, 0, 0xBF, 0, 0, 0x11, 0, 0xB9, 0xE8, 3, 0, 0, 0xF3, 0xA4, 0xEB, 0xED],
        ),
        ("ADDSD, MULSD, JMP", &[0xF2, 0x0F, 0x58, 0xC1, 0xF2, 0x0F, 0x59, 0xC2, 0xEB, 0xF6]),
    ];
    let loops = loops.map(|(name, code)| (name, code.to_vec()));
    for (name, code) in loops.into_iter().chain(vector_loops()) {
        let (mut bus, mut cpu) = machine(&code);
        let start = Instant::now();
        cpu.run(&mut bus, Budget { instructions: INSTRUCTIONS, interrupt_window: false });
        let speed = cpu.totals().instructions() as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{speed:7.1} million/s  {name}");
    }
}
