//! AVX to AVX-512: what enables them, what they leave in the rest of registers, masks and memory.

use super::*;
use soft_cpu::{CpuidLeaf, Features, OperationFile, OperationTypes, Operations};
use std::sync::Arc;

const UD: u8 = 6;
const NM: u8 = 7;
const GP: u8 = 13;
const PF: u8 = 14;
const OSXSAVE: u64 = 1 << 18;
const TS: u64 = 8;
/// XCR0 with x87, SSE, AVX and AVX-512.
const ALL: u64 = 0xE7;
const AVX: u64 = 7;

/// A guest with registers full of `pattern` of their number.
fn guest(code: &[u8]) -> Guest {
    let mut guest = Guest::new(code);
    guest.state.cr4 |= OSXSAVE;
    guest.state.xcr0 = ALL;
    for n in 0..16 {
        let (low, high) = (pattern(n), pattern(n + 16));
        guest.state.xmm[n] = low[0];
        guest.state.ymm_high[n] = low[1];
        guest.state.zmm_high[n] = [low[2], low[3]];
        guest.state.zmm_16_to_31[n] = high;
    }
    guest
}

fn pattern(n: usize) -> [u128; 4] {
    std::array::from_fn(|quarter| {
        (n as u128 + 1) * 0x0101_0203_0405_0607_0809_0A0B_0C0D_0E0F + quarter as u128
    })
}

/// Register `n` of a state.
fn zmm(state: &State, n: usize) -> [u128; 4] {
    match n.checked_sub(16) {
        Some(n) => state.zmm_16_to_31[n],
        None => {
            let [third, fourth] = state.zmm_high[n];
            [state.xmm[n], state.ymm_high[n], third, fourth]
        }
    }
}

/// Runs to a HLT behind the code.
#[track_caller]
fn run(guest: &mut Guest) -> State {
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(1000)), Exit::Halted);
    assert!(cpu.state().rip < HANDLERS, "{:#x?}", cpu.state());
    cpu.state()
}

#[test]
fn xcr0_cr4_and_ts_decide_whether_they_exist() {
    let vex = code! { vpaddd(xmm0, xmm1, xmm2); hlt() };
    let evex = code! { vpxord(xmm16, xmm1, xmm2); hlt() };
    let none = [(&vex, 1, OSXSAVE, 0, Some(UD)), (&evex, 1, OSXSAVE, 0, Some(UD))];
    let cases = [
        (&vex, AVX, OSXSAVE, 0, None),
        (&evex, AVX, OSXSAVE, 0, Some(UD)),
        (&evex, ALL, OSXSAVE, 0, None),
        (&vex, ALL, 0, 0, Some(UD)),
        (&vex, AVX, OSXSAVE, TS, Some(NM)),
        (&evex, ALL, OSXSAVE, TS, Some(NM)),
        (&evex, AVX, OSXSAVE, TS, Some(UD)),
    ];
    for (bytes, xcr0, cr4, ts, expected) in cases.into_iter().chain(none) {
        let mut guest = guest(bytes);
        guest.state.xcr0 = xcr0;
        guest.state.cr4 = guest.state.cr4 & !OSXSAVE | cr4;
        guest.state.cr0 |= ts;
        match expected {
            Some(vector) => {
                expect_vector(&mut guest, vector);
            }
            None => {
                run(&mut guest);
            }
        }
    }
}

#[test]
fn cpuid_decides_whether_they_exist() {
    let announce = |leaf_1_ecx, leaf_7_ebx| {
        Features::of(|leaf, subleaf| match (leaf, subleaf) {
            (1, _) => CpuidLeaf { ecx: leaf_1_ecx, ..CpuidLeaf::default() },
            (7, 0) => CpuidLeaf { ebx: leaf_7_ebx, ..CpuidLeaf::default() },
            _ => CpuidLeaf::default(),
        })
    };
    let bytes = code! { vpaddd(ymm0, ymm1, ymm2); hlt() };
    for (features, exists) in [(announce(1 << 28, 0), false), (announce(1 << 28, 1 << 5), true)] {
        let mut guest = guest(&bytes);
        let mut cpu = guest.cpu().with_features(features);
        assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
        assert_eq!(cpu.state().rip < HANDLERS, exists);
        assert!(cpu.unimplemented().is_empty());
    }
}

