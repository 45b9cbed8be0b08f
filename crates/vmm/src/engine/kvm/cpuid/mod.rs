//! The CPUID table of the guest: the host's features in a CPU of one core, with vendor and PMU of
//! the profile.
//!
//! What KVM supports on this host is the start, because ring 3 runs natively: a feature bit must not
//! promise what the silicon lacks. Then
//!
//! | leaves | come from |
//! | --- | --- |
//! | 0, 8000_0002H-4H | the profile's vendor and name |
//! | 1, 7, 8000_0001H | the host's features, without instructions that the profile's silicon lacks |
//! | 0AH, 1AH, 1CH, 23H, 8000_0022H | [`vpmu::cpuid`] |
//! | 2, 4, 8000_0005H-6H, 8000_001DH | the caches of the profile's core |
//! | 0BH, 1FH, 8000_001EH | one core with one thread |
//! | 15H, 16H | the TSC rate that the guest really has, the APIC timer's clock |
//! | 4000_0000H | our signature; none of KVM's paravirtual features, which need its local APIC |
//! | 8000_0001H, 7H, 8H | only the bits that Intel defines, AMD's TopologyExtensions and the PMU's |
//!
//! Everything else of the host's table is dropped, except 0DH (XSAVE, without the state of what is not announced) and
//! 1DH, 1EH (AMX).
//! Layouts: SDM volume 2A, CPUID; AMD APM volume 3, appendix E for what comes from an AMD host.

mod features;
#[cfg(test)]
mod tests;

use kvm_bindings::{KVM_CPUID_FLAG_SIGNIFCANT_INDEX, kvm_cpuid_entry2};
use vpmu::Profile;
use vpmu::cpuid::CpuidResult;
use vpmu::profile::Vendor;

use super::error::CpuidBits;
use crate::engine::{SIGNATURE, caches, frequency, instruction_sets};
use platform::x86::apic::ApicConfig;

/// Highest basic leaf: the V2 topology leaf, above everything that we fill in.
const MAX_BASIC: u32 = 0x1F;
/// Highest extended leaf of Intel CPUs.
const MAX_EXTENDED: u32 = 0x8000_0008;
/// First leaf of the hypervisor range, and the highest that we have there.
const HYPERVISOR: u32 = 0x4000_0000;

/// Leaves of the host that go to the guest as they are, without XSAVE's component of branch records: XSAVE areas
/// and AMX.
const PASSED: [u32; 3] = [0xD, 0x1D, 0x1E];

/// What the table depends on besides the host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy<'a> {
    pub(super) profile: &'a Profile,
    pub(super) apic: &'a ApicConfig,
    /// TSC rate of the guest in kHz; 0 when the host does not tell.
    pub(super) tsc_khz: u32,
}

