//! LVTPC: not a register of the PMU, but the one that says what a PMI is.
//!
//! Source: SDM vol. 3A, "Local Vector Table" and "x2APIC Register Address Space".

use super::{Explained, Layout, LayoutField, Words};
use platform::x86::apic::spec::{Lvt, LvtKind};
use vpmu::Profile;
use vpmu::decode::{Decoded, DecodedField};
use vpmu::profile::Vendor;

/// Its MSR in x2APIC mode; in xAPIC mode it is at offset 340H of the APIC's page.
pub(super) const MSR: u32 = 0x834;
/// What manuals and Linux call it.
pub(super) const NAMES: [&str; 4] = ["LVTPC", "LVT_PMC", "IA32_X2APIC_LVT_PMI", "X2APIC_LVT_PMI"];
const SUMMARY: &str = "Local vector table entry of the performance counters (APIC page offset 0x340): how a PMI is \
                       delivered.";

/// Highest and lowest bit, name, and what it is.
const FIELDS: [((u32, u32), &str, &str); 4] = [
    ((7, 0), "Vector", "Vector of a fixed interrupt, 16 to 255"),
    ((10, 8), "DeliveryMode", "0 fixed, 2 SMI, 4 NMI, 5 INIT"),
    ((12, 12), "DeliveryStatus", "An interrupt waits to be accepted; read-only"),
    ((16, 16), "Mask", "No interrupt"),
];

pub(super) fn is_meant(text: &str, index: Option<u32>) -> bool {
    index == Some(MSR) || NAMES.iter().any(|name| name.eq_ignore_ascii_case(text))
}

fn reserved() -> u64 {
    !u64::from(LvtKind::PerformanceCounter.defined_bits(false))
}

/// What masks it, besides software.
fn masking(profile: &Profile) -> &'static str {
    match profile.vendor() {
        Vendor::Intel => "No interrupt; set by the CPU when it delivers a PMI",
        Vendor::Amd | Vendor::Qualcomm => "No interrupt; not set by the CPU when it delivers a PMI",
    }
}

fn doc(profile: &Profile, name: &str, doc: &'static str) -> &'static str {
    if name == "Mask" { masking(profile) } else { doc }
}

pub(super) fn layout(profile: &Profile) -> Layout {
    let field = |&((high, low), name, text): &((u32, u32), &str, &'static str)| LayoutField {
        bits: (high, low),
        name: name.to_owned(),
        meaning: doc(profile, name, text).to_owned(),
    };
    Layout {
        profile: profile.name.to_string(),
        index: MSR,
        register: NAMES[0].to_owned(),
        summary: SUMMARY,
        exists: true,
        access: "read and write",
        reserved: reserved(),
        fields: FIELDS.iter().map(field).collect(),
        words: Words::of(profile),
    }
}

pub(super) fn explain(profile: &Profile, value: u64) -> Explained {
    let field = |&((high, low), name, text): &((u32, u32), &str, &'static str)| {
        let mask = (u64::MAX >> (63 - (high - low))) << low;
        let content = (value & mask) >> low;
        let is_mode = name == "DeliveryMode";
        // Fixed, which is 0, is worth a line too.
        (content != 0 || is_mode).then(|| DecodedField {
            bits: (high, low),
            name: name.to_owned(),
            value: content,
            meaning: if is_mode { mode(content).to_owned() } else { doc(profile, name, text).to_owned() },
        })
    };
    let set = value & reserved();
    Explained {
        profile: profile.name.to_string(),
        index: MSR,
        value,
        decoded: Decoded {
            register: NAMES[0].to_owned(),
            summary: SUMMARY,
            exists: true,
            fields: FIELDS.iter().filter_map(field).collect(),
            reserved: set,
        },
        access: "read and write",
        write_fault: (set != 0)
            .then(|| format!("reserved bits {set:#x} are set (in xAPIC mode they are ignored)")),
        not_stored: value & u64::from(Lvt::DELIVERY_STATUS),
        words: Words::of(profile),
    }
}

fn mode(content: u64) -> &'static str {
    match content {
        0 => "fixed: the vector in bits 7:0",
        2 => "SMI",
        4 => "NMI; the vector is ignored",
        5 => "INIT",
        _ => "reserved for this entry",
    }
}
