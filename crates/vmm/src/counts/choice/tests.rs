use super::*;
use crate::counts::host::fake_host::{FakeHost, NO_PMU};
use host_perf::{Advice, Capability, Privileges};
use std::error::Error as _;
use vpmu::Provenance;
use vpmu::profile::ICELAKE_SP;

fn choose_on_a_bare_host(choice: &CountsChoice) -> Result<Box<dyn Source>, CountsError> {
    let host = FakeHost::new(NO_PMU, |config| config.counters = None);
    choose_on(choice, &ICELAKE_SP, 2_000_000_000, host.thread(), || host.detect())
}

#[test]
fn auto_without_a_pmu_says_what_is_missing_and_makes_up_nothing() {
    for choice in [CountsChoice::Auto, CountsChoice::Host] {
        let error = choose_on_a_bare_host(&choice).unwrap_err();
        assert!(matches!(error, CountsError::NoHostCounts(HostPerfError::NoPmu)), "{error:?}");
    }
}

#[test]
fn a_reason_that_can_be_fixed_comes_with_the_fix() {
    let host = FakeHost::icelake(|config| {
        config.paranoid = 2;
        config.privileges = Privileges::default();
    });
    let error = choose_on(&CountsChoice::Auto, &ICELAKE_SP, 1, host.thread(), || host.detect()).unwrap_err();
    let CountsError::NoHostCounts(reason) = error else { panic!("{error:?}") };
    let lower = Advice::LowerParanoid { level: 1, capability: Capability::Perfmon };
    assert_eq!(reason.advice(), Some(lower));
}

#[test]
fn auto_with_a_pmu_takes_the_host() {
    let host = FakeHost::icelake(|_| {});
    let source = choose_on(&CountsChoice::Auto, &ICELAKE_SP, 1, host.thread(), || host.detect()).unwrap();
    assert_eq!(source.label(), Provenance::Host);
}

#[test]
fn synthetic_needs_no_host() {
    let choice = CountsChoice::Synthetic { rates: None };
    let detect = || -> HostPmu { panic!("the host was asked") };
    let thread = VcpuThread { tid: 1, signal: 40 };
    let source = choose_on(&choice, &ICELAKE_SP, 1, thread, detect).unwrap();
    assert_eq!(source.label(), Provenance::Synthetic);
}

#[test]
fn a_missing_rates_file_is_named_with_its_cause() {
    let choice = CountsChoice::Synthetic { rates: Some("/nonexistent.toml".into()) };
    let error = choose_on_a_bare_host(&choice).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the rates file /nonexistent.toml");
    assert!(error.source().is_some());
}

#[test]
fn model_belongs_to_the_soft_engine_and_only_that() {
    let error = choose_on_a_bare_host(&CountsChoice::Model).unwrap_err();
    assert!(matches!(error, CountsError::ModelNeedsSoftEngine), "{error:?}");
    for choice in [CountsChoice::Auto, CountsChoice::Model] {
        let source = choose_soft(&choice, &ICELAKE_SP, Retired::default()).unwrap();
        assert_eq!(source.label(), Provenance::Exact);
    }
    for choice in [CountsChoice::Host, CountsChoice::Synthetic { rates: None }] {
        let error = choose_soft(&choice, &ICELAKE_SP, Retired::default()).unwrap_err();
        assert!(
            matches!(&error, CountsError::SoftCountsItself { choice: asked } if *asked == choice),
            "{error:?}"
        );
    }
}

/// On the machine that runs the test, whatever it is: a source or a reason.
#[test]
fn the_real_host_is_used_or_refused_with_its_reason() {
    match choose(&CountsChoice::Auto, &ICELAKE_SP, 1_000_000_000, libc::SIGRTMIN() + 9) {
        Ok(source) => assert_eq!(source.label(), Provenance::Host),
        Err(error) => assert!(matches!(error, CountsError::NoHostCounts(_)), "{error:?}"),
    }
}
