//! Code at EL0.

use core::{arch::asm, mem::ManuallyDrop};

use firmware::firmware_enter_el0;

/// The exception masks of PSTATE, as SPSR_EL1 has them: EL0 with the masks of the caller.
fn masks() -> u64 {
    let daif: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, daif", out(reg) daif, options(nomem, nostack, preserves_flags)) };
    daif
}

/// Runs `body` at EL0, with interrupts let in or kept out as now. Not for code that is at EL0 already.
pub fn at_el0<R>(body: impl FnOnce() -> R) -> R {
    union Slot<F, R> {
        body: ManuallyDrop<F>,
        result: ManuallyDrop<R>,
    }

    extern "C" fn call<F: FnOnce() -> R, R>(data: u64) -> u64 {
        let slot = data as *mut Slot<F, R>;
        // SAFETY: `at_el0` passes a slot that holds the body, and calls this once.
        unsafe {
            let body = ManuallyDrop::take(&mut (*slot).body);
            (*slot).result = ManuallyDrop::new(body());
        }
        0
    }

    fn enter<F: FnOnce() -> R, R>(body: F) -> R {
        let mut slot = Slot::<F, R> { body: ManuallyDrop::new(body) };
        // SAFETY: `call` gets the slot that it expects, in memory that is open to EL0.
        unsafe { firmware_enter_el0(call::<F, R>, (&raw mut slot) as u64, masks()) };
        // SAFETY: `call` returned, so it stored the result.
        ManuallyDrop::into_inner(unsafe { slot.result })
    }
    enter(body)
}
