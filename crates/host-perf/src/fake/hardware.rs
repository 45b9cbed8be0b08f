//! Counting: scheduling on a limited number of counters, the PERF_METRICS pair, overflows, reading.

use std::os::fd::RawFd;

use perf_event_open_sys::bindings as sys;

use super::{FakeSignal, State, Work};
use crate::errno::Errno;
use crate::event::{Event, Metric};
use crate::kernel::{Ioctl, perf_event_attr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Software(u64),
    Generic(u64),
    Raw(u64),
    Slots,
    Metric(Metric),
}

#[derive(Debug)]
pub(super) struct FakeEvent {
    // Configuration.
    pub(super) kind: Kind,
    pub(super) tid: i32,
    pub(super) leader: RawFd,
    pub(super) period: u64,
    pub(super) signal: Option<(i32, i32)>,
    id: u64,
    read_format: u64,
    pinned: bool,
    /// (host, guest, user, kernel) are not counted.
    exclude: [bool; 4],
    // State.
    enabled: bool,
    error: bool,
    pub(super) on_pmu: bool,
    pub(super) value: u64,
    pub(super) time_enabled: u64,
    pub(super) time_running: u64,
    /// Events until the next overflow.
    left: u64,
    /// Overflows until the event is disabled; 0 is no limit.
    budget: u32,
    /// Slots leader only: fixed counter 3 and what PERF_METRICS is the fraction of, since the last reset.
    pub(super) pair: [u64; 9],
    /// What of the pair is already in the values of slots and metrics.
    accounted: [u64; 9],
    /// Sequence count of the user page.
    pub(super) lock: u32,
}

impl FakeEvent {
    pub(super) fn new(attr: &perf_event_attr, kind: Kind, tid: i32, leader: RawFd, fd: RawFd) -> Self {
        let period = attr.sample_period;
        FakeEvent {
            kind,
            tid,
            leader,
            period,
            signal: None,
            // Anything but the descriptor, so that a mix-up shows.
            id: 1000 - u64::from(fd.cast_unsigned()),
            read_format: attr.read_format,
            pinned: attr.pinned() != 0,
            exclude: [attr.exclude_host(), attr.exclude_guest(), attr.exclude_user(), attr.exclude_kernel()]
                .map(|bit| bit != 0),
            enabled: attr.disabled() == 0,
            error: false,
            on_pmu: false,
            value: 0,
            time_enabled: 0,
            time_running: 0,
            left: period,
            budget: 0,
            pair: [0; 9],
            accounted: [0; 9],
            lock: 0,
        }
    }

    fn counts(&self, work: &Work) -> bool {
        let [host, guest, user, kernel] = self.exclude;
        !(if work.guest { guest } else { host }) && !(if work.os { kernel } else { user })
    }

    fn occurrences(&self, work: &Work, pmu_type: u32) -> u64 {
        let mine = |event: &Event| match (self.kind, event) {
            (Kind::Raw(config), Event::Raw(raw)) => {
                // The default layout: event 0-7, umask 8-15, edge 18, inv 23, cmask 24-31.
                config
                    == u64::from(raw.event)
                        | u64::from(raw.umask) << 8
                        | u64::from(raw.edge) << 18
                        | u64::from(raw.inv) << 23
                        | u64::from(raw.cmask) << 24
            }
            (Kind::Generic(id), event) => {
                event.encode(None).is_ok_and(|(kind, config)| kind != pmu_type && kind == 0 && config == id)
            }
            (Kind::Software(id), event @ Event::Software(_)) => {
                event.encode(None).is_ok_and(|(_, config)| config == id)
            }
            _ => false,
        };
        work.events.iter().filter(|(event, _)| mine(event)).map(|(_, count)| count).sum()
    }

    /// PERF_METRICS as hardware shows it: fractions of the slots in fixed counter 3.
    pub(super) fn metrics(&self) -> [u8; 8] {
        let slots = self.pair[0];
        Metric::ALL.map(|metric| {
            let rounded = (255 * self.pair[1 + metric as usize] + slots / 2).checked_div(slots).unwrap_or(0);
            u8::try_from(rounded).unwrap_or(u8::MAX)
        })
    }
}

