//! Measuring windows: when they open and close, and what stands next to what.

use super::*;
use crate::machine::pmu::window::{MAX_LABEL, MAX_ROWS, MAX_WINDOWS};

/// Counts instructions at user level from 0, and what the guest did before that.
fn instructions() -> Bench {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.script.user(Event::InstRetiredAny, 12_345);
    bench.write(&[(GLOBAL_CTRL, 0), (FIXED_CTR_CTRL, 2), (FIXED_CTR0, 0), (GLOBAL_CTRL, EN_FIXED0)]);
    bench
}

#[test]
fn guest_and_vmm_see_the_same_counts() {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.write(&[(GLOBAL_CTRL, 0), (FIXED_CTR_CTRL, 0x32), (FIXED_CTR0, 1_000), (FIXED_CTR1, 0)]);
    bench.write(&[(PERFEVTSEL0, BRANCHES), (0xC1, 0), (GLOBAL_CTRL, 1 | EN_FIXED0 | EN_FIXED1)]);
    bench.script.user(Event::InstRetiredAny, 500);
    bench.script.user(Event::CpuClkUnhaltedThread, 900);
    bench.script.user(Event::BrInstRetiredAllBranches, 70);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    bench.script.user(Event::InstRetiredAny, 1_000_000);
    assert_eq!(bench.read(FIXED_CTR0), 1_500);
    assert_eq!(bench.rdpmc(0x4000_0001), 900);
    assert_eq!(bench.rdpmc(0), 70);
    assert_eq!(
        bench.rows(),
        [
            ("PMC0", "BR_INST_RETIRED.ALL_BRANCHES", ":u", 70, Some(70)),
            ("FIXED_CTR0", "INST_RETIRED.ANY", ":u", 500, Some(500)),
            ("FIXED_CTR1", "CPU_CLK_UNHALTED.THREAD", "", 900, Some(900)),
        ]
    );
    assert!(bench.window().rows.iter().all(|row| row.provenance == Provenance::Exact));
}

#[test]
fn a_guest_that_never_reads_leaves_its_side_open() {
    let mut bench = instructions();
    bench.script.user(Event::InstRetiredAny, 30);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    assert_eq!(bench.rows(), [("FIXED_CTR0", "INST_RETIRED.ANY", ":u", 30, None)]);
}

#[test]
fn a_wrapped_counter_gives_the_true_difference() {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.write(&[(GLOBAL_CTRL, 0), (FIXED_CTR_CTRL, 2), (FIXED_CTR0, (1 << 48) - 10)]);
    bench.write(&[(GLOBAL_CTRL, EN_FIXED0)]);
    bench.script.user(Event::InstRetiredAny, 25);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    assert_eq!(bench.read(FIXED_CTR0), 15);
    assert_eq!(bench.rows()[0].3, 25);
    assert_eq!(bench.rows()[0].4, Some(25));
}

#[test]
fn the_first_read_after_the_stop_counts() {
    let mut bench = instructions();
    bench.script.user(Event::InstRetiredAny, 10);
    assert_eq!(bench.read(FIXED_CTR0), 10, "while it runs: not the end of the window");
    bench.script.user(Event::InstRetiredAny, 10);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    assert_eq!(bench.rows()[0].4, None);
    bench.read(FIXED_CTR0);
    bench.write(&[(FIXED_CTR0, 0)]);
    bench.read(FIXED_CTR0);
    assert_eq!(bench.rows()[0].4, Some(20));
}

#[test]
fn a_counter_that_the_guest_wrote_is_not_compared() {
    let mut bench = instructions();
    bench.script.user(Event::InstRetiredAny, 10);
    bench.write(&[(GLOBAL_CTRL, 0), (FIXED_CTR0, 0)]);
    bench.read(FIXED_CTR0);
    assert_eq!(bench.rows()[0].3, 10);
    assert_eq!(bench.rows()[0].4, None, "written after the window");

    let mut bench = instructions();
    bench.script.user(Event::InstRetiredAny, 10);
    bench.write(&[(FIXED_CTR0, 5)]);
    bench.script.user(Event::InstRetiredAny, 10);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    bench.read(FIXED_CTR0);
    assert_eq!(bench.rows()[0].3, 20);
    assert_eq!(bench.rows()[0].4, None, "written within the window");
}

