//! `vpmu list`: what there is.

use super::decode::access;
use super::events;
use crate::args::ListCommand;
use crate::error::CliError;
use crate::exit;
use crate::machine::{list_tests, open_image, profile};
use crate::output::table::{self, Fitting, left, right};
use crate::output::{DIM, HEADING, paint, print, print_json_list};
use comfy_table::Table;
use platform::loader::TestInfo;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use vmm::counts::timing::{core_of, off_silicon};
use vpmu::Profile;
use vpmu::decode::address;
use vpmu::event::{Event, FixedEvent};
use vpmu::profile::{Architecture, PROFILES, PmuKind};
use vpmu::register::arm::{Pmccntr, Pmevcntr};
use vpmu::register::intel::{FixedCtr, PerfMetrics};
use vpmu::register::{Access, rdpmc_msr};

pub(super) fn list(what: &ListCommand, json: bool) -> Result<u8, CliError> {
    match what {
        ListCommand::Profiles => profiles(json)?,
        ListCommand::Events { profile: args, filter } => {
            events::list(&profile(&args.profile)?, filter.as_deref(), json)?;
        }
        ListCommand::Counters { profile: args } => counters(&profile(&args.profile)?, json)?,
        ListCommand::Registers { profile: args } => registers(&profile(&args.profile)?, json)?,
        ListCommand::Tests { image } => tests(image, json)?,
    }
    Ok(exit::PASS)
}

#[derive(Serialize)]
struct ProfileEntry {
    name: String,
    summary: String,
    /// Of an Arm CPU the implementer.
    family: u32,
    /// Of an Arm CPU the part number.
    model: u32,
    vendor: &'static str,
    /// Intel: architectural version; AMD: 2 for PerfMonV2, else 0; Arm: PMUv3.
    perfmon_version: u8,
    gp_counters: u8,
    gp_width: u8,
    fixed_counters: u8,
    fixed_width: u8,
    metrics_level: u8,
    slots_per_cycle: u8,
    events: usize,
    /// There is a model of its core, for `--detail timing`.
    core_model: bool,
    /// How far that is off silicon.
    off_silicon: Option<String>,
}

impl ProfileEntry {
    fn new(profile: &Profile) -> Self {
        let (family, model) = profile.family_model();
        Self {
            name: profile.name.to_string(),
            summary: profile.summary.to_string(),
            family,
            model,
            vendor: profile.vendor().name(),
            perfmon_version: match &profile.pmu {
                PmuKind::Intel(pmu) => pmu.version,
                PmuKind::Amd(pmu) => 2 * u8::from(pmu.v2),
                PmuKind::Arm(_) => 3,
            },
            gp_counters: profile.gp_counters,
            gp_width: profile.gp_width,
            fixed_counters: profile.fixed_counters(),
            fixed_width: profile.fixed_width(),
            metrics_level: profile.metrics_level(),
            slots_per_cycle: profile.slots_per_cycle,
            events: profile.events.encodings().len(),
            core_model: core_of(profile).is_some(),
            off_silicon: off_silicon(profile),
        }
    }
}

impl ProfileEntry {
    /// What `--detail timing` is worth.
    fn timing(&self) -> &str {
        self.off_silicon.as_deref().map_or("none", |text| text.split(" on average").next().unwrap_or(text))
    }
}

/// Counters as `8 x 48`: so many, of so many bits.
fn counters_text(count: u8, bits: u8) -> String {
    if count == 0 { "none".to_owned() } else { format!("{count} x {bits}") }
}

fn profiles(json: bool) -> Result<(), CliError> {
    let entries: Vec<_> = PROFILES.iter().map(|profile| ProfileEntry::new(profile)).collect();
    if json {
        return print_json_list("profiles", &entries);
    }
    let (mut table, fitting) = profile_table(&entries);
    print(&fitting.render(&mut table))
}

fn profile_table(entries: &[ProfileEntry]) -> (Table, Fitting<'static>) {
    const HEADS: [&str; 10] = [
        "Profile",
        "Model",
        "Perfmon",
        "General",
        "Fixed",
        "Metrics",
        "Slots",
        "Events",
        "Timing",
        "What it is",
    ];
    let mut table = table::new(HEADS.into_iter().map(left).collect());
    for entry in entries {
        table.add_row(vec![
            left(&entry.name),
            left(match Architecture::Aarch64.profiles().any(|profile| profile.name == entry.name) {
                true => format!("{:#x}-{:#x}", entry.family, entry.model),
                false => format!("{}-{:#x}", entry.family, entry.model),
            }),
            left(match entry.perfmon_version {
                0 => "none".to_owned(),
                version => format!("v{version}"),
            }),
            left(counters_text(entry.gp_counters, entry.gp_width)),
            left(counters_text(entry.fixed_counters, entry.fixed_width)),
            left(if entry.metrics_level == 0 {
                "none".to_owned()
            } else {
                format!("level {}", entry.metrics_level)
            }),
            right(entry.slots_per_cycle),
            right(entry.events),
            left(entry.timing()),
            left(entry.summary.split(':').next().unwrap_or(&entry.summary)),
        ]);
    }
    // What timing is worth, slots and model.
    (table, Fitting { prose: true, dispensable: &[8, 6, 1] })
}

