//! System calls (numbers: include/uapi/asm-generic/unistd.h), and what there is one of.

use crate::Runner;
use crate::frame::{Frame, SignalInfo};
use core::arch::asm;
use core::ptr::{addr_of, addr_of_mut};

const READ: u64 = 63;
const WRITE: u64 = 64;
const EXIT_GROUP: u64 = 94;
const SIGALTSTACK: u64 = 132;
const RT_SIGACTION: u64 = 134;
const MMAP: u64 = 222;
const MPROTECT: u64 = 226;

/// PROT_READ, PROT_WRITE and PROT_EXEC.
pub(crate) const READABLE: u64 = 1;
pub(crate) const WRITABLE: u64 = 2;
pub(crate) const EXECUTABLE: u64 = 4;
/// MAP_PRIVATE, MAP_FIXED and MAP_ANONYMOUS.
const MAP: u64 = 2 | 0x10 | 0x20;

/// SA_SIGINFO, SA_ONSTACK and SA_NODEFER.
const FLAGS: u64 = 4 | 0x0800_0000 | 0x4000_0000;
/// SIGILL, SIGTRAP, SIGBUS, SIGFPE and SIGSEGV.
const SIGNALS: [u64; 5] = [4, 5, 7, 8, 11];
const STACK_LEN: usize = 1 << 16;

/// The kernel's `struct sigaction`.
#[repr(C)]
struct Action {
    handler: extern "C" fn(i32, &SignalInfo, &mut Frame),
    flags: u64,
    restorer: u64,
    mask: u64,
}

/// `stack_t`.
#[repr(C)]
struct Stack {
    start: *mut u8,
    flags: u64,
    len: usize,
}

static mut RUNNER: core::mem::MaybeUninit<Runner> = core::mem::MaybeUninit::zeroed();
static mut STACK: [u8; STACK_LEN] = [0; STACK_LEN];

/// The only one. Each use ends before the next begins: in the set-up, or in one call of the handler, which does not
/// interrupt itself.
pub(crate) fn runner() -> &'static mut Runner {
    // SAFETY: all zeroes is a valid Runner, and there is one thread whose uses do not overlap (above).
    unsafe { (*addr_of_mut!(RUNNER)).assume_init_mut() }
}

fn call(number: u64, arguments: [u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result: u64;
    // SAFETY: the callers pass addresses of memory that is there for as long as the call takes.
    unsafe {
        asm!("svc #0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            in("x5") f, options(nostack));
    }
    result as i64
}

/// Fills the bytes from standard input; false at its end.
pub(crate) fn read(bytes: &mut [u8]) -> bool {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &mut bytes[done..];
        let got = call(READ, [0, rest.as_mut_ptr() as u64, rest.len() as u64, 0, 0, 0]);
        if got <= 0 {
            return false;
        }
        done += got as usize;
    }
    true
}

/// Writes the bytes to standard output; false if that fails.
pub(crate) fn write(bytes: &[u8]) -> bool {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &bytes[done..];
        let put = call(WRITE, [1, rest.as_ptr() as u64, rest.len() as u64, 0, 0, 0]);
        if put <= 0 {
            return false;
        }
        done += put as usize;
    }
    true
}

pub(crate) fn exit(status: i32) -> ! {
    loop {
        call(EXIT_GROUP, [status as u64, 0, 0, 0, 0, 0]);
    }
}

/// Maps anonymous pages at an address; false if that fails.
pub(crate) fn map(address: u64, len: u64, protection: u64) -> bool {
    call(MMAP, [address, len, protection, MAP, u64::MAX, 0]) == address as i64
}

/// Changes what may be done with pages; false if that fails.
pub(crate) fn protect(address: u64, len: u64, protection: u64) -> bool {
    call(MPROTECT, [address, len, protection, 0, 0, 0]) == 0
}

/// From here on the signals of faults go to the handler, on a stack of its own; false if that fails.
pub(crate) fn handle_signals() -> bool {
    let stack = Stack { start: addr_of_mut!(STACK).cast(), flags: 0, len: STACK_LEN };
    let action = Action { handler: crate::ended, flags: FLAGS, restorer: 0, mask: 0 };
    let alternate = call(SIGALTSTACK, [addr_of!(stack) as u64, 0, 0, 0, 0, 0]) == 0;
    alternate
        && SIGNALS
            .iter()
            .all(|signal| call(RT_SIGACTION, [*signal, addr_of!(action) as u64, 0, 8, 0, 0]) == 0)
}

/// Sets what is not in the frame of a signal: the thread pointer, and no exclusive access is marked.
pub(crate) fn start_case(thread_pointer: u64) {
    // SAFETY: this program does not use the thread pointer.
    unsafe { asm!("msr tpidr_el0, {}", "clrex", in(reg) thread_pointer, options(nomem, nostack)) };
}

pub(crate) fn thread_pointer() -> u64 {
    let value;
    // SAFETY: it reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) value, options(nomem, nostack)) };
    value
}
