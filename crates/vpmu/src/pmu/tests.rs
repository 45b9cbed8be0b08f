//! What a guest sees, rule by rule. Random sequences, and a naive model to compare with, are in the crate
//! `properties`.

use super::test_guest::Guest;
use crate::event::Event;
use crate::pmu::{CounterId, Fault, RdpmcContext};
use crate::profile::{ICELAKE_SP, Profile, SAPPHIRE_RAPIDS, SKYLAKE_SP};
use crate::register::intel::PerfCapabilities;
use crate::source::TopdownSlots;
use crate::state::VpmuState;
use crate::{Level, ReadOutcome, Vpmu};
use alloc::vec::Vec;

const WIDTH_MASK: u64 = (1 << 48) - 1;
const GLOBAL_STATUS: u32 = 0x38E;
const GLOBAL_CTRL: u32 = 0x38F;
const STATUS_RESET: u32 = 0x390;
const FIXED_CTR_CTRL: u32 = 0x38D;
const DEBUGCTL: u32 = 0x1D9;
const PERF_METRICS: u32 = 0x329;
/// INST_RETIRED.ANY_P in both rings, enabled.
const INSTRUCTIONS: u64 = 0x43_00C0;
const INT: u64 = 1 << 20;

impl Guest {
    fn run(&mut self, instructions: u64) {
        self.source.add_user(Event::InstRetiredAny, instructions);
    }

    /// Slots that retire, miss, starve, wait in the given numbers.
    fn run_slots(&mut self, level1: [u64; 4], level2: [u64; 4]) {
        let mut fields = [0; 8];
        fields[..4].copy_from_slice(&level1);
        fields[4..].copy_from_slice(&level2);
        self.source.add_user_slots(TopdownSlots { slots: level1.iter().sum(), fields });
    }

    /// Counts instructions on PMC0 from `start`.
    fn count_from(&mut self, start: u64, select: u64) {
        self.wrmsr(GLOBAL_CTRL, 0);
        self.wrmsr(0x186, select);
        self.wrmsr(0x4C1, start);
        self.wrmsr(GLOBAL_CTRL, 1);
    }
}

#[test]
fn reset_values() {
    for (profile, capabilities) in [(&ICELAKE_SP, 0xB005), (&SAPPHIRE_RAPIDS, 0xB03F)] {
        let mut guest = Guest::on(profile);
        assert_eq!(guest.rdmsr(GLOBAL_CTRL), 0xFF);
        assert_eq!(guest.rdmsr(0x345), capabilities);
        assert_eq!(guest.rdmsr(0x1A0), 0x1881);
        for index in
            [0xC1, 0x4C8, 0x186, 0x30C, PERF_METRICS, FIXED_CTR_CTRL, GLOBAL_STATUS, STATUS_RESET, 0x391]
        {
            assert_eq!(guest.rdmsr(index), 0, "{index:#x}");
        }
    }
}

#[test]
fn counts_only_when_all_enables_agree() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.count_from(0, INSTRUCTIONS);
    guest.run(10);
    assert_eq!(guest.rdmsr(0xC1), 10);
    guest.wrmsr(GLOBAL_CTRL, 0);
    guest.run(10);
    assert_eq!(guest.rdmsr(0xC1), 10);
    guest.wrmsr(GLOBAL_CTRL, 1);
    guest.wrmsr(0x186, INSTRUCTIONS & !(1 << 22));
    guest.run(10);
    assert_eq!(guest.rdmsr(0xC1), 10);
    guest.wrmsr(0x186, INSTRUCTIONS);
    guest.run(5);
    assert_eq!(guest.rdmsr(0xC1), 15);
}

#[test]
fn privilege_filters_select_the_ring() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.wrmsr(FIXED_CTR_CTRL, 0x1);
    guest.wrmsr(0x186, 0x41_00C0);
    guest.wrmsr(GLOBAL_CTRL, 1 << 32 | 1);
    guest.source.add_os(Event::InstRetiredAny, 7);
    guest.source.add_user(Event::InstRetiredAny, 30);
    assert_eq!(guest.rdmsr(0x309), 7, "OS only");
    assert_eq!(guest.rdmsr(0xC1), 30, "USR only");
}

