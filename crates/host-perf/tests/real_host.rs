//! The real kernel. Software events exercise the system calls on every host; hardware events either count or
//! are refused for a documented reason, and the test prints which.

#![expect(unsafe_code, reason = "signals and threads of the host")]

use std::hint::black_box;
use std::sync::atomic::{AtomicI32, Ordering};

use host_perf::{
    Counter, Event, EventSpec, Group, HostPerfError, HostPmu, Level, SlotsGroup, SoftwareEvent, Status,
};

const PAGE_FAULTS: EventSpec = EventSpec::new(Event::Software(SoftwareEvent::PageFaults)).user_only();
const TASK_CLOCK: EventSpec = EventSpec::new(Event::Software(SoftwareEvent::TaskClock)).user_only();

/// `None`, and a line that says so, where even software events are forbidden (containers).
fn perf() -> Option<HostPmu> {
    let host = HostPmu::detect();
    match Counter::open(&host, PAGE_FAULTS) {
        Ok(_) => Some(host),
        Err(refusal) => {
            println!("skipped: {refusal}");
            None
        }
    }
}

/// Touches `pages` fresh pages: just as many page faults, as none of them can be part of a huge page.
fn fault(pages: usize) {
    // SAFETY: sysconf reads a constant.
    let page_size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    // SAFETY: a new private mapping of our own, touched within its bounds, then removed.
    unsafe {
        let address = libc::mmap(
            std::ptr::null_mut(),
            pages * page_size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(address, libc::MAP_FAILED);
        libc::madvise(address, pages * page_size, libc::MADV_NOHUGEPAGE);
        for page in 0..pages {
            address.cast::<u8>().add(page * page_size).write_volatile(1);
        }
        libc::munmap(address, pages * page_size);
    }
}

#[test]
fn instructions_count_or_are_refused_with_a_reason() {
    let host = HostPmu::detect();
    let counted = || {
        let mut counter = Counter::open(&host, EventSpec::new(Event::Instructions).user_only())?;
        counter.enable()?;
        (0..100_000_u64).for_each(|i| {
            black_box(i);
        });
        counter.disable()?;
        counter.read()
    };
    match counted() {
        Ok(reading) => {
            println!("counted {} instructions", reading.value);
            assert!(reading.value > 100_000, "{reading:?}");
        }
        Err(refusal) => {
            println!("refused: {refusal}");
            assert!(
                matches!(
                    refusal,
                    HostPerfError::NoPmu
                        | HostPerfError::UnknownEvent { .. }
                        | HostPerfError::Paranoid { .. }
                        | HostPerfError::Denied { .. }
                        | HostPerfError::Blocked
                        | HostPerfError::NoPerf
                ),
                "{refusal:?}"
            );
            assert!(host.can_count_user().is_err());
        }
    }
}

#[test]
fn slots_count_or_are_refused_with_a_reason() {
    let host = HostPmu::detect();
    let level = host.topdown_level().unwrap_or(Level::One);
    match SlotsGroup::open(&host, level, EventSpec::new(Event::Slots).user_only()) {
        Ok(mut group) => {
            group.enable().unwrap();
            (0..100_000_u64).for_each(|i| {
                black_box(i);
            });
            let counts = group.read().unwrap().counts;
            println!("counted {counts:?}");
            assert!(counts.slots > 0 && counts.retiring > 0);
        }
        Err(refusal) => {
            println!("refused: {refusal}");
            if host.core_pmu().is_none() {
                assert_eq!(refusal, HostPerfError::NoPmu);
            }
        }
    }
}

#[test]
fn the_doctor_list_names_what_is_missing() {
    let findings = HostPmu::detect().findings();
    for finding in &findings {
        println!("{finding}");
        assert!(finding.status == Status::Ok || finding.advice.is_some(), "no advice: {finding}");
    }
    assert!(findings.len() >= 3);
}

#[test]
fn page_faults_are_counted_exactly_only_while_enabled() {
    let Some(host) = perf() else { return };
    let mut counter = Counter::open(&host, PAGE_FAULTS).unwrap();
    fault(10);
    assert_eq!(counter.read().unwrap().value, 0);
    counter.enable().unwrap();
    fault(100);
    counter.disable().unwrap();
    fault(10);
    let reading = counter.read().unwrap();
    assert!((100..110).contains(&reading.value), "{reading:?}");
    assert!(!reading.is_multiplexed());
    assert_eq!(reading.scaled(), Some(reading.value));
}

#[test]
fn total_goes_on_over_reset_and_reopen() {
    let Some(host) = perf() else { return };
    let mut counter = Counter::open(&host, PAGE_FAULTS).unwrap();
    counter.enable().unwrap();
    fault(50);
    counter.disable().unwrap();
    let first = counter.total().unwrap();
    counter.reset().unwrap();
    assert_eq!(counter.read().unwrap().value, 0);
    assert_eq!(counter.total().unwrap(), first);
    counter.reopen(&host, PAGE_FAULTS).unwrap();
    counter.enable().unwrap();
    fault(50);
    counter.disable().unwrap();
    let second = counter.total().unwrap();
    assert!((first + 50..first + 60).contains(&second), "{first} then {second}");
}

#[test]
fn a_group_is_read_with_one_call_and_in_order() {
    let Some(host) = perf() else { return };
    let mut group = Group::open(&host, TASK_CLOCK, &[PAGE_FAULTS]).unwrap();
    group.enable().unwrap();
    fault(200);
    group.disable().unwrap();
    let reading = group.read().unwrap();
    assert!(reading.values[0] > 0, "task clock: {reading:?}");
    assert!((200..210).contains(&reading.values[1]), "page faults: {reading:?}");
    assert_eq!(group.read().unwrap().values[1], reading.values[1], "stands still while disabled");
}

static SIGNALS: AtomicI32 = AtomicI32::new(0);
static SIGNAL_FD: AtomicI32 = AtomicI32::new(-1);
static SIGNAL_CODE: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_signal(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // si_band and si_fd follow the common header of siginfo_t (signal, errno, code, padding).
    #[repr(C)]
    struct PollInfo {
        header: [i32; 4],
        band: libc::c_long,
        fd: i32,
    }
    // SAFETY: the kernel passes a valid siginfo_t, which for SIGPOLL-like signals has this layout.
    let (code, fd) = unsafe { ((*info).si_code, (*info.cast::<PollInfo>()).fd) };
    SIGNAL_CODE.store(code, Ordering::Relaxed);
    SIGNAL_FD.store(fd, Ordering::Relaxed);
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn an_armed_counter_signals_once_and_can_be_armed_again() {
    const POLL_HUP: i32 = 6;
    let Some(host) = perf() else { return };
    let signal = libc::SIGRTMIN() + 3;
    // SAFETY: installs a handler that only stores to atomics, for a signal that nothing else uses.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
    // SAFETY: gettid has no preconditions.
    let tid = unsafe { libc::gettid() };
    let mut counter = Counter::open(&host, PAGE_FAULTS.period(1_000_000)).unwrap();
    counter.signal_thread(tid, signal).unwrap();

    counter.arm(20).unwrap();
    fault(10);
    assert_eq!((SIGNALS.load(Ordering::Relaxed), counter.fired().unwrap()), (0, false));
    // Replaces the first one-shot: its remaining 10 must not count.
    counter.arm(30).unwrap();
    fault(25);
    assert_eq!((SIGNALS.load(Ordering::Relaxed), counter.fired().unwrap()), (0, false));
    fault(50);
    assert_eq!((SIGNALS.load(Ordering::Relaxed), counter.fired().unwrap()), (1, true));
    assert_eq!(SIGNAL_CODE.load(Ordering::Relaxed), POLL_HUP);
    assert_eq!(SIGNAL_FD.load(Ordering::Relaxed), counter.raw_fd());

    counter.arm(20).unwrap();
    fault(100);
    assert_eq!((SIGNALS.load(Ordering::Relaxed), counter.fired().unwrap()), (2, true));
}

#[test]
fn a_missing_thread_and_a_software_page_are_refused() {
    let Some(host) = perf() else { return };
    let missing = i32::MAX;
    let refusal = Counter::open(&host, PAGE_FAULTS.thread(missing)).unwrap_err();
    assert_eq!(refusal, HostPerfError::NoThread { tid: missing });
    // Software events are mapped for real, but have no hardware counter to read.
    let counter = Counter::open(&host, PAGE_FAULTS).unwrap();
    let refusal = counter.user_page(&host).unwrap_err();
    assert!(matches!(refusal, HostPerfError::NoUserRdpmc { event, .. } if event == PAGE_FAULTS.event));
}

#[test]
fn a_thread_is_counted_from_another_thread() {
    let Some(host) = perf() else { return };
    let (tid_sender, tid_receiver) = std::sync::mpsc::channel();
    let (go_sender, go_receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            // SAFETY: gettid has no preconditions.
            tid_sender.send(unsafe { libc::gettid() }).unwrap();
            go_receiver.recv().unwrap();
            fault(300);
        });
        let mut counter = Counter::open(&host, PAGE_FAULTS.thread(tid_receiver.recv().unwrap())).unwrap();
        counter.enable().unwrap();
        assert!(matches!(counter.user_page(&host), Err(HostPerfError::WrongThread { .. })));
        fault(1000);
        go_sender.send(()).unwrap();
        worker.join().unwrap();
        let counted = counter.total().unwrap();
        assert!((300..330).contains(&counted), "{counted}");
    });
}
