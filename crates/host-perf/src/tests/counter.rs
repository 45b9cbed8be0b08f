use proptest::prelude::*;

use super::{TID, sapphire_rapids};
use crate::counter::Total;
use crate::fake::{FakeSignal, Work};
use crate::{
    Advice, Counter, Event, EventSpec, Filter, HostPerfError, MAX_PERIOD, Metric, RawEvent, Reading,
};

const INSTRUCTIONS: EventSpec = EventSpec::new(Event::Instructions);
const SIGNAL: i32 = 40;

fn instructions(count: u64) -> Work {
    Work::new(TID, 1000).event(Event::Instructions, count)
}

#[test]
fn counts_only_while_enabled() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS).unwrap();
    kernel.run(&instructions(5));
    counter.enable().unwrap();
    kernel.run(&instructions(70));
    counter.disable().unwrap();
    kernel.run(&instructions(900));
    assert_eq!(counter.read().unwrap(), Reading { value: 70, enabled: 1000, running: 1000 });
    drop(counter);
    assert_eq!(kernel.open_events(), 0);
}

#[test]
fn scope_and_filter_select_what_is_counted() {
    let (host, kernel) = sapphire_rapids();
    let specs = [
        INSTRUCTIONS,
        INSTRUCTIONS.guest_only(),
        INSTRUCTIONS.guest_only().filter(Filter::OS),
        INSTRUCTIONS.guest_only().user_only(),
        INSTRUCTIONS.scope(crate::Scope::HostOnly).user_only(),
        EventSpec::new(Event::Raw(RawEvent::new(0xC5, 0x11))),
    ];
    let mut counters = specs.map(|spec| Counter::open(&host, spec).unwrap());
    counters.iter_mut().for_each(|counter| counter.enable().unwrap());
    kernel.run(&instructions(1).os());
    kernel.run(&instructions(10));
    kernel.run(&instructions(100).guest().os());
    kernel.run(&instructions(1000).guest().event(Event::Raw(RawEvent::new(0xC5, 0x11)), 3));
    let totals = counters.each_mut().map(|counter| counter.total().unwrap());
    assert_eq!(totals, [1111, 1100, 100, 1000, 10, 3]);
}

#[test]
fn a_shared_counter_is_scaled_and_marked() {
    let (host, kernel) = sapphire_rapids();
    kernel.configure(|config| config.counters = Some(1));
    let mut counters = [INSTRUCTIONS, INSTRUCTIONS].map(|spec| Counter::open(&host, spec).unwrap());
    counters.iter_mut().for_each(|counter| counter.enable().unwrap());
    let before_any_work = counters[0].read().unwrap();
    assert_eq!((before_any_work.is_multiplexed(), before_any_work.scaled()), (false, Some(0)));
    kernel.run(&instructions(100));
    let reading = counters.each_ref().map(|counter| counter.read().unwrap());
    // One of the two never ran so far: that is no zero.
    assert_eq!(reading.map(|r| r.scaled()), [Some(100), None]);
    kernel.run(&instructions(100));
    for counter in &mut counters {
        let reading = counter.read().unwrap();
        assert_eq!(reading, Reading { value: 100, enabled: 2000, running: 1000 });
        assert!(reading.is_multiplexed());
        assert_eq!((reading.scaled(), counter.total().unwrap()), (Some(200), 200));
    }
}

#[test]
fn a_pinned_event_without_a_counter_is_an_error_until_enabled_again() {
    let (host, kernel) = sapphire_rapids();
    let mut pinned = Counter::open(&host, INSTRUCTIONS.pinned()).unwrap();
    pinned.enable().unwrap();
    kernel.run(&instructions(10));
    kernel.configure(|config| config.counters = Some(0));
    kernel.run(&instructions(10));
    let evicted = HostPerfError::PinnedEvicted { event: Event::Instructions };
    assert_eq!(pinned.read(), Err(evicted.clone()));
    assert_eq!(pinned.total(), Err(evicted.clone()));
    assert_eq!(evicted.advice(), Some(Advice::FreeCounters));
    kernel.configure(|config| config.counters = Some(1));
    kernel.run(&instructions(10));
    assert_eq!(pinned.read(), Err(evicted), "stays in error state by itself");
    pinned.enable().unwrap();
    kernel.run(&instructions(7));
    assert_eq!(pinned.total(), Ok(17));
}

#[test]
fn total_survives_reopen_and_reset() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS).unwrap();
    counter.enable().unwrap();
    kernel.run(&instructions(100));
    counter.reopen(&host, INSTRUCTIONS.user_only()).unwrap();
    assert_eq!((kernel.open_events(), counter.total()), (1, Ok(100)));
    counter.enable().unwrap();
    kernel.run(&instructions(20));
    kernel.run(&instructions(5000).os());
    assert_eq!(counter.total(), Ok(120));
    counter.reset().unwrap();
    assert_eq!(counter.read().unwrap(), Reading { value: 0, enabled: 0, running: 0 });
    kernel.run(&instructions(3));
    assert_eq!((counter.read().unwrap().value, counter.total()), (3, Ok(123)));
}

