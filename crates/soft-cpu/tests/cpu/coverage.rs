//! What the tables say of instructions that are there and not there.

use crate::common::TestBus;
use soft_cpu::coverage::{Form, Support, forms};
use std::collections::{BTreeMap, BTreeSet};

fn find(text: &str) -> Form {
    forms::<TestBus>().find(|form| form.text == text).unwrap_or_else(|| panic!("{text} is no instruction"))
}

#[test]
fn what_cpuid_announces_is_implemented() {
    let missing: Vec<_> = forms::<TestBus>()
        .filter(|form| form.announced && form.modes().contains(&Support::Missing) && form.excuse().is_none())
        .map(|form| format!("{} {:?} {:?}", form.text, form.features, form.modes()))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn what_is_implemented_is_announced() {
    let mut unannounced = BTreeMap::<String, bool>::new();
    for form in forms::<TestBus>().filter(|form| !form.announced) {
        let there =
            form.modes().iter().all(|mode| matches!(mode, Support::Implemented | Support::NoEncoding));
        *unannounced.entry(form.features.join(" ")).or_insert(true) &= there;
    }
    // The embedder announces these as its CPU has them: see `Features`.
    let gated = |name: &str| name.contains("AVX") || name == "FMA" || name == "F16C";
    unannounced.retain(|name, implemented| *implemented && !gated(name));
    // These encodings are NOPs on CPUs without the feature.
    let hints = BTreeSet::from(HINTS);
    let names: Vec<_> = unannounced.keys().filter(|name| !hints.contains(name.as_str())).collect();
    assert!(names.is_empty(), "{names:?}");
}

const HINTS: [&str; 3] = ["CET_IBT", "RESERVEDNOP", "PREFETCHWT1"];

#[test]
fn support_is_told_apart() {
    let add = find("ADD r/m32, r32");
    assert_eq!(add.modes(), [Support::Implemented; 3]);
    assert!(add.announced);
    let release = find("TILERELEASE");
    assert_eq!(release.bits64, Support::Missing);
    assert!(!release.announced);
    assert_eq!(find("VMCALL").bits64, Support::Undefined);
    assert_eq!(find("PUSHA").modes(), [Support::NoEncoding, Support::Implemented, Support::Implemented]);
    assert_eq!(find("PCMPESTRI xmm1, xmm2/m128, imm8").features, ["SSE4_2"]);
    assert_eq!(find("PSHUFB mm1, mm2/m64").features, ["SSSE3", "MMX"]);
}
