//! Prints how many instructions PMUv3 counts over loops of known length, at both exception levels, to be compared with
//! what another machine prints. Nothing faults in them: QEMU counts an instruction that does not retire.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

use guest_images_aarch64::{
    counting::{Level, count, program, run, run_loop},
    pmu::{announces, event, filter},
};
use guest_runtime::{counters, println};

guest_runtime::image!(program_main);

/// Iterations of each loop.
const LENGTHS: [u64; 3] = [1, 1_000, 1_000_000];

/// A loop of these lines, and of a SUBS and a B.NE.
macro_rules! body {
    ($($line:literal),*) => {
        |iterations: u64, memory: &mut [u64; 64]| {
            // SAFETY: the lines use registers that a call may use, and the memory.
            unsafe {
                asm!(
                    "2:", $($line,)* "subs x1, x1, #1", "b.ne 2b",
                    inout("x1") iterations => _, in("x0") memory.as_mut_ptr(), clobber_abi("C"),
                );
            }
        }
    };
}

/// A loop of so many iterations.
type Body = fn(u64, &mut [u64; 64]);

const BODIES: [(&str, Body); 4] = [
    ("add", body!("add x2, x2, x1", "eor x3, x2, x1, lsl #3")),
    ("memory", body!("ldr x2, [x0]", "str x2, [x0, #8]", "ldp x3, x4, [x0, #16]", "stp x3, x4, [x0, #32]")),
    ("branches", body!("tbz x1, #0, 3f", "nop", "3: cbz x1, 4f", "bl 5f", "4: b 6f", "5: ret", "6:")),
    ("system", body!("mrs x2, cntvct_el0", "mrs x3, tpidr_el0", "isb", "dmb ish")),
];

fn program_main() {
    if counters() == 0 || !announces(event::INST_RETIRED) {
        println!("# INST_RETIRED is not counted");
        return;
    }
    let mut memory = [0; 64];
    for (name, body) in BODIES {
        for iterations in LENGTHS {
            program(0, event::INST_RETIRED);
            run(|| body(iterations, &mut memory));
            println!("count {name} x{iterations} {}", count(0));
        }
    }
    for iterations in LENGTHS {
        for (name, bits) in [("both", 0), ("el0", filter::P), ("el1", filter::U)] {
            program(0, event::INST_RETIRED | bits);
            run_loop(Level::User, iterations);
            println!("count loop at EL0, {name}, x{iterations} {}", count(0));
        }
    }
}
