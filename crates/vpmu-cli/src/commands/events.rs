//! `vpmu list events`: what can be counted, in the style of `perf list`.

use crate::error::CliError;
use crate::output::{DIM, HEADING, paint, print, print_json_list, remark};
use serde::Serialize;
use std::fmt::Write as _;
use vmm::counts::host::{Hosts, hosts_that_count};
use vmm::counts::model::{ModelSource, Retired};
use vmm::counts::timing::{SharedCore, TimingSource};
use vpmu::event::{ArchEvent, Event, EventCode, FixedEvent};
use vpmu::profile::{Architecture, Vendor};
use vpmu::source::EventRequest;
use vpmu::{CountsSource as _, Profile, Provenance};

/// One event of a profile.
#[derive(Debug, Clone, Serialize)]
struct Entry {
    topic: &'static str,
    name: &'static str,
    aliases: Vec<&'static str>,
    description: &'static str,
    /// perf's notation.
    code: String,
    /// The same as bits of IA32_PERFEVTSELx; `None` on a fixed counter.
    config: Option<u64>,
    /// Counters that can count it, for example `PMC0-7`.
    counters: String,
    /// Announced by CPUID leaf 0AH.
    architectural: bool,
    sources: Sources,
}

/// What a count of the event is worth, by who counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Sources {
    /// The soft engine with `--detail counts`: `exact`, `modelled` or `no`.
    counts: &'static str,
    /// The soft engine with `--detail timing`.
    timing: &'static str,
    /// The host's PMU: `any` host's, that of the `same core`, or `no`.
    host: &'static str,
}

/// The sources of the soft engine, to be asked.
struct Knowledge<'a> {
    profile: &'a Profile,
    counts: ModelSource,
    timing: Option<TimingSource>,
}

impl<'a> Knowledge<'a> {
    fn new(profile: &'a Profile) -> Self {
        let counts = ModelSource::new(profile, Retired::default());
        let timing = SharedCore::new(profile).ok().map(|core| TimingSource::new(profile, core));
        Self { profile, counts, timing }
    }

    fn sources(&self, event: Event, code: EventCode) -> Sources {
        // As a counter would ask: some events are others with CMASK.
        let base = self.profile.events.resolve(code).base;
        let request = EventRequest { base, ..EventRequest::named(event, code) };
        let word = |provenance| match provenance {
            Provenance::Exact => "exact",
            Provenance::Unknown => "no",
            _ => "modelled",
        };
        Sources {
            counts: word(self.counts.provenance(&request)),
            timing: self.timing.as_ref().map_or("no", |source| word(source.provenance(&request))),
            host: match hosts_that_count(self.profile, event) {
                Some(Hosts::Any) => "any",
                Some(Hosts::SameCore) => "same core",
                None => "no",
            },
        }
    }
}

/// Topics of perf's event lists by the first part of the event's name, in the order of the listing. What
/// is not named is about the pipeline.
const TOPICS: &[(&str, &[&str])] = &[
    ("Fixed counters", &[]),
    ("Pipeline", &[]),
    (
        "Frontend",
        &[
            "BACLEARS",
            "DECODE",
            "DSB2MITE_SWITCHES",
            "FRONTEND_RETIRED",
            "ICACHE_64B",
            "ICACHE_16B",
            "ICACHE_DATA",
            "ICACHE_TAG",
            "IDQ",
            "IDQ_BUBBLES",
            "IDQ_UOPS_NOT_DELIVERED",
            "ILD_STALL",
            "LSD",
        ],
    ),
    ("Floating point", &["FP_ARITH_INST_RETIRED", "FP_ARITH_INST_RETIRED2"]),
    (
        "Cache",
        &[
            "L1D",
            "L1D_PEND_MISS",
            "L2_LINES_IN",
            "L2_LINES_OUT",
            "L2_RQSTS",
            "L2_REQUEST",
            "LONGEST_LAT_CACHE",
            "MEM_INST_RETIRED",
            "MEM_LOAD_L3_HIT_RETIRED",
            "MEM_LOAD_L3_MISS_RETIRED",
            "MEM_LOAD_RETIRED",
            "OFFCORE_REQUESTS",
            "OFFCORE_REQUESTS_OUTSTANDING",
            "SQ_MISC",
            "SW_PREFETCH_ACCESS",
        ],
    ),
    ("Memory", &["LD_BLOCKS", "LD_BLOCKS_PARTIAL", "MEMORY_ACTIVITY", "MEM_TRANS_RETIRED", "RTM_RETIRED"]),
    ("Virtual memory", &["DTLB_LOAD_MISSES", "DTLB_STORE_MISSES", "ITLB_MISSES"]),
    (MADE_UP, &[]),
];
const FIXED: &str = "Fixed counters";
const PIPELINE: &str = "Pipeline";

