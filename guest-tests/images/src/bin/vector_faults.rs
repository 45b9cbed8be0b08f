//! Exceptions of VEX and EVEX encodings: gathers and scatters that stop half way, alignment, MXCSR, and encodings that
//! are none (SDM volume 2, sections 2.4 to 2.8).
#![no_std]
#![no_main]

use guest_images::{
    faulting,
    faulting::Raised,
    vector::{use_avx2, use_avx512},
};
use guest_runtime::{check_eq, guest_test, has, protocol::Needs, skip};

guest_runtime::image!();

/// MXCSR of the runtime, and with each exception unmasked.
const DEFAULT: u32 = 0x1F80;
const UNMASKED: u32 = 0;
/// Flags of MXCSR.
const IE: u32 = 1;
const ZE: u32 = 1 << 2;
const PE: u32 = 1 << 5;
/// MXCSR rounds up.
const UP: u32 = DEFAULT | 2 << 13;

/// Memory that is aligned to a cache line.
#[repr(C, align(64))]
struct Line([u32; 32]);

/// Indices of a gather, relative to a table: element 4 is on page 0, which is not mapped.
fn indices(table: &[u32; 16]) -> [i64; 8] {
    let at = table.as_ptr() as i64;
    core::array::from_fn(|n| if n == 4 { 0x40 - at } else { 4 * n as i64 })
}

fn table() -> [u32; 16] {
    core::array::from_fn(|n| 100 + n as u32)
}

/// A gather of AVX2 that faults has done the elements below, whose mask is clear then, and goes on from there when it
/// is executed again.
#[guest_test]
fn a_gather_stops_where_it_faults() {
    use_avx2();
    let (table, mut out, mut left) = (table(), [1_u32; 4], [1_u32; 4]);
    let all = indices(&table);
    let mut wanted = [all[2], all[3], all[4], all[5]];
    let mut gather = |wanted: &[i64; 4], resumed: bool| {
        let raised = faulting!(
            "test {resumed:e}, {resumed:e}", "jnz 2f",
            "vpcmpeqd xmm2, xmm2, xmm2", "vpxor xmm0, xmm0, xmm0", "jmp 3f",
            "2:", "vmovdqu xmm2, [{left}]", "vmovdqu xmm0, [{out}]", "3:",
            "vmovdqu ymm1, [{wanted}]", "vpgatherqd xmm0, [{table} + ymm1], xmm2" ;
            then "vmovdqu [{out}], xmm0", "vmovdqu [{left}], xmm2" ;
            resumed = in(reg) u32::from(resumed), wanted = in(reg) wanted.as_ptr(), table = in(reg) table.as_ptr(),
            out = in(reg) out.as_mut_ptr(), left = in(reg) left.as_mut_ptr(),
        );
        (raised, out, left)
    };
    let (raised, done, masks) = gather(&wanted, false);
    check_eq!(raised, Some(Raised::absent(0x40, false)));
    check_eq!(
        (&done[..2], &masks[..2]),
        (&[102, 103][..], &[0, 0][..]),
        "elements below the one that faults"
    );
    check_eq!(masks[2], u32::MAX, "the one that faults");
    wanted[2] = 4 * 9;
    let (raised, done, masks) = gather(&wanted, true);
    check_eq!((raised, done, masks), (None, [102, 103, 109, 105], [0; 4]), "executed again");
}

/// The same of AVX-512, by a mask register.
#[guest_test]
fn a_gather_of_avx512_stops_where_it_faults() {
    use_avx512();
    let table = table();
    let wanted = indices(&table);
    let (mut out, mut left) = ([1_u32; 8], 0_u64);
    let raised = faulting!(
        "mov {left:e}, 0xF7", "kmovq k1, {left}", "vmovdqu64 zmm1, [{wanted}]", "vpxor xmm0, xmm0, xmm0",
        "vpgatherqd ymm0 {{k1}}, [{table} + zmm1]" ;
        then "vmovdqu [{out}], ymm0", "kmovq {left}, k1" ;
        left = inout(reg) left, wanted = in(reg) wanted.as_ptr(), table = in(reg) table.as_ptr(),
        out = in(reg) out.as_mut_ptr(),
    );
    check_eq!(raised, Some(Raised::absent(0x40, false)));
    check_eq!(out[..4], [100, 101, 102, 0][..], "elements below, without the one that is masked off");
    check_eq!(left & 0x1F, 0x10, "the mask of those below is clear");
    // Without the element that is not there.
    let raised = faulting!(
        "mov {left:e}, 0xEF", "kmovq k1, {left}", "vmovdqu64 zmm1, [{wanted}]",
        "vpgatherqd ymm0 {{k1}}, [{table} + zmm1]", "vmovdqu [{out}], ymm0", "kmovq {left}, k1";
        left = inout(reg) left, wanted = in(reg) wanted.as_ptr(), table = in(reg) table.as_ptr(),
        out = in(reg) out.as_mut_ptr(),
    );
    check_eq!((raised, left), (None, 0));
    check_eq!(out[5..], [105, 106, 107][..]);
}

