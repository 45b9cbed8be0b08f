//! What a guest measured, next to what the VMM counted meanwhile.

use crate::output::printable;
use host_perf::{Level, Metric, SlotCounts};
use serde::Serialize;
use vmm::machine::pmu::window::{Window, WindowRow};
use vmm::run::RunReport;
use vpmu::event::Event;
use vpmu::metrics::{self, ALL_FIELDS, FIELD_NAMES, FULL_SCALE, LEVEL1_FIELDS};
use vpmu::{Provenance, TopdownSlots};

/// One counter over one measuring window.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Reading {
    /// The counter, for example `PMC0`.
    pub(crate) counter: String,
    /// Event name or raw code.
    pub(crate) event: String,
    /// `:u`, `:k` or empty for both.
    pub(crate) filter: String,
    /// What the numbers are worth.
    pub(crate) provenance: Provenance,
    /// What the guest read; `None` if it never did.
    pub(crate) guest: Option<u64>,
    /// Difference of the VMM's totals; `None` for an event that it cannot count.
    pub(crate) vmm: Option<u64>,
    /// Guest minus VMM.
    pub(crate) difference: Option<i128>,
    /// The difference in percent of the VMM's total.
    pub(crate) difference_percent: Option<f64>,
}

impl Reading {
    /// Puts the two views next to each other.
    pub(crate) fn new(
        counter: &str,
        (event, filter): (&str, &str),
        provenance: Provenance,
        guest: Option<u64>,
        vmm: u64,
    ) -> Self {
        let vmm = (provenance != Provenance::Unknown).then_some(vmm);
        let difference = guest.zip(vmm).map(|(guest, vmm)| i128::from(guest) - i128::from(vmm));
        let difference_percent = difference
            .zip(vmm.filter(|&vmm| vmm != 0))
            .map(|(difference, vmm)| difference as f64 * 100.0 / vmm as f64);
        Self {
            counter: counter.to_owned(),
            event: event.to_owned(),
            filter: filter.to_owned(),
            provenance,
            guest,
            vmm,
            difference,
            difference_percent,
        }
    }
}

impl From<&WindowRow> for Reading {
    fn from(row: &WindowRow) -> Self {
        Self::new(&row.counter, (&row.event, &row.filter), row.provenance, row.guest, row.vmm)
    }
}

/// One field of PERF_METRICS over one measuring window. All points are percentage points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MetricReading {
    /// perf's name, for example `topdown-retiring`.
    pub(crate) metric: &'static str,
    /// What the numbers are worth.
    pub(crate) provenance: Provenance,
    /// The field as the guest read it, 0 to 255.
    pub(crate) guest_field: Option<u64>,
    /// The same in percent of the slots.
    pub(crate) guest_percent: Option<f64>,
    /// The VMM's share, not rounded to a field.
    pub(crate) vmm_percent: f64,
    /// Guest minus VMM.
    pub(crate) difference_points: Option<f64>,
    /// The part of the difference that the register's 8 bits make: the field that the VMM's slots give,
    /// minus their exact share.
    pub(crate) rounding_points: f64,
    /// The rest, in steps of the field (100/255 points each).
    pub(crate) unexplained_steps: Option<i64>,
    /// The field that a VMM would rebuild from the host's metric counts.
    pub(crate) rebuilt_field: u64,
    /// What that loses against the raw field, in steps: 0 or negative.
    pub(crate) rebuilt_steps: i64,
    /// The rebuilt field minus the exact share.
    pub(crate) rebuilt_points: f64,
    /// The same workload on the host, in percent of its slots.
    pub(crate) native_percent: Option<f64>,
}

/// All windows of a run.
pub(crate) fn windows(report: &RunReport) -> Vec<Measured> {
    let level = report.metrics_level;
    report
        .windows
        .iter()
        .map(|window| {
            let rows = window.rows.iter().map(|row| (row.event.as_str(), row.provenance));
            Measured::new(window, level, slots_provenance(rows, report.counts))
        })
        .collect()
}

/// What slots are worth: what their counter says, and without one what the source as a whole is worth.
pub(crate) fn slots_provenance<'a>(
    rows: impl IntoIterator<Item = (&'a str, Provenance)>,
    otherwise: Provenance,
) -> Provenance {
    let slots = |event: &str| quantity(event) == Some(Event::TopdownSlots);
    rows.into_iter().find(|(event, _)| slots(event)).map_or(otherwise, |(_, provenance)| provenance)
}

/// One measuring window.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measured {
    /// The guest's name for it, or empty.
    pub(crate) label: String,
    /// Counters that ran.
    pub(crate) counters: Vec<Reading>,
    /// Fields of PERF_METRICS, when it ran.
    pub(crate) metrics: Vec<MetricReading>,
    /// The VMM's slots by category behind them.
    pub(crate) topdown: Option<TopdownSlots>,
}

impl Measured {
    /// The guest's name for it, fit for a terminal, or `window N`, with the privilege level if all its counters have
    /// the same.
    pub(crate) fn name(&self, number: usize) -> String {
        if !self.label.is_empty() {
            return printable(&self.label);
        }
        let all = |filter| !self.counters.is_empty() && self.counters.iter().all(|row| row.filter == filter);
        let level = if all(":u") {
            " (user)"
        } else if all(":k") {
            " (kernel)"
        } else {
            ""
        };
        format!("window {number}{level}")
    }

    /// From the VMM's record, on a profile with this PERF_METRICS level; slots are worth `provenance`.
    fn new(window: &Window, level: u8, provenance: Provenance) -> Self {
        Self {
            label: window.label.clone(),
            counters: window.rows.iter().map(Reading::from).collect(),
            metrics: match window.topdown {
                Some(slots) if level > 0 => metric_readings(&slots, window.guest_metrics, level, provenance),
                _ => Vec::new(),
            },
            topdown: window.topdown,
        }
    }
}

