use super::BranchKind;
use crate::cpuid::{CpuidResult, leaf_1c, patch};
use crate::pmu::LBR_COMPONENT_WORDS;
use crate::profile::{ICELAKE_SP, LbrKind, Profile, SAPPHIRE_RAPIDS};
use crate::register::intel::PerfCapabilities;
use crate::source::ScriptedSource;
use crate::state::RestoreError;
use crate::{BranchRecord, Fault, Level, ReadOutcome, Vpmu, WriteOutcome};

const DEBUGCTL: u32 = 0x1D9;
const CTL: u32 = 0x14CE;
const DEPTH: u32 = 0x14CF;
/// LBREn, OS, USR and every branch type.
const ALL: u64 = 0x7F_0007;

fn pmu(profile: &Profile) -> (Vpmu, ScriptedSource) {
    (Vpmu::new(profile.clone()), ScriptedSource::new())
}

fn branch(from: u64, to: u64) -> BranchRecord {
    BranchRecord {
        from,
        to,
        kind: BranchKind::Conditional,
        from_cpl: 0,
        cpl: 0,
        mispredicted: false,
        cycle: from,
    }
}

#[test]
fn profiles_announce_what_they_have() {
    assert_eq!(leaf_1c(&SAPPHIRE_RAPIDS), CpuidResult { eax: 0b1011, ebx: 7, ecx: 7, edx: 0 });
    assert_eq!(leaf_1c(&ICELAKE_SP), CpuidResult::default());
    let all = CpuidResult { eax: !0, ebx: !0, ecx: !0, edx: !0 };
    let arch = |profile: &Profile| patch(profile, 7, 0, all).edx >> 19 & 1;
    assert_eq!((arch(&ICELAKE_SP), arch(&SAPPHIRE_RAPIDS)), (0, 1));
    // Whether XSAVES knows the records is for the engine to say.
    assert_eq!(patch(&SAPPHIRE_RAPIDS, 0xD, 1, all).ecx >> 15 & 1, 0);
    assert_eq!(patch(&SAPPHIRE_RAPIDS, 0xD, 15, all), CpuidResult::default());
}

#[test]
fn without_lbr_nothing_is_announced_and_nothing_exists() {
    for profile in [ICELAKE_SP.without_lbr(), SAPPHIRE_RAPIDS.without_lbr()] {
        assert_eq!(profile.intel().unwrap().perf_capabilities, PerfCapabilities(0xB000));
        assert_eq!(patch(&profile, 7, 0, CpuidResult::default()).edx >> 19 & 1, 0);
        assert_eq!(leaf_1c(&profile), CpuidResult::default());
        let (mut pmu, mut source) = pmu(&profile);
        for index in
            [0x1C8, 0x1C9, 0x1DD, 0x1DE, 0x1E0, 0x680, 0x6DF, 0xDC0, CTL, DEPTH, 0x1200, 0x1500, 0x161F]
        {
            assert_eq!(
                pmu.read_register(Level::Kernel, index, &mut source),
                ReadOutcome::Fault(Fault::Absent),
                "{index:#x}"
            );
        }
        assert_eq!(pmu.write_register(Level::Kernel, DEBUGCTL, 0x801, &mut source), WriteOutcome::Done);
        assert_eq!(pmu.read_register(Level::Kernel, DEBUGCTL, &mut source), ReadOutcome::Value(0));
        assert_eq!(pmu.write_register(Level::Kernel, DEBUGCTL, 2, &mut source), WriteOutcome::Done);
        assert!(!pmu.steps_on_branches(), "BTF is dropped");
        pmu.record_branch(&branch(1, 2));
        assert!(pmu.branch_filter().is_empty());
    }
}

#[test]
fn depths_are_those_of_the_bitmap() {
    let kind = LbrKind::Architectural { depths: 0b1011 };
    for depth in 0..=80 {
        assert_eq!(kind.supports_depth(depth), [8, 16, 32].contains(&depth), "{depth}");
    }
    assert_eq!(kind.max_depth(), 32);
    // More than the registers hold is never reached.
    let deep = LbrKind::Architectural { depths: 0x80 };
    assert_eq!((deep.max_depth(), deep.supports_depth(64)), (32, false));
}

