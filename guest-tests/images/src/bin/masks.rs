//! Mask registers of AVX-512: operations on them, merging and zeroing, and elements that are masked off and raise
//! nothing (SDM volume 1, section 15.6; volume 2, section 2.7).
#![no_std]
#![no_main]

use guest_images::{
    faulting,
    faulting::Raised,
    vector::{use_avx2, use_avx512},
};
use guest_runtime::{check_eq, guest_test};

guest_runtime::image!();

/// The end of page 0, which is not mapped; page 1 is.
const PAGE: usize = 0x1000;
const A: u64 = 0xF0F0_1234_8001_55AA;
const B: u64 = 0x0FF0_4321_FFFF_00FF;

/// An operation on two masks, with both in k1 and k2 and the result in k3.
macro_rules! of_two {
    ($text:literal) => {{
        let mut out = 0_u64;
        let raised = faulting!(
            "kmovq k1, {a}", "kmovq k2, {b}", $text, "kmovq [{out}], k3";
            a = in(reg) A, b = in(reg) B, out = in(reg) &raw mut out,
        );
        check_eq!(raised, None, "{}", $text);
        out
    }};
}

/// Each width writes its own bits and clears those above.
#[guest_test]
fn operations_on_masks() {
    use_avx512();
    check_eq!(of_two!("kandw k3, k1, k2"), A & B & 0xFFFF);
    check_eq!(of_two!("kandnb k3, k1, k2"), !A & B & 0xFF);
    check_eq!(of_two!("korq k3, k1, k2"), A | B);
    check_eq!(of_two!("kxord k3, k1, k2"), (A ^ B) & 0xFFFF_FFFF);
    check_eq!(of_two!("kxnorw k3, k1, k2"), !(A ^ B) & 0xFFFF);
    check_eq!(of_two!("knotq k3, k1"), !A);
    check_eq!(of_two!("kaddb k3, k1, k2"), A.wrapping_add(B) & 0xFF);
    check_eq!(of_two!("kaddq k3, k1, k2"), A.wrapping_add(B));
    check_eq!(of_two!("kunpckbw k3, k1, k2"), (A & 0xFF) << 8 | B & 0xFF);
    check_eq!(of_two!("kunpckdq k3, k1, k2"), A << 32 | B & 0xFFFF_FFFF);
    check_eq!(of_two!("kshiftlw k3, k1, 4"), A << 4 & 0xFFFF);
    check_eq!(of_two!("kshiftrq k3, k1, 60"), A >> 60);
    check_eq!(of_two!("kshiftlw k3, k1, 16"), 0, "beyond the width");
    check_eq!(of_two!("kmovb k3, k1"), A & 0xFF);
}

/// KORTEST and KTEST set ZF and CF only.
#[guest_test]
fn tests_of_masks_set_flags() {
    use_avx512();
    let flags = |a: u64, b: u64, test: bool| {
        let (mut or, mut and): (u64, u64) = (0, 0);
        let raised = faulting!(
            "kmovq k1, {a}", "kmovq k2, {b}",
            "kortestw k1, k2", "pushfq", "pop {or}", "ktestw k1, k2", "pushfq", "pop {and}";
            a = in(reg) a, b = in(reg) b, or = inout(reg) or, and = inout(reg) and,
        );
        check_eq!(raised, None);
        let word = if test { and } else { or };
        (word >> 6 & 1, word & 1, word & 0b1000_1001_0100)
    };
    check_eq!(flags(0, 1 << 16, false), (1, 0, 0), "KORTESTW of zeros");
    check_eq!(flags(0xFF00, 0x00FF, false), (0, 1, 0), "KORTESTW of ones");
    check_eq!(flags(0xFF00, 0x00FF, true), (1, 0, 0), "KTESTW: nothing in common");
    check_eq!(flags(0x00FF, 0x0FFF, true), (0, 0, 0), "KTESTW: neither");
    check_eq!(flags(0xFFFF, 0x00F0, true), (0, 1, 0), "KTESTW: the second within the first");
}

/// Runs instructions on dwords 0, 1, 2 … in ZMM1 and sevens in ZMM0, with a mask in k1; returns ZMM0.
macro_rules! masked {
    ($mask:expr, $($text:literal),+) => {{
        let numbers: [u32; 16] = core::array::from_fn(|n| n as u32);
        let sevens = [7_u32; 16];
        let mut out = [0_u32; 16];
        let raised = faulting!(
            "vmovdqu32 zmm1, [{numbers}]", "vmovdqu32 zmm0, [{sevens}]", "kmovq k1, {mask}", $($text,)+
            "vmovdqu32 [{out}], zmm0";
            numbers = in(reg) numbers.as_ptr(), sevens = in(reg) sevens.as_ptr(), mask = in(reg) $mask as u64,
            out = in(reg) out.as_mut_ptr(),
        );
        check_eq!(raised, None);
        out
    }};
}

