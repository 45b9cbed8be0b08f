//! Instructions that 64-bit mode does not have, in 32-bit mode.

use crate::common::TestBus;
use soft_cpu::{Budget, Cpu, Exit, State};

const CF: u64 = 1;
const AF: u64 = 1 << 4;
const ZF: u64 = 1 << 6;
const SF: u64 = 1 << 7;

fn run(code: &[u8], eax: u64, ecx: u64, flags: u64) -> State {
    let mut bus = TestBus::new(1 << 16);
    bus.write(0x1000, code);
    bus.write(0x1000 + code.len() as u64, &[0xF4]);
    let mut state = State { rip: 0x1000, rflags: flags | 2, ..State::default() };
    state.gpr[0] = eax;
    state.gpr[1] = ecx;
    let mut cpu = Cpu::new(&state);
    assert_eq!(cpu.run(&mut bus, Budget { instructions: 10, interrupt_window: false }), Exit::Halted);
    cpu.state()
}

/// Packed decimal addition and subtraction, against arithmetic.
#[test]
fn packed_decimal() {
    let packed = |n: u64| ((n / 10) << 4) | (n % 10);
    for a in 0..100 {
        for b in 0..100 {
            // add al, cl; daa
            let state = run(&[0x00, 0xC8, 0x27], packed(a), packed(b), 0);
            assert_eq!(state.gpr[0], packed((a + b) % 100), "{a} + {b}");
            assert_eq!(state.rflags & CF != 0, a + b > 99, "{a} + {b}");
            assert_eq!(state.rflags & ZF != 0, (a + b) % 100 == 0);
            // sub al, cl; das
            let state = run(&[0x28, 0xC8, 0x2F], packed(a), packed(b), 0);
            assert_eq!(state.gpr[0], packed((a + 100 - b) % 100), "{a} - {b}");
            assert_eq!(state.rflags & CF != 0, a < b, "{a} - {b}");
        }
    }
    // The examples of the SDM: 79H + 35H gives AEH, then 14H with CF and AF; 35H - 47H gives EEH, then 88H.
    let state = run(&[0x27], 0xAE, 0, SF);
    assert_eq!((state.gpr[0], state.rflags & (CF | AF | SF)), (0x14, CF | AF));
    let state = run(&[0x2F], 0xEE, 0, CF | AF | SF);
    assert_eq!((state.gpr[0], state.rflags & (CF | AF | SF)), (0x88, CF | AF | SF));
}

#[test]
fn unpacked_decimal() {
    for a in 0..10 {
        for b in 0..10 {
            // add al, cl; aaa
            let state = run(&[0x00, 0xC8, 0x37], 0x300 | a, b, 0);
            assert_eq!(state.gpr[0], ((3 + (a + b) / 10) << 8) | ((a + b) % 10));
            assert_eq!(state.rflags & (CF | AF) == CF | AF, a + b > 9);
            // sub al, cl; aas
            let state = run(&[0x28, 0xC8, 0x3F], 0x300 | a, b, 0);
            assert_eq!(state.gpr[0], if a < b { 0x200 | (a + 10 - b) } else { 0x300 | (a - b) });
            // aam; aad
            let state = run(&[0xD4, 10], a * 10 + b, 0, 0);
            assert_eq!(state.gpr[0], a << 8 | b);
            assert_eq!(run(&[0xD5, 10], a << 8 | b, 0, 0).gpr[0], a * 10 + b);
        }
    }
    assert_eq!(run(&[0xD4, 16], 0xAB, 0, 0).gpr[0], 0xA0B);
}

#[test]
fn salc_and_arpl() {
    assert_eq!(run(&[0xD6], 0x1234, 0, CF).gpr[0], 0x12FF);
    assert_eq!(run(&[0xD6], 0x1234, 0, 0).gpr[0], 0x1200);
    // arpl ax, cx
    let state = run(&[0x63, 0xC8], 0xFFFF_0010, 0x1B, 0);
    assert_eq!((state.gpr[0], state.rflags & ZF), (0xFFFF_0013, ZF));
    let state = run(&[0x63, 0xC8], 0x13, 0x11, ZF);
    assert_eq!((state.gpr[0], state.rflags & ZF), (0x13, 0));
    // mov [0x2000], eax; arpl [0x2000], cx; mov eax, [0x2000]
    let code = [0xA3, 0, 0x20, 0, 0, 0x66, 0x63, 0x0D, 0, 0x20, 0, 0, 0xA1, 0, 0x20, 0, 0];
    assert_eq!(run(&code, 0x20, 0x3, 0).gpr[0], 0x23);
}
