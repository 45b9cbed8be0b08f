//! Instructions that raise exceptions, with all registers as the exception left them.
//!
//! `guest_runtime::catch` gives the code up and with it the vector registers; here the code goes on behind the
//! instruction.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_runtime::{Frame, set_handler};

/// An exception, as far as tests look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    /// Vector.
    pub vector: u64,
    /// Error code; 0 if there is none.
    pub error: u64,
    /// CR2 of a page fault, else 0.
    pub address: u64,
}

impl Raised {
    /// #UD.
    pub const UD: Self = Self { vector: 6, error: 0, address: 0 };
    /// #NM.
    pub const NM: Self = Self { vector: 7, error: 0, address: 0 };
    /// #GP(0).
    pub const GP0: Self = Self { vector: 13, error: 0, address: 0 };
    /// #XM.
    pub const XM: Self = Self { vector: 19, error: 0, address: 0 };

    /// A page fault of ring 3 on a page that is not present.
    #[must_use]
    pub const fn absent(address: u64, write: bool) -> Self {
        Self { vector: 14, error: 0b100 | (write as u64) << 1, address }
    }
}

/// Where the code goes on; the assembly of [`faulting!`](macro@crate::faulting) stores it.
pub static RESUME: AtomicU64 = AtomicU64::new(0);
static VECTOR: AtomicU64 = AtomicU64::new(NONE);
static ERROR: AtomicU64 = AtomicU64::new(0);
static ADDRESS: AtomicU64 = AtomicU64::new(0);
const NONE: u64 = u64::MAX;
const PAGE_FAULT: u64 = 14;

fn note(frame: &mut Frame) {
    VECTOR.store(frame.vector, Relaxed);
    ERROR.store(frame.error, Relaxed);
    ADDRESS.store(if frame.vector == PAGE_FAULT { frame.cr2 } else { 0 }, Relaxed);
    frame.rip = RESUME.load(Relaxed);
}

/// Exceptions are noted from now on.
pub fn arm() {
    VECTOR.store(NONE, Relaxed);
    for vector in [6, 7, 13, 14, 17, 19] {
        set_handler(vector, Some(note));
    }
}

/// What was raised since [`arm`]; exceptions fail the test again.
pub fn take() -> Option<Raised> {
    for vector in [6, 7, 13, 14, 17, 19] {
        set_handler(vector, None);
    }
    let vector = VECTOR.load(Relaxed);
    (vector != NONE).then(|| Raised { vector, error: ERROR.load(Relaxed), address: ADDRESS.load(Relaxed) })
}

/// Lines of assembly, then `; operands`: what they raised, if anything. The line that raises ends them, unless the
/// registers are to be stored: lines after a second `;` come behind it in any case. Vector registers are clobbered, and
/// those from 16 on and the mask registers are not the compiler's.
#[macro_export]
macro_rules! faulting {
    ($($line:expr),* ; then $($after:expr),* ; $($operand:tt)*) => {{
        $crate::faulting::arm();
        // SAFETY: what the lines change is named by the test, or is vector state that the compiler knows to be lost.
        unsafe {
            ::core::arch::asm!(
                "lea {resume}, [rip + 9f]",
                "mov qword ptr [{slot}], {resume}",
                $($line,)*
                "9:",
                $($after,)*
                resume = out(reg) _,
                slot = in(reg) $crate::faulting::RESUME.as_ptr(),
                $($operand)*
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                out("xmm6") _, out("xmm7") _,
            );
        }
        $crate::faulting::take()
    }};
    ($($line:expr),* ; $($operand:tt)*) => { $crate::faulting!($($line),* ; then ; $($operand)*) };
    ($($line:expr),*) => { $crate::faulting!($($line),* ; then ; ) };
}
