//! The rates file: what is accepted, and what the refusals say.

use super::*;
use crate::counts::synthetic::{Decimal, NumberProblem, RatesError};
use std::error::Error as _;
use std::path::Path;

#[test]
fn the_built_in_rates_are_valid_and_cover_what_perf_stat_asks_for() {
    let source = built_in(&ICELAKE_SP);
    let table = &ICELAKE_SP.events;
    for name in ["instructions", "cycles", "branches", "branch-misses", "cache-references", "cache-misses"] {
        let event = Event::from_name(name).unwrap();
        let request =
            EventRequest::named(event, table.by_event(event).map_or_else(EventCode::default, |e| e.code));
        assert_eq!(source.provenance(&request), vpmu::Provenance::Synthetic, "{name}");
    }
    assert_eq!(Rates::built_in().unwrap().frequency_hz(), 3_000_000_000);
}

/// `UNEVEN` with a piece replaced.
fn changed(from: &str, to: &str) -> Result<Rates, RatesError> {
    assert!(UNEVEN.contains(from), "{from}");
    Rates::parse("my.toml", &UNEVEN.replacen(from, to, 1))
}

fn refusal(from: &str, to: &str) -> String {
    changed(from, to).unwrap_err().to_string()
}

#[test]
fn a_number_is_taken_as_it_is_written() {
    let text = |number: &str| toml::Value::Float(number.parse().unwrap());
    let nanos = |number| Decimal::from_toml(&text(number), (0, 10_000)).map(Decimal::nanos);
    assert_eq!(nanos("0.1"), Ok(100_000_000));
    assert_eq!(nanos("0.000000001"), Ok(1));
    assert_eq!(nanos("1e-9"), Ok(1));
    assert_eq!(nanos("9999.999999999"), Ok(9_999_999_999_999));
    assert_eq!(nanos("1e300"), Err(NumberProblem::OutOfRange { low: 0, high: 10_000 }));
    assert_eq!(nanos("1e-10"), Err(NumberProblem::TooFine));
}

#[test]
fn numbers_that_make_no_sense_are_refused_with_file_key_and_value() {
    let rate = "= 1.234567891";
    assert_eq!(refusal(rate, "= -1.5"), "my.toml: rates.\"instructions\" = -1.5 is negative");
    assert_eq!(refusal(rate, "= -1"), "my.toml: rates.\"instructions\" = -1 is negative");
    assert_eq!(refusal(rate, "= nan"), "my.toml: rates.\"instructions\" = nan is not finite");
    assert_eq!(refusal(rate, "= inf"), "my.toml: rates.\"instructions\" = inf is not finite");
    assert_eq!(refusal(rate, "= 65"), "my.toml: rates.\"instructions\" = 65 is not between 0 and 64");
    assert_eq!(
        refusal(rate, "= 0.1234567891"),
        "my.toml: rates.\"instructions\" = 0.1234567891 has more than nine digits after the point"
    );
    assert_eq!(refusal(rate, "= \"1\""), "my.toml: rates.\"instructions\" = \"1\" is not a number");
    let frequency = "= 2893.200003";
    assert_eq!(refusal(frequency, "= 0"), "my.toml: core.frequency_mhz = 0 is not between 1 and 10000");
    assert_eq!(
        refusal(frequency, "= 2893.2000031"),
        "my.toml: core.frequency_mhz = 2893.2000031 is no whole number of Hz: up to six digits after the point"
    );
}

#[test]
fn unknown_and_missing_keys_are_refused_with_their_place() {
    let unknown = refusal("[core]", "[core]\nfrequency = 1");
    assert!(unknown.starts_with("my.toml: ") && unknown.contains("`frequency`"), "{unknown}");
    assert!(unknown.contains("line 3"), "{unknown}");
    let missing = refusal("mem-bound = 0.3\n", "");
    assert!(missing.contains("mem-bound"), "{missing}");
}

#[test]
fn event_names_are_checked() {
    let typo = refusal("\"instructions\"", "\"INST_RETIRED.ANNY\"");
    assert_eq!(typo, "my.toml: rates.\"INST_RETIRED.ANNY\": no such event");
    let derived = refusal("\"instructions\"", "\"cycles\"");
    assert_eq!(
        derived,
        "my.toml: rates.\"cycles\" cannot be set, because it follows from core.frequency_mhz"
    );
    let slots = refusal("\"instructions\"", "\"UOPS_RETIRED.SLOTS\"");
    assert!(slots.contains("follows from the slots and the [topdown] tables"), "{slots}");
    let twice = refusal("[user]", "\"INST_RETIRED.ANY_P\" = 2\n[user]");
    assert!(twice.contains("counts the same as INST_RETIRED.ANY"), "{twice}");
    let sum = refusal("[user]", "\"BR_INST_RETIRED.COND\" = 0.17\n[user]");
    assert!(sum.contains("follows from its parts BR_INST_RETIRED.COND_TAKEN, "), "{sum}");
}

#[test]
fn a_rate_at_one_level_only_is_refused() {
    let message = refusal("[kernel]\n\"branch-misses\" = 0.011\n", "");
    assert_eq!(message, "my.toml: BR_MISP_RETIRED.ALL_BRANCHES has no rate in [kernel] and none in [rates]");
}

#[test]
fn fractions_must_add_up_and_stay_within_their_parents() {
    assert!(changed("retiring = 0.337\n", "retiring = 0.337000001\n").is_ok(), "within 1e-9");
    let sum = refusal("retiring = 0.337\n", "retiring = 0.337000002\n");
    assert!(sum.contains("of [topdown.user] add up to 1.000000002 instead of 1"), "{sum}");
    let part = refusal("br-mispredict = 0.041", "br-mispredict = 0.041000001");
    assert_eq!(part, "my.toml: topdown.user.br-mispredict is a part of bad-spec and cannot be larger");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Rates::load(Path::new("/nonexistent/rates.toml")).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the rates file /nonexistent/rates.toml");
    assert!(error.source().is_some(), "the cause is chained");
}
