//! Refusals: each with its kind and its message.

#![expect(unsafe_code, reason = "system calls, and instructions that the program is about")]

use host_perf::{
    Counter, Event, EventSpec, Filter, Group, HostPerfError, HostPmu, Level, LinuxSys, Metric, RawEvent,
    Roots, SlotsGroup,
};
use linux_guest::checks::{Checks, ensure, spin};
use std::fs;
use std::process::Command;
use std::sync::Arc;

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
const RDPMC: &str = "/sys/bus/event_source/devices/cpu/rdpmc";

/// A refusal that has to be of this kind.
fn refused<T>(result: Result<T, HostPerfError>, is: fn(&HostPerfError) -> bool) -> Result<String, String> {
    match result {
        Ok(_) => Err("it was accepted".to_owned()),
        Err(error) => ensure(is(&error), error.to_string()),
    }
}

pub(crate) fn check(host: &HostPmu, checks: &mut Checks) {
    let instructions = EventSpec::new(Event::Instructions).user_only();
    let slots = EventSpec::new(Event::Slots).user_only();
    let metric = EventSpec::new(Event::Topdown(Metric::Retiring)).user_only();
    use HostPerfError as E;

    if host.topdown_level().is_some() {
        let result = Counter::open(host, metric);
        checks.check("refuses a metric alone", refused(result, |e| matches!(e, E::NeedsSlotsLeader { .. })));
        // The same by its code: the kernel's own rule.
        let code = EventSpec::new(Event::Raw(RawEvent::new(0, 0x80))).user_only();
        let result = Counter::open(host, code);
        checks.check("the kernel refuses it too", refused(result, |e| matches!(e, E::Rejected { .. })));
        let result = Group::open(host, instructions, &[metric]);
        checks.check(
            "refuses a metric without slots",
            refused(result, |e| matches!(e, E::NeedsSlotsLeader { .. })),
        );
        let result = Group::open(host, slots.period(1_000_000), &[metric]);
        checks.check("refuses to sample with metrics", refused(result, |e| matches!(e, E::BadGroup { .. })));
        let result = Group::open(host, slots, &[slots]);
        checks.check("refuses slots twice", refused(result, |e| matches!(e, E::BadGroup { .. })));
    }
    if host.topdown_level() == Some(Level::One) {
        let result = SlotsGroup::open(host, Level::Two, slots);
        checks.check("refuses level 2", refused(result, |e| matches!(e, E::NoTopdown { .. })));
    }
    let raw = |event, umask| EventSpec::new(Event::Raw(RawEvent::new(event, umask))).user_only();
    let result = Group::open(host, instructions, &[raw(0xC4, 0); 12]);
    checks
        .check("refuses a group of too many counters", refused(result, |e| matches!(e, E::Rejected { .. })));
    checks.check("a pinned event that finds no counter", pinned(host));
    let result = Counter::open(host, raw(0x11C4, 0));
    checks.check("refuses a code that does not fit", refused(result, |e| matches!(e, E::FieldTooBig { .. })));
    let result = Counter::open(host, EventSpec::new(Event::CacheMisses).user_only());
    let result = match result {
        Ok(_) => Ok("this PMU has cache-misses".to_owned()),
        refusal => refused(refusal, |e| matches!(e, E::UnknownEvent { .. })),
    };
    checks.check("an event that the PMU does not have", result);
    let result = Counter::open(host, instructions.filter(Filter { os: false, usr: false }));
    checks.check("refuses to count nothing", refused(result, |e| matches!(e, E::EmptyFilter { .. })));
    let result = Counter::open(host, instructions.thread(999_999));
    checks.check("refuses a thread that is not there", refused(result, |e| matches!(e, E::NoThread { .. })));
    let result = Counter::open(host, instructions).and_then(|mut counter| counter.arm(1));
    checks
        .check("refuses a signal without a period", refused(result, |e| matches!(e, E::NotSampling { .. })));
    let result = Counter::open(host, instructions.period(1000)).and_then(|mut counter| counter.set_period(0));
    checks.check("refuses a period of 0", refused(result, |e| matches!(e, E::BadPeriod { .. })));
    let sampling = || Counter::open(host, instructions.period(1000));
    let result = sampling().and_then(|mut counter| counter.signal_thread(1, 99));
    checks
        .check("refuses a signal that does not exist", refused(result, |e| matches!(e, E::BadSignal { .. })));
    let result = Counter::open(host, instructions).and_then(|counter| counter.user_page(host)?.read());
    checks.check("RDPMC of an event that is off", refused(result, |e| matches!(e, E::NotOnPmu { .. })));
    let result = with(RDPMC, "0", || Counter::open(host, instructions).and_then(|c| c.user_page(host)));
    checks
        .check("RDPMC switched off", result.and_then(|r| refused(r, |e| matches!(e, E::NoUserRdpmc { .. }))));
    let nothing = Roots { sysfs: "/root".into(), procfs: "/proc".into() };
    let no_pmu = HostPmu::detect_in(&nothing, Arc::new(LinuxSys));
    let result = SlotsGroup::open(&no_pmu, Level::One, slots);
    checks.check("a host without a PMU", refused(result, |e| matches!(e, E::NoPmu)));
    checks.check(
        "no descriptor left",
        refused(without_files(host, instructions), |e| matches!(e, E::TooManyFiles { .. })),
    );
    for (level, expected) in [
        ("3", "user: kernel.perf_event_paranoid is 3"),
        ("2", "user: ok; kernel: kernel.perf_event_paranoid is 2"),
        ("1", "user: ok; kernel: ok"),
    ] {
        let said = with(PARANOID, level, || {
            let me = std::env::current_exe().map_err(|e| e.to_string())?;
            let output = Command::new(me).arg(level).output().map_err(|e| e.to_string())?;
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        });
        let result = said.and_then(|said| said).and_then(|said| ensure(said.starts_with(expected), said));
        checks.check(&format!("without privileges at paranoid level {level}"), result);
    }
}