/// A scatter writes in order: those below the element that faults have been written.
#[guest_test]
fn a_scatter_stops_where_it_faults() {
    use_avx512();
    let mut table = table();
    let wanted = indices(&table);
    let (values, mut left): ([u32; 8], u64) = (core::array::from_fn(|n| n as u32), 0);
    let raised = faulting!(
        "mov {left:e}, 0xFB", "kmovq k1, {left}", "vmovdqu64 zmm1, [{wanted}]", "vmovdqu ymm0, [{values}]",
        "vpscatterqd [{table} + zmm1] {{k1}}, ymm0" ;
        then "kmovq {left}, k1" ;
        left = inout(reg) left, wanted = in(reg) wanted.as_ptr(), table = in(reg) table.as_mut_ptr(),
        values = in(reg) values.as_ptr(),
    );
    check_eq!(raised, Some(Raised::absent(0x40, true)));
    check_eq!(table[..4], [0, 1, 102, 3][..]);
    check_eq!(left & 0x1F, 0x10, "the mask of those below is clear");
}

/// Legacy SSE wants its memory aligned, VEX only where the instruction says so, EVEX by its own width.
#[guest_test]
fn alignment() {
    use_avx2();
    let line = Line([0; 32]);
    let at = |offset: usize| line.0.as_ptr() as usize + offset;
    let raised = faulting!("addps xmm0, [{at}]"; at = in(reg) at(8),);
    if raised == Some(Raised::UD) && !has(Needs::EXACT) {
        skip!("the host's KVM emulates what raises #GP, and does not know ADDPS");
    }
    check_eq!(raised, Some(Raised::GP0), "ADDPS");
    check_eq!(faulting!("vaddps xmm0, xmm0, [{at}]"; at = in(reg) at(8),), None, "VADDPS");
    check_eq!(faulting!("vmovaps xmm0, [{at}]"; at = in(reg) at(8),), Some(Raised::GP0), "VMOVAPS XMM");
    check_eq!(faulting!("vmovaps ymm0, [{at}]"; at = in(reg) at(16),), Some(Raised::GP0), "VMOVAPS YMM");
    check_eq!(faulting!("vmovaps ymm0, [{at}]"; at = in(reg) at(32),), None, "VMOVAPS YMM, aligned");
    check_eq!(faulting!("vmovdqu ymm0, [{at}]"; at = in(reg) at(1),), None, "VMOVDQU");
    check_eq!(faulting!("vmovntdqa ymm0, [{at}]"; at = in(reg) at(16),), Some(Raised::GP0), "VMOVNTDQA");
    check_eq!(faulting!("vmovntps [{at}], ymm0"; at = in(reg) at(16),), Some(Raised::GP0), "VMOVNTPS");
}

/// VMOVAPS of ZMM registers wants 64 bytes, and does so under a mask that has nothing.
#[guest_test]
fn alignment_of_avx512() {
    use_avx512();
    let line = Line([0; 32]);
    let at = |offset: usize| line.0.as_ptr() as usize + offset;
    let raised = faulting!("vmovaps zmm0, [{at}]"; at = in(reg) at(32),);
    if raised == Some(Raised::UD) && !has(Needs::EXACT) {
        skip!("the host's KVM emulates what raises #GP, and does not know VMOVAPS");
    }
    check_eq!(raised, Some(Raised::GP0), "VMOVAPS ZMM");
    check_eq!(faulting!("vmovaps zmm0, [{at}]"; at = in(reg) at(64),), None, "VMOVAPS ZMM, aligned");
    check_eq!(faulting!("vmovdqu64 zmm0, [{at}]"; at = in(reg) at(8),), None, "VMOVDQU64");
    check_eq!(faulting!("vaddps zmm0, zmm0, [{at}]"; at = in(reg) at(4),), None, "VADDPS");
}