/// AMD's names begin with the unit, in lower case; the longest beginning that fits decides.
const AMD_TOPICS: &[(&str, &str)] = &[
    ("bp_", "Frontend"),
    ("bp_l1_tlb", "Virtual memory"),
    ("fp", "Floating point"),
    ("ic_", "Frontend"),
    ("l2_", "Cache"),
    ("ls_", "Cache"),
    ("ls_bad_status2", "Memory"),
    ("ls_int_taken", PIPELINE),
    ("ls_l1_d_tlb_miss", "Virtual memory"),
    ("ls_locks", "Memory"),
    ("ls_misal", "Memory"),
    ("ls_not_halted", PIPELINE),
    ("ls_rdtsc", PIPELINE),
    ("ls_ret_cpuid", PIPELINE),
    ("ls_smi_rx", PIPELINE),
    ("ls_st", "Memory"),
    ("ls_tablewalker", "Virtual memory"),
    ("ls_tlb_flush", "Virtual memory"),
    ("op_cache", "Frontend"),
];

/// Arm's names, by parts that they have; the first that fits decides.
const ARM_TOPICS: &[(&str, &str)] = &[
    ("synthetic.", MADE_UP),
    ("_TLB", "Virtual memory"),
    ("TLB_WALK", "Virtual memory"),
    ("TTBR_WRITE", "Virtual memory"),
    ("_CACHE", "Cache"),
    ("MEM_ACCESS", "Memory"),
    ("MEMORY_ERROR", "Memory"),
    ("UNALIGNED_LDST", "Memory"),
    ("BUS_", "Memory"),
    ("REMOTE_ACCESS", "Memory"),
];
/// The events of Falkor's matrix.
const MADE_UP: &str = "Matrix of Falkor, synthetic";

fn topic_on(profile: &Profile, name: &str) -> &'static str {
    match profile.architecture() {
        Architecture::X86_64 => topic(name),
        Architecture::Aarch64 => {
            ARM_TOPICS.iter().find(|(part, _)| name.contains(part)).map_or(PIPELINE, |(_, topic)| topic)
        }
    }
}

fn topic(name: &str) -> &'static str {
    let amd = AMD_TOPICS.iter().filter(|(start, _)| name.starts_with(start));
    if let Some((_, topic)) = amd.max_by_key(|(start, _)| start.len()) {
        return topic;
    }
    let unit = name.split('.').next().unwrap_or(name);
    TOPICS.iter().find(|(_, units)| units.contains(&unit)).map_or(PIPELINE, |(topic, _)| topic)
}

/// Every event of the profile, by topic.
fn entries(profile: &Profile) -> Vec<Entry> {
    let knowledge = Knowledge::new(profile);
    // Arm's cycle counter counts one of the common events.
    let fixed_counters = profile.intel().map_or(0, |pmu| pmu.fixed_counters);
    let fixed = FixedEvent::ALL.into_iter().filter(|f| f.counter < fixed_counters).map(|fixed| Entry {
        topic: FIXED,
        name: fixed.event.name(),
        aliases: aliases(fixed.event, fixed.event.name()),
        description: fixed.event.description(),
        code: fixed.code.to_string(),
        config: None,
        counters: format!("FIXED_CTR{}", fixed.counter),
        architectural: true,
        sources: knowledge.sources(fixed.event, fixed.code),
    });
    let general = profile.events.encodings().iter().map(|encoding| Entry {
        topic: topic_on(profile, encoding.event.name()),
        name: encoding.name,
        aliases: aliases(encoding.event, encoding.name),
        description: encoding.event.description(),
        code: profile.perf_event(encoding),
        config: Some(profile.config_of_code(encoding.code)),
        counters: counters(encoding.counters, profile),
        architectural: ArchEvent::by_code(encoding.code)
            .zip(profile.intel())
            .is_some_and(|(arch, pmu)| arch.is_available(pmu.arch_events, pmu.arch_events_unavailable)),
        sources: knowledge.sources(encoding.event, encoding.code),
    });
    let mut entries: Vec<Entry> = fixed.chain(general).collect();
    let place = |entry: &Entry| TOPICS.iter().position(|(topic, _)| *topic == entry.topic);
    entries.sort_by_key(place);
    entries
}

fn aliases(event: Event, listed: &str) -> Vec<&'static str> {
    let own = event.name();
    let own = (own != listed).then_some(own);
    own.into_iter().chain(event.aliases().filter(|alias| *alias != listed)).collect()
}

/// `PMC0-7` for a mask of counters.
pub(super) fn counters(mask: u32, profile: &Profile) -> String {
    let name = match profile.vendor() {
        Vendor::Intel => "PMC",
        Vendor::Amd => "PERF_CTR",
        Vendor::Qualcomm => "PMEVCNTR",
    };
    let usable: Vec<u32> =
        (0..u32::from(profile.gp_counters)).filter(|n| mask.checked_shr(*n).unwrap_or(0) & 1 != 0).collect();
    match (usable.first(), usable.last()) {
        (Some(first), Some(last)) if first == last => format!("{name}{first}"),
        (Some(first), Some(last)) if (last - first) as usize + 1 == usable.len() => {
            format!("{name}{first}-{last}")
        }
        _ => usable.iter().map(|n| format!("{name}{n}")).collect::<Vec<_>>().join(","),
    }
}