#[test]
fn the_first_window_after_reset_needs_no_clearing() {
    // GLOBAL_CTRL is 0xFF after RESET, with nothing to enable.
    let mut bench = Bench::new(ICELAKE_SP);
    bench.write(&[(FIXED_CTR_CTRL, 2), (GLOBAL_CTRL, EN_FIXED0)]);
    bench.script.user(Event::InstRetiredAny, 4);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    assert_eq!(bench.rows()[0].3, 4);
}

#[test]
fn counters_that_start_and_stop_one_by_one_have_their_own_time() {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.write(&[(GLOBAL_CTRL, 0), (FIXED_CTR_CTRL, 0x22), (GLOBAL_CTRL, EN_FIXED0)]);
    bench.script.user(Event::InstRetiredAny, 100);
    bench.write(&[(GLOBAL_CTRL, EN_FIXED0 | EN_FIXED1)]);
    bench.script.user(Event::InstRetiredAny, 10);
    bench.script.user(Event::CpuClkUnhaltedThread, 20);
    bench.write(&[(GLOBAL_CTRL, EN_FIXED1)]);
    bench.script.user(Event::InstRetiredAny, 1_000);
    bench.script.user(Event::CpuClkUnhaltedThread, 3);
    assert_eq!(bench.read(FIXED_CTR0), 110, "stopped, so it can be compared already");
    bench.write(&[(GLOBAL_CTRL, 0)]);
    assert_eq!(bench.read(FIXED_CTR1), 23);
    let rows = bench.rows();
    assert_eq!((rows[0].3, rows[0].4), (110, Some(110)));
    assert_eq!((rows[1].3, rows[1].4), (23, Some(23)));
}

#[test]
fn a_counter_that_pauses_within_the_window_keeps_its_row() {
    let mut bench = instructions();
    bench.script.user(Event::InstRetiredAny, 10);
    bench.write(&[(FIXED_CTR_CTRL, 0)]);
    bench.script.user(Event::InstRetiredAny, 500);
    bench.read(FIXED_CTR0);
    bench.write(&[(FIXED_CTR_CTRL, 2)]);
    bench.script.user(Event::InstRetiredAny, 7);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    bench.read(FIXED_CTR0);
    assert_eq!(bench.rows(), [("FIXED_CTR0", "INST_RETIRED.ANY", ":u", 17, Some(17))]);
}

#[test]
fn a_reprogrammed_counter_begins_a_new_row() {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.write(&[(GLOBAL_CTRL, 0), (PERFEVTSEL0, BRANCHES), (0xC1, 0), (GLOBAL_CTRL, 1)]);
    bench.script.user(Event::BrInstRetiredAllBranches, 5);
    bench.write(&[(PERFEVTSEL0, 0x41_00C0)]);
    bench.script.user(Event::InstRetiredAny, 40);
    bench.script.user(Event::BrInstRetiredAllBranches, 900);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    assert_eq!(bench.read(0xC1), 45);
    let rows = bench.rows();
    assert_eq!(rows[0], ("PMC0", "BR_INST_RETIRED.ALL_BRANCHES", ":u", 5, None));
    assert_eq!(rows[1], ("PMC0", "INST_RETIRED.ANY_P", ":u", 40, Some(40)));
}

#[test]
fn freezing_on_a_pmi_ends_the_counting_of_the_row() {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.write(&[(GLOBAL_CTRL, 0), (DEBUGCTL, 1 << 12), (FIXED_CTR_CTRL, 0x2A)]);
    bench.write(&[(FIXED_CTR0, (1 << 48) - 100), (FIXED_CTR1, 0), (GLOBAL_CTRL, EN_FIXED0 | EN_FIXED1)]);
    bench.script.user(Event::InstRetiredAny, 100);
    bench.script.user(Event::CpuClkUnhaltedThread, 250);
    assert_eq!(bench.device.poll().count(), 1);
    bench.script.user(Event::CpuClkUnhaltedThread, 8_000);
    assert_eq!(bench.read(FIXED_CTR1), 250);
    // The handler clears the status, which thaws the counters.
    bench.write(&[(GLOBAL_OVF_CTRL, 1 << 59 | 1 << 32)]);
    bench.script.user(Event::CpuClkUnhaltedThread, 50);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    bench.read(FIXED_CTR1);
    let rows = bench.rows();
    assert_eq!((rows[1].3, rows[1].4), (300, Some(300)), "frozen time is not the guest's");
}

