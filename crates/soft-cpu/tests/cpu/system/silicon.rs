//! Both sides of each rule of `soft_cpu::silicon`.

use super::*;
use soft_cpu::silicon::Silicon::{Intel, Zen3, Zen4, Zen5};

/// Linear addresses that are not canonical.
const NOWHERE: u64 = 1 << 63;
/// A page that is not there.
const ABSENT: u64 = DATA + 0x1000;

/// Ring 3 with SSE and x87.
fn guest(silicon: Silicon, code: &[u8]) -> Guest {
    let mut guest = Guest::new(code).user();
    guest.page(ABSENT, 0);
    guest.silicon = silicon;
    guest.state.fcw = 0x37F;
    guest.state.mxcsr = 0x1F80;
    guest
}

/// As it was in ring 3 when the exception came: RFLAGS and RIP from the frame.
fn interrupted(guest: &Guest, cpu: &Cpu<TestBus>, error_code: bool) -> (u64, u64) {
    let first = u64::from(error_code);
    (frame(guest, cpu, first), frame(guest, cpu, first + 2))
}

#[test]
fn mov_ss_holds_back_a_code_breakpoint_on_intel_only() {
    // mov ss, ax; nop; hlt. The breakpoint is on the NOP.
    for (silicon, hits) in [(Intel, 0), (Zen3, 1), (Zen4, 1), (Zen5, 1)] {
        let mut guest = Guest::new(&[]);
        guest.silicon = silicon;
        guest.state.gpr[0] = 0x10;
        guest.state.dr[0] = CODE + 2;
        guest.state.dr7 = 0x402;
        let seen = debug::run(&mut guest, &[0x8E, 0xD0, 0x90, 0xF4]);
        assert_eq!(seen.count, hits, "{silicon:?}");
    }
}

#[test]
fn sti_holds_back_no_code_breakpoint() {
    // sti; nop; hlt.
    for silicon in Silicon::ALL {
        let mut guest = Guest::new(&[]);
        guest.silicon = silicon;
        guest.state.dr[0] = CODE + 1;
        guest.state.dr7 = 0x402;
        let seen = debug::run(&mut guest, &[0xFB, 0x90, 0xF4]);
        assert_eq!(seen.count, 1, "{silicon:?}");
    }
}

#[test]
fn syscall_outside_of_64_bit_mode_is_amds() {
    // In compatibility mode: syscall.
    for (silicon, vector) in [(Intel, Some(6)), (Zen3, None), (Zen4, None), (Zen5, None)] {
        let mut guest = guest(silicon, &[0x0F, 0x05]);
        guest.bus.write(HANDLERS + 0x2000, &[0xF4]);
        guest.state.segments[1].rights = 0xC0FB;
        guest.state.star = 8 << 32;
        guest.state.cstar = HANDLERS + 0x2000;
        let mut cpu = guest.cpu();
        assert_eq!(cpu.run(&mut guest.bus, budget(10)), Exit::Halted);
        let expected = vector.map_or(HANDLERS + 0x2000, |vector: u64| HANDLERS + 16 * vector);
        assert_eq!(cpu.state().rip, expected + 1, "{silicon:?}");
    }
}

#[test]
fn call_has_pushed_before_its_target_faults_on_intel() {
    // call rax
    for (silicon, pushed) in [(Intel, CODE + 2), (Zen3, 0), (Zen4, 0), (Zen5, 0)] {
        let mut guest = guest(silicon, &[0xFF, 0xD0]);
        (guest.state.gpr[0], guest.state.gpr[4]) = (NOWHERE, DATA + 8);
        let cpu = expect_vector(&mut guest, 13);
        assert_eq!((frame(&guest, &cpu, 1), frame(&guest, &cpu, 4)), (CODE, DATA + 8), "{silicon:?}");
        assert_eq!(guest.bus.read_u64(DATA), pushed, "{silicon:?}");
    }
}

