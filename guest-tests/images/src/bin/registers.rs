//! Which registers there are, and what they hold at power-on: every MSR of the PMU, present or absent, against
//! what CPUID and IA32_PERF_CAPABILITIES announce.
#![no_std]
#![no_main]

use guest_images::{
    checks,
    pmu::perfmon_ext,
    table::{Register, event_register_bits},
};
use guest_runtime::{cpuid, skip};

guest_runtime::image!();

/// Skips where it is not known which event registers the model has.
fn has_event_registers() -> bool {
    if event_register_bits().is_none() {
        skip!("no data about this model");
    }
    true
}

/// Deepest architectural stack, from CPUID.1CH:EAX bits 7:0.
fn max_depth() -> u64 {
    u64::from(8 * (32 - (cpuid(0x1C, 0).eax & 0xFF).leading_zeros()))
}

// SDM volume 4 and volume 3B, "Performance Monitoring" and "Last Branch Records".
checks! {
    "IA32_PMC" [0 1 2 3 4 5 6 7 8 9] @ 0xC1 {
        "exists" => |r| r.exists(r.n < r.cpu.general);
        "reset" => |r| r.present(r.n < r.cpu.general).resets_to(0);
    }
    "IA32_PERFEVTSEL" [0 1 2 3 4 5 6 7 8 9] @ 0x186 {
        "exists" => |r| r.exists(r.n < r.cpu.general);
        "reset" => |r| r.present(r.n < r.cpu.general).resets_to(0);
    }
    "IA32_A_PMC" [0 1 2 3 4 5 6 7 8 9] @ 0x4C1 {
        "exists" => |r| r.exists(r.cpu.full_width() && r.n < r.cpu.general);
        "reset" => |r| r.present(r.cpu.full_width() && r.n < r.cpu.general).resets_to(0);
    }
    "IA32_FIXED_CTR" [0 1 2 3] @ 0x309 {
        "exists" => |r| r.exists(r.cpu.has_fixed(r.n));
        "reset" => |r| r.present(r.cpu.has_fixed(r.n)).resets_to(0);
    }
    "IA32_FIXED_CTR" [4 5 6] @ 0x309 {
        "exists" => |r| r.exists(r.cpu.has_fixed(r.n));
    }
    "IA32_PERF_METRICS" - @ 0x329 {
        "exists" => |r| r.exists(r.cpu.metrics());
        "reset" => |r| r.present(r.cpu.metrics()).resets_to(0);
    }
    "IA32_PERF_CAPABILITIES" - @ 0x345 {
        "exists" => |r| r.exists(cpuid(1, 0).ecx & 1 << 15 != 0);
        "reads_the_same" => |r| r.present(cpuid(1, 0).ecx & 1 << 15 != 0).resets_to(r.cpu.capabilities);
    }
    "IA32_FIXED_CTR_CTRL" - @ 0x38D {
        "exists" => |r| r.exists(r.cpu.version >= 2);
        "reset" => |r| r.resets_to(0);
    }
    "IA32_PERF_GLOBAL_STATUS" - @ 0x38E {
        "exists" => |r| r.exists(r.cpu.version >= 2);
        "reset" => |r| r.resets_to(0);
    }
    "IA32_PERF_GLOBAL_CTRL" - @ 0x38F {
        "exists" => |r| r.exists(r.cpu.version >= 2);
        "reset" => |r| r.resets_to((1 << r.cpu.general) - 1);
    }
    "IA32_PERF_GLOBAL_OVF_CTRL" - @ 0x390 {
        "exists" => |r| r.exists(r.cpu.version >= 2);
        "reset" => |r| r.resets_to(0);
    }
    "IA32_PERF_GLOBAL_STATUS_SET" - @ 0x391 {
        "exists" => |r| r.exists(r.cpu.version >= 4);
        "reset" => |r| r.present(r.cpu.version >= 4).resets_to(0);
    }
    "IA32_PERF_GLOBAL_INUSE" - @ 0x392 {
        "exists" => |r| r.exists(r.cpu.version >= 4);
        "reset" => |r| r.present(r.cpu.version >= 4).resets_to(0);
    }
    "IA32_DEBUGCTL" - @ 0x1D9 {
        "exists" => |r| r.exists(true);
        "reset" => |r| r.resets_to(0);
    }
    "IA32_MISC_ENABLE" - @ 0x1A0 {
        "exists" => |r| r.exists(true);
        "announces_perfmon" => |r| guest_runtime::check_eq!(guest_images::pmu::read(r.msr) >> 7 & 1, 1);
        "hides_bts_and_pebs" => |r| if r.cpu.debug_store { skip!("the CPU has a debug store") } else {
            guest_runtime::check_eq!(guest_images::pmu::read(r.msr) >> 11 & 3, 3);
        };
    }
    "MSR_OFFCORE_RSP_" [0 1] @ 0x1A6 {
        "exists" => |r| r.exists(has_event_registers());
        "reset" => |r| r.present(has_event_registers()).resets_to(0);
    }
    "MSR_PEBS_LD_LAT_THRESHOLD" - @ 0x3F6 {
        "exists" => |r| r.exists(has_event_registers());
        "reset" => |r| r.present(has_event_registers()).resets_to(0);
    }
    "MSR_PEBS_FRONTEND" - @ 0x3F7 {
        "exists" => |r| r.exists(has_event_registers());
        "reset" => |r| r.present(has_event_registers()).resets_to(0);
    }
    "MSR_LBR_SELECT" - @ 0x1C8 {
        "exists" => |r| r.exists(r.cpu.legacy_lbr());
        "reset" => |r| r.present(r.cpu.legacy_lbr()).resets_to(0);
    }
    "MSR_LASTBRANCH_TOS" - @ 0x1C9 {
        "exists" => |r| r.exists(r.cpu.legacy_lbr());
        "reset" => |r| r.present(r.cpu.legacy_lbr()).resets_to(0);
    }
    "IA32_LBR_CTL" - @ 0x14CE {
        "exists" => |r| r.exists(r.cpu.arch_lbr);
        "reset" => |r| r.present(r.cpu.arch_lbr).resets_to(0);
    }
    "IA32_LBR_DEPTH" - @ 0x14CF {
        "exists" => |r| r.exists(r.cpu.arch_lbr);
        "reset" => |r| r.present(r.cpu.arch_lbr).resets_to(max_depth());
    }
}

