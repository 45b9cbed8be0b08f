//! What CPUID, IA32_PERF_CAPABILITIES and the reset values say about the PMU, and that they agree.
#![no_std]
#![no_main]

use guest_images::{
    msr::{
        A_PMC0, COUNTER_MAX, DEBUGCTL, FRONTEND, LD_LAT, MISC_ENABLE, OFFCORE_RSP_0, OFFCORE_RSP_1,
        PERF_CAPABILITIES, PERF_METRICS, PERFEVTSEL0, PMC0, global, select,
    },
    pmu::{all_gp, fixed_counters, gp_counters, has_arch_lbr, has_debug_store, has_perfmon_ext, read, write},
};
use guest_runtime::{
    PerfMon, check, check_eq, cpu, cpuid, fw_cfg, guest_test, power_on_value, protocol::files, rdmsr, skip,
    wrmsr,
};

guest_runtime::image!();

/// CPUID.01H:ECX, PDCM.
const PDCM: u32 = 1 << 15;
const FREEZE_WHILE_SMM: u64 = 1 << 12;
const FULL_WIDTH_WRITES: u64 = 1 << 13;
const PEBS_BASELINE: u64 = 1 << 14;
const METRICS_AVAILABLE: u64 = 1 << 15;

/// What CPUs report on silicon, as far as the PMU goes.
struct Cpu {
    profile: &'static str,
    signature: u32,
    leaf_0a: [u32; 4],
}

/// Signatures and leaf 0AH from public CPUID dumps and Linux boot logs.
const CPUS: [Cpu; 3] = [
    Cpu { profile: "skylake-sp", signature: 0x50654, leaf_0a: [0x0730_0404, 0, 0, 0x0603] },
    Cpu { profile: "icelake-sp", signature: 0x606A6, leaf_0a: [0x0830_0805, 0, 0xF, 0x8604] },
    Cpu { profile: "sapphire-rapids", signature: 0x806F8, leaf_0a: [0x0830_0805, 0, 0xF, 0x8604] },
];

/// The entry of [`CPUS`] that this machine claims to be.
fn claimed() -> &'static Cpu {
    let profile = fw_cfg::file_text::<64>(files::PROFILE);
    let name = profile.as_ref().map_or("", |name| name.as_str());
    match CPUS.iter().find(|cpu| cpu.profile == name) {
        Some(cpu) => cpu,
        None => skip!("no data about profile {name}"),
    }
}

/// CPUID.0AH:EAX has a version, four or more counters and 48 bits each.
#[guest_test(needs(pmu))]
fn general_counters_are_announced() {
    let leaf = cpuid(0xA, 0);
    check!((2..=6).contains(&(leaf.eax & 0xFF)), "version {}", leaf.eax & 0xFF);
    check!(leaf.eax >> 8 & 0xFF >= 4, "{} counters", leaf.eax >> 8 & 0xFF);
    check_eq!(leaf.eax >> 16 & 0xFF, 48, "counter width");
}

/// The architectural event vector is long enough for Linux, and cycles and instructions are in it.
#[guest_test(needs(pmu))]
fn architectural_events_are_announced() {
    let leaf = cpuid(0xA, 0);
    check!(leaf.eax >> 24 >= 7, "Linux refuses a vector of {} bits", leaf.eax >> 24);
    check_eq!(leaf.ebx & 0b11, 0, "cycles and instructions unavailable");
}

/// With PERF_METRICS the vector includes topdown slots.
#[guest_test(needs(metrics))]
fn slots_are_an_architectural_event() {
    let leaf = cpuid(0xA, 0);
    check!(leaf.eax >> 24 >= 8, "vector of {} bits", leaf.eax >> 24);
    check_eq!(leaf.ebx & 1 << 7, 0, "slots unavailable");
}

/// From version 5 the fixed-counter bitmap and the number of fixed counters say the same.
#[guest_test(needs(pmu))]
fn fixed_counter_fields_agree() {
    let leaf = cpuid(0xA, 0);
    if leaf.eax & 0xFF < 5 {
        check_eq!(leaf.ecx, 0, "reserved before version 5");
        return;
    }
    // Linux takes only the bitmap, older software only the number.
    check_eq!(leaf.ecx, (1 << (leaf.edx & 0x1F)) - 1);
}

