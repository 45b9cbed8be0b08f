//! The index space of RDPMC: ECX bits 31:16 are a type, bits 15:0 an index in it. What is nothing raises #GP(0),
//! in ring 0 as in ring 3.
#![no_std]
#![no_main]

use guest_images::{checks, table::Register};
use guest_runtime::{Exception, check, check_eq, rdpmc, rdpmc_ring0, set_pce};

guest_runtime::image!();

/// RDPMC of this index works in ring 0 and, with CR4.PCE only, in ring 3; or nowhere.
fn index(ecx: u32, exists: bool) {
    check_eq!(rdpmc_ring0(ecx).is_ok(), exists, "RDPMC {ecx:#x} in ring 0");
    check_eq!(rdpmc(ecx), Err(Exception::GP0), "RDPMC {ecx:#x} in ring 3 without CR4.PCE");
    check!(set_pce(true).is_ok(), "CR4.PCE can be set");
    let result = rdpmc(ecx);
    check_eq!(result.is_ok(), exists, "RDPMC {ecx:#x} in ring 3 with CR4.PCE: {result:?}");
    if !exists {
        check_eq!(result, Err(Exception::GP0));
    }
}

fn at(r: &Register, exists: bool) {
    index(r.msr, exists);
}

// The address column is ECX. SDM volume 2B, RDPMC; volume 3B for PERF_METRICS.
checks! {
    "general_" [0 1 2 3 4 5 6 7 8 9 15 16 31 32 63 64] @ 0x0 {
        "exists_as_CPUID_says" => |r| at(r, r.n < r.cpu.general);
    }
    "general" - @ 0xFFFF {
        "last_index" => |r| at(r, false);
    }
    "fixed_" [0 1 2 3 4 5 6 7 15 16 31 32] @ 0x4000_0000 {
        "exists_as_CPUID_says" => |r| at(r, r.n < 32 && r.cpu.has_fixed(r.n));
    }
    "fixed" - @ 0x4000_FFFF {
        "last_index" => |r| at(r, false);
    }
    "metrics_" [0 1 2 4] @ 0x2000_0000 {
        "exists_with_PERF_METRICS" => |r| at(r, r.n == 0 && r.cpu.metrics());
    }
    "type_0001" - @ 0x0001_0000 { "is_nothing" => |r| at(r, false); }
    "type_1000" - @ 0x1000_0000 { "is_nothing" => |r| at(r, false); }
    "type_2001" - @ 0x2001_0000 { "is_nothing" => |r| at(r, false); }
    "type_3000" - @ 0x3000_0000 { "is_nothing" => |r| at(r, false); }
    "type_4001" - @ 0x4001_0000 { "is_nothing" => |r| at(r, false); }
    "type_6000" - @ 0x6000_0000 { "is_nothing" => |r| at(r, false); }
    "type_7FFF" - @ 0x7FFF_0000 { "is_nothing" => |r| at(r, false); }
    "fast_general_" [0 1 7] @ 0x8000_0000 {
        "is_nothing_with_architectural_perfmon" => |r| at(r, false);
    }
    "fast_fixed_" [0 3] @ 0xC000_0000 {
        "is_nothing_with_architectural_perfmon" => |r| at(r, false);
    }
    "all_ones" - @ 0xFFFF_FFFF { "is_nothing" => |r| at(r, false); }
}
