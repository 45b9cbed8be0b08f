//! What a guest of an AMD CPU sees, rule by rule. Random sequences, and a naive model to compare with, are in the crate
//! `properties`.

use crate::event::Event;
use crate::pmu::Fault;
use crate::pmu::test_guest::Guest;
use crate::profile::{Profile, ZEN2, ZEN4, ZEN5};
use crate::state::VpmuState;
use crate::{BranchKind, BranchRecord, Level, ReadOutcome, Vpmu};

const CTL0: u32 = 0xC001_0200;
const CTR0: u32 = 0xC001_0201;
const LEGACY_CTL0: u32 = 0xC001_0000;
const LEGACY_CTR0: u32 = 0xC001_0004;
const STATUS: u32 = 0xC000_0300;
const GLOBAL_CTL: u32 = 0xC000_0301;
const STATUS_CLR: u32 = 0xC000_0302;
const STATUS_SET: u32 = 0xC000_0303;
const DEBUGCTL: u32 = 0x1D9;
/// Retired instructions in both rings, enabled.
const INSTRUCTIONS: u64 = 0x43_00C0;
const INT: u64 = 1 << 20;
/// Retired FLOPs of every kind on Zen 2, enabled.
const FLOPS: u64 = 0x43_FF03;
const MERGE: u64 = 0xF_0040_00FF;
const WIDTH: u64 = (1 << 48) - 1;

impl Guest {
    /// Retires instructions in ring 3 and looks, as an engine does when a deadline is reached.
    fn retire(&mut self, instructions: u64) {
        self.source.add_user(Event::ExRetInstr, instructions);
        self.sync();
    }

    fn restored(&mut self, profile: &Profile) {
        let state: VpmuState = self.save();
        self.pmu = Vpmu::new(profile.clone());
        self.pmu.restore(&state, &mut self.source).expect("own state");
        assert_eq!(self.save(), state);
    }
}

#[test]
fn both_addresses_reach_the_same_register() {
    let mut guest = Guest::on(&ZEN2);
    for n in 0..4 {
        guest.wrmsr(LEGACY_CTL0 + n, INSTRUCTIONS);
        assert_eq!(guest.rdmsr(CTL0 + 2 * n), INSTRUCTIONS);
        guest.wrmsr(CTR0 + 2 * n, 0x1234_5678_9ABC);
        assert_eq!(guest.rdmsr(LEGACY_CTR0 + n), 0x1234_5678_9ABC);
    }
    guest.retire(5);
    assert_eq!(guest.rdmsr(LEGACY_CTR0 + 3), 0x1234_5678_9AC1);
    assert_eq!(guest.rdpmc(3), ReadOutcome::Value(0x1234_5678_9AC1));
}

#[test]
fn reserved_bits_vanish_without_a_fault() {
    let mut guest = Guest::on(&ZEN4);
    guest.wrmsr(CTL0, u64::MAX);
    assert_eq!(guest.rdmsr(CTL0), 0xF_FFD7_FFFF);
    guest.wrmsr(CTR0, u64::MAX);
    assert_eq!(guest.rdmsr(CTR0), WIDTH);
    guest.wrmsr(GLOBAL_CTL, u64::MAX);
    assert_eq!(guest.rdmsr(GLOBAL_CTL), 0x3F);
    guest.wrmsr(STATUS_SET, u64::MAX);
    assert_eq!(guest.rdmsr(STATUS), 0x0C00_0000_0000_003F);
    guest.wrmsr(STATUS, 0);
    assert_eq!(guest.rdmsr(STATUS), 0x0C00_0000_0000_003F, "read-only, without #GP");
    guest.wrmsr(STATUS_CLR, u64::MAX);
    assert_eq!(guest.rdmsr(STATUS), 0);
    assert_eq!((guest.rdmsr(STATUS_CLR), guest.rdmsr(STATUS_SET)), (0, 0));
}