#[test]
fn results_end_in_zeros() {
    let bytes = code! {
        vpxor(xmm0, xmm1, xmm2);
        vpxor(ymm3, ymm1, ymm2);
        vpxorq(zmm20, zmm1, zmm2);
        paddd(xmm4, xmm5);
        hlt()
    };
    let state = run(&mut guest(&bytes));
    let xor: [u128; 4] = std::array::from_fn(|n| pattern(1)[n] ^ pattern(2)[n]);
    assert_eq!(zmm(&state, 0), [xor[0], 0, 0, 0]);
    assert_eq!(zmm(&state, 3), [xor[0], xor[1], 0, 0]);
    assert_eq!(zmm(&state, 20), xor);
    // SSE leaves what is above its 128 bits.
    assert_eq!(zmm(&state, 4)[1..], pattern(4)[1..]);
}

#[test]
fn masks_keep_or_clear_elements() {
    let bytes = code! {
        vpxord(xmm0.k1(), xmm1, xmm2);
        vpxord(xmm3.k1().z(), xmm1, xmm2);
        vmovups(zmmword_ptr(DATA).k1(), zmm5);
        vmovups(zmm6.k1().z(), zmmword_ptr(DATA));
        hlt()
    };
    let mut guest = guest(&bytes);
    guest.state.opmask[1] = 0x8005;
    let state = run(&mut guest);
    let lanes = |v: u128| -> [u32; 4] { std::array::from_fn(|n| (v >> (32 * n)) as u32) };
    let (old, a, b) = (lanes(pattern(0)[0]), lanes(pattern(1)[0]), lanes(pattern(2)[0]));
    let merged = std::array::from_fn(|n| if n % 2 == 0 { a[n] ^ b[n] } else { old[n] });
    assert_eq!(lanes(zmm(&state, 0)[0]), merged);
    assert_eq!(zmm(&state, 0)[1..], [0; 3]);
    let zeroed = std::array::from_fn(|n| if n % 2 == 0 { a[n] ^ b[n] } else { 0 });
    assert_eq!(lanes(zmm(&state, 3)[0]), zeroed);
    let stored = [0, 1, 2, 15].map(|n| guest.bus.read_u64(DATA + 4 * n) as u32);
    let five = lanes(pattern(5)[0]);
    assert_eq!(stored, [five[0], 0, five[2], lanes(pattern(5)[3])[3]]);
    assert_eq!(zmm(&state, 6)[0], u128::from(five[0]) | u128::from(five[2]) << 64);
}

#[test]
fn masked_elements_do_not_fault() {
    // The last 8 bytes of a page; the next one is absent.
    let at = DATA + 0xFF8;
    let bytes = code! {
        vmovdqu32(zmm0.k1(), zmmword_ptr(at));
        vmovdqu32(zmmword_ptr(at).k1(), zmm0);
        vpaddd(zmm3.k1(), zmm1, zmmword_ptr(at));
        vmovdqu32(zmmword_ptr(at).k2(), zmm0);
        hlt()
    };
    let mut guest = guest(&bytes);
    guest.page(DATA + 0x1000, 0);
    guest.state.opmask[1] = 3;
    guest.state.opmask[2] = 0x11;
    guest.bus.write_u64(at, 0x1122_3344_5566_7788);
    let cpu = expect_vector(&mut guest, PF);
    // The first element of the last store is allowed, but nothing of it is written.
    // CR2 has its last byte, as on Granite Rapids.
    assert_eq!(cpu.state().cr2, DATA + 0x100B);
    assert_eq!(zmm(&cpu.state(), 0)[0] as u64, 0x1122_3344_5566_7788);
    assert_eq!(guest.bus.read_u64(at), 0x1122_3344_5566_7788);
    assert_eq!(frame(&guest, &cpu, 0), 2);
}