#[test]
fn compares_read_their_operands_in_the_order_of_the_core() {
    let (source, destination) = (ABSENT + 0x10, ABSENT + 0x20);
    let cmpsb: (&str, &[u8]) = ("cmpsb", &[0xA6]);
    let cmpsq: (&str, &[u8]) = ("repe cmpsq", &[0xF3, 0x48, 0xA7]);
    let repne_cmpsb: (&str, &[u8]) = ("repne cmpsb", &[0xF2, 0xA6]);
    let repe_cmpsb: (&str, &[u8]) = ("repe cmpsb", &[0xF3, 0xA6]);
    for (silicon, most, repe) in [
        (Intel, destination, destination),
        (Zen3, destination, destination),
        (Zen4, destination, source),
        (Zen5, source, source),
    ] {
        for ((name, code), first) in [(cmpsb, most), (cmpsq, most), (repne_cmpsb, most), (repe_cmpsb, repe)] {
            let mut guest = guest(silicon, code);
            (guest.state.gpr[1], guest.state.gpr[6], guest.state.gpr[7]) = (5, source, destination);
            let cpu = expect_vector(&mut guest, 14);
            assert_eq!(cpu.state().cr2, first, "{silicon:?} {name}");
        }
    }
}

#[test]
fn mmx_stores_that_fault_leave_top_as_the_vendor_does() {
    // movq [ABSENT], mm0; movntq and movd
    let address = [0x04, 0x25, 0, 0x10, 8, 0];
    for (silicon, top) in [(Intel, 0), (Zen3, 3), (Zen4, 3), (Zen5, 3)] {
        for opcode in [0x7F, 0xE7, 0x7E] {
            let mut guest = guest(silicon, &[&[0x0F, opcode], &address[..]].concat());
            (guest.state.fsw, guest.state.ftw) = (3 << 11, 0x18);
            let state = expect_vector(&mut guest, 14).state();
            assert_eq!((state.fsw >> 11, state.ftw), (top, 0x18), "{silicon:?} {opcode:#x}");
        }
    }
}

#[test]
fn flags_at_a_fault_within_a_repeated_compare_are_those_of_the_vendor() {
    // repne scasb: nine bytes that are greater than AL, then a page that is not there; repe cmpsb of equal bytes.
    for (silicon, committed) in [(Intel, false), (Zen3, true), (Zen4, true), (Zen5, true)] {
        for (code, flags) in [([0xF2, 0xAE], 0x95), ([0xF3, 0xA6], 0x44)] {
            let mut guest = guest(silicon, &code);
            guest.bus.write(ABSENT - 9, &[1; 9]);
            guest.state.gpr[0] = 0;
            (guest.state.gpr[1], guest.state.gpr[6], guest.state.gpr[7]) = (20, ABSENT - 9, ABSENT - 9);
            guest.state.rflags |= 0x801;
            let cpu = expect_vector(&mut guest, 14);
            let expected = if committed { flags } else { 0x801 };
            let (rip, rflags) = interrupted(&guest, &cpu, true);
            assert_eq!((rip, cpu.state().gpr[1], cpu.state().gpr[7]), (CODE, 11, ABSENT), "{silicon:?}");
            assert_eq!(rflags & 0x8D5, expected & 0x8D5, "{silicon:?} {code:x?}");
        }
    }
}

#[test]
fn registers_of_rep_with_32_bit_addresses_are_extended_when_the_vendor_does() {
    const UPPER: u64 = 0x1234 << 32;
    // Which of RCX, RSI and RDI Intel extends before anything happens.
    let table = [(0xA4, [true, true, true]), (0xAA, [true, false, true]), (0xAC, [true, false, false])];
    let compares = [(0xAE, [true, false, false]), (0xA6, [true, false, false])];
    for (opcode, at_once) in table.into_iter().chain(compares) {
        // At once a fault; nothing to do.
        for (count, vector) in [(5, 14), (0, 13)] {
            for (silicon, extends) in [(Intel, true), (Zen3, false), (Zen4, false), (Zen5, false)] {
                let mut guest = guest(silicon, &[0x67, 0xF3, opcode, 0xF4]);
                let before = [count, ABSENT, ABSENT];
                let [rcx, rsi, rdi] = before.map(|value| value | UPPER);
                (guest.state.gpr[1], guest.state.gpr[6], guest.state.gpr[7]) = (rcx, rsi, rdi);
                let state = expect_vector(&mut guest, vector).state();
                let after = [state.gpr[1], state.gpr[6], state.gpr[7]];
                for n in 0..3 {
                    let extended = extends && at_once[n];
                    let expected = if extended { before[n] } else { before[n] | UPPER };
                    assert_eq!(after[n], expected, "{silicon:?} {opcode:#x} {count} {n}");
                }
            }
        }
    }
}

