//! Giving up on code that failed, without unwinding: a recovery point and a jump back to it.

use core::{fmt, mem::ManuallyDrop, panic::Location};

use crate::{global::Global, machine::Fault, println, text::Text};

/// Why code was given up.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and a failure must not allocate")]
pub enum Failure {
    /// A check failed or the code panicked.
    Message {
        /// What it said, cut at the size of the text.
        text: Text<512>,
        /// Source file.
        file: Text<128>,
        /// Line in it.
        line: u32,
    },
    /// The test found that it makes no sense here, and says why.
    Skip(Text<128>),
    /// An exception without a handler.
    Fault(Fault),
    /// An interrupt or NMI without a handler.
    UnexpectedInterrupt {
        /// Its vector, on AArch64 its INTID.
        vector: u32,
        /// Instruction at which it arrived.
        pc: u64,
    },
}

impl Failure {
    /// A message with the place in the source that it is about.
    #[must_use]
    pub fn message(arguments: fmt::Arguments<'_>, location: &Location<'_>) -> Self {
        Self::Message {
            text: Text::format(arguments),
            file: Text::format(format_args!("{}", location.file())),
            line: location.line(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message { text, .. } => f.write_str(text.as_str()),
            Self::Skip(reason) => f.write_str(reason.as_str()),
            Self::Fault(fault) => write!(f, "{fault}"),
            Self::UnexpectedInterrupt { vector, pc } => {
                write!(f, "vector {vector} arrived and has no handler, at {pc:#x}")
            }
        }
    }
}

unsafe extern "C" {
    fn guest_runtime_try(function: unsafe extern "C" fn(*mut u8), data: *mut u8) -> u64;
    fn guest_runtime_throw() -> !;
    static guest_runtime_recovery: u64;
}

static LAST: Global<Option<Failure>> = Global::new(None);

/// Runs `body`. If it fails, its frames are dropped without running destructors.
///
/// # Errors
/// Why `body` was given up.
#[expect(clippy::result_large_err, reason = "a failure must not allocate")]
pub(crate) fn run<F: FnOnce() -> R, R>(body: F) -> Result<R, Failure> {
    union Slot<F, R> {
        body: ManuallyDrop<F>,
        result: ManuallyDrop<R>,
    }

    unsafe extern "C" fn call<F: FnOnce() -> R, R>(data: *mut u8) {
        let slot = data.cast::<Slot<F, R>>();
        // SAFETY: `run` passes a slot that holds the body, and calls this once.
        unsafe {
            let body = ManuallyDrop::take(&mut (*slot).body);
            (*slot).result = ManuallyDrop::new(body());
        }
    }

    let mut slot = Slot::<F, R> { body: ManuallyDrop::new(body) };
    // SAFETY: `call` gets the slot it expects. The assembly returns once, with callee-saved
    // registers as they were, whether `call` returned or was abandoned.
    let abandoned = unsafe { guest_runtime_try(call::<F, R>, (&raw mut slot).cast()) } != 0;
    if abandoned {
        // SAFETY: `throw` has stored the failure and its code is gone; nothing else refers to it.
        let failure = unsafe { (*LAST.get()).take() };
        return Err(
            failure.unwrap_or_else(|| Failure::message(format_args!("unknown failure"), Location::caller()))
        );
    }
    // SAFETY: `call` returned, so it stored the result.
    Ok(ManuallyDrop::into_inner(unsafe { slot.result }))
}

/// Runs `body` and reports the exception that ends it, if one does. What `body` owned then is
/// leaked. A failed check or a panic in `body` still fails the test.
///
/// # Errors
/// The exception that ended `body`.
pub fn catch<R>(body: impl FnOnce() -> R) -> Result<R, Fault> {
    run(body).map_err(|failure| match failure {
        Failure::Fault(fault) => fault,
        other => throw(other),
    })
}

/// Gives up everything since the innermost [`run`]. Outside of any, the image itself is broken.
pub(crate) fn throw(failure: Failure) -> ! {
    // SAFETY: a plain read of the word that only the assembly writes.
    if unsafe { (&raw const guest_runtime_recovery).read_volatile() } == 0 {
        println!("Bail out! {failure}");
        crate::exit(guest_protocol::exit::BROKEN);
    }
    // SAFETY: `run` only looks at it after the jump; there is a recovery point to jump to.
    unsafe {
        *LAST.get() = Some(failure);
        guest_runtime_throw()
    }
}

/// Fails the current test; the function behind `check!`.
#[cold]
#[track_caller]
pub fn fail(arguments: fmt::Arguments<'_>) -> ! {
    throw(Failure::message(arguments, Location::caller()))
}

/// Ends the current test as skipped; the function behind `skip!`.
#[cold]
pub fn skip(arguments: fmt::Arguments<'_>) -> ! {
    throw(Failure::Skip(Text::format(arguments)))
}
