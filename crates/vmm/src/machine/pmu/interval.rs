//! Intervals that the guest marks through the control port: the source's totals between two points of its code,
//! whatever its PMU does meanwhile.
//!
//! A guest whose kernel multiplexes counters, or stops them in every interrupt handler, has no
//! [measuring window](super::window) that is about one piece of its code. An interval is: a program marks it, and
//! what its profiler then says stands next to what the VMM counted.

use crate::counts::Source;
use serde::{Deserialize, Serialize};
use vpmu::event::{Event, EventCode};
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Provenance, TopdownSlots};

/// Most intervals kept; later ones are not recorded.
const MAX_INTERVALS: usize = 256;
/// What is counted, at both privilege levels.
const EVENTS: [Event; 4] = [
    Event::InstRetiredAny,
    Event::BrInstRetiredAllBranches,
    Event::BrInstRetiredFarBranch,
    Event::CpuClkUnhaltedThread,
];
const USER: PrivilegeFilter = PrivilegeFilter { os: false, usr: true };
const KERNEL: PrivilegeFilter = PrivilegeFilter { os: true, usr: false };

/// One event over one interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IntervalRow {
    /// Event.
    pub event: &'static str,
    /// Occurrences above privilege level 0.
    pub user: u64,
    /// Occurrences at privilege level 0.
    pub kernel: u64,
    /// What the numbers are worth.
    pub provenance: Provenance,
}

/// What the VMM counted between two marks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// The name that the guest gave it, or empty.
    pub label: String,
    /// Events that the source can count.
    pub rows: Vec<IntervalRow>,
    /// Slots by category above privilege level 0; `None` where the source knows no categories.
    pub topdown_user: Option<TopdownSlots>,
}

/// Totals at one moment; of an event that the source cannot count 0.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Totals {
    user: [u64; EVENTS.len()],
    kernel: [u64; EVENTS.len()],
    topdown_user: Option<TopdownSlots>,
}

/// A finished interval, without what can be derived.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finished {
    label: String,
    begin: Totals,
    end: Totals,
}

/// Records intervals. They do not nest: a new one replaces one that has not ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IntervalRecorder {
    open: Option<(String, Totals)>,
    finished: Vec<Finished>,
}

impl IntervalRecorder {
    pub(super) fn begin(&mut self, label: String, source: &mut dyn Source) {
        self.open = Some((label, Totals::now(source)));
    }

    pub(super) fn end(&mut self, source: &mut dyn Source) {
        if let Some((label, begin)) = self.open.take()
            && self.finished.len() < MAX_INTERVALS
        {
            self.finished.push(Finished { label, begin, end: Totals::now(source) });
        }
    }

    /// The name of the one that lasts.
    pub(super) fn open(&self) -> Option<&str> {
        self.open.as_ref().map(|(label, _)| label.as_str())
    }

    pub(super) fn intervals(&self, source: &dyn Source) -> Vec<Interval> {
        self.finished.iter().map(|finished| finished.interval(source)).collect()
    }
}

impl Totals {
    fn now(source: &mut dyn Source) -> Self {
        let mut totals = Self::default();
        for (index, event) in EVENTS.into_iter().enumerate() {
            let request = request(event);
            if source.provenance(&request) != Provenance::Unknown {
                totals.user[index] = source.total(&request, USER);
                totals.kernel[index] = source.total(&request, KERNEL);
            }
        }
        totals.topdown_user = source.topdown(USER);
        totals
    }
}

impl Finished {
    fn interval(&self, source: &dyn Source) -> Interval {
        let Self { label, begin, end } = self;
        let row = |(index, event): (usize, Event)| {
            let provenance = source.provenance(&request(event));
            (provenance != Provenance::Unknown).then(|| IntervalRow {
                event: event.name(),
                user: end.user[index].saturating_sub(begin.user[index]),
                kernel: end.kernel[index].saturating_sub(begin.kernel[index]),
                provenance,
            })
        };
        Interval {
            label: label.clone(),
            rows: EVENTS.into_iter().enumerate().filter_map(row).collect(),
            topdown_user: end.topdown_user.zip(begin.topdown_user).map(|(end, begin)| end.since(&begin)),
        }
    }
}

fn request(event: Event) -> EventRequest {
    EventRequest::named(event, EventCode::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::model::{ModelSource, Retired};
    use soft_cpu::Totals as CpuTotals;
    use vpmu::profile::SAPPHIRE_RAPIDS;

    fn source() -> ModelSource {
        ModelSource::new(&SAPPHIRE_RAPIDS, Retired::default())
    }

    #[test]
    fn an_end_without_a_beginning_is_no_interval() {
        let mut recorder = IntervalRecorder::default();
        recorder.end(&mut source());
        assert_eq!(recorder.intervals(&source()), []);
        recorder.begin("a".into(), &mut source());
        recorder.end(&mut source());
        recorder.end(&mut source());
        assert_eq!(recorder.intervals(&source()).len(), 1);
    }

    #[test]
    fn a_new_beginning_replaces_the_old_one_and_the_number_is_bounded() {
        let mut recorder = IntervalRecorder::default();
        recorder.begin("a".into(), &mut source());
        recorder.begin("b".into(), &mut source());
        recorder.end(&mut source());
        assert_eq!(recorder.intervals(&source())[0].label, "b");
        for _ in 0..2 * MAX_INTERVALS {
            recorder.begin(String::new(), &mut source());
            recorder.end(&mut source());
        }
        assert_eq!(recorder.intervals(&source()).len(), MAX_INTERVALS);
    }

    #[test]
    fn every_event_has_a_row_on_the_soft_engine() {
        let retired = Retired::default();
        let mut source = ModelSource::new(&SAPPHIRE_RAPIDS, retired.clone());
        let mut recorder = IntervalRecorder::default();
        recorder.begin("x".into(), &mut source);
        retired.set(&CpuTotals::default());
        recorder.end(&mut source);
        let intervals = recorder.intervals(&source);
        assert_eq!(intervals[0].rows.len(), EVENTS.len());
        assert!(intervals[0].topdown_user.is_some());
    }
}
