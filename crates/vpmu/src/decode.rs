//! Register values in words.
//!
//! Everything here is computed from the declarations in [`crate::register`] and the profile's
//! event table; nothing is written twice.

use crate::event::{EventCode, MatrixEvent};
use crate::metrics::FULL_SCALE;
use crate::profile::{Architecture, Profile, Vendor};
use crate::register::cpuid::{WORDS, Word};
use crate::register::{
    Access, Field, Located, OnWrite, Register, RegisterId, Repeat, Reserved, UserAccess, When, Width, amd,
    arm, intel, locate, numbered, registers,
};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// One field of a register value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DecodedField {
    /// Highest and lowest bit.
    pub bits: (u32, u32),
    /// Name, with the repetition filled in.
    pub name: String,
    /// The field's value, shifted down.
    pub value: u64,
    /// Explanation; for an event select the event's name, for a metric the percentage.
    pub meaning: String,
}

/// A register value taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Decoded {
    /// Name of the register instance.
    pub register: String,
    /// One line about it.
    pub summary: &'static str,
    /// The register exists in the profile.
    pub exists: bool,
    /// Fields that are not 0, lowest first.
    pub fields: Vec<DecodedField>,
    /// Bits set that no field of this profile covers.
    pub reserved: u64,
}

/// The register behind an MSR index or encoding: the profile's, or else another vendor's.
#[must_use]
pub fn find(profile: &Profile, index: u32) -> Option<Located> {
    let own = profile.vendor();
    let others = Vendor::ALL.into_iter().filter(|vendor| *vendor != own);
    core::iter::once(own).chain(others).find_map(|vendor| locate(vendor, index))
}

/// Name of a PMU register by MSR index or encoding, for example `IA32_FIXED_CTR3`. Where vendors use the same index,
/// that of the profile's.
#[must_use]
pub fn msr_name(profile: &Profile, index: u32) -> Option<String> {
    find(profile, index).map(|located| located.register.instance_name(located.instance))
}

/// Takes a register value apart; `None` when `index` is no PMU register.
#[must_use]
pub fn decode(profile: &Profile, index: u32, value: u64) -> Option<Decoded> {
    let located = find(profile, index)?;
    let Located { register, instance } = located;
    let meaning = |field: &Field, n, content| {
        meaning(profile, located, field.name, numbered(field.doc, n), (content, value))
    };
    let (fields, covered) = fields(profile, register.fields, value, meaning);
    Some(Decoded {
        register: register.instance_name(instance),
        summary: register.doc.trim(),
        exists: located.exists_in(profile),
        fields,
        reserved: value & !covered,
    })
}

/// Takes a register of CPUID apart. [`Decoded::reserved`] are its bits that are not about the PMU.
#[must_use]
pub fn decode_cpuid(profile: &Profile, word: &Word, value: u32) -> Decoded {
    let value = u64::from(value);
    let (fields, covered) = fields(profile, word.fields, value, |field, _, _| String::from(field.doc));
    Decoded {
        register: word.name(),
        summary: word.doc.trim(),
        exists: profile.vendor() == word.vendor,
        fields,
        reserved: value & !covered,
    }
}

/// Fields of a value that are not 0, lowest first, and the mask of all.
fn fields(
    profile: &Profile,
    declared: &[Field],
    value: u64,
    meaning: impl Fn(&Field, u32, u64) -> String,
) -> (Vec<DecodedField>, u64) {
    let mut fields = Vec::new();
    let mut covered = 0;
    for field in declared.iter().filter(|f| f.when.holds(profile)) {
        for n in 0..field.repeat.count(profile) {
            let mask = field.mask_of(n, profile);
            covered |= mask;
            if value & mask == 0 {
                continue;
            }
            let shift = field.shift_of(n);
            let content = (value & mask) >> shift;
            fields.push(DecodedField {
                bits: (63 - mask.leading_zeros(), shift),
                name: numbered(field.name, n),
                value: content,
                meaning: meaning(field, n, content),
            });
        }
    }
    fields.sort_by_key(|f| f.bits.1);
    (fields, covered)
}