/// One over zero, or over one, by lanes, with MXCSR as given: what it raised, MXCSR, and the first quotient's bits.
fn divide(mxcsr: u32, divisors: [f32; 4]) -> (Option<Raised>, u32, u32) {
    let (ones, mut out, mut after) = ([1.0_f32; 4], [0x77_u32; 4], 0_u32);
    let raised = faulting!(
        "vmovups xmm1, [{ones}]", "vmovups xmm2, [{divisors}]", "vmovdqu xmm0, [{out}]", "vldmxcsr [{mxcsr}]",
        "vdivps xmm0, xmm1, xmm2" ;
        then "vstmxcsr [{after}]", "vldmxcsr [{default}]", "vmovdqu [{out}], xmm0" ;
        ones = in(reg) ones.as_ptr(), divisors = in(reg) divisors.as_ptr(), mxcsr = in(reg) &raw const mxcsr,
        after = in(reg) &raw mut after, default = in(reg) &raw const DEFAULT_WORD, out = in(reg) out.as_mut_ptr(),
    );
    (raised, after, out[0])
}

static DEFAULT_WORD: u32 = DEFAULT;

/// Masked exceptions leave flags, unmasked ones raise #XM before anything is written.
#[guest_test]
fn exceptions_of_arithmetic() {
    use_avx2();
    check_eq!(divide(DEFAULT, [1.0, 2.0, 4.0, 8.0]), (None, DEFAULT, 1.0_f32.to_bits()), "exact");
    check_eq!(divide(DEFAULT, [1.0, 1.0, 1.0, 0.0]), (None, DEFAULT | ZE, 1.0_f32.to_bits()), "a zero");
    check_eq!(divide(UNMASKED, [1.0, 1.0, 1.0, 0.0]), (Some(Raised::XM), ZE, 0x77), "a zero, unmasked");
    check_eq!(divide(DEFAULT, [3.0, 1.0, 1.0, 0.0]).1, DEFAULT | ZE | PE, "flags of all lanes together");
}

/// A lane that is masked off raises nothing, and {sae} neither raises nor flags anything.
#[guest_test]
fn exceptions_of_avx512() {
    use_avx512();
    // Only lanes 0 and 1 of the numerator are zero: zero over zero is invalid.
    let run = |mask: u64, mxcsr: u32| {
        let (mut after, divisors, numerators) = (0_u32, [0.0_f32; 16], [0.0_f32, 0.0, 1.0, 1.0]);
        let raised = faulting!(
            "kmovq k1, {mask}", "vmovups zmm2, [{divisors}]", "vmovups xmm1, [{numerators}]", "vldmxcsr [{mxcsr}]",
            "vdivps zmm0 {{k1}}, zmm1, zmm2" ;
            then "vstmxcsr [{after}]", "vldmxcsr [{default}]" ;
            mask = in(reg) mask, divisors = in(reg) divisors.as_ptr(), numerators = in(reg) numerators.as_ptr(),
            mxcsr = in(reg) &raw const mxcsr, after = in(reg) &raw mut after, default = in(reg) &raw const DEFAULT_WORD,
        );
        (raised, after)
    };
    check_eq!(run(0b1100, DEFAULT), (None, DEFAULT | ZE), "finite over zero");
    check_eq!(run(0b0011, DEFAULT), (None, DEFAULT | IE), "zero over zero");
    check_eq!(run(0, UNMASKED), (None, UNMASKED), "nothing");
    check_eq!(run(0b0100, UNMASKED), (Some(Raised::XM), ZE), "unmasked");
    let sae = |mxcsr: u32| {
        let mut after = 0_u32;
        let raised = faulting!(
            "vpxord zmm1, zmm1, zmm1", "vldmxcsr [{mxcsr}]", "vdivps zmm0, zmm1, zmm1, {{rn-sae}}" ;
            then "vstmxcsr [{after}]", "vldmxcsr [{default}]" ;
            mxcsr = in(reg) &raw const mxcsr, after = in(reg) &raw mut after, default = in(reg) &raw const DEFAULT_WORD,
        );
        (raised, after)
    };
    check_eq!(sae(UNMASKED), (None, UNMASKED), "rounding in the instruction");
}