/// True if the pieces between the `*`s occur in `text` one after the other, in any letter case.
fn matches(filter: &str, text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let filter = filter.to_ascii_lowercase();
    let mut rest = text.as_str();
    filter.split('*').all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

fn is_wanted(entry: &Entry, filter: &str) -> bool {
    matches(filter, entry.name)
        || matches(filter, entry.description)
        || entry.aliases.iter().any(|alias| matches(filter, alias))
}

pub(super) fn list(profile: &Profile, filter: Option<&str>, json: bool) -> Result<(), CliError> {
    let mut entries = entries(profile);
    if let Some(filter) = filter {
        entries.retain(|entry| is_wanted(entry, filter));
    }
    if json {
        return print_json_list("events", &entries);
    }
    if entries.is_empty() {
        let filter = filter.unwrap_or_default();
        remark(&format!(
            "no event of {} matches {filter:?}; leave out the filter to see all\n",
            profile.name
        ));
    }
    print(&render(&entries))
}

fn render(entries: &[Entry]) -> String {
    let mut text = String::new();
    let mut topic = "";
    for entry in entries {
        if entry.topic != topic {
            topic = entry.topic;
            let _ = writeln!(text, "\n{}", paint(HEADING, format_args!("{topic}:")));
        }
        let mut names = paint(HEADING, entry.name);
        for alias in &entry.aliases {
            let _ = write!(names, " OR {alias}");
        }
        let _ = writeln!(text, "  {names}");
        let architectural = if entry.architectural { ", architectural" } else { "" };
        let code = format!("{} on {}{architectural}", entry.code, entry.counters);
        let _ = writeln!(text, "       [{}]\n       {}", entry.description, paint(DIM, code));
        let Sources { counts, timing, host } = entry.sources;
        let sources = format!("counts: {counts:<10} timing: {timing:<10} host: {host}");
        let _ = writeln!(text, "       {}", paint(DIM, sources));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::profile::{FALKOR, ICELAKE_SP, PROFILES, ZEN4};

    #[test]
    fn counters_as_ranges() {
        assert_eq!(counters(0xFF, &ICELAKE_SP), "PMC0-7");
        assert_eq!(counters(0x0F, &ICELAKE_SP), "PMC0-3");
        assert_eq!(counters(0x01, &ICELAKE_SP), "PMC0");
        assert_eq!(counters(0xFE, &ICELAKE_SP), "PMC1-7");
        assert_eq!(counters(0b1010, &ICELAKE_SP), "PMC1,PMC3");
        assert_eq!(counters(0, &ICELAKE_SP), "");
        assert_eq!(counters(0xFF, &ZEN4), "PERF_CTR0-5");
    }

    #[test]
    fn filters_look_everywhere_and_know_stars() {
        assert!(matches("branch", "Branch instructions retired."));
        assert!(matches("MEM_*miss", "MEM_LOAD_RETIRED.L1_MISS"));
        assert!(matches("", "anything"));
        assert!(!matches("miss*MEM_", "MEM_LOAD_RETIRED.L1_MISS"));
    }

    #[test]
    fn every_topic_with_units_has_an_event() {
        for (topic, _) in TOPICS {
            let used = PROFILES.iter().any(|p| entries(p).iter().any(|entry| entry.topic == *topic));
            assert!(used, "{topic}");
        }
    }

    #[test]
    fn arm_events_are_sorted_by_what_they_are_about() {
        let listed = |name: &str| topic_on(&FALKOR, name);
        assert_eq!(listed("L1D_TLB_REFILL"), "Virtual memory");
        assert_eq!(listed("L1D_CACHE_REFILL"), "Cache");
        assert_eq!(listed("INST_RETIRED"), PIPELINE);
        assert_eq!(listed("synthetic.l1d_misses"), MADE_UP);
        assert!(ARM_TOPICS.iter().all(|(_, topic)| TOPICS.iter().any(|(known, _)| known == topic)));
        assert!(entries(&FALKOR).iter().all(|entry| entry.topic != FIXED));
    }

    #[test]
    fn amd_events_are_sorted_by_their_unit() {
        assert_eq!(topic("ls_l1_d_tlb_miss.all"), "Virtual memory");
        assert_eq!(topic("ls_dispatch.all"), "Cache");
        assert_eq!(topic("ls_not_halted_cyc"), PIPELINE);
        assert_eq!(topic("bp_l1_tlb_fetch_hit.all"), "Virtual memory");
        assert_eq!(topic("ex_ret_brn"), PIPELINE);
        assert!(AMD_TOPICS.iter().all(|(_, topic)| TOPICS.iter().any(|(known, _)| known == topic)));
    }

    #[test]
    fn looks_like_this() {
        let branches: Vec<_> =
            entries(&ICELAKE_SP).into_iter().filter(|e| is_wanted(e, "instructions retired")).collect();
        insta::assert_snapshot!(anstream::adapter::strip_str(&render(&branches)));
    }
}
