//! What `vpmu compare` looks like, and what it calls a difference.

use super::*;
use crate::measured::metric_readings;
use crate::output::{self, test_report};
use vmm::engine::Detail;
use vpmu::TopdownSlots;

const SLOTS: TopdownSlots = TopdownSlots { slots: 1_000, fields: [300, 100, 200, 400, 50, 90, 120, 250] };
/// What [`SLOTS`] round to: 76.5, 25.5, 51, 102 with the two halves going to the lower fields first.
const IDEAL: u64 = 0x401F_170D_6633_194D;

fn reading(guest: Option<u64>, vmm: u64, provenance: Provenance) -> Reading {
    Reading::new("PMC0", ("BR_INST_RETIRED.ALL_BRANCHES", ":u"), provenance, guest, vmm)
}

fn window(label: &str, counters: Vec<Reading>, guest_metrics: Option<u64>) -> Measured {
    let metrics = metric_readings(&SLOTS, guest_metrics, 2, Provenance::Synthetic);
    Measured { label: label.to_owned(), counters, metrics, topdown: Some(SLOTS) }
}

fn compared(windows: &[Measured]) -> Compared<'_> {
    Compared { windows, agreement: Agreement::of(windows), no_tma: None, no_native: None, converted: false }
}

fn about() -> html::About {
    html::About { command_line: "vpmu compare 'a b'".to_owned(), date: "2026-01-31 12:00:00 UTC".to_owned() }
}

fn shown(windows: &[Measured]) -> String {
    anstream::adapter::strip_str(&render("smoke", &test_report(), &compared(windows))).to_string()
}

fn with_native(label: &str) -> Measured {
    let mut window = window(label, vec![reading(Some(1_010), 1_000, Provenance::Exact)], Some(IDEAL));
    for (index, reading) in window.metrics.iter_mut().enumerate() {
        reading.native_percent = Some(index as f64 + 0.5);
    }
    window
}

#[test]
fn looks_like_this() {
    let windows = [
        window("loop", vec![reading(Some(1_234_567), 1_234_567, Provenance::Synthetic)], Some(IDEAL)),
        window(
            "",
            vec![
                reading(Some(1_010), 1_000, Provenance::Synthetic),
                reading(None, 5, Provenance::Synthetic),
                reading(Some(0), 0, Provenance::Unknown),
            ],
            Some(IDEAL + 2),
        ),
    ];
    insta::assert_snapshot!(shown(&windows));
}

#[test]
fn both_tables_fit_every_terminal() {
    let big = reading(Some(1_010_000_000_000), 1_000_000_000_000, Provenance::Synthetic);
    let window = with_native("alu");
    output::assert_fits(&["PMC0", "BR_INST_RETI", "1,010,000,000,000"], || {
        counters(std::slice::from_ref(&big))
    });
    for converted in [false, true] {
        output::assert_fits(&["topdown-br-mispredict", "Guest %", "25.10"], || {
            metrics(&window.metrics, converted)
        });
    }
}

#[test]
fn a_guest_that_measures_nothing_is_told_so() {
    insta::assert_snapshot!(shown(&[]));
}

#[test]
fn a_label_cannot_drive_the_terminal() {
    let text = shown(&[window("\x1b[2Jgone", Vec::new(), None)]);
    assert!(!text.contains('\x1b'), "{text:?}");
    let styled = render("smoke", &test_report(), &compared(&[window("\x1b[2Jgone", Vec::new(), None)]));
    assert!(!styled.contains("\x1b[2J"), "{styled:?}");
}

#[test]
fn the_difference_is_rounding_plus_whole_steps() {
    for guest in [IDEAL, IDEAL + 3, 0, u64::MAX] {
        for metric in metric_readings(&SLOTS, Some(guest), 2, Provenance::Exact) {
            let steps = metric.unexplained_steps.expect("the guest read it") as f64;
            let explained = metric.rounding_points + steps * 100.0 / 255.0;
            let difference = metric.difference_points.expect("the guest read it");
            assert!((difference - explained).abs() < 1e-9, "{metric:?}");
        }
    }
}

#[test]
fn rounding_alone_leaves_no_steps() {
    let metrics = metric_readings(&SLOTS, Some(IDEAL), 2, Provenance::Exact);
    assert!(metrics.iter().all(|m| m.unexplained_steps == Some(0)), "{metrics:?}");
    assert!(metrics[0].rounding_points != 0.0, "76.5 is no whole step");
}

#[test]
fn a_level_1_profile_has_four_fields() {
    assert_eq!(metric_readings(&SLOTS, None, 1, Provenance::Exact).len(), 4);
    assert!(metric_readings(&TopdownSlots::default(), None, 2, Provenance::Exact).is_empty());
}

#[test]
fn only_what_both_sides_know_counts_as_agreement() {
    let windows = [window(
        "",
        vec![
            reading(Some(7), 7, Provenance::Exact),
            reading(Some(8), 7, Provenance::Exact),
            reading(None, 7, Provenance::Exact),
            reading(Some(7), 7, Provenance::Unknown),
        ],
        None,
    )];
    let expected = Agreement { counters: 2, counters_equal: 1, metrics: 0, metrics_equal: 0 };
    assert_eq!(Agreement::of(&windows), expected);
}

#[test]
fn native_shares_and_what_rebuilding_loses_have_columns() {
    let windows = [with_native("alu")];
    let no_native = Some("no PMU here".to_owned());
    let compared = Compared { no_native, converted: true, ..compared(&windows) };
    let text = render("workloads", &test_report(), &compared);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text));
}