/// Otherwise there would be no breakdown of what such a CPU runs.
#[test]
fn without_metrics_a_window_has_the_slots_of_all_its_time() {
    let mut bench = Bench::new(SKYLAKE_SP);
    bench.write(&[(GLOBAL_CTRL, 0), (PERFEVTSEL0, BRANCHES)]);
    let slots = TopdownSlots { slots: 40, fields: [10, 0, 10, 20, 0, 0, 0, 20] };
    bench.script.0.borrow_mut().add_user_slots(slots);
    bench.write(&[(GLOBAL_CTRL, 1)]);
    bench.script.0.borrow_mut().add_user_slots(slots);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    bench.script.0.borrow_mut().add_user_slots(slots);
    assert_eq!(bench.window().topdown, Some(slots));
}

#[test]
fn metrics_stand_next_to_the_sources_slots() {
    let mut bench = Bench::new(SAPPHIRE_RAPIDS);
    bench.write(&[(GLOBAL_CTRL, 0), (FIXED_CTR_CTRL, 0x2000), (FIXED_CTR3, 0), (PERF_METRICS, 0)]);
    bench.write(&[(GLOBAL_CTRL, EN_FIXED3 | EN_METRICS)]);
    let slots = TopdownSlots { slots: 255, fields: [51, 0, 51, 153, 0, 0, 51, 102] };
    bench.script.0.borrow_mut().add_user_slots(slots);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    bench.script.0.borrow_mut().add_user_slots(slots);
    let metrics = bench.rdpmc(0x2000_0000);
    assert_eq!(metrics, u64::from_le_bytes([51, 0, 51, 153, 0, 0, 51, 102]));
    assert_eq!(bench.window().topdown, Some(slots));
    assert_eq!(bench.window().guest_metrics, Some(metrics));
    assert_eq!(bench.rows().len(), 1, "the fields are no rows");
}

#[test]
fn metrics_that_the_guest_cleared_are_not_compared() {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.write(&[(GLOBAL_CTRL, 0), (FIXED_CTR_CTRL, 0x2000), (GLOBAL_CTRL, EN_FIXED3 | EN_METRICS)]);
    let slots = TopdownSlots { slots: 10, fields: [10, 0, 0, 0, 0, 0, 0, 0] };
    bench.script.0.borrow_mut().add_user_slots(slots);
    bench.write(&[(GLOBAL_CTRL, 0), (PERF_METRICS, 0)]);
    bench.read(PERF_METRICS);
    assert_eq!(bench.window().guest_metrics, None);
}

#[test]
fn reads_after_a_window_without_metrics_are_not_metrics_of_it() {
    let mut bench = instructions();
    bench.write(&[(GLOBAL_CTRL, 0)]);
    bench.read(PERF_METRICS);
    assert_eq!(bench.window().topdown, None);
    assert_eq!(bench.window().guest_metrics, None);
}

#[test]
fn a_label_names_the_next_window_only() {
    let mut bench = instructions();
    bench.device.label_window("second".to_owned());
    bench.write(&[(GLOBAL_CTRL, 0), (GLOBAL_CTRL, EN_FIXED0), (GLOBAL_CTRL, 0)]);
    bench.write(&[(GLOBAL_CTRL, EN_FIXED0), (GLOBAL_CTRL, 0)]);
    let labels: Vec<_> = bench.device.windows().iter().map(|window| window.label.as_str()).collect();
    assert_eq!(labels, ["", "second", ""]);
}