#[test]
fn x87_stores_without_a_result_look_at_memory_on_amd() {
    // fistp word [rbx] of a NaN with invalid operations unmasked; then fnstsw ax; hlt.
    for (silicon, address, vector) in [
        (Intel, ABSENT, 13),
        (Intel, NOWHERE, 13),
        (Zen3, ABSENT, 14),
        (Zen4, ABSENT, 14),
        (Zen5, ABSENT, 14),
    ] {
        let mut guest = guest(silicon, &[0xDF, 0x1B, 0xDF, 0xE0, 0xF4]);
        guest.state.fcw = 0x37E;
        guest.state.ftw = 1;
        guest.state.st[0] = 0xFFFF_C000_0000_0000_0000;
        guest.state.gpr[3] = address;
        let cpu = expect_vector(&mut guest, vector);
        let (rip, _) = interrupted(&guest, &cpu, true);
        let (end, status) = if vector == 13 { (CODE + 4, 0x8081) } else { (CODE, 0) };
        assert_eq!((rip, cpu.state().fsw), (end, status), "{silicon:?} {address:#x}");
    }
}

#[test]
fn ten_bytes_are_stored_in_two_parts_on_intel() {
    // fstp tbyte [rbx]: eight bytes in a page and two in the next one. fbstp.
    for (silicon, stored) in [(Intel, true), (Zen3, false), (Zen4, false), (Zen5, false)] {
        for (code, bits) in [([0xDB, 0x3B], 0x8000_0000_0000_0000), ([0xDF, 0x33], 1)] {
            let mut guest = guest(silicon, &code);
            guest.state.ftw = 1;
            guest.state.st[0] = 0x3FFF_8000_0000_0000_0000;
            guest.state.gpr[3] = ABSENT - 8;
            let state = expect_vector(&mut guest, 14).state();
            assert_eq!((state.cr2, state.ftw), (ABSENT, 1));
            assert_eq!(
                guest.bus.read_u64(ABSENT - 8),
                if stored { bits } else { 0 },
                "{silicon:?} {code:x?}"
            );
        }
    }
}

#[test]
fn the_nan_of_a_dot_product_is_that_of_the_lane_on_intel() {
    let lanes = |lanes: [u32; 4]| lanes.iter().rev().fold(0, |all, lane| all << 32 | u128::from(*lane));
    let [a, b, d] = [0x7FC0_000A, 0x7FC0_000B, 0x7FC0_000D];
    let one = 0x3F80_0000;
    let (ones, double_one) = (lanes([one; 4]), 0x3FF0_0000_0000_0000_u128);
    let double_nans = 0x7FF8_0000_0000_000B_7FF8_0000_0000_000A_u128;
    // (DPPS, first operand, second, Intel's result, AMD's)
    let table = [
        (0x40, lanes([a, b, one, d]), ones, lanes([b, a, d, d]), lanes([a; 4])),
        (0x40, lanes([one, b, one, d]), ones, lanes([b, b, d, d]), lanes([b; 4])),
        (
            0x41,
            double_nans,
            double_one << 64 | double_one,
            double_nans,
            double_nans << 64 | 0x7FF8 << 48 | 0xA,
        ),
    ];
    for (opcode, left, right, intel, amd) in table {
        for (silicon, expected) in [(Intel, intel), (Zen3, amd), (Zen4, amd), (Zen5, amd)] {
            // dpps xmm0, xmm1, 0xFF; hlt
            let mut guest = guest(silicon, &[0x66, 0x0F, 0x3A, opcode, 0xC1, 0xFF, 0xF4]);
            guest.state.xmm[0] = left;
            guest.state.xmm[1] = right;
            let state = expect_vector(&mut guest, 13).state();
            assert_eq!(state.xmm[0], expected, "{silicon:?} {:#x} {expected:#x}", state.xmm[0]);
        }
    }
}

