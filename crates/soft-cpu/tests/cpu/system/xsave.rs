//! The XSAVE feature set.

use super::*;
use crate::common::Lbr;
use soft_cpu::silicon::Silicon;
use soft_cpu::{CpuidLeaf, Features};

const GP: u8 = 13;
const UD: u8 = 6;
const NM: u8 = 7;
const CR4_OSXSAVE: u64 = 1 << 18;
const HLT: u8 = 0xF4;
const HEADER: u64 = DATA + 512;
const COMPACTED: u64 = 1 << 63;

/// An instruction on `[DATA]`: opcode bytes behind 0FH, ModRM.reg.
fn on_area(opcode: u8, reg: u8, wide: bool) -> Vec<u8> {
    let mut code = if wide { vec![0x48] } else { vec![] };
    code.extend([0x0F, opcode, 0x04 | reg << 3, 0x25, 0, 0, 8, 0]);
    code
}
fn xsave() -> Vec<u8> {
    on_area(0xAE, 4, true)
}
fn xrstor() -> Vec<u8> {
    on_area(0xAE, 5, true)
}
fn xsaveopt() -> Vec<u8> {
    on_area(0xAE, 6, true)
}
fn xsavec() -> Vec<u8> {
    on_area(0xC7, 4, true)
}
fn xsaves() -> Vec<u8> {
    on_area(0xC7, 5, true)
}
fn xrstors() -> Vec<u8> {
    on_area(0xC7, 3, true)
}

/// Ring 0 with both components enabled and in use, an area full of 5AH with a header of zeros, and EDX:EAX = `mask`.
fn guest(code: &[u8], mask: u64) -> Guest {
    let mut guest = Guest::new(&[code, &[HLT]].concat());
    guest.state.cr4 |= CR4_OSXSAVE;
    guest.state.xcr0 = 3;
    guest.state.gpr[0] = mask & 0xFFFF_FFFF;
    guest.state.gpr[2] = mask >> 32;
    guest.state.xmm = std::array::from_fn(|n| 0x1111 * (n as u128 + 1));
    guest.state.mxcsr = 0x1FA0;
    (guest.state.fcw, guest.state.fsw, guest.state.ftw) = (0x27F, 0x3800, 0x80);
    guest.state.st[0] = 0x3FFF_8000_0000_0000_0000;
    guest.bus.write(DATA, &[0x5A; 512]);
    guest.bus.write(HEADER, &[0; 64]);
    guest
}

#[track_caller]
fn run(guest: &mut Guest) -> State {
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    let state = cpu.state();
    assert!(state.rip < HANDLERS, "vector {}", (state.rip - HANDLERS) / 16);
    state
}

const UNTOUCHED: u64 = 0x5A5A_5A5A_5A5A_5A5A;

#[test]
fn xsave_writes_the_requested_components() {
    // (mask, FCW written, MXCSR written, XMM written)
    for (mask, x87, sse) in [(0, false, false), (1, true, false), (2, false, true), (u64::MAX, true, true)] {
        let mut guest = guest(&xsave(), mask);
        guest.bus.write_u64(HEADER, 0x100);
        run(&mut guest);
        assert_eq!(guest.bus.read_u64(DATA) as u16, if x87 { 0x27F } else { 0x5A5A }, "{mask}");
        let mxcsr = guest.bus.read_u64(DATA + 24);
        assert_eq!(mxcsr, if sse { 0xFFFF_0000_1FA0 } else { UNTOUCHED }, "{mask}");
        let xmm15 = guest.bus.read_u64(DATA + 160 + 15 * 16);
        assert_eq!(xmm15, if sse { 0x11110 } else { UNTOUCHED }, "{mask}");
        // Bits of components that were not asked for stay.
        assert_eq!(guest.bus.read_u64(HEADER), 0x100 | mask & 3);
        assert_eq!(guest.bus.read_u64(HEADER + 8), 0);
    }
}