#[test]
fn a_depth_that_cpuid_does_not_list_says_so() {
    let (mut pmu, mut source) = pmu(&SAPPHIRE_RAPIDS);
    assert_eq!(
        pmu.write_register(Level::Kernel, DEPTH, 24, &mut source),
        WriteOutcome::Fault(Fault::Depth(24))
    );
    assert_eq!(pmu.write_register(Level::Kernel, DEPTH, 8, &mut source), WriteOutcome::Done);
    assert_eq!(
        pmu.read_register(Level::Kernel, 0x1508, &mut source),
        ReadOutcome::Fault(Fault::BeyondDepth { depth: 8 })
    );
}

/// An engine may keep branches back and skip those that newer ones have pushed out.
#[test]
fn skipped_branches_leave_no_trace_but_the_position() {
    for (profile, enable) in [(ICELAKE_SP, (DEBUGCTL, 1)), (SAPPHIRE_RAPIDS, (CTL, ALL))] {
        let (mut told, mut source) = pmu(&profile);
        assert_eq!(told.write_register(Level::Kernel, enable.0, enable.1, &mut source), WriteOutcome::Done);
        told.record_branch(&branch(1, 2));
        let mut skipping = told.clone();
        for n in 1..=100 {
            told.record_branch(&branch(10 * n, 10 * n + 5));
        }
        skipping.skip_branches(60);
        for n in 61..=100 {
            skipping.record_branch(&branch(10 * n, 10 * n + 5));
        }
        assert_eq!(skipping.save(&mut source).quiet(), told.save(&mut source).quiet());
    }
}

#[test]
fn only_a_call_stack_needs_every_branch() {
    for (profile, control, call_stack) in [(ICELAKE_SP, 0x1C8, 1 << 9), (SAPPHIRE_RAPIDS, CTL, 1 << 3)] {
        let (mut pmu, mut source) = pmu(&profile);
        assert!(!pmu.needs_every_branch());
        assert_eq!(pmu.write_register(Level::Kernel, control, call_stack, &mut source), WriteOutcome::Done);
        assert!(pmu.needs_every_branch());
    }
}

/// Before version 4 there is no LBR_Frz: a PMI clears DEBUGCTL.LBR.
#[test]
fn legacy_freeze_clears_the_enable() {
    let old = ICELAKE_SP.with_intel(|pmu| pmu.version = 3);
    let (mut pmu, mut source) = pmu(&old);
    for (index, value) in [(DEBUGCTL, 0x801), (0xC1, u64::MAX), (0x186, 0x53_00C0)] {
        assert_eq!(pmu.write_register(Level::Kernel, index, value, &mut source), WriteOutcome::Done);
    }
    assert!(!pmu.branch_filter().is_empty());
    source.add_user(crate::event::Event::InstRetiredAny, 1);
    assert_eq!(pmu.sync(&mut source).count(), 1);
    assert_eq!(pmu.read_register(Level::Kernel, DEBUGCTL, &mut source), ReadOutcome::Value(0x800));
    assert!(pmu.branch_filter().is_empty());
}

#[test]
fn a_saved_stack_that_cannot_be_is_refused() {
    let (mut arch, mut source) = pmu(&SAPPHIRE_RAPIDS);
    assert_eq!(arch.write_register(Level::Kernel, DEPTH, 8, &mut source), WriteOutcome::Done);
    assert_eq!(arch.write_register(Level::Kernel, CTL, ALL, &mut source), WriteOutcome::Done);
    arch.record_branch(&branch(1, 2));
    let good = arch.save(&mut source).quiet();
    let mut refused = |msr: u32, value: u64| {
        let mut state = good.clone();
        state.registers.insert(msr, value);
        arch.restore(&state, &mut source).expect_err("refused")
    };
    assert_eq!(refused(0x1C8, 0), RestoreError::Stray { index: 0x1C8 }, "of the model-specific stack");
    assert_eq!(refused(DEPTH, 24), RestoreError::LbrDepth { depth: 24 });
    assert_eq!(refused(0x1608, 1), RestoreError::LbrDepth { depth: 8 }, "beyond the depth");
    let register = |register: &str, bits| RestoreError::Register { register: register.into(), bits };
    assert_eq!(refused(0x1200, 1 << 40), register("IA32_LBR_0_INFO", 1 << 40));
    assert_eq!(refused(CTL, 1 << 4), register("IA32_LBR_CTL", 1 << 4));
    let mut lacking = good.clone();
    lacking.registers.remove(&CTL);
    assert_eq!(arch.restore(&lacking, &mut source), Err(RestoreError::Missing { index: CTL }));
    assert_eq!(arch.save(&mut source).quiet(), good, "nothing has changed");
}

