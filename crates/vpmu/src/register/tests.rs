use super::intel::{PerfEvtSel, REGISTERS};
use super::*;
use crate::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS};

fn register(id: RegisterId) -> &'static Register {
    &REGISTERS[id as usize]
}

#[test]
fn declaration_order_is_the_id_order() {
    for (index, register) in REGISTERS.iter().enumerate() {
        assert_eq!(register.id as usize, index, "{}", register.name);
    }
}

#[test]
fn addresses_do_not_overlap() {
    for (i, a) in REGISTERS.iter().enumerate() {
        for b in &REGISTERS[i + 1..] {
            let apart = a.base + a.span <= b.base || b.base + b.span <= a.base;
            assert!(apart, "{} and {} overlap", a.name, b.name);
        }
    }
}

/// Reserved masks as the reference states them, written out by hand.
#[test]
fn reserved_masks_match_the_manual() {
    let cases = [
        (RegisterId::PerfEvtSel, 0xFFFF_FFFF_0000_0000),
        (RegisterId::FixedCtrCtrl, !0xBBBB),
        (RegisterId::PerfGlobalCtrl, !0x0001_000F_0000_00FF),
        (RegisterId::PerfGlobalOvfCtrl, !0xBC01_000F_0000_00FF),
        (RegisterId::PerfGlobalStatusSet, !0xBC01_000F_0000_00FF),
        (RegisterId::APmc, 0xFFFF_0000_0000_0000),
        (RegisterId::Pmc, 0),
        (RegisterId::FixedCtr, 0),
        (RegisterId::PerfMetrics, 0),
        (RegisterId::DebugCtl, !0x5803),
        (RegisterId::PebsLdLat, !0xFFFF),
    ];
    for (id, expected) in cases {
        for profile in [&ICELAKE_SP, &SAPPHIRE_RAPIDS] {
            let register = register(id);
            assert_eq!(register.reserved(profile), expected, "{} of {}", register.name, profile.name);
        }
    }
}

#[test]
fn any_thread_is_legal_dropped_or_reserved_by_version() {
    let select = register(RegisterId::PerfEvtSel);
    let any = 1 << 21;
    assert_eq!(select.reserved(&ICELAKE_SP) & any, 0);
    assert_eq!(select.stored(&ICELAKE_SP) & any, 0);
    let v4 = ICELAKE_SP.with_intel(|pmu| {
        pmu.version = 4;
        pmu.any_thread_deprecated = false;
    });
    assert_eq!(select.stored(&v4) & any, any);
    assert_eq!(register(RegisterId::FixedCtrCtrl).stored(&v4), 0xFFFF);
    // CPUID cannot say "deprecated" before version 5, so the bit must work.
    let v4 = v4.with_intel(|pmu| pmu.any_thread_deprecated = true);
    assert_eq!(crate::cpuid::leaf_0a(&v4).edx >> 15, 0);
    assert_eq!(select.stored(&v4) & any, any);
    let v2 = ICELAKE_SP.with_intel(|pmu| {
        pmu.version = 2;
        pmu.any_thread_deprecated = false;
    });
    assert_eq!(select.reserved(&v2) & any, any);
}

#[test]
fn without_metrics_bit_48_is_reserved() {
    let plain = ICELAKE_SP.with_intel(|pmu| pmu.perf_capabilities = intel::PerfCapabilities(1 << 13));
    assert_eq!(register(RegisterId::PerfGlobalCtrl).reserved(&plain) >> 48 & 1, 1);
    assert_eq!(register(RegisterId::PerfMetrics).instances(&plain), 0);
}

#[test]
fn accessors_and_table_agree() {
    let select = PerfEvtSel(0x0243_02C2);
    assert_eq!((select.event_select(), select.umask(), select.cmask()), (0xC2, 0x02, 2));
    assert!(select.usr() && select.os() && select.enable() && !select.interrupt() && !select.invert());
}

#[test]
fn registers_are_found_by_address_and_name() {
    let found = locate(0x30C).map(|l| l.register.instance_name(l.instance));
    assert_eq!(found.as_deref(), Some("IA32_FIXED_CTR3"));
    assert_eq!(index_by_name("ia32_fixed_ctr3"), Some(0x30C));
    assert_eq!(index_by_name("PERF_METRICS"), Some(0x329));
    assert_eq!(index_by_name("IA32_NOTHING"), None);
    assert!(locate(0xCE).is_none());
}

/// KVM has few filter ranges and walks them on every access; all of the PMU must fit into one.
#[test]
fn trapped_ranges_are_few_sorted_and_complete() {
    let ranges = trapped_ranges();
    let span = ranges.last().map_or(0, |&(first, count)| first + count - ranges[0].0);
    assert!(span <= 0x3000, "one filter range holds 3000H MSRs: {ranges:x?}");
    assert!(ranges.windows(2).all(|w| w[0].0 + w[0].1 < w[1].0));
    for register in REGISTERS {
        for index in register.base..register.base + register.span {
            assert!(ranges.iter().any(|&(first, count)| (first..first + count).contains(&index)));
        }
    }
}
