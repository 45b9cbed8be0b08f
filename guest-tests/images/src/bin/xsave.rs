//! State of AVX and AVX-512: what XCR0 allows, and what XSAVE and its relatives do with components 2 and 5 to 7 (SDM
//! volume 1, chapters 13 and 14).
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

use guest_images::{
    faulting,
    faulting::Raised,
    vector::{reaches_ring_3, use_avx2, use_avx512},
};
use guest_runtime::{
    CALL_WRITE_CR0, CR0_TS, Exception, check, check_eq, cpuid, guest_test, has,
    protocol::Needs,
    read_cr0, set_osxsave, skip,
    vector::{self, AVX, AVX512, SSE},
    xrstors, xsaves, xsetbv,
};

guest_runtime::image!();

/// Every component that these tests know.
const ALL: u64 = SSE | AVX | AVX512;
/// XCOMP_BV: the compacted format.
const COMPACTED: u64 = 1 << 63;
/// Components: one that hosts may have where guests do not, and one that no CPU defines (62 is AMD's lightweight
/// profiling).
const PKRU: u32 = 9;
const UNDEFINED: u32 = 61;
/// Where MXCSR is, and the header, and its end.
const MXCSR: usize = 24;
const HEADER: usize = 512;
const LEGACY_AND_HEADER: usize = 576;
/// Words of an area for all of it.
const WORDS: usize = 4096 / 8;

/// An XSAVE area.
#[repr(C, align(64))]
struct Area([u64; WORDS]);

impl Area {
    /// Filled, so that what is not written shows; with an empty header.
    fn new(fill: u64) -> Self {
        let mut area = Self([fill; WORDS]);
        area.0[HEADER / 8..LEGACY_AND_HEADER / 8].fill(0);
        // The standard format restores MXCSR even if no component is there.
        area.0[MXCSR / 8] = 0x1F80;
        area
    }

    fn xstate_bv(&self) -> u64 {
        self.0[HEADER / 8]
    }

    fn xcomp_bv(&self) -> u64 {
        self.0[HEADER / 8 + 1]
    }

    fn word(&self, offset: usize) -> u64 {
        self.0[offset / 8]
    }