#[test]
fn changing_the_filter_while_running_keeps_what_was_counted() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.wrmsr(FIXED_CTR_CTRL, 0x3);
    guest.wrmsr(GLOBAL_CTRL, 1 << 32);
    guest.source.add_os(Event::InstRetiredAny, 100);
    guest.source.add_user(Event::InstRetiredAny, 10);
    guest.wrmsr(FIXED_CTR_CTRL, 0x2);
    guest.source.add_os(Event::InstRetiredAny, 1000);
    guest.source.add_user(Event::InstRetiredAny, 1);
    assert_eq!(guest.rdmsr(0x309), 111);
}

#[test]
fn legacy_write_sign_extends_and_full_width_is_strict() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.wrmsr(0xC1, 0xFF01_2345_6789);
    assert_eq!(guest.rdmsr(0xC1), 0x2345_6789);
    guest.wrmsr(0xC1, 0x8000_0000);
    assert_eq!(guest.rdmsr(0x4C1), 0xFFFF_8000_0000);
    guest.wrmsr(0x4C1, 0xFF01_2345_6789);
    assert_eq!(guest.rdmsr(0xC1), 0xFF01_2345_6789);
    assert_eq!(guest.fault(0x4C1, 1 << 48), Fault::ReservedBits(1 << 48));
    guest.wrmsr(0x309, u64::MAX);
    assert_eq!(guest.rdmsr(0x309), WIDTH_MASK, "excess bits of a fixed counter are dropped");
}

#[test]
fn overflow_sets_status_and_keeps_the_remainder() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.count_from(WIDTH_MASK - 4, INSTRUCTIONS);
    guest.run(5);
    assert_eq!(guest.rdmsr(0xC1), 0);
    assert_eq!(guest.rdmsr(GLOBAL_STATUS), 1);
    assert!(!guest.take_pmi(), "INT is clear");
    guest.wrmsr(STATUS_RESET, 1);
    assert_eq!(guest.rdmsr(GLOBAL_STATUS), 0);
    guest.run(3);
    assert_eq!(guest.rdmsr(0xC1), 3);
}

#[test]
fn interrupt_enable_requests_one_pmi_per_overflow() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.count_from(WIDTH_MASK, INSTRUCTIONS | INT);
    guest.run(1);
    guest.sync();
    assert!(guest.take_pmi());
    assert!(!guest.take_pmi());
    guest.run(1);
    guest.sync();
    assert!(!guest.take_pmi(), "the status bit alone requests nothing");
}

#[test]
fn deadline_is_the_distance_to_the_overflow() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.count_from(WIDTH_MASK - 9, INSTRUCTIONS | INT);
    guest.run(3);
    guest.sync();
    let active: Vec<_> = guest.pmu.active().collect();
    assert_eq!(active.len(), 1);
    assert_eq!(
        (active[0].counter, active[0].until_overflow, active[0].interrupts),
        (CounterId::Gp(0), 7, true)
    );
}

#[test]
fn streamlined_freeze_stops_all_counters_until_acknowledged() {
    let mut guest = Guest::on(&SAPPHIRE_RAPIDS);
    guest.wrmsr(DEBUGCTL, 1 << 12);
    guest.wrmsr(FIXED_CTR_CTRL, 0x3);
    guest.count_from(WIDTH_MASK, INSTRUCTIONS | INT);
    guest.wrmsr(GLOBAL_CTRL, 1 << 32 | 1);
    guest.run(1);
    guest.sync();
    guest.run(1000);
    assert_eq!(guest.rdmsr(GLOBAL_STATUS), 1 << 59 | 1);
    assert_eq!(guest.rdmsr(GLOBAL_CTRL), 1 << 32 | 1, "the enables stay");
    assert_eq!((guest.rdmsr(0xC1), guest.rdmsr(0x309)), (0, 1));
    guest.wrmsr(STATUS_RESET, 1 << 59 | 1);
    guest.run(7);
    assert_eq!((guest.rdmsr(0xC1), guest.rdmsr(0x309)), (7, 8));
}

#[test]
fn legacy_freeze_clears_the_enables() {
    let old = ICELAKE_SP.with_intel(|pmu| pmu.version = 2);
    let mut guest = Guest::on(&old);
    guest.wrmsr(DEBUGCTL, 1 << 12);
    guest.count_from(WIDTH_MASK, INSTRUCTIONS | INT);
    guest.run(1);
    guest.sync();
    guest.run(1000);
    assert_eq!(guest.rdmsr(GLOBAL_CTRL), 0);
    assert_eq!(guest.rdmsr(GLOBAL_STATUS), 1, "no CTR_Frz before version 4");
    assert_eq!(guest.rdmsr(0xC1), 0);
    guest.wrmsr(GLOBAL_CTRL, 1);
    guest.run(2);
    assert_eq!(guest.rdmsr(0xC1), 2);
}

