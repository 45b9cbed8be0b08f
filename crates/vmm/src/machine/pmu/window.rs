//! Measuring windows: what the guest read next to what the source counted.
//!
//! A window opens when the guest writes a GLOBAL_CTRL that enables something while nothing runs, and
//! closes when GLOBAL_CTRL goes back to 0. That is how perf, kvm-unit-tests and our own images
//! measure. Where no register alone starts and stops counters (AMD before PerfMonV2; PMCR_EL0 and PMCNTENSET_EL0 on
//! Arm), it lasts from the first counter that runs to the last one that stops. Whenever a counter starts or stops in
//! between, the recorder takes the source's totals, bypassing the vPMU's counters; what the guest then reads from a
//! stopped counter is put next to the difference. So a row compares the guest's view with an independent one.

use crate::counts::Source;
use serde::{Deserialize, Serialize};
use vpmu::pmu::{CounterId, Running};
use vpmu::register::arm::Pmcr;
use vpmu::register::{RegisterId, amd, arm, intel, locate, low_bits};
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Answer, PmiRequests, Profile, Provenance, ReadOutcome, TopdownSlots, Vpmu, WriteOutcome};

/// Most windows kept; later ones are only [counted](super::PmuDevice::dropped_windows).
pub const MAX_WINDOWS: usize = 1024;
/// Most rows of a window; a guest that reprograms its counters more often gets no more.
pub const MAX_ROWS: usize = 64;
/// Longest label, in bytes.
pub const MAX_LABEL: usize = 64;

/// What follows an interval's name in the label of a window within it.
const OF_INTERVAL: &str = " (interval)";

/// One counter over one window.
#[derive(Debug, Clone, Serialize)]
pub struct WindowRow {
    /// The counter, for example `FIXED_CTR0`.
    pub counter: String,
    /// Event name or raw code.
    pub event: String,
    /// `:u`, `:k` or empty.
    pub filter: String,
    /// What the numbers are worth.
    pub provenance: Provenance,
    /// Difference of the source's totals, over the time in which the counter ran.
    pub vmm: u64,
    /// Difference of what the guest read and the counter's value at the start; `None` if it did not
    /// read, or wrote the counter in between.
    pub guest: Option<u64>,
    #[serde(skip)]
    track: Track,
}

/// What the recorder needs to go on with a row.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Track {
    id: CounterId,
    request: EventRequest,
    filter: PrivilegeFilter,
    /// The counter's value when the row began.
    start: u64,
    /// Width of the counter in bits.
    width: u32,
    /// The source's total when the counter last started; `None` while it stands still.
    mark: Option<u64>,
    /// The guest wrote the counter: its value says nothing about the row any more.
    spoiled: bool,
}

/// One measuring window.
#[derive(Debug, Clone, Serialize)]
pub struct Window {
    /// The name that the guest gave it, or empty.
    pub label: String,
    /// Counters that ran.
    pub rows: Vec<WindowRow>,
    /// Slots by category, by the source's totals, while PERF_METRICS ran. On a CPU without it: while any counter
    /// ran, at all privilege levels.
    pub topdown: Option<TopdownSlots>,
    /// PERF_METRICS as the guest read it after the window.
    pub guest_metrics: Option<u64>,
    #[serde(skip)]
    topdown_mark: Option<(PrivilegeFilter, TopdownSlots)>,
    #[serde(skip)]
    metrics_spoiled: bool,
}

/// The saved state of the recorder.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecorderState {
    windows: Vec<SavedWindow>,
    dropped: u64,
    open: Option<SavedWindow>,
    label: String,
    last_is_kept: bool,
}

/// A [`Window`] with what reports leave out.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedWindow {
    label: String,
    rows: Vec<SavedRow>,
    topdown: Option<TopdownSlots>,
    guest_metrics: Option<u64>,
    topdown_mark: Option<(PrivilegeFilter, TopdownSlots)>,
    metrics_spoiled: bool,
}

/// A [`WindowRow`] with what reports leave out.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedRow {
    counter: String,
    provenance: Provenance,
    vmm: u64,
    guest: Option<u64>,
    track: Track,
}

