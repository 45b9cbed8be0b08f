//! Interrupts and exceptions of ring 3.
//!
//! The firmware turns each of them into a call of `guest_runtime_upcall` on the interrupted
//! stack, with all registers saved. Interrupts and NMIs go to the handler of their vector;
//! exceptions too, if there is one, and else end what [`catch`] or the test runner started.
//!
//! A handler runs with the interrupt flag of the code it interrupted. The local APIC keeps lower and
//! equal priorities out until EOI; another NMI can come at any time.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::{
    apic,
    calls::{self, Exception, Fault},
    global::Global,
    recovery::{self, Failure},
};

/// The interrupted code's registers; a handler may change them. Layout: `runtime.S` and the
/// firmware's `traps.S`.
#[derive(Debug, Clone)]
#[repr(C)]
#[allow(missing_docs)] // the names of the registers say it
pub struct Frame {
    pub r15: u64,
    pub r14: u64,
    pub r13: u64,
    pub r12: u64,
    pub r11: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rdi: u64,
    pub rsi: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub rdx: u64,
    pub rcx: u64,
    pub rax: u64,
    /// What arrived: 2 = NMI, up to 31 an exception, else an interrupt.
    pub vector: u64,
    /// Error code; 0 if the vector has none.
    pub error: u64,
    /// CR2 at that time: the faulting address if this is a page fault.
    pub cr2: u64,
    /// Where it goes on. For an event that came in ring 0 this is the end of the call.
    pub rip: u64,
    cs: u64,
    pub rflags: u64,
    pub rsp: u64,
    ss: u64,
}

/// What runs when a vector arrives. It does its own EOI.
pub type Handler = fn(&mut Frame);

/// Vector of the non-maskable interrupt.
pub const NMI: u8 = 2;

static HANDLERS: Global<[Option<Handler>; 256]> = Global::new([None; 256]);
static DRAINING: AtomicBool = AtomicBool::new(false);
static NMIS: AtomicU64 = AtomicU64::new(0);

/// Registers `handler` for `vector`; `None` removes it. A vector without a handler fails the test
/// in which it arrives. Handlers are removed after each test.
pub fn set_handler(vector: u8, handler: Option<Handler>) {
    // SAFETY: the index is in bounds by type; a handler that comes in between reads one aligned
    // pointer, the old one or the new one.
    unsafe { (&raw mut (*HANDLERS.get())[usize::from(vector)]).write_volatile(handler) };
}

fn handler(vector: u8) -> Option<Handler> {
    // SAFETY: as in `set_handler`.
    unsafe { (&raw const (*HANDLERS.get())[usize::from(vector)]).read_volatile() }
}

/// Removes all handlers.
pub(crate) fn reset_handlers() {
    (0..=u8::MAX).for_each(|vector| set_handler(vector, None));
}

/// Stops everything that interrupts, acknowledges what is in service or pending, and returns the APIC to
/// xAPIC mode. Leaves interrupts off.
pub(crate) fn quiesce() {
    calls::set_interrupts(false);
    apic::stop_timer();
    apic::set_lvtpc(apic::Pmi::Masked);
    // What an abandoned handler left in service.
    (0..apic::in_service_count()).for_each(|_| apic::eoi());
    DRAINING.store(true, Relaxed);
    calls::with_interrupts(|| (0..8).for_each(|_| core::hint::spin_loop()));
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

/// Runs `body` and reports the exception that ends it, if one does. What `body` owned then is
/// leaked. A failed check or a panic in `body` still fails the test.
///
/// # Errors
/// The exception that ended `body`.
pub fn catch<R>(body: impl FnOnce() -> R) -> Result<R, Fault> {
    recovery::run(body).map_err(|failure| match failure {
        Failure::Fault(fault) => fault,
        other => recovery::throw(other),
    })
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
        recovery::throw(Failure::UnexpectedInterrupt { vector, rip: frame.rip });
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
