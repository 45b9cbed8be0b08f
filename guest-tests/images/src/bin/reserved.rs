//! Bits that a write may not change: each raises #GP(0), alone and beside legal ones, and changes nothing.
#![no_std]
#![no_main]

use guest_images::{
    checks,
    pmu::{global_ctrl_bits, read, refuses, select_extensions},
    table::{Register, event_register_bits, status_bit_exists},
};
use guest_runtime::{cpuid, skip};

guest_runtime::image!();

/// UnHalted Core Cycles in both rings, enabled.
const SELECT: u64 = 0x43_003C;

fn select(r: &Register) -> &Register {
    r.present(r.n < r.cpu.general)
}

/// Every bit of GLOBAL_CTRL in the range that stands for nothing on this CPU.
fn global_ctrl(r: &Register, bits: core::ops::RangeInclusive<u32>) {
    let legal = global_ctrl_bits();
    let mut reserved = bits.filter(|bit| legal >> bit & 1 == 0).peekable();
    if reserved.peek().is_none() {
        skip!("every bit is legal here");
    }
    reserved.for_each(|bit| r.refuses(1, bit..=bit));
}

/// As [`global_ctrl`], for the registers that clear and set status bits.
fn status(r: &Register, bits: core::ops::RangeInclusive<u32>) {
    let mut reserved = bits.filter(|bit| !status_bit_exists(&r.cpu, *bit)).peekable();
    if reserved.peek().is_none() {
        skip!("every bit is legal here");
    }
    reserved.for_each(|bit| {
        refuses(r.msr, 1 << bit);
        refuses(r.msr, 1 << bit | 1);
    });
}

/// The bits of an event register that are not valid on this model.
fn event_register(r: &Register, valid: impl Fn((u64, u64)) -> u64) {
    let Some(bits) = event_register_bits() else { skip!("no data about this model") };
    let valid = valid(bits);
    (0..64).filter(|bit| valid >> bit & 1 == 0).for_each(|bit| r.refuses(0, bit..=bit));
}

fn misc_enable(r: &Register, bits: core::ops::RangeInclusive<u32>) {
    r.in_vpmu().refuses(read(r.msr), bits);
}

// SDM volume 3B, IA32_PERFEVTSELx and what makes the upper bits legal.
checks! {
    "IA32_PERFEVTSEL" [0 1 2 3 4 5 6 7 8 9] @ 0x186 {
        "bit_19_PC_from_version_6" => |r| {
            select(r).in_vpmu().refuses_without(r.cpu.version < 6, "pin control", SELECT, 19..=19);
        };
        "bit_21_ANY_before_version_3" => |r| {
            select(r).refuses_without(r.cpu.version >= 3, "AnyThread", SELECT, 21..=21);
        };
        "bit_32_IN_TX" => |r| select(r).refuses_without(r.cpu.transactions, "transactions", SELECT, 32..=32);
        "bit_33_IN_TXCP" => |r| {
            select(r).refuses_without(r.cpu.transactions && r.n == 2, "transactions", SELECT, 33..=33);
        };
        "bit_34_adaptive_PEBS" => |r| {
            select(r).refuses_without(r.cpu.pebs_baseline(), "adaptive PEBS", SELECT, 34..=34);
        };
        "bit_35_BR_CNTR" => |r| {
            let logs = r.cpu.arch_lbr && cpuid(0x1C, 0).ecx >> 16 & 0xF != 0;
            select(r).refuses_without(logs, "event logging in branch records", SELECT, 35..=35);
        };
        "bit_36_EQ" => |r| {
            select(r).refuses_without(select_extensions() & 0b010 != 0, "the EQ bit", SELECT, 36..=36);
        };
        "bit_37_RDPMC_user_disable" => |r| {
            select(r).refuses_without(select_extensions() & 0b100 != 0, "RDPMC user disable", SELECT, 37..=37);
        };
        "bits_39_38" => |r| select(r).refuses(SELECT, 38..=39);
        "bits_47_40_UMASK2" => |r| {
            select(r).refuses_without(select_extensions() & 0b001 != 0, "16-bit unit masks", SELECT, 40..=47);
        };
        "bits_63_48" => |r| select(r).refuses(SELECT, 48..=63);
    }
    "IA32_A_PMC" [0 1 2 3 4 5 6 7 8 9] @ 0x4C1 {
        "bits_63_48" => |r| r.present(r.cpu.full_width() && r.n < r.cpu.general).refuses(0x1234, 48..=63);
    }
    "IA32_PMC_GP_CTR" [0 1 2 3 4 5 6 7 8 9] @ 0x1900 {
        "bits_63_48" => |r| r.apart(4).present(r.cpu.version >= 6 && r.n < r.cpu.general).refuses(0x1234, 48..=63);
    }
    "IA32_PMC_GP_CFG_A" [0 1 2 3 4 5 6 7 8 9] @ 0x1901 {
        "bits_39_38_and_63_48" => |r| {
            let r = r.apart(4);
            r.present(r.cpu.version >= 6 && r.n < r.cpu.general).refuses(SELECT, 38..=39);
            r.refuses(SELECT, 48..=63);
        };
    }
}

