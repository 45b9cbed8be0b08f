//! A timer that interrupts KVM_RUN, so that a case that loops on the CPU only is found.

#![expect(unsafe_code, reason = "a timer of the host and its signal")]

use std::io;
use std::sync::Once;

/// Seconds between two signals.
const PERIOD: i64 = 2;

extern "C" fn ignore(_signal: libc::c_int) {}

/// Lets SIGALRM interrupt system calls every two seconds, from now on.
///
/// # Errors
/// Those of sigaction and setitimer.
pub(crate) fn start() -> io::Result<()> {
    static START: Once = Once::new();
    let mut result = Ok(());
    START.call_once(|| result = arm());
    result
}

fn arm() -> io::Result<()> {
    // SAFETY: all-zero is a valid sigaction: no flags (system calls are not restarted), empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing, which is safe at any point.
    if unsafe { libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let period = libc::timeval { tv_sec: PERIOD, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: period, it_value: period };
    // SAFETY: the timer is a valid structure on the stack.
    if unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
