//! A guest whose vectors are nowhere: each exception raises the next one before an instruction retires, for ever. An
//! AArch64 CPU does not shut down for that, so the run has to end by its time-out.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

guest_runtime::image!(program);

fn program() {
    guest_runtime::println!("# exceptions without an end");
    // SAFETY: never returns to compiled code. Page 0 is not mapped.
    unsafe { asm!("msr vbar_el1, xzr", "isb", "udf #0", options(noreturn)) };
}
