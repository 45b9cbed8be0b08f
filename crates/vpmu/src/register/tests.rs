use super::intel::{PerfEvtSel, REGISTERS, RegisterId};
use super::*;
use crate::profile::{ICELAKE_SP, LUNAR_LAKE_P, SAPPHIRE_RAPIDS, ZEN2, ZEN4, ZEN5};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

fn register(id: RegisterId) -> &'static Register {
    &REGISTERS[id as usize]
}

#[test]
fn declaration_order_is_the_id_order() {
    for vendor in Vendor::ALL {
        for (index, register) in registers(vendor).iter().enumerate() {
            let id = match register.id {
                super::RegisterId::Intel(id) => id as usize,
                super::RegisterId::Amd(id) => id as usize,
                super::RegisterId::Arm(id) => id as usize,
            };
            assert_eq!(id, index, "{}", register.name);
        }
    }
}

#[test]
fn addresses_do_not_overlap() {
    for vendor in Vendor::ALL {
        let mut seen = BTreeMap::new();
        for register in registers(vendor) {
            for n in 0..register.span {
                let other = seen.insert(register.index_of(n), register.name);
                assert_eq!(other, None, "{} overlaps", register.name);
            }
        }
    }
}

/// AMD drops reserved bits; what is left is what the reference lists.
#[test]
fn amd_stores_what_the_manual_lists() {
    use amd::RegisterId as Id;
    let cases = [
        (Id::PerfCtl, 0x0000_000F_FFD7_FFFF, 0x0000_000F_FFD7_FFFF),
        (Id::LegacyPerfCtl, 0x0000_000F_FFD7_FFFF, 0x0000_000F_FFD7_FFFF),
        (Id::PerfCtr, 0xFFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF),
        (Id::PerfCntrGlobalCtl, 0x3F, 0x3F),
        (Id::PerfCntrGlobalStatusSet, 0x3F, 0x0C00_0000_0000_003F),
        (Id::DebugCtl, 0x3F, 0x183F),
        (Id::LbrSelect, 0x1FF, 0x1FF),
    ];
    for (id, zen2, zen4) in cases {
        let register = &amd::REGISTERS[id as usize];
        let stored = (register.stored(&ZEN2), register.stored(&ZEN4));
        assert_eq!(stored, (zen2, zen4), "{}", register.name);
    }
    let debugctl = &amd::REGISTERS[Id::DebugCtl as usize];
    // Pin controls in bits 5:2 until Zen 5 gave bit 2 to the bus-lock trap.
    assert_eq!((debugctl.reserved(&ZEN4), debugctl.reserved(&ZEN5)), (0b100_0000, 0b111_1000));
    assert_eq!(debugctl.stored(&ZEN5), 0x1803);
    let config = &amd::REGISTERS[Id::DbgExtnCfg as usize];
    assert_eq!((config.instances(&ZEN2), config.reserved(&ZEN4)), (0, !(1 << 6)));
}

/// Reserved masks as the reference states them, written out by hand.
#[test]
fn reserved_masks_match_the_manual() {
    let cases = [
        (RegisterId::PerfEvtSel, 0xFFFF_FFFF_0000_0000),
        (RegisterId::FixedCtrCtrl, !0xBBBB),
        (RegisterId::PerfGlobalCtrl, !0x0001_000F_0000_00FF),
        (RegisterId::PerfGlobalOvfCtrl, !0xFC01_000F_0000_00FF),
        (RegisterId::PerfGlobalStatusSet, !0x7C01_000F_0000_00FF),
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

/// As in KVM's series for version 6.
#[test]
fn pin_control_ends_with_version_6() {
    let select = register(RegisterId::PerfEvtSel);
    assert_eq!(select.stored(&SAPPHIRE_RAPIDS) >> 19 & 1, 1);
    assert_eq!(select.reserved(&LUNAR_LAKE_P) >> 19 & 1, 1);
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
    let found = |vendor, index| locate(vendor, index).map(|l| l.register.instance_name(l.instance));
    assert_eq!(found(Vendor::Intel, 0x30C).as_deref(), Some("IA32_FIXED_CTR3"));
    assert_eq!(found(Vendor::Amd, 0x30C), None);
    assert_eq!(found(Vendor::Amd, 0xC001_020B).as_deref(), Some("PERF_CTR5"));
    assert_eq!(found(Vendor::Amd, 0xC001_020C), None);
    assert_eq!(found(Vendor::Amd, 0x1D9).as_deref(), Some("DBG_CTL_MSR"));
    assert_eq!(index_by_name("perf_ctl3"), Some(0xC001_0206));
    assert_eq!(index_by_name("ia32_fixed_ctr3"), Some(0x30C));
    assert_eq!(index_by_name("PERF_METRICS"), Some(0x329));
    assert_eq!(index_by_name("IA32_NOTHING"), None);
    assert!(!is_pmu_register(Architecture::X86_64, 0xCE));
}

/// KVM has 16 filter ranges of 3000H MSRs and walks them on every access.
#[test]
fn trapped_ranges_are_few_sorted_and_complete() {
    let ranges = trapped_ranges();
    let areas: BTreeSet<u32> = ranges.iter().map(|(first, _)| first >> 16).collect();
    assert_eq!(areas.into_iter().collect::<Vec<_>>(), [0, 0xC000, 0xC001]);
    assert!(ranges.iter().all(|(first, count)| (first & 0xFFFF) + count <= 0x3000), "{ranges:x?}");
    assert!(ranges.windows(2).all(|w| w[0].0 + w[0].1 < w[1].0));
    for register in Vendor::of(Architecture::X86_64).flat_map(registers) {
        for index in (0..register.span).map(|n| register.index_of(n)) {
            assert!(ranges.iter().any(|&(first, count)| (first..first + count).contains(&index)));
        }
    }
}