impl SavedWindow {
    fn of(window: &Window) -> Self {
        let row = |row: &WindowRow| SavedRow {
            counter: row.counter.clone(),
            provenance: row.provenance,
            vmm: row.vmm,
            guest: row.guest,
            track: row.track.clone(),
        };
        Self {
            label: window.label.clone(),
            rows: window.rows.iter().map(row).collect(),
            topdown: window.topdown,
            guest_metrics: window.guest_metrics,
            topdown_mark: window.topdown_mark,
            metrics_spoiled: window.metrics_spoiled,
        }
    }

    fn resume(self) -> Option<Window> {
        let row = |row: SavedRow| {
            let Track { request, filter, width, .. } = row.track;
            (1..=64).contains(&width).then(|| WindowRow {
                counter: row.counter,
                event: request.to_string(),
                filter: filter.perf_suffix().to_owned(),
                provenance: row.provenance,
                vmm: row.vmm,
                guest: row.guest,
                track: row.track,
            })
        };
        Some(Window {
            label: self.label,
            rows: self.rows.into_iter().map(row).collect::<Option<_>>()?,
            topdown: self.topdown,
            guest_metrics: self.guest_metrics,
            topdown_mark: self.topdown_mark,
            metrics_spoiled: self.metrics_spoiled,
        })
    }
}

/// State between the two halves of a WRMSR.
#[derive(Debug, Clone, Copy)]
pub(super) struct BeforeWrite {
    /// Of a write of GLOBAL_CTRL: nothing ran before it.
    idle: bool,
}

/// Records windows.
#[derive(Debug, Default)]
pub(super) struct WindowRecorder {
    windows: Vec<Window>,
    dropped: u64,
    open: Option<Window>,
    label: String,
    /// What windows without a label of their own are called while an interval lasts, or empty.
    interval: String,
    /// The last of `windows` is the one that closed last, so reads are about it.
    last_is_kept: bool,
}

impl WindowRecorder {
    pub(super) fn windows(&self) -> &[Window] {
        &self.windows
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn save(&self) -> RecorderState {
        RecorderState {
            windows: self.windows.iter().map(SavedWindow::of).collect(),
            dropped: self.dropped,
            open: self.open.as_ref().map(SavedWindow::of),
            label: self.label.clone(),
            last_is_kept: self.last_is_kept,
        }
    }

    /// `None` if no recorder could have been in this state.
    pub(super) fn resume(saved: RecorderState) -> Option<Self> {
        Some(Self {
            windows: saved.windows.into_iter().map(SavedWindow::resume).collect::<Option<_>>()?,
            dropped: saved.dropped,
            open: match saved.open {
                Some(open) => Some(open.resume()?),
                None => None,
            },
            label: saved.label,
            interval: String::new(),
            last_is_kept: saved.last_is_kept,
        })
    }

    /// The guest marks an interval of this name, or ends it. An operating system opens and closes windows as it
    /// switches between tasks: those within the interval, and the one in which it begins, are named after it.
    pub(super) fn set_interval(&mut self, name: Option<&str>) {
        let name = name.filter(|name| !name.is_empty());
        self.interval = name.map_or_else(String::new, |name| format!("{name}{OF_INTERVAL}"));
        if let Some(window) = &mut self.open
            && window.label.is_empty()
        {
            window.label.clone_from(&self.interval);
        }
    }

    /// Of the next window.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn set_label(&mut self, label: String) {
        self.label = label;
    }

    /// Call before the write takes effect.
    pub(super) fn before_write(
        &mut self,
        index: u32,
        vpmu: &mut Vpmu,
        source: &mut dyn Source,
    ) -> Answer<BeforeWrite> {
        let Some(switch) = Switch::of(vpmu.profile(), index) else {
            return Answer::new(BeforeWrite { idle: false }, PmiRequests::NONE);
        };
        let (disabled, pmis) = match switch {
            Switch::Global => {
                let (outcome, pmis) = vpmu.look_at(index, source).into_parts();
                (outcome == ReadOutcome::Value(0), pmis)
            }
            Switch::Counter => (false, PmiRequests::NONE),
        };
        // After RESET GLOBAL_CTRL enables counters that have no event yet.
        Answer::new(BeforeWrite { idle: disabled || vpmu.active().next().is_none() }, pmis)
    }