/// The guest's CPUID table from KVM_GET_SUPPORTED_CPUID's.
#[must_use]
pub(super) fn cpuid_table(supported: &[kvm_cpuid_entry2], policy: Policy<'_>) -> Vec<kvm_cpuid_entry2> {
    let Policy { profile, apic, tsc_khz } = policy;
    let host = Host(supported);
    let mut table = Table { entries: Vec::with_capacity(supported.len() + 16), profile };

    table.put(0x0, CpuidResult { eax: MAX_BASIC, ..CpuidResult::default() });
    table.put(0x1, features::leaf_1(host.leaf(0x1, 0), apic));
    let cache_leaf = |leaf, subleaf| caches::leaf(profile, apic.id, leaf, subleaf).unwrap_or_default();
    table.put(0x2, cache_leaf(0x2, 0));
    table.put_cache_list(0x4, cache_leaf);
    table.put(0x6, features::leaf_6(host.leaf(0x6, 0)));
    table.put_indexed(0x7, 0, features::leaf_7(host.leaf(0x7, 0)));
    let perfmon_ext = vpmu::cpuid::leaf_23(profile, 0).eax;
    for subleaf in 1..=host.leaf(0x7, 0).eax.max((perfmon_ext != 0).into()) {
        table.put_indexed(0x7, subleaf, host.leaf(0x7, subleaf));
    }
    table.put(0xA, CpuidResult::default());
    for leaf in [0xB, 0x1F] {
        for (subleaf, level) in (0..).zip(features::topology(apic.id)) {
            table.put_indexed(leaf, subleaf, level);
        }
    }
    let absent = absent_components(profile);
    for entry in supported.iter().filter(|entry| PASSED.contains(&entry.function)) {
        let kvm_cpuid_entry2 { function, index, flags, eax, ebx, ecx, edx, .. } = *entry;
        let own = CpuidResult { eax, ebx, ecx, edx };
        let own = if function == 0xD { without_components(entry, absent, supported) } else { Some(own) };
        if let Some(own) = own {
            table.push(function, index, flags, own);
        }
    }
    table.put(0x1A, CpuidResult::default());
    table.put(0x15, frequency::leaf_15(apic.timer_hz, tsc_khz));
    table.put(0x16, frequency::leaf_16(tsc_khz));

    let [ebx, ecx, edx] = words(SIGNATURE);
    table.put(HYPERVISOR, CpuidResult { eax: HYPERVISOR, ebx, ecx, edx });

    let amd = profile.vendor() == Vendor::Amd;
    let max_extended = if amd { caches::MAX_AMD } else { MAX_EXTENDED };
    table.put(0x8000_0000, CpuidResult { eax: max_extended, ..CpuidResult::default() });
    table.put(0x8000_0001, features::leaf_8000_0001(host.leaf(0x8000_0001, 0), amd));
    for (leaf, part) in (0x8000_0002..).zip(instruction_sets::brand_string(profile)) {
        table.put(leaf, part);
    }
    table.put(0x8000_0005, cache_leaf(0x8000_0005, 0));
    table.put(0x8000_0006, cache_leaf(0x8000_0006, 0));
    table.put(0x8000_0007, features::leaf_8000_0007(host.leaf(0x8000_0007, 0)));
    table.put(0x8000_0008, features::leaf_8000_0008(host.leaf(0x8000_0008, 0), apic));
    for subleaf in (0..u32::BITS).filter(|subleaf| perfmon_ext >> subleaf & 1 != 0) {
        table.put_indexed(0x23, subleaf, CpuidResult::default());
    }
    if amd {
        table.put_cache_list(0x8000_001D, cache_leaf);
        table.put(0x8000_001E, cache_leaf(0x8000_001E, 0));
        table.put(0x8000_0022, CpuidResult::default());
    }
    table.entries
}

/// What announces the PMU and reads otherwise in `shown`, KVM's own copy of `table`: a para-virtual KVM fills in some
/// leaves by itself. The first such register; `None` if the guest finds the profile's PMU.
#[must_use]
pub(super) fn altered(
    table: &[kvm_cpuid_entry2],
    shown: &[kvm_cpuid_entry2],
    profile: &Profile,
) -> Option<CpuidBits> {
    let shown = Host(shown);
    table.iter().filter(|entry| !PASSED.contains(&entry.function)).find_map(|entry| {
        let shown = shown.leaf(entry.function, entry.index);
        let wanted = vpmu::cpuid::patch(profile, entry.function, entry.index, shown);
        let registers = [
            ("EAX", shown.eax, wanted.eax),
            ("EBX", shown.ebx, wanted.ebx),
            ("ECX", shown.ecx, wanted.ecx),
            ("EDX", shown.edx, wanted.edx),
        ];
        let (register, shown, wanted) = registers.into_iter().find(|(_, shown, wanted)| shown != wanted)?;
        let indexed = entry.flags & KVM_CPUID_FLAG_SIGNIFCANT_INDEX != 0;
        Some(CpuidBits {
            leaf: entry.function,
            subleaf: indexed.then_some(entry.index),
            register,
            shown,
            wanted,
        })
    })
}

/// Instructions of the profile's CPU that a guest with this table does not find.
pub(super) fn missing(shown: &[kvm_cpuid_entry2], profile: &Profile) -> Vec<&'static str> {
    let shown = Host(shown);
    instruction_sets::missing(profile, |leaf, subleaf| shown.leaf(leaf, subleaf))
}

