//! Leaving the guest on time: one signal, one timer, one flag.
//!
//! KVM_RUN returns when a signal arrives, but a signal that arrives just before the ioctl would be
//! handled and forgotten. So the handler also sets `kvm_run.immediate_exit`, which makes the next
//! KVM_RUN return at once. It finds the flag through a thread-local pointer: a signal to one vCPU's
//! thread never disturbs another's.

#![expect(unsafe_code, reason = "timers and signal handlers of the host")]

use super::error::KvmError;
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use libc::{c_int, c_void, siginfo_t, timer_t};
use vmm_sys_util::signal::SIGRTMIN;

/// Distance of our signal from SIGRTMIN: the first few are popular with C libraries and debuggers.
const SIGNAL_OFFSET: c_int = 5;
/// The timer is left alone when it would go off up to this much later than wanted, in ns. A kick
/// takes tens of microseconds to arrive, so re-arming for less costs a system call for nothing.
const SLACK: u64 = 5_000;
/// Nearest time to arm for, in ns from now. A deadline may be nearer, and near again after that: a bound
/// on an overflow, or the guest's own timer. Leaving takes tens of microseconds, so without this a
/// guest would get nowhere.
const NEAREST: u64 = 50_000;

thread_local! {
    /// `immediate_exit` of the vCPU that runs on this thread, or null.
    static FLAG: Cell<*const AtomicU8> = const { Cell::new(ptr::null()) };
}

extern "C" fn on_kick(_signal: c_int, _info: *mut siginfo_t, _context: *mut c_void) {
    // Async-signal-safe: the thread-local has a constant initial value and no destructor, so that access
    // to it neither allocates nor locks.
    let flag = FLAG.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: the pointer is null or points into the `kvm_run` mapping of a vCPU that is alive: `Bound`
    // sets it on the thread that runs the vCPU and takes it away before it gives the vCPU back.
    if let Some(flag) = unsafe { flag.as_ref() } {
        flag.store(1, Ordering::Relaxed);
    }
}

/// The signal that makes a vCPU thread leave the guest. A counts source sends it to that thread on a
/// counter overflow. Valid from the first [`KvmEngine::new`](super::KvmEngine::new) on.
#[must_use]
pub fn kick_signal() -> c_int {
    SIGRTMIN() + SIGNAL_OFFSET
}

/// Installs the handler, once per process. It stays: a signal that is still under way when the last
/// engine goes away would otherwise end the process.
pub(super) fn install_handler() -> Result<(), KvmError> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let result = INSTALLED.get_or_init(|| {
        // SAFETY: all-zero is a valid `sigaction`.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = on_kick as *const () as usize;
        // KVM_RUN and ppoll return EINTR in spite of SA_RESTART; everything else on the thread, such as
        // a write of console output, goes on.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // SAFETY: `action` is initialised and `on_kick` is async-signal-safe.
        match unsafe { libc::sigaction(kick_signal(), &raw const action, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)),
        }
    });
    result.map_err(|errno| KvmError::Setup {
        what: "install the handler of the signal that interrupts the guest",
        source: io::Error::from_raw_os_error(errno),
    })
}

/// Nanoseconds of the host's CLOCK_MONOTONIC.
pub(super) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place for the answer. The call cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Seconds and nanoseconds of a time in ns.
fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000).cast_signed(), tv_nsec: (ns % 1_000_000_000).cast_signed() }
}

/// A vCPU bound to the calling thread for the length of a run: kicks reach it, and its timer ticks.
/// Dropping it undoes both.
#[derive(Debug)]
pub(super) struct Bound {
    flag: *const AtomicU8,
    timer: timer_t,
    /// When the timer goes off, CLOCK_MONOTONIC ns; `u64::MAX` when it does not.
    armed: u64,
    /// Thread-bound.
    not_send: PhantomData<*const ()>,
}

