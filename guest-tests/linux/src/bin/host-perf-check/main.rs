//! Lets the crate `host-perf` count on a real kernel: groups, raw registers, signals, sharing, refusals.
//!
//! Run as root on a machine whose kernel offers `slots` and the topdown metrics. It changes
//! `kernel.perf_event_paranoid` and the PMU's `rdpmc` attribute, and puts both back.

mod refusals;
mod signals;
mod slots;

use host_perf::{Counter, Event, EventSpec, Filter, Group, HostPerfError, HostPmu, RawEvent};
use linux_guest::checks::{Checks, ensure, spin, text};
use std::process::ExitCode;

/// Instructions that start and stop of a counter may add on this side of the kernel.
const AROUND: u64 = 2_000;
const ROUNDS: u64 = 1_000_000;

fn main() -> ExitCode {
    // A child of `refusals`.
    if let Some(level) = std::env::args().nth(1) {
        refusals::unprivileged(&level);
        return ExitCode::SUCCESS;
    }
    let host = HostPmu::detect();
    for finding in host.findings() {
        println!("# {finding}");
    }
    let mut checks = Checks::default();
    checks.check("counts instructions in user space", user(&host).map_err(text).and_then(|result| result));
    checks.check("separates privilege levels", levels(&host).map_err(text).and_then(|result| result));
    if is_intel() {
        checks.check(
            "guest mode, in which nothing runs, counts nothing",
            guest_only(&host).map_err(text).and_then(|r| r),
        );
    } else {
        println!(
            "# the filter for guest mode is the counter's own here, and hypervisors drop it without SVM"
        );
    }
    checks.check("reads a counter with RDPMC", rdpmc(&host).map_err(text).and_then(|result| result));
    checks.check(
        "keeps its total over reset and re-open",
        total(&host).map_err(text).and_then(|result| result),
    );
    checks.check("scales what shares counters", shared(&host).map_err(text).and_then(|result| result));
    slots::check(&host, &mut checks);
    signals::check(&host, &mut checks);
    refusals::check(&host, &mut checks);
    if checks.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// "GenuineIntel", where the kernel starts and stops counters at a VM entry.
fn is_intel() -> bool {
    std::arch::x86_64::__cpuid(0).ebx == u32::from_le_bytes(*b"Genu")
}

/// Intel's, or that of AMD's PerfMonV2: CPUID leaf 8000_0022H, EAX bit 0.
fn has_global_control() -> bool {
    let cpuid = std::arch::x86_64::__cpuid;
    is_intel() || cpuid(0x8000_0000).eax >= 0x8000_0022 && cpuid(0x8000_0022).eax & 1 != 0
}

/// What a check of this program returns: the host's refusal, or its result.
type Checked = Result<Result<String, String>, HostPerfError>;

fn count(host: &HostPmu, spec: EventSpec, rounds: u64) -> Result<u64, HostPerfError> {
    let mut counter = Counter::open(host, spec)?;
    counter.enable()?;
    spin(rounds);
    counter.disable()?;
    Ok(counter.read()?.value)
}

fn user(host: &HostPmu) -> Checked {
    let instructions = count(host, EventSpec::new(Event::Instructions).user_only(), ROUNDS)?;
    let branches = count(host, EventSpec::new(Event::Branches).user_only(), ROUNDS)?;
    let right = (2 * ROUNDS..2 * ROUNDS + AROUND).contains(&instructions)
        && (ROUNDS..ROUNDS + AROUND).contains(&branches);
    Ok(ensure(
        right,
        format!("{instructions} instructions, {branches} branches in {ROUNDS} rounds of 2 and 1"),
    ))
}

/// As one group, so that all three count the same stretch.
fn levels(host: &HostPmu) -> Checked {
    let all = EventSpec::new(Event::Instructions);
    let mut group = Group::open(host, all, &[all.user_only(), all.filter(Filter::OS)])?;
    group.enable()?;
    spin(ROUNDS);
    group.disable()?;
    let &[all, user, kernel] = &*group.read()?.values else { return Ok(Err("not three values".to_owned())) };
    // Without a global control the kernel starts and stops one counter after the other.
    let tolerance = if has_global_control() { 0 } else { AROUND };
    let right = all.abs_diff(user + kernel) <= tolerance && user >= 2 * ROUNDS && kernel > 0;
    Ok(ensure(right, format!("{user} in user space and {kernel} in the kernel are {all}")))
}

fn guest_only(host: &HostPmu) -> Checked {
    let value = count(host, EventSpec::new(Event::Instructions).guest_only(), ROUNDS)?;
    Ok(ensure(value == 0, format!("{value}")))
}

fn rdpmc(host: &HostPmu) -> Checked {
    let mut counter = Counter::open(host, EventSpec::new(Event::Instructions).user_only())?;
    counter.enable()?;
    let page = counter.user_page(host)?;
    let first = page.read()?.value;
    spin(ROUNDS);
    let second = page.read()?.value;
    let by_call = counter.read()?.value;
    let right = (2 * ROUNDS..2 * ROUNDS + AROUND).contains(&(second - first)) && by_call >= second;
    Ok(ensure(right, format!("{first}, then {second}; by system call {by_call}")))
}

fn total(host: &HostPmu) -> Checked {
    let spec = EventSpec::new(Event::Instructions).user_only();
    let mut counter = Counter::open(host, spec)?;
    for _ in 0..3 {
        counter.enable()?;
        spin(ROUNDS);
        counter.disable()?;
        counter.reset()?;
    }
    counter.reopen(host, EventSpec::new(Event::Branches).user_only())?;
    counter.enable()?;
    spin(ROUNDS);
    counter.disable()?;
    let total = counter.total()?;
    Ok(ensure(
        (7 * ROUNDS..7 * ROUNDS + 4 * AROUND).contains(&total),
        format!("{total} for 3 x 2 + 1 million"),
    ))
}

/// Twelve counters of one event: more than there are.
fn shared(host: &HostPmu) -> Checked {
    const COUNTERS: usize = 12;
    /// Long enough for several turns of the kernel, which come with its tick.
    const LONG: u64 = 40 * ROUNDS;
    // All branches, by their code: no fixed counter can help out.
    let spec = EventSpec::new(Event::Raw(RawEvent::new(0xC4, 0))).user_only();
    let mut counters = (0..COUNTERS).map(|_| Counter::open(host, spec)).collect::<Result<Vec<_>, _>>()?;
    for counter in &mut counters {
        counter.enable()?;
    }
    spin(LONG);
    let mut shared = 0;
    let mut worst = 0.0_f64;
    for counter in &mut counters {
        let reading = counter.read()?;
        shared += usize::from(reading.is_multiplexed());
        let Some(scaled) = reading.scaled() else { return Ok(Err("a counter had no turn".to_owned())) };
        worst = worst.max((scaled as f64 - LONG as f64).abs() / LONG as f64);
    }
    let seen = format!("{shared} of {COUNTERS} had to share; worst estimate {:.2} % off", 100.0 * worst);
    Ok(ensure(shared > 0 && worst < 0.05, seen))
}