#[test]
fn what_the_cpu_lacks_faults() {
    let mut zen2 = Guest::on(&ZEN2);
    for index in [STATUS, GLOBAL_CTL, STATUS_CLR, STATUS_SET, 0xC000_010E, 0xC000_010F, 0xC001_0300] {
        assert_eq!(zen2.fault(index, 0), Fault::Absent, "{index:#x}");
        assert_eq!(
            zen2.pmu.read_register(Level::Kernel, index, &mut zen2.source),
            ReadOutcome::Fault(Fault::Absent)
        );
    }
    // Intel's registers.
    for index in [0xC1, 0x186, 0x1A0, 0x309, 0x329, 0x345, 0x38D, 0x38F, 0x4C1, 0x14CE] {
        assert_eq!(zen2.fault(index, 0), Fault::Absent, "{index:#x}");
    }
    assert_eq!(zen2.fault(0x1DB, 0), Fault::ReadOnly);
    assert_eq!(zen2.fault(DEBUGCTL, 1 << 6), Fault::ReservedBits(1 << 6));
    assert_eq!(Guest::on(&ZEN5).fault(DEBUGCTL, 0b1000), Fault::ReservedBits(0b1000));
    assert_eq!(Guest::on(&ZEN4).fault(0xC000_010F, 1 << 2), Fault::ReservedBits(1 << 2));
    for ecx in [6, 9, 10, 15, 16, 64, 1 << 30, 1 << 31, 1 << 31 | 1] {
        assert_eq!(zen2.rdpmc(ecx), ReadOutcome::Fault(Fault::RdpmcIndex(ecx)));
    }
}

#[test]
fn an_overflow_wraps_and_asks_for_a_pmi_only_with_int() {
    let mut guest = Guest::on(&ZEN2);
    guest.wrmsr(CTL0, INSTRUCTIONS);
    guest.wrmsr(CTR0, (-3_i64) as u64);
    guest.retire(5);
    assert_eq!(guest.rdmsr(CTR0), 2);
    assert!(!guest.take_pmi());
    guest.wrmsr(CTL0, INSTRUCTIONS | INT);
    guest.wrmsr(CTR0, WIDTH);
    guest.retire(1);
    assert!(guest.take_pmi());
    assert!(!guest.take_pmi());
}

#[test]
fn status_is_set_with_and_without_int_and_freezing_needs_it() {
    let mut guest = Guest::on(&ZEN4);
    guest.wrmsr(DEBUGCTL, 0x1800);
    guest.wrmsr(CTL0, INSTRUCTIONS);
    guest.wrmsr(CTL0 + 2, INSTRUCTIONS | INT);
    guest.wrmsr(CTR0, WIDTH - 9);
    guest.wrmsr(CTR0 + 2, WIDTH - 99);
    guest.retire(10);
    assert_eq!(guest.rdmsr(STATUS), 1, "no freeze without INT");
    assert!(!guest.take_pmi());
    guest.retire(90);
    assert_eq!(guest.rdmsr(STATUS), 0x0C00_0000_0000_0003);
    assert!(guest.take_pmi());
    guest.retire(50);
    assert_eq!((guest.rdmsr(CTR0), guest.rdmsr(CTR0 + 2)), (90, 0), "frozen");
    // As Linux acknowledges.
    guest.wrmsr(STATUS_CLR, u64::MAX);
    guest.retire(5);
    assert_eq!((guest.rdmsr(CTR0), guest.rdmsr(CTR0 + 2)), (95, 5));
    guest.wrmsr(STATUS_SET, 1 << 59 | 1 << 4);
    guest.retire(5);
    assert_eq!(guest.rdmsr(CTR0), 95, "setting PMCF freezes");
    assert!(!guest.take_pmi(), "setting status bits raises no interrupt");
}