#[test]
fn sine_and_cosine_of_tiny_numbers_are_those_of_the_vendor() {
    const SMALLEST: u128 = 1 << 64 | 1 << 63;
    const ONE: u128 = 0x3FFF << 64 | 1 << 63;
    let (below_smallest, below_one) = ((1 << 63) - 1, 0x3FFE << 64 | u128::from(u64::MAX));
    // Rounded towards 0: (FSIN or FCOS, operand, Intel's result and exceptions, AMD's)
    let table = [
        (0xFE, SMALLEST, (SMALLEST, 0x20), (below_smallest, 0x30)),
        (0xFF, SMALLEST, (ONE, 0x20), (below_one, 0x20)),
        (0xFF, 1, (ONE, 0x22), (below_one, 0x22)),
        (0xFF, SMALLEST + (5 << 64), (below_one, 0x20), (below_one, 0x20)),
    ];
    for (opcode, operand, intel, amd) in table {
        for (silicon, expected) in [(Intel, intel), (Zen3, amd), (Zen4, amd), (Zen5, amd)] {
            let mut guest = guest(silicon, &[0xD9, opcode, 0xF4]);
            guest.state.fcw = 0xF7F;
            guest.state.ftw = 1;
            guest.state.st[0] = operand;
            let state = expect_vector(&mut guest, 13).state();
            assert_eq!((state.st[0], state.fsw & 0x3F), expected, "{silicon:?} {opcode:#x} {operand:#x}");
        }
    }
}

#[test]
fn operands_of_sha_need_not_be_aligned_on_amd() {
    // SHA1NEXTE, SHA1MSG1, SHA1MSG2, SHA256RNDS2, SHA256MSG1, SHA256MSG2 and SHA1RNDS4 with [rbx]; hlt.
    let codes = (0xC8..=0xCD).map(|opcode| vec![0x0F, 0x38, opcode, 0x0B, 0xF4]);
    for code in codes.chain([vec![0x0F, 0x3A, 0xCC, 0x0B, 0, 0xF4]]) {
        for (silicon, ends_at) in [(Intel, 0), (Zen3, code.len() - 1), (Zen4, code.len() - 1)] {
            let mut guest = guest(silicon, &code);
            guest.state.gpr[3] = DATA + 8;
            let cpu = expect_vector(&mut guest, 13);
            let (rip, _) = interrupted(&guest, &cpu, true);
            assert_eq!(rip, CODE + ends_at as u64, "{silicon:?} {code:x?}");
        }
    }
}

#[test]
fn a_half_is_computed_before_its_memory_is_looked_at_on_intel() {
    // vcvtps2ph [rbx], xmm1, 0 of numbers that are no halves, with the exception masked and not.
    let code = [0xC4, 0xE3, 0x79, 0x1D, 0x0B, 0];
    let table = [(Intel, 0x1F80, 14, 0x1FA0), (Intel, 0xF80, 19, 0xFA0), (Zen3, 0x1F80, 14, 0x1F80)];
    for (silicon, mxcsr, vector, after) in table.into_iter().chain([(Zen3, 0xF80, 14, 0xF80)]) {
        let mut guest = guest(silicon, &code);
        guest.state.xcr0 = 7;
        guest.state.cr4 |= 1 << 18;
        guest.state.mxcsr = mxcsr;
        guest.state.xmm[1] = 0x3F80_0001;
        guest.state.gpr[3] = ABSENT;
        let state = expect_vector(&mut guest, vector).state();
        assert_eq!(state.mxcsr, after, "{silicon:?} {mxcsr:#x}");
    }
}