#[test]
fn aligned_moves_need_aligned_memory() {
    let aligned = [
        (code! { vmovaps(xmm0, xmmword_ptr(DATA + 16)); hlt() }, false),
        (code! { vmovaps(ymm0, ymmword_ptr(DATA + 16)); hlt() }, true),
        (code! { vmovdqa64(zmm0, zmmword_ptr(DATA + 32)); hlt() }, true),
        (code! { vmovntdq(ymmword_ptr(DATA + 8), ymm0); hlt() }, true),
        (code! { vmovdqu(ymm0, ymmword_ptr(DATA + 1)); hlt() }, false),
        (code! { vpaddb(xmm0, xmm1, xmmword_ptr(DATA + 1)); hlt() }, false),
    ];
    for (bytes, faults) in aligned {
        let mut guest = guest(&bytes);
        if faults {
            expect_vector(&mut guest, GP);
        } else {
            run(&mut guest);
        }
    }
}

#[test]
fn broadcasts_read_one_element() {
    let at = DATA + 0xFFC;
    let bytes =
        code! { vpaddd(zmm0, zmm1, dword_bcst(at)); vpaddd(zmm2.k1(), zmm1, dword_bcst(at + 4)); hlt() };
    let mut guest = guest(&bytes);
    guest.page(DATA + 0x1000, 0);
    guest.bus.write(at, &7_u32.to_le_bytes());
    let state = run(&mut guest);
    let lanes = |v: [u128; 4]| -> [u32; 16] { std::array::from_fn(|n| (v[n / 4] >> (32 * (n % 4))) as u32) };
    let one = lanes(pattern(1));
    assert_eq!(lanes(zmm(&state, 0)), std::array::from_fn(|n| one[n].wrapping_add(7)));
    // No element is wanted, so nothing is read.
    assert_eq!(zmm(&state, 2), pattern(2));
}

/// A vector of doublewords.
fn doublewords(values: [u32; 4]) -> u128 {
    (0..4).fold(0, |all, n| all | u128::from(values[n]) << (32 * n))
}

#[test]
fn gathers_go_on_where_they_faulted() {
    let bytes = code! {
        vpgatherdd_3(xmm0, dword_ptr(rsi + xmm1 * 4), xmm2);
        vpgatherdd(xmm16.k1(), dword_ptr(rsi + xmm1 * 4));
        hlt()
    };
    let mut guest = guest(&bytes);
    guest.page(DATA + 0x1000, 0);
    guest.state.gpr[6] = DATA;
    // The third element is in the absent page, and the second one is masked.
    guest.state.xmm[1] = doublewords([1, 0x4000_0000, 0x400, 2]);
    guest.state.xmm[2] = doublewords([1 << 31, 1, 1 << 31, 1 << 31]);
    guest.state.opmask[1] = 0xFD;
    for (at, value) in [(4, 11_u32), (8, 22), (0x1000, 33)] {
        guest.bus.write(DATA + at, &value.to_le_bytes());
    }
    let old = zmm(&guest.state, 0)[0];
    let kept = (old >> 32) as u32;
    let mut cpu = expect_vector(&mut guest, PF);
    let state = cpu.state();
    assert_eq!(state.cr2, DATA + 0x1000);
    assert_eq!(frame(&guest, &cpu, 1), CODE);
    assert_eq!(state.xmm[0], old >> 32 << 32 | 11);
    assert_eq!(state.xmm[2], doublewords([0, 1, 1 << 31, 1 << 31]));
    // The handler maps the page.
    guest.page(DATA + 0x1000, (DATA + 0x1000) | 7);
    guest.handler(PF, &code! { add(rsp, 8); iretq() });
    let mut again = State { rip: HANDLERS + 16 * u64::from(PF), halted: false, ..state };
    cpu.set_state(&again);
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    again = cpu.state();
    assert_eq!(zmm(&again, 0), [doublewords([11, kept, 33, 22]), 0, 0, 0]);
    assert_eq!(zmm(&again, 2), [0; 4]);
    let kept = (pattern(16)[0] >> 32) as u32;
    assert_eq!(zmm(&again, 16), [doublewords([11, kept, 33, 22]), 0, 0, 0]);
    assert_eq!(again.opmask[1], 0);
}