#[test]
fn the_global_control_gates_each_counter() {
    let mut guest = Guest::on(&ZEN4);
    assert_eq!(guest.rdmsr(GLOBAL_CTL), 0x3F, "after RESET");
    guest.wrmsr(CTL0, INSTRUCTIONS);
    guest.wrmsr(LEGACY_CTL0 + 3, INSTRUCTIONS);
    guest.retire(10);
    guest.wrmsr(GLOBAL_CTL, 1 << 3);
    guest.retire(10);
    assert_eq!((guest.rdmsr(CTR0), guest.rdmsr(LEGACY_CTR0 + 3)), (10, 20));
}

#[test]
fn privilege_bits_select_and_an_unknown_event_stands_still() {
    let mut guest = Guest::on(&ZEN4);
    guest.wrmsr(CTL0, 0x42_00C0);
    guest.wrmsr(CTL0 + 2, 0x41_00C0);
    guest.wrmsr(CTL0 + 4, 0x40_00C0);
    guest.wrmsr(CTL0 + 6, 0x7_0043_00FE);
    guest.source.add_os(Event::ExRetInstr, 7);
    guest.retire(5);
    let counts: [u64; 4] = [0, 2, 4, 6].map(|n| guest.rdmsr(CTR0 + n));
    assert_eq!(counts, [7, 5, 0, 0]);
}

mod merge {
    use super::*;

    fn pair(profile: &Profile, flops: u64) -> Guest {
        let mut guest = Guest::on(profile);
        guest.wrmsr(CTL0 + 2, MERGE);
        guest.wrmsr(CTL0, flops);
        guest
    }

    /// 100 million additions of 32 lanes each cycle: more than one counter can add.
    #[test]
    fn a_pair_counts_what_one_counter_loses() {
        let mut guest = pair(&ZEN2, FLOPS);
        guest.wrmsr(CTL0 + 4, FLOPS);
        guest.source.add_user_cycles(Event::FpRetSseAvxOpsAll, 32, 100_000_000);
        assert_eq!(guest.rdmsr(CTR0), 3_200_000_000);
        assert_eq!(guest.rdmsr(CTR0 + 4), 1_500_000_000, "15 a cycle");
    }

    #[test]
    fn the_count_goes_on_past_48_bits() {
        let mut guest = pair(&ZEN4, 0x43_1F03);
        guest.wrmsr(CTL0 + 4, 0x43_1F03);
        guest.wrmsr(CTR0, WIDTH - 99);
        guest.wrmsr(CTR0 + 4, WIDTH - 99);
        guest.source.add_user_cycles(Event::FpRetSseAvxOpsAll, 8, 100_000_000);
        let expected = (1 << 48) - 100 + 800_000_000;
        assert_eq!(guest.rdmsr(CTR0), expected);
        assert_eq!(guest.rdpmc(0), ReadOutcome::Value(expected));
        assert_eq!(guest.rdmsr(CTR0 + 2), 1, "bits 63:48");
        assert_eq!(guest.rdpmc(1), ReadOutcome::Value(1));
        assert_eq!(guest.rdmsr(CTR0 + 4), 799_999_900, "one counter wraps");
        assert_eq!(guest.rdmsr(STATUS), 1 << 2, "only that is an overflow");
    }

    /// What Linux does since 5.10: all ones above, so that the 48 bits overflow.
    #[test]
    fn the_carry_out_of_bit_63_is_the_even_counters_overflow() {
        let mut guest = pair(&ZEN4, INSTRUCTIONS | INT);
        guest.wrmsr(CTR0 + 2, 0xFFFF);
        guest.wrmsr(CTR0, WIDTH - 9);
        assert_eq!(guest.rdmsr(CTR0), u64::MAX - 9);
        guest.retire(9);
        assert!(!guest.pmi);
        guest.retire(3);
        assert!(guest.take_pmi());
        assert_eq!((guest.rdmsr(STATUS), guest.rdmsr(CTR0), guest.rdmsr(CTR0 + 2)), (1, 2, 0));
    }

