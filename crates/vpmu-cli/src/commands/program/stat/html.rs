//! `--html`: the counts of a program as one self-contained page, without scripts and without anything to load.

use super::Row;
use crate::commands::compare::html::About;
use crate::commands::compare::html::style;
use crate::commands::program::derived::{Level3, MetricValue};
use crate::commands::tma::Tma;
use crate::output::number::grouped;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// What is on the page.
pub(super) struct Page<'a> {
    pub(super) program: &'a str,
    pub(super) profile: &'a str,
    pub(super) detail: String,
    pub(super) rows: &'a [Row],
    pub(super) user: &'a Option<Tma>,
    pub(super) kernel: &'a Option<Tma>,
    pub(super) level3: &'a [Level3],
    pub(super) path: &'a [(&'static str, f64)],
    pub(super) metrics: &'a [MetricValue],
    /// How counts were estimated, if only samples were taken.
    pub(super) estimate: Option<String>,
}

impl Page<'_> {
    /// The page.
    pub(super) fn render(&self, about: &About) -> String {
        let title = format!("vpmu stat: {} on {}", self.program, self.profile);
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
                    h1 { code { (self.program) } }
                    dl {
                        dt { "Command" } dd { code { (about.command_line) } }
                        dt { "Version" } dd { "vpmu " (env!("CARGO_PKG_VERSION")) ", " (about.date) }
                        dt { "Profile" } dd { (self.profile) ", --detail " (self.detail) }
                    }
                    (self.counts())
                    @if let Some(estimate) = &self.estimate { p { (estimate) } }
                    @if let Some(tma) = self.user {
                        (breakdown("The program itself", tma, self.path))
                        @if !self.path.is_empty() {
                            p { "Dominant path: "
                                @for (index, (name, percent)) in self.path.iter().enumerate() {
                                    @if index > 0 { " › " }
                                    b { (name) } (format!(" {percent:.2} %"))
                                }
                            }
                        }
                        (self.level3())
                    }
                    @if let Some(tma) = self.kernel { (breakdown("The kernel for it", tma, &[])) }
                    @if !self.metrics.is_empty() {
                        h2 { "Metrics of the program itself" }
                        table { tbody { @for metric in self.metrics { tr {
                            td { (metric.group) ": " (metric.name) }
                            td.n { @match metric.value {
                                Some(value) => (format!("{value:.4}")),
                                None => span.none { "not counted" },
                            } }
                        } } } }
                    }
                }
            }
        }
        .into_string()
    }

    fn counts(&self) -> Markup {
        let count = |count: Option<u64>| html! { td.n { @if let Some(count) = count { (grouped(count)) } } };
        html! {
            h2 { "Counts" }
            table {
                thead { tr {
                    th { "Event" } th.n { "User" } th.n { "Kernel" } th.n { "Rest" } th { "Provenance" }
                } }
                tbody { @for row in self.rows { tr {
                    td { (row.event) } (count(row.user)) (count(row.kernel)) (count(row.rest))
                    td { (row.provenance) }
                } } }
            }
        }
    }

    fn level3(&self) -> Markup {
        html! { @if !self.level3.is_empty() {
            h2 { "Level 3, shares of cycles" }
            table { tbody { @for part in self.level3 { tr {
                td { (part.of) ": " (part.name) }
                td.n { (format!("{:.2} %", part.percent_of_cycles)) }
                td { (meter(part.percent_of_cycles)) }
            } } } }
        } }
    }
}

fn meter(percent: f64) -> Markup {
    html! { meter min="0" max="100" value=(format!("{percent:.2}")) { (format!("{percent:.2} %")) } }
}

fn breakdown(whose: &str, tma: &Tma, path: &[(&'static str, f64)]) -> Markup {
    html! {
        h2 { (whose) ": " (grouped(tma.slots)) " slots" }
        table { tbody { @for category in &tma.categories { tr {
            td { @if category.level > 1 { "\u{2003}" }
                 @if path.iter().any(|(name, _)| *name == category.name) { b { (category.name) } }
                 @else { (category.name) } }
            td.n { (format!("{:.2} %", category.percent)) }
            td { (meter(category.percent)) }
        } } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::{Provenance, TopdownSlots};

    #[test]
    fn a_page_has_counts_breakdown_and_path_and_no_markup_of_the_user() {
        let slots = TopdownSlots { slots: 100, fields: [30, 5, 5, 60, 0, 5, 5, 40] };
        let page = Page {
            program: "prog <script>",
            profile: "zen4",
            detail: "timing".to_owned(),
            rows: &[Row::plain("instructions", Some(1_234_567), Some(5), Provenance::Exact)],
            user: &Tma::new(&slots, 2, Provenance::Modelled),
            kernel: &None,
            level3: &[Level3 { name: "L3 bound", of: "Memory bound", percent_of_cycles: 31.5 }],
            path: &[("Backend bound", 60.0), ("Memory bound", 40.0)],
            metrics: &[MetricValue { group: "Summary", name: "ipc", value: None }],
            estimate: Some("Estimated from 90 samples".to_owned()),
        };
        let about = About { command_line: "vpmu stat".to_owned(), date: "2026-01-01".to_owned() };
        let text = page.render(&about);
        let prog = "prog &lt;script&gt;";
        for expected in
            ["1,234,567", "<b>Memory bound</b>", "31.50 %", "not counted", prog, "from 90 samples"]
        {
            assert!(text.contains(expected), "{expected}");
        }
        assert!(!text.contains("<script"));
    }
}
