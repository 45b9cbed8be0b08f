//! Events by name, as perf's `-e` takes them.

use crate::error::CliError;
use crate::similar::most_similar;
use vmm::engine::Detail;
use vpmu::Profile;
use vpmu::event::{Event, EventCode};
use vpmu::source::EventRequest;

/// Where an event counts, as perf's `:u` and `:k` say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Level {
    Both,
    User,
    Kernel,
}

/// An event that was asked for.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Asked {
    /// As it was typed, without `:u` and `:k`.
    pub(in crate::commands) name: String,
    pub(in crate::commands) level: Level,
    pub(in crate::commands) request: EventRequest,
}

/// What is counted without being asked for; the second list needs a model of the core.
const ALWAYS: [&str; 4] =
    ["instructions", "branches", "mem_inst_retired.all_loads", "mem_inst_retired.all_stores"];
const MODELLED: [&str; 5] = [
    "cycles",
    "branch-misses",
    "mem_load_retired.l1_miss",
    "mem_load_retired.l2_miss",
    "mem_load_retired.l3_miss",
];

/// What `-d` adds: perf's events of caches and TLBs, and those of the levels behind.
const DETAILED: [&str; 7] = [
    "L1-dcache-loads",
    "L1-dcache-load-misses",
    "LLC-loads",
    "LLC-load-misses",
    "dTLB-load-misses",
    "iTLB-load-misses",
    "frontend_retired.l1i_miss",
];

/// The usual events that this profile has, and those of `-d`.
pub(in crate::commands) fn usual(profile: &Profile, detail: Detail, detailed: bool) -> Vec<Asked> {
    let modelled = if detail == Detail::Timing { &MODELLED[..] } else { &[] };
    let detailed = if detailed { &DETAILED[..] } else { &[] };
    ALWAYS.iter().chain(modelled).chain(detailed).filter_map(|name| find(profile, name)).collect()
}

/// A list as `-e` has it, separated by commas.
pub(in crate::commands) fn parse(profile: &Profile, lists: &[String]) -> Result<Vec<Asked>, CliError> {
    let names = lists.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| find(profile, name).ok_or_else(|| unknown(profile, name))).collect()
}

fn unknown(profile: &Profile, name: &str) -> CliError {
    let listed = profile.events.encodings();
    let names = listed.iter().flat_map(|found| [found.name].into_iter().chain(found.event.aliases()));
    CliError::UnknownEvent {
        name: name.to_owned(),
        profile: profile.name.to_string(),
        similar: most_similar(name, names),
    }
}

fn find(profile: &Profile, text: &str) -> Option<Asked> {
    let (name, level) = match text.rsplit_once(':') {
        Some((name, "u")) => (name, Level::User),
        Some((name, "k")) => (name, Level::Kernel),
        Some((name, "uk" | "ku")) => (name, Level::Both),
        _ => (text, Level::Both),
    };
    let asked = |request| Some(Asked { name: name.to_owned(), level, request });
    if let Some(config) = name.strip_prefix('r').and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        return asked(of_code(profile, profile.code_of_config(config)));
    }
    let listed = profile.events.encodings().iter().find(|found| found.name.eq_ignore_ascii_case(name));
    let event = listed.map(|found| found.event).or_else(|| Event::from_name(name))?;
    match listed.or_else(|| profile.events.by_event(event)) {
        Some(encoding) => {
            let base = profile.events.resolve(encoding.code).base;
            asked(EventRequest { base, ..EventRequest::named(event, encoding.code) })
        }
        // Only a fixed counter has it.
        None => asked(EventRequest::named(event, EventCode::default())),
    }
}

fn of_code(profile: &Profile, code: EventCode) -> EventRequest {
    let resolved = profile.events.resolve(code);
    EventRequest::resolved(code, &resolved, resolved.counters.trailing_zeros())
}