#[test]
fn components_as_after_reset_are_not_in_the_header() {
    let unused = |code: &[u8]| {
        let mut guest = guest(code, 3);
        guest.state.xmm = [0; 16];
        (guest.state.fcw, guest.state.fsw, guest.state.ftw) = (0x37F, 0, 0);
        guest.state.st = [0; 8];
        run(&mut guest);
        guest
    };
    let all = unused(&xsave());
    assert_eq!((all.bus.read_u64(HEADER), all.bus.read_u64(DATA) as u16), (0, 0x37F));
    let opt = unused(&xsaveopt());
    assert_eq!((opt.bus.read_u64(HEADER), opt.bus.read_u64(DATA)), (0, UNTOUCHED));
    assert_eq!(opt.bus.read_u64(DATA + 24) as u32, 0x1FA0);
    // MXCSR counts as SSE state in the compacted format.
    let compact = unused(&xsavec());
    assert_eq!((compact.bus.read_u64(HEADER), compact.bus.read_u64(HEADER + 8)), (2, COMPACTED | 3));
    assert_eq!((compact.bus.read_u64(DATA), compact.bus.read_u64(DATA + 24) as u32), (UNTOUCHED, 0x1FA0));
}

#[test]
fn what_was_saved_comes_back() {
    for (save, restore) in
        [(xsave(), xrstor()), (xsaveopt(), xrstor()), (xsavec(), xrstor()), (xsaves(), xrstors())]
    {
        let mut saved = guest(&save, 3);
        run(&mut saved);
        let mut fresh = guest(&restore, 3);
        fresh.bus = saved.bus;
        fresh.bus.write(CODE, &[&restore[..], &[HLT]].concat());
        (fresh.state.xmm, fresh.state.mxcsr, fresh.state.st) = ([7; 16], 0x1F80, [9; 8]);
        (fresh.state.fcw, fresh.state.fsw, fresh.state.ftw) = (0x37F, 0, 0);
        let state = run(&mut fresh);
        let expected = &saved.state;
        assert_eq!((state.xmm, state.mxcsr), (expected.xmm, expected.mxcsr));
        let x87 = |s: &State| (s.fcw, s.fsw, s.ftw, s.st);
        assert_eq!(x87(&state), x87(expected));
    }
}

#[test]
fn xrstor_resets_what_the_header_does_not_have() {
    let mut standard = guest(&xrstor(), 3);
    standard.bus.write_u64(DATA + 24, 0x1FC0);
    let state = run(&mut standard);
    // The standard format has MXCSR in any case.
    assert_eq!((state.fcw, state.ftw, state.xmm, state.mxcsr), (0x37F, 0, [0; 16], 0x1FC0));
    let mut compact = guest(&xrstor(), 2);
    compact.bus.write_u64(HEADER + 8, COMPACTED | 3);
    let state = run(&mut compact);
    assert_eq!((state.fcw, state.xmm, state.mxcsr), (0x27F, [0; 16], 0x1F80));
}

