use super::*;
use crate::Ram;
use crate::bus::{Access, GeneralProtection};
use crate::cpuid::CpuidLeaf;
use std::collections::{BTreeMap, BTreeSet};

fn find(text: &str) -> Form {
    forms::<Nothing>().find(|form| form.text == text).unwrap_or_else(|| panic!("{text} is no instruction"))
}

#[test]
fn what_cpuid_announces_is_implemented() {
    let missing: Vec<_> = forms::<Nothing>()
        .filter(|form| form.announced && form.modes().contains(&Support::Missing) && excuse(form).is_none())
        .map(|form| format!("{} {:?} {:?}", form.text, form.features, form.modes()))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn what_is_implemented_is_announced() {
    let mut unannounced = BTreeMap::<String, bool>::new();
    for form in forms::<Nothing>().filter(|form| !form.announced) {
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

/// A bus to choose handlers for. There is none of it.
#[derive(Debug)]
enum Nothing {}

impl Ram for Nothing {
    fn ram_page(&mut self, _gpa: u64) -> Option<u64> {
        match *self {}
    }
    fn ram_read<const N: usize>(&mut self, _position: u64) -> [u8; N] {
        match *self {}
    }
    fn ram_write<const N: usize>(&mut self, _position: u64, _bytes: [u8; N]) {
        match *self {}
    }
}

impl Bus for Nothing {
    fn mmio_read(&mut self, _gpa: u64, _data: &mut [u8], _access: &Access<'_>) {
        match *self {}
    }
    fn mmio_write(&mut self, _gpa: u64, _data: &[u8], _access: &Access<'_>) {
        match *self {}
    }
    fn port_in(&mut self, _port: u16, _data: &mut [u8], _access: &Access<'_>) {
        match *self {}
    }
    fn port_out(&mut self, _port: u16, _data: &[u8], _access: &Access<'_>) {
        match *self {}
    }
    fn rdmsr(&mut self, _index: u32, _access: &Access<'_>) -> Result<u64, GeneralProtection> {
        match *self {}
    }
    fn wrmsr(&mut self, _index: u32, _value: u64, _access: &Access<'_>) -> Result<(), GeneralProtection> {
        match *self {}
    }
    fn rdpmc(&mut self, _counter: u32, _pce: bool, _access: &Access<'_>) -> Result<u64, GeneralProtection> {
        match *self {}
    }
    fn cpuid(&mut self, _leaf: u32, _subleaf: u32, _access: &Access<'_>) -> CpuidLeaf {
        match *self {}
    }
    fn tsc(&mut self, _access: &Access<'_>) -> u64 {
        match *self {}
    }
}
