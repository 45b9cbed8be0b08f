//! `vpmu decode`: a register value in words, what a register holds, and the codes of an event.

mod cpuid;
mod event;
mod lvtpc;

use super::rdpmc;
use crate::args::DecodeArgs;
use crate::error::CliError;
use crate::exit;
use crate::machine::profile;
use crate::output::bar::bar;
use crate::output::number;
use crate::output::table::{self, left, right, styled};
use crate::output::{BAD, DIM, GOOD, HEADING, paint, print, print_json};
use crate::similar::most_similar;
use serde::Serialize;
use std::fmt::Write as _;
use vpmu::decode::{Decoded, DecodedField, address};
use vpmu::profile::{Architecture, Vendor};
use vpmu::register::cpuid::Word;
use vpmu::register::{Access, OnWrite, RegisterId, index_by_name, intel, numbered, registers};
use vpmu::source::ScriptedSource;
use vpmu::{Level, Profile, Vpmu, WriteOutcome};

/// Width of the bar of a PERF_METRICS field of 255.
const BAR: usize = 20;

/// A register value taken apart, and what writing it would do.
#[derive(Debug, Serialize)]
struct Explained {
    profile: String,
    index: u32,
    value: u64,
    #[serde(flatten)]
    decoded: Decoded,
    access: &'static str,
    /// Why a WRMSR of this value raises #GP(0) on a PMU after RESET; `None` when it does not.
    write_fault: Option<String>,
    /// Bits of the value that a WRMSR accepts but does not store.
    not_stored: u64,
    #[serde(skip)]
    words: Words,
}

/// The fields that a register has.
#[derive(Debug, Serialize)]
struct Layout {
    profile: String,
    index: u32,
    register: String,
    summary: &'static str,
    exists: bool,
    access: &'static str,
    /// Bits of no field.
    reserved: u64,
    fields: Vec<LayoutField>,
    #[serde(skip)]
    words: Words,
}

/// A field of a register.
#[derive(Debug, Serialize)]
struct LayoutField {
    /// Highest and lowest bit.
    bits: (u32, u32),
    name: String,
    meaning: String,
}

pub(super) fn decode(args: &DecodeArgs, json: bool) -> Result<u8, CliError> {
    let profile = profile(&args.profile.profile)?;
    let number = |text: &String, bits| CliError::Number { text: text.clone(), bits };
    if profile.architecture() == Architecture::X86_64 && args.register.eq_ignore_ascii_case("rdpmc") {
        let text = args.value.as_ref().ok_or(CliError::NoIndex)?;
        let ecx = number::parse(text).and_then(|value| u32::try_from(value).ok());
        rdpmc::explain(&profile, ecx.ok_or_else(|| number(text, 32))?, json)?;
        return Ok(exit::PASS);
    }
    if let Some(word) = Word::by_name(&args.register) {
        cpuid::show(&profile, word, args.value.as_deref(), json)?;
        return Ok(exit::PASS);
    }
    let value =
        args.value.as_ref().map(|text| number::parse(text).ok_or_else(|| number(text, 64))).transpose()?;
    let register = msr(&profile, &args.register);
    match (value, register) {
        (Some(value), _) => {
            let explained = explain(&profile, &args.register, value)?;
            if json { print_json(&explained)? } else { print(&render(&explained))? }
        }
        (None, index) => {
            if let Some(layout) = index.and_then(|index| layout(&profile, index)) {
                if json {
                    print_json(&layout)?;
                } else {
                    print(&render_layout(&layout))?;
                }
                return Ok(exit::PASS);
            }
            let found =
                event::find(&profile, &args.register).ok_or_else(|| unknown(&profile, &args.register))?;
            if json { print_json(&found)? } else { print(&event::render(&found))? }
        }
    }
    Ok(exit::PASS)
}

/// The MSR that a name or number means; `None` for anything else.
fn msr(profile: &Profile, text: &str) -> Option<u32> {
    let index = number::parse(text).and_then(|index| u32::try_from(index).ok());
    if profile.architecture() == Architecture::X86_64 && lvtpc::is_meant(text, index) {
        return Some(lvtpc::MSR);
    }
    index.or_else(|| index_by_name(text)).or_else(|| by_short_name(profile, text))
}

