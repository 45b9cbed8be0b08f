//! The start-up checks of rr, which needs a count of retired conditional branches that is exact and an interrupt that
//! comes at once.

#![expect(unsafe_code, reason = "system calls, and instructions that the program is about")]

use linux_guest::checks::{Checks, ensure};
use perf_event_open_sys::bindings::{PERF_TYPE_RAW, perf_event_attr};
use perf_event_open_sys::perf_event_open;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// What rr asks for on a CPU.
pub(crate) struct Ticks {
    /// Retired conditional branches, user mode, enabled, interrupt.
    event: u64,
    /// Whether it asks with [`IN_TXCP`] too.
    transactions: bool,
    /// An event that has to stay at 0: retired locked instructions that were speculated (SpecLockMap), which would
    /// make the count of branches wrong.
    never: Option<u64>,
}

/// From Ice Lake on.
pub(crate) const ICE_LAKE: Ticks = Ticks { event: 0x51_11C4, transactions: true, never: None };
/// All Zen cores.
pub(crate) const ZEN: Ticks = Ticks { event: 0x51_00D1, transactions: false, never: Some(0x51_0825) };

/// Only outside transactions: IN_TXCP.
const IN_TXCP: u64 = 1 << 33;
const BRANCHES: u64 = 500;
const ENABLE: u64 = 0x2400;
const DISABLE: u64 = 0x2401;
const PERIOD: u64 = 0x4008_2404;

fn open(config: u64, period: u64) -> io::Result<OwnedFd> {
    let mut attr = perf_event_attr {
        type_: PERF_TYPE_RAW,
        size: size_of::<perf_event_attr>() as u32,
        config,
        ..Default::default()
    };
    attr.sample_period = period;
    attr.set_disabled(1);
    attr.set_exclude_kernel(1);
    attr.set_exclude_guest(1);
    // SAFETY: the attribute is valid; the call opens a descriptor with no other owner.
    unsafe {
        let fd = perf_event_open(&raw mut attr, 0, -1, -1, 0);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Counts the branches of a loop between two system calls, with no other branch between them.
fn branches(fd: &OwnedFd) -> Result<u64, String> {
    // SAFETY: the ioctls take no pointer; RCX and R11 are what SYSCALL destroys.
    unsafe {
        std::arch::asm!(
            "syscall",
            "2:",
            "dec {rounds}",
            "jnz 2b",
            "mov eax, {ioctl}",
            "mov esi, {disable}",
            "syscall",
            rounds = inout(reg) BRANCHES => _,
            ioctl = const libc::SYS_ioctl,
            disable = const DISABLE,
            inout("rax") libc::SYS_ioctl => _,
            in("rdi") fd.as_raw_fd(),
            inout("rsi") ENABLE => _,
            in("rdx") 0,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    value(fd)
}

fn value(fd: &OwnedFd) -> Result<u64, String> {
    let mut value = 0_u64;
    // SAFETY: it writes 8 bytes.
    let read = unsafe { libc::read(fd.as_raw_fd(), (&raw mut value).cast(), 8) };
    if read == 8 { Ok(value) } else { Err(format!("read: {}", io::Error::last_os_error())) }
}

pub(crate) fn check(ticks: &Ticks, checks: &mut Checks) {
    let event = ticks.event;
    checks.check("500 branches count 500", counted(event, 0));
    checks.check("also when the interrupt comes before the last", counted(event, BRANCHES - 1));
    checks.check("the same number every time", repeated(event));
    checks.check("a period of 1 makes the descriptor readable", period_of_one(event));
    if ticks.transactions {
        let result = match open(event | IN_TXCP, 0) {
            Ok(fd) => branches(&fd).and_then(|n| ensure(n == BRANCHES, n.to_string())),
            Err(error) => Ok(format!("refused, as without transactions: {error}")),
        };
        checks.check("counting outside transactions only", result);
    }
    if let Some(never) = ticks.never {
        checks.check("locked instructions are not speculated", locked(never));
    }
}

/// Counts over a locked instruction.
fn locked(event: u64) -> Result<String, String> {
    let fd = open(event, 0).map_err(|e| e.to_string())?;
    // SAFETY: the ioctls take no pointer.
    unsafe { libc::ioctl(fd.as_raw_fd(), ENABLE, 0) };
    AtomicU64::new(0).fetch_add(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { libc::ioctl(fd.as_raw_fd(), DISABLE, 0) };
    let value = value(&fd)?;
    ensure(value == 0, value.to_string())
}

fn counted(event: u64, period: u64) -> Result<String, String> {
    let fd = open(event, period).map_err(|e| e.to_string())?;
    let count = branches(&fd)?;
    ensure(count == BRANCHES, count.to_string())
}

fn repeated(event: u64) -> Result<String, String> {
    let fd = open(event, 0).map_err(|e| e.to_string())?;
    let mut total = 0;
    for round in 1..=100 {
        total = branches(&fd)?;
        if total != round * BRANCHES {
            return Err(format!("{total} after {round} times"));
        }
    }
    Ok(total.to_string())
}

fn period_of_one(event: u64) -> Result<String, String> {
    let fd = open(event, 0xFFFF_FFFF).map_err(|e| e.to_string())?;
    let mut period = 1_u64;
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointers are valid for the calls.
    let answers = unsafe {
        [
            libc::ioctl(fd.as_raw_fd(), ENABLE, 0),
            libc::ioctl(fd.as_raw_fd(), PERIOD, &raw mut period),
            libc::poll(&raw mut poll, 1, 0),
        ]
    };
    ensure(
        answers[..2] == [0, 0] && poll.revents != 0,
        format!("answers {answers:?}, events {:#x}", poll.revents),
    )
}