// What belongs to features that CPUID can announce.
checks! {
    "IA32_PEBS_ENABLE" - @ 0x3F1 {
        "absent_without_DS" => |r| r.is_absent_without(r.cpu.debug_store, "a debug store");
    }
    "MSR_PEBS_DATA_CFG" - @ 0x3F2 {
        "absent_without_PEBS_BASELINE" => |r| r.is_absent_without(r.cpu.pebs_baseline(), "adaptive PEBS");
    }
    "IA32_PEBS_BASE" - @ 0x3F4 {
        "absent_without_architectural_PEBS" => |r| r.is_absent_without(perfmon_ext(4), "CPUID.23H.4");
    }
    "IA32_PEBS_INDEX" - @ 0x3F5 {
        "absent_without_architectural_PEBS" => |r| r.is_absent_without(perfmon_ext(4), "CPUID.23H.4");
    }
    "IA32_DS_AREA" - @ 0x600 {
        "absent_without_DS" => |r| r.is_absent_without(r.cpu.debug_store, "a debug store");
    }
    "MSR_RELOAD_PMC" [0 1 2 3 4 5 6 7] @ 0x14C1 {
        "absent_without_PEBS_OUTPUT_PT" => |r| {
            r.is_absent_without(r.cpu.capability(16), "PEBS through Processor Trace");
        };
    }
    "MSR_RELOAD_FIXED_CTR" [0 1 2 3] @ 0x1309 {
        "absent_without_PEBS_OUTPUT_PT" => |r| {
            r.is_absent_without(r.cpu.capability(16), "PEBS through Processor Trace");
        };
    }
    "IA32_PMC_GP_CTR" [0 1 2 3 4 5 6 7 8 9 10] @ 0x1900 {
        "exists" => |r| r.apart(4).exists(r.cpu.version >= 6 && r.n < r.cpu.general);
        "reset" => |r| r.apart(4).present(r.cpu.version >= 6 && r.n < r.cpu.general).resets_to(0);
    }
    "IA32_PMC_GP_CFG_A" [0 1 2 3 4 5 6 7 8 9 10] @ 0x1901 {
        "exists" => |r| r.apart(4).exists(r.cpu.version >= 6 && r.n < r.cpu.general);
        "reset" => |r| r.apart(4).present(r.cpu.version >= 6 && r.n < r.cpu.general).resets_to(0);
    }
    "IA32_PMC_GP_CFG_B" [0 1 2 3 4 5 6 7 8 9] @ 0x1902 {
        "absent_without_auto_counter_reload" => |r| r.apart(4).is_absent_without(perfmon_ext(2), "CPUID.23H.2");
    }
    "IA32_PMC_GP_CFG_C" [0 1 2 3 4 5 6 7 8 9] @ 0x1903 {
        "absent_without_reload_and_PEBS" => |r| {
            r.apart(4).is_absent_without(perfmon_ext(2) || perfmon_ext(4), "CPUID.23H.2 or .4");
        };
    }
    "IA32_PMC_FX_CTR" [0 1 2 3 4 5 6] @ 0x1980 {
        "exists" => |r| r.apart(4).exists(r.cpu.version >= 6 && r.cpu.has_fixed(r.n));
        "reset" => |r| r.apart(4).present(r.cpu.version >= 6 && r.cpu.has_fixed(r.n)).resets_to(0);
    }
    "IA32_PMC_FX_CFG_B" [0 1 2 3] @ 0x1982 {
        "absent_without_auto_counter_reload" => |r| r.apart(4).is_absent_without(perfmon_ext(2), "CPUID.23H.2");
    }
    "IA32_PMC_FX_CFG_C" [0 1 2 3] @ 0x1983 {
        "absent_without_reload_and_PEBS" => |r| {
            r.apart(4).is_absent_without(perfmon_ext(2) || perfmon_ext(4), "CPUID.23H.2 or .4");
        };
    }
}
