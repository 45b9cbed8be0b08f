//! The top-down breakdown (TMA) of the slots that were counted.

use crate::measured::Measured;
use crate::output::bar::{bar, legend, stacked};
use crate::output::number::{grouped, percent_of};
use crate::output::{DIM, HEADING, TMA, columns, paint, report, terminal};
use serde::Serialize;
use std::fmt::Write as _;
use vmm::counts::timing::core_of;
use vmm::engine::Detail;
use vmm::run::RunReport;
use vpmu::{Profile, Provenance, TopdownSlots};

/// Why a run has no breakdown that means anything, and which flags give one; `None` where a model of the core or a
/// PMU stands behind the slots.
pub(super) fn missing(report: &RunReport) -> Option<String> {
    match (report.detail, report.counts) {
        (Some(Detail::Timing), _) | (None, Provenance::Host | Provenance::Exact) => return None,
        (None, counts) => {
            return Some(format!(
                "No top-down breakdown: {counts} counts know nothing of the code; --engine soft --detail timing has \
                 one."
            ));
        }
        (Some(_), _) => {}
    }
    match Profile::by_name(&report.profile).filter(|profile| core_of(profile).is_none()) {
        Some(profile) => Some(format!(
            "No top-down breakdown: {} has no model of its core, {}, for --detail timing.",
            profile.name, profile.core
        )),
        None => Some("No top-down breakdown: --detail timing has one, from a model of the core.".to_owned()),
    }
}

/// Takes the slots by category out of a report if they mean nothing; then the reason is returned.
pub(super) fn withhold(report: &mut RunReport, windows: &mut [Measured]) -> Option<String> {
    let why = missing(report)?;
    report.topdown = TopdownSlots::default();
    for window in &mut report.windows {
        window.topdown = None;
    }
    for window in windows {
        window.topdown = None;
        window.metrics.clear();
    }
    Some(why)
}

/// Width of a bar of 100 %, in characters, where the terminal has room for it.
const BAR: usize = 40;
/// Narrowest bar that still tells something.
const MIN_BAR: usize = 10;
/// Characters of a line before its bar.
const BEFORE_BAR: usize = 34;
/// Characters of a line of the table of all windows beside the name: indent, four shares, the gap before the bar.
const SHARES: usize = 42;
/// Characters of the largest part, with the gap before it.
const LARGEST: usize = 20;
/// Narrowest bar of all four categories that still tells something.
const MIN_STACKED: usize = 6;
/// Columns where there is no terminal.
const WIDE: usize = 100;
/// What is left of the name of a window on a narrow terminal, and most that is shown of it elsewhere.
const MIN_NAME: usize = 12;
const MAX_NAME: usize = 24;
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Category {
    /// TMA's name.
    pub(super) name: &'static str,
    /// 1, or 2 for a part of the category before it.
    pub(super) level: u8,
    pub(super) slots: u64,
    /// Share of all slots.
    pub(super) percent: f64,
}
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Tma {
    pub(super) slots: u64,
    /// What the numbers are worth.
    pub(super) provenance: Provenance,
    /// Level 1, each followed by its level-2 parts where the profile has them.
    pub(super) categories: Vec<Category>,
}

/// Level-1 names in the order of the register's bytes; each with the level-2 part that has a field of
/// its own and the part that is the rest of it.
const NAMES: [(&str, &str, &str); 4] = [
    ("Retiring", "Heavy operations", "Light operations"),
    ("Bad speculation", "Branch mispredicts", "Machine clears"),
    ("Frontend bound", "Fetch latency", "Fetch bandwidth"),
    ("Backend bound", "Memory bound", "Core bound"),
];

impl Tma {
    /// The breakdown on a profile with this PERF_METRICS level; `None` when no slots were counted.
    pub(super) fn new(topdown: &TopdownSlots, level: u8, provenance: Provenance) -> Option<Self> {
        let category = |name, level, slots| {
            percent_of(slots, topdown.slots).map(|percent| Category { name, level, slots, percent })
        };
        let mut categories = Vec::new();
        for (index, (name, part, rest)) in NAMES.into_iter().enumerate() {
            let whole = topdown.fields[index];
            categories.push(category(name, 1, whole)?);
            if level >= 2 {
                let slots = topdown.fields[index + NAMES.len()];
                categories.push(category(part, 2, slots)?);
                categories.push(category(rest, 2, whole.saturating_sub(slots))?);
            }
        }
        Some(Self { slots: topdown.slots, provenance, categories })
    }

    /// The largest category of a level.
    pub(super) fn dominant(&self, level: u8) -> Option<&Category> {
        self.categories
            .iter()
            .filter(|category| category.level == level)
            .max_by_key(|category| category.slots)
    }

    /// The breakdown with bars.
    pub(super) fn render(&self) -> String {
        let width = columns().saturating_sub(BEFORE_BAR).clamp(MIN_BAR, BAR);
        let mut style = anstyle::Style::new();
        let mut whole = TMA.into_iter();
        let mut text = format!(
            "{} of {} slots {}\n",
            paint(HEADING, "Top-down breakdown"),
            grouped(self.slots),
            paint(report::provenance_style(self.provenance), format_args!("({})", self.provenance))
        );
        for Category { name, level, percent, .. } in &self.categories {
            let indent = usize::from(*level - 1) * 2;
            let name = format!("{:indent$}{name}", "");
            if *level == 1 {
                style = whole.next().unwrap_or_default();
            }
            let bar = bar(percent / 100.0, width);
            let row = format!("  {name:<22}{percent:>6.2} %");
            let row = if *level > 1 { paint(DIM, row) } else { row };
            let bar = match bar.as_str() {
                "" => bar,
                _ if *level > 1 => format!("  {}", paint(style.dimmed(), bar)),
                _ => format!("  {}", paint(style, bar)),
            };
            let _ = writeln!(text, "{row}{bar}");
        }
        text
    }
}