/// The register that people call `GLOBAL_CTRL`, whichever the vendor's name for it is.
fn by_short_name(profile: &Profile, text: &str) -> Option<u32> {
    const PREFIXES: [&str; 3] = ["PERF", "PERFCNTR", "PERFMON"];
    let plain = |text: &str| {
        let text = text.to_ascii_uppercase();
        let text = text.strip_prefix("IA32_").or_else(|| text.strip_prefix("MSR_")).unwrap_or(&text);
        text.replace('_', "").replace("CTRL", "CTL")
    };
    let wanted = PREFIXES.map(|prefix| prefix.to_owned() + &plain(text));
    let own = profile.vendor();
    let vendors = std::iter::once(own).chain(Vendor::ALL.into_iter().filter(|vendor| *vendor != own));
    vendors.flat_map(registers).find_map(|register| {
        (0..register.span)
            .find(|&n| wanted.contains(&plain(&register.instance_name(n))))
            .map(|instance| register.index_of(instance))
    })
}

fn unknown(profile: &Profile, text: &str) -> CliError {
    let mut names = names();
    names.extend(lvtpc::NAMES.into_iter().chain(event::names(profile)).map(str::to_owned));
    CliError::UnknownRegister {
        text: text.to_owned(),
        similar: most_similar(text, names.iter().map(String::as_str)),
    }
}

/// What software may do with a register.
pub(super) fn access(access: Access) -> &'static str {
    match access {
        Access::ReadWrite => "read and write",
        Access::ReadOnly => "read only",
        Access::WritesDropped => "read only; writes do nothing",
        Access::WriteOneToClear => "write 1 to clear; reads as 0",
        Access::WriteOneToSet => "write 1 to set; reads as 0",
        Access::ClearBits => "write 1 to clear; reads all bits",
        Access::SetBits => "write 1 to set; reads all bits",
        Access::WriteOnly => "write only",
        Access::Indirect => "through another register only",
    }
}

/// What the register holds in this profile; `None` when it is no PMU register.
fn layout(profile: &Profile, index: u32) -> Option<Layout> {
    if index == lvtpc::MSR {
        return Some(lvtpc::layout(profile));
    }
    let located = vpmu::decode::find(profile, index)?;
    let register = located.register;
    let mut fields: Vec<LayoutField> = Vec::new();
    for field in register.fields.iter().filter(|field| field.when.holds(profile)) {
        for n in 0..field.repeat.count(profile) {
            let mask = field.mask_of(n, profile);
            if mask != 0 {
                fields.push(LayoutField {
                    bits: (63 - mask.leading_zeros(), field.shift_of(n)),
                    name: numbered(field.name, n),
                    meaning: numbered(field.doc, n),
                });
            }
        }
    }
    fields.sort_by_key(|field| field.bits.1);
    Some(Layout {
        profile: profile.name.to_string(),
        index,
        register: register.instance_name(located.instance),
        summary: register.doc.trim(),
        exists: located.exists_in(profile),
        access: access(register.access),
        reserved: register.reserved(profile),
        fields,
        words: Words::of(profile),
    })
}

fn explain(profile: &Profile, register: &str, value: u64) -> Result<Explained, CliError> {
    let unknown = || unknown(profile, register);
    let index = msr(profile, register).ok_or_else(unknown)?;
    if index == lvtpc::MSR {
        return Ok(lvtpc::explain(profile, value));
    }
    let decoded = vpmu::decode::decode(profile, index, value).ok_or_else(unknown)?;
    let register = vpmu::decode::find(profile, index).ok_or_else(unknown)?.register;
    // The model itself says what a write does, so this cannot differ from what a guest sees.
    let (outcome, _) = Vpmu::new(profile.clone())
        .write_register(Level::Kernel, index, value, &mut ScriptedSource::new())
        .into_parts();
    let write_fault = match outcome {
        WriteOutcome::Fault(fault) => Some(fault.to_string()),
        WriteOutcome::Done | WriteOutcome::NotHandled => None,
    };
    let is_stored =
        register.access == Access::ReadWrite && register.id != RegisterId::Intel(intel::RegisterId::Pmc);
    let not_stored = if is_stored && write_fault.is_none() {
        value & !register.stored(profile) & !register.bits(OnWrite::FaultOnChange, profile)
    } else {
        0
    };
    let access = access(register.access);
    let words = Words::of(profile);
    Ok(Explained {
        profile: profile.name.to_string(),
        index,
        value,
        decoded,
        access,
        write_fault,
        not_stored,
        words,
    })
}