#[derive(Serialize)]
struct CounterEntry {
    counter: String,
    width: u8,
    /// ECX of RDPMC, where there is such an instruction.
    rdpmc: Option<u32>,
    /// MSR index; of an Arm CPU the encoding.
    msr: u32,
    counts: String,
}

fn counter_entries(profile: &Profile) -> Vec<CounterEntry> {
    match profile.architecture() {
        Architecture::X86_64 => x86_counters(profile),
        Architecture::Aarch64 => arm_counters(profile),
    }
}

fn arm_counters(profile: &Profile) -> Vec<CounterEntry> {
    let events = (0..profile.gp_counters).map(|n| CounterEntry {
        counter: format!("PMEVCNTR{n}_EL0"),
        width: profile.gp_width,
        rdpmc: None,
        msr: Pmevcntr::INDEX + u32::from(n) * Pmevcntr::STEP,
        counts: format!("the event in PMEVTYPER{n}_EL0"),
    });
    let cycles = CounterEntry {
        counter: "PMCCNTR_EL0".to_owned(),
        width: profile.fixed_width(),
        rdpmc: None,
        msr: Pmccntr::INDEX,
        counts: Event::CpuCycles.name().to_owned(),
    };
    events.chain([cycles]).collect()
}

fn x86_counters(profile: &Profile) -> Vec<CounterEntry> {
    /// ECX of RDPMC for fixed counter 0 and for PERF_METRICS (SDM vol. 2B, RDPMC).
    const RDPMC_FIXED: u32 = 0x4000_0000;
    const RDPMC_METRICS: u32 = 0x2000_0000;
    let (counter, select) = match profile.amd() {
        None => ("PMC", "IA32_PERFEVTSEL"),
        Some(_) => ("PERF_CTR", "PERF_CTL"),
    };
    let gp = (0..profile.gp_counters).map(|n| CounterEntry {
        counter: format!("{counter}{n}"),
        width: profile.gp_width,
        rdpmc: Some(n.into()),
        msr: rdpmc_msr(profile.vendor(), n.into()).unwrap_or_default(),
        counts: format!("the event in {select}{n}"),
    });
    let fixed = (0..profile.fixed_counters()).map(|n| CounterEntry {
        counter: format!("FIXED_CTR{n}"),
        width: profile.fixed_width(),
        rdpmc: Some(RDPMC_FIXED + u32::from(n)),
        msr: FixedCtr::INDEX + u32::from(n),
        counts: FixedEvent::event(n).map_or_else(String::new, |event| event.name().to_owned()),
    });
    let metrics = (profile.metrics_level() > 0).then(|| CounterEntry {
        counter: "PERF_METRICS".to_owned(),
        width: 8,
        rdpmc: Some(RDPMC_METRICS),
        msr: PerfMetrics::INDEX,
        counts: format!(
            "{} fractions of the slots, in 1/255",
            if profile.metrics_level() > 1 { 8 } else { 4 }
        ),
    });
    gp.chain(fixed).chain(metrics).collect()
}

fn counters(profile: &Profile, json: bool) -> Result<(), CliError> {
    let entries = counter_entries(profile);
    if json {
        return print_json_list("counters", &entries);
    }
    let arm = profile.architecture() == Architecture::Aarch64;
    let mut heads = vec![left("Counter"), right("Bits")];
    heads.extend((!arm).then(|| right("RDPMC ECX")));
    heads.extend([right(if arm { "Encoding" } else { "MSR" }), left("Counts")]);
    let mut table = table::new(heads);
    for entry in entries {
        let mut row = vec![left(entry.counter), right(entry.width)];
        row.extend(entry.rdpmc.map(|ecx| right(format!("{ecx:#x}"))));
        row.extend([right(address(profile.architecture(), entry.msr)), left(entry.counts)]);
        table.add_row(row);
    }
    print(&table::render(&mut table))
}

#[derive(Serialize)]
struct RegisterEntry {
    register: String,
    /// MSR index; of an Arm CPU the encoding, as Linux packs it.
    index: u32,
    address: String,
    access: &'static str,
    summary: &'static str,
}