/// The fields of PERF_METRICS, the guest's reading next to the VMM's slots.
pub(crate) fn metric_readings(
    slots: &TopdownSlots,
    guest: Option<u64>,
    level: u8,
    provenance: Provenance,
) -> Vec<MetricReading> {
    let fields = if level >= 2 { FIELD_NAMES.len() } else { LEVEL1_FIELDS };
    if slots.slots == 0 {
        return Vec::new();
    }
    let raw = metrics::fractions(&slots.fields, slots.slots, level);
    let rebuilt = rebuilt(raw, slots.slots, if level >= 2 { Level::Two } else { Level::One });
    let percent = |field: u64| field as f64 * 100.0 / FULL_SCALE as f64;
    (0..fields)
        .map(|index| {
            let vmm_percent = slots.fields[index] as f64 * 100.0 / slots.slots as f64;
            let ideal = metrics::field(raw, index);
            let rebuilt = rebuilt.map_or(0, |fields| u64::from(fields[index]));
            let guest_field = guest.map(|value| metrics::field(value, index));
            MetricReading {
                metric: FIELD_NAMES[index],
                provenance,
                guest_field,
                guest_percent: guest_field.map(percent),
                vmm_percent,
                difference_points: guest_field.map(|field| percent(field) - vmm_percent),
                rounding_points: percent(ideal) - vmm_percent,
                unexplained_steps: guest_field.map(|field| field as i64 - ideal as i64),
                rebuilt_field: rebuilt,
                rebuilt_steps: rebuilt as i64 - ideal as i64,
                rebuilt_points: percent(rebuilt) - vmm_percent,
                native_percent: None,
            }
        })
        .collect()
}

/// The fields that a VMM rebuilds from the host's metric events, instead of passing `raw` through; `None` without
/// slots.
///
/// Two roundings down: the host kernel's, from fields to counts, and the VMM's, which makes count · 255 / slots of
/// each count (the KVM series of 2022 that opens one event per field). Our own host source rounds to the nearest
/// there and loses nothing ([`SlotCounts::to_metrics`]). `slots` is what FIXED_CTR3 counted meanwhile.
fn rebuilt(raw: u64, slots: u64, level: Level) -> Option<[u8; ALL_FIELDS]> {
    let counts = SlotCounts::from_metrics(slots, raw, level);
    let scaled = |metric| u128::from(counts.get(metric).unwrap_or(0)) * u128::from(FULL_SCALE);
    let field = |metric| Some(u8::try_from(scaled(metric).checked_div(slots.into())?).unwrap_or(u8::MAX));
    let mut fields = [0; ALL_FIELDS];
    for (slot, metric) in fields.iter_mut().zip(Metric::ALL) {
        *slot = field(metric)?;
    }
    Some(fields)
}

/// The sums of two events over all windows in which both ran with the same filter: numerator on
/// `counter`, denominator on any other. `None` without such a window.
///
/// Sums over the whole run would mislead: the two counters need not have run at the same times.
pub(crate) fn together(
    windows: &[Measured],
    counter: &str,
    (event, filter): (&str, &str),
    denominator: Event,
) -> Option<(u64, u64)> {
    let mut sums = None;
    for window in windows {
        let find = |wanted: &dyn Fn(&Reading) -> bool| {
            window.counters.iter().find(|r| r.filter == filter && wanted(r)).and_then(|r| r.vmm)
        };
        let above = find(&|r| r.counter == counter && r.event == event);
        let below = find(&|r| quantity(&r.event) == Some(denominator.counts_as()));
        if let (Some(above), Some(below)) = (above, below) {
            let (sum_above, sum_below) = sums.unwrap_or((0_u64, 0_u64));
            sums = Some((sum_above.saturating_add(above), sum_below.saturating_add(below)));
        }
    }
    sums
}

/// The quantity that an event name stands for.
pub(crate) fn quantity(name: &str) -> Option<Event> {
    Event::from_name(name).map(Event::counts_as)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_window_without_a_name_has_its_number_and_privilege_level() {
        let name = |filters: &[&str]| {
            let row = |filter: &&str| Reading::new("PMC0", ("X", filter), Provenance::Exact, None, 1);
            let counters = filters.iter().map(row).collect();
            Measured { label: String::new(), counters, metrics: Vec::new(), topdown: None }.name(3)
        };
        assert_eq!([name(&[":u", ":u"]), name(&[":k"])], ["window 3 (user)", "window 3 (kernel)"]);
        assert_eq!([name(&[":u", ":k"]), name(&[""]), name(&[])], ["window 3", "window 3", "window 3"]);
    }

    proptest! {
        /// The figure that the KVM series argue about.
        #[test]
        fn rebuilding_loses_one_step_at_most(raw: u64, slots in FULL_SCALE..1 << 48) {
            let rebuilt = rebuilt(raw, slots, Level::Two).unwrap();
            for (field, rebuilt) in raw.to_le_bytes().into_iter().zip(rebuilt) {
                let lost = i16::from(field) - i16::from(rebuilt);
                prop_assert!((0..=1).contains(&lost), "{field} of {raw:#x} became {rebuilt}");
            }
        }

        #[test]
        fn rebuilding_is_exact_where_the_slots_are_a_multiple_of_the_scale(raw: u64, units in 1..1_u64 << 40) {
            prop_assert_eq!(rebuilt(raw, units * FULL_SCALE, Level::Two), Some(raw.to_le_bytes()));
        }
    }
}