    #[test]
    fn each_half_is_written_for_itself() {
        let mut guest = pair(&ZEN2, 0);
        guest.wrmsr(CTR0 + 2, 0xABCD_0000_1234);
        guest.wrmsr(CTR0, 0x5555);
        assert_eq!(guest.rdmsr(CTR0), 0x1234_0000_0000_5555);
        guest.wrmsr(CTR0 + 2, 7);
        assert_eq!(guest.rdmsr(CTR0), 0x0007_0000_0000_5555);
        guest.wrmsr(LEGACY_CTR0, u64::MAX);
        assert_eq!(guest.rdmsr(CTR0), 0x0007_FFFF_FFFF_FFFF);
        // Parting them leaves each its bits.
        guest.wrmsr(CTL0 + 2, 0);
        assert_eq!((guest.rdmsr(CTR0), guest.rdmsr(CTR0 + 2)), (WIDTH, 7));
    }

    #[test]
    fn only_an_enabled_odd_counter_merges() {
        let mut guest = Guest::on(&ZEN2);
        guest.wrmsr(CTR0 + 2, 3);
        guest.wrmsr(CTL0, INSTRUCTIONS);
        guest.wrmsr(CTL0 + 2, MERGE & !(1 << 22));
        guest.wrmsr(CTL0 + 4, MERGE);
        guest.wrmsr(CTL0 + 6, INSTRUCTIONS);
        guest.retire(10);
        let counts: [u64; 4] = [0, 2, 4, 6].map(|n| guest.rdmsr(CTR0 + n));
        assert_eq!(counts, [10, 3, 0, 10]);
    }

    #[test]
    fn both_halves_must_be_enabled_globally() {
        let mut guest = pair(&ZEN4, INSTRUCTIONS);
        guest.wrmsr(GLOBAL_CTL, 1);
        guest.retire(10);
        assert_eq!(guest.rdmsr(CTR0), 0);
        guest.wrmsr(GLOBAL_CTL, 3);
        guest.retire(10);
        assert_eq!(guest.rdmsr(CTR0), 10);
    }

    /// The wrong order counts, but as one counter until the odd one says Merge.
    #[test]
    fn merging_a_running_counter_keeps_its_count() {
        let mut guest = Guest::on(&ZEN2);
        guest.wrmsr(CTL0, FLOPS);
        guest.source.add_user_cycles(Event::FpRetSseAvxOpsAll, 20, 10);
        guest.wrmsr(CTL0 + 2, MERGE);
        assert_eq!(guest.rdmsr(CTR0), 150);
        guest.source.add_user_cycles(Event::FpRetSseAvxOpsAll, 20, 10);
        assert_eq!(guest.rdmsr(CTR0), 350);
    }

    #[test]
    fn a_pair_survives_save_and_restore() {
        let mut guest = pair(&ZEN4, INSTRUCTIONS | INT);
        guest.wrmsr(CTR0 + 2, 0x1_0000_FFFF);
        guest.wrmsr(CTR0, WIDTH - 9);
        guest.retire(5);
        guest.restored(&ZEN4);
        guest.retire(6);
        assert_eq!((guest.rdmsr(CTR0), guest.rdmsr(CTR0 + 2)), (1, 0x1_0000_0000));
        assert!(guest.take_pmi());
    }
}

mod branches {
    use super::*;

    fn branch(from: u64, to: u64, kind: BranchKind, cpl: u8) -> BranchRecord {
        BranchRecord { from, to, kind, from_cpl: cpl, cpl, mispredicted: false, cycle: from }
    }