fn meaning(
    profile: &Profile,
    Located { register, instance }: Located,
    field: &str,
    doc: String,
    (content, value): (u64, u64),
) -> String {
    let id = register.id;
    match (id, field) {
        _ if is_event_select(id) && matches!(field, "EventSelect" | "evtCount") => {
            event_name(profile, id, value).unwrap_or(doc)
        }
        (RegisterId::Arm(arm::RegisterId::Pmresr), _) => {
            matrix_event(profile, instance, field, content).unwrap_or(doc)
        }
        (RegisterId::Intel(intel::RegisterId::PerfMetrics), _) => {
            let tenths = content * 1000 / FULL_SCALE;
            format!("{}.{} % of slots: {doc}", tenths / 10, tenths % 10)
        }
        _ => doc,
    }
}

fn is_event_select(id: RegisterId) -> bool {
    use amd::RegisterId::{LegacyPerfCtl, PerfCtl};
    use arm::RegisterId::{Pmevtyper, Pmxevtyper};
    matches!(
        id,
        RegisterId::Intel(intel::RegisterId::PerfEvtSel)
            | RegisterId::Amd(PerfCtl | LegacyPerfCtl)
            | RegisterId::Arm(Pmevtyper | Pmxevtyper)
    )
}

/// The event that a field of PMRESRn_EL0 selects.
fn matrix_event(profile: &Profile, region: u32, field: &str, content: u64) -> Option<String> {
    let group = field.strip_prefix("Group")?.parse().ok()?;
    let event = MatrixEvent { region: u8::try_from(region).ok()?, code: u8::try_from(content).ok()?, group };
    let name = profile.events.resolve(event.code()).exact.map_or("not published", crate::event::Event::name);
    Some(format!("Event {event}: {name}"))
}

/// The event that an event select value stands for, or its code when it has no name.
fn event_name(profile: &Profile, id: RegisterId, value: u64) -> Option<String> {
    let code = match id {
        RegisterId::Intel(_) => EventCode::from_evtsel(value),
        RegisterId::Amd(_) => EventCode::from_perf_ctl(value),
        RegisterId::Arm(_) => {
            let number = arm::Pmevtyper(value).event_number();
            if let Some((region, group)) = MatrixEvent::place_of(number) {
                return Some(format!("Matrix: the code of group {group} in PMRESR{region}_EL0"));
            }
            EventCode::new(number, 0)
        }
    };
    if matches!(id, RegisterId::Amd(_)) && code.select == amd::MERGE {
        return Some(String::from("Merge: the counter below counts 64 bits"));
    }
    let resolved = profile.events.resolve(code);
    match (resolved.exact, resolved.base) {
        (Some(event), _) => {
            let listed = profile.events.by_event(event).map_or(event.name(), |encoding| encoding.name);
            Some(String::from(listed))
        }
        (None, Some(base)) => Some(format!("{} with modifiers", base.name())),
        (None, None) => None,
    }
}

/// One line: non-zero fields as `NAME` (single bits) or `NAME=0x…`, for traces.
#[must_use]
pub fn one_line(profile: &Profile, index: u32, value: u64) -> String {
    let Some(decoded) = decode(profile, index, value) else { return String::new() };
    let mut line = String::new();
    for field in &decoded.fields {
        let separator = if line.is_empty() { "" } else { " " };
        let name = &field.name;
        // Writing to a String cannot fail.
        let _ = if field.bits.0 == field.bits.1 {
            write!(line, "{separator}{name}")
        } else {
            write!(line, "{separator}{name}={:#x}", field.value)
        };
    }
    if let Some(located) = find(profile, index)
        && is_event_select(located.register.id)
        && let Some(event) = event_name(profile, located.register.id, value)
    {
        let _ = write!(line, " ({event})");
    }
    if decoded.reserved != 0 {
        let _ = write!(line, " reserved={:#x}", decoded.reserved);
    }
    line
}

