//! Random sequences of guest accesses, on the vPMU and on a slow model of the same rules.
//!
//! One test per CPU, so that they run in parallel. More than a million operations by default;
//! `VPMU_OPS=50000000 VPMU_SEED=7 cargo test --release -p properties --test against_model` does more. On a
//! divergence the shortest sequence that shows it is printed.

use properties::harness::variants::Variant;
use properties::harness::{self, compare};

macro_rules! on {
    ($($test:ident = $variant:literal;)*) => {
        $(
            #[test]
            fn $test() {
                compare(Variant::named($variant));
            }
        )*

        /// A variant without a test would be forgotten silently.
        #[test]
        fn every_variant_is_compared() {
            let compared = [$($variant),*];
            let all: Vec<_> = harness::variants::ALL.iter().map(|variant| variant.name).collect();
            assert_eq!(compared.as_slice(), all);
        }
    };
}

on! {
    icelake_sp = "icelake-sp";
    sapphire_rapids = "sapphire-rapids";
    version_1 = "version 1";
    version_2 = "version 2";
    version_3 = "version 3";
    version_4_with_any_thread = "version 4";
    version_4_cannot_deprecate_any_thread = "version 4 of 5";
    no_metrics = "no metrics";
    no_full_width_writes = "no full-width writes";
    metrics_clear = "metrics clear";
    narrow_counters = "narrow";
    wide_counters = "wide";
}

/// Random operations are worth what they reach.
#[test]
fn sequences_reach_the_rules() {
    let everywhere = [
        "absent",
        "fixed overflow",
        "general-purpose overflow",
        "not the PMU's",
        "PMI taken",
        "RDPMC done",
        "RDPMC index",
        "RDPMC not allowed",
        "read-only",
        "reserved bits",
        "unchangeable bits",
        "write done",
    ];
    let metrics = ["metrics counted", "metrics overflow", "slots overflow", "counters frozen"];
    for (variant, more) in [
        ("icelake-sp", metrics.as_slice()),
        ("sapphire-rapids", &metrics),
        ("metrics clear", &["metrics cleared by RDPMC"]),
        ("version 2", &["enables cleared by a PMI"]),
    ] {
        let seen = harness::coverage::happenings(Variant::named(variant), 400);
        for what in everywhere.iter().chain(more) {
            let times = seen.get(what).copied().unwrap_or(0);
            assert!(
                times >= 20,
                "{variant}: {what:?} happened {times} times in 100000 operations: {seen:#?}"
            );
        }
    }
}