    #[test]
    fn the_last_branch_is_kept_while_debugctl_says_so() {
        let mut guest = Guest::on(&ZEN2);
        guest.wrmsr(DEBUGCTL, 1);
        assert_eq!(guest.rdmsr(DEBUGCTL), 1);
        guest.pmu.record_branch(&branch(0x10, 0x20, BranchKind::RelativeJump, 0));
        guest.pmu.record_branch(&branch(0x30, 0x40, BranchKind::Other, 3));
        guest.wrmsr(DEBUGCTL, 0);
        guest.pmu.record_branch(&branch(0x50, 0x60, BranchKind::RelativeJump, 0));
        assert_eq!((guest.rdmsr(0x1DB), guest.rdmsr(0x1DC)), (0x30, 0x40));
        let mut hidden = Guest::on(&ZEN2.without_lbr());
        hidden.wrmsr(DEBUGCTL, 1);
        assert_eq!(hidden.rdmsr(DEBUGCTL), 0);
        assert!(hidden.pmu.branch_filter().is_empty());
    }

    #[test]
    fn an_interrupt_keeps_the_last_branch_and_a_debug_exception_stops_recording() {
        let mut guest = Guest::on(&ZEN4);
        guest.wrmsr(DEBUGCTL, 0b11);
        guest.wrmsr(0xC000_010F, 1 << 6);
        assert!(guest.pmu.steps_on_branches());
        guest.pmu.record_branch(&branch(0x10, 0x20, BranchKind::RelativeJump, 0));
        guest.pmu.interrupted();
        guest.pmu.record_branch(&branch(0x30, 0x40, BranchKind::Other, 0));
        assert_eq!((guest.rdmsr(0x1DD), guest.rdmsr(0x1DE)), (0x10, 0x20));
        guest.restored(&ZEN4);
        guest.pmu.debug_exception();
        assert_eq!((guest.rdmsr(0x1DD), guest.rdmsr(0x1DB)), (0x10, 0x30));
        assert_eq!((guest.rdmsr(DEBUGCTL), guest.rdmsr(0xC000_010F)), (0, 0));
        assert!(guest.pmu.branch_filter().is_empty() && !guest.pmu.steps_on_branches());
    }

    #[test]
    fn the_stack_has_the_newest_first_and_obeys_its_filter() {
        let mut guest = Guest::on(&ZEN4);
        guest.wrmsr(0xC000_010E, 1 | 1 << 5);
        guest.wrmsr(0xC000_010F, 1 << 6);
        for n in 1..=17 {
            guest.pmu.record_branch(&branch(n, 0x100 + n, BranchKind::Conditional, 3));
            guest.pmu.record_branch(&branch(n, 0x200 + n, BranchKind::Conditional, 0));
            guest.pmu.record_branch(&branch(n, 0x300 + n, BranchKind::Return, 3));
        }
        let kernel = BranchRecord { mispredicted: true, ..branch(!0xF, !0xFF, BranchKind::IndirectCall, 3) };
        guest.pmu.record_branch(&kernel);
        assert_eq!(guest.rdmsr(0xC001_0300), !0xF, "mispredicted");
        assert_eq!(guest.rdmsr(0xC001_0301), 1 << 63 | (!0xFF & ((1 << 61) - 1)), "valid, not speculative");
        assert_eq!((guest.rdmsr(0xC001_0302), guest.rdmsr(0xC001_0303)), (17, 1 << 63 | 0x111));
        assert_eq!((guest.rdmsr(0xC001_031E), guest.rdmsr(0xC001_031F)), (3, 1 << 63 | 0x103));
        guest.restored(&ZEN4);
        assert_eq!(guest.rdmsr(0xC001_0302), 17);
        guest.wrmsr(0xC001_0302, 0);
        assert_eq!((guest.rdmsr(0xC001_0302), guest.rdmsr(0xC001_0304)), (0, 16));
        guest.wrmsr(STATUS_SET, 1 << 58);
        assert!(guest.pmu.branch_filter().is_empty(), "frozen");
        guest.wrmsr(STATUS_CLR, 1 << 58);
        assert!(!guest.pmu.branch_filter().is_empty());
    }
}