    /// Call after the write.
    pub(super) fn after_write(
        &mut self,
        before: BeforeWrite,
        index: u32,
        value: u64,
        outcome: WriteOutcome,
        vpmu: &Vpmu,
        source: &mut dyn Source,
    ) {
        if outcome != WriteOutcome::Done {
            return;
        }
        if let Some(id) = vpmu.counter_at(index) {
            self.guest_wrote(id);
        }
        if register_id(vpmu.profile(), index) == Some(RegisterId::Arm(arm::RegisterId::Pmcr)) {
            self.guest_zeroed(Pmcr(value), vpmu.profile().gp_counters);
        }
        let running = match Switch::of(vpmu.profile(), index) {
            Some(Switch::Global) => Some(value != 0),
            Some(Switch::Counter) => Some(vpmu.active().next().is_some()),
            None => None,
        };
        if running == Some(true) && before.idle && self.open.is_none() {
            let label = std::mem::take(&mut self.label);
            let label = if label.is_empty() { self.interval.clone() } else { label };
            self.open = Some(Window::new(label));
        }
        self.refresh(vpmu, source);
        if running == Some(false) {
            self.close();
        }
    }

    /// Counters may have started or stopped.
    pub(super) fn refresh(&mut self, vpmu: &Vpmu, source: &mut dyn Source) {
        if let Some(window) = &mut self.open {
            window.refresh(vpmu, source);
        }
    }

    /// All counters have stopped.
    fn close(&mut self) {
        let Some(window) = self.open.take() else { return };
        // Guests switch the PMU on and off with nothing in it.
        let named = !window.label.is_empty() && !window.label.ends_with(OF_INTERVAL);
        if !named && window.rows.is_empty() && window.topdown.is_none() {
            return;
        }
        self.last_is_kept = self.windows.len() < MAX_WINDOWS;
        if self.last_is_kept {
            self.windows.push(window);
        } else {
            self.dropped += 1;
        }
    }

    fn last(&mut self) -> Option<&mut Window> {
        if self.last_is_kept { self.windows.last_mut() } else { None }
    }

    /// The first read after a counter has stopped counts.
    pub(super) fn guest_read(&mut self, id: CounterId, value: u64) {
        if let CounterId::Metric(_) = id {
            if self.open.is_none()
                && let Some(window) = self.last()
                && window.topdown.is_some()
                && !window.metrics_spoiled
            {
                window.guest_metrics.get_or_insert(value);
            }
        } else if let Some(row) = self.row(id)
            && row.track.mark.is_none()
            && !row.track.spoiled
        {
            row.guest.get_or_insert(value.wrapping_sub(row.track.start) & low_bits(row.track.width));
        }
    }

    fn guest_wrote(&mut self, id: CounterId) {
        if matches!(id, CounterId::Metric(_) | CounterId::Fixed(3)) {
            let metrics = if self.open.is_some() { self.open.as_mut() } else { self.last() };
            if let Some(window) = metrics {
                window.metrics_spoiled = true;
            }
        }
        if let Some(row) = self.row(id) {
            row.track.spoiled = true;
        }
    }

    /// PMCR_EL0.P and C make counters 0.
    fn guest_zeroed(&mut self, written: Pmcr, counters: u8) {
        let events = if written.event_reset() { counters } else { 0 };
        let cycles = written.cycle_reset().then_some(CounterId::Fixed(0));
        (0..events).map(CounterId::Gp).chain(cycles).for_each(|id| self.guest_wrote(id));
    }

    /// The row that the counter's value is about: the newest one.
    fn row(&mut self, id: CounterId) -> Option<&mut WindowRow> {
        let open = self.open.is_some();
        let window = if open { self.open.as_mut() } else { self.last() };
        window?.rows.iter_mut().rev().find(|row| row.track.id == id)
    }
}

impl Window {
    fn new(label: String) -> Self {
        Self {
            label,
            rows: Vec::new(),
            topdown: None,
            guest_metrics: None,
            topdown_mark: None,
            metrics_spoiled: false,
        }
    }

