//! The table from the two kinds of host.

use super::*;

fn entry(function: u32, index: u32, indexed: bool, r: [u32; 4]) -> kvm_cpuid_entry2 {
    let flags = if indexed { KVM_CPUID_FLAG_SIGNIFCANT_INDEX } else { 0 };
    let [eax, ebx, ecx, edx] = r;
    kvm_cpuid_entry2 { function, index, flags, eax, ebx, ecx, edx, padding: [0; 3] }
}

/// An AMD host that supports all it could (feature words all ones) and has no Intel leaves.
fn amd_host() -> Vec<kvm_cpuid_entry2> {
    vec![
        entry(0x0, 0, false, [0x1C, 0x6874_7541, 0x444D_4163, 0x6974_6E65]),
        entry(0x1, 0, false, [0x00B0_0F21, 0x0102_0800, u32::MAX, u32::MAX]),
        entry(0x4, 0, true, [0; 4]),
        entry(0x7, 0, true, [1, u32::MAX, u32::MAX, u32::MAX]),
        entry(0x7, 1, true, [u32::MAX, 0, 0, 0]),
        entry(0xD, 0, true, [0xE7, 0x980, 0x980, 0]),
        entry(0xD, 1, true, [0xF, 0, 0, 0]),
        entry(0x4000_0000, 0, false, [0x4000_0001, 0x4B4D_564B, 0x564B_4D56, 0x4D]),
        entry(0x4000_0001, 0, false, [u32::MAX, 0, 0, 0]),
        entry(0x8000_0000, 0, false, [0x8000_0021, 0x6874_7541, 0x444D_4163, 0x6974_6E65]),
        entry(0x8000_0001, 0, false, [0x00B0_0F21, u32::MAX, u32::MAX, u32::MAX]),
        entry(0x8000_0006, 0, false, [1, 2, 0x0400_8140, 3]),
        entry(0x8000_0007, 0, false, [0, 0, 0, u32::MAX]),
        entry(0x8000_0008, 0, false, [0x003A_3930, u32::MAX, 0x7001, 0]),
        entry(0x8000_001D, 0, true, [0x0000_4121, 0x02C0_003F, 0x3F, 0]),
        entry(0x8000_001D, 1, true, [0x0000_4143, 0x03C0_003F, 0x3FF, 2]),
        entry(0x8000_001D, 2, true, [0; 4]),
        entry(0x8000_0022, 0, false, [1, 6, 0, 0]),
    ]
}

fn table_with(supported: &[kvm_cpuid_entry2], apic: &ApicConfig) -> Vec<kvm_cpuid_entry2> {
    let profile = &vpmu::profile::ICELAKE_SP;
    cpuid_table(supported, Policy { profile, apic, tsc_khz: 2_596_122 })
}

fn table() -> Vec<kvm_cpuid_entry2> {
    table_with(&amd_host(), &ApicConfig { timer_hz: 25_000_000, ..ApicConfig::default() })
}

fn leaf(table: &[kvm_cpuid_entry2], leaf: u32, subleaf: u32) -> [u32; 4] {
    let CpuidResult { eax, ebx, ecx, edx } = Host(table).leaf(leaf, subleaf);
    [eax, ebx, ecx, edx]
}

fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|&b| b != 0).collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_guest_sees_an_intel_cpu_of_the_profile() {
    let table = table();
    let [_, ebx, ecx, edx] = leaf(&table, 0, 0);
    assert_eq!(text(&[ebx, edx, ecx]), "GenuineIntel");
    assert_eq!(leaf(&table, 1, 0)[0], 0x606A6);
    assert_eq!(leaf(&table, 0xA, 0), [0x0830_0805, 0, 0xF, 0x8604]);
    let brand: Vec<u32> = (0x8000_0002..=0x8000_0004).flat_map(|l| leaf(&table, l, 0)).collect();
    assert_eq!(text(&brand), "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz");
}

#[test]
fn our_hypervisor_signature_replaces_kvms_and_its_paravirtual_features() {
    let table = table();
    let [max, ebx, ecx, edx] = leaf(&table, 0x4000_0000, 0);
    assert_eq!((max, text(&[ebx, ecx, edx]).as_str()), (0x4000_0000, "vpmuvpmuvpmu"));
    assert_eq!(leaf(&table, 0x4000_0001, 0), [0; 4]);
    assert_ne!(leaf(&table, 1, 0)[2] & 1 << 31, 0, "hypervisor bit");
}

#[test]
fn leaf_1_offers_what_the_machine_has() {
    let table = table();
    let [_, ebx, ecx, edx] = leaf(&table, 1, 0);
    assert_eq!(ebx, 0x0001_0800);
    for (bit, name) in [(3, "MONITOR"), (5, "VMX"), (24, "TSC-deadline"), (27, "OSXSAVE"), (2, "DTES64")] {
        assert_eq!(ecx & 1 << bit, 0, "{name}");
    }
    for (bit, name) in [(0, "SSE3"), (15, "PDCM"), (21, "x2APIC"), (26, "XSAVE"), (28, "AVX")] {
        assert_ne!(ecx & 1 << bit, 0, "{name}");
    }
    assert_ne!(edx & 1 << 9, 0, "APIC");
    assert_eq!(edx & (1 << 21 | 1 << 28), 0, "DS, HTT");
}