/// The register reference as Markdown, for all declared registers.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(
        "# PMU registers\n\nGenerated from the declarations in `crates/vpmu/src/register/intel.rs`, `amd.rs`, \
         `arm.rs` and `cpuid.rs` by `cargo xtask docs`; do not edit.\n",
    );
    let titles = [
        ("Intel", Vendor::Intel),
        ("AMD", Vendor::Amd),
        ("Arm PMUv3 and the matrix of Qualcomm Falkor", Vendor::Qualcomm),
    ];
    for (title, vendor) in titles {
        let _ = write!(page, "\n## {title}\n");
        section(&mut page, registers(vendor), vendor.architecture());
    }
    page += "\n## CPUID\n\nThe registers that announce a PMU; other bits of them are not about it.\n";
    for word in WORDS {
        cpuid_section(&mut page, word);
    }
    page
}

fn cpuid_section(page: &mut String, word: &Word) {
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "\n### {}\n\n{} Source: {}.\n\n| Bits | Field | Meaning |\n| --- | --- | --- |\n",
        word.name(),
        word.doc.trim(),
        word.source
    );
    for field in word.fields {
        let bits = bits(field.lsb, field.width, field.repeat);
        let _ = writeln!(page, "| {bits} | {} | {} |", field.name, field.doc);
    }
}

/// The address of a register as the architecture's manuals write it.
#[must_use]
pub fn address(architecture: Architecture, index: u32) -> String {
    match architecture {
        Architecture::X86_64 => format!("{index:#x}"),
        Architecture::Aarch64 => arm::generic_name(index),
    }
}

fn section(page: &mut String, registers: &[Register], architecture: Architecture) {
    let fault = match architecture {
        Architecture::X86_64 => "#GP",
        Architecture::Aarch64 => "UNDEFINED",
    };
    for register in registers {
        let address = |instance| address(architecture, register.index_of(instance));
        let range = match (register.access, register.span) {
            (Access::Indirect, _) => String::from("no encoding of its own"),
            (_, 1) => address(0),
            (_, span) => {
                let stepped = architecture == Architecture::X86_64 && register.step > 1;
                let step = if stepped { format!(" step {}", register.step) } else { String::new() };
                format!("{}..{}{step}", address(0), address(span - 1))
            }
        };
        let access = match register.access {
            Access::ReadWrite => "read/write",
            Access::ReadOnly if architecture == Architecture::X86_64 => "read-only (WRMSR raises #GP)",
            Access::ReadOnly => "read-only (MSR is UNDEFINED)",
            Access::WritesDropped => "read-only (WRMSR does nothing)",
            Access::WriteOneToClear => "write 1 to clear, reads 0",
            Access::WriteOneToSet => "write 1 to set, reads 0",
            Access::ClearBits => "write 1 to clear, reads all bits",
            Access::SetBits => "write 1 to set, reads all bits",
            Access::WriteOnly => "write-only (MRS is UNDEFINED)",
            Access::Indirect => "through another register",
        };
        let others = match (register.reserved, architecture) {
            (Reserved::Fault, _) => "raise #GP",
            (Reserved::Ignore, Architecture::X86_64) => "are dropped",
            (Reserved::Ignore, Architecture::Aarch64) => "are RES0",
        };
        let user = match architecture {
            Architecture::X86_64 => String::new(),
            Architecture::Aarch64 => format!(" EL0: {}.", user_access(register.user)),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "\n### {} ({range})\n\n{}\n\nAccess: {access}.{user} Other bits {others}. Exists: {}. Source: {}.\n",
            register.name,
            register.doc.trim(),
            condition(register.when),
            register.source
        );
        if register.fields.is_empty() {
            continue;
        }
        let _ =
            write!(page, "\n| Bits | Field | Exists | Write | Meaning |\n| --- | --- | --- | --- | --- |\n");
        for field in register.fields {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} |",
                bits(field.lsb, field.width, field.repeat),
                field.name,
                condition(field.when),
                match field.on_write {
                    OnWrite::Store => String::from("stored"),
                    OnWrite::Ignore => String::from("ignored"),
                    OnWrite::FaultOnChange => format!("{fault} if changed"),
                },
                field.doc
            );
        }
    }
}

