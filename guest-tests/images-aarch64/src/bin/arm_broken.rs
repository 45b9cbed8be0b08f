//! Tests that fail on purpose, each in another way, to show that a failure says where and that the next test is not
//! harmed. Expected: `not ok` for all but the tests called `fine_...`.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::{
    arch::asm,
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use guest_runtime::{
    Frame, at_el0, check, check_eq, gic, guest_test, set_handler, spin_until, with_interrupts,
};

guest_runtime::image!();

/// Iterations that end a test whose interrupt does not come.
const PATIENCE: u64 = 1 << 24;

static ARRIVALS: AtomicU64 = AtomicU64::new(0);

/// A check that does not hold.
#[guest_test]
fn failing_check() {
    check!(black_box(1) == 2);
}

/// A comparison that does not hold.
#[guest_test]
fn failing_comparison() {
    check_eq!(black_box(255_u64), 0x1FF, "the answer");
}

/// The same at EL0.
#[guest_test]
fn failing_at_el0() {
    at_el0(|| check!(black_box(1) == 2));
}

/// A panic of the language itself.
#[guest_test]
fn index_out_of_bounds() {
    let values = [1, 2, 3];
    black_box(values[black_box(7)]);
}

/// A null dereference.
#[guest_test]
fn null_dereference() {
    // SAFETY: none; page 0 is not mapped, so this faults.
    unsafe { asm!("strb wzr, [{}]", in(reg) 0_u64) };
}

/// An instruction that no CPU has.
#[guest_test]
fn undefined_instruction() {
    // SAFETY: UDF faults and changes nothing.
    unsafe { asm!("udf #1") };
}

/// A panic inside an interrupt handler.
#[guest_test]
fn panic_in_handler() {
    fn handler(frame: &mut Frame) {
        ARRIVALS.fetch_add(1, Relaxed);
        gic::end(frame.vector as u32);
        check!(black_box(false), "from the handler");
    }
    set_handler(1, Some(handler));
    gic::enable(1);
    gic::send_to_self(1);
    with_interrupts(|| spin_until(PATIENCE, || false));
}

/// An unexpected interrupt.
#[guest_test]
fn unexpected_interrupt() {
    gic::enable(2);
    gic::send_to_self(2);
    with_interrupts(|| spin_until(PATIENCE, || false));
}

/// A broken stack pointer.
#[guest_test]
fn broken_stack() {
    // SAFETY: never returns to compiled code: the store faults and the test is abandoned.
    unsafe { asm!("mov sp, {}", "str x0, [sp, #-16]!", in(reg) 32_u64, options(noreturn)) };
}

/// Passes, after all of the above.
#[guest_test]
fn fine_after_all() {
    check_eq!(ARRIVALS.load(Relaxed), 1, "interrupts that had a handler");
}

/// Skipped everywhere but under our own VMM.
#[guest_test(needs(vpmu, exact))]
fn fine_or_skipped() {}
