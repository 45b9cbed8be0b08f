//! Floating-point operations of AVX to AVX-512: AMD's merged counters beyond 15 a cycle, Intel's FP_ARITH events by
//! width.
//!
//! `additions=N` on the command line sets how many VADDPS the long loops execute, a multiple of eight.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

use guest_images::{
    amd::{INSTRUCTIONS, MERGE, count, ctl, ctr, enable_globally, flops},
    msr::select::ALWAYS,
    pmu::{count as program, gp, gp_counters, window, write},
    vector::{use_avx2, use_avx512},
};
use guest_runtime::{boot, check, check_eq, guest_test, println};

guest_runtime::image!();

/// VADDPS of a long loop, unless the command line says more.
const ADDITIONS: u64 = 800_000;
/// Lanes of one.
const LANES: u64 = 8;
/// AMD's event of core cycles.
const CYCLES: u64 = 0x76;
/// Most that one counter adds in a cycle.
const ONE_COUNTER: u64 = 15;

fn additions() -> u64 {
    let chosen = boot::option("additions").and_then(|text| text.parse::<u64>().ok());
    chosen.unwrap_or(ADDITIONS).next_multiple_of(8).max(8)
}

/// One addition of eight lanes, DEC and JNZ, so often: three instructions each.
fn add_one_by_one(iterations: u64) {
    // SAFETY: touches the named registers only.
    unsafe {
        asm!(
            "vxorps xmm0, xmm0, xmm0", "vxorps xmm1, xmm1, xmm1",
            ".p2align 5",
            "2:", "vaddps ymm1, ymm0, ymm0", "dec {n}", "jnz 2b",
            "vzeroupper",
            n = inout(reg) iterations => _, out("xmm0") _, out("xmm1") _,
        );
    }
}

/// Eight independent additions of eight lanes, DEC and JNZ.
fn add_by_eight(iterations: u64) {
    // SAFETY: touches the named registers only.
    unsafe {
        asm!(
            "vxorps xmm0, xmm0, xmm0",
            ".p2align 5",
            "2:",
            "vaddps ymm1, ymm0, ymm0", "vaddps ymm2, ymm0, ymm0", "vaddps ymm3, ymm0, ymm0", "vaddps ymm4, ymm0, ymm0",
            "vaddps ymm5, ymm0, ymm0", "vaddps ymm6, ymm0, ymm0", "vaddps ymm7, ymm0, ymm0", "vaddps ymm8, ymm0, ymm0",
            "dec {n}",
            "jnz 2b",
            "vzeroupper",
            n = inout(reg) iterations => _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
            out("xmm6") _, out("xmm7") _, out("xmm8") _,
        );
    }
}

/// What AMD's counters say of a loop.
struct Counted {
    /// Operations, by counters 0 and 1 as a pair.
    merged: u64,
    /// Operations, by counter 2 alone.
    alone: u64,
    instructions: u64,
    cycles: u64,
}

/// Runs a loop under counters 0 to 4.
#[track_caller]
fn counted(body: impl FnOnce()) -> Counted {
    let controls = [(0, flops()), (2, flops()), (3, INSTRUCTIONS), (4, CYCLES)];
    enable_globally();
    write(ctl(1), MERGE);
    for (n, event) in controls {
        write(ctr(n), 0);
        write(ctl(n), event | ALWAYS);
    }
    body();
    controls.iter().for_each(|(n, _)| write(ctl(*n), 0));
    Counted { merged: count(0), alone: count(2), instructions: count(3), cycles: count(4) }
}

impl Counted {
    fn print(&self, name: &str) {
        let &Self { merged, alone, instructions, cycles } = self;
        // Hundredths, without floating-point arithmetic.
        let each = merged * 100 / cycles.max(1);
        let (whole, part) = (each / 100, each % 100);
        println!(
            "# {name}: {merged} FLOPs by a merged pair, {alone} by one counter; {instructions} instructions, \
             {cycles} cycles, {whole}.{part:02} FLOPs a cycle"
        );
    }
}