#[test]
fn bad_areas_raise_gp() {
    // (instruction, XSTATE_BV, XCOMP_BV, byte 16, byte 24, MXCSR, fault)
    let table = [
        (xrstor(), 3, 0, 0, 0, 0x1F80, false),
        (xrstor(), 4, 0, 0, 0, 0x1F80, true),
        (xrstor(), 3, 1, 0, 0, 0x1F80, true),
        (xrstor(), 3, 0, 1, 0, 0x1F80, true),
        (xrstor(), 3, 0, 0, 1, 0x1F80, false),
        (xrstor(), 3, 0, 0, 0, 0x1_0000, true),
        (xrstor(), 3, COMPACTED | 3, 0, 0, 0x1F80, false),
        (xrstor(), 3, COMPACTED | 1, 0, 0, 0x1F80, true),
        (xrstor(), 3, COMPACTED | 7, 0, 0, 0x1F80, true),
        (xrstor(), 3, COMPACTED | 3, 0, 1, 0x1F80, true),
        (xrstors(), 3, COMPACTED | 3, 0, 0, 0x1F80, false),
        (xrstors(), 3, 0, 0, 0, 0x1F80, true),
        (xrstors(), 3, COMPACTED | 1 << 15 | 3, 0, 0, 0x1F80, true),
    ];
    for (code, present, format, byte16, byte24, mxcsr, fault) in table {
        let mut guest = guest(&code, 3);
        guest.bus.write_u64(DATA + 24, mxcsr);
        guest.bus.write_u64(HEADER, present);
        guest.bus.write_u64(HEADER + 8, format);
        guest.bus.write_u64(HEADER + 16, byte16);
        guest.bus.write_u64(HEADER + 24, byte24);
        if fault {
            let before = guest.state.xmm;
            assert_eq!(expect_vector(&mut guest, GP).state().xmm, before);
        } else {
            run(&mut guest);
        }
    }
    for mut code in [xsave(), xrstor(), xsavec(), xsaves(), xsaveopt(), xrstors()] {
        // [DATA + 32]
        code[5] = 32;
        expect_vector(&mut guest(&code, 3), GP);
    }
}

/// What a Granite Rapids does with an area whose components reach into a page that is not mapped.
#[test]
fn page_faults_of_requested_components_come_before_bad_headers() {
    const PF: u8 = 14;
    /// 1,024 bytes are mapped: AVX at 576 is, opmask at 1088 (of a compacted area with it and AVX at 832) is not.
    const AREA: u64 = (2 << 20) - 1024;
    // (requested, XSTATE_BV, XCOMP_BV, byte 24, exception)
    let table = [
        (0x07, 0, 0, 0, None),
        (0x27, 0, 0, 0, Some(PF)),
        (0x27, 1 << 8, 0, 0, Some(PF)),
        (0x27, 0, 1, 0, Some(PF)),
        (0x07, 1 << 8, 0, 0, Some(GP)),
        (0x27, 0, COMPACTED | 0x27, 0, None),
        (0xE7, 0, COMPACTED | 0xE7, 0, Some(PF)),
        (0xE7, 1 << 8, COMPACTED | 0xE7, 0, Some(PF)),
        (0xE7, 0, COMPACTED | 0xE7, 1, Some(PF)),
        (0x27, 0, COMPACTED | 0xE7, 1, Some(GP)),
        (0xE7, 0, COMPACTED | 1 << 8 | 0xE7, 0, Some(GP)),
    ];
    for (row, (mask, present, format, byte24, exception)) in table.into_iter().enumerate() {
        let mut code = xrstor();
        code.splice(5.., (AREA as u32).to_le_bytes());
        let mut guest = guest(&code, mask);
        guest.state.xcr0 = 0xE7;
        guest.bus.write(AREA, &[0; 1024]);
        guest.bus.write_u64(AREA + 24, 0x1F80);
        guest.bus.write_u64(AREA + 512, present);
        guest.bus.write_u64(AREA + 520, format);
        guest.bus.write_u64(AREA + 536, byte24);
        match exception {
            Some(vector) => {
                expect_vector(&mut guest, vector);
            }
            None => assert_eq!(guest.cpu().run(&mut guest.bus, budget(100)), Exit::Halted, "row {row}"),
        }
    }
}

#[test]
fn a_misaligned_area_that_is_not_canonical_belongs_to_its_segment() {
    const SS: u8 = 12;
    // xsave, xrstor, xsaveopt, xsavec [rsp + rbx] and [rax + rbx]
    for (opcode, reg) in [(0xAE, 4), (0xAE, 5), (0xAE, 6), (0xC7, 4)] {
        for (base, distance, vector) in [(4, 1 << 62, SS), (0, 1 << 62, GP), (4, 0, GP)] {
            let mut guest = guest(&[0x0F, opcode, 0x04 | reg << 3, 0x18 | base], 3);
            guest.state.gpr[usize::from(base)] = DATA;
            guest.state.gpr[3] = distance + 4;
            expect_vector(&mut guest, vector);
        }
    }
}