#[test]
fn halves_that_a_mask_selects_are_computed_before_memory_on_intel() {
    // vcvtps2ph [rbx]{k1}, xmm1, 0 of numbers that are no halves: the first in the last bytes of a page, or two.
    let code = [0x62, 0xF3, 0x7D, 9, 0x1D, 0x0B, 0];
    let table = [
        (Intel, ABSENT, 1, 0x1F80, 14, 0x1FA0),
        (Zen5, ABSENT, 1, 0x1F80, 14, 0x1F80),
        (Intel, ABSENT, 1, 0xF80, 19, 0xFA0),
        (Zen5, ABSENT, 1, 0xF80, 14, 0xF80),
        (Zen5, ABSENT - 2, 1, 0xF80, 19, 0xFA0),
        (Zen5, ABSENT - 2, 3, 0xF80, 14, 0xF80),
        (Zen5, ABSENT - 8, 15, 0xF80, 19, 0xFA0),
    ];
    for (silicon, start, mask, mxcsr, vector, after) in table {
        let mut guest = guest(silicon, &code);
        guest.state.xcr0 = 0xE7;
        guest.state.cr4 |= 1 << 18;
        guest.state.mxcsr = mxcsr;
        guest.state.xmm[1] = 0x3F80_0001_3F80_0001;
        guest.state.opmask[1] = mask;
        guest.state.gpr[3] = start;
        let state = expect_vector(&mut guest, vector).state();
        assert_eq!(state.mxcsr, after, "{silicon:?} {start:#x} {mask:#x} {mxcsr:#x}");
        if vector == 14 {
            assert_eq!(state.cr2, ABSENT, "{silicon:?} {start:#x}");
        }
    }
}

#[test]
fn the_subnormal_rest_of_a_reduction_is_flushed_beside_an_unmasked_ue_on_intel() {
    // vreducess xmm0, xmm1, xmm1, 0; hlt. UE is masked, or not.
    let code = [0x62, 0xF3, 0x75, 8, 0x57, 0xC1, 0, 0xF4];
    for (silicon, mxcsr, result, raised) in [
        (Intel, 0x9F80, 0, 0x20),
        (Zen5, 0x9F80, 0, 0x20),
        (Intel, 0x9780, 0, 0x20),
        (Zen5, 0x9780, 0x3A6C, 0),
        (Intel, 0x1780, 0x3A6C, 0),
        (Zen5, 0x1780, 0x3A6C, 0),
    ] {
        let mut guest = guest(silicon, &code);
        guest.state.xcr0 = 0xE7;
        guest.state.cr4 |= 1 << 18;
        guest.state.mxcsr = mxcsr;
        guest.state.xmm[1] = 0x3A6C;
        let state = expect_vector(&mut guest, 13).state();
        assert_eq!((state.xmm[0], state.mxcsr), (result, mxcsr | raised), "{silicon:?} {mxcsr:#x}");
    }
}

#[test]
fn a_masked_store_across_pages_faults_at_its_end_on_intel() {
    // vmaskmovps [rbx], xmm1, xmm2. Elements by their signs: all; the last two, in one page; the first and the last.
    let all = 0x80000000_80000000_80000000_80000000;
    let ends = 1 << 127 | 1 << 31;
    let table = [
        (all, ABSENT - 6, ABSENT + 9, ABSENT),
        (all << 64, ABSENT - 6, ABSENT + 2, ABSENT + 2),
        (ends, ABSENT - 6, ABSENT + 9, ABSENT + 6),
    ];
    for (mask, start, intel, amd) in table {
        for (silicon, address) in [(Intel, intel), (Zen3, amd), (Zen4, amd), (Zen5, amd)] {
            let mut guest = guest(silicon, &[0xC4, 0xE2, 0x71, 0x2E, 0x13]);
            guest.state.xcr0 = 7;
            guest.state.cr4 |= 1 << 18;
            guest.state.xmm[1] = mask;
            guest.state.gpr[3] = start;
            let state = expect_vector(&mut guest, 14).state();
            assert_eq!(state.cr2, address, "{silicon:?} {mask:#x}");
        }
    }
}