#[test]
fn the_apic_configuration_shows() {
    let apic = ApicConfig { id: 5, x2apic: false, physical_address_bits: 40, ..ApicConfig::default() };
    let table = table_with(&amd_host(), &apic);
    assert_eq!(leaf(&table, 1, 0)[1] >> 24, 5);
    assert_eq!(leaf(&table, 1, 0)[2] & 1 << 21, 0);
    assert_eq!(leaf(&table, 0xB, 0)[3], 5);
    assert_eq!(leaf(&table, 0x8000_0008, 0)[0], 0x3928);
}

#[test]
fn the_apic_bit_is_set_even_when_kvm_leaves_it_to_user_space() {
    let table = table_with(&[entry(1, 0, false, [0; 4])], &ApicConfig::default());
    assert_eq!(leaf(&table, 1, 0)[3], 1 << 9);
}

#[test]
fn topology_is_one_thread_in_one_core() {
    let table = table();
    for l in [0xB, 0x1F] {
        assert_eq!(leaf(&table, l, 0), [0, 1, 0x100, 0]);
        assert_eq!(leaf(&table, l, 1), [0, 1, 0x201, 0]);
        assert_eq!(leaf(&table, l, 2), [0, 0, 2, 0]);
    }
}

#[test]
fn the_caches_are_those_of_the_profile_on_every_host() {
    let intel = table();
    assert_eq!(leaf(&intel, 2, 0), [0xFF01, 0, 0, 0]);
    assert_eq!(leaf(&intel, 4, 0), [0x121, 0x02C0_003F, 0x3F, 0]);
    assert_eq!(leaf(&intel, 4, 2), [0x143, 0x04C0_003F, 0x3FF, 0], "1.25 MiB of 20 ways");
    assert_eq!((leaf(&intel, 4, 4), leaf(&intel, 0x8000_001D, 0)), ([0; 4], [0; 4]));
    let apic = ApicConfig { id: 3, ..ApicConfig::default() };
    let amd = cpuid_table(&amd_host(), Policy { profile: &vpmu::profile::ZEN2, apic: &apic, tsc_khz: 0 });
    assert_eq!((leaf(&amd, 2, 0), leaf(&amd, 4, 0)), ([0; 4], [0; 4]));
    assert_eq!(leaf(&amd, 0x8000_0000, 0)[0], 0x8000_001E);
    assert_ne!(leaf(&amd, 0x8000_0001, 0)[2] & 1 << 22, 0, "TopologyExtensions");
    assert_eq!(leaf(&amd, 0x8000_001D, 2), [0x143, 0x01C0_003F, 0x3FF, 2], "512 KiB of 8 ways");
    assert_eq!(leaf(&amd, 0x8000_001E, 0), [3, 0, 0, 0]);
}

#[test]
fn extended_leaves_hold_only_what_intel_defines() {
    let table = table();
    assert_eq!(leaf(&table, 0x8000_0000, 0), [0x8000_0008, 0, 0, 0]);
    assert_eq!(leaf(&table, 0x8000_0001, 0), [0, 0, 0x121, 0x2C10_0800]);
    assert_eq!(leaf(&table, 0x8000_0007, 0), [0, 0, 0, 0x100]);
    assert_eq!(leaf(&table, 0x8000_0008, 0), [0x392E, 0x200, 0, 0]);
    assert!(table.iter().all(|e| e.function <= 0x8000_0008));
}

#[test]
fn the_xsave_leaf_is_the_hosts() {
    assert_eq!(leaf(&table(), 0xD, 0), [0xE7, 0x980, 0x980, 0]);
    assert_eq!(leaf(&table(), 0xD, 1), [0xF, 0, 0, 0]);
}

/// Instructions that the silicon has not, with their state.
#[test]
fn instructions_of_a_newer_host_are_masked() {
    let mut host = amd_host();
    host.extend([
        entry(0xD, 2, true, [0x100, 0x240, 0, 0]),
        entry(0xD, 5, true, [0x40, 0x340, 0, 0]),
        entry(0xD, 6, true, [0x200, 0x380, 0, 0]),
        entry(0xD, 7, true, [0x400, 0x580, 0, 0]),
    ]);
    let (apic, tsc_khz) = (ApicConfig::default(), 0);
    let shown = |profile: &Profile| cpuid_table(&host, Policy { profile, apic: &apic, tsc_khz });
    let zen3 = shown(&vpmu::profile::ZEN3);
    assert_eq!(leaf(&zen3, 7, 0)[1] & (1 << 16 | 1 << 5), 1 << 5, "AVX2 without AVX-512");
    assert_eq!(leaf(&zen3, 0xD, 0), [7, 0x340, 0x340, 0]);
    assert_eq!((leaf(&zen3, 0xD, 2), leaf(&zen3, 0xD, 5)), ([0x100, 0x240, 0, 0], [0; 4]));
    let zen4 = shown(&vpmu::profile::ZEN4);
    assert_eq!(leaf(&zen4, 0xD, 0), [0xE7, 0x980, 0x980, 0]);
    assert_eq!(missing(&zen4, &vpmu::profile::ZEN4), [""; 0]);
    assert_eq!(missing(&zen3, &vpmu::profile::ZEN4)[..2], ["avx512f", "avx512dq"]);
}