#[test]
fn they_need_the_operating_system_and_respect_ts() {
    let all = [xsave(), xrstor(), xsavec(), xsaveopt(), xsaves(), xrstors(), vec![0x0F, 0x01, 0xD0]];
    for (n, code) in all.iter().enumerate() {
        let mut off = guest(code, 3);
        off.state.cr4 &= !CR4_OSXSAVE;
        assert!(expect_vector(&mut off, UD).unimplemented().is_empty());
        if n < 6 {
            let mut busy = guest(code, 3);
            busy.state.cr0 |= 8;
            expect_vector(&mut busy, NM);
        }
    }
    for code in [xsaves(), xrstors()] {
        expect_vector(&mut guest(&code, 3).user(), GP);
    }
}

#[test]
fn xcr0_takes_what_the_cpu_has_and_no_part_of_it() {
    let xsetbv = [0x0F, 0x01, 0xD1, 0x0F, 0x01, 0xD0]; // xsetbv; xgetbv
    for (value, ok) in [
        (1, true),
        (3, true),
        (7, true),
        (0xE7, true),
        (0, false),
        (2, false),
        (5, false),
        (0xE3, false),
        (0x67, false),
        (0x20, false),
        (0x1F, false),
        (1 << 63 | 3, false),
    ] {
        let mut guest = guest(&xsetbv, value);
        if ok {
            let state = run(&mut guest);
            assert_eq!((state.xcr0, state.gpr[0], state.gpr[2]), (value, value, 0));
        } else {
            expect_vector(&mut guest, GP);
        }
    }
    expect_vector(&mut guest(&xsetbv, 3).user(), GP);
    let mut other = guest(&xsetbv, 3);
    other.state.gpr[1] = 1;
    expect_vector(&mut other, GP);
}

#[test]
fn xgetbv_1_tells_what_is_in_use() {
    let mut guest = guest(&[0x0F, 0x01, 0xD0], 0);
    guest.state.gpr[1] = 1;
    assert_eq!(run(&mut guest).gpr[0], 3);
    (guest.state.xmm, guest.state.mxcsr) = ([0; 16], 0x1F80);
    assert_eq!(run(&mut guest).gpr[0], 1);
}

#[test]
fn xss_has_no_bits() {
    // mov ecx, 0xda0; wrmsr; rdmsr
    let code = [0xB9, 0xA0, 0x0D, 0, 0, 0x0F, 0x30, 0x0F, 0x32];
    assert_eq!(run(&mut guest(&code, 0)).xss, 0);
    for bit in [0, 8, 15, 63] {
        expect_vector(&mut guest(&code, 1 << bit), GP);
    }
}

#[test]
fn cpuid_shows_osxsave_with_cr4() {
    let cpuid = [0x0F, 0xA2];
    let mut guest = guest(&cpuid, 1);
    assert_eq!(run(&mut guest).gpr[1] >> 26 & 3, 3);
    guest.state.cr4 &= !CR4_OSXSAVE;
    assert_eq!(run(&mut guest).gpr[1] >> 26 & 3, 1);
    guest.state.gpr[0] = 0xD;
    let state = run(&mut guest);
    assert_eq!((state.gpr[0], state.gpr[3], state.gpr[1]), (0xE7, 576, 2688));
    // Sizes follow XCR0.
    for (xcr0, standard, compacted) in [(3, 576, 576), (7, 832, 832), (0xE7, 2688, 2432)] {
        guest.state.xcr0 = xcr0;
        for (subleaf, size) in [(0, standard), (1, compacted)] {
            (guest.state.gpr[0], guest.state.gpr[1]) = (0xD, subleaf);
            assert_eq!(run(&mut guest).gpr[3], size, "{xcr0:#x} {subleaf}");
        }
    }
}