#[test]
fn a_line_of_csv_for_each_counter_and_field() {
    let mut text = Vec::new();
    csv::write(&[with_native("a,\"b\""), window("", Vec::new(), None)], &mut text)
        .expect("memory takes it all");
    insta::assert_snapshot!(String::from_utf8(text).expect("text"));
}

#[test]
fn csv_has_its_columns_without_a_window_too() {
    let [mut none, mut one] = [Vec::new(), Vec::new()];
    csv::write(&[], &mut none).expect("memory takes it all");
    csv::write(&[with_native("a")], &mut one).expect("memory takes it all");
    let [none, one] = [none, one].map(|text| String::from_utf8(text).expect("text"));
    assert!(none.starts_with("window,kind,name,event,"), "{none}");
    assert_eq!(none.lines().next(), one.lines().next());
    assert_eq!((none.lines().count(), one.lines().count() > 1), (1, true), "{none}");
}

#[test]
fn the_page_shows_every_number_and_runs_nothing() {
    let windows = [with_native("<script>alert(1)</script>"), window("", Vec::new(), None)];
    let compared = Compared { converted: true, ..compared(&windows) };
    let page = html::page("smoke", &test_report(), &compared, &about());
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(!page.contains("<script"), "labels come from the guest");
    assert!(!page.contains("http"), "nothing is loaded from elsewhere");
    for shown in ["1,010", "+10", "30.20", "30.00", "topdown-mem-bound", "Rebuilt", "Native", "window 2"] {
        assert!(page.contains(shown), "{shown}");
    }
}

/// What a command shows of a run with this detail: table, page and lines.
fn views(detail: Option<Detail>, counts: Provenance) -> [String; 3] {
    let mut report = test_report();
    (report.detail, report.counts) = (detail, counts);
    let mut windows = [window("alu", vec![reading(Some(7), 7, counts)], Some(IDEAL))];
    let agreement = Agreement::of(&windows);
    let no_tma = tma::withhold(&mut report, &mut windows);
    let compared = Compared { agreement, no_tma, ..compared(&windows) };
    let mut lines = Vec::new();
    csv::write(&windows, &mut lines).expect("memory takes it all");
    [
        render("workloads", &report, &compared),
        html::page("workloads", &report, &compared, &about()),
        String::from_utf8(lines).expect("text"),
    ]
}

#[test]
fn shares_of_slots_are_shown_only_where_a_model_or_a_pmu_knows_them() {
    for (detail, counts) in [(Some(Detail::Timing), Provenance::Modelled), (None, Provenance::Host)] {
        for view in views(detail, counts) {
            assert!(view.contains("topdown-retiring"), "{detail:?}, {counts}: {view}");
            assert!(!view.contains("No top-down breakdown"), "{detail:?}, {counts}: {view}");
        }
    }
    for (detail, counts) in [(Some(Detail::Counts), Provenance::Modelled), (None, Provenance::Synthetic)] {
        let [table, page, lines] = views(detail, counts);
        for view in [&table, &page, &lines] {
            assert!(!view.contains("topdown-"), "{detail:?}, {counts}: {view}");
            assert!(!view.contains("Retiring"), "{detail:?}, {counts}: {view}");
        }
        assert!(lines.contains("BR_INST_RETIRED.ALL_BRANCHES"), "counters stay: {lines}");
        for view in [table, page] {
            assert!(view.contains("--detail timing has one"), "{detail:?}, {counts}: {view}");
            // That the register holds what the slots round to was checked all the same.
            assert!(view.contains("8 of 8 PERF_METRICS fields"), "{detail:?}, {counts}: {view}");
        }
    }
}

#[test]
fn the_page_says_where_it_comes_from_and_leads_to_every_window() {
    let mut report = test_report();
    (report.detail, report.counts) = (Some(Detail::Timing), Provenance::Modelled);
    let counted = |event: &str, count, worth| Reading::new("FIXED_CTR0", (event, ":u"), worth, None, count);
    let counters = vec![
        counted("INST_RETIRED.ANY", 300, Provenance::Exact),
        counted("CPU_CLK_UNHALTED.THREAD", 200, Provenance::Modelled),
    ];
    let windows = [window("alu", counters, Some(IDEAL)), window("", Vec::new(), None)];
    let page = html::page("workloads", &report, &compared(&windows), &about());
    for shown in
        ["vpmu compare 'a b'", "2026-01-31 12:00:00 UTC", "sapphire-rapids", env!("CARGO_PKG_VERSION")]
    {
        assert!(page.contains(&shown.replace('\'', "&#39;")) || page.contains(shown), "{shown} in {page}");
    }
    for number in 1..=windows.len() {
        assert!(page.contains(&format!("href=\"#w{number}\"")), "{page}");
        assert!(page.contains(&format!("id=\"w{number}\"")), "{page}");
    }
    assert!(page.contains("1.50 IPC"), "{page}");
    // Level 2 is a bar, not only a list.
    assert!(page.contains("title=\"Memory bound 25.00 %\""), "{page}");
    // Each event is under what its own count is worth.
    assert!(page.contains("<dt>Exact</dt><dd>INST_RETIRED.ANY</dd>"), "{page}");
    assert!(page.contains("<dt>Modelled</dt><dd>CPU_CLK_UNHALTED.THREAD</dd>"), "{page}");
}