/// RDMSR of DEBUGCTL looks at the counters, because a freeze that is due clears its LBR bit.
#[test]
fn legacy_freeze_shows_in_debugctl_at_once() {
    let old = ICELAKE_SP.with_intel(|pmu| pmu.version = 2);
    let mut guest = Guest::on(&old);
    guest.wrmsr(DEBUGCTL, 1 << 11 | 1);
    guest.count_from(WIDTH_MASK, INSTRUCTIONS | INT);
    guest.run(1);
    assert_eq!(guest.rdmsr(DEBUGCTL), 1 << 11);
}

#[test]
fn version_2_has_no_version_4_registers() {
    let old = ICELAKE_SP.with_intel(|pmu| pmu.version = 2);
    let mut guest = Guest::on(&old);
    assert_eq!(guest.fault(0x391, 0), Fault::Absent);
    assert_eq!(
        guest.pmu.read_register(Level::Kernel, 0x392, &mut guest.source),
        ReadOutcome::Fault(Fault::Absent)
    );
    assert_eq!(guest.fault(STATUS_RESET, 1 << 59), Fault::ReservedBits(1 << 59));
}

#[test]
fn status_set_sets_bits_and_raises_no_pmi() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.wrmsr(0x391, 1 << 48 | 1 << 35 | 1);
    assert_eq!(guest.rdmsr(GLOBAL_STATUS), 1 << 48 | 1 << 35 | 1);
    assert!(!guest.take_pmi());
    assert_eq!(guest.fault(GLOBAL_STATUS, 0), Fault::ReadOnly);
}

/// As LIKWID writes at every start: bits 63 and 62 whatever the debug store is. Only one of the two can be set.
#[test]
fn status_bits_62_and_63_need_no_debug_store() {
    for profile in [&SKYLAKE_SP, &ICELAKE_SP] {
        let mut guest = Guest::on(profile);
        guest.wrmsr(0x391, 1 << 62);
        assert_eq!(guest.rdmsr(GLOBAL_STATUS), 1 << 62);
        guest.wrmsr(STATUS_RESET, 0xC000_0007_0000_000F);
        assert_eq!(guest.rdmsr(GLOBAL_STATUS), 0);
        assert_eq!(guest.fault(0x391, 1 << 63), Fault::ReservedBits(1 << 63));
    }
}

#[test]
fn inuse_is_computed() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.wrmsr(0x188, INSTRUCTIONS);
    guest.wrmsr(FIXED_CTR_CTRL, 0x2000);
    assert_eq!(guest.rdmsr(0x392), 1 << 35 | 1 << 2);
    guest.wrmsr(FIXED_CTR_CTRL, 0x8000);
    assert_eq!(guest.rdmsr(0x392), 1 << 63 | 1 << 2);
    assert_eq!(guest.fault(0x392, 0), Fault::ReadOnly);
}

#[test]
fn misc_enable_keeps_its_announcements() {
    let mut guest = Guest::on(&ICELAKE_SP);
    let original = guest.rdmsr(0x1A0);
    // The value that kvm-unit-tests writes.
    let value = 0x4_00C5_0809 | original & 0x1880;
    guest.wrmsr(0x1A0, value);
    assert_eq!(guest.rdmsr(0x1A0), value);
    assert_eq!(guest.fault(0x1A0, original & !(1 << 12)), Fault::FixedBits(1 << 12));
    guest.wrmsr(0x1A0, value & !(1 << 7));
    assert_eq!(guest.rdmsr(0x1A0), value, "bit 7 cannot be written");
    guest.wrmsr(0x1A0, value | 1 << 38);
    assert_eq!(guest.rdmsr(0x1A0), value | 1 << 38, "turbo mode disable");
}

#[test]
fn an_unknown_event_stands_still_and_is_named() {
    let mut guest = Guest::on(&ICELAKE_SP);
    guest.count_from(5, 0x43_00EE);
    guest.run(1000);
    assert_eq!(guest.rdmsr(0xC1), 5);
    let (key, count) = guest.pmu.ledger().entries().next().expect("an entry for the unknown event");
    assert_eq!((key.request.code.select, count), (0xEE, 0));
}