// Four bits for each fixed counter.
checks! {
    "IA32_FIXED_CTR_CTRL.counter_" [0 1 2] @ 0x38D {
        "AnyThread" => |r| {
            let r = Register { msr: 0x38D, ..*r };
            let legal = r.cpu.version >= 3 && !r.cpu.any_thread_deprecated;
            r.present(r.cpu.has_fixed(r.n)).refuses_without(legal, "AnyThread", 0xB, 4 * r.n + 2..=4 * r.n + 2);
        };
    }
    "IA32_FIXED_CTR_CTRL.counter_" [3 4 5 6 7] @ 0x38D {
        "bits" => |r| {
            let r = Register { msr: 0x38D, ..*r };
            r.refuses_without(r.cpu.has_fixed(r.n), "this counter", 0xB, 4 * r.n..=4 * r.n + 3);
        };
    }
    "IA32_FIXED_CTR_CTRL" - @ 0x38D {
        "bit_14_METRICS_CLEAR" => |r| {
            let legal = r.cpu.capability(19) || (r.cpu.version >= 3 && !r.cpu.any_thread_deprecated);
            r.refuses_without(legal, "METRICS_CLEAR or AnyThread", 0xB, 14..=14);
        };
        "bits_63_32" => |r| {
            let legal = r.cpu.pebs_baseline() || select_extensions() & 0b100 != 0;
            r.refuses_without(legal, "adaptive PEBS or RDPMC user disable", 0xB, 32..=63);
        };
    }
    "IA32_PERF_GLOBAL_CTRL" - @ 0x38F {
        "absent_general_counters" => |r| global_ctrl(r, 0..=31);
        "absent_fixed_counters" => |r| global_ctrl(r, 32..=47);
        "bit_48_PERF_METRICS" => |r| global_ctrl(r, 48..=48);
        "bits_63_49" => |r| global_ctrl(r, 49..=63);
    }
    "IA32_PERF_GLOBAL_OVF_CTRL" - @ 0x390 {
        "absent_general_counters" => |r| status(r, 0..=31);
        "absent_fixed_counters" => |r| status(r, 32..=47);
        "bit_48_PERF_METRICS" => |r| status(r, 48..=48);
        "bits_54_49" => |r| status(r, 49..=54);
        "bit_55_ToPA" => |r| status(r, 55..=55);
        "bits_57_56" => |r| status(r, 56..=57);
        "bits_61_58_before_version_4" => |r| status(r, 58..=61);
    }
    "IA32_PERF_GLOBAL_STATUS_SET" - @ 0x391 {
        "absent_general_counters" => |r| status(r.present(r.cpu.version >= 4), 0..=31);
        "absent_fixed_counters" => |r| status(r.present(r.cpu.version >= 4), 32..=47);
        "bit_48_PERF_METRICS" => |r| status(r.present(r.cpu.version >= 4), 48..=48);
        "bits_54_49" => |r| status(r.present(r.cpu.version >= 4), 49..=54);
        "bit_55_ToPA" => |r| status(r.present(r.cpu.version >= 4), 55..=55);
        "bits_57_56" => |r| status(r.present(r.cpu.version >= 4), 56..=57);
        "bit_63" => |r| status(r.present(r.cpu.version >= 4), 63..=63);
    }
    "IA32_PERF_GLOBAL_STATUS" - @ 0x38E {
        "is_read_only" => |r| r.is_read_only();
    }
    "IA32_PERF_GLOBAL_INUSE" - @ 0x392 {
        "is_read_only" => |r| r.present(r.cpu.version >= 4).is_read_only();
    }
    "IA32_PERF_CAPABILITIES" - @ 0x345 {
        "is_read_only" => |r| r.present(cpuid(1, 0).ecx & 1 << 15 != 0).is_read_only();
    }
}