/// Names of all registers, with all instances that have an address, and those of CPUID.
fn names() -> Vec<String> {
    Vendor::ALL
        .into_iter()
        .flat_map(registers)
        .flat_map(|register| (0..register.span).map(|n| register.instance_name(n)))
        .flat_map(|name| {
            let bare = name.trim_start_matches("IA32_").trim_start_matches("MSR_").to_owned();
            [name, bare]
        })
        .chain(cpuid::all_names())
        .collect()
}

fn render_layout(layout: &Layout) -> String {
    let Layout { profile, index, register, summary, exists, access, reserved, fields, words } = layout;
    let address = address(words.architecture, *index);
    let mut text = format!("{} ({address}) on {profile}\n{summary}\n\n", paint(HEADING, register));
    if !exists {
        let _ = writeln!(text, "{}", absent(profile, words));
        return text;
    }
    if !fields.is_empty() {
        let mut table = table::new(vec![right("Bits"), left("Field"), left("Meaning")]);
        for LayoutField { bits, name, meaning } in fields {
            table.add_row(vec![right(range(*bits)), left(name), left(meaning)]);
        }
        text += &table::Fitting { prose: true, dispensable: &[] }.render(&mut table);
        text.push('\n');
    }
    let _ = writeln!(text, "access    {access}\nreserved  {reserved:#x}");
    text
}

fn absent(profile: &str, words: &Words) -> String {
    let lacks = format_args!("does not have this register: every access {}", words.fault);
    format!("{profile} {}", paint(BAD, lacks))
}

/// How the architecture calls things.
#[derive(Debug, Clone, Copy)]
struct Words {
    architecture: Architecture,
    /// The instruction that writes a register.
    write: &'static str,
    /// What a refused access does.
    fault: &'static str,
}

impl Words {
    fn of(profile: &Profile) -> Self {
        let architecture = profile.architecture();
        match architecture {
            Architecture::X86_64 => Self { architecture, write: "WRMSR", fault: "raises #GP(0)" },
            Architecture::Aarch64 => Self { architecture, write: "MSR", fault: "is UNDEFINED" },
        }
    }
}

/// `7:0`, or `22` for a single bit.
fn range((high, low): (u32, u32)) -> String {
    if high == low { low.to_string() } else { format!("{high}:{low}") }
}

fn render(explained: &Explained) -> String {
    let Explained { profile, index, value, decoded, access, write_fault, not_stored, words } = explained;
    let address = address(words.architecture, *index);
    let name = paint(HEADING, &decoded.register);
    let mut text = format!("{name} ({address}) = {value:#x} on {profile}\n{}\n", decoded.summary);
    let is_metrics = decoded.register == "IA32_PERF_METRICS";
    if decoded.fields.is_empty() {
        text += "\nno field is set\n";
    } else {
        let _ = write!(text, "\n{}", fields(&decoded.fields, is_metrics));
    }
    text.push('\n');
    if !decoded.exists {
        let _ = writeln!(text, "{}", absent(profile, words));
        return text;
    }
    let _ = writeln!(text, "access    {access}");
    if decoded.reserved != 0 {
        let _ = writeln!(text, "reserved  {:#x} ({})", decoded.reserved, bits(decoded.reserved));
    }
    let _ = match write_fault {
        Some(reason) => {
            let faults = format_args!("{}: {reason}", words.fault);
            writeln!(text, "{:<10}{}", words.write, paint(BAD, faults))
        }
        None => writeln!(text, "{:<10}{}", words.write, paint(GOOD, "accepted")),
    };
    if *not_stored != 0 {
        let _ = writeln!(text, "dropped   {not_stored:#x} ({}): accepted, not stored", bits(*not_stored));
    }
    text
}

