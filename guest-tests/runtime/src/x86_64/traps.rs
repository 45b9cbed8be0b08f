//! Interrupts and exceptions of ring 3.
//!
//! The firmware turns each of them into a call of `guest_runtime_upcall` on the interrupted
//! stack, with all registers saved. Interrupts and NMIs go to the handler of their vector;
//! exceptions too, if there is one, and else end what [`catch`](crate::catch) or the test runner started.
//!
//! A handler runs with the interrupt flag of the code it interrupted. The local APIC keeps lower and
//! equal priorities out until EOI; another NMI can come at any time.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::{Exception, Fault, Frame, apic, calls};
use crate::{
    handlers::{handler, with_interrupts},
    recovery::{self, Failure},
};

/// Vector of the non-maskable interrupt.
pub const NMI: u8 = 2;

static DRAINING: AtomicBool = AtomicBool::new(false);
static NMIS: AtomicU64 = AtomicU64::new(0);

/// Stops everything that interrupts, acknowledges what is in service or pending, and returns the APIC to
/// xAPIC mode. Leaves interrupts off.
pub(crate) fn quiesce() {
    calls::set_interrupts(false);
    apic::stop_timer();
    apic::set_lvtpc(apic::Pmi::Masked);
    // What an abandoned handler left in service.
    (0..apic::in_service_count()).for_each(|_| apic::eoi());
    DRAINING.store(true, Relaxed);
    with_interrupts(|| (0..8).for_each(|_| core::hint::spin_loop()));
    DRAINING.store(false, Relaxed);
    if apic::mode() == apic::Mode::X2Apic {
        let _ = apic::enable(apic::Mode::XApic);
    }
}

/// NMIs that arrived since the image started.
#[must_use]
pub fn nmi_count() -> u64 {
    NMIS.load(Relaxed)
}

unsafe extern "C" {
    static guest_runtime_rdpmc_instruction: u8;
    static guest_runtime_rdpmc_end: u8;
}

#[unsafe(no_mangle)]
extern "C" fn guest_runtime_upcall(frame: &mut Frame) {
    // Vectors are 0 to 255: the firmware pushed a constant.
    let vector = frame.vector as u8;
    let is_interrupt = vector == NMI || vector >= 32;
    if vector == NMI {
        NMIS.fetch_add(1, Relaxed);
    }
    if is_interrupt && DRAINING.load(Relaxed) {
        if vector != NMI {
            apic::eoi();
        }
        return;
    }
    if let Some(handler) = handler(vector) {
        handler(frame);
        return;
    }
    if is_interrupt {
        recovery::throw(Failure::UnexpectedInterrupt { vector: vector.into(), pc: frame.rip });
    }
    let fault =
        Fault { exception: Exception { vector, error: frame.error as u32 }, rip: frame.rip, cr2: frame.cr2 };
    if frame.rip == (&raw const guest_runtime_rdpmc_instruction) as u64 {
        frame.rax = 0;
        frame.rdx = firmware::FAULT_FLAG | u64::from(vector) << 32 | u64::from(fault.exception.error);
        frame.rip = (&raw const guest_runtime_rdpmc_end) as u64;
        return;
    }
    recovery::throw(Failure::Fault(fault));
}