/// Where each component is: (number, size, offset).
const INTEL: [(u64, u64, u64); 4] = [(2, 256, 576), (5, 64, 1088), (6, 512, 1152), (7, 1024, 1664)];
const AMD: [(u64, u64, u64); 4] = [(2, 256, 576), (5, 64, 832), (6, 512, 896), (7, 1024, 1408)];

#[test]
fn components_are_where_each_vendor_has_them() {
    for (silicon, places) in [(Silicon::Intel, INTEL), (Silicon::Zen4, AMD)] {
        for number in 2..9 {
            let mut guest = guest(&[0x0F, 0xA2], 0xD);
            guest.state.gpr[1] = number;
            let mut cpu = guest.cpu().with_silicon(silicon);
            assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
            let state = cpu.state();
            let place = places.iter().find(|place| place.0 == number);
            let (size, offset) = place.map_or((0, 0), |place| (place.1, place.2));
            assert_eq!((state.gpr[0], state.gpr[3], state.gpr[1]), (size, offset, 0), "{number}");
        }
    }
}

/// All components in use, with a different value in each register.
fn wide(code: &[u8], mask: u64) -> Guest {
    let mut guest = guest(code, mask);
    guest.state.xcr0 = 0xE7;
    guest.state.ymm_high = std::array::from_fn(|n| 0x2200 + n as u128);
    guest.state.opmask = std::array::from_fn(|n| 0x5500 + n as u64);
    guest.state.zmm_high = std::array::from_fn(|n| [0x6600 + n as u128, 0x6700 + n as u128]);
    guest.state.zmm_16_to_31 =
        std::array::from_fn(|n| std::array::from_fn(|q| 0x7000 + (16 * n + q) as u128));
    guest.bus.write(DATA + 576, &[0x5A; 2200]);
    guest
}

#[test]
fn the_state_of_avx_512_is_saved_in_its_place() {
    let mut standard = wide(&xsave(), 0xE7);
    run(&mut standard);
    let at = |guest: &Guest, offset: u64| guest.bus.read_u64(DATA + offset);
    assert_eq!((at(&standard, 512), at(&standard, 520)), (0xE7, 0));
    assert_eq!((at(&standard, 576), at(&standard, 576 + 15 * 16)), (0x2200, 0x220F));
    assert_eq!((at(&standard, 832), at(&standard, 1088)), (UNTOUCHED, 0x5500));
    assert_eq!((at(&standard, 1152 + 32), at(&standard, 1152 + 48)), (0x6601, 0x6701));
    assert_eq!((at(&standard, 1664), at(&standard, 1664 + 1024 - 16)), (0x7000, 0x70F3));
    // Without AVX in between, masks follow the header.
    let mut compact = wide(&xsavec(), 0xE1);
    run(&mut compact);
    assert_eq!((at(&compact, 512), at(&compact, 520)), (0xE1, COMPACTED | 0xE1));
    assert_eq!((at(&compact, 576), at(&compact, 640), at(&compact, 640 + 512)), (0x5500, 0x6600, 0x7000));
    // What is as after RESET is not written, and its place stays.
    let mut unused = wide(&xsavec(), 0xE7);
    unused.state.opmask = [0; 8];
    run(&mut unused);
    assert_eq!((at(&unused, 512), at(&unused, 520)), (0xC7, COMPACTED | 0xE7));
    assert_eq!((at(&unused, 832), at(&unused, 896)), (UNTOUCHED, 0x6600));
}