/// A para-virtual KVM on Zen 3 lists neither AVX nor XSAVE, and lists AVX' component.
#[test]
fn components_of_instructions_that_kvm_does_not_list_stay() {
    let mut host = amd_host();
    host.retain(|entry| entry.function != 0xD);
    for entry in host.iter_mut().filter(|entry| entry.function == 1) {
        entry.ecx &= !(1 << 28 | 1 << 26);
    }
    host.push(entry(0xD, 0, true, [7, 0x340, 0x340, 0]));
    host.push(entry(0xD, 2, true, [0x100, 0x240, 0, 0]));
    let table = table_with(&host, &ApicConfig::default());
    assert_eq!(leaf(&table, 0xD, 0), [7, 0x340, 0x340, 0]);
    assert_eq!(leaf(&table, 0xD, 2), [0x100, 0x240, 0, 0]);
}

#[test]
fn hle_rtm_and_arch_lbr_are_hidden_in_leaf_7() {
    let table = table();
    let [max, ebx, _, edx] = leaf(&table, 7, 0);
    assert_eq!(max, 1);
    assert_eq!(ebx & (1 << 4 | 1 << 11 | 1 << 25), 0);
    assert_eq!(edx & 1 << 19, 0);
    assert_eq!(leaf(&table, 7, 1)[0] & 1 << 8, 0);
}

#[test]
fn no_leaf_is_listed_twice() {
    let table = table();
    for (n, a) in table.iter().enumerate() {
        let same = table[n + 1..].iter().any(|b| (a.function, a.index) == (b.function, b.index));
        assert!(!same, "{:#x}.{}", a.function, a.index);
    }
}

#[test]
fn a_kvm_that_keeps_the_table_shows_every_profile() {
    for profile in vpmu::profile::PROFILES {
        let policy = Policy { profile, apic: &ApicConfig::default(), tsc_khz: 0 };
        let table = cpuid_table(&amd_host(), policy);
        assert_eq!(altered(&table, &table, profile), None, "{}", profile.name);
    }
}

#[test]
fn a_bit_that_kvm_takes_from_the_pmu_is_named() {
    let profile = &vpmu::profile::LUNAR_LAKE_P;
    let policy = Policy { profile, apic: &ApicConfig::default(), tsc_khz: 0 };
    let table = cpuid_table(&amd_host(), policy);
    let mut shown = table.clone();
    let subleaf = shown.iter_mut().find(|entry| (entry.function, entry.index) == (7, 1)).unwrap();
    subleaf.eax = 0x30;
    let said = |shown: &[_]| altered(&table, shown, profile).unwrap().to_string();
    assert_eq!(said(&shown), "CPUID.07H.1:EAX bit 8 is 0");
    shown.retain(|entry| entry.function != 0xA);
    shown.iter_mut().find(|entry| (entry.function, entry.index) == (7, 1)).unwrap().eax = 0x130;
    assert_eq!(said(&shown), "CPUID.0AH:EAX is 0x0 instead of 0x8300a06");
}

#[test]
fn other_features_are_kvms_own_affair() {
    let profile = &vpmu::profile::ICELAKE_SP;
    let table = table();
    let mut shown = table.clone();
    shown.iter_mut().find(|entry| entry.function == 1).unwrap().edx ^= 1 << 26;
    assert_eq!(altered(&table, &shown, profile), None);
}

/// This engine has no branch records, so XSAVES cannot keep them, whatever the host's KVM can do.
#[test]
fn the_hosts_component_of_branch_records_does_not_pass() {
    let mut host = amd_host();
    host.retain(|entry| entry.function != 0xD);
    host.push(entry(0xD, 0, true, [7, 0x340, 0x340, 0]));
    host.push(entry(0xD, 1, true, [0xF, 0x340, 1 << 15 | 1 << 8, 0]));
    host.push(entry(0xD, 15, true, [0x328, 0, 1, 0]));
    let table = table_with(&host, &ApicConfig::default());
    assert_eq!(leaf(&table, 0xD, 0), [7, 0x340, 0x340, 0]);
    assert_eq!(leaf(&table, 0xD, 1), [0xF, 0x340, 1 << 8, 0]);
    assert_eq!(leaf(&table, 0xD, 15), [0; 4]);
}