/// Elements that are masked off keep what is in the destination, or become zero with {z}.
#[guest_test]
fn merging_and_zeroing() {
    use_avx512();
    let mask: u64 = 0b1010_0000_0000_0110;
    let chosen = |n: usize| mask >> n & 1 != 0;
    let merged = masked!(mask, "vpaddd zmm0 {{k1}}, zmm1, zmm1");
    check_eq!(merged, core::array::from_fn(|n| if chosen(n) { 2 * n as u32 } else { 7 }), "merging");
    let zeroed = masked!(mask, "vpaddd zmm0 {{k1}} {{z}}, zmm1, zmm1");
    check_eq!(zeroed, core::array::from_fn(|n| if chosen(n) { 2 * n as u32 } else { 0 }), "zeroing");
    let narrow = masked!(mask, "vpaddd xmm0 {{k1}}, xmm1, xmm1");
    check_eq!(narrow[..6], [7, 2, 4, 7, 0, 0][..], "128 bits: the rest becomes zero all the same");
    let none = masked!(0, "vpaddd zmm0 {{k1}}, zmm1, zmm1");
    check_eq!(none, [7; 16], "nothing");
    // k0 as a mask stands for none.
    check_eq!(masked!(0, "kmovq k0, k1", "vpaddd zmm0, zmm1, zmm1")[15], 30, "without a mask");
}

/// Scalar operations have one mask bit; bits 127:32 come from the first source in any case.
#[guest_test]
fn masks_of_scalar_operations() {
    use_avx512();
    check_eq!(masked!(0b10, "vaddss xmm0 {{k1}}, xmm1, xmm1")[..5], [7, 1, 2, 3, 0][..], "merging");
    check_eq!(masked!(0b10, "vaddss xmm0 {{k1}} {{z}}, xmm1, xmm1")[..5], [0, 1, 2, 3, 0][..], "zeroing");
    check_eq!(masked!(0b10, "vmovss xmm0 {{k1}}, xmm1, xmm1")[..5], [7, 1, 2, 3, 0][..], "VMOVSS");
}

/// Comparisons write a mask; with a mask of their own, what is masked off is zero.
#[guest_test]
fn comparisons_write_masks() {
    use_avx512();
    let read = |mask: u64| {
        masked!(
            mask,
            "vpcmpgtd k2 {{k1}}, zmm1, zmm0",
            "kmovq rax, k2",
            "vpbroadcastq zmm0, rax",
            "xor eax, eax"
        )
    };
    check_eq!(read(u64::MAX)[..2], [0xFF00, 0][..], "all");
    check_eq!(read(0x0F00)[..2], [0x0F00, 0][..], "masked");
}

/// Compressing and expanding move elements past those that are masked off.
#[guest_test]
fn compress_and_expand() {
    use_avx512();
    let mask = 0b1000_0100_0010_0001;
    check_eq!(masked!(mask, "vpcompressd zmm0 {{k1}}, zmm1")[..6], [0, 5, 10, 15, 7, 7][..], "compress");
    check_eq!(
        masked!(mask, "vpcompressd zmm0 {{k1}} {{z}}, zmm1")[..6],
        [0, 5, 10, 15, 0, 0][..],
        "with zeroing"
    );
    let expanded = masked!(mask, "vpexpandd zmm0 {{k1}}, zmm1");
    check_eq!([0, 5, 10, 15, 1].map(|n: usize| expanded[n]), [0, 1, 2, 3, 7], "expand");
}

/// A memory operand of one element goes to all lanes, and the mask still chooses.
#[guest_test]
fn broadcasts_under_a_mask() {
    use_avx512();
    let sum = masked!(0b11, "push 100", "vpaddd zmm0 {{k1}}, zmm1, dword ptr [rsp]{{1to16}}", "pop rax");
    check_eq!(sum[..3], [100, 101, 7][..]);
}

/// Loads of a register whose lower half lies on a page that is not there.
fn load_across(mask: u64) -> (Option<Raised>, [u32; 16]) {
    let mut out = [1_u32; 16];
    let sevens = [7_u32; 16];
    let raised = faulting!(
        "vmovdqu32 zmm0, [{sevens}]", "kmovq k1, {mask}", "vmovdqu32 zmm0 {{k1}}, [{at}]" ;
        then "vmovdqu32 [{out}], zmm0" ;
        sevens = in(reg) sevens.as_ptr(), mask = in(reg) mask, at = in(reg) PAGE - 32, out = in(reg) out.as_mut_ptr(),
    );
    (raised, out)
}