/// No address of a level that is not recorded leaks from the architectural records; the model-specific ones have no
/// such rule.
#[test]
fn branches_out_of_a_filtered_level_hide_where_they_were() {
    let read = |profile: &Profile, setting: (u32, u64), from_register: u32, (from_cpl, cpl)| {
        let (mut pmu, mut source) = pmu(profile);
        for (index, value) in [(DEBUGCTL, u64::from(setting.0 != CTL)), setting] {
            assert_eq!(pmu.write_register(Level::Kernel, index, value, &mut source), WriteOutcome::Done);
        }
        let kind = BranchKind::Other;
        pmu.record_branch(&BranchRecord { kind, from_cpl, cpl, ..branch(0xFFFF_8000_0000_1234, 0x40_0000) });
        pmu.read_register(Level::Kernel, from_register, &mut source)
    };
    let from = ReadOutcome::Value(0xFFFF_8000_0000_1234);
    let (user, kernel, both) = (0x7F_0005, 0x7F_0003, ALL);
    for (control, levels, hidden) in [
        (user, (0, 3), true),
        (user, (3, 3), false),
        (kernel, (3, 0), true),
        (kernel, (0, 0), false),
        (both, (0, 3), false),
        (both, (3, 0), false),
    ] {
        let expected = if hidden { ReadOutcome::Value(u64::MAX) } else { from };
        assert_eq!(
            read(&SAPPHIRE_RAPIDS, (CTL, control), 0x1500, levels),
            expected,
            "{control:#x} {levels:?}"
        );
    }
    assert_eq!(read(&ICELAKE_SP, (0x1C8, 1), 0x681, (0, 3)), from);
}

/// The last-exception record is the newest record before an exception or interrupt, whatever level that enters.
#[test]
fn an_interrupt_keeps_the_branch_before_it() {
    for (profile, enable) in [(ICELAKE_SP, (DEBUGCTL, 1)), (SAPPHIRE_RAPIDS, (CTL, 0x7F_0005))] {
        let (mut pmu, mut source) = pmu(&profile);
        let ler = |pmu: &mut Vpmu| {
            [0x1DD, 0x1DE, 0x1E0].map(|n| pmu.read_register(Level::Kernel, n, &mut ScriptedSource::new()))
        };
        let info = if enable.0 == CTL { ReadOutcome::Value(0) } else { ReadOutcome::Fault(Fault::Absent) };
        pmu.interrupted();
        assert_eq!(
            ler(&mut pmu),
            [ReadOutcome::Value(0), ReadOutcome::Value(0), info],
            "nothing is recorded"
        );
        assert_eq!(pmu.write_register(Level::Kernel, enable.0, enable.1, &mut source), WriteOutcome::Done);
        let user =
            |from, to| BranchRecord { from_cpl: 3, cpl: 3, kind: BranchKind::Return, ..branch(from, to) };
        pmu.record_branch(&user(0x10, 0x20));
        pmu.record_branch(&BranchRecord { mispredicted: true, ..user(0x30, 0x40) });
        pmu.interrupted();
        pmu.record_branch(&user(0x50, 0x60));
        let info = match info {
            // BR_TYPE and MISPRED, no cycle count.
            ReadOutcome::Value(_) => ReadOutcome::Value(1 << 63 | 5 << 56),
            absent => absent,
        };
        let expected = [ReadOutcome::Value(0x30), ReadOutcome::Value(0x40), info];
        assert_eq!(ler(&mut pmu), expected, "{}", profile.name);
        // Frozen records stay.
        assert_eq!(pmu.write_register(Level::Kernel, 0x391, 1 << 58, &mut source), WriteOutcome::Done);
        pmu.interrupted();
        assert_eq!(ler(&mut pmu), expected);
        let state = pmu.save(&mut source).quiet();
        let mut restored = Vpmu::new(profile.clone());
        assert_eq!(restored.restore(&state, &mut source), Ok(()));
        assert_eq!(ler(&mut restored), expected, "{} after restore", profile.name);
        for index in [0x1DD, 0x1DE] {
            assert_eq!(pmu.write_register(Level::Kernel, index, 0x1234, &mut source), WriteOutcome::Done);
            assert_eq!(pmu.read_register(Level::Kernel, index, &mut source), ReadOutcome::Value(0x1234));
        }
    }
}

