//! Tests of the synthetic source.

mod overflow;
mod rates;
mod totals;

use super::{Rates, SyntheticSource};
use crate::counts::Slice;
use proptest::prelude::*;
use vpmu::event::{Event, EventCode, FixedEvent};
use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS, ZEN4};
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Active, CounterId, CountsSource, Profile};

const TSC_HZ: u64 = 2_100_000_000;
const USR: PrivilegeFilter = PrivilegeFilter { os: false, usr: true };
const OS: PrivilegeFilter = PrivilegeFilter { os: true, usr: false };
const FILTERS: [PrivilegeFilter; 3] = [PrivilegeFilter::ALL, OS, USR];

/// Different everywhere, and nothing divides evenly.
const UNEVEN: &str = r#"
[core]
frequency_mhz = 2893.200003
[rates]
"instructions" = 1.234567891
"BR_INST_RETIRED.COND_TAKEN" = 0.1
"BR_INST_RETIRED.COND_NTAKEN" = 0.07
[user]
"branch-misses" = 0.003
[kernel]
"branch-misses" = 0.011
[topdown.user]
retiring = 0.337
bad-spec = 0.041
fe-bound = 0.2119
be-bound = 0.4101
heavy-ops = 0.1
br-mispredict = 0.041
fetch-lat = 0.1001
mem-bound = 0.3
[topdown.kernel]
retiring = 0.333333333
bad-spec = 0.333333333
fe-bound = 0.333333333
be-bound = 0
heavy-ops = 0.2
br-mispredict = 0
fetch-lat = 0.333333333
mem-bound = 0
"#;

fn uneven(profile: &Profile) -> SyntheticSource {
    SyntheticSource::new(profile, &Rates::parse("test", UNEVEN).unwrap(), TSC_HZ)
}

fn built_in(profile: &Profile) -> SyntheticSource {
    SyntheticSource::new(profile, &Rates::built_in().unwrap(), TSC_HZ)
}

/// The request that a general-purpose counter makes for a code.
fn programmed(profile: &Profile, code: EventCode) -> EventRequest {
    let resolved = profile.events.resolve(code);
    EventRequest::resolved(code, &resolved, resolved.counters.trailing_zeros())
}

fn gp(profile: &Profile, event: Event) -> EventRequest {
    programmed(profile, profile.events.by_event(event).unwrap().code)
}

fn fixed(index: u8) -> EventRequest {
    let fixed = FixedEvent::by_counter(index).unwrap();
    EventRequest::named(fixed.event, fixed.code)
}

fn active(request: EventRequest, filter: PrivilegeFilter, until_overflow: u64) -> Active {
    Active { counter: CounterId::Gp(0), request, filter, until_overflow, interrupts: true }
}

/// Every request that Sapphire Rapids can make and the source answers, from both kinds of counters.
fn known(source: &SyntheticSource) -> Vec<EventRequest> {
    let codes = SAPPHIRE_RAPIDS.events.encodings().iter().map(|e| programmed(&SAPPHIRE_RAPIDS, e.code));
    codes
        .chain((0..4).map(fixed))
        .filter(|request| source.provenance(request) != vpmu::Provenance::Unknown)
        .collect()
}

/// Guest run time from nanoseconds to an hour.
fn slices() -> impl Strategy<Value = Slice> {
    let ns = || prop_oneof![0..10_u64, 0..5_000_u64, 0..2_000_000_000_u64, 0..3_600_000_000_000_u64];
    (ns(), ns()).prop_map(|(os, usr)| Slice { os, usr })
}

fn filters() -> impl Strategy<Value = PrivilegeFilter> {
    prop::sample::select(FILTERS.as_slice())
}

fn plus(a: Slice, b: Slice) -> Slice {
    Slice { os: a.os + b.os, usr: a.usr + b.usr }
}