#[test]
fn a_masked_store_that_ends_beyond_canonical_addresses_raises_gp() {
    // The last canonical byte is in a page that is not there. vmaskmovps [rbx], xmm1, xmm2, first element only; all.
    for mask in [1_u128 << 31, 0x80000000_80000000_80000000_80000000] {
        for silicon in Silicon::ALL {
            let mut guest = guest(silicon, &[0xC4, 0xE2, 0x71, 0x2E, 0x13]);
            guest.state.xcr0 = 7;
            guest.state.cr4 |= 1 << 18;
            guest.state.xmm[1] = mask;
            guest.state.gpr[3] = (1 << 47) - 1;
            expect_vector(&mut guest, 13);
        }
    }
}

#[test]
fn the_half_of_a_subnormal_number_is_inexact_on_intel_only() {
    // vcvtps2ph xmm0, xmm1, 0 with UE not masked: DE and UE; PE by the significand (Zen 3, Zen 5), or always.
    let code = [0xC4, 0xE3, 0x79, 0x1D, 0xC8, 0];
    let table = [(Intel, 0x0040_0000, 0x32), (Zen3, 0x0040_0000, 0x12), (Intel, 0x0055_5555, 0x32)];
    for (silicon, number, raised) in table.into_iter().chain([
        (Zen3, 0x0055_5555, 0x32),
        (Zen3, 0x007F_E000, 0x12),
        (Zen3, 0x0080_0001, 0x30),
        (Zen3, 0x0090_0000, 0x10),
        (Intel, 0x0090_0000, 0x10),
    ]) {
        let mut guest = guest(silicon, &code);
        guest.state.xcr0 = 7;
        guest.state.cr4 |= 1 << 18;
        guest.state.mxcsr = 0x1780;
        guest.state.xmm[1] = number;
        let state = expect_vector(&mut guest, 19).state();
        assert_eq!(state.mxcsr, 0x1780 | raised, "{silicon:?} {number:#x}");
    }
}

#[test]
fn a_misaligned_operand_beyond_canonical_addresses_belongs_to_its_segment_on_intel_only() {
    // movaps xmm0, [rsp + rbx]; lock cmpxchg16b [rsp + rbx]; xsave [rsp + rbx]
    let codes: [&[u8]; 3] =
        [&[0x0F, 0x28, 0x04, 0x1C], &[0xF0, 0x48, 0x0F, 0xC7, 0x0C, 0x1C], &[0x0F, 0xAE, 0x24, 0x1C]];
    for code in codes {
        for (silicon, misaligned, vector) in [(Intel, 4, 12), (Intel, 0, 12), (Zen3, 4, 13), (Zen3, 0, 12)] {
            let mut guest = guest(silicon, code);
            guest.state.cr4 |= 1 << 18;
            guest.state.gpr[3] = (1 << 62) + misaligned - (guest.state.gpr[4] & 63);
            expect_vector(&mut guest, vector);
        }
    }
}

#[test]
fn xrstor_looks_at_its_header_before_it_faults_on_amd() {
    // xrstor [rbx] with the state of AVX, whose page is not there.
    let code = [0x0F, 0xAE, 0x2B];
    let area = ABSENT - 640;
    for (silicon, present, rest, vector) in [
        (Intel, 7, 0, 14),
        (Zen3, 7, 0, 14),
        (Intel, 1 << 63, 0, 14),
        (Zen3, 1 << 63, 0, 13),
        (Intel, 7, 1, 14),
        (Zen3, 7, 1, 13),
    ] {
        let mut guest = guest(silicon, &code);
        guest.state.xcr0 = 7;
        guest.state.cr4 |= 1 << 18;
        guest.state.gpr[0] = 7;
        guest.state.gpr[2] = 0;
        guest.state.gpr[3] = area;
        guest.bus.write(area, &[0; 640]);
        guest.bus.write_u64(area + 24, 0x1F80);
        guest.bus.write_u64(area + 512, present);
        guest.bus.write_u64(area + 528, rest);
        expect_vector(&mut guest, vector);
    }
}
