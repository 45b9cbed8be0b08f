//! What the table of `vpmu stat` looks like, and when it says nothing.

use super::*;
use crate::measured::Reading;
use crate::output::{self, test_report};
use vpmu::TopdownSlots;

fn row(counter: &str, event: &str, filter: &'static str, count: u64, provenance: Provenance) -> CountRow {
    let count = (provenance != Provenance::Unknown).then_some(count);
    CountRow { counter: counter.to_owned(), event: event.to_owned(), filter, count, provenance }
}

fn window(readings: &[(&str, &str, &str, u64)]) -> Measured {
    Measured {
        label: String::new(),
        counters: readings
            .iter()
            .map(|&(counter, event, filter, vmm)| {
                Reading::new(counter, (event, filter), Provenance::Synthetic, None, vmm)
            })
            .collect(),
        metrics: Vec::new(),
        topdown: None,
    }
}

fn shown(report: &RunReport, windows: &[Measured]) -> String {
    let text = render("smoke", report, &Stat::new(report, windows));
    anstream::adapter::strip_str(&text).to_string()
}

fn busy_report() -> RunReport {
    let mut report = test_report();
    report.counted = vec![
        row("PMC0", "BR_MISP_RETIRED.ALL_BRANCHES", ":u", 12_345, Provenance::Synthetic),
        row("PMC1", "cpu/event=0xee,umask=0xff/", "", 0, Provenance::Unknown),
        row("FIXED_CTR0", "INST_RETIRED.ANY", "", 2_500_000, Provenance::Synthetic),
        row("FIXED_CTR1", "CPU_CLK_UNHALTED.THREAD", "", 4_000_000, Provenance::Synthetic),
    ];
    report.topdown =
        TopdownSlots { slots: 24_000_000, fields: [7_200_000, 0, 4_800_000, 12_000_000, 0, 0, 0, 1] };
    report
}

/// A PMU stands behind the slots.
fn on_a_pmu(mut report: RunReport) -> RunReport {
    report.counts = Provenance::Host;
    report
}

#[test]
fn looks_like_this() {
    let windows = [window(&[
        ("FIXED_CTR0", "INST_RETIRED.ANY", "", 1_000),
        ("FIXED_CTR1", "CPU_CLK_UNHALTED.THREAD", "", 500),
    ])];
    insta::assert_snapshot!(shown(&on_a_pmu(busy_report()), &windows));
}

#[test]
fn the_counts_fit_every_terminal() {
    let report = busy_report();
    let stat = Stat::new(&report, &[]);
    output::assert_fits(&["FIXED_CTR1", "2,500,000", "INST_RETIRED.ANY"], || rows(&stat.stat));
}

#[test]
fn an_idle_guest_is_told_apart_from_zero_counts() {
    insta::assert_snapshot!(shown(&on_a_pmu(test_report()), &[]));
}

#[test]
fn an_event_that_nobody_counts_has_no_number() {
    let report = busy_report();
    let stat = Stat::new(&report, &[]);
    assert_eq!(stat.stat[1].count, None);
    assert!(rows(&stat.stat[1..2]).contains("<not counted>"));
}

#[test]
fn ratios_come_from_windows_in_which_both_counters_ran() {
    let report = busy_report();
    let instructions = |windows: &[Measured]| {
        Stat::new(&report, windows).stat[2].comment.as_ref().map(|comment| comment.value)
    };
    assert_eq!(instructions(&[]), None, "the totals of the run are no ratio");
    let alone = window(&[("FIXED_CTR0", "INST_RETIRED.ANY", "", 1_000_000)]);
    let both = window(&[
        ("FIXED_CTR0", "INST_RETIRED.ANY", "", 300),
        ("FIXED_CTR1", "CPU_CLK_UNHALTED.THREAD", "", 100),
    ]);
    assert_eq!(instructions(std::slice::from_ref(&alone)), None);
    assert_eq!(instructions(&[alone, both]), Some(3.0));
}

#[test]
fn counters_with_different_filters_are_no_ratio() {
    let windows = [window(&[
        ("FIXED_CTR0", "INST_RETIRED.ANY", "", 300),
        ("FIXED_CTR1", "CPU_CLK_UNHALTED.THREAD", ":u", 100),
    ])];
    assert!(Stat::new(&busy_report(), &windows).stat.iter().all(|row| row.comment.is_none()));
}