#[test]
fn scatters_go_on_where_they_faulted() {
    let bytes = code! { vpscatterdd(dword_ptr(rsi + zmm1 * 1).k1(), zmm2); hlt() };
    let mut guest = guest(&bytes);
    guest.page(DATA + 0x1000, 0);
    guest.state.gpr[6] = DATA;
    guest.state.xmm[1] = doublewords([0x10, 0x10, 0x1000, 0x20]);
    guest.state.opmask[1] = 0xF;
    let cpu = expect_vector(&mut guest, PF);
    assert_eq!((cpu.state().opmask[1], cpu.state().cr2), (0xC, DATA + 0x1000));
    // Of two elements for one place the later one is there.
    assert_eq!(guest.bus.read_u64(DATA + 0x10), u64::from((pattern(2)[0] >> 32) as u32));
    assert_eq!(guest.bus.read_u64(DATA + 0x20), 0);
}

#[test]
fn masks_in_vectors_hide_faults() {
    let at = DATA + 0xFF8;
    let bytes = code! {
        vpmaskmovd(xmm0, xmm1, xmmword_ptr(at));
        vmaskmovpd(xmmword_ptr(at), xmm2, xmm3);
        vmaskmovps(xmmword_ptr(at), xmm4, xmm5);
        hlt()
    };
    let mut guest = guest(&bytes);
    guest.page(DATA + 0x1000, 0);
    guest.bus.write_u64(at, 0x1111_2222_3333_4444);
    guest.state.xmm[1] = doublewords([1 << 31, 1 << 31, 0, 0]);
    guest.state.xmm[2] = doublewords([0, 1 << 31, 0, 0]);
    guest.state.xmm[4] = doublewords([1 << 31, 0, 0, 1 << 31]);
    let cpu = expect_vector(&mut guest, PF);
    assert_eq!(zmm(&cpu.state(), 0), [0x1111_2222_3333_4444, 0, 0, 0]);
    assert_eq!(cpu.state().cr2, DATA + 0x1007);
    assert_eq!(guest.bus.read_u64(at), pattern(3)[0] as u64);
}

#[test]
fn compressed_elements_need_only_their_memory() {
    let at = DATA + 0xFF8;
    let bytes = code! {
        vpcompressd(zmmword_ptr(at).k1(), zmm1);
        vpexpandd(zmm2.k1().z(), zmmword_ptr(at));
        hlt()
    };
    let mut guest = guest(&bytes);
    guest.page(DATA + 0x1000, 0);
    guest.state.opmask[1] = 0x8002;
    let state = run(&mut guest);
    let lane = |v: [u128; 4], n: usize| (v[n / 4] >> (32 * (n % 4))) as u32;
    let (low, high) = (lane(pattern(1), 1), lane(pattern(1), 15));
    assert_eq!(guest.bus.read_u64(at), u64::from(low) | u64::from(high) << 32);
    assert_eq!((lane(zmm(&state, 2), 1), lane(zmm(&state, 2), 15)), (low, high));
    assert_eq!(zmm(&state, 2)[1..3], [0; 2]);
}

#[test]
fn upper_halves_are_cleared_in_the_registers_of_the_mode() {
    let mut guest = guest(&code! { vzeroupper(); hlt() });
    let state = run(&mut guest);
    for n in 0..32 {
        let expected = if n < 16 { [pattern(n)[0], 0, 0, 0] } else { pattern(n) };
        assert_eq!(zmm(&state, n), expected);
    }
}

/// By width, and twice for a multiplication with addition.
#[test]
fn floating_point_instructions_are_counted_by_width() {
    let code = [
        0xC5, 0xF4, 0x58, 0xC2, // vaddps ymm0, ymm1, ymm2
        0xC5, 0xF1, 0x59, 0xC2, // vmulpd xmm0, xmm1, xmm2
        0xC4, 0xE2, 0x75, 0xB8, 0xC2, // vfmadd231ps ymm0, ymm1, ymm2
        0xC4, 0xE2, 0xF1, 0xB9, 0xC2, // vfmadd231sd xmm0, xmm1, xmm2
        0x62, 0xF1, 0x74, 0x48, 0x58, 0xC2, // vaddps zmm0, zmm1, zmm2
        0xF4,
    ];
    let mut guest = Guest::new(&code);
    guest.state.cr4 |= 1 << 18;
    guest.state.xcr0 = 0xE7;
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    let totals = cpu.totals().os();
    let kinds = [
        (Arithmetic::PackedSingle256, 3),
        (Arithmetic::PackedDouble, 1),
        (Arithmetic::ScalarDouble, 2),
        (Arithmetic::PackedSingle512, 1),
        (Arithmetic::PackedSingle, 0),
    ];
    assert_eq!(kinds.map(|(kind, _)| totals[kind]), kinds.map(|(_, count)| count));
    let flops = [Flop::AddSub, Flop::Mul, Flop::DivSqrt, Flop::MulAdd].map(|kind| totals[kind]);
    assert_eq!(flops, [8 + 16, 2, 0, 16 + 2]);
}