// What is not of the PMU alone, or not architectural.
checks! {
    "IA32_DEBUGCTL" - @ 0x1D9 {
        "bit_2_bus_lock_detect" => |r| r.in_vpmu().refuses_without(cpuid(7, 0).ecx & 1 << 24 != 0, "it", 0, 2..=2);
        "bits_5_3" => |r| r.refuses(0, 3..=5);
        "bits_10_6_TR_BTS" => |r| r.in_vpmu().refuses_without(r.cpu.debug_store, "a debug store", 0, 6..=10);
        "bit_13" => |r| r.in_vpmu().refuses(0, 13..=13);
        "bit_14_FREEZE_WHILE_SMM" => |r| r.in_vpmu().refuses_without(r.cpu.capability(12), "it", 0, 14..=14);
        "bit_15_RTM_DEBUG" => |r| r.refuses_without(r.cpu.transactions, "transactions", 0, 15..=15);
        "bits_63_16" => |r| r.refuses(0, 16..=63);
    }
    "IA32_MISC_ENABLE" - @ 0x1A0 {
        "bits_2_1" => |r| misc_enable(r, 1..=2);
        "bits_6_4" => |r| misc_enable(r, 4..=6);
        "bits_10_8" => |r| misc_enable(r, 8..=10);
        "bit_11_BTS_unavailable" => |r| misc_enable(r, 11..=11);
        "bit_12_PEBS_unavailable" => |r| misc_enable(r, 12..=12);
        "bits_15_13" => |r| misc_enable(r, 13..=15);
        "bit_17" => |r| misc_enable(r, 17..=17);
        "bits_21_19" => |r| misc_enable(r, 19..=21);
        "bits_33_24" => |r| misc_enable(r, 24..=33);
        "bits_37_35" => |r| misc_enable(r, 35..=37);
        "bits_63_39" => |r| misc_enable(r, 39..=63);
    }
    "MSR_OFFCORE_RSP_" [0 1] @ 0x1A6 {
        "reserved" => |r| event_register(r, |(offcore, _)| offcore);
    }
    "MSR_PEBS_LD_LAT_THRESHOLD" - @ 0x3F6 {
        "bits_63_16" => |r| event_register(r, |_| 0xFFFF);
    }
    "MSR_PEBS_FRONTEND" - @ 0x3F7 {
        "reserved" => |r| event_register(r, |(_, frontend)| frontend);
    }
    "MSR_LBR_SELECT" - @ 0x1C8 {
        "bits_63_10" => |r| r.present(r.cpu.legacy_lbr()).refuses(0, 10..=63);
    }
    "IA32_LBR_CTL" - @ 0x14CE {
        "bits_15_4" => |r| r.present(r.cpu.arch_lbr).refuses(0, 4..=15);
        "bits_63_23" => |r| r.present(r.cpu.arch_lbr).refuses(0, 23..=63);
    }
    "IA32_LBR_DEPTH" - @ 0x14CF {
        "bits_2_0" => |r| r.present(r.cpu.arch_lbr).refuses(32, 0..=2);
        "bits_63_7" => |r| r.present(r.cpu.arch_lbr).refuses(32, 7..=63);
        "zero" => |r| { r.present(r.cpu.arch_lbr); refuses(r.msr, 0); };
    }
}
