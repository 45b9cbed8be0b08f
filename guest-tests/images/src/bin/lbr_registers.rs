//! Every register of the branch records: it exists as long as the stack is deep, keeps an address, refuses reserved
//! bits of INFO, and shows nothing at power-on.
#![no_std]
#![no_main]

use guest_images::{
    checks,
    pmu::{is_absent, keeps, read, refuses, write},
    table::Register,
};
use guest_runtime::{check_eq, cpuid, rdmsr};

guest_runtime::image!();

/// FROM, TO and INFO of entry 0.
const LEGACY: [u32; 3] = [0x680, 0x6C0, 0xDC0];
const ARCH: [u32; 3] = [0x1500, 0x1600, 0x1200];
const DEPTH: u32 = 0x14CF;

/// Entries of the deepest stack of either kind.
fn depth(arch: bool) -> u32 {
    if arch { 8 * (32 - (cpuid(0x1C, 0).eax & 0xFF).leading_zeros()) } else { 32 }
}

/// Entry `n` of one kind of records.
fn entry(r: &Register, rows: [u32; 3], arch: bool) {
    let has = if arch { r.cpu.arch_lbr } else { r.cpu.legacy_lbr() };
    let msrs = rows.map(|row| row + r.n);
    if !has || r.n >= depth(arch) {
        for msr in msrs {
            is_absent(msr);
        }
        return;
    }
    check_eq!(msrs.map(read), [0; 3], "before anything was recorded");
    let values =
        [0xFFFF_8000_1234_5000 + u64::from(r.n), 0x7FFF_FFFF_F000 - u64::from(r.n), 1 << 63 | 0x8001];
    for (msr, value) in msrs.into_iter().zip(values) {
        keeps(msr, value);
    }
    check_eq!(msrs.map(rdmsr), values.map(Ok), "the three registers are three");
    for msr in &msrs[..2] {
        refuses(*msr, 1 << 47);
        refuses(*msr, 0x7FFF_FFFF_FFFF_FFFF);
    }
    for bit in 16..56 {
        if arch {
            // Undefined, and no fault.
            write(msrs[2], 1 << bit);
        } else {
            refuses(msrs[2], 1 << bit);
        }
    }
    msrs.into_iter().for_each(|msr| write(msr, 0));
}

/// Depth `8 * n`: with it exactly so many entries exist, all of them 0.
fn arch_depth(r: &Register) {
    r.present(r.cpu.arch_lbr);
    let depth = 8 * (r.n + 1);
    if cpuid(0x1C, 0).eax >> r.n & 1 == 0 {
        refuses(DEPTH, u64::from(depth));
        return;
    }
    write(ARCH[0], 0x1234);
    keeps(DEPTH, u64::from(depth));
    for row in ARCH {
        (0..depth).for_each(|n| check_eq!(read(row + n), 0, "entry {n}"));
        is_absent(row + depth);
    }
    write(DEPTH, u64::from(self::depth(true)));
}

// SDM volume 3B, "LBR Stack" (LBR_FMT 5) and "Last Branch Records". Behind the model-specific stack lie other
// registers, such as IA32_TSC_DEADLINE.
checks! {
    "MSR_LASTBRANCH_" [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] @ 0x680 {
        "FROM_TO_INFO" => |r| entry(r, LEGACY, false);
    }
    "IA32_LBR_" [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32] @ 0x1500 {
        "FROM_TO_INFO" => |r| entry(r, ARCH, true);
    }
    "IA32_LBR_DEPTH.bit_" [0 1 2 3 4 5 6 7] @ 0x14CF {
        "of_CPUID" => |r| arch_depth(r);
    }
    "MSR_LBR_SELECT.bit_" [0 1 2 3 4 5 6 7 8 9] @ 0x1C8 {
        "is_kept" => |r| Register { msr: 0x1C8, ..*r }.present(r.cpu.legacy_lbr()).keeps(0, r.n..=r.n);
    }
    "MSR_LASTBRANCH_TOS" - @ 0x1C9 {
        "every_index" => |r| {
            r.present(r.cpu.legacy_lbr());
            (0..32).for_each(|index| keeps(r.msr, index));
        };
    }
    "IA32_LBR_CTL.bit_" [1 2 3 16 17 18 19 20 21 22] @ 0x14CE {
        "is_kept" => |r| Register { msr: 0x14CE, ..*r }.present(r.cpu.arch_lbr).keeps(0, r.n..=r.n);
    }
    "IA32_LER_FROM_and_TO." [0 1] @ 0x1DD {
        "exist_with_any_records" => |r| r.exists(r.cpu.lbr());
        "keep_a_canonical_address" => |r| {
            r.present(r.cpu.lbr());
            [0xFFFF_8000_1234_5000, 0x7FFF_FFFF_F000, u64::MAX, 0].into_iter().for_each(|at| keeps(r.msr, at));
            r.in_vpmu();
            [1 << 47, 1 << 63, 0x7FFF_8000_0000_0000].into_iter().for_each(|at| refuses(r.msr, at));
        };
    }
    "IA32_LER_INFO" - @ 0x1E0 {
        "exists_with_architectural_records" => |r| r.exists(r.cpu.arch_lbr);
        "keeps_what_is_defined" => |r| {
            r.present(r.cpu.arch_lbr).keeps(0, 56..=59);
            r.keeps(0, 61..=63);
            (0..56).for_each(|bit| write(r.msr, 1 << bit));
        };
    }
    "IA32_LBR_CTL" - @ 0x14CE {
        "LBREn" => |r| r.present(r.cpu.arch_lbr).keeps(0, 0..=0);
    }
}
