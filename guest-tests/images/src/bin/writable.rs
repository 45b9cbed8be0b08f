//! Bits that a write sets: each field of each register holds what was written, bit by bit, and leaves the other
//! fields alone.
#![no_std]
#![no_main]

use guest_images::{
    checks,
    pmu::{keeps, read, select_extensions, status, write},
    table::{Register, event_register_bits, status_bit_exists},
};
use guest_runtime::{check_eq, skip};

guest_runtime::image!();

fn select(r: &Register) -> &Register {
    r.present(r.n < r.cpu.general)
}

/// A bit of four in FIXED_CTR_CTRL, beside those of the other counters.
fn fixed_ctrl(r: &Register, bit: u32) {
    let r = Register { msr: 0x38D, ..*r };
    r.present(r.cpu.has_fixed(r.n));
    let others: u64 = (0..4).filter(|n| *n != r.n && r.cpu.has_fixed(*n)).map(|n| 0x3 << (4 * n)).sum();
    write(r.msr, others);
    r.keeps(others, 4 * r.n + bit..=4 * r.n + bit);
    write(r.msr, 0);
}

/// STATUS_SET sets a status bit and no other, STATUS_RESET clears it and no other.
fn sets_and_clears(r: &Register, bit: u32) {
    let r = Register { msr: 0x391, ..*r };
    if r.cpu.version < 4 || !status_bit_exists(&r.cpu, bit) {
        skip!("this CPU has no such status bit");
    }
    let other = if bit == 0 { 2 } else { 1 };
    write(r.msr, other);
    write(r.msr, 1 << bit);
    check_eq!(status(), 1 << bit | other, "after setting bit {bit}");
    write(0x390, 1 << bit);
    check_eq!(status(), other, "after clearing bit {bit}");
    write(0x390, other);
    check_eq!(status(), 0);
}

/// Each bit of MISC_ENABLE changes alone.
fn misc_enable(r: &Register, bit: u32) {
    let original = read(r.msr);
    r.in_vpmu();
    keeps(r.msr, original ^ 1 << bit);
    keeps(r.msr, original);
}

fn event_register(r: &Register, valid: impl Fn((u64, u64)) -> u64) {
    let Some(bits) = event_register_bits() else { skip!("no data about this model") };
    let valid = valid(bits);
    (0..64).filter(|bit| valid >> bit & 1 != 0).for_each(|bit| keeps(r.msr, 1 << bit));
    keeps(r.msr, valid);
    write(r.msr, 0);
}