#[test]
fn the_state_of_avx_512_comes_back() {
    for (save, restore) in
        [(xsave(), xrstor()), (xsaveopt(), xrstor()), (xsavec(), xrstor()), (xsaves(), xrstors())]
    {
        let mut saved = wide(&save, 0xE7);
        run(&mut saved);
        let mut fresh = guest(&restore, 0xE7);
        fresh.state.xcr0 = 0xE7;
        fresh.bus = saved.bus;
        fresh.bus.write(CODE, &[&restore[..], &[HLT]].concat());
        fresh.state.opmask = [u64::MAX; 8];
        let vectors = |s: &State| (s.xmm, s.ymm_high, s.opmask, s.zmm_high, s.zmm_16_to_31);
        assert_eq!(vectors(&run(&mut fresh)), vectors(&saved.state));
        // A component that the header does not have becomes as after RESET, one that is not asked for stays.
        fresh.bus.write_u64(HEADER, 0x83);
        fresh.state.gpr[0] = 0x67;
        fresh.state.zmm_16_to_31 = [[9; 4]; 16];
        fresh.state.zmm_high = [[9; 2]; 16];
        let state = run(&mut fresh);
        assert_eq!((state.ymm_high, state.opmask, state.zmm_high), ([0; 16], [0; 8], [[0; 2]; 16]));
        assert_eq!(state.zmm_16_to_31, [[9; 4]; 16]);
    }
}

/// What a Granite Rapids makes of reserved bits in MXCSR: rows are (compacted format, XSTATE_BV, EDX:EAX), and whether
/// XMM0, ST0, YMM0, k0, ZMM0 and ZMM16 are as in the area (`m`), as after RESET (`0`) or as before (`.`).
#[test]
fn a_compacted_area_is_restored_in_part_before_mxcsr_faults() {
    let table = [
        (false, 0xE7, 0xE7, "......"),
        (true, 0xE7, 0xE7, "mm...."),
        (true, 0xE6, 0xE7, "m0...."),
        (true, 0xE3, 0xE7, "mm0..."),
        (true, 0x02, 0xE7, "m00000"),
        (true, 0x22, 0xE7, "m00.00"),
        (true, 0x42, 0xE7, "m000.0"),
        (true, 0x82, 0xE7, "m0000."),
        (true, 0xE7, 0x02, "m....."),
        (true, 0x02, 0x06, "m.0..."),
        (true, 0x02, 0x22, "m..0.."),
    ];
    for (format, present, requested, wanted) in table {
        let mut guest = wide(&xrstor(), requested);
        guest.bus.write(DATA, &[0x11; 512]);
        guest.bus.write_u64(DATA + 24, 0x1_1F80);
        guest.bus.write_u64(HEADER, present);
        guest.bus.write_u64(HEADER + 8, if format { COMPACTED | 0xE7 } else { 0 });
        let parts = |s: &State| {
            let zmm = s.zmm_16_to_31[0][0];
            [s.xmm[0], s.st[0], s.ymm_high[0], s.opmask[0].into(), s.zmm_high[0][0], zmm]
        };
        let (before, after) = (parts(&guest.state), parts(&expect_vector(&mut guest, GP).state()));
        let told = std::iter::zip(before, after).map(|(before, after)| match after {
            0 => '0',
            _ if after == before => '.',
            _ => 'm',
        });
        assert_eq!(told.collect::<String>(), wanted, "{present:#x} {requested:#x}");
    }
}

#[test]
fn a_cpu_without_avx_has_neither_its_state_nor_newer_instructions() {
    let none = Features::of(|leaf, subleaf| match (leaf, subleaf) {
        (1, _) => CpuidLeaf { ecx: 1 << 26 | 1 << 20, edx: u32::MAX, ..CpuidLeaf::default() },
        _ => CpuidLeaf::default(),
    });
    let outcome = |mut guest: Guest| {
        let mut cpu = guest.cpu().with_features(none);
        cpu.run(&mut guest.bus, budget(100));
        (cpu.state(), cpu.unimplemented().len())
    };
    // XSETBV of AVX raises #GP; RDPID, STAC and ANDN raise #UD, and nothing is reported as missing.
    let table: [(&[u8], u8); 4] = [
        (&[0x0F, 0x01, 0xD1], GP),
        (&[0xF3, 0x0F, 0xC7, 0xF8], UD),
        (&[0x0F, 0x01, 0xCB], UD),
        (&[0xC4, 0xE2, 0x78, 0xF2, 0xC1], UD),
    ];
    for (code, vector) in table {
        let (state, missing) = outcome(guest(code, 7));
        assert_eq!(((state.rip - HANDLERS) / 16, missing), (u64::from(vector), 0), "{code:x?}");
    }
    // TZCNT is BSF for it: RCX is 0, so that RAX stays, and ZF is set.
    let mut bits = guest(&[0xF3, 0x48, 0x0F, 0xBC, 0xC1], 0x77);
    bits.state.gpr[1] = 0;
    let (state, _) = outcome(bits);
    assert_eq!((state.gpr[0], state.rflags & 0x40), (0x77, 0x40));
}