/// Components of XCR0 that belong to instructions which the profile's CPU has not. Those of instructions that KVM does
/// not list stay: a para-virtual KVM that answers CPUID from the CPU itself shows them, and leaf 0DH has to agree.
fn absent_components(profile: &Profile) -> u32 {
    const AVX: u32 = 1 << 28;
    const AVX_512F: u32 = 1 << 16;
    const AMX_TILE: u32 = 1 << 24;
    const ALL: CpuidResult = CpuidResult { eax: u32::MAX, ebx: u32::MAX, ecx: u32::MAX, edx: u32::MAX };
    let shown = |leaf| instruction_sets::announced_of_host(profile, leaf, 0, ALL);
    let lacks = |word: u32, bit, components| if word & bit == 0 { components } else { 0 };
    lacks(shown(1).ecx, AVX, 1 << 2)
        | lacks(shown(7).ebx, AVX_512F, 0b111 << 5)
        | lacks(shown(7).edx, AMX_TILE, 0b11 << 17)
}

/// An entry of leaf 0DH without the components `absent`; `None` if it is about one of them.
fn without_components(
    entry: &kvm_cpuid_entry2,
    absent: u32,
    host: &[kvm_cpuid_entry2],
) -> Option<CpuidResult> {
    /// Legacy region and header.
    const BASE: u32 = 576;
    let kvm_cpuid_entry2 { index, eax, ebx, ecx, edx, .. } = *entry;
    let own = CpuidResult { eax, ebx, ecx, edx };
    match index {
        0 if eax & absent != 0 => {
            let left = eax & !absent;
            let is_left = |e: &&kvm_cpuid_entry2| {
                e.function == 0xD && (2..32).contains(&e.index) && left >> e.index & 1 != 0
            };
            // EBX is for what XCR0 has; KVM keeps it.
            let ecx = host.iter().filter(is_left).map(|e| e.eax.saturating_add(e.ebx)).max().unwrap_or(BASE);
            Some(CpuidResult { eax: left, ebx: ebx.min(ecx), ecx, edx })
        }
        2..32 if absent >> index & 1 != 0 => None,
        _ => Some(own),
    }
}

/// The host's table.
struct Host<'a>(&'a [kvm_cpuid_entry2]);

impl Host<'_> {
    /// A leaf that is absent reads as zeros, as on a CPU.
    fn leaf(&self, leaf: u32, subleaf: u32) -> CpuidResult {
        let entry = self.0.iter().find(|e| {
            e.function == leaf && (e.flags & KVM_CPUID_FLAG_SIGNIFCANT_INDEX == 0 || e.index == subleaf)
        });
        entry.map_or_else(CpuidResult::default, |e| CpuidResult {
            eax: e.eax,
            ebx: e.ebx,
            ecx: e.ecx,
            edx: e.edx,
        })
    }
}

/// The table in the making. Every leaf goes through [`vpmu::cpuid::patch`].
struct Table<'a> {
    entries: Vec<kvm_cpuid_entry2>,
    profile: &'a Profile,
}

impl Table<'_> {
    fn put(&mut self, leaf: u32, result: CpuidResult) {
        self.push(leaf, 0, 0, result);
    }

    fn put_indexed(&mut self, leaf: u32, subleaf: u32, result: CpuidResult) {
        self.push(leaf, subleaf, KVM_CPUID_FLAG_SIGNIFCANT_INDEX, result);
    }

    /// The caches one by one, with the end mark.
    fn put_cache_list(&mut self, leaf: u32, cache: impl Fn(u32, u32) -> CpuidResult) {
        for subleaf in 0.. {
            let described = cache(leaf, subleaf);
            self.put_indexed(leaf, subleaf, described);
            if described == CpuidResult::default() {
                break;
            }
        }
    }

    fn push(&mut self, function: u32, index: u32, flags: u32, result: CpuidResult) {
        let result = instruction_sets::announced_of_host(self.profile, function, index, result);
        let CpuidResult { eax, ebx, ecx, edx } = vpmu::cpuid::patch(self.profile, function, index, result);
        self.entries.push(kvm_cpuid_entry2 { function, index, flags, eax, ebx, ecx, edx, padding: [0; 3] });
    }
}

/// Twelve characters as three registers.
fn words(text: &[u8; 12]) -> [u32; 3] {
    let word = |n: usize| u32::from_le_bytes([text[n], text[n + 1], text[n + 2], text[n + 3]]);
    [word(0), word(4), word(8)]
}