/// Three fixed counters or more, of 48 bits.
#[guest_test(needs(pmu))]
fn fixed_counters_are_announced() {
    let leaf = cpuid(0xA, 0);
    check!(leaf.edx & 0x1F >= 3, "{} fixed counters", leaf.edx & 0x1F);
    check_eq!(leaf.edx >> 5 & 0xFF, 48, "counter width");
}

/// Version 5 deprecates AnyThread (EDX bit 15); the reserved bits around it are 0.
#[guest_test(needs(pmu))]
fn any_thread_is_deprecated() {
    let leaf = cpuid(0xA, 0);
    if leaf.eax & 0xFF < 5 {
        skip!("version {}", leaf.eax & 0xFF);
    }
    // Bits 19:16 are slots per cycle on the newest CPUs.
    check_eq!(leaf.edx & 0xFFF0_E000, 0x8000);
}

/// Leaf 0AH is the one that this CPU has on silicon, except that EBX may also name events that are not counted here.
#[guest_test(needs(vpmu))]
fn leaf_0a_is_as_on_silicon() {
    let leaf = cpuid(0xA, 0);
    let [eax, ebx, ecx, edx] = claimed().leaf_0a;
    check_eq!([leaf.eax, leaf.ebx & ebx, leaf.ecx, leaf.edx], [eax, ebx, ecx, edx]);
}

/// Family, model and stepping are the profile's: Linux chooses its event table by them.
#[guest_test(needs(vpmu))]
fn signature_is_as_on_silicon() {
    check_eq!(cpuid(1, 0).eax, claimed().signature);
    check!(cpu::is_intel(), "the vendor is not GenuineIntel");
}

/// The hypervisor bit is set, so that Linux checks each register before it trusts it.
#[guest_test(needs(vpmu))]
fn hypervisor_is_announced() {
    check!(cpuid(1, 0).ecx & 1 << 31 != 0);
}

/// No profile but Lunar Lake is hybrid, and none is transactional, whatever the host is.
#[guest_test(needs(vpmu))]
fn host_only_features_are_hidden() {
    check_eq!(cpuid(7, 0).ebx & (1 << 4 | 1 << 11), 0, "HLE, RTM");
    check_eq!(cpuid(7, 0).edx >> 15 & 1 == 1, cpu::family_model() == (6, 0xBD), "hybrid");
}

/// PERF_CAPABILITIES exists exactly when CPUID says PDCM.
#[guest_test(needs(pmu))]
fn pdcm_announces_capabilities() {
    check_eq!(rdmsr(PERF_CAPABILITIES).is_ok(), cpuid(1, 0).ecx & PDCM != 0);
}

/// The full-width aliases exist exactly when PERF_CAPABILITIES bit 13 says so.
#[guest_test(needs(pmu))]
fn full_width_bit_announces_the_aliases() {
    check_eq!(rdmsr(A_PMC0).is_ok(), PerfMon::discover().capabilities & FULL_WIDTH_WRITES != 0);
}

/// PERF_METRICS exists exactly when PERF_CAPABILITIES bit 15 says so, and then slots do too.
#[guest_test(needs(pmu))]
fn metrics_bit_announces_the_register() {
    let pmu = PerfMon::discover();
    let announced = pmu.capabilities & METRICS_AVAILABLE != 0;
    check_eq!(rdmsr(PERF_METRICS).is_ok(), announced);
    check!(!announced || pmu.fixed & 1 << 3 != 0, "metrics without fixed counter 3");
}

/// DEBUGCTL bit 14 is legal when PERF_CAPABILITIES bit 12 says so: Linux sets it at start-up.
#[guest_test(needs(pmu))]
fn freeze_while_smm_is_as_announced() {
    let announced = PerfMon::discover().capabilities & FREEZE_WHILE_SMM != 0;
    check_eq!(wrmsr(DEBUGCTL, 1 << 14).is_ok(), announced);
}

