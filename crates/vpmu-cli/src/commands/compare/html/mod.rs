//! `--html`: the comparison as one self-contained page, without scripts and without anything to load.

pub(in crate::commands) mod style;

use super::Compared;
use crate::commands::stat::shown_level;
use crate::commands::tma::{Category, Tma};
use crate::measured::{Measured, MetricReading, Reading, quantity};
use crate::output::number::{grouped, signed, signed_decimal};
use crate::output::report;
use chrono::DateTime;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeMap;
use std::env;
use std::time::{SystemTime, UNIX_EPOCH};
use vmm::run::RunReport;
use vpmu::event::Event;

/// Level-1 categories, in the order of the register's bytes.
const NAMES: [&str; 4] = ["Retiring", "Bad speculation", "Frontend bound", "Backend bound"];
/// Share of a bar below which a number finds no room in it.
const LABEL_FROM: f64 = 6.0;
/// Share of a bar from which the name of a level-2 part finds room in it.
const NAME_FROM: f64 = 18.0;

/// Where a page comes from.
pub(in crate::commands) struct About {
    /// As one would type it again.
    pub(in crate::commands) command_line: String,
    /// `2026-01-31 12:00:00 UTC`.
    pub(in crate::commands) date: String,
}

impl About {
    /// This process, now; with SOURCE_DATE_EPOCH (reproducible-builds.org) at that time.
    pub(in crate::commands) fn this() -> Self {
        let words: Vec<String> =
            env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let line = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
        let epoch = env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { command_line: format!("vpmu {line}"), date: date(epoch.unwrap_or_else(now)) }
    }
}

fn date(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    time.map_or_else(String::new, |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// The page.
pub(super) fn page(image: &str, report: &RunReport, compared: &Compared<'_>, about: &About) -> String {
    let title = format!("vpmu compare: {image} on {}", report.profile);
    let named: Vec<(String, &Measured)> =
        (1..).zip(compared.windows).map(|(number, window)| (window.name(number), window)).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(style::sheet())) }
            }
            body {
                h1 { "Guest and VMM: " (image) }
                (facts(report, compared, about))
                @if let Some(why) = &compared.no_native { p.none { "No native column: " (why) } }
                @if let Some(why) = &compared.no_tma { p { (why) } }
                @if named.len() > 1 {
                    nav aria-label="Contents" { ol {
                        @for (number, (name, _)) in (1..).zip(&named) { li { a href={"#w" (number)} { (name) } } }
                    } }
                    (overview(&named, report, compared))
                } @else if compared.no_tma.is_none() { (legend()) }
                @for (number, (name, window)) in (1..).zip(&named) { (section(number, name, window, report, compared)) }
            }
        }
    }
    .into_string()
}

/// What was run, and what its numbers are worth.
fn facts(report: &RunReport, compared: &Compared<'_>, about: &About) -> Markup {
    let agreement = compared.agreement;
    let (_, outcome) = report::outcome(&report.outcome);
    html! {
        dl {
            dt { "Command" } dd { code { (about.command_line) } }
            dt { "Version" } dd { "vpmu " (env!("CARGO_PKG_VERSION")) ", " (about.date) }
            dt { "Profile" } dd { (report.profile) }
            dt { "Engine" } dd { (report.engine) @if let Some(detail) = report.detail { ", --detail " (detail) } }
            dt { "Outcome" } dd { (outcome) }
            @for (provenance, events) in provenances(compared.windows) {
                dt { (provenance) } dd { (events.join(", ")) }
            }
            @if agreement.counters > 0 {
                dt { "Agreement" }
                dd {
                    (agreement.counters_equal) " of " (agreement.counters) " counter readings equal the VMM's totals"
                    @if agreement.metrics > 0 {
                        "; " (agreement.metrics_equal) " of " (agreement.metrics)
                        " PERF_METRICS fields are what the VMM's slots round to (one step of a field is 0.39 points)"
                    }
                }
            }
        }
    }
}

/// What is exact, what modelled and so on: each event under what its count is worth, not all under what the engine is.
fn provenances(windows: &[Measured]) -> BTreeMap<String, Vec<&str>> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let counters = windows.iter().flat_map(|window| &window.counters);
    let metrics = windows.iter().flat_map(|window| &window.metrics);
    let rows = counters
        .map(|reading| (reading.provenance, reading.event.as_str()))
        .chain(metrics.map(|reading| (reading.provenance, "PERF_METRICS")));
    for (provenance, event) in rows {
        let mut name = provenance.to_string();
        name[..1].make_ascii_uppercase();
        let events = found.entry(name).or_default();
        if !events.contains(&event) {
            events.push(event);
        }
    }
    found
}