#[test]
fn ledger_adds_up_over_reprogramming() {
    let mut guest = Guest::on(&ICELAKE_SP);
    for _ in 0..3 {
        guest.count_from(0, INSTRUCTIONS);
        guest.run(10);
        guest.wrmsr(0x186, 0x43_003C);
        guest.run(99);
    }
    guest.sync();
    let count: Vec<u64> = guest
        .pmu
        .ledger()
        .entries()
        .filter(|(key, _)| key.request.code.select == 0xC0)
        .map(|(_, count)| count)
        .collect();
    assert_eq!(count, [30]);
}

mod rdpmc {
    use super::*;

    #[test]
    fn reads_gp_fixed_and_metrics() {
        let mut guest = Guest::on(&SAPPHIRE_RAPIDS);
        guest.wrmsr(0x4C3, 0x1234_5678_9ABC);
        guest.wrmsr(0x30C, 77);
        guest.wrmsr(PERF_METRICS, 0xDEAD_DEAD);
        assert_eq!(guest.rdpmc(2), ReadOutcome::Value(0x1234_5678_9ABC));
        assert_eq!(guest.rdpmc(0x4000_0003), ReadOutcome::Value(77));
        assert_eq!(guest.rdpmc(0x2000_0000), ReadOutcome::Value(0xDEAD_DEAD));
    }

    #[test]
    fn bad_indexes_fault() {
        let mut guest = Guest::on(&ICELAKE_SP);
        for ecx in [8, 64, 0x4000_0004, 0x2000_0001, 0x8000_0000, 0x8000_0001, 0x1000_0000, 0xC000_0000] {
            assert_eq!(guest.rdpmc(ecx), ReadOutcome::Fault(Fault::RdpmcIndex(ecx)), "{ecx:#x}");
        }
    }

    #[test]
    fn privilege_rule() {
        let mut guest = Guest::on(&ICELAKE_SP);
        for (cpl, pce, protected_mode, allowed) in
            [(0, false, true, true), (3, false, true, false), (3, true, true, true), (3, false, false, true)]
        {
            let context = RdpmcContext { cpl, pce, protected_mode };
            let outcome = guest.pmu.rdpmc(0, context, &mut guest.source);
            assert_eq!(outcome == ReadOutcome::Value(0), allowed, "{context:?}");
        }
    }

    #[test]
    fn metrics_index_needs_the_capability() {
        let plain = ICELAKE_SP.with_intel(|pmu| pmu.perf_capabilities = PerfCapabilities(1 << 13));
        let mut guest = Guest::on(&plain);
        assert_eq!(guest.rdpmc(0x2000_0000), ReadOutcome::Fault(Fault::RdpmcIndex(0x2000_0000)));
    }

    #[test]
    fn clears_metrics_when_asked_to() {
        let clearing =
            SAPPHIRE_RAPIDS.with_intel(|pmu| pmu.perf_capabilities = PerfCapabilities(0xB000 | 1 << 19));
        let mut guest = Guest::on(&clearing);
        guest.wrmsr(FIXED_CTR_CTRL, 0x7000);
        guest.wrmsr(GLOBAL_CTRL, 1 << 48 | 1 << 35);
        guest.run_slots([255, 0, 0, 0], [0; 4]);
        assert_eq!(guest.rdpmc(0x2000_0000), ReadOutcome::Value(0xFF));
        assert_eq!((guest.rdmsr(0x30C), guest.rdmsr(PERF_METRICS)), (0, 0));
        guest.wrmsr(FIXED_CTR_CTRL, 0x3000);
        guest.run_slots([0, 255, 0, 0], [0; 4]);
        assert_eq!(guest.rdpmc(0x2000_0000), ReadOutcome::Value(0xFF00));
        assert_eq!(guest.rdmsr(0x30C), 255);
    }
}

mod metrics {
    use super::*;

    const SLOTS_AND_METRICS: u64 = 1 << 48 | 1 << 35;

    fn counting(profile: &Profile) -> Guest {
        let mut guest = Guest::on(profile);
        guest.wrmsr(FIXED_CTR_CTRL, 0x3000);
        guest.wrmsr(GLOBAL_CTRL, SLOTS_AND_METRICS);
        guest
    }

    #[test]
    fn fields_are_fractions_of_255() {
        let mut guest = counting(&SAPPHIRE_RAPIDS);
        guest.run_slots([510, 255, 0, 255], [255, 0, 0, 102]);
        assert_eq!(guest.rdmsr(0x30C), 1020);
        // 1/2, 1/4, 0, 1/4 of 255 by largest remainder; heavy 1/4 and memory 1/10.
        assert_eq!(guest.rdmsr(PERF_METRICS), 0x1A00_0040_4000_407F);
    }