/// #DB stops recording and stepping, and leaves what is recorded.
#[test]
fn a_debug_exception_stops_recording() {
    for (profile, enable) in [(ICELAKE_SP, (DEBUGCTL, 1)), (SAPPHIRE_RAPIDS, (CTL, ALL))] {
        let (mut pmu, mut source) = pmu(&profile);
        for (index, value) in [(DEBUGCTL, 2 | u64::from(enable.0 == DEBUGCTL)), enable] {
            let value = if index == DEBUGCTL { value | 2 } else { value };
            assert_eq!(pmu.write_register(Level::Kernel, index, value, &mut source), WriteOutcome::Done);
        }
        assert!(pmu.steps_on_branches());
        pmu.record_branch(&branch(0x10, 0x20));
        pmu.debug_exception();
        assert!(pmu.branch_filter().is_empty() && !pmu.steps_on_branches(), "{}", profile.name);
        assert_eq!(pmu.read_register(Level::Kernel, DEBUGCTL, &mut source), ReadOutcome::Value(0));
        assert_eq!(
            pmu.read_register(Level::Kernel, enable.0, &mut source),
            ReadOutcome::Value(enable.1 & !1)
        );
        let first = if enable.0 == CTL { 0x1500 } else { 0x681 };
        assert_eq!(pmu.read_register(Level::Kernel, first, &mut source), ReadOutcome::Value(0x10));
        assert_eq!(pmu.read_register(Level::Kernel, 0x1DD, &mut source), ReadOutcome::Value(0));
    }
}

#[test]
fn an_address_that_is_not_canonical_is_refused() {
    for (profile, registers) in
        [(ICELAKE_SP, [0x680, 0x6DF, 0x1DD, 0x1DE]), (SAPPHIRE_RAPIDS, [0x1500, 0x161F, 0x1DD, 0x1DE])]
    {
        let (mut pmu, mut source) = pmu(&profile);
        for index in registers {
            for value in [u64::MAX, 0x7FFF_FFFF_FFFF, 0xFFFF_8000_0000_0000, 0] {
                assert_eq!(
                    pmu.write_register(Level::Kernel, index, value, &mut source),
                    WriteOutcome::Done,
                    "{index:#x}"
                );
                assert_eq!(pmu.read_register(Level::Kernel, index, &mut source), ReadOutcome::Value(value));
            }
            for value in [0x8000_0000_0000, 1 << 63, 0x7FFF_8000_0000_0000] {
                let outcome = pmu.write_register(Level::Kernel, index, value, &mut source);
                assert_eq!(outcome, WriteOutcome::Fault(Fault::NonCanonical(value)), "{index:#x}");
            }
        }
    }
}