/// What the profile has, each instance by itself.
fn register_entries(profile: &Profile) -> Vec<RegisterEntry> {
    let known = vpmu::register::registers(profile.vendor()).iter();
    let reachable = known.filter(|register| register.access != Access::Indirect);
    reachable
        .flat_map(|register| (0..register.instances(profile)).map(move |n| (register, n)))
        .map(|(register, n)| RegisterEntry {
            register: register.instance_name(n),
            index: register.index_of(n),
            address: address(profile.architecture(), register.index_of(n)),
            access: access(register.access),
            summary: register.doc.trim(),
        })
        .collect()
}

fn registers(profile: &Profile, json: bool) -> Result<(), CliError> {
    let entries = register_entries(profile);
    if json {
        return print_json_list("registers", &entries);
    }
    let mut table = table::new(vec![left("Register"), right("Address"), left("Access"), left("What it is")]);
    for RegisterEntry { register, address, access, summary, .. } in entries {
        table.add_row(vec![left(register), right(address), left(access), left(summary)]);
    }
    print(&Fitting { prose: true, dispensable: &[] }.render(&mut table))
}

#[derive(Serialize)]
struct TestEntry<'a> {
    name: &'a str,
    file: &'a str,
    line: u32,
    summary: &'a str,
    needs: Vec<String>,
}

impl<'a> TestEntry<'a> {
    fn new(test: &'a TestInfo) -> Self {
        let TestInfo { name, file, line, summary, needs } = test;
        Self { name, file, line: *line, summary, needs: needs.words().map(|word| word.to_string()).collect() }
    }
}

fn tests(path: &Path, json: bool) -> Result<(), CliError> {
    let tests = list_tests(path, &open_image(path)?)?;
    let entries: Vec<_> = tests.iter().map(TestEntry::new).collect();
    if json {
        return print_json_list("tests", &entries);
    }
    if entries.is_empty() {
        return Err(CliError::NoTests(path.to_owned()));
    }
    print(&render_tests(&entries))
}

fn render_tests(entries: &[TestEntry<'_>]) -> String {
    let mut text = String::new();
    for TestEntry { name, file, line, summary, needs } in entries {
        let _ = writeln!(text, "{}", paint(HEADING, name));
        if !summary.is_empty() {
            let _ = writeln!(text, "     [{summary}]");
        }
        let needs = if needs.is_empty() { String::new() } else { format!(", needs {}", needs.join(", ")) };
        let _ = writeln!(text, "     {}", paint(DIM, format_args!("{file}:{line}{needs}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output;
    use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS};

    #[test]
    fn profiles_fit_every_terminal() {
        let entries: Vec<_> = PROFILES.iter().map(|profile| ProfileEntry::new(profile)).collect();
        output::assert_fits(&["sapphire-rapids", "10 x 48", "(Skylake-SP)", "EPYC", "(Turin)"], || {
            let (mut table, fitting) = profile_table(&entries);
            fitting.render(&mut table)
        });
    }

    #[test]
    fn tests_look_like_this() {
        let entries = [
            TestEntry {
                name: "counts",
                file: "a.rs",
                line: 12,
                summary: "Counts.",
                needs: vec!["pmu".to_owned(), "exact".to_owned()],
            },
            TestEntry { name: "bare", file: "a.rs", line: 30, summary: "", needs: Vec::new() },
        ];
        insta::assert_snapshot!(anstream::adapter::strip_str(&render_tests(&entries)));
    }

    /// Every address comes back, and what is listed can be decoded.
    #[test]
    fn every_listed_register_is_known() {
        for profile in PROFILES {
            let entries = register_entries(profile);
            assert!(entries.len() > 10, "{}", profile.name);
            for entry in entries {
                let name = vpmu::decode::msr_name(profile, entry.index);
                assert_eq!(name.as_deref(), Some(entry.register.as_str()), "{}", profile.name);
            }
        }
    }

    #[test]
    fn every_listed_counter_can_be_read() {
        use vpmu::pmu::RdpmcContext;
        use vpmu::source::ScriptedSource;
        use vpmu::{ReadOutcome, Vpmu};
        for profile in [&ICELAKE_SP, &SAPPHIRE_RAPIDS] {
            for entry in counter_entries(profile) {
                let mut source = ScriptedSource::new();
                let mut pmu = Vpmu::new(profile.clone());
                let read = pmu
                    .rdpmc(entry.rdpmc.expect("an x86 CPU"), RdpmcContext::RING0, &mut source)
                    .into_parts()
                    .0;
                assert!(matches!(read, ReadOutcome::Value(_)), "{}", entry.counter);
                let read = pmu.read_register(vpmu::Level::Kernel, entry.msr, &mut source).into_parts().0;
                assert!(matches!(read, ReadOutcome::Value(_)), "{}", entry.counter);
                let name = vpmu::decode::msr_name(profile, entry.msr).unwrap_or_default();
                assert_eq!(name, format!("IA32_{}", entry.counter));
            }
        }
    }
}