impl State {
    pub(super) fn event(&mut self, fd: RawFd) -> Result<&mut FakeEvent, Errno> {
        self.events.get_mut(&fd).ok_or(Errno(libc::EBADF))
    }

    fn members(&self, leader: RawFd) -> Vec<RawFd> {
        self.events.iter().filter(|(_, event)| event.leader == leader).map(|(fd, _)| *fd).collect()
    }

    /// General counters that a group needs. Slots and metrics have their own registers.
    pub(super) fn counters_needed(&self, leader: RawFd) -> usize {
        let general = |event: &&FakeEvent| matches!(event.kind, Kind::Generic(_) | Kind::Raw(_));
        self.events.values().filter(|event| event.leader == leader).filter(general).count()
    }

    /// Puts groups on the PMU: pinned ones first, the others in turn.
    fn schedule(&mut self, tid: i32) {
        let mut flexible = Vec::new();
        let mut order = Vec::new();
        for (&fd, event) in self.events.iter().filter(|(fd, e)| e.leader == **fd && e.tid == tid) {
            if event.enabled && !event.error {
                if event.pinned { order.push(fd) } else { flexible.push(fd) }
            }
        }
        let turn = self.rotation % flexible.len().max(1);
        flexible.rotate_left(turn);
        order.extend(flexible);
        for event in self.events.values_mut() {
            event.on_pmu = false;
        }
        let mut free = self.config.counters.unwrap_or(0);
        let mut slots_free = true;
        for leader in order {
            let needed = self.counters_needed(leader);
            let members = self.members(leader);
            let needs_slots = members.iter().any(|fd| self.events[fd].kind == Kind::Slots);
            let fits = needed <= free && (slots_free || !needs_slots);
            if fits {
                free -= needed;
                slots_free &= !needs_slots;
            }
            for fd in members {
                if let Some(event) = self.events.get_mut(&fd) {
                    event.on_pmu = fits && event.enabled;
                    event.error |= !fits && event.pinned;
                    event.lock += 2;
                }
            }
        }
    }

    pub(super) fn run(&mut self, work: &Work) {
        self.schedule(work.tid);
        let pmu_type = self.config.pmu_type;
        let mut signals = Vec::new();
        for (&fd, event) in &mut self.events {
            if event.tid != work.tid || !event.enabled || event.error {
                continue;
            }
            event.time_enabled += work.ns;
            if !event.on_pmu {
                continue;
            }
            event.time_running += work.ns;
            if !event.counts(work) {
                continue;
            }
            if event.kind == Kind::Slots {
                event.pair.iter_mut().zip(work.slots).for_each(|(sum, slots)| *sum += slots);
            }
            let occurrences = match event.kind {
                Kind::Slots | Kind::Metric(_) => 0, // booked when the pair is read
                _ => event.occurrences(work, pmu_type),
            };
            count(fd, event, occurrences, &mut signals);
        }
        self.signals.extend(signals);
        self.rotation += 1;
    }

    /// Books the PERF_METRICS pair of a group to its events, as the kernel does when it reads the registers.
    fn book(&mut self, leader: RawFd, reset: bool) {
        let Some(slots) = self.events.get_mut(&leader).filter(|event| event.kind == Kind::Slots) else {
            return;
        };
        let total = slots.pair[0];
        let mut now = [total; 9];
        for (part, byte) in now[1..].iter_mut().zip(slots.metrics()) {
            *part = total * u64::from(byte) / 255;
        }
        let before = slots.accounted;
        slots.accounted = now;
        if reset {
            (slots.pair, slots.accounted) = ([0; 9], [0; 9]);
        }
        for fd in self.members(leader) {
            if let Some(event) = self.events.get_mut(&fd) {
                let index = match event.kind {
                    Kind::Slots => 0,
                    Kind::Metric(metric) => 1 + metric as usize,
                    _ => continue,
                };
                event.value += now[index].saturating_sub(before[index]);
                event.lock += 2;
            }
        }
    }