/// The rounding of an instruction comes before MXCSR's.
#[guest_test]
fn rounding_in_the_instruction() {
    use_avx512();
    let (one, three, mut out) = (1.0_f32, 3.0_f32, [0_u32; 3]);
    let raised = faulting!(
        "vldmxcsr [{up}]", "vbroadcastss zmm1, [{one}]", "vbroadcastss zmm2, [{three}]",
        "vdivps zmm3, zmm1, zmm2", "vdivps zmm4, zmm1, zmm2, {{rd-sae}}", "vdivps zmm5, zmm1, zmm2, {{ru-sae}}",
        "vmovss [{out}], xmm3", "vmovss [{out} + 4], xmm4", "vmovss [{out} + 8], xmm5", "vldmxcsr [{default}]";
        up = in(reg) &raw const UP_WORD, one = in(reg) &raw const one, three = in(reg) &raw const three,
        out = in(reg) out.as_mut_ptr(), default = in(reg) &raw const DEFAULT_WORD,
    );
    check_eq!((raised, out), (None, [0x3EAA_AAAB, 0x3EAA_AAAA, 0x3EAA_AAAB]));
}

static UP_WORD: u32 = UP;

/// Prefixes that VEX and EVEX do not take, reserved bits, and registers that have to differ.
#[guest_test]
fn impossible_encodings_are_undefined() {
    use_avx2();
    for (what, raised) in [
        ("66H before VEX", faulting!(".byte 0x66, 0xC5, 0xF8, 0x58, 0xC0")),
        ("F3H before VEX", faulting!(".byte 0xF3, 0xC5, 0xF8, 0x58, 0xC0")),
        ("REX before VEX", faulting!(".byte 0x48, 0xC5, 0xF8, 0x58, 0xC0")),
        ("LOCK before VEX", faulting!(".byte 0xF0, 0xC5, 0xF8, 0x58, 0xC0")),
        ("VEX.vvvv of VSQRTPS", faulting!(".byte 0xC5, 0xF0, 0x51, 0xC0")),
        ("VEX.L of VZEROALL's neighbour VLDMXCSR", faulting!(".byte 0xC5, 0xFC, 0xAE, 0x14, 0x24")),
        ("VEX.L of VPERMD", faulting!(".byte 0xC4, 0xE2, 0x79, 0x36, 0xC0")),
        // VPGATHERDD XMM0, [RSP + XMM1], XMM0
        ("a gather's mask in its destination", faulting!(".byte 0xC4, 0xE2, 0x79, 0x90, 0x04, 0x0C")),
        // VPGATHERDD XMM1, [RSP + XMM1], XMM0
        ("a gather's index in its destination", faulting!(".byte 0xC4, 0xE2, 0x79, 0x90, 0x0C, 0x0C")),
    ] {
        check_eq!(raised, Some(Raised::UD), "{what}");
    }
    // Zen 3 executes it.
    if has(Needs::EXACT) {
        let raised = faulting!(".byte 0xC4, 0xE3, 0x7D, 0x00, 0xC0, 0x1B");
        check_eq!(raised, Some(Raised::UD), "VEX.W of VPERMQ");
    }
}

/// The same of EVEX.
#[guest_test]
fn impossible_evex_encodings_are_undefined() {
    use_avx512();
    for (what, raised) in [
        ("66H before EVEX", faulting!(".byte 0x66, 0x62, 0xF1, 0x7C, 0x48, 0x58, 0xC0")),
        ("reserved bit of the second byte", faulting!(".byte 0x62, 0xF9, 0x7C, 0x48, 0x58, 0xC0")),
        ("EVEX.L'L of 3", faulting!(".byte 0x62, 0xF1, 0x7D, 0x68, 0xFE, 0xC0")),
        ("a broadcast of VMOVDQU32", faulting!(".byte 0x62, 0xF1, 0x7E, 0x58, 0x6F, 0x04, 0x24")),
        ("EVEX.vvvv of VSQRTPS", faulting!(".byte 0x62, 0xF1, 0x74, 0x48, 0x51, 0xC0")),
    ] {
        check_eq!(raised, Some(Raised::UD), "{what}");
    }
}
