//! How fast an engine executes loops of one kind of instruction each: see [`guest_runtime::speed`].
//!
//! With `pmu` on the command line all counters run. The first counts instructions.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

use guest_images_aarch64::pmu::{
    PMCNTENSET, PMCR, PMINTENSET, counter, event, event_type, pmcr, read, write,
};
use guest_runtime::{
    boot, check, counters,
    speed::{self, Counters, Mix},
};

guest_runtime::image!(program_main);

/// What the counters count, as many as there are. The last ones are not announced everywhere, and stay at 0 there.
const EVENTS: [u64; 6] = [
    event::INST_RETIRED,
    event::CPU_CYCLES,
    event::LD_RETIRED,
    event::ST_RETIRED,
    event::BR_RETIRED,
    event::EXC_TAKEN,
];
/// Occurrences until an armed counter overflows.
const PERIOD: u64 = 1 << 31;

/// A loop in assembly: `x0` is memory of 256 KiB, `x1` the iterations. Lines may use every register that a call may.
/// Floating point is the assembler's alone: the compiler does not use it on this target.
macro_rules! assembly {
    ($name:ident: $($line:literal),*) => {
        #[inline(never)]
        fn $name(memory: &mut [u64], iterations: u64) {
            // SAFETY: the loops write to the first pages of the memory only, and to the stack below.
            unsafe {
                asm!(
                    ".arch_extension fp",
                    ".arch_extension simd",
                    ".p2align 4",
                    "2:",
                    $($line,)*
                    "subs x1, x1, #1",
                    "b.ne 2b",
                    inout("x1") iterations => _,
                    in("x0") memory.as_mut_ptr(),
                    clobber_abi("C"),
                );
            }
        }
    };
}

assembly!(load_store:
    "ldr x2, [x0]", "ldr x3, [x0, #8]", "add x2, x2, x3", "str x2, [x0, #16]",
    "and x3, x3, #1023", "add x4, x0, x3, lsl #2", "ldr w5, [x4, #64]", "ldr x6, [x0, #24]", "add x6, x6, x5",
    "str x6, [x0, #24]", "ldrb w7, [x0, #32]", "str w7, [x0, #40]");
assembly!(calls:
    "bl 3f", "bl 4f", "b 5f",
    "3: str x2, [sp, #-16]!", "mov x2, x1", "ldr x2, [sp], #16", "ret",
    "4: add x3, x2, x1", "ret",
    "5:");
assembly!(float:
    "ldr d0, [x0]", "fadd d1, d1, d0", "ldr d5, [x0, #8]", "fmul d1, d1, d5", "fsub d2, d2, d1",
    "str d2, [x0, #16]", "fadd s3, s3, s0", "scvtf d4, w1", "fmul d4, d4, d0");
assembly!(vector:
    "ldr q0, [x0]", "add v1.4s, v1.4s, v0.4s", "eor v2.16b, v2.16b, v1.16b", "rev64 v3.4s, v2.4s",
    "cmeq v4.16b, v3.16b, v0.16b", "umaxv b5, v4.16b", "umov w2, v5.b[0]", "str q2, [x0, #32]");
assembly!(copy:
    "add x2, x0, #8192", "mov x3, x0", "mov x4, #16",
    "3: ldp x5, x6, [x2], #16", "ldp x7, x8, [x2], #16", "stp x5, x6, [x3], #16", "stp x7, x8, [x3], #16",
    "sub x4, x4, #1", "cbnz x4, 3b");

fn workload(name: &str, memory: &mut [u64], iterations: u64) {
    check!(workloads::run(name, memory, iterations), "there is no workload `{name}` for this memory");
}

const MIXES: [Mix; 9] = [
    Mix { name: "alu", iterations: 714_000, run: |m, n| workload("alu", m, n) },
    Mix { name: "load-store", iterations: 714_000, run: load_store },
    Mix { name: "call-return", iterations: 910_000, run: calls },
    Mix { name: "branches", iterations: 851_000, run: |m, n| workload("branches", m, n) },
    Mix { name: "chase-l2", iterations: 1_981_000, run: |m, n| workload("chase-l2", m, n) },
    Mix { name: "mixed", iterations: 789_000, run: |m, n| workload("mixed", m, n) },
    Mix { name: "fp-scalar", iterations: 910_000, run: float },
    Mix { name: "simd-vector", iterations: 1_000_000, run: vector },
    Mix { name: "copy", iterations: 100_000, run: copy },
];

const COUNTERS: Counters = Counters {
    prepare: || {
        for (n, code) in (0..counters()).zip(EVENTS) {
            write(event_type(n), code);
            write(counter(n), PERIOD);
            write(PMINTENSET, 1 << n);
            write(PMCNTENSET, 1 << n);
        }
    },
    start: || {
        write(counter(0), PERIOD);
        write(PMCR, pmcr::E | pmcr::LC);
    },
    stop: || {
        write(PMCR, pmcr::LC);
        read(counter(0)) - PERIOD
    },
};

fn program_main() {
    speed::measure(&MIXES, (boot::flag("pmu") && counters() > 0).then_some(COUNTERS));
}