/// More pinned events than counters: the last ones read as evicted.
fn pinned(host: &HostPmu) -> Result<String, String> {
    let spec = EventSpec::new(Event::Raw(RawEvent::new(0xC4, 0))).user_only().pinned();
    let mut counters = Vec::new();
    for _ in 0..12 {
        let mut counter = Counter::open(host, spec).map_err(|e| e.to_string())?;
        counter.enable().map_err(|e| e.to_string())?;
        counters.push(counter);
    }
    spin(1000);
    let mut evicted = counters.iter().filter_map(|counter| counter.read().err());
    let result = evicted.next().map_or(Ok(()), Err);
    let others = evicted.count();
    refused(result, |e| matches!(e, HostPerfError::PinnedEvicted { .. }))
        .map(|seen| format!("{seen} ({others} more)"))
}

/// Opens with no file descriptor left.
fn without_files(host: &HostPmu, spec: EventSpec) -> Result<Counter, HostPerfError> {
    let limit = |files| {
        let limit = libc::rlimit { rlim_cur: files, rlim_max: 1024 };
        // SAFETY: it reads the structure.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    };
    limit(3);
    let result = Counter::open(host, spec);
    limit(1024);
    result
}

/// Runs `body` with another content of a file.
fn with<T>(path: &str, value: &str, body: impl FnOnce() -> T) -> Result<T, String> {
    let error = |e: std::io::Error| format!("{path}: {e}");
    let before = fs::read_to_string(path).map_err(error)?;
    fs::write(path, value).map_err(error)?;
    let result = body();
    fs::write(path, before.trim()).map_err(error)?;
    Ok(result)
}

/// The child: gives up root, and says what it may count.
pub(crate) fn unprivileged(_level: &str) {
    // SAFETY: it changes nothing but this process's identity, which loses its capabilities with it.
    unsafe {
        libc::setgid(65_534);
        libc::setuid(65_534);
    }
    let host = HostPmu::detect();
    let say = |spec| Counter::open(&host, spec).map_or_else(|e| e.to_string(), |_| "ok".to_owned());
    let instructions = EventSpec::new(Event::Instructions);
    println!("user: {}; kernel: {}", say(instructions.user_only()), say(instructions));
}