    fn refresh(&mut self, vpmu: &Vpmu, source: &mut dyn Source) {
        for row in &mut self.rows {
            if !vpmu.running().any(|running| row.is_about(&running)) {
                row.stop(source);
            }
        }
        for running in vpmu.running().filter(|running| !matches!(running.counter, CounterId::Metric(_))) {
            let full = self.rows.len() >= MAX_ROWS;
            match self.rows.iter_mut().rev().find(|row| row.track.id == running.counter) {
                Some(row) if row.is_about(&running) && !row.is_over() => row.start(source),
                _ if !full => {
                    let mut row = WindowRow::new(&running, vpmu.profile(), source);
                    row.start(source);
                    self.rows.push(row);
                }
                _ => {}
            }
        }
        let metrics = vpmu.active().find(|active| matches!(active.counter, CounterId::Metric(_)));
        let filter = match metrics {
            None if vpmu.profile().metrics_level() == 0 => {
                vpmu.running().next().map(|_| PrivilegeFilter::ALL)
            }
            metrics => metrics.map(|active| active.filter),
        };
        if let Some((running, mark)) = self.topdown_mark.filter(|(running, _)| filter != Some(*running)) {
            self.topdown_mark = None;
            if let Some(now) = source.topdown(running) {
                *self.topdown.get_or_insert_default() += now.since(&mark);
            }
        }
        if let (None, Some(filter)) = (self.topdown_mark, filter) {
            self.topdown_mark = source.topdown(filter).map(|now| (filter, now));
        }
    }
}

impl WindowRow {
    fn new(running: &Running, profile: &Profile, source: &dyn Source) -> Self {
        let Running { counter, request, filter, value, width } = *running;
        Self {
            counter: counter_name(profile, counter),
            event: request.to_string(),
            filter: filter.perf_suffix().to_owned(),
            provenance: source.provenance(&request),
            vmm: 0,
            guest: None,
            track: Track { id: counter, request, filter, start: value, width, mark: None, spoiled: false },
        }
    }

    fn is_about(&self, running: &Running) -> bool {
        let Track { id, request, filter, .. } = &self.track;
        *id == running.counter && *request == running.request && *filter == running.filter
    }

    /// The guest gave the stopped counter a new value, so it begins something new.
    fn is_over(&self) -> bool {
        self.track.spoiled && self.track.mark.is_none()
    }

    fn start(&mut self, source: &mut dyn Source) {
        if self.track.mark.is_none() {
            self.track.mark = Some(source.total(&self.track.request, self.track.filter));
            // What was read is not the end of the row.
            self.guest = None;
        }
    }

    fn stop(&mut self, source: &mut dyn Source) {
        if let Some(mark) = self.track.mark.take() {
            let now = source.total(&self.track.request, self.track.filter);
            self.vmm = self.vmm.saturating_add(now.saturating_sub(mark));
        }
    }
}

/// Labels go to people's terminals, so control characters are left out, and long ones cut.
pub(super) fn printable(mut label: String) -> String {
    label.retain(|c| !c.is_control());
    let mut end = label.len().min(MAX_LABEL);
    while !label.is_char_boundary(end) {
        end -= 1;
    }
    label.truncate(end);
    label
}

/// A register that starts and stops what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    /// All counters: 0 stops them.
    Global,
    /// One counter, on a CPU that has nothing for all.
    Counter,
}

impl Switch {
    fn of(profile: &Profile, index: u32) -> Option<Self> {
        use amd::RegisterId::{LegacyPerfCtl, PerfCntrGlobalCtl, PerfCtl};
        use arm::RegisterId::{PmcntenClr, PmcntenSet, Pmcr};
        match (register_id(profile, index)?, profile.amd()) {
            (RegisterId::Intel(intel::RegisterId::PerfGlobalCtrl), _) => Some(Self::Global),
            (RegisterId::Amd(PerfCntrGlobalCtl), Some(amd)) if amd.v2 => Some(Self::Global),
            (RegisterId::Amd(PerfCtl | LegacyPerfCtl), Some(amd)) if !amd.v2 => Some(Self::Counter),
            (RegisterId::Arm(Pmcr | PmcntenSet | PmcntenClr), _) => Some(Self::Counter),
            _ => None,
        }
    }
}

fn register_id(profile: &Profile, index: u32) -> Option<RegisterId> {
    Some(locate(profile.vendor(), index)?.register.id)
}

/// What reports call a counter of this CPU: perf's name on x86, that of its register on Arm.
#[must_use]
pub fn counter_name(profile: &Profile, id: CounterId) -> String {
    let arm = profile.arm().is_some();
    match id {
        CounterId::Gp(n) if arm => format!("PMEVCNTR{n}"),
        CounterId::Fixed(_) if arm => "PMCCNTR".to_owned(),
        CounterId::Gp(n) => format!("PMC{n}"),
        CounterId::Fixed(n) => format!("FIXED_CTR{n}"),
        CounterId::Metric(n) => format!("METRIC{n}"),
        CounterId::Ibs(n) => format!("IBS{n}"),
    }
}
