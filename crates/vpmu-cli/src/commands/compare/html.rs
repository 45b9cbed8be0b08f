//! `--html`: the comparison as one self-contained page, without scripts and without anything to load.

use super::Compared;
use crate::commands::stat::shown_level;
use crate::commands::tma::{Category, Tma};
use crate::measured::{Measured, MetricReading, Reading};
use crate::output::number::{grouped, signed, signed_decimal};
use crate::output::report;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use vmm::run::RunReport;

/// Colours that stay apart for colour-blind readers (Okabe and Ito, 2008), one per level-1 category.
const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --dim: #777; --good: #0a7f5a; --warn: #b25000; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
p.run { color: var(--dim); margin-top: 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0; }
.scroll { overflow-x: auto; }
th, td { padding: .15rem .7rem .15rem 0; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
th { font-weight: 600; } .n { text-align: right; } .none { color: var(--dim); }
.equal { color: var(--good); } .differs { color: var(--warn); font-weight: 600; }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: .25rem .8rem; align-items: center; }
.bar { display: flex; height: 1.3rem; border-radius: 3px; overflow: hidden; background: var(--line); }
.bar span { overflow: hidden; font-size: .75rem; line-height: 1.3rem; color: #fff; text-align: center; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; font-size: .85rem; }
.legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
.c0 { background: #009e73; } .c1 { background: #d55e00; } .c2 { background: #a8740a; } .c3 { background: #0072b2; }
";
/// Level-1 categories, in the order of the register's bytes.
const NAMES: [&str; 4] = ["Retiring", "Bad speculation", "Frontend bound", "Backend bound"];
/// Share of a bar below which a number finds no room in it.
const LABEL_FROM: f64 = 6.0;

/// The page.
pub(super) fn page(image: &str, report: &RunReport, compared: &Compared<'_>) -> String {
    let title = format!("vpmu compare: {image} on {}", report.profile);
    let agreement = compared.agreement;
    let detail = report.detail.map_or_else(String::new, |detail| format!(", --detail {detail}"));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Guest and VMM: " (image) }
                p.run {
                    "Profile " (report.profile) ", engine " (report.engine) (detail) ", " (report.counts) " counts: "
                    (report::worth(report.counts)) "."
                }
                p {
                    (agreement.counters_equal) " of " (agreement.counters) " counter readings equal the VMM's totals; "
                    (agreement.metrics_equal) " of " (agreement.metrics)
                    " PERF_METRICS fields are what the VMM's slots round to. One step of a field is 0.39 points."
                }
                @if let Some(why) = &compared.no_native { p.none { "No native column: " (why) } }
                @if let Some(why) = &compared.no_tma { p { (why) } } @else { p.legend { @for (index, name) in NAMES.iter().enumerate() { span { i.{"c" (index)} {} (name) } } } }
                @for (number, window) in (1..).zip(compared.windows) { (section(number, window, report, compared)) }
            }
        }
    }
    .into_string()
}

fn section(number: usize, window: &Measured, report: &RunReport, compared: &Compared<'_>) -> Markup {
    html! {
        h2 { (window.name(number)) }
        (bars(window, report))
        @if !window.counters.is_empty() { (counters(&window.counters)) }
        @if !window.metrics.is_empty() { (metrics(&window.metrics, compared)) }
    }
}

/// The level-1 shares of each view, one bar below the other.
fn bars(window: &Measured, report: &RunReport) -> Markup {
    let share = |pick: &dyn Fn(&MetricReading) -> Option<f64>| -> Option<[f64; 4]> {
        let mut shares = [0.0; 4];
        for (share, reading) in shares.iter_mut().zip(window.metrics.get(..4)?) {
            *share = pick(reading)?;
        }
        Some(shares)
    };
    let views = [
        ("Native", share(&|reading| reading.native_percent)),
        ("VMM", share(&|reading| Some(reading.vmm_percent))),
        ("Guest", share(&|reading| reading.guest_percent)),
    ];
    let tma = window.topdown.as_ref().and_then(|slots| Tma::new(slots, shown_level(report), report.counts));
    html! {
        div.bars {
            @for (name, shares) in views {
                @if let Some(shares) = shares { div { (name) } (bar(&shares)) }
            }
        }
        @if let Some(tma) = tma {
            p.legend { @for part in tma.categories.iter().filter(|part| part.level == 2) { (small(part)) } }
        }
    }
}

fn small(part: &Category) -> Markup {
    html! { span { (part.name) " " (format!("{:.1} %", part.percent)) } }
}

fn bar(shares: &[f64; 4]) -> Markup {
    html! {
        div.bar role="img" aria-label=(describe(shares)) {
            @for (index, share) in shares.iter().enumerate() {
                span.{"c" (index)} style=(format!("width: {:.3}%", share.clamp(0.0, 100.0)))
                    title=(format!("{} {share:.2} %", NAMES[index])) {
                    @if *share >= LABEL_FROM { (format!("{share:.0} %")) }
                }
            }
        }
    }
}

fn describe(shares: &[f64; 4]) -> String {
    let parts: Vec<String> =
        NAMES.iter().zip(shares).map(|(name, share)| format!("{name} {share:.1} %")).collect();
    parts.join(", ")
}

fn counters(readings: &[Reading]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { "Counter" } th { "Event" } th.n { "Guest read" } th.n { "VMM counted" } th.n { "Difference" }
                th { "Provenance" }
            } }
            tbody { @for reading in readings { tr {
                td { (reading.counter) } td { (reading.event) (reading.filter) }
                td.n { (number(reading.guest)) } td.n { (number(reading.vmm)) }
                (judged(reading.difference.map(|difference| (signed(difference), difference == 0))))
                td { (reading.provenance) }
            } } }
        } }
    }
}

fn metrics(readings: &[MetricReading], compared: &Compared<'_>) -> Markup {
    let native = readings.iter().any(|reading| reading.native_percent.is_some());
    html! {
        div.scroll { table {
            thead { tr {
                th { "PERF_METRICS" } th.n { "Field" }
                @if native { th.n { "Native %" } }
                th.n { "Guest %" } th.n { "VMM %" } th.n { "Points" } th.n { "8-bit rounding" } th.n { "Other steps" }
                @if compared.converted { th.n { "Rebuilt" } th.n { "Rebuilt points" } th.n { "Lost steps" } }
            } }
            tbody { @for reading in readings { tr {
                td { (reading.metric) } td.n { (number(reading.guest_field)) }
                @if native { td.n { (percent(reading.native_percent)) } }
                td.n { (percent(reading.guest_percent)) } td.n { (percent(Some(reading.vmm_percent))) }
                td.n { (reading.difference_points.map_or_else(|| "-".to_owned(), |points| signed_decimal(points, 2))) }
                td.n { (signed_decimal(reading.rounding_points, 2)) }
                (judged(reading.unexplained_steps.map(|steps| (signed(steps.into()), steps == 0))))
                @if compared.converted {
                    td.n { (reading.rebuilt_field) } td.n { (signed_decimal(reading.rebuilt_points, 2)) }
                    (judged(Some((signed(reading.rebuilt_steps.into()), reading.rebuilt_steps == 0))))
                }
            } } }
        } }
    }
}

fn number(value: Option<u64>) -> Markup {
    html! { @match value { Some(value) => (grouped(value)), None => span.none { "-" } } }
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

fn judged(difference: Option<(String, bool)>) -> Markup {
    html! { @match difference {
        Some((text, true)) => td.n.equal { (text) },
        Some((text, false)) => td.n.differs { (text) },
        None => td.n.none { "-" },
    } }
}