// SDM volume 3B, IA32_PERFEVTSELx. The counters are not enabled but for EN itself.
checks! {
    "IA32_PERFEVTSEL" [0 1 2 3 4 5 6 7 8 9] @ 0x186 {
        "EventSelect" => |r| select(r).keeps(0x3_0000, 0..=7);
        "UnitMask" => |r| select(r).keeps(0x3_003C, 8..=15);
        "USR" => |r| select(r).keeps(0x3C, 16..=16);
        "OS" => |r| select(r).keeps(0x3C, 17..=17);
        "E" => |r| select(r).keeps(0x3_003C, 18..=18);
        "PC" => |r| {
            if r.cpu.version >= 6 {
                skip!("no pin control from version 6 on");
            }
            select(r).keeps(0x3_003C, 19..=19);
        };
        "INT" => |r| select(r).keeps(0x3_003C, 20..=20);
        "EN" => |r| select(r).keeps(0x3C, 22..=22);
        "INV" => |r| select(r).keeps(0x3_003C, 23..=23);
        "CMASK" => |r| select(r).keeps(0x3_003C, 24..=31);
        "UMASK2" => |r| {
            if select_extensions() & 1 == 0 {
                skip!("unit masks have 8 bits");
            }
            select(r).keeps(0x3_003C, 40..=47);
        };
        "ANY_is_dropped" => |r| {
            if !r.cpu.any_thread_deprecated {
                skip!("AnyThread is not deprecated");
            }
            select(r).in_vpmu().becomes(0x23_003C, 0x3_003C);
        };
    }
    "IA32_FIXED_CTR_CTRL.counter_" [0 1 2 3] @ 0x38D {
        "OS" => |r| fixed_ctrl(r, 0);
        "USR" => |r| fixed_ctrl(r, 1);
        "PMI" => |r| fixed_ctrl(r, 3);
    }
    "IA32_PERF_GLOBAL_CTRL.counter_" [0 1 2 3 4 5 6 7 8 9] @ 0x38F {
        "enable" => |r| {
            Register { msr: 0x38F, ..*r }.present(r.n < r.cpu.general).keeps(0, r.n..=r.n);
        };
    }
    "IA32_PERF_GLOBAL_CTRL.fixed_" [0 1 2 3] @ 0x38F {
        "enable" => |r| {
            Register { msr: 0x38F, ..*r }.present(r.cpu.has_fixed(r.n)).keeps(0, 32 + r.n..=32 + r.n);
        };
    }
    "IA32_PERF_GLOBAL_CTRL" - @ 0x38F {
        "PERF_METRICS" => |r| r.present(r.cpu.metrics()).keeps(0, 48..=48);
    }
    "IA32_PERF_GLOBAL_STATUS.counter_" [0 1 2 3 4 5 6 7 8 9] @ 0x391 {
        "is_set_and_cleared" => |r| sets_and_clears(r, r.n);
    }
    "IA32_PERF_GLOBAL_STATUS.fixed_" [0 1 2 3] @ 0x391 {
        "is_set_and_cleared" => |r| sets_and_clears(r, 32 + r.n);
    }
    "IA32_PERF_GLOBAL_STATUS.bit_" [48 55 58 59 60 61 62] @ 0x391 {
        "is_set_and_cleared" => |r| sets_and_clears(r, r.n);
    }
    "IA32_PERF_GLOBAL_OVF_CTRL" - @ 0x390 {
        // As LIKWID does at every start, with and without a debug store.
        "takes_bits_63_and_62" => |r| write(r.msr, 3 << 62 | 0x7_0000_000F);
    }
}

checks! {
    "IA32_DEBUGCTL" - @ 0x1D9 {
        "LBR" => |r| r.present(r.cpu.legacy_lbr()).keeps(0, 0..=0);
        "LBR_is_dropped_without_a_stack" => |r| {
            if r.cpu.legacy_lbr() {
                skip!("the CPU has the model-specific records");
            }
            r.in_vpmu().becomes(1, 0);
        };
        "BTF" => |r| r.present(r.cpu.lbr()).keeps(0, 1..=1);
        "BTF_is_accepted" => |r| write(r.msr, 2);
        "FREEZE_LBRS_ON_PMI" => |r| r.present(r.cpu.lbr()).keeps(0, 11..=11);
        "FREEZE_PERFMON_ON_PMI" => |r| r.keeps(0, 12..=12);
        "FREEZE_WHILE_SMM" => |r| r.present(r.cpu.capability(12)).keeps(0, 14..=14);
    }
    "IA32_MISC_ENABLE.bit_" [0 3 16 18 22 23 34 38] @ 0x1A0 {
        "is_kept" => |r| misc_enable(&Register { msr: 0x1A0, ..*r }, r.n);
    }
    "IA32_MISC_ENABLE" - @ 0x1A0 {
        "bit_7_perfmon_is_ignored" => |r| {
            let value = read(r.msr);
            r.in_vpmu().becomes(value & !(1 << 7), value);
        };
    }
    "MSR_OFFCORE_RSP_" [0 1] @ 0x1A6 {
        "valid_bits" => |r| event_register(r, |(offcore, _)| offcore);
    }
    "MSR_PEBS_LD_LAT_THRESHOLD" - @ 0x3F6 {
        "valid_bits" => |r| event_register(r, |_| 0xFFFF);
    }
    "MSR_PEBS_FRONTEND" - @ 0x3F7 {
        "valid_bits" => |r| event_register(r, |(_, frontend)| frontend);
    }
}