/// All windows below each other, with instructions per cycle and the shares of level 1.
fn overview(named: &[(String, &Measured)], report: &RunReport, compared: &Compared<'_>) -> Markup {
    // Where no model and no PMU stands behind the cycles, their ratios mean nothing either.
    let real = compared.no_tma.is_none();
    let ipcs: Vec<Option<f64>> = named.iter().map(|(_, window)| ipc(window).filter(|_| real)).collect();
    let most = ipcs.iter().flatten().copied().fold(0.0, f64::max);
    let tmas: Vec<Option<Tma>> = named.iter().map(|(_, window)| breakdown(window, report)).collect();
    if ipcs.iter().all(Option::is_none) && tmas.iter().all(Option::is_none) {
        return html! {};
    }
    let plain = tmas.iter().all(Option::is_none);
    html! {
        h2 { "Overview" }
        @if !plain { (legend()) }
        div.bars.overview.plain[plain] {
            @for ((number, (name, _)), (ipc, tma)) in (1..).zip(named).zip(ipcs.iter().zip(&tmas)) {
                a href={"#w" (number)} { (name) }
                div.n { @if let Some(ipc) = ipc { (format!("{ipc:.2}")) " IPC" } }
                div.bar.small title=[ipc.map(|ipc| format!("{ipc:.3} instructions per cycle"))] {
                    @if let Some(ipc) = ipc.filter(|_| most > 0.0) {
                        span.ipc style=(width(ipc * 100.0 / most)) {}
                    }
                }
                @if !plain { @match tma {
                    Some(tma) => (bar(&level1(tma))),
                    None => div {},
                } }
            }
        }
    }
}

/// Instructions per cycle of a window in which both were counted at the same privilege levels.
fn ipc(window: &Measured) -> Option<f64> {
    let find = |event: Event| {
        let wanted = move |reading: &&Reading| quantity(&reading.event) == Some(event);
        window.counters.iter().filter(wanted)
    };
    find(Event::InstRetiredAny).find_map(|instructions| {
        let cycles = find(Event::CpuClkUnhaltedThread).find(|cycles| cycles.filter == instructions.filter)?;
        let cycles = cycles.vmm.filter(|cycles| *cycles > 0)?;
        Some(instructions.vmm? as f64 / cycles as f64)
    })
}

/// The VMM's own slots.
fn breakdown(window: &Measured, report: &RunReport) -> Option<Tma> {
    Tma::new(window.topdown.as_ref()?, shown_level(report), report.counts)
}

fn level1(tma: &Tma) -> [f64; 4] {
    let mut shares = [0.0; 4];
    let percents = tma.categories.iter().filter(|part| part.level == 1).map(|part| part.percent);
    for (share, percent) in shares.iter_mut().zip(percents) {
        *share = percent;
    }
    shares
}

fn section(
    number: usize,
    name: &str,
    window: &Measured,
    report: &RunReport,
    compared: &Compared<'_>,
) -> Markup {
    html! {
        h2 id={"w" (number)} { (name) }
        (bars(window, report))
        @if !window.counters.is_empty() { (counters(&window.counters)) }
        @if !window.metrics.is_empty() { (metrics(&window.metrics, compared)) }
    }
}

/// The level-1 shares of each view, one bar below the other, and the VMM's level 2.
fn bars(window: &Measured, report: &RunReport) -> Markup {
    let share = |pick: &dyn Fn(&MetricReading) -> Option<f64>| -> Option<[f64; 4]> {
        let mut shares = [0.0; 4];
        for (share, reading) in shares.iter_mut().zip(window.metrics.get(..4)?) {
            *share = pick(reading)?;
        }
        Some(shares)
    };
    let tma = breakdown(window, report);
    let views = [
        ("Native", share(&|reading| reading.native_percent)),
        ("VMM", tma.as_ref().map(level1)),
        ("Guest", share(&|reading| reading.guest_percent)),
    ];
    let level2: Vec<&Category> =
        tma.iter().flat_map(|tma| &tma.categories).filter(|part| part.level == 2).collect();
    html! {
        div.bars {
            @for (name, shares) in views {
                @if let Some(shares) = shares { div { (name) } (bar(&shares)) }
            }
            @if !level2.is_empty() { div { "Level 2" } (level2_bar(&level2)) }
        }
        @if !level2.is_empty() {
            p.legend { @for (index, part) in level2.iter().enumerate() {
                span { i.(part_class(index)) {} (part.name) " " (format!("{:.1} %", part.percent)) }
            } }
        }
    }
}

fn legend() -> Markup {
    html! { p.legend { @for (index, name) in NAMES.iter().enumerate() { span { i.{"c" (index)} {} (name) } } } }
}

fn width(percent: f64) -> String {
    format!("width: {:.3}%", percent.clamp(0.0, 100.0))
}

fn bar(shares: &[f64; 4]) -> Markup {
    html! {
        div.bar role="img" aria-label=(describe(NAMES.into_iter().zip(shares.iter().copied()))) {
            @for (index, share) in shares.iter().enumerate() {
                span.{"c" (index)} style=(width(*share)) title=(format!("{} {share:.2} %", NAMES[index])) {
                    @if *share >= LABEL_FROM { (format!("{share:.0} %")) }
                }
            }
        }
    }
}

/// The two parts of each category, in its colour and in a tint of it.
fn level2_bar(parts: &[&Category]) -> Markup {
    html! {
        div.bar role="img" aria-label=(describe(parts.iter().map(|part| (part.name, part.percent)))) {
            @for (index, part) in parts.iter().enumerate() {
                span.(part_class(index)) style=(width(part.percent))
                    title=(format!("{} {:.2} %", part.name, part.percent)) {
                    @if part.percent >= NAME_FROM { (part.name) " " (format!("{:.0} %", part.percent)) }
                    @else if part.percent >= LABEL_FROM { (format!("{:.0} %", part.percent)) }
                }
            }
        }
    }
}

fn part_class(index: usize) -> String {
    format!("{}{}", if index.is_multiple_of(2) { "c" } else { "t" }, index / 2)
}

fn describe<'a>(parts: impl Iterator<Item = (&'a str, f64)>) -> String {
    let parts: Vec<String> = parts.map(|(name, share)| format!("{name} {share:.1} %")).collect();
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