impl Bound {
    /// Binds to the calling thread.
    ///
    /// # Safety
    /// `flag` points to `immediate_exit` of a `kvm_run` mapping that outlives the value.
    ///
    /// # Errors
    /// The system gives no timer.
    pub(super) unsafe fn new(flag: *const AtomicU8) -> Result<Self, KvmError> {
        // SAFETY: all-zero is a valid `sigevent`.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = kick_signal();
        // SAFETY: no arguments, cannot fail.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = ptr::null_mut();
        // SAFETY: both pointers are valid; the signal has a handler.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0 {
            return Err(KvmError::Timer { what: "created", source: io::Error::last_os_error() });
        }
        FLAG.set(flag);
        Ok(Self { flag, timer, armed: u64::MAX, not_send: PhantomData })
    }

    fn flag(&self) -> &AtomicU8 {
        // SAFETY: the promise of `new`.
        unsafe { &*self.flag }
    }

    /// Takes the kick that has come, if one has.
    pub(super) fn take_kick(&mut self) -> bool {
        // A plain load first: the page is shared with the kernel, and this runs on every exit.
        let kicked = self.flag().load(Ordering::Relaxed) != 0 && self.flag().swap(0, Ordering::Relaxed) != 0;
        if kicked {
            // It may have been the timer, later than the caller last looked at the clock.
            self.armed = u64::MAX;
        }
        kicked
    }

    /// Makes sure that the guest is left at `wanted` or not much later; `now` is the current time. Both
    /// in CLOCK_MONOTONIC ns. A timer that goes off earlier is kept: the woken thread computes anew.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn arm(&mut self, now: u64, wanted: u64) -> Result<(), KvmError> {
        if self.armed <= now {
            self.armed = u64::MAX;
        }
        let wanted = wanted.max(now.saturating_add(NEAREST));
        if self.armed <= wanted.saturating_add(SLACK) {
            return Ok(());
        }
        let setting = libc::itimerspec { it_interval: timespec(0), it_value: timespec(wanted) };
        // SAFETY: `timer` is ours and `setting` is valid.
        let result = unsafe {
            libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &raw const setting, ptr::null_mut())
        };
        if result != 0 {
            return Err(KvmError::Timer { what: "armed", source: io::Error::last_os_error() });
        }
        self.armed = wanted;
        Ok(())
    }

    /// Sleeps until `until` (CLOCK_MONOTONIC ns), a kick or another signal.
    pub(super) fn sleep(&self, until: u64) {
        let mut kick = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` initialises the set before the others use it; the mask of this thread is
        // put back below. With the signal blocked a kick cannot slip in between look and sleep: ppoll
        // unblocks it and waits in one step.
        unsafe {
            libc::sigemptyset(kick.as_mut_ptr());
            libc::sigaddset(kick.as_mut_ptr(), kick_signal());
            libc::pthread_sigmask(libc::SIG_BLOCK, kick.as_ptr(), before.as_mut_ptr());
        }
        let now = monotonic_ns();
        if self.flag().load(Ordering::Relaxed) == 0 && until > now {
            let timeout = timespec(until - now);
            // SAFETY: no descriptors; time-out and mask are initialised.
            unsafe { libc::ppoll(ptr::null_mut(), 0, &raw const timeout, before.as_ptr()) };
        }
        // SAFETY: `before` was filled in above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and is not used after this. A signal of it that is pending is delivered
        // to this thread before the call returns, while the flag is still valid.
        unsafe { libc::timer_delete(self.timer) };
        self.flag().store(0, Ordering::Relaxed);
        FLAG.set(ptr::null());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_kicks_its_own_thread_and_no_other() {
        install_handler().unwrap();
        let other = AtomicU8::new(0);
        // SAFETY: `other` outlives `idle`.
        let mut idle = unsafe { Bound::new(&raw const other) }.unwrap();
        let thread = std::thread::spawn(|| {
            let flag = AtomicU8::new(0);
            // SAFETY: `flag` outlives `bound`.
            let mut bound = unsafe { Bound::new(&raw const flag) }.unwrap();
            let now = monotonic_ns();
            bound.arm(now, now + 1_000_000).unwrap();
            while !bound.take_kick() {
                bound.sleep(u64::MAX);
            }
            assert!(monotonic_ns() >= now + 1_000_000);
        });
        thread.join().unwrap();
        assert!(!idle.take_kick());
    }

    #[test]
    fn a_kick_before_the_sleep_is_not_lost() {
        install_handler().unwrap();
        let flag = AtomicU8::new(0);
        // SAFETY: `flag` outlives `bound`.
        let mut bound = unsafe { Bound::new(&raw const flag) }.unwrap();
        // SAFETY: a signal to ourselves, with a handler.
        unsafe { libc::pthread_kill(libc::pthread_self(), kick_signal()) };
        bound.sleep(u64::MAX);
        assert!(bound.take_kick());
        assert!(!bound.take_kick());
    }

    #[test]
    fn a_later_wish_keeps_the_timer_and_an_earlier_one_moves_it() {
        install_handler().unwrap();
        let flag = AtomicU8::new(0);
        // SAFETY: `flag` outlives `bound`.
        let mut bound = unsafe { Bound::new(&raw const flag) }.unwrap();
        let now = monotonic_ns();
        let hour = 3_600_000_000_000;
        bound.arm(now, now + 2 * hour).unwrap();
        bound.arm(now, now + 3 * hour).unwrap();
        assert_eq!(bound.armed, now + 2 * hour);
        bound.arm(now, now + hour).unwrap();
        assert_eq!(bound.armed, now + hour);
        bound.arm(now + hour, now + 3 * hour).unwrap();
        assert_eq!(bound.armed, now + 3 * hour);
    }

    #[test]
    fn a_timer_that_went_off_behind_the_callers_clock_is_set_again() {
        install_handler().unwrap();
        let flag = AtomicU8::new(0);
        // SAFETY: `flag` outlives `bound`.
        let mut bound = unsafe { Bound::new(&raw const flag) }.unwrap();
        let stale = monotonic_ns();
        for _ in 0..3 {
            bound.arm(stale, stale).unwrap();
            while !bound.take_kick() {
                bound.sleep(u64::MAX);
            }
        }
    }

    #[test]
    fn an_impatient_wish_leaves_the_guest_some_time() {
        install_handler().unwrap();
        let flag = AtomicU8::new(0);
        // SAFETY: `flag` outlives `bound`.
        let mut bound = unsafe { Bound::new(&raw const flag) }.unwrap();
        let now = monotonic_ns();
        bound.arm(now, 0).unwrap();
        assert_eq!(bound.armed, now + NEAREST);
    }
}