fn user_access(user: UserAccess) -> &'static str {
    match user {
        UserAccess::Never => "never",
        UserAccess::Enabled => "PMUSERENR_EL0.EN",
        UserAccess::SoftwareIncrement => "PMUSERENR_EL0.EN or SW",
        UserAccess::CycleCounter => "PMUSERENR_EL0.EN, to read also CR",
        UserAccess::EventCounter => "PMUSERENR_EL0.EN, to read also ER",
        UserAccess::Select => "PMUSERENR_EL0.EN or ER",
        UserAccess::Read => "reads",
        UserAccess::Matrix => "PMACTLR_EL0.UEN",
    }
}

fn bits(lsb: u8, width: Width, repeat: Repeat) -> String {
    let one = match width {
        Width::Bits(1) => format!("{lsb}"),
        Width::Bits(bits) => format!("{}:{lsb}", lsb + bits - 1),
        Width::LinearAddress => format!("63:{lsb}"),
        Width::GpCounter | Width::FixedCounter => String::from("counter width"),
        Width::OffcoreMask | Width::LoadLatencyMask | Width::FrontendMask => String::from("profile mask"),
    };
    match repeat {
        Repeat::Once | Repeat::PerLbr | Repeat::PerRegion => one,
        Repeat::PerGp { stride: 1 } | Repeat::PerFixed { stride: 1 } => format!("{one}+n"),
        Repeat::PerGp { stride } | Repeat::PerFixed { stride } => format!("{one}+{stride}n"),
    }
}

fn condition(when: When) -> &'static str {
    match when {
        When::Always => "always",
        When::Version2 => "v2+",
        When::Version4 => "v4+",
        When::Version6 => "v6+",
        When::BeforeVersion6 => "before v6",
        When::UnitMask2 => "CPUID.23H.0:EBX[0]",
        When::AnyThread => "v3+, AnyThread not deprecated",
        When::AnyThreadDeprecated => "v5+, AnyThread deprecated",
        When::FullWidth => "PERF_CAPABILITIES[13]",
        When::Metrics => "PERF_CAPABILITIES[15]",
        When::MetricsLevel2 => "PERF_METRICS level 2",
        When::MetricsClear => "PERF_CAPABILITIES[19]",
        When::FreezeWhileSmm => "PERF_CAPABILITIES[12]",
        When::LegacyLbr => "model-specific LBR",
        When::LbrEventLogging => "LBR event logging",
        When::NoLbrEventLogging => "no LBR event logging",
        When::NoLegacyLbr => "no model-specific LBR",
        When::ArchLbr => "CPUID.07H:EDX[19]",
        When::AnyLbr => "LBR",
        When::NoLbr => "no LBR",
        When::OffcoreResponse | When::LoadLatency | When::Frontend => "model",
        When::ExtCore => "PerfCtrExtCore",
        When::PerfMonV2 => "PerfMonV2",
        When::PmcFreeze => "LbrAndPmcFreeze",
        When::NoPmcFreeze => "no LbrAndPmcFreeze",
        When::PinControl => "before the bus-lock trap",
        When::BusLockTrap => "Zen 5",
        When::LbrExtV2 => "LbrExtV2",
        When::EventNumbers16 => "PMUVer 4+",
        When::Aarch32 => "AArch32",
        When::NoAarch32 => "no AArch32",
        When::Matrix => "Falkor",
        When::Pebs => "PERF_CAPABILITIES[11:8]",
        When::PebsBaseline => "PERF_CAPABILITIES[14]",
        When::Ibs => "CPUID.8000_0001H:ECX[10]",
        When::IbsL3Miss => "CPUID.8000_001BH:EAX[11]",
        When::PebsBeforeBaseline => "PERF_CAPABILITIES[11:8], not [14]",
    }
}
