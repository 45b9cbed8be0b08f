//! CPUID against itself and against the registers: what is announced is there, what is not announced is not.
#![no_std]
#![no_main]

use guest_images::{checks, table::Register};
use guest_runtime::{check, check_eq, cpu, cpuid, rdmsr, rdpmc_ring0, skip};

guest_runtime::image!();

/// A field of a register.
fn field(value: u32, low: u32, bits: u32) -> u32 {
    value >> low & ((1_u64 << bits) - 1) as u32
}

fn max_leaf() -> u32 {
    cpuid(0, 0).eax
}

/// Registers from `first` on that can be read, up to the first that cannot.
fn count_msrs(first: u32) -> u32 {
    (0..64).take_while(|n| rdmsr(first + n).is_ok()).count() as u32
}

/// A leaf that is not announced by its feature bit says nothing.
fn is_empty_unless(announced: bool, leaf: u32) {
    if announced {
        skip!("the feature is announced");
    }
    if leaf <= max_leaf() {
        let found = cpuid(leaf, 0);
        check_eq!([found.eax, found.ebx, found.ecx, found.edx], [0; 4], "leaf {leaf:#x}");
    }
}

fn perfmon_ext(r: &Register) {
    if !r.cpu.perfmon_ext {
        skip!("CPUID.07H.1:EAX[8] is 0");
    }
}

fn arch_lbr(r: &Register) {
    if !r.cpu.arch_lbr {
        skip!("CPUID.07H:EDX[19] is 0");
    }
}