#[test]
fn the_xsave_component_carries_the_records() {
    let (mut first, mut source) = pmu(&SAPPHIRE_RAPIDS);
    assert_eq!(first.lbr_component_words(), 5 + 3 * 32);
    assert_eq!(first.write_register(Level::Kernel, CTL, 0x7F_0007, &mut source), WriteOutcome::Done);
    (1..=40).for_each(|n| first.record_branch(&branch(n, n + 100)));
    for (index, value) in [(0x1DD, 77), (0x1DE, 88), (0x1E0, 1 << 63)] {
        assert_eq!(first.write_register(Level::Kernel, index, value, &mut source), WriteOutcome::Done);
    }
    let mut words = [1; LBR_COMPONENT_WORDS];
    first.save_lbr_component(&mut words);
    assert_eq!(words[..5], [0x7F_0007, 32, 77, 88, 1 << 63]);
    assert_eq!(words[5..7], [40, 140]);
    assert_eq!(words[5 + 3 * 31..][..2], [9, 109]);

    let (mut second, mut source) = pmu(&SAPPHIRE_RAPIDS);
    assert_eq!(second.restore_lbr_component(Some(&words)), Ok(()));
    for index in [CTL, DEPTH, 0x1DD, 0x1DE, 0x1E0]
        .into_iter()
        .chain([0x1500, 0x1600, 0x1200].into_iter().flat_map(|row| row..row + 32))
    {
        assert_eq!(
            second.read_register(Level::Kernel, index, &mut source),
            first.read_register(Level::Kernel, index, &mut source),
            "{index:#x}"
        );
    }
    assert_eq!(second.branch_filter(), first.branch_filter());
    // Another depth: the records do not fit.
    assert_eq!(second.write_register(Level::Kernel, DEPTH, 16, &mut source), WriteOutcome::Done);
    assert_eq!(second.restore_lbr_component(Some(&words)), Ok(()));
    assert_eq!(second.read_register(Level::Kernel, DEPTH, &mut source), ReadOutcome::Value(16));
    assert_eq!(second.read_register(Level::Kernel, 0x1500, &mut source), ReadOutcome::Value(0));
    assert_eq!(first.restore_lbr_component(None), Ok(()));
    assert_eq!(first.read_register(Level::Kernel, CTL, &mut source), ReadOutcome::Value(0));
    assert_eq!(first.read_register(Level::Kernel, 0x1500, &mut source), ReadOutcome::Value(0));
    assert!(first.branch_filter().is_empty());
}

/// Bits 55:16 of INFO are undefined: they fault neither WRMSR nor XRSTORS, and read as 0.
#[test]
fn undefined_bits_of_info_never_fault() {
    let (mut pmu, mut source) = pmu(&SAPPHIRE_RAPIDS);
    for bit in 16..56 {
        assert_eq!(
            pmu.write_register(Level::Kernel, 0x1203, 1 << bit | 5, &mut source),
            WriteOutcome::Done,
            "bit {bit}"
        );
        assert_eq!(pmu.read_register(Level::Kernel, 0x1203, &mut source), ReadOutcome::Value(5), "bit {bit}");
        let mut words = [0; LBR_COMPONENT_WORDS];
        pmu.save_lbr_component(&mut words);
        words[5 + 3 * 31 + 2] = 1 << bit | 1 << 63 | 7;
        assert_eq!(pmu.restore_lbr_component(Some(&words)), Ok(()), "bit {bit}");
        assert_eq!(
            pmu.read_register(Level::Kernel, 0x121F, &mut source),
            ReadOutcome::Value(1 << 63 | 7),
            "bit {bit}"
        );
    }
}

#[test]
fn an_impossible_xsave_component_changes_nothing() {
    let (mut pmu, mut source) = pmu(&SAPPHIRE_RAPIDS);
    assert_eq!(pmu.write_register(Level::Kernel, CTL, 0x7F_0007, &mut source), WriteOutcome::Done);
    pmu.record_branch(&branch(1, 2));
    let mut good = [0; LBR_COMPONENT_WORDS];
    pmu.save_lbr_component(&mut good);
    let mut words = good;
    words[0] |= 1 << 40;
    assert!(pmu.restore_lbr_component(Some(&words)).is_err(), "a reserved bit of IA32_LBR_CTL");
    let mut after = [0; LBR_COMPONENT_WORDS];
    pmu.save_lbr_component(&mut after);
    assert_eq!(after, good);
    let mut legacy = Vpmu::new(ICELAKE_SP);
    assert_eq!((legacy.lbr_component_words(), legacy.restore_lbr_component(None)), (0, Err(Fault::Absent)));
}