    #[test]
    fn level_1_cpus_have_no_upper_half() {
        let mut guest = counting(&ICELAKE_SP);
        guest.run_slots([100, 0, 0, 0], [100, 0, 0, 0]);
        assert_eq!(guest.rdmsr(PERF_METRICS), 0xFF);
    }

    #[test]
    fn written_value_reads_back_until_slots_are_counted() {
        let mut guest = counting(&ICELAKE_SP);
        guest.wrmsr(PERF_METRICS, 0xDEAD_DEAD_BEEF);
        assert_eq!(guest.rdmsr(PERF_METRICS), 0xDEAD_BEEF, "level 1 drops bits 63:32");
        let mut guest = counting(&SAPPHIRE_RAPIDS);
        guest.wrmsr(PERF_METRICS, 0xDEAD_DEAD_BEEF);
        assert_eq!(guest.rdmsr(PERF_METRICS), 0xDEAD_DEAD_BEEF);
    }

    #[test]
    fn a_saved_upper_half_is_refused_on_level_1() {
        let mut guest = counting(&ICELAKE_SP);
        let mut state = guest.save();
        state.metrics.written = 1 << 32;
        assert!(guest.pmu.restore(&state, &mut guest.source).is_err());
    }

    #[test]
    fn a_saved_pair_continues_after_restore() {
        let mut guest = counting(&SAPPHIRE_RAPIDS);
        guest.run_slots([5100, 1020, 2040, 2040], [2040, 510, 1020, 1020]);
        let (slots, metrics) = (guest.rdmsr(0x30C), guest.rdmsr(PERF_METRICS));
        guest.wrmsr(0x30C, 0);
        guest.wrmsr(PERF_METRICS, 0);
        guest.run_slots([0, 0, 0, 999_999], [0; 4]);
        guest.wrmsr(0x30C, slots);
        guest.wrmsr(PERF_METRICS, metrics);
        assert_eq!((guest.rdmsr(0x30C), guest.rdmsr(PERF_METRICS)), (slots, metrics));
        guest.run_slots([5100, 1020, 2040, 2040], [2040, 510, 1020, 1020]);
        assert_eq!((guest.rdmsr(0x30C), guest.rdmsr(PERF_METRICS)), (2 * slots, metrics));
    }

    #[test]
    fn writing_only_the_slots_gives_a_ratio_of_two_intervals() {
        let mut guest = counting(&ICELAKE_SP);
        guest.run_slots([1000, 0, 0, 1000], [0; 4]);
        guest.wrmsr(0x30C, 0);
        assert_eq!(guest.rdmsr(PERF_METRICS), 0x7F00_0080, "the write is to another register");
        guest.run_slots([1000, 0, 0, 0], [0; 4]);
        // 2000 and 1000 slots over the 1000 that the counter has seen: limited to 255 each.
        assert_eq!(guest.rdmsr(PERF_METRICS), 0xFF00_00FF);
    }

    #[test]
    fn writing_only_the_metrics_makes_the_fields_too_small() {
        let mut guest = counting(&ICELAKE_SP);
        guest.run_slots([1000, 0, 0, 1000], [0; 4]);
        guest.wrmsr(PERF_METRICS, 0);
        guest.run_slots([2000, 0, 0, 0], [0; 4]);
        assert_eq!(guest.rdmsr(PERF_METRICS), 0x80);
    }

    #[test]
    fn metrics_need_their_own_enable() {
        let mut guest = counting(&ICELAKE_SP);
        guest.wrmsr(GLOBAL_CTRL, 1 << 35);
        guest.run_slots([100, 0, 0, 0], [0; 4]);
        assert_eq!((guest.rdmsr(0x30C), guest.rdmsr(PERF_METRICS)), (100, 0));
    }

    #[test]
    fn metric_accumulator_overflow_sets_bit_48_and_requests_a_pmi() {
        let mut guest = counting(&ICELAKE_SP);
        guest.wrmsr(0x30C, WIDTH_MASK);
        guest.wrmsr(PERF_METRICS, 0xFF);
        guest.wrmsr(0x30C, 0);
        guest.run_slots([10, 0, 0, 0], [0; 4]);
        assert_eq!(guest.rdmsr(GLOBAL_STATUS), 1 << 48);
        assert!(guest.take_pmi());
        guest.wrmsr(STATUS_RESET, 1 << 48);
        assert_eq!(guest.rdmsr(GLOBAL_STATUS), 0);
    }