/// A guest with component 15, enabled in IA32_XSS.
fn with_lbr(code: &[u8]) -> Guest {
    let mut guest = guest(code, 1 << 15);
    guest.bus.lbr = Some(Lbr(std::array::from_fn(|n| n as u64 + 100)));
    guest.state.xss = 1 << 15;
    guest
}

#[test]
fn xsaves_keeps_branch_records_behind_the_header() {
    let mut saved = with_lbr(&xsaves());
    let state = run(&mut saved);
    assert_eq!((saved.bus.read_u64(HEADER), saved.bus.read_u64(HEADER + 8)), (1 << 15, COMPACTED | 1 << 15));
    assert_eq!((saved.bus.read_u64(DATA + 576), saved.bus.read_u64(DATA + 576 + 800)), (100, 200));
    assert_eq!((saved.bus.read_u64(DATA + 576 + 808), state.fcw), (0, 0x27F));

    let mut restored = with_lbr(&xrstors());
    restored.bus.write(DATA, &saved.bus.ram[DATA as usize..][..2048]);
    restored.bus.lbr = Some(Lbr([7; soft_cpu::LBR_COMPONENT_WORDS]));
    run(&mut restored);
    assert_eq!(restored.bus.lbr, saved.bus.lbr);
    // Not in XSTATE_BV: as after RESET.
    restored.bus.write_u64(HEADER, 0);
    run(&mut restored);
    assert_eq!(restored.bus.lbr, Some(Lbr([0; soft_cpu::LBR_COMPONENT_WORDS])));
    // What the records cannot be.
    restored.bus.write_u64(HEADER, 1 << 15);
    restored.bus.write_u64(DATA + 576, u64::MAX);
    expect_vector(&mut restored, GP);
}

#[test]
fn empty_branch_records_are_not_in_use() {
    let mut empty = with_lbr(&xsaves());
    let mut words = [0; soft_cpu::LBR_COMPONENT_WORDS];
    words[1] = 32; // the depth
    empty.bus.lbr = Some(Lbr(words));
    empty.bus.write_u64(DATA + 576, 5);
    run(&mut empty);
    assert_eq!((empty.bus.read_u64(HEADER), empty.bus.read_u64(DATA + 576)), (0, 5));
}

#[test]
fn branch_records_belong_to_ia32_xss_and_the_supervisor() {
    // mov ecx, 0xda0; wrmsr
    let code = [0xB9, 0xA0, 0x0D, 0, 0, 0x0F, 0x30];
    let mut guest = with_lbr(&code);
    guest.state.xss = 0;
    assert_eq!(run(&mut guest).xss, 1 << 15);
    // XSAVEC does not look at IA32_XSS.
    let mut user = with_lbr(&xsavec());
    run(&mut user);
    assert_eq!(user.bus.read_u64(HEADER + 8), COMPACTED);
    // mov eax, 0xd; mov ecx, N; cpuid
    let cpuid = |n: u8| [0xB8, 0xD, 0, 0, 0, 0xB9, n, 0, 0, 0, 0x0F, 0xA2];
    let state = run(&mut with_lbr(&cpuid(1)));
    assert_eq!((state.gpr[3], state.gpr[1]), (576 + 808, 1 << 15));
    let state = run(&mut with_lbr(&cpuid(15)));
    assert_eq!((state.gpr[0], state.gpr[3], state.gpr[1]), (808, 0, 1));
}