/// The loop of Linux' change for Large Increment per Cycle: eight FLOPs an addition, three instructions.
#[guest_test(needs(amd, exact))]
fn each_vaddps_of_ymm_is_eight_flops() {
    use_avx2();
    let additions = additions();
    let counted = counted(|| add_one_by_one(additions));
    counted.print("one addition an iteration");
    check_eq!(counted.merged, LANES * additions, "the pair");
    let instructions = 3 * additions;
    check!(
        (instructions..instructions + 1000).contains(&counted.instructions),
        "{} instructions, not {instructions} and those of the ring transitions",
        counted.instructions
    );
}

/// Two additions of a YMM register a cycle are 16 FLOPs: a pair counts all, one counter stops at 15.
#[guest_test(needs(amd, exact))]
fn one_counter_stops_at_15_flops_a_cycle() {
    use_avx2();
    let additions = additions();
    let counted = counted(|| add_by_eight(additions / 8));
    counted.print("eight additions an iteration");
    check_eq!(counted.merged, LANES * additions, "the pair");
    if counted.merged <= ONE_COUNTER * counted.cycles {
        // Without a model of the core no cycle retires two instructions.
        check_eq!(counted.alone, counted.merged, "one counter");
        return;
    }
    let Counted { alone, cycles, .. } = counted;
    check!(alone <= ONE_COUNTER * cycles, "one counter: {alone} in {cycles} cycles");
    check!(alone > ONE_COUNTER * cycles * 9 / 10, "one counter: {alone} in {cycles} cycles");
}

/// Fused operations count two for each lane, at every width; other additions and products one.
#[guest_test(needs(amd, exact))]
fn a_fused_operation_is_two_flops_a_lane() {
    use_avx2();
    let body = || {
        // SAFETY: touches the named registers only.
        unsafe {
            asm!(
                "vxorps xmm0, xmm0, xmm0",
                "vfmadd231ps ymm0, ymm0, ymm0", "vfmadd231pd ymm0, ymm0, ymm0", "vfnmsub132ps xmm0, xmm0, xmm0",
                "vfmadd231ss xmm0, xmm0, xmm0", "vfmaddsub213pd ymm0, ymm0, ymm0",
                "vmulpd ymm0, ymm0, ymm0", "vsubps ymm0, ymm0, ymm0", "vhaddps ymm0, ymm0, ymm0",
                "vsqrtpd ymm0, ymm0", "vdivps ymm0, ymm0, ymm0", "vandps ymm0, ymm0, ymm0", "vpaddd ymm0, ymm0, ymm0",
                "vzeroupper",
                out("xmm0") _,
            );
        }
    };
    check_eq!(counted(body).merged, 2 * (8 + 4 + 4 + 1 + 4) + 4 + 8 + 8 + 4 + 8);
}

/// Registers of 512 bits have sixteen lanes in single precision.
#[guest_test(needs(amd, exact))]
fn flops_of_zmm_registers() {
    use_avx512();
    let body = || {
        // SAFETY: touches the named registers only.
        unsafe {
            asm!(
                "vxorps xmm0, xmm0, xmm0",
                "vaddps zmm0, zmm0, zmm0", "vmulpd zmm0, zmm0, zmm0", "vfmadd231ps zmm0, zmm0, zmm0",
                "vzeroupper",
                out("xmm0") _,
            );
        }
    };
    check_eq!(counted(body).merged, 16 + 8 + 32);
}

