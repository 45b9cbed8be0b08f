//! Interrupts and exceptions.
//!
//! Interrupts go to the handler of their INTID. Synchronous exceptions end what [`catch`](crate::catch) or the
//! runner started, unless a test has a handler for them.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use firmware::{FAULT_FLAG, SVC_LEAVE_EL0, left_el0, registers};

use super::{Exception, Fault, Frame, gic};
use crate::{
    global::Global,
    handlers::{Handler, handler},
    recovery::{self, Failure},
};

/// Immediate of the SVC by which code of either level gives up; see `runtime.S`.
pub(super) const SVC_THROW: u32 = 0xE11;
/// EL1 with its own stack pointer (SPSR_EL1.M).
const EL1H: u64 = 5;
/// The four exception masks of SPSR_EL1.
const MASKS: u64 = 0x3C0;
/// Vectors of the current and of lower levels come in groups of four.
const KINDS: u64 = 4;
const KIND_SYNCHRONOUS: u64 = 0;
const KIND_IRQ: u64 = 1;

static SYNCHRONOUS: Global<Option<Handler>> = Global::new(None);
static EXCEPTIONS: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    fn guest_runtime_thrown();
}

/// Registers what runs at synchronous exceptions, but for the accesses of [`registers`](super::registers); `None`
/// removes it. It is removed after each test.
pub fn set_synchronous_handler(handler: Option<Handler>) {
    // SAFETY: an exception in between reads one aligned pointer, the old one or the new one.
    unsafe { SYNCHRONOUS.get().write_volatile(handler) };
}

/// Exceptions and interrupts since the image started.
#[must_use]
pub fn exceptions() -> u64 {
    EXCEPTIONS.load(Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn guest_exception(frame: &mut Frame) {
    EXCEPTIONS.fetch_add(1, Relaxed);
    match frame.vector % KINDS {
        KIND_SYNCHRONOUS => synchronous(frame),
        KIND_IRQ => interrupt(frame),
        _ => recovery::throw(Failure::Fault(fault(frame))),
    }
}

fn fault(frame: &Frame) -> Fault {
    let exception = Exception { syndrome: frame.syndrome as u32 };
    Fault { exception, pc: frame.pc, address: frame.address, level: frame.level() }
}

fn synchronous(frame: &mut Frame) {
    let fault = fault(frame);
    let call = (fault.exception.class() == Exception::CLASS_SVC).then(|| fault.exception.specific());
    if call == Some(SVC_THROW) {
        frame.pc = guest_runtime_thrown as *const () as u64;
        frame.pstate = EL1H | MASKS;
    } else if call == Some(SVC_LEAVE_EL0) && fault.level == 0 {
        frame.pc = left_el0();
        frame.pstate = EL1H | frame.pstate & MASKS;
    } else if registers().contains(&frame.pc) {
        frame.x[1] = FAULT_FLAG | u64::from(fault.exception.syndrome);
        frame.pc += 4;
    // SAFETY: as in `set_synchronous_handler`.
    } else if let Some(handler) = unsafe { SYNCHRONOUS.get().read_volatile() } {
        handler(frame);
    } else {
        recovery::throw(Failure::Fault(fault));
    }
}

fn interrupt(frame: &mut Frame) {
    let Some(intid) = gic::acknowledge() else { return };
    frame.vector = u64::from(intid);
    match u8::try_from(intid).ok().and_then(handler) {
        Some(handler) => handler(frame),
        None => {
            gic::disable(intid);
            gic::end(intid);
            recovery::throw(Failure::UnexpectedInterrupt { vector: intid, pc: frame.pc });
        }
    }
}