/// From when they are wanted on; where an instruction faults it has not retired.
#[test]
fn operations_are_counted_by_file_and_type_once_they_are_wanted() {
    const ADD: u16 = 1 << 1;
    const MOVE: u16 = 1 << 10;
    let code = code! {
        addsd(xmm0, xmm1); vaddps(ymm0, ymm0, ymm1); paddd(mm0, mm1); vpaddd(zmm0, zmm0, zmm1);
        vmovdqu(ymm1, ymmword_ptr(rax)); hlt()
    };
    let mut guest = guest(&code);
    let operations = Arc::new(Operations::default());
    let files =
        [OperationFile::ScalarFloat, OperationFile::Float256, OperationFile::Mmx, OperationFile::Integer512];
    let additions = |operations: &Operations| files.map(|file| operations.total(false, file, ADD));
    let mut cpu = guest.cpu().with_operations(operations.clone(), OperationTypes::Zen5);
    let start = cpu.state();
    let once = |cpu: &mut Cpu<TestBus>, bus: &mut TestBus, address: u64| {
        let mut state = start.clone();
        state.gpr[0] = address;
        cpu.set_state(&state);
        cpu.run(bus, budget(6))
    };
    assert_eq!(once(&mut cpu, &mut guest.bus, DATA), Exit::Halted);
    assert_eq!(additions(&operations), [0; 4], "before");
    operations.want();
    assert_eq!(once(&mut cpu, &mut guest.bus, DATA), Exit::Halted);
    assert_eq!(additions(&operations), [1; 4]);
    assert_eq!(operations.total(false, OperationFile::Integer256, MOVE), 1);
    // Not canonical: the load never retires. One instruction at a time counts the same.
    let _ = once(&mut cpu, &mut guest.bus, 1 << 63);
    assert_eq!(additions(&operations), [2; 4]);
    assert_eq!(operations.total(false, OperationFile::Integer256, MOVE), 1, "a load that faults");
    cpu.set_state(&start);
    for _ in 0..4 {
        cpu.run(&mut guest.bus, budget(1));
    }
    assert_eq!(additions(&operations), [3; 4], "one instruction at a time");
    let other = Operations::default();
    assert!(other.restore(&operations.save()) && !other.restore(&[1]));
    assert_eq!(additions(&other), [3; 4]);
}

/// Against each pair of elements, as the SDM writes the operation down.
#[test]
fn vp2intersect_writes_a_pair_of_masks() {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..64 {
        let code = code! { vp2intersectd(k3, zmm1, zmm17); hlt() };
        let wide = code! { vp2intersectq(k6, ymm1, ymm17); hlt() };
        for (code, bytes, size, pair) in [(&code, 64, 4, 2), (&wide, 32, 8, 6)] {
            let mut guest = guest(code);
            let mut next = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
                u128::from(random >> 60) | u128::from(random >> 50 & 7) << 64
            };
            let [a, b]: [[u128; 4]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
            [guest.state.xmm[1], guest.state.ymm_high[1]] = [a[0], a[1]];
            guest.state.zmm_high[1] = [a[2], a[3]];
            guest.state.zmm_16_to_31[1] = b;
            guest.state.opmask = [!0; 8];
            let element = |of: &[u128; 4], n: usize| {
                let all: Vec<u8> = of.iter().flat_map(|quarter| quarter.to_le_bytes()).collect();
                all[n * size..(n + 1) * size].to_vec()
            };
            let (mut first, mut second) = (0, 0);
            for n in 0..bytes / size {
                for m in 0..bytes / size {
                    let equal = u64::from(element(&a, n) == element(&b, m));
                    (first, second) = (first | equal << n, second | equal << m);
                }
            }
            let mut expected = [!0; 8];
            (expected[pair], expected[pair + 1]) = (first, second);
            assert_eq!(run(&mut guest).opmask, expected, "{a:x?} {b:x?}");
        }
    }
}