    #[test]
    fn a_level_1_cpu_has_no_level_2_accumulator_to_overflow() {
        let mut guest = counting(&ICELAKE_SP);
        guest.wrmsr(0x30C, WIDTH_MASK);
        guest.wrmsr(PERF_METRICS, 0xFF << 32);
        guest.wrmsr(0x30C, 0);
        guest.run_slots([10, 0, 0, 0], [10, 0, 0, 0]);
        assert_eq!(guest.rdmsr(GLOBAL_STATUS), 0);
        let metrics = guest.pmu.active().filter(|a| matches!(a.counter, CounterId::Metric(_)));
        assert_eq!(metrics.count(), 4);
    }

    #[test]
    fn slots_overflow_sets_bit_35() {
        let mut guest = counting(&ICELAKE_SP);
        guest.wrmsr(0x30C, WIDTH_MASK);
        guest.run_slots([4, 0, 0, 0], [0; 4]);
        assert_eq!(guest.rdmsr(GLOBAL_STATUS), 1 << 35);
        assert_eq!(guest.rdmsr(0x30C), 3);
    }
}

mod state {
    use super::*;
    use crate::state::{RestoreError, STATE_VERSION};

    #[test]
    fn a_restored_vpmu_goes_on_counting() {
        let mut guest = Guest::on(&SAPPHIRE_RAPIDS);
        guest.wrmsr(FIXED_CTR_CTRL, 0xB00B);
        guest.count_from(100, INSTRUCTIONS);
        guest.wrmsr(GLOBAL_CTRL, 1 << 48 | 1 << 35 | 1 << 32 | 1);
        guest.run(11);
        guest.run_slots([510, 0, 0, 510], [0, 0, 0, 255]);
        let state = guest.save();
        let mut pmu = Vpmu::new(SAPPHIRE_RAPIDS);
        pmu.restore(&state, &mut guest.source).expect("own state");
        guest.pmu = pmu;
        guest.run(9);
        guest.run_slots([510, 0, 0, 510], [0, 0, 0, 255]);
        assert_eq!(guest.rdmsr(0xC1), 120);
        assert_eq!(guest.rdmsr(0x309), 20);
        assert_eq!(guest.rdmsr(PERF_METRICS), 0x4000_0000_7F00_0080);
    }

    #[test]
    fn a_version_1_cpu_can_be_restored_after_an_overflow() {
        let old = ICELAKE_SP.with_intel(|pmu| pmu.version = 1);
        let mut guest = Guest::on(&old);
        guest.wrmsr(0x4C1, WIDTH_MASK);
        guest.wrmsr(0x186, INSTRUCTIONS | INT);
        guest.run(1);
        let state = guest.save();
        assert_eq!(
            (state.registers[&0xC1], state.registers.get(&GLOBAL_STATUS), guest.take_pmi()),
            (0, None, true)
        );
        assert_eq!(guest.pmu.restore(&state, &mut guest.source), Ok(()));
    }

    #[test]
    fn garbage_is_refused_and_changes_nothing() {
        let mut guest = Guest::on(&ICELAKE_SP);
        guest.wrmsr(0x4C1, 42);
        let good = guest.save();
        let mut bad = Vec::new();
        bad.push({
            let mut state = good.clone();
            state.version = STATE_VERSION + 1;
            state
        });
        bad.push({
            let mut state = good.clone();
            state.profile = "z80".into();
            state
        });
        bad.push({
            let mut amd = Guest::on(&crate::profile::ZEN4);
            let VpmuState { registers, .. } = amd.save();
            VpmuState { registers, ..good.clone() }
        });
        bad.push({
            let mut state = good.clone();
            state.registers.insert(0xC4, 1 << 48);
            state
        });
        bad.push({
            let mut state = good.clone();
            state.registers.insert(GLOBAL_CTRL, 1 << 20);
            state
        });
        bad.push({
            let mut state = good.clone();
            state.registers.insert(0x1A0, 0);
            state
        });
        bad.push({
            let mut state = good.clone();
            state.metrics.accumulators[0] = 1 << 48;
            state
        });
        for state in bad {
            let error = guest.pmu.restore(&state, &mut guest.source);
            assert!(matches!(
                error,
                Err(RestoreError::Version { .. }
                    | RestoreError::Profile { .. }
                    | RestoreError::Missing { .. }
                    | RestoreError::Register { .. }
                    | RestoreError::Accumulator { .. })
            ));
            assert_eq!(guest.rdmsr(0xC1), 42);
        }
    }
}