/// A load does not touch elements that are masked off; of the others the first one that is not there is reported.
#[guest_test]
fn masked_loads_suppress_faults() {
    use_avx512();
    let (raised, kept) = load_across(0xFF00);
    check_eq!(raised, None, "the upper half");
    check_eq!(kept[..8], [7; 8][..], "elements that are masked off");
    let (raised, kept) = load_across(0);
    check_eq!((raised, kept), (None, [7; 16]), "nothing");
    let (raised, kept) = load_across(0xFF08);
    check_eq!(raised.map(|raised| (raised.vector, raised.error)), Some((14, 4)), "element 3");
    check_eq!(kept, [7; 16], "nothing is written");
    let all = faulting!("vmovdqu32 zmm0, [{at}]"; at = in(reg) PAGE - 32,);
    check_eq!(all, Some(Raised::absent(PAGE as u64 - 32, false)), "without a mask");
}

/// The same of stores, which write nothing before they fault.
#[guest_test]
fn masked_stores_suppress_faults() {
    use_avx512();
    let across = |mask: u64| {
        faulting!(
            "kmovq k1, {mask}", "vmovdqu32 zmm1, [{there}]", "vmovdqu32 [{at}] {{k1}}, zmm0",
            "vmovdqu32 [{there}], zmm1";
            mask = in(reg) mask, there = in(reg) PAGE, at = in(reg) PAGE - 32,
        )
    };
    check_eq!(across(0xFF00), None, "the upper half");
    check_eq!(across(0), None, "nothing");
    let raised = across(0xFF01);
    check_eq!(raised.map(|raised| (raised.vector, raised.error)), Some((14, 6)), "element 0");
}

/// Embedded broadcasts, and arithmetic of a memory operand, load what the mask has and nothing else.
#[guest_test]
fn masked_operands_suppress_faults() {
    use_avx512();
    let sum = |mask: u64| {
        faulting!("kmovq k1, {mask}", "vpaddd zmm0 {{k1}}, zmm1, [{at}]";
            mask = in(reg) mask, at = in(reg) PAGE - 32,)
    };
    check_eq!(sum(0xFF00), None, "VPADDD");
    check_eq!(sum(0x0080), Some(Raised::absent(PAGE as u64 - 4, false)), "VPADDD of element 7");
    let broadcast = |mask: u64| {
        faulting!(
            "kmovq k1, {mask}", "vpaddd zmm0 {{k1}}, zmm1, dword ptr [{at}]{{1to16}}";
            mask = in(reg) mask, at = in(reg) PAGE - 32,
        )
    };
    check_eq!(broadcast(0), None, "a broadcast that no element wants");
    check_eq!(broadcast(0x8000), Some(Raised::absent(PAGE as u64 - 32, false)), "a broadcast that one wants");
}

/// VMASKMOVPS and VPMASKMOVD of AVX suppress faults too, by the sign bits of a register.
#[guest_test]
fn maskmov_suppresses_faults() {
    use_avx2();
    let load = |mask: [u32; 8]| {
        let mut out = [1_u32; 8];
        let raised = faulting!(
            "vmovdqu ymm1, [{mask}]", "vpmaskmovd ymm0, ymm1, [{at}]", "vmovdqu [{out}], ymm0";
            mask = in(reg) mask.as_ptr(), at = in(reg) PAGE - 16, out = in(reg) out.as_mut_ptr(),
        );
        (raised, out)
    };
    const ON: u32 = 1 << 31;
    let (raised, loaded) = load([0, 0, 0, 0, ON, ON, ON, ON]);
    check_eq!((raised, &loaded[..4]), (None, &[0; 4][..]), "the upper half: the others become zero");
    check_eq!(load([0, 0, 0, !ON, 0, 0, 0, 0]).0, None, "only the sign counts");
    let (raised, _) = load([0, ON, 0, 0, ON, 0, 0, 0]);
    check_eq!(raised.map(|raised| (raised.vector, raised.error)), Some((14, 4)), "element 1");
}

/// {z} without a mask, and k0 of a gather, are no instructions.
#[guest_test]
fn impossible_masks_are_undefined() {
    use_avx512();
    // VPADDD ZMM0, ZMM0, ZMM0 with EVEX.z and aaa = 0.
    check_eq!(faulting!(".byte 0x62, 0xF1, 0x7D, 0xC8, 0xFE, 0xC0"), Some(Raised::UD), "zeroing by k0");
    // VPGATHERDD ZMM0, [RAX + ZMM1] with aaa = 0.
    check_eq!(
        faulting!(".byte 0x62, 0xF2, 0x7D, 0x48, 0x90, 0x04, 0x08"),
        Some(Raised::UD),
        "a gather by k0"
    );
    // VMOVDQU32 [RAX], ZMM0 with {z}: a store merges.
    check_eq!(
        faulting!(".byte 0x62, 0xF1, 0x7E, 0xC9, 0x7F, 0x00"),
        Some(Raised::UD),
        "a store with zeroing"
    );
}
