//! What runs when an interrupt arrives.

use crate::{
    global::Global,
    machine::{Frame, set_interrupts},
};

/// What runs when a vector arrives. It ends the interrupt at its controller itself.
pub type Handler = fn(&mut Frame);

static HANDLERS: Global<[Option<Handler>; 256]> = Global::new([None; 256]);

/// Registers `handler` for `vector`, on AArch64 an INTID; `None` removes it. A vector without a handler fails the
/// test in which it arrives. Handlers are removed after each test.
pub fn set_handler(vector: u8, handler: Option<Handler>) {
    // SAFETY: the index is in bounds by type; a handler that comes in between reads one aligned
    // pointer, the old one or the new one.
    unsafe { (&raw mut (*HANDLERS.get())[usize::from(vector)]).write_volatile(handler) };
}

/// The handler of `vector`.
pub(crate) fn handler(vector: u8) -> Option<Handler> {
    // SAFETY: as in `set_handler`.
    unsafe { (&raw const (*HANDLERS.get())[usize::from(vector)]).read_volatile() }
}

/// Removes all handlers.
pub(crate) fn reset() {
    (0..=u8::MAX).for_each(|vector| set_handler(vector, None));
}

/// Runs `body` with interrupts let in.
pub fn with_interrupts<R>(body: impl FnOnce() -> R) -> R {
    set_interrupts(true);
    let result = body();
    set_interrupts(false);
    result
}