fn fields(fields: &[DecodedField], is_metrics: bool) -> String {
    let mut heads = vec![right("Bits"), left("Field"), right("Value")];
    if is_metrics {
        heads.push(left("Share"));
    }
    heads.push(left("Meaning"));
    let mut table = table::new(heads);
    for DecodedField { bits: (high, low), name, value, meaning } in fields {
        let bits = range((*high, *low));
        let value_text = if high == low { value.to_string() } else { format!("{value:#x}") };
        let mut row = vec![right(bits), left(name), right(value_text)];
        if is_metrics {
            row.push(styled(left(bar(*value as f64 / 255.0, BAR)), DIM));
        }
        row.push(left(meaning));
        table.add_row(row);
    }
    table::Fitting { prose: true, dispensable: &[] }.render(&mut table)
}

/// `bits 3, 7` for a mask.
fn bits(mask: u64) -> String {
    let set: Vec<String> = (0..64).filter(|n| mask >> n & 1 != 0).map(|n: u32| n.to_string()).collect();
    format!("bit{} {}", if set.len() == 1 { "" } else { "s" }, set.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output;
    use vpmu::profile::{FALKOR, ICELAKE_SP, SAPPHIRE_RAPIDS, ZEN2, ZEN4};

    fn shown(profile: &Profile, register: &str, value: u64) -> String {
        let explained = explain(profile, register, value).expect("a known register");
        anstream::adapter::strip_str(&render(&explained)).to_string()
    }

    #[test]
    fn an_event_select_has_the_events_name() {
        insta::assert_snapshot!(shown(&SAPPHIRE_RAPIDS, "perfevtsel0", 0x43_00C4));
    }

    #[test]
    fn metrics_have_percentages() {
        insta::assert_snapshot!(shown(&SAPPHIRE_RAPIDS, "PERF_METRICS", 0x1000_2008_4020_1F80));
    }

    #[test]
    fn fields_fit_every_terminal() {
        let explained = explain(&SAPPHIRE_RAPIDS, "FIXED_CTR_CTRL", 0xFFFF).expect("a known register");
        output::assert_fits(&["EN3_PMI", "Fixed", "counter", "overflows"], || {
            fields(&explained.decoded.fields, false)
        });
    }

    #[test]
    fn reserved_bits_say_that_they_fault() {
        insta::assert_snapshot!(shown(&SAPPHIRE_RAPIDS, "0x38f", 1 << 63 | 0xFF));
    }

    #[test]
    fn a_dropped_bit_is_no_fault() {
        let text = shown(&SAPPHIRE_RAPIDS, "IA32_DEBUGCTL", 1);
        assert!(text.contains("dropped   0x1 (bit 0)"), "{text}");
        assert!(text.contains("WRMSR     accepted"), "{text}");
    }

    #[test]
    fn amd_registers_are_known_by_name_and_vendor() {
        let merge = shown(&ZEN4, "PERF_CTL1", 0xF_0040_00FF);
        assert!(merge.contains("Merge: the counter below counts 64 bits"), "{merge}");
        let flops = shown(&ZEN2, "0xc0010000", 0x53_FF03);
        assert!(flops.contains("PERF_LEGACY_CTL0") && flops.contains("fp_ret_sse_avx_ops.all"), "{flops}");
        let debugctl = |profile| shown(profile, "0x1d9", 1 << 3);
        assert!(debugctl(&ZEN4).contains("DBG_CTL_MSR"), "{}", debugctl(&ZEN4));
        assert!(debugctl(&ICELAKE_SP).contains("IA32_DEBUGCTL"), "{}", debugctl(&ICELAKE_SP));
        let absent = shown(&ZEN4, "IA32_PERF_GLOBAL_CTRL", 1);
        assert!(absent.contains("does not have this register"), "{absent}");
    }

    #[test]
    fn registers_of_an_arm_cpu_are_in_its_words() {
        let selector = shown(&FALKOR, "pmevtyper3_el0", 0x8000_00E9);
        assert!(selector.starts_with("PMEVTYPER3_EL0 (S3_3_C14_C12_3) = 0x800000e9 on falkor"), "{selector}");
        assert!(selector.contains("Matrix: the code of group 1 in PMRESR2_EL0"), "{selector}");
        let region = shown(&FALKOR, "PMRESR2", 0xD100_0000_0000_4100);
        assert!(region.contains("Event 0x12411: synthetic.l1d_misses"), "{region}");
        assert!(region.contains("Event 0x12517: synthetic.prefetch_useful"), "{region}");
        assert!(region.contains("MSR       accepted"), "{region}");
        let foreign = shown(&FALKOR, "IA32_PERF_GLOBAL_CTRL", 1);
        assert!(foreign.contains("does not have this register: every access is UNDEFINED"), "{foreign}");
        let foreign = shown(&ICELAKE_SP, "PMCR", 1);
        assert!(foreign.contains("does not have this register: every access raises #GP(0)"), "{foreign}");
        assert!(shown(&FALKOR, "PMCEID0", 1).contains("MSR       is UNDEFINED: the register is read-only"));
        // What x86 CPUs have beside the PMU.
        assert_eq!(msr(&FALKOR, "LVTPC"), None);
    }

    #[test]
    fn level_2_fields_are_not_in_a_level_1_profile() {
        let text = shown(&ICELAKE_SP, "PERF_METRICS", 0xFF << 32);
        assert!(!text.contains("HeavyOperations"), "{text}");
    }

    #[test]
    fn an_absent_instance_is_said_to_fault() {
        let text = shown(&SAPPHIRE_RAPIDS, "FIXED_CTR6", 1);
        assert!(text.contains("does not have this register"), "{text}");
    }

    #[test]
    fn a_register_without_a_value_shows_its_fields() {
        let shown = |profile: &Profile, name: &str| {
            let index = msr(profile, name).expect("a register");
            anstream::adapter::strip_str(&render_layout(&layout(profile, index).expect("a register")))
                .to_string()
        };
        insta::assert_snapshot!(shown(&ICELAKE_SP, "FIXED_CTR_CTRL"));
        let absent = shown(&ZEN4, "PERF_METRICS");
        assert!(absent.contains("does not have this register"), "{absent}");
        insta::assert_snapshot!(shown(&SAPPHIRE_RAPIDS, "LVTPC"));
    }

    #[test]
    fn short_names_mean_the_profiles_own_register() {
        let named = |profile: &Profile, name: &str| msr(profile, name);
        for name in ["GLOBAL_CTRL", "global_ctrl", "PERF_GLOBAL_CTRL", "IA32_PERF_GLOBAL_CTRL"] {
            assert_eq!(named(&SAPPHIRE_RAPIDS, name), Some(0x38F), "{name}");
        }
        assert_eq!(named(&ZEN4, "GLOBAL_CTRL"), Some(0xC000_0301));
        assert_eq!(named(&SAPPHIRE_RAPIDS, "EVTSEL2"), Some(0x188));
        assert_eq!(named(&SAPPHIRE_RAPIDS, "GLOBAL"), None);
    }

    #[test]
    fn lvtpc_says_how_a_pmi_is_delivered() {
        let nmi = shown(&SAPPHIRE_RAPIDS, "LVTPC", 0x1_0400);
        for wanted in ["NMI; the vector is ignored", "Mask", "set by the CPU", "WRMSR     accepted"] {
            assert!(nmi.contains(wanted), "{wanted} in {nmi}");
        }
        let vector = shown(&ZEN4, "0x834", 0x20EC);
        assert!(vector.contains("fixed: the vector") && vector.contains("reserved bits 0x2000"), "{vector}");
    }

    #[test]
    fn a_typing_error_is_answered_with_the_name() {
        let error = explain(&SAPPHIRE_RAPIDS, "PERFEVTSLE0", 1).expect_err("no such register");
        let step = error.next_step().expect("a next step");
        assert!(step.contains("PERFEVTSEL0"), "{step}");
    }

    #[test]
    fn one_index_has_one_meaning_in_any_notation() {
        for notation in ["0x38D", "909", "FIXED_CTR_CTRL", "ia32_fixed_ctr_ctrl"] {
            let explained = explain(&SAPPHIRE_RAPIDS, notation, 0xB0B).expect("a known register");
            assert_eq!(explained.index, 0x38D, "{notation}");
        }
    }
}
