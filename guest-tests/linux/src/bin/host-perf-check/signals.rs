//! Overflow signals.

#![expect(unsafe_code, reason = "system calls, and instructions that the program is about")]

use crate::{AROUND, Checked, ROUNDS};
use host_perf::{Counter, Event, EventSpec, HostPmu};
use linux_guest::checks::{Checks, ensure, spin, text};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc;

static SIGNALS: AtomicU64 = AtomicU64::new(0);
static LAST_FD: AtomicI32 = AtomicI32::new(-1);
static LAST_TID: AtomicI32 = AtomicI32::new(-1);
static LAST_CODE: AtomicI32 = AtomicI32::new(0);

/// `POLL_HUP`: the last overflow of a one-shot.
const POLL_HUP: i32 = 6;

extern "C" fn handler(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the kernel passes a valid siginfo; `si_fd` follows `si_band`, which is a long, behind the three ints
    // and their padding.
    let (code, fd) = unsafe { ((*info).si_code, *info.cast::<i32>().add(6)) };
    LAST_CODE.store(code, Ordering::Relaxed);
    LAST_FD.store(fd, Ordering::Relaxed);
    LAST_TID.store(tid(), Ordering::Relaxed);
}

fn tid() -> i32 {
    // SAFETY: it takes no arguments.
    unsafe { libc::gettid() }
}

fn install(signal: i32) {
    // SAFETY: the handler only touches atomics.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

pub(crate) fn check(host: &HostPmu, checks: &mut Checks) {
    install(libc::SIGRTMIN());
    checks.check("a one-shot signals once", one_shot(host).map_err(text).and_then(|r| r));
    checks.check("every period signals, also after a change", periods(host).map_err(text).and_then(|r| r));
    checks.check(
        "the signal goes to the thread that was named",
        other_thread(host).map_err(text).and_then(|r| r),
    );
}

fn sampling(host: &HostPmu, period: u64) -> Result<Counter, host_perf::HostPerfError> {
    let mut counter = Counter::open(host, EventSpec::new(Event::Instructions).user_only().period(period))?;
    counter.signal_thread(tid(), libc::SIGRTMIN())?;
    SIGNALS.store(0, Ordering::Relaxed);
    Ok(counter)
}

fn one_shot(host: &HostPmu) -> Checked {
    let mut counter = sampling(host, ROUNDS)?;
    counter.arm(ROUNDS)?;
    spin(ROUNDS / 4);
    let early = SIGNALS.load(Ordering::Relaxed);
    spin(2 * ROUNDS);
    let once = SIGNALS.load(Ordering::Relaxed);
    let (code, fd) = (LAST_CODE.load(Ordering::Relaxed), LAST_FD.load(Ordering::Relaxed));
    let fired = counter.fired()?;
    // Again, with another period.
    counter.arm(ROUNDS / 2)?;
    spin(2 * ROUNDS);
    let twice = SIGNALS.load(Ordering::Relaxed);
    let right = [early, once, twice] == [0, 1, 2] && fired && code == POLL_HUP && fd == counter.raw_fd();
    Ok(ensure(
        right,
        format!("{early}, {once}, then {twice} signals; si_code {code}, si_fd {fd} of {}", counter.raw_fd()),
    ))
}

fn periods(host: &HostPmu) -> Checked {
    const PERIOD: u64 = 100_000;
    let mut counter = sampling(host, PERIOD)?;
    counter.enable()?;
    spin(ROUNDS);
    let first = SIGNALS.load(Ordering::Relaxed);
    counter.set_period(PERIOD / 2)?;
    spin(ROUNDS);
    counter.disable()?;
    let second = SIGNALS.load(Ordering::Relaxed) - first;
    let value = counter.read()?.value;
    let expected = [2 * ROUNDS / PERIOD, 2 * ROUNDS / (PERIOD / 2)];
    // The handler's instructions count too.
    let right = first.abs_diff(expected[0]) <= 1
        && second.abs_diff(expected[1]) <= 1
        && (4 * ROUNDS..4 * ROUNDS + 60 * AROUND).contains(&value);
    Ok(ensure(right, format!("{first} and {second} signals in {value} instructions, for {expected:?}")))
}

fn other_thread(host: &HostPmu) -> Checked {
    let (to_main, from_thread) = mpsc::channel();
    let (to_thread, from_main) = mpsc::channel::<()>();
    let waiter = std::thread::spawn(move || {
        let _ = to_main.send(tid());
        let _ = from_main.recv();
    });
    let Ok(other) = from_thread.recv() else { return Ok(Err("the thread died".to_owned())) };
    let mut counter = sampling(host, ROUNDS)?;
    counter.signal_thread(other, libc::SIGRTMIN())?;
    counter.arm(ROUNDS)?;
    spin(2 * ROUNDS);
    drop(to_thread);
    let _ = waiter.join();
    let (signals, receiver) = (SIGNALS.load(Ordering::Relaxed), LAST_TID.load(Ordering::Relaxed));
    let seen = format!("{signals} signal for thread {receiver}; this one is {}, the other {other}", tid());
    Ok(ensure(signals == 1 && receiver == other, seen))
}
