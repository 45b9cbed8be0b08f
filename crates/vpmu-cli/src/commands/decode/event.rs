//! `vpmu decode EVENT`: the codes of an event by its name, and the event of a raw code as perf takes it.

use crate::commands::events::counters;
use crate::output::{HEADING, number, paint};
use serde::Serialize;
use std::fmt::Write as _;
use vpmu::Profile;
use vpmu::decode::msr_name;
use vpmu::event::{Encoding, Event, EventCode, FixedEvent, MatrixEvent};
use vpmu::profile::{Architecture, Vendor};
use vpmu::register::arm::{Pmccfiltr, Pmevtyper, Pmresr};
use vpmu::register::intel::{FixedCtrCtrl, PerfEvtSel};

/// An event of a profile.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    profile: String,
    /// `None` for a code that no event has.
    event: Option<&'static str>,
    aliases: Vec<&'static str>,
    description: Option<&'static str>,
    /// CMASK, INV or E make something else of the event.
    modified: bool,
    general: Option<General>,
    fixed: Option<Fixed>,
}

/// How a general-purpose counter counts it.
#[derive(Debug, Serialize)]
struct General {
    /// perf's notations.
    code: String,
    raw: String,
    /// The register, and a value that counts at the privilege levels that were asked for.
    register: &'static str,
    value: u64,
    /// `None`: no counter is known to count it.
    counters: Option<String>,
    extra: Option<Extra>,
}

/// A further register that selects the event.
#[derive(Debug, Serialize)]
struct Extra {
    register: String,
    index: u32,
    value: u64,
}

/// The fixed counter that counts the same.
#[derive(Debug, Serialize)]
struct Fixed {
    counter: String,
    /// The register that says where it counts.
    register: &'static str,
    /// Its value.
    control: u64,
}

/// Which privilege levels count, as perf's `:u` and `:k`.
#[derive(Debug, Clone, Copy)]
struct Levels {
    user: bool,
    kernel: bool,
}

impl Levels {
    /// The text without its modifiers, and what they say.
    fn split(text: &str) -> (&str, Self) {
        let both = Self { user: true, kernel: true };
        match text.rsplit_once(':') {
            Some((name, "u")) => (name, Self { kernel: false, ..both }),
            Some((name, "k")) => (name, Self { user: false, ..both }),
            Some((name, "uk" | "ku")) => (name, both),
            _ => (text, both),
        }
    }
}

/// What the text means on this profile: `r20d1`, or a name in any letter case, with or without `:u` or `:k`.
pub(super) fn find(profile: &Profile, text: &str) -> Option<Found> {
    let (name, levels) = Levels::split(text);
    if let Some(config) = raw(name).or_else(|| matrix(profile, name)) {
        return Some(of_code(profile, config, levels));
    }
    let listed = profile.events.encodings().iter().find(|encoding| encoding.name.eq_ignore_ascii_case(name));
    let event = listed.map(|encoding| encoding.event).or_else(|| Event::from_name(name))?;
    let encoding = listed.or_else(|| profile.events.by_event(event));
    let fixed = fixed(profile, event, levels);
    if encoding.is_none() && fixed.is_none() {
        return None;
    }
    let general = encoding.map(|encoding| general(profile, encoding.code, Some(encoding), levels));
    Some(described(profile, event, encoding, general, fixed))
}

/// All names that [`find`] takes on this profile.
pub(super) fn names(profile: &Profile) -> impl Iterator<Item = &'static str> {
    let listed = profile.events.encodings();
    listed
        .iter()
        .map(|encoding| encoding.name)
        .chain(listed.iter().flat_map(|encoding| encoding.event.aliases()))
}