/// Zen 4 and Zen 5's events of retired operations, by unit mask and event: those that both types have, and how often
/// they count in [`operations_by_type`].
const OPERATIONS: [(&str, u64, u64); 24] = [
    ("fp_ops_retired_by_width.x87_uops_retired", 0x0108, 2),
    ("fp_ops_retired_by_width.mmx_uops_retired", 0x0208, 3),
    ("fp_ops_retired_by_width.scalar_uops_retired", 0x0408, 4),
    ("fp_ops_retired_by_width.pack_128_uops_retired", 0x0808, 7),
    ("fp_ops_retired_by_width.pack_256_uops_retired", 0x1008, 7),
    ("fp_ops_retired_by_width.pack_512_uops_retired", 0x2008, 3),
    ("fp_ops_retired_by_width.all", 0x3F08, 26),
    ("fp_ops_retired_by_type.scalar_add", 0x010A, 1),
    ("fp_ops_retired_by_type.scalar_mac", 0x040A, 1),
    ("fp_ops_retired_by_type.scalar_all", 0x0F0A, 4),
    ("fp_ops_retired_by_type.vector_add", 0x100A, 2),
    ("fp_ops_retired_by_type.vector_mac", 0x400A, 1),
    ("fp_ops_retired_by_type.vector_cvt", 0x800A, 1),
    ("fp_ops_retired_by_type.vector_all", 0xF00A, 8),
    ("scalar and vector additions", 0x110A, 3),
    ("sse_avx_ops_retired.mmx_all", 0x0F0B, 3),
    ("sse_avx_ops_retired.sse_avx_aes", 0x500B, 1),
    ("sse_avx_ops_retired.sse_avx_logical", 0xD00B, 2),
    ("sse_avx_ops_retired.all", 0xFF0B, 12),
    ("fp_pack_ops_retired.fp128_all", 0x0F0C, 3),
    ("fp_pack_ops_retired.fp256_all", 0xF00C, 3),
    ("packed_int_op_type.int128_all", 0x0F0D, 4),
    ("packed_int_op_type.int256_cmp", 0x700D, 1),
    ("packed_int_op_type.all", 0xFF0D, 8),
];

/// Instructions of all files, widths and most types, and two without an operation.
fn operations_by_type() {
    // SAFETY: touches the named registers and a local; the x87 stack is as before.
    unsafe {
        asm!(
            "fldz", "fstp st(0)",
            "pxor mm0, mm0", "paddd mm0, mm0", "emms",
            // One element: 4.
            "addsd xmm0, xmm0", "vfmadd231ss xmm0, xmm0, xmm0", "comiss xmm0, xmm0", "cvtsi2sd xmm0, {n}",
            // 128 bits of floating point: 3; of integers: 4.
            "addps xmm0, xmm0", "xorps xmm0, xmm0", "haddps xmm0, xmm0",
            "paddd xmm0, xmm0", "aesenc xmm0, xmm0", "pxor xmm0, xmm0", "movd xmm0, {n:e}",
            // 256 bits: 3 and 4.
            "vaddpd ymm0, ymm0, ymm0", "vcvtdq2ps ymm0, ymm0", "vblendps ymm0, ymm0, ymm0, 1",
            "vpcmpeqb ymm0, ymm0, ymm0", "vpslld ymm0, ymm0, 1", "vpmaddwd ymm0, ymm0, ymm0",
            "vpshufb ymm0, ymm0, ymm0",
            // 512 bits: 2 and 1.
            "vfmadd231pd zmm0, zmm0, zmm0", "vsqrtps zmm0, zmm0", "vpternlogd zmm0, zmm0, zmm0, 0",
            "vzeroupper", "nop",
            n = in(reg) 1_u64, out("xmm0") _,
        );
    }
}

/// Each operation has a width and a type; what is not asked for does not count.
#[guest_test(needs(amd, exact))]
fn operations_of_zen_4_by_width_and_type() {
    use_avx512();
    enable_globally();
    for chunk in OPERATIONS.chunks(6) {
        for (n, (_, event, _)) in (0..).zip(chunk) {
            write(ctr(n), 0);
            write(ctl(n), event | ALWAYS);
        }
        operations_by_type();
        (0..).zip(chunk).for_each(|(n, _)| write(ctl(n), 0));
        for (n, (name, _, expected)) in (0..).zip(chunk) {
            check_eq!(count(n), *expected, "{name}");
        }
    }
}