// SDM volume 2A, CPUID. The address column is the leaf.
checks! {
    "CPUID.00H" - @ 0x0 {
        "highest_leaf_has_0AH" => |r| check!(max_leaf() >= 0xA, "{} {:#x}", r.n, max_leaf());
        "highest_leaf_has_what_is_announced" => |r| {
            check!(max_leaf() >= 7);
            check!(!r.cpu.arch_lbr || max_leaf() >= 0x1C);
            check!(!r.cpu.perfmon_ext || max_leaf() >= 0x23);
        };
    }
    "CPUID.1AH" - @ 0x1A {
        "EAX_has_a_core_type_on_a_hybrid_part" => |r| {
            if field(cpuid(7, 0).edx, 15, 1) == 0 {
                skip!("CPUID.07H:EDX[15] is 0");
            }
            check!(max_leaf() >= r.msr);
            // 40H: Core, as Linux takes from it.
            check_eq!(field(cpuid(r.msr, 0).eax, 24, 8), 0x40);
        };
        "empty_on_others" => |r| is_empty_unless(field(cpuid(7, 0).edx, 15, 1) == 1, r.msr);
    }
    "CPUID.01H" - @ 0x1 {
        "ECX_PDCM_means_PERF_CAPABILITIES" => |r| {
            check_eq!(rdmsr(0x345).is_ok(), field(cpuid(r.msr, 0).ecx, 15, 1) == 1);
        };
        "EDX_MSR_and_APIC" => |r| {
            let edx = cpuid(r.msr, 0).edx;
            check_eq!([field(edx, 5, 1), field(edx, 9, 1)], [1, 1]);
        };
        "DS_bits_go_together" => |r| {
            // DTES64 and DS-CPL describe a debug store.
            let leaf = cpuid(r.msr, 0);
            check!(r.cpu.debug_store || leaf.ecx & (1 << 2 | 1 << 4) == 0, "ECX {:#x}", leaf.ecx);
        };
        "EDX_DS_means_DS_AREA" => |r| check_eq!(rdmsr(0x600).is_ok(), r.cpu.debug_store);
        "EAX_is_of_family_6" => |r| check_eq!(field(cpuid(r.msr, 0).eax, 8, 4), 6);
    }
    "CPUID.07H" - @ 0x7 {
        // Lunar Lake alone is shown as a hybrid part.
        "EDX_hybrid_is_of_one_model" => |r| {
            let lunar_lake = cpu::family_model() == (6, 0xBD);
            check_eq!(field(r.in_leaf(0).edx, 15, 1), u32::from(lunar_lake));
        };
        "EDX_arch_LBR_means_LBR_CTL" => |r| check_eq!(rdmsr(0x14CE).is_ok(), r.cpu.arch_lbr);
        "EDX_arch_LBR_means_LBR_FMT_3F" => |r| check_eq!(r.cpu.capabilities & 0x3F == 0x3F, r.cpu.arch_lbr);
        "EBX_PT_means_leaf_14H" => |r| is_empty_unless(field(r.in_leaf(0).ebx, 25, 1) == 1, 0x14);
        "subleaf_1_ext_means_leaf_23H" => |r| is_empty_unless(r.cpu.perfmon_ext, 0x23);
    }
    "CPUID.0AH" - @ 0xA {
        "EAX_version_is_known" => |r| check!((2..=6).contains(&r.cpu.version), "version {}", r.cpu.version);
        "EAX_number_of_PMCs" => |r| check_eq!(count_msrs(0xC1), field(r.in_leaf(0).eax, 8, 8));
        "EAX_number_of_PERFEVTSELs" => |r| check_eq!(count_msrs(0x186), field(r.in_leaf(0).eax, 8, 8));
        "EAX_number_of_A_PMCs" => |r| {
            let expected = if r.cpu.full_width() { field(r.in_leaf(0).eax, 8, 8) } else { 0 };
            check_eq!(count_msrs(0x4C1), expected);
        };
        "EAX_number_that_RDPMC_reads" => |r| {
            let readable = (0..64).take_while(|n| rdpmc_ring0(*n).is_ok()).count() as u32;
            check_eq!(readable, field(r.in_leaf(0).eax, 8, 8));
        };
        "EAX_width_of_PMCs" => |r| {
            guest_images::pmu::write(0xC1, u64::MAX);
            check_eq!(rdmsr(0xC1), Ok((1 << field(r.in_leaf(0).eax, 16, 8)) - 1));
        };
        "EAX_vector_length_is_enough_for_Linux" => |r| check!(field(r.in_leaf(0).eax, 24, 8) >= 7);
        "EBX_holds_no_bit_beyond_the_vector" => |r| {
            let leaf = r.in_leaf(0);
            check_eq!(leaf.ebx >> field(leaf.eax, 24, 8).min(31), 0);
        };
        "EBX_cycles_and_instructions_are_available" => |r| check_eq!(field(r.in_leaf(0).ebx, 0, 2), 0);
        "EBX_slots_are_available_with_fixed_3" => |r| {
            let leaf = r.in_leaf(0);
            let available = field(leaf.eax, 24, 8) > 7 && field(leaf.ebx, 7, 1) == 0;
            r.present(r.cpu.has_fixed(3));
            check!(available);
        };
        "ECX_agrees_with_EDX_from_version_5" => |r| {
            let leaf = r.in_leaf(0);
            let contiguous = (1_u32 << field(leaf.edx, 0, 5)) - 1;
            check_eq!(leaf.ecx, if r.cpu.version >= 5 { contiguous } else { 0 });
        };
        "EDX_number_of_FIXED_CTRs" => |r| check_eq!(count_msrs(0x309), field(r.in_leaf(0).edx, 0, 5));
        "EDX_number_that_RDPMC_reads" => |r| {
            let readable = (0..32).take_while(|n| rdpmc_ring0(0x4000_0000 + n).is_ok()).count() as u32;
            check_eq!(readable, field(r.in_leaf(0).edx, 0, 5));
        };
        "EDX_width_of_FIXED_CTRs" => |r| {
            let width = field(r.in_leaf(0).edx, 5, 8);
            guest_images::pmu::write(0x309, (1 << width) - 1);
            check_eq!(rdmsr(0x309), Ok((1 << width) - 1));
        };
        "EDX_AnyThread_is_deprecated_from_version_5" => |r| {
            check_eq!(r.cpu.any_thread_deprecated, r.cpu.version >= 5);
        };
        "EDX_reserved_bits_are_0" => |r| {
            check_eq!(r.in_leaf(0).edx & !(0x1FFF | 1 << 15 | 0xF << 16), 0);
        };
        "subleaves_say_the_same" => |r| {
            let (first, other) = (cpuid(r.msr, 0), cpuid(r.msr, 7));
            check_eq!([first.eax, first.ebx, first.ecx, first.edx], [other.eax, other.ebx, other.ecx, other.edx]);
        };
        "version_4_has_STATUS_SET_and_INUSE" => |r| {
            check_eq!([rdmsr(0x391).is_ok(), rdmsr(0x392).is_ok()], [r.cpu.version >= 4; 2]);
        };
    }
    "CPUID.0DH" - @ 0xD {
        "subleaf_1_offers_no_XSAVES_of_records_without_component_15" => |r| {
            let offered = field(r.in_leaf(1).ecx, 15, 1) == 1;
            check_eq!(offered, r.in_leaf(15).eax != 0);
        };
    }
    "CPUID.23H" - @ 0x23 {
        "announced_from_version_6" => |r| check_eq!(r.cpu.perfmon_ext, r.cpu.version >= 6);
        "EAX_has_subleaf_0_and_no_unknown_one" => |r| {
            perfmon_ext(r);
            check_eq!(r.in_leaf(0).eax & !0b11_1110, 1);
        };
        "EBX_and_EDX_reserved_bits_are_0" => |r| {
            perfmon_ext(r);
            check_eq!([r.in_leaf(0).ebx & !0b111, r.in_leaf(0).edx], [0; 2]);
        };
        "subleaf_1_has_the_counters_of_leaf_0AH" => |r| {
            perfmon_ext(r);
            check_eq!(r.in_leaf(1).eax, (1 << r.cpu.general) - 1);
            check_eq!(r.in_leaf(1).ebx, cpuid(0xA, 0).ecx);
        };
        "subleaf_3_has_the_events_of_leaf_0AH" => |r| {
            perfmon_ext(r);
            let (leaf, length) = (cpuid(0xA, 0), field(cpuid(0xA, 0).eax, 24, 8));
            check_eq!(r.in_leaf(3).eax, !leaf.ebx & ((1_u64 << length) - 1) as u32);
        };
        "subleaves_that_are_not_listed_say_nothing" => |r| {
            perfmon_ext(r);
            let valid = r.in_leaf(0).eax;
            for subleaf in (1..8).filter(|subleaf| valid >> subleaf & 1 == 0) {
                let found = r.in_leaf(subleaf);
                check_eq!([found.eax, found.ebx, found.ecx, found.edx], [0; 4], "subleaf {subleaf}");
            }
        };
    }
    "CPUID.1CH" - @ 0x1C {
        "is_empty_without_arch_LBR" => |r| is_empty_unless(r.cpu.arch_lbr, r.msr);
        "EAX_lists_depths" => |r| { arch_lbr(r); check!(field(r.in_leaf(0).eax, 0, 8) != 0); };
        "EAX_reset_depth_is_the_largest" => |r| {
            arch_lbr(r);
            let depths = field(r.in_leaf(0).eax, 0, 8);
            check_eq!(rdmsr(0x14CF), Ok(u64::from(8 * (32 - depths.leading_zeros()))));
        };
        "EBX_filters_are_announced" => |r| { arch_lbr(r); check_eq!(field(r.in_leaf(0).ebx, 0, 3), 0b111); };
        "ECX_branch_types_are_announced" => |r| { arch_lbr(r); check_eq!(field(r.in_leaf(0).ecx, 2, 1), 1); };
        "reserved_bits_are_0" => |r| {
            arch_lbr(r);
            let leaf = r.in_leaf(0);
            check_eq!([leaf.eax & !0xC000_00FF, leaf.ebx & !0x7, leaf.ecx & !0xF_0007, leaf.edx], [0; 4]);
        };
    }
    "PERF_CAPABILITIES" - @ 0x345 {
        "metrics_mean_fixed_3" => |r| check!(!r.cpu.metrics() || r.cpu.has_fixed(3));
        "metrics_mean_MSR_329H" => |r| check_eq!(rdmsr(0x329).is_ok(), r.cpu.metrics());
        "legacy_LBR_FMT_means_LBR_SELECT_and_TOS" => |r| {
            check_eq!([rdmsr(0x1C8).is_ok(), rdmsr(0x1C9).is_ok()], [r.cpu.legacy_lbr(); 2]);
        };
        "PEBS_fields_are_0_without_DS" => |r| {
            check!(r.cpu.debug_store || r.cpu.capabilities & (0xFC0 | 1 << 14 | 1 << 16 | 1 << 17) & !0xC0 == 0);
        };
        "reserved_bits_are_0" => |r| check_eq!(r.cpu.capabilities >> 20, 0);
    }
}

/// Reading the leaf of a row.
trait Leaf {
    fn in_leaf(&self, subleaf: u32) -> guest_runtime::cpu::Cpuid;
}

impl Leaf for Register {
    fn in_leaf(&self, subleaf: u32) -> guest_runtime::cpu::Cpuid {
        cpuid(self.msr, subleaf)
    }
}