/// Without the debug store nothing announces PEBS or BTS.
#[guest_test(needs(pmu))]
fn missing_debug_store_is_consistent() {
    if has_debug_store() {
        skip!("the CPU has a debug store");
    }
    check_eq!(read(MISC_ENABLE) & 0x1800, 0x1800, "BTS and PEBS unavailable");
    check_eq!(cpuid(1, 0).ecx & (1 << 2 | 1 << 4), 0, "DTES64, DS-CPL");
    check_eq!(PerfMon::discover().capabilities & PEBS_BASELINE, 0, "PEBS baseline");
}

/// CPUID leaves 1CH (LBR) and 23H (perfmon extended) are empty unless leaf 7 announces them.
#[guest_test(needs(pmu))]
fn unannounced_leaves_are_empty() {
    let empty = cpu::Cpuid::default();
    if !has_arch_lbr() {
        check_eq!(cpuid(0x1C, 0), empty, "leaf 1CH");
    }
    if !has_perfmon_ext() {
        check_eq!(cpuid(0x23, 0), empty, "leaf 23H");
        check_eq!(cpuid(0x23, 1), empty, "leaf 23H.1");
    }
}

/// MISC_ENABLE bit 7 says that there is a PMU.
#[guest_test(needs(pmu))]
fn misc_enable_announces_perfmon() {
    check_eq!(read(MISC_ENABLE) & 1 << 7, 1 << 7);
}

/// At power-on GLOBAL_CTRL enables every general-purpose counter and no fixed one.
#[guest_test(needs(pmu))]
fn global_ctrl_resets_to_the_general_counters() {
    check_eq!(power_on_value(0x38F), Some(all_gp()));
}

/// At power-on no counter is selected, counts or has overflowed.
#[guest_test(needs(pmu))]
fn everything_else_resets_to_zero() {
    for msr in [0x38D, 0x38E, 0x390] {
        check_eq!(power_on_value(msr), Some(0), "{msr:#x}");
    }
    for n in 0..gp_counters() {
        check_eq!(power_on_value(PERFEVTSEL0 + n), Some(0), "PERFEVTSEL{n}");
        check_eq!(power_on_value(PMC0 + n), Some(0), "PMC{n}");
    }
    for n in fixed_counters() {
        check_eq!(power_on_value(0x309 + n), Some(0), "FIXED_CTR{n}");
    }
}

/// The registers of version 4 and PERF_METRICS are zero at power-on.
#[guest_test(needs(streamlined_freeze, metrics))]
fn newer_registers_reset_to_zero() {
    for msr in [0x391, 0x392, PERF_METRICS] {
        check_eq!(power_on_value(msr), Some(0), "{msr:#x}");
    }
}

/// What Linux probes before it uses the PMU: selects idle, and a counter keeps a flipped value.
#[guest_test(needs(pmu))]
fn linux_accepts_the_pmu() {
    for n in 0..gp_counters() {
        check_eq!(read(PERFEVTSEL0 + n) & select::EN, 0, "PERFEVTSEL{n} belongs to the BIOS");
    }
    check_eq!(read(0x38D) & 0x3333, 0, "fixed counters belong to the BIOS");
    let flipped = read(PMC0) ^ 0xFFFF;
    write(PMC0, flipped);
    check_eq!(read(PMC0), flipped & COUNTER_MAX);
}

/// What Linux probes under a hypervisor: bits 0 and 4 of each event register can be flipped.
#[guest_test(needs(vpmu, pmu))]
fn linux_accepts_the_event_registers() {
    for msr in [OFFCORE_RSP_0, OFFCORE_RSP_1, LD_LAT, FRONTEND] {
        let before = read(msr);
        write(msr, before ^ 0x11);
        check_eq!(read(msr), before ^ 0x11, "{msr:#x}");
        write(msr, before);
    }
}

/// The GLOBAL_CTRL value that Linux prints at boot ("event mask") is 0001000f000000ff on all these CPUs.
#[guest_test(needs(metrics))]
fn linux_event_mask() {
    const MASK: u64 = 0x0001_000F_0000_00FF;
    if PerfMon::discover().general != 8 {
        skip!("not a server core with eight counters");
    }
    check_eq!(wrmsr(0x38F, MASK), Ok(()));
    check_eq!(rdmsr(0x38F), Ok(MASK));
    check_eq!(MASK & global::SLOTS_AND_METRICS, global::SLOTS_AND_METRICS);
}