/// FP_ARITH_INST_RETIRED: the unit masks of scalar and packed instructions, in double and in single precision.
const FP_ARITH: [(&str, u64); 8] = [
    ("SCALAR_DOUBLE", 0x01C7),
    ("SCALAR_SINGLE", 0x02C7),
    ("128B_PACKED_DOUBLE", 0x04C7),
    ("128B_PACKED_SINGLE", 0x08C7),
    ("256B_PACKED_DOUBLE", 0x10C7),
    ("256B_PACKED_SINGLE", 0x20C7),
    ("512B_PACKED_DOUBLE", 0x40C7),
    ("512B_PACKED_SINGLE", 0x80C7),
];

/// Fails the test unless FP_ARITH's events count as often as `expected` says while `body` runs; as many at a time as
/// there are counters.
#[track_caller]
fn check_fp_arith(expected: [u64; 8], body: impl Fn()) {
    let counters = gp_counters().min(4);
    for (chunk, of) in FP_ARITH.chunks(counters as usize).zip(expected.chunks(counters as usize)) {
        for (n, (_, code)) in (0..).zip(chunk) {
            program(n, *code);
        }
        window((1 << counters) - 1, &body);
        for ((n, (name, _)), expected) in (0..).zip(chunk).zip(of) {
            check_eq!(gp(n), *expected, "FP_ARITH_INST_RETIRED.{name}");
        }
    }
}

/// Each width has its event; a fused operation counts twice, moves and integers not at all.
#[guest_test(needs(pmu, intel, exact))]
fn fp_arith_by_width_of_avx() {
    use_avx2();
    check_fp_arith([1 + 2, 1, 1 + 2, 2, 1 + 2 + 2, 1 + 2 + 1, 0, 0], || {
        // SAFETY: touches the named registers only.
        unsafe {
            asm!(
                "vxorps xmm0, xmm0, xmm0",
                "vaddsd xmm0, xmm0, xmm0", "vfmadd231sd xmm0, xmm0, xmm0", "vmulss xmm0, xmm0, xmm0",
                "vaddpd xmm0, xmm0, xmm0", "vfmadd132pd xmm0, xmm0, xmm0", "vfnmadd132ps xmm0, xmm0, xmm0",
                "vmulpd ymm0, ymm0, ymm0", "vfmsub213pd ymm0, ymm0, ymm0", "vfmaddsub231pd ymm0, ymm0, ymm0",
                "vsubps ymm0, ymm0, ymm0", "vfmadd231ps ymm0, ymm0, ymm0", "vdivps ymm0, ymm0, ymm0",
                "vmovaps ymm1, ymm0", "vandps ymm0, ymm0, ymm1", "vpaddd ymm0, ymm0, ymm1",
                "vzeroupper",
                out("xmm0") _, out("xmm1") _,
            );
        }
    });
}

/// The same of EVEX encodings of every width.
#[guest_test(needs(pmu, intel, exact))]
fn fp_arith_by_width_of_avx512() {
    use_avx512();
    check_fp_arith([0, 2, 1, 0, 1, 2, 1 + 2, 1 + 2], || {
        // SAFETY: touches the named registers only; XMM16 and above are not the compiler's.
        unsafe {
            asm!(
                "vpxorq xmm16, xmm16, xmm16",
                "vfmadd231ss xmm16, xmm16, xmm16",
                "vaddpd xmm16, xmm16, xmm16",
                "vmulpd ymm16, ymm16, ymm16",
                "vfmadd231ps ymm16, ymm16, ymm16",
                "vaddpd zmm16, zmm16, zmm16",
                "vfmadd231pd zmm16, zmm16, zmm16",
                "vsqrtps zmm16, zmm16",
                "vfnmsub213ps zmm16, zmm16, zmm16",
                "vmovaps zmm17, zmm16",
                "vpaddd zmm16, zmm16, zmm17",
            );
        }
    });
}
