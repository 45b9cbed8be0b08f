//! What a model of the core knows beyond architectural events: microcode assists, and instructions by cycle.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

use guest_images::{
    counts::check_within,
    msr::{
        event,
        select::{ALWAYS, cmask},
    },
    pmu::{all_fixed, count, count_fixed, fixed, gp, gp_counters, program, window},
};
use guest_runtime::{check, check_eq, cpu, guest_test, skip};

guest_runtime::image!();

const ASSISTS_FP: u64 = 0x02C1;
const UOPS_RETIRED_SLOTS: u64 = 0x02C2;
const ROUNDS: u64 = 1000;
const MXCSR_DEFAULT: u32 = 0x1F80;
/// FTZ and DAZ.
const MXCSR_FLUSHING: u32 = 0x9FC0;

/// Skips the test where the core has no model: there uops are not known by cycle.
fn needs_a_core() {
    if cpu::family_model() == (6, 0x55) {
        skip!("ASSISTS.FP and UOPS_RETIRED.SLOTS have other codes on Skylake");
    }
    // Without one no cycle retires two.
    program(0, UOPS_RETIRED_SLOTS, ALWAYS | cmask(2));
    window(1, || multiply(1.0, 1.0, MXCSR_DEFAULT));
    if gp(0) == 0 {
        skip!("there is no model of the core");
    }
}

/// `ROUNDS` products of the same two factors.
fn multiply(a: f64, b: f64, mxcsr: u32) {
    let default = MXCSR_DEFAULT;
    // SAFETY: touches the named registers only, and leaves MXCSR as the runtime has it.
    unsafe {
        asm!(
            "ldmxcsr [{mxcsr}]",
            "2:",
            "movapd {product}, {a}",
            "mulsd {product}, {b}",
            "dec {n}",
            "jnz 2b",
            "ldmxcsr [{default}]",
            n = inout(reg) ROUNDS => _,
            mxcsr = in(reg) &raw const mxcsr,
            default = in(reg) &raw const default,
            a = in(xmm_reg) a,
            b = in(xmm_reg) b,
            product = out(xmm_reg) _,
        );
    }
}

/// Assists and cycles of products.
fn assists(a: f64, b: f64, mxcsr: u32) -> (u64, u64) {
    count(0, ASSISTS_FP);
    count_fixed(0b010);
    window(1 | all_fixed(), || multiply(a, b, mxcsr));
    (gp(0), fixed(1))
}

/// A subnormal operand or result of a product needs microcode each time, which takes long; not if it is flushed to
/// zero.
#[guest_test(needs(pmu, intel, exact))]
fn subnormal_products_need_assists() {
    needs_a_core();
    let subnormal = f64::MIN_POSITIVE / 4.0;
    let (none, quick) = assists(1.5, 2.5, MXCSR_DEFAULT);
    check_eq!(none, 0, "assists of normal products");
    for (a, b) in [(f64::MIN_POSITIVE, 0.25), (subnormal, 1.5), (2.0, subnormal)] {
        let (each, slow) = assists(a, b, MXCSR_DEFAULT);
        check_eq!(each, ROUNDS, "assists of {a:e} times {b:e}");
        check!(slow > quick + 100 * ROUNDS, "{slow} cycles, and {quick} without assists");
        check_eq!(assists(a, b, MXCSR_FLUSHING).0, 0, "assists of {a:e} times {b:e} with FTZ and DAZ");
    }
}

/// CMASK n counts cycles in which at least n instructions retire: summed over all n, that is every instruction.
#[guest_test(needs(pmu, intel, exact))]
fn instructions_are_known_by_cycle() {
    needs_a_core();
    let counters = gp_counters();
    for n in 0..counters {
        program(n, event::INSTRUCTIONS, ALWAYS | cmask(n as u8 + 1));
    }
    count_fixed(0b001);
    window(((1 << counters) - 1) | all_fixed(), || multiply(1.5, 2.5, MXCSR_DEFAULT));
    let by_cycle: u64 = (0..counters).map(gp).sum();
    check!((1..counters).all(|n| gp(n) <= gp(n - 1)), "more cycles with more instructions");
    check!(gp(1) > ROUNDS / 2, "{} cycles with two instructions", gp(1));
    check_within("instructions by cycle and in all", by_cycle, fixed(0), 64);
}