    pub(super) fn read(&mut self, fd: RawFd) -> Result<Vec<u64>, Errno> {
        let leader = self.event(fd)?.leader;
        self.book(leader, true);
        let event = &self.events[&fd];
        if event.error {
            return Ok(Vec::new());
        }
        let has = |format: sys::perf_event_read_format| event.read_format & u64::from(format) != 0;
        let group = has(sys::PERF_FORMAT_GROUP);
        let mut members = if group { self.members(fd) } else { vec![fd] };
        // The order of siblings is no promise of the kernel: readers must go by id.
        members[1..].reverse();
        let mut words = Vec::new();
        if group {
            words.push(members.len() as u64);
        }
        let times = |words: &mut Vec<u64>| {
            if has(sys::PERF_FORMAT_TOTAL_TIME_ENABLED) {
                words.push(event.time_enabled);
            }
            if has(sys::PERF_FORMAT_TOTAL_TIME_RUNNING) {
                words.push(event.time_running);
            }
        };
        if group {
            times(&mut words);
        }
        for member in members {
            let member = &self.events[&member];
            words.push(member.value);
            if !group {
                times(&mut words);
            }
            if has(sys::PERF_FORMAT_ID) {
                words.push(member.id);
            }
        }
        Ok(words)
    }

    pub(super) fn ioctl(&mut self, fd: RawFd, operation: Ioctl) -> Result<u64, Errno> {
        let sampling = self.event(fd)?.period != 0;
        let scope = |state: &State, group| if group { state.members(fd) } else { vec![fd] };
        match operation {
            Ioctl::Enable { group } => {
                for fd in scope(self, group) {
                    let event = self.event(fd)?;
                    (event.enabled, event.error) = (true, false);
                }
                let tid = self.event(fd)?.tid;
                self.schedule(tid);
            }
            Ioctl::Disable { group } => {
                let leader = self.event(fd)?.leader;
                self.book(leader, false);
                for fd in scope(self, group) {
                    let event = self.event(fd)?;
                    (event.enabled, event.on_pmu) = (false, false);
                    event.lock += 2;
                }
            }
            Ioctl::Reset { group } => {
                let leader = self.event(fd)?.leader;
                self.book(leader, true);
                for fd in scope(self, group) {
                    self.event(fd)?.value = 0;
                }
            }
            Ioctl::Refresh(_) | Ioctl::Period(_) if !sampling => return Err(Errno(libc::EINVAL)),
            Ioctl::Refresh(budget) => {
                self.event(fd)?.budget += u32::from(budget);
                return self.ioctl(fd, Ioctl::Enable { group: false });
            }
            Ioctl::Period(period) => {
                if period == 0 || period >> 63 != 0 {
                    return Err(Errno(libc::EINVAL));
                }
                let event = self.event(fd)?;
                (event.period, event.left) = (period, period);
            }
            Ioctl::Id => return Ok(self.event(fd)?.id),
        }
        Ok(0)
    }

    /// Siblings of a closed leader become groups of their own.
    pub(super) fn close(&mut self, fd: RawFd) {
        self.events.remove(&fd);
        for (member, event) in &mut self.events {
            if event.leader == fd {
                event.leader = *member;
            }
        }
    }
}

/// Adds occurrences to an event, overflow by overflow.
fn count(fd: RawFd, event: &mut FakeEvent, mut occurrences: u64, signals: &mut Vec<FakeSignal>) {
    if event.period == 0 {
        event.value += occurrences;
        return;
    }
    while occurrences >= event.left {
        occurrences -= event.left;
        event.value += event.left;
        event.left = event.period;
        let hup = event.budget == 1;
        event.budget = event.budget.saturating_sub(1);
        signals.extend(event.signal.map(|(tid, signal)| FakeSignal { tid, signal, fd, hup }));
        if hup {
            event.enabled = false;
            return;
        }
    }
    event.value += occurrences;
    event.left -= occurrences;
}