/// The digits of `r4300c4`.
fn raw(text: &str) -> Option<u64> {
    let digits = text.strip_prefix(['r', 'R'])?;
    let is_hex = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

/// 0xPRCCG, on a CPU with Falkor's matrix.
fn matrix(profile: &Profile, text: &str) -> Option<u64> {
    profile.arm().filter(|pmu| pmu.matrix)?;
    let number = number::parse(text)?;
    u32::try_from(number).ok().and_then(|number| MatrixEvent::from_number(number).ok()).map(|_| number)
}

fn of_code(profile: &Profile, config: u64, levels: Levels) -> Found {
    let code = profile.code_of_config(config);
    let resolved = profile.events.resolve(code);
    // The first of those whose extra register has not been named.
    let code_alone =
        || profile.events.by_select_umask(code.select, code.umask).find(|found| found.code == code);
    let exact = resolved.exact.and_then(|event| profile.events.by_event(event)).or_else(code_alone);
    // A raw code that already is an event select keeps its levels.
    let said = match profile.architecture() {
        Architecture::X86_64 => PerfEvtSel(config),
        Architecture::Aarch64 => PerfEvtSel::default(),
    };
    let levels = match (said.usr(), said.os()) {
        (false, false) => levels,
        (user, kernel) => Levels { user, kernel },
    };
    let mut general = general(profile, code, exact, levels);
    if general.counters.is_none() && resolved.counters != 0 {
        general.counters = Some(counters(resolved.counters, profile));
    }
    match (exact, resolved.base) {
        (Some(encoding), _) => {
            let fixed = fixed(profile, encoding.event, levels);
            described(profile, encoding.event, Some(encoding), Some(general), fixed)
        }
        (None, Some(base)) => {
            let listed = profile.events.by_event(base);
            Found { modified: true, ..described(profile, base, listed, Some(general), None) }
        }
        (None, None) => Found {
            profile: profile.name.to_string(),
            event: None,
            aliases: Vec::new(),
            description: None,
            modified: false,
            general: Some(general),
            fixed: None,
        },
    }
}

fn described(
    profile: &Profile,
    event: Event,
    encoding: Option<&'static Encoding>,
    general: Option<General>,
    fixed: Option<Fixed>,
) -> Found {
    let name = encoding.map_or(event.name(), |encoding| encoding.name);
    let own = (event.name() != name).then_some(event.name());
    Found {
        profile: profile.name.to_string(),
        event: Some(name),
        aliases: own.into_iter().chain(event.aliases().filter(|alias| *alias != name)).collect(),
        description: Some(event.description()),
        modified: false,
        general,
        fixed,
    }
}

fn general(profile: &Profile, code: EventCode, encoding: Option<&Encoding>, levels: Levels) -> General {
    // USR, OS and EN are the same in AMD's.
    let select =
        PerfEvtSel(code.to_evtsel_bits()).with_usr(levels.user).with_os(levels.kernel).with_enable(true);
    let (register, value) = match profile.vendor() {
        Vendor::Intel => ("IA32_PERFEVTSELx", select.0),
        Vendor::Amd => ("PERF_CTLx", select.0),
        Vendor::Qualcomm => {
            let types = Pmevtyper(code.select.into()).with_el0(!levels.user).with_el1(!levels.kernel);
            ("PMEVTYPERx_EL0", types.0)
        }
    };
    let matrix = MatrixEvent::from_code(code).filter(|_| profile.arm().is_some());
    let region = matrix.map(|event| Extra {
        register: format!("PMRESR{}_EL0", event.region),
        index: Pmresr::INDEX + u32::from(event.region) * Pmresr::STEP,
        value: event.register().0,
    });
    let config = profile.config_of_code(code);
    General {
        code: encoding.map_or_else(|| profile.perf_code(code), |encoding| profile.perf_event(encoding)),
        raw: format!("r{config:x}"),
        register,
        value,
        counters: encoding.map(|encoding| counters(encoding.counters, profile)),
        extra: encoding
            .and_then(|encoding| encoding.extra)
            .map(|extra| Extra {
                register: msr_name(profile, extra.msr).unwrap_or_default(),
                index: extra.msr,
                value: extra.value,
            })
            .or(region),
    }
}

/// The fixed counter of the event, or of what counts the same.
fn fixed(profile: &Profile, event: Event, levels: Levels) -> Option<Fixed> {
    if profile.architecture() == Architecture::Aarch64 {
        return (event.counts_as() == Event::CpuCycles.counts_as()).then(|| Fixed {
            counter: "PMCCNTR_EL0".to_owned(),
            register: "PMCCFILTR_EL0",
            control: Pmccfiltr::default().with_el0(!levels.user).with_el1(!levels.kernel).0,
        });
    }
    let found = FixedEvent::by_event(event).or_else(|| FixedEvent::by_event(event.counts_as()))?;
    let counter = u32::from(found.counter);
    let mut control = FixedCtrCtrl::default();
    control.set_usr(counter, levels.user);
    control.set_os(counter, levels.kernel);
    (found.counter < profile.fixed_counters()).then(|| Fixed {
        counter: format!("FIXED_CTR{}", found.counter),
        register: "IA32_FIXED_CTR_CTRL",
        control: control.0,
    })
}

pub(super) fn render(found: &Found) -> String {
    let Found { profile, event, aliases, description, modified, general, fixed } = found;
    let name = match (event, general) {
        (Some(event), _) => (*event).to_owned(),
        (None, Some(general)) => general.raw.clone(),
        (None, None) => String::new(),
    };
    let modifiers = if *modified { " with modifiers" } else { "" };
    let mut text = format!("{}{modifiers} on {profile}\n", paint(HEADING, name));
    match description {
        Some(description) => text += &format!("{description}\n\n"),
        None => text += "No event of this CPU has this code: a counter would count nothing.\n\n",
    }
    if !aliases.is_empty() {
        let _ = writeln!(text, "also      {}", aliases.join(", "));
    }
    if let Some(General { code, raw, register, value, counters, extra }) = general {
        let _ = writeln!(text, "perf      {code} or {raw}");
        let _ = writeln!(text, "select    {register} = {value:#x}");
        if let Some(Extra { register, index, value }) = extra {
            let _ = writeln!(text, "and       {register} ({index:#x}) = {value:#x}");
        }
        if let Some(counters) = counters {
            let _ = writeln!(text, "counters  {counters}");
        }
    }
    if let Some(Fixed { counter, register, control }) = fixed {
        let _ = writeln!(text, "fixed     {counter}, {register} = {control:#x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::profile::{FALKOR, ICELAKE_SP, PROFILES, SAPPHIRE_RAPIDS, ZEN4};

    fn shown(profile: &Profile, text: &str) -> String {
        let found = find(profile, text).expect("a known event");
        anstream::adapter::strip_str(&render(&found)).to_string()
    }

    #[test]
    fn an_event_has_its_codes_and_counters() {
        insta::assert_snapshot!(shown(&SAPPHIRE_RAPIDS, "branch-misses:u"), @r"
        BR_MISP_RETIRED.ALL_BRANCHES on sapphire-rapids
        Mispredicted branches retired.

        also      branch-misses
        perf      cpu/event=0xc5,umask=0x0/ or rc5
        select    IA32_PERFEVTSELx = 0x4100c5
        counters  PMC0-7
        ");
        let instructions = shown(&ICELAKE_SP, "inst_retired.any_p");
        assert!(instructions.contains("FIXED_CTR0, IA32_FIXED_CTR_CTRL = 0x3"), "{instructions}");
        let slots = shown(&ICELAKE_SP, "TOPDOWN.SLOTS:k");
        assert!(slots.contains("FIXED_CTR3, IA32_FIXED_CTR_CTRL = 0x1000"), "{slots}");
        assert!(find(&ZEN4, "TOPDOWN.SLOTS").is_none());
    }

    /// By name, by raw code, and by the value of the event select.
    #[test]
    fn every_event_comes_back_from_its_codes() {
        for profile in PROFILES {
            for encoding in profile.events.encodings() {
                let by_name = find(profile, encoding.name).expect("it is listed");
                let general = by_name.general.expect("a code");
                // A type register alone does not say what the matrix selects.
                let select = profile.arm().is_none().then(|| format!("r{:x}", general.value));
                for raw in [general.raw.clone()].into_iter().chain(select) {
                    let by_code = find(profile, &raw).expect("a code");
                    let again = by_code.general.as_ref().expect("a code");
                    assert_eq!((&again.raw, again.value), (&general.raw, general.value), "{}", encoding.name);
                    assert!(
                        by_code.event.is_some() && !by_code.modified,
                        "{} of {}",
                        encoding.name,
                        profile.name
                    );
                }
            }
        }
    }

    #[test]
    fn matrix_events_have_a_type_register_and_a_region() {
        insta::assert_snapshot!(shown(&FALKOR, "0x12517:u"), @r"
        synthetic.prefetch_useful on falkor
        Made up for this project, no event of Qualcomm's: hardware prefetches that were used; selects group 7.

        also      syn_prefetch_useful
        perf      qcom_pmuv3_0/config=0x12517/ or r12517
        select    PMEVTYPERx_EL0 = 0x800000ef
        and       PMRESR2_EL0 (0x1db380) = 0xd100000000000000
        counters  PMEVCNTR0-7
        ");
        let unknown = shown(&FALKOR, "r10203");
        assert!(unknown.contains("No event of this CPU has this code"), "{unknown}");
        assert!(unknown.contains("qcom_pmuv3_0/config=0x10203/ or r10203"), "{unknown}");
        let cycles = shown(&FALKOR, "CPU_CYCLES:k");
        assert!(cycles.contains("PMCCNTR_EL0, PMCCFILTR_EL0 = 0x40000000"), "{cycles}");
        assert!(find(&ICELAKE_SP, "0x12517").is_none(), "x86 has no such numbers");
        assert!(find(&FALKOR, "0x13000").is_none(), "there is no region 3");
    }

    #[test]
    fn a_code_without_an_event_says_so_and_modifiers_stay() {
        assert!(shown(&SAPPHIRE_RAPIDS, "rfffe").contains("No event of this CPU has this code"));
        let cycles = shown(&SAPPHIRE_RAPIDS, "r20000c4");
        assert!(cycles.contains("BR_INST_RETIRED.ALL_BRANCHES with modifiers"), "{cycles}");
        assert!(cycles.contains("IA32_PERFEVTSELx = 0x24300c4"), "{cycles}");
    }

    #[test]
    fn what_is_no_event_is_none() {
        for text in ["", "r", "r+1", "rx", "NO_SUCH.EVENT", "r123456789abcdef01"] {
            assert!(find(&SAPPHIRE_RAPIDS, text).is_none(), "{text:?}");
        }
    }
}
