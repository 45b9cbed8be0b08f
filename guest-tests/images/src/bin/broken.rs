//! Tests that fail on purpose, each in another way, to show that a failure says where and that the
//! next test is not harmed. Expected: `not ok` for all but the tests called `fine_...`.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::hint::black_box;

use guest_runtime::{Frame, apic, check, check_eq, guest_test, set_handler, spin_until, traps};

guest_runtime::image!();

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
    unsafe { core::arch::asm!("mov byte ptr [{}], 1", in(reg) 0_u64) };
}

/// A division by zero in assembly.
#[guest_test]
fn division_by_zero() {
    // SAFETY: faults before it changes anything.
    unsafe { core::arch::asm!("xor ecx, ecx", "div ecx", out("eax") _, out("ecx") _, out("edx") _) };
}

/// A panic inside an NMI handler.
#[guest_test]
fn panic_in_handler() {
    fn handler(_: &mut Frame) {
        check!(black_box(false), "from the handler");
    }
    set_handler(traps::NMI, Some(handler));
    apic::send_nmi_to_self();
    spin_until(1_000_000_000, || false);
}

/// An unexpected interrupt.
#[guest_test]
fn unexpected_interrupt() {
    apic::send_to_self(0x60);
    guest_runtime::with_interrupts(|| spin_until(1_000_000_000, || false));
}

/// A broken stack pointer.
#[guest_test]
fn broken_stack() {
    // SAFETY: never returns to compiled code: the push faults and the test is abandoned.
    unsafe { core::arch::asm!("mov rsp, 16", "push rax", options(noreturn)) };
}

/// Passes, after all of the above.
#[guest_test]
fn fine_after_all() {
    check_eq!(traps::nmi_count(), 1, "NMIs so far");
}

/// Skipped everywhere but under our own VMM.
#[guest_test(needs(vpmu, exact))]
fn fine_or_skipped() {}