    fn pointer(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Defines a function that saves or restores an area.
macro_rules! instruction {
    ($name:ident: $text:literal) => {
        /// The instruction of this name on the components in `mask`: what it raised.
        fn $name(area: &mut Area, mask: u64) -> Option<Raised> {
            faulting!(
                $text;
                area = in(reg) area.pointer(), in("eax") mask as u32, in("edx") (mask >> 32) as u32,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _,
                out("xmm14") _, out("xmm15") _,
            )
        }
    };
}
instruction!(xsave: "xsave64 [{area}]");
instruction!(xsaveopt: "xsaveopt64 [{area}]");
instruction!(xsavec: "xsavec64 [{area}]");
instruction!(xrstor: "xrstor64 [{area}]");

/// CPUID.0DH.1:EAX.
fn has_xsaveopt() -> bool {
    cpuid(0xD, 1).eax & 1 != 0
}

fn has_xsavec() -> bool {
    cpuid(0xD, 1).eax & 1 << 1 != 0
}

fn has_xgetbv_1() -> bool {
    cpuid(0xD, 1).eax & 1 << 2 != 0
}

fn has_xsaves() -> bool {
    cpuid(0xD, 1).eax & 1 << 3 != 0
}

/// Size and offset of a component in the standard format.
fn place(component: u32) -> (usize, usize) {
    let leaf = cpuid(0xD, component);
    (leaf.eax as usize, leaf.ebx as usize)
}

/// A KVM that answers CPUID in part from the CPU itself offers components which leaf 0DH, as the profile has it, does
/// not describe.
fn is_described() -> bool {
    let offered = vector::offered();
    has(Needs::EXACT) || (5..=7).all(|component| offered >> component & 1 == 0 || place(component).0 > 0)
}

/// Any word of a component in the standard format: the first.
fn offset(component: u32) -> usize {
    place(component).1
}

/// Puts everything that XCR0 has, but x87, to where RESET leaves it.
fn initialise() {
    let mut area = Area::new(0);
    check_eq!(xrstor(&mut area, ALL & !1), None);
}

fn use_xsave() {
    if vector::offered() == 0 {
        skip!("there is no XSAVE");
    }
    if let Err(exception) = set_osxsave(true) {
        skip!("this machine does not set CR4.OSXSAVE: {exception:?}");
    }
}

/// XSETBV refuses what would leave a state half there, and what CPUID does not offer.
#[guest_test]
fn xcr0_refuses_inconsistent_values() {
    use_xsave();
    if let Err(exception) = vector::enable(0) {
        skip!("this machine does not execute XSETBV: {exception:?}");
    }
    let offered = vector::offered();
    for value in
        [0, 0b10, 0b101, 0b100, SSE | 1 << 5, SSE | AVX | 1 << 5, SSE | AVX | 0b110 << 5, SSE | AVX512]
    {
        check_eq!(xsetbv(value), Err(Exception::GP0), "XCR0 = {value:#x}");
    }
    for bit in (0..64).filter(|bit| offered >> bit & 1 == 0) {
        check_eq!(xsetbv(SSE | 1 << bit), Err(Exception::GP0), "XCR0 with bit {bit}, which is not offered");
    }
    reaches_ring_3(vector::xcr0() == SSE, "XCR0");
    check_eq!(vector::xcr0(), SSE);
    for components in [0, AVX, AVX | AVX512] {
        if components & !offered == 0 {
            check_eq!(vector::enable(components), Ok(()));
            check_eq!(vector::xcr0(), SSE | components);
        }
    }
}

/// Without CR4.OSXSAVE there is neither XGETBV nor XSAVE, and no AVX whatever XCR0 says; CPUID shows the bit.
#[guest_test]
fn without_osxsave_there_is_no_xsave() {
    use_avx2();
    let shown = || cpuid(1, 0).ecx >> 27 & 1;
    check_eq!(shown(), 1, "OSXSAVE in CPUID");
    check_eq!(set_osxsave(false), Ok(()));
    check_eq!(shown(), 0, "OSXSAVE in CPUID");
    let raised = faulting!("xgetbv"; in("ecx") 0, out("eax") _, out("edx") _,);
    reaches_ring_3(raised.is_some(), "CR4.OSXSAVE");
    check_eq!(raised, Some(Raised::UD), "XGETBV");
    check_eq!(xsave(&mut Area::new(0), ALL), Some(Raised::UD), "XSAVE");
    check_eq!(faulting!("vpxor xmm0, xmm0, xmm0"), Some(Raised::UD), "VPXOR");
    check_eq!(xsetbv(SSE), Err(Exception { vector: 6, error: 0 }), "XSETBV");
    check_eq!(faulting!("pxor xmm0, xmm0"), None, "PXOR");
    check_eq!(set_osxsave(true), Ok(()));
    check_eq!(vector::xcr0(), SSE | AVX, "XCR0 is what it was");
}

/// XSETBV is for ring 0.
#[guest_test]
fn xsetbv_is_privileged() {
    use_avx2();
    let raised = faulting!("xsetbv"; in("ecx") 0, in("eax") 7, in("edx") 0,);
    check_eq!(raised, Some(Raised::GP0));
}

/// Each encoding needs its components in XCR0; without them it is no instruction.
#[guest_test]
fn encodings_need_their_components() {
    use_avx2();
    let vex = || faulting!("vaddps ymm0, ymm0, ymm0");
    let gather = || faulting!("vpxor xmm2, xmm2, xmm2", "vpgatherdd xmm0, [rax + xmm1], xmm2"; in("rax") 0,);
    check_eq!((vex(), gather()), (None, None), "with AVX");
    check_eq!(vector::enable(0), Ok(()));
    reaches_ring_3(vector::xcr0() == SSE, "XCR0");
    check_eq!((vex(), gather()), (Some(Raised::UD), Some(Raised::UD)), "without AVX");
    // Of general-purpose registers.
    check_eq!(faulting!("andn eax, eax, eax"; out("eax") _,), None, "ANDN");
    check_eq!(vector::enable(AVX), Ok(()));
    check_eq!(faulting!("vaddps xmm16, xmm0, xmm0"), Some(Raised::UD), "EVEX without its state");
    check_eq!(faulting!("kxorw k1, k1, k1"), Some(Raised::UD), "mask registers without their state");
    if vector::has_avx512() && vector::enable(AVX | AVX512).is_ok() {
        check_eq!(faulting!("vaddps xmm16, xmm0, xmm0"), None, "EVEX");
        check_eq!(faulting!("kxorw k1, k1, k1"), None, "mask registers");
    }
}

/// CR0.TS: #NM of vector instructions and of XSAVE, but not of what has a VEX prefix for general-purpose registers.
#[guest_test]
fn task_switched_raises_nm() {
    use_avx2();
    let cr0 = read_cr0() | CR0_TS;
    // CR0 is written right before the instruction: the compiler's own ones would raise #NM too.
    let nm = |raised: Option<Raised>, what: &str| {
        if what == "VADDPS" {
            reaches_ring_3(raised.is_some(), "CR0.TS");
        }
        check_eq!(raised, Some(Raised::NM), "{what}");
    };
    let first = faulting!(
        "int3", "vaddps ymm0, ymm0, ymm0";
        inout("eax") CALL_WRITE_CR0 => _, in("rsi") cr0, out("rdx") _,
    );
    nm(first, "VADDPS");
    check_eq!(faulting!("vaddps ymm0, ymm0, ymm0"), None, "VADDPS, when TS is clear again");
    let mut passed = 0_u64;
    let raised = faulting!(
        "int3", "andn eax, eax, eax", "mov {passed:e}, 1", "vaddps ymm0, ymm0, ymm0";
        inout("eax") CALL_WRITE_CR0 => _, in("rsi") cr0, out("rdx") _, passed = inout(reg) passed,
    );
    nm(raised, "VADDPS after ANDN");
    check_eq!(passed, 1, "ANDN raises nothing");
    let mut area = Area::new(0);
    let raised = faulting!(
        "int3", "mov eax, 3", "xsave64 [{area}]";
        inout("eax") CALL_WRITE_CR0 => _, in("rsi") cr0, inout("rdx") 0_u64 => _, area = in(reg) area.pointer(),
    );
    nm(raised, "XSAVE");
}

/// CPUID leaf 0DH: sizes follow XCR0, and components lie behind each other.
#[guest_test]
fn leaf_13_follows_xcr0() {
    use_xsave();
    if vector::enable(0).is_err() {
        skip!("this machine does not execute XSETBV");
    }
    if !is_described() {
        skip!("the host's KVM offers AVX-512, which the profile has not");
    }
    check_eq!(cpuid(0xD, 0).ebx, 576, "x87 and SSE");
    let offered = vector::offered();
    check_eq!(place(2).0, if offered & AVX != 0 { 256 } else { 0 }, "size of AVX' component");
    let mut end = LEGACY_AND_HEADER;
    for (component, size) in [(2, 256), (5, 64), (6, 512), (7, 1024)] {
        if offered >> component & 1 == 0 {
            check_eq!(place(component), (0, 0), "component {component}");
            continue;
        }
        let (found, at) = place(component);
        check_eq!(found, size, "size of component {component}");
        check!(at >= end, "component {component} at {at}, before {end}");
        check_eq!(cpuid(0xD, component).ecx & 1, 0, "component {component} is the user's");
        end = at + size;
    }
    for components in [AVX, AVX | AVX512] {
        if components & !offered == 0 {
            check_eq!(vector::enable(components), Ok(()));
            let last = if components & AVX512 != 0 { 7 } else { 2 };
            let (size, at) = place(last);
            check_eq!(cpuid(0xD, 0).ebx as usize, at + size, "size for XCR0");
        }
    }
    check!(cpuid(0xD, 0).ecx >= cpuid(0xD, 0).ebx, "size of all");
}

/// Ones in YMM0 and in YMM7, whole.
fn fill_ymm() {
    // SAFETY: touches the named registers only; it is the caller's affair to look at them in assembly.
    unsafe { asm!("vpcmpeqd ymm0, ymm0, ymm0", "vmovdqa ymm7, ymm0", out("xmm0") _, out("xmm7") _) };
}

/// XSAVE puts the upper halves of YMM registers where CPUID says, and XRSTOR brings them back.
#[guest_test]
fn xsave_keeps_ymm_registers() {
    use_avx2();
    let mut area = Area::new(0x5A5A);
    initialise();
    fill_ymm();
    check_eq!(xsave(&mut area, AVX | SSE), None);
    check_eq!(area.xstate_bv() & AVX, AVX, "AVX in use");
    check_eq!(area.xcomp_bv(), 0, "standard format");
    let at = offset(2);
    check_eq!((area.word(at), area.word(at + 8)), (u64::MAX, u64::MAX), "upper half of YMM0");
    check_eq!((area.word(at + 16), area.word(at + 24)), (0, 0), "upper half of YMM1");
    check_eq!(
        (area.word(at + 7 * 16), area.word(at + 7 * 16 + 8)),
        (u64::MAX, u64::MAX),
        "upper half of YMM7"
    );
    initialise();
    let mut out = [1_u64; 4];
    let raised = faulting!(
        "xrstor64 [{area}]", "vmovdqu [{out}], ymm7";
        area = in(reg) area.pointer(), out = in(reg) out.as_mut_ptr(), in("eax") 7, in("edx") 0,
        out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _,
        out("xmm14") _, out("xmm15") _,
    );
    check_eq!((raised, out), (None, [u64::MAX; 4]), "YMM7 again");
}

/// XRSTOR of a component that the area does not have initialises it; one that is not asked for stays.
#[guest_test]
fn xrstor_initialises_what_is_not_there() {
    use_avx2();
    let mut area = Area::new(0);
    let mut out = [1_u64; 4];
    for (mask, expected) in [(0b100, [u64::MAX, u64::MAX, 0, 0]), (0b010, [0, 0, u64::MAX, u64::MAX])] {
        fill_ymm();
        let raised = faulting!(
            "vpcmpeqd ymm7, ymm7, ymm7", "xrstor64 [{area}]", "vmovdqu [{out}], ymm7";
            area = in(reg) area.pointer(), out = in(reg) out.as_mut_ptr(), in("eax") mask, in("edx") 0,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _,
            out("xmm14") _, out("xmm15") _,
        );
        check_eq!((raised, out), (None, expected), "components {mask:#b}");
    }
}

/// The initialisation optimisation: XSAVEOPT and XSAVEC do not write what is as after RESET, and XGETBV says what is
/// not.
#[guest_test]
fn what_is_initial_is_not_written() {
    use_avx2();
    let at = offset(2);
    initialise();
    if has_xgetbv_1() {
        check_eq!(xinuse() & AVX, 0, "XINUSE");
    }
    let mut area = Area::new(0x5A5A);
    check_eq!(xsave(&mut area, AVX), None);
    check_eq!((area.xstate_bv(), area.word(at)), (0, 0), "XSAVE writes it all the same");
    if has_xsaveopt() {
        let mut area = Area::new(0x5A5A);
        check_eq!(xsaveopt(&mut area, AVX), None);
        check_eq!((area.xstate_bv(), area.word(at)), (0, 0x5A5A), "XSAVEOPT");
    }
    if has_xsavec() {
        let mut area = Area::new(0x5A5A);
        check_eq!(xsavec(&mut area, AVX), None);
        let header = (area.xstate_bv(), area.xcomp_bv());
        check_eq!((header, area.word(LEGACY_AND_HEADER)), ((0, COMPACTED | AVX), 0x5A5A), "XSAVEC");
    }
    fill_ymm();
    if has_xgetbv_1() {
        check_eq!(xinuse() & AVX, AVX, "XINUSE after a write");
    }
}

/// XCR0 AND XINUSE.
fn xinuse() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a register; CPUID has it.
    unsafe { asm!("xgetbv", in("ecx") 1, out("eax") low, out("edx") high, options(nomem, nostack)) };
    u64::from(high) << 32 | u64::from(low)
}

/// XSAVE keeps the bits of XSTATE_BV that it was not asked about.
#[guest_test]
fn xsave_leaves_other_components_alone() {
    use_avx2();
    let mut area = Area::new(0x5A5A);
    area.0[HEADER / 8] = AVX | 1;
    check_eq!(xsave(&mut area, 0b10), None);
    check_eq!(area.xstate_bv() & !0b10, AVX | 1, "XSTATE_BV");
    check_eq!(area.word(offset(2)), 0x5A5A, "the component");
}

/// Areas are aligned to 64 bytes, and headers are what a save writes.
#[guest_test]
fn malformed_areas_are_refused() {
    use_avx2();
    let mut area = Area::new(0);
    let odd = area.pointer().wrapping_add(16);
    let raised = faulting!("xsave64 [{area}]"; area = in(reg) odd, in("eax") 7, in("edx") 0,);
    check_eq!(raised, Some(Raised::GP0), "XSAVE to an address that is not aligned");
    area.0[HEADER / 8] = 1 << UNDEFINED;
    check_eq!(xrstor(&mut area, 7), Some(Raised::GP0), "XSTATE_BV beyond XCR0");
    area.0[HEADER / 8] = 0;
    area.0[HEADER / 8 + 1] = AVX;
    check_eq!(xrstor(&mut area, 7), Some(Raised::GP0), "XCOMP_BV without its bit 63");
    area.0[HEADER / 8 + 1] = 0;
    area.0[HEADER / 8 + 2] = 1;
    check_eq!(xrstor(&mut area, 7), Some(Raised::GP0), "a reserved byte of the header");
    if has_xsavec() {
        area.0[HEADER / 8 + 2] = 0;
        area.0[HEADER / 8 + 1] = COMPACTED | SSE;
        area.0[HEADER / 8] = AVX;
        check_eq!(xrstor(&mut area, 7), Some(Raised::GP0), "XSTATE_BV beyond XCOMP_BV");
        area.0[HEADER / 8 + 1] = COMPACTED | 1 << UNDEFINED;
        area.0[HEADER / 8] = 0;
        check_eq!(xrstor(&mut area, 7), Some(Raised::GP0), "XCOMP_BV beyond XCR0");
    }
}

/// A component that CPUs have, but which XCR0 leaves out, is refused like one that no CPU has.
#[guest_test]
fn components_outside_xcr0_are_refused() {
    use_avx2();
    let mut area = Area::new(0);
    area.0[HEADER / 8] = 1 << PKRU;
    let raised = xrstor(&mut area, 7);
    reaches_ring_3(raised.is_some(), "XCR0");
    check_eq!(raised, Some(Raised::GP0), "XSTATE_BV");
    if has_xsavec() {
        area.0[HEADER / 8 + 1] = COMPACTED | 1 << PKRU;
        area.0[HEADER / 8] = 0;
        check_eq!(xrstor(&mut area, 7), Some(Raised::GP0), "XCOMP_BV");
    }
}

/// A pattern in ZMM0, ZMM31 and k3.
fn fill_zmm() {
    // SAFETY: touches the named registers only; the compiler uses none from 16 on, and no mask registers.
    unsafe {
        asm!(
            "vpternlogd zmm31, zmm31, zmm31, 0xFF", "vmovdqa64 zmm0, zmm31", "kxnorw k3, k3, k3",
            out("xmm0") _,
        );
    }
}

/// Components 5 to 7 in the standard format.
#[guest_test]
fn xsave_keeps_masks_and_zmm_registers() {
    use_avx512();
    if !is_described() {
        skip!("the host's KVM offers AVX-512, which the profile has not");
    }
    initialise();
    let mut area = Area::new(0x5A5A);
    check_eq!(xsave(&mut area, ALL), None);
    check_eq!(area.xstate_bv() & AVX512, 0, "nothing of AVX-512 in use");
    fill_zmm();
    check_eq!(xsave(&mut area, ALL), None);
    check_eq!(area.xstate_bv() & (AVX512 | AVX), AVX512 | AVX, "everything in use");
    let (masks, high, upper) = (offset(5), offset(6), offset(7));
    check_eq!((area.word(masks), area.word(masks + 24)), (0, 0xFFFF), "k0 and k3");
    check_eq!(
        (area.word(high), area.word(high + 24), area.word(high + 32)),
        (u64::MAX, u64::MAX, 0),
        "ZMM0, ZMM1"
    );
    let last = upper + 15 * 64;
    check_eq!(
        (area.word(upper), area.word(last), area.word(last + 56)),
        (0, u64::MAX, u64::MAX),
        "ZMM16, ZMM31"
    );
    initialise();
    let mut out = [1_u64; 9];
    let raised = faulting!(
        "xrstor64 [{area}]", "vmovdqu64 [{out}], zmm31", "kmovq [{out} + 64], k3";
        area = in(reg) area.pointer(), out = in(reg) out.as_mut_ptr(), in("eax") ALL as u32, in("edx") 0,
        out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _,
        out("xmm14") _, out("xmm15") _,
    );
    check_eq!((raised, out), (None, [!0, !0, !0, !0, !0, !0, !0, !0, 0xFFFF]), "ZMM31 and k3 again");
}

/// The compacted format has the components that were asked for, one behind the other, whatever XCR0 has beside them.
#[guest_test]
fn compaction_closes_gaps() {
    use_avx512();
    if !has_xsavec() {
        skip!("there is no XSAVEC");
    }
    initialise();
    fill_zmm();
    let mut area = Area::new(0x5A5A);
    let asked = AVX | 1 << 6;
    check_eq!(xsavec(&mut area, asked), None);
    check_eq!((area.xstate_bv(), area.xcomp_bv()), (asked, COMPACTED | asked), "header");
    check_eq!((area.word(576), area.word(592)), (u64::MAX, 0), "upper halves of YMM0 and YMM1");
    check_eq!(
        (area.word(576 + 256), area.word(576 + 256 + 32)),
        (u64::MAX, 0),
        "upper halves of ZMM0 and ZMM1"
    );
    check_eq!(area.word(576 + 256 + 512), 0x5A5A, "behind the last component");
    initialise();
    let mut out = [1_u64; 8];
    let raised = faulting!(
        "xrstor64 [{area}]", "vmovdqu64 [{out}], zmm0";
        area = in(reg) area.pointer(), out = in(reg) out.as_mut_ptr(), in("eax") asked as u32, in("edx") 0,
        out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _,
        out("xmm14") _, out("xmm15") _,
    );
    check_eq!((raised, out), (None, [0, 0, !0, !0, !0, !0, !0, !0]), "ZMM0 but for its SSE state");
}

/// XSAVES in ring 0 writes the compacted format, and XRSTORS takes no other.
#[guest_test]
fn xsaves_is_compacted() {
    use_avx2();
    if !has_xsaves() {
        skip!("there is no XSAVES");
    }
    let mut area = Area::new(0x5A5A);
    fill_ymm();
    // SAFETY: the area is large enough for every component.
    if let Err(exception) = unsafe { xsaves(area.pointer(), AVX as u32) } {
        skip!("this machine does not execute XSAVES: {exception:?}");
    }
    check_eq!((area.xstate_bv(), area.xcomp_bv()), (AVX, COMPACTED | AVX), "header");
    check_eq!(area.word(576), u64::MAX, "upper half of YMM0");
    // SAFETY: XSAVES has written the area; nothing here keeps a value in a vector register.
    let restored = unsafe { xrstors(area.pointer(), AVX as u32) };
    check_eq!(restored, Ok(()), "XRSTORS");
    area.0[HEADER / 8 + 1] = 0;
    // SAFETY: as before.
    let restored = unsafe { xrstors(area.pointer(), AVX as u32) };
    check_eq!(restored, Err(Exception::GP0), "XRSTORS of the standard format");
    let raised = faulting!("xsaves64 [{area}]"; area = in(reg) area.pointer(), in("eax") 4, in("edx") 0,);
    check_eq!(raised, Some(Raised::GP0), "XSAVES in ring 3");
}

/// Legacy SSE keeps the bits above 127, every VEX and EVEX encoding clears those that it does not write.
#[guest_test]
fn upper_halves_are_kept_or_cleared() {
    use_avx2();
    let mut out = [1_u64; 12];
    let raised = faulting!(
        "vpcmpeqd ymm0, ymm0, ymm0", "vmovdqa ymm1, ymm0", "vmovdqa ymm2, ymm0",
        "pxor xmm0, xmm0", "vpxor xmm1, xmm1, xmm1", "movd xmm2, {zero:e}",
        "vmovdqu [{out}], ymm0", "vmovdqu [{out} + 32], ymm1", "vmovdqu [{out} + 64], ymm2";
        zero = in(reg) 0_u64, out = in(reg) out.as_mut_ptr(),
    );
    check_eq!(raised, None);
    check_eq!(out[..4], [0, 0, !0, !0][..], "PXOR");
    check_eq!(out[4..8], [0; 4][..], "VPXOR of XMM registers");
    check_eq!(out[8..], [0, 0, !0, !0][..], "MOVD");
    if vector::has_avx512() && vector::enable(AVX | AVX512).is_ok() {
        let mut out = [1_u64; 24];
        let raised = faulting!(
            "vpternlogd zmm0, zmm0, zmm0, 0xFF", "vmovdqa64 zmm1, zmm0", "vmovdqa64 zmm2, zmm0",
            "paddq xmm0, xmm0", "vpaddq ymm1, ymm1, ymm1", "vaddss xmm2, xmm2, xmm2",
            "vmovdqu64 [{out}], zmm0", "vmovdqu64 [{out} + 64], zmm1", "vmovdqu64 [{out} + 128], zmm2";
            out = in(reg) out.as_mut_ptr(),
        );
        check_eq!(raised, None);
        check_eq!(out[..8], [!1, !1, !0, !0, !0, !0, !0, !0][..], "PADDQ");
        check_eq!(out[8..16], [!1, !1, !1, !1, 0, 0, 0, 0][..], "VPADDQ of YMM registers");
        check_eq!(out[18..], [0; 6][..], "VADDSS");
    }
}

/// VZEROUPPER clears bits from 128 on of the first sixteen registers, VZEROALL all of them; neither touches the others.
#[guest_test]
fn vzeroupper_and_vzeroall() {
    use_avx512();
    let mut out = [1_u64; 24];
    let raised = faulting!(
        "vpternlogd zmm16, zmm16, zmm16, 0xFF", "vmovdqa64 zmm0, zmm16", "vzeroupper",
        "vmovdqu64 [{out}], zmm0", "vmovdqu64 [{out} + 64], zmm16", "vzeroall", "vmovdqu64 [{out} + 128], zmm0";
        out = in(reg) out.as_mut_ptr(),
        out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _,
        out("xmm14") _, out("xmm15") _,
    );
    check_eq!(raised, None);
    check_eq!(out[..8], [!0, !0, 0, 0, 0, 0, 0, 0][..], "ZMM0 after VZEROUPPER");
    check_eq!(out[8..16], [!0; 8][..], "ZMM16");
    check_eq!(out[16..], [0; 8][..], "ZMM0 after VZEROALL");
}