#[test]
fn general_counters_of_the_same_quantity_are_a_ratio_too() {
    let mut report = test_report();
    report.counted = vec![row("PMC3", "INST_RETIRED.ANY_P", "", 1, Provenance::Synthetic)];
    let windows =
        [window(&[("PMC3", "INST_RETIRED.ANY_P", "", 50), ("PMC4", "CPU_CLK_UNHALTED.THREAD_P", "", 100)])];
    let comment = Stat::new(&report, &windows).stat[0].comment.clone().expect("both ran");
    assert_eq!((comment.value, comment.unit), (0.5, "insn per cycle"));
}

#[test]
fn a_ratio_to_zero_is_none() {
    let windows = [window(&[
        ("FIXED_CTR0", "INST_RETIRED.ANY", "", 300),
        ("FIXED_CTR1", "CPU_CLK_UNHALTED.THREAD", "", 0),
    ])];
    assert!(Stat::new(&busy_report(), &windows).stat.iter().all(|row| row.comment.is_none()));
}

#[test]
fn several_windows_have_a_line_each() {
    let mut report = on_a_pmu(busy_report());
    report.metrics_level = 2;
    let named = |label: &str, fields| Measured {
        label: label.to_owned(),
        topdown: Some(TopdownSlots { slots: 1_000, fields }),
        ..window(&[])
    };
    let windows = [
        named("alu", [900, 0, 50, 50, 10, 0, 20, 10]),
        named("a-name-that-is-longer-than-its-column", [100, 600, 200, 100, 10, 590, 20, 10]),
        named("", [10, 0, 0, 990, 0, 0, 0, 900]),
    ];
    insta::assert_snapshot!(shown(&report, &windows));
}

/// A CPU without PERF_METRICS, of whose core there is a model: what the model knows, and what the guest can work out.
#[test]
fn without_metrics_the_model_and_the_published_formula_have_breakdowns() {
    let mut report = test_report();
    (report.metrics_level, report.slots_per_cycle, report.detail) = (0, 4, Some(Detail::Timing));
    let guest =
        |event: &str, count| Reading::new("PMC0", (event, ""), Provenance::Modelled, Some(count), count);
    let slots = TopdownSlots { slots: 4_000, fields: [1_500, 500, 600, 1_400, 100, 500, 400, 1_000] };
    let windows = [Measured {
        label: "loop".to_owned(),
        topdown: Some(slots),
        counters: vec![
            guest("CPU_CLK_UNHALTED.THREAD", 1_000),
            guest("UOPS_RETIRED.SLOTS", 1_500),
            guest("UOPS_ISSUED.ANY", 1_800),
            guest("IDQ_UOPS_NOT_DELIVERED.CORE", 600),
            guest("INT_MISC.RECOVERY_CYCLES", 50),
        ],
        ..window(&[])
    }];
    let stat = Stat::new(&report, &windows);
    assert_eq!(stat.tma.as_ref().map(|tma| (tma.slots, tma.categories.len())), Some((4_000, 12)));
    assert_eq!(stat.windows_tma[0].tma.provenance, Provenance::Modelled);
    insta::assert_snapshot!(shown(&report, &windows));
}

#[test]
fn without_a_model_or_a_pmu_one_line_says_how_to_get_a_breakdown() {
    let windows = [Measured { topdown: Some(busy_report().topdown), ..window(&[]) }];
    for (detail, counts) in [(Some(Detail::Counts), Provenance::Modelled), (None, Provenance::Synthetic)] {
        let mut report = busy_report();
        (report.detail, report.counts) = (detail, counts);
        let stat = Stat::new(&report, &windows);
        assert_eq!(stat.tma, None);
        assert!(stat.windows_tma.is_empty() && stat.windows_formula.is_empty());
        let text = shown(&report, &windows);
        assert!(!text.contains("Retiring"), "{text}");
        let lines: Vec<_> = text.lines().filter(|line| line.contains("--detail timing")).collect();
        assert_eq!(lines.len(), 1, "{text}");
    }
}