#[test]
fn a_failed_reopen_keeps_the_old_event() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS).unwrap();
    counter.enable().unwrap();
    kernel.refuse_next_open(libc::EBUSY);
    assert!(counter.reopen(&host, INSTRUCTIONS).is_err());
    kernel.run(&instructions(9));
    assert_eq!(counter.total(), Ok(9));
}

#[test]
fn a_one_shot_signals_once_and_stops() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS.period(MAX_PERIOD)).unwrap();
    counter.signal_thread(TID, SIGNAL).unwrap();
    counter.arm(100).unwrap();
    kernel.run(&instructions(99));
    assert_eq!((kernel.take_signals(), counter.fired()), (vec![], Ok(false)));
    kernel.run(&instructions(500));
    let signal = FakeSignal { tid: TID, signal: SIGNAL, fd: counter.raw_fd(), hup: true };
    assert_eq!((kernel.take_signals(), counter.fired()), (vec![signal], Ok(true)));
    kernel.run(&instructions(500));
    assert_eq!(kernel.take_signals(), [], "stopped");
    counter.arm(10).unwrap();
    assert_eq!(counter.fired(), Ok(false));
    kernel.run(&instructions(25));
    assert_eq!(kernel.take_signals(), [signal]);
}

#[test]
fn a_new_deadline_replaces_the_old_one_without_a_second_signal() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS.period(MAX_PERIOD)).unwrap();
    counter.signal_thread(TID, SIGNAL).unwrap();
    for _ in 0..5 {
        counter.arm(100).unwrap();
        kernel.run(&instructions(60));
    }
    assert_eq!(kernel.take_signals(), []);
    // A budget of more than one would signal several times here.
    kernel.run(&instructions(1000));
    assert_eq!(kernel.take_signals().len(), 1);
    // A reset between arming and firing must not confuse the bookkeeping.
    counter.arm(100).unwrap();
    kernel.run(&instructions(50));
    counter.reset().unwrap();
    assert_eq!(counter.fired(), Ok(false));
    counter.arm(100).unwrap();
    kernel.run(&instructions(1000));
    assert_eq!((kernel.take_signals().len(), counter.fired()), (1, Ok(true)));
}

#[test]
fn enable_gives_a_signal_for_every_period() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS.period(100)).unwrap();
    counter.signal_thread(TID, SIGNAL).unwrap();
    counter.enable().unwrap();
    kernel.run(&instructions(350));
    let signals = kernel.take_signals();
    assert_eq!((signals.len(), signals.iter().any(|signal| signal.hup)), (3, false));
    counter.set_period(10).unwrap();
    kernel.run(&instructions(29));
    assert_eq!(kernel.take_signals().len(), 2, "the new period starts anew");
}

#[test]
fn misuse_of_overflows_is_refused_with_the_value() {
    let (host, _) = sapphire_rapids();
    let event = Event::Instructions;
    let mut counting = Counter::open(&host, INSTRUCTIONS).unwrap();
    let not_sampling = Err(HostPerfError::NotSampling { event });
    assert_eq!(counting.set_period(10), not_sampling);
    assert_eq!(counting.arm(10), not_sampling);
    assert_eq!(counting.signal_thread(TID, SIGNAL), not_sampling);
    let mut sampling = Counter::open(&host, INSTRUCTIONS.period(10)).unwrap();
    for period in [0, 1 << 63, u64::MAX] {
        assert_eq!(sampling.set_period(period), Err(HostPerfError::BadPeriod { period }));
        assert_eq!(sampling.arm(period), Err(HostPerfError::BadPeriod { period }));
    }
    for signal in [0, -1, 65] {
        assert_eq!(sampling.signal_thread(TID, signal), Err(HostPerfError::BadSignal { signal }));
    }
    assert_eq!(sampling.signal_thread(7, SIGNAL), Err(HostPerfError::NoThread { tid: 7 }));
}

#[test]
fn a_metric_alone_is_refused() {
    let (host, _) = sapphire_rapids();
    let event = Event::Topdown(Metric::Retiring);
    let refusal = Counter::open(&host, EventSpec::new(event)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "`topdown-retiring` counts only in a group led by `slots`, as a SlotsGroup opens it"
    );
}

proptest! {
    #[test]
    fn scaling_never_shrinks_and_is_exact_when_not_multiplexed(value: u64, enabled: u64, running: u64) {
        let scaled = Reading { value, enabled, running }.scaled();
        if running >= enabled {
            prop_assert_eq!(scaled, Some(value));
        } else {
            prop_assert_eq!(scaled.is_none(), running == 0);
            prop_assert!(scaled.is_none_or(|scaled| scaled >= value));
        }
    }

    #[test]
    fn a_total_never_steps_back(steps: Vec<(Option<u32>, bool)>) {
        let (mut total, mut last) = (Total::default(), 0);
        for (count, new_life) in steps {
            if new_life {
                total.rebase();
            }
            let now = total.update(count.map(u64::from));
            prop_assert!(now >= last);
            last = now;
        }
    }
}