#[test]
fn labels_are_cut_at_a_character_and_hold_no_control_characters() {
    let label_of = |label: &str| {
        let mut bench = Bench::new(ICELAKE_SP);
        bench.device.label_window(label.to_owned());
        bench.write(&[(GLOBAL_CTRL, 0), (FIXED_CTR_CTRL, 2), (GLOBAL_CTRL, EN_FIXED0), (GLOBAL_CTRL, 0)]);
        bench.window().label.clone()
    };
    assert_eq!(label_of(&"ä".repeat(40)), "ä".repeat(32));
    let odd = "x".to_owned() + &"ä".repeat(40);
    assert_eq!(label_of(&odd), "x".to_owned() + &"ä".repeat(31), "63 bytes: the next one does not fit");
    assert!(label_of(&odd).len() <= MAX_LABEL);
    assert_eq!(label_of("a\u{1b}[31mb\nc"), "a[31mbc");
}

#[test]
fn switching_an_empty_pmu_on_and_off_leaves_nothing() {
    let mut bench = Bench::new(ICELAKE_SP);
    for _ in 0..10 {
        bench.write(&[(GLOBAL_CTRL, 0), (GLOBAL_CTRL, 0xFF), (GLOBAL_CTRL, 0)]);
    }
    assert_eq!(bench.device.windows().len(), 0);
    assert_eq!(bench.device.dropped_windows(), 0);
}

#[test]
fn a_refused_write_changes_no_window() {
    let mut bench = instructions();
    bench.script.user(Event::InstRetiredAny, 6);
    assert!(matches!(
        quiet(bench.device.wrmsr(GLOBAL_CTRL, 1 << 63, Origin::default())),
        WriteOutcome::Fault(_)
    ));
    bench.script.user(Event::InstRetiredAny, 6);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    assert_eq!(bench.rows()[0].3, 12);
}

#[test]
fn windows_beyond_the_limit_are_counted_and_do_not_touch_the_others() {
    let mut bench = instructions();
    bench.write(&[(GLOBAL_CTRL, 0)]);
    for _ in 1..MAX_WINDOWS + 3 {
        bench.write(&[(GLOBAL_CTRL, EN_FIXED0)]);
        bench.script.user(Event::InstRetiredAny, 1);
        bench.write(&[(GLOBAL_CTRL, 0)]);
    }
    bench.read(FIXED_CTR0);
    assert_eq!(bench.device.windows().len(), MAX_WINDOWS);
    assert_eq!(bench.device.dropped_windows(), 3);
    assert_eq!(
        bench.device.windows()[MAX_WINDOWS - 1].rows[0].guest,
        None,
        "the read was about a dropped one"
    );
}

#[test]
fn rows_are_bounded() {
    let mut bench = Bench::new(ICELAKE_SP);
    bench.write(&[(GLOBAL_CTRL, 0), (PERFEVTSEL0, BRANCHES), (GLOBAL_CTRL, 1)]);
    for _ in 0..MAX_ROWS {
        bench.write(&[(PERFEVTSEL0, 0x41_00C0), (PERFEVTSEL0, BRANCHES)]);
    }
    bench.write(&[(GLOBAL_CTRL, 0)]);
    assert_eq!(bench.window().rows.len(), MAX_ROWS);
}

#[test]
fn saving_and_restoring_within_a_window_loses_nothing() {
    let mut bench = instructions();
    bench.script.user(Event::InstRetiredAny, 8);
    quiet(bench.device.save_and_restore()).unwrap();
    bench.script.user(Event::InstRetiredAny, 9);
    bench.write(&[(GLOBAL_CTRL, 0)]);
    bench.read(FIXED_CTR0);
    assert_eq!(bench.rows(), [("FIXED_CTR0", "INST_RETIRED.ANY", ":u", 17, Some(17))]);
}

/// As a kernel does that switches between tasks while a program has marked an interval.
#[test]
fn windows_within_an_interval_are_named_after_it() {
    let mut bench = instructions();
    bench.device.label_window("alu".into());
    bench.device.begin_interval();
    let (off, on) = ((GLOBAL_CTRL, 0), (GLOBAL_CTRL, EN_FIXED0));
    bench.write(&[off, on, off]);
    bench.device.label_window("own".into());
    bench.write(&[on, off, on]);
    bench.device.end_interval();
    bench.write(&[off, on, off]);
    let names: Vec<&str> = bench.device.windows().iter().map(|window| window.label.as_str()).collect();
    assert_eq!(names, ["alu (interval)", "alu (interval)", "own", "alu (interval)", ""]);
}