/// The breakdown of a measuring window.
#[derive(Debug, Serialize)]
pub(super) struct WindowTma {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) tma: Tma,
}

/// One line for each window: shares of level 1, a stacked bar, and the largest part.
pub(super) fn render_windows(windows: &[WindowTma]) -> String {
    let longest = windows.iter().map(|window| window.name.chars().count()).max().unwrap_or(0);
    let columns = terminal().unwrap_or(WIDE);
    let most = columns.saturating_sub(SHARES + LARGEST + MIN_STACKED).clamp(MIN_NAME, MAX_NAME);
    let names = longest.clamp("Window".len(), most);
    let left = columns.saturating_sub(names + SHARES);
    // A narrow terminal has no room for the bar, then none for the largest part.
    let part = |name: &str| if left < LARGEST { String::new() } else { format!("  {name}") };
    let width = left.saturating_sub(LARGEST).min(BAR);
    let width = if width < MIN_STACKED { 0 } else { width };
    let shares = ["Retiring", "Bad spec", "Frontend", "Backend"];
    let mut text = format!("  {}\n", legend(NAMES.map(|(name, _, _)| name), TMA));
    let heads: String = shares.iter().map(|share| format!("{share:>9}")).collect();
    let head = format!("  {:<names$}{heads} %  {:<width$}{}", "Window", "", part("Largest part"));
    let _ = writeln!(text, "{}", paint(HEADING, head.trim_end()));
    for WindowTma { name, tma } in windows {
        let name: String = name.chars().take(names).collect();
        let level1: Vec<f64> = tma.categories.iter().filter(|c| c.level == 1).map(|c| c.percent).collect();
        let mut fractions = [0.0; 4];
        for (fraction, percent) in fractions.iter_mut().zip(&level1) {
            *fraction = percent / 100.0;
        }
        let numbers: String = level1.iter().map(|percent| format!("{percent:>9.1}")).collect();
        let dominant = tma.dominant(2).or_else(|| tma.dominant(1)).map_or("", |category| category.name);
        let row =
            format!("  {name:<names$}{numbers}    {}{}", stacked(fractions, TMA, width), part(dominant));
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output;

    fn slots() -> TopdownSlots {
        TopdownSlots { slots: 1_000, fields: [400, 100, 200, 300, 50, 100, 150, 0] }
    }

    #[test]
    fn level_2_is_a_field_and_the_rest_of_its_parent() {
        let tma = Tma::new(&slots(), 2, Provenance::Exact).expect("slots were counted");
        let level2: Vec<_> =
            tma.categories.iter().filter(|c| c.level == 2).map(|c| (c.name, c.slots)).collect();
        assert_eq!(
            level2,
            [
                ("Heavy operations", 50),
                ("Light operations", 350),
                ("Branch mispredicts", 100),
                ("Machine clears", 0),
                ("Fetch latency", 150),
                ("Fetch bandwidth", 50),
                ("Memory bound", 0),
                ("Core bound", 300),
            ]
        );
    }

    #[test]
    fn a_level_1_profile_has_no_level_2() {
        let tma = Tma::new(&slots(), 1, Provenance::Exact).expect("slots were counted");
        assert!(tma.categories.iter().all(|c| c.level == 1));
        assert_eq!(tma.categories.len(), 4);
    }

    #[test]
    fn what_is_printed_instead_names_the_flags_that_help() {
        let mut report = crate::output::test_report();
        let mut said = |engine, detail, counts, profile: &str| {
            (report.engine, report.detail, report.counts) = (engine, detail, counts);
            report.profile = profile.to_owned();
            missing(&report).unwrap_or_default()
        };
        let (modelled, synthetic) = (Provenance::Modelled, Provenance::Synthetic);
        assert_eq!(said("soft", Some(Detail::Timing), modelled, "sapphire-rapids"), "");
        assert_eq!(said("kvm", None, Provenance::Host, "sapphire-rapids"), "");
        let counts = said("soft", Some(Detail::Counts), modelled, "sapphire-rapids");
        assert!(counts.contains("--detail timing has one"), "{counts}");
        let made_up = said("kvm", None, synthetic, "sapphire-rapids");
        assert!(made_up.contains("--engine soft --detail timing"), "{made_up}");
        let unknown = said("soft", Some(Detail::Counts), modelled, "lunar-lake-p");
        assert!(unknown.contains("lunar-lake-p has no model of its core"), "{unknown}");
    }

    #[test]
    fn no_slots_no_breakdown() {
        assert_eq!(Tma::new(&TopdownSlots::default(), 2, Provenance::Exact), None);
    }

    #[test]
    fn breakdowns_fit_every_terminal() {
        let tma = Tma::new(&slots(), 2, Provenance::Synthetic).expect("slots were counted");
        output::assert_fits(&["Branch mispredicts", "10.00 %"], || tma.render());
        let windows = ["alu", "a window with quite a long name"]
            .map(|name| WindowTma { name: name.to_owned(), tma: tma.clone() });
        output::assert_fits(&["a window wit", "Retiring", "40.0"], || render_windows(&windows));
    }

    #[test]
    fn looks_like_this() {
        let tma = Tma::new(&slots(), 2, Provenance::Synthetic).expect("slots were counted");
        insta::assert_snapshot!(anstream::adapter::strip_str(&tma.render()));
    }
}
