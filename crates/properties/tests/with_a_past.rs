//! What holds after anything that a guest may have done.
//!
//! Each property starts from a vPMU with a random past. `VPMU_SEED=7 PROPTEST_CASES=20000` runs other
//! and more cases; proptest keeps failing ones in a file next to this one.

mod state;

use properties::Rng;
use properties::harness::engine::Engine;
use properties::harness::pair::{Mode, Pair};
use properties::harness::variants::{ALL, Variant};
use properties::harness::{self, generate};
use properties::model::counting::{Occurrences, Slots, Tick};
use properties::model::events::Stream;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use vpmu::pmu::RdpmcContext;
use vpmu::profile::SAPPHIRE_RAPIDS;
use vpmu::{CounterId, ReadOutcome, Vpmu, WriteOutcome};

const GLOBAL_CTRL: u32 = 0x38F;
const FIXED_CTR_CTRL: u32 = 0x38D;
const FIXED_CTR3: u32 = 0x30C;
const PERF_METRICS: u32 = 0x329;

fn any_variant() -> impl Strategy<Value = &'static Variant> {
    (0..ALL.len()).prop_map(|n| &ALL[n])
}

/// A vPMU to which a guest has done `ops` random things.
fn with_past(variant: &Variant, seed: u64, ops: usize) -> Pair {
    let mut pair = Pair::power_on(variant, Mode::Deadlines);
    for op in generate::sequence(&variant.cpu(), &mut Rng::new(seed), ops) {
        pair.step(&op).expect("agrees with the model, see against_model.rs");
    }
    pair
}

/// Every MSR that can be read, and every RDPMC.
fn look(pmu: &mut Vpmu, engine: &mut Engine) -> Vec<ReadOutcome> {
    let clears = pmu.profile().intel().expect("an Intel CPU").perf_capabilities.rdpmc_metrics_clear();
    let mut seen = Vec::new();
    for (first, count) in vpmu::register::trapped_ranges() {
        seen.extend((first..first + count).map(|index| pmu.read_msr(index, engine)));
    }
    let metrics = (!clears).then_some(0x2000_0000);
    for ecx in (0..8).chain(0x4000_0000..0x4000_0004).chain(metrics) {
        seen.push(pmu.rdpmc(ecx, RdpmcContext::RING0, engine));
    }
    seen
}

fn wrmsr(pmu: &mut Vpmu, engine: &mut Engine, index: u32, value: u64) {
    assert_eq!(pmu.write_msr(index, value, engine), WriteOutcome::Done, "{index:#x} = {value:#x}");
}

fn rdmsr(pmu: &mut Vpmu, engine: &mut Engine, index: u32) -> u64 {
    let outcome = pmu.read_msr(index, engine);
    let ReadOutcome::Value(value) = outcome else { unreachable!("rdmsr {index:#x}: {outcome:?}") };
    value
}

/// The same cases on every run, unless `VPMU_SEED` says otherwise.
fn cases() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(harness::seed()), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn disabled_counters_stand_still(variant in any_variant(), seed: u64, globally: bool) {
        let Pair { mut pmu, mut engine, .. } = with_past(variant, seed, 60);
        if globally && pmu.profile().intel().expect("an Intel CPU").version >= 2 {
            wrmsr(&mut pmu, &mut engine, GLOBAL_CTRL, 0);
        } else {
            for n in 0..u32::from(pmu.profile().gp_counters) {
                let select = rdmsr(&mut pmu, &mut engine, 0x186 + n);
                wrmsr(&mut pmu, &mut engine, 0x186 + n, select & !(1 << 22));
            }
            if pmu.profile().intel().expect("an Intel CPU").version >= 2 {
                wrmsr(&mut pmu, &mut engine, FIXED_CTR_CTRL, 0);
            }
        }
        pmu.take_pmi();
        let before = look(&mut pmu, &mut engine);
        let mut rng = Rng::new(seed).fork("afterwards");
        for _ in 0..20 {
            engine.advance(&generate::tick(&mut rng));
            pmu.sync(&mut engine);
        }
        prop_assert_eq!(look(&mut pmu, &mut engine), before);
        prop_assert!(!pmu.pmi_pending());
        prop_assert_eq!(pmu.active().count(), 0);
    }

    #[test]
    fn reading_changes_nothing(variant in any_variant(), seed: u64) {
        let Pair { mut pmu, mut engine, .. } = with_past(variant, seed, 60);
        let (mut unread, mut its_engine) = (pmu.clone(), engine.clone());
        let mut rng = Rng::new(seed).fork("afterwards");
        for _ in 0..20 {
            let tick = generate::tick(&mut rng);
            for (pmu, engine) in [(&mut pmu, &mut engine), (&mut unread, &mut its_engine)] {
                engine.advance(&tick);
                if engine.deadline_reached() {
                    pmu.sync(engine);
                }
            }
            let first = look(&mut pmu, &mut engine);
            prop_assert_eq!(look(&mut pmu, &mut engine), first);
        }
        prop_assert_eq!(pmu.save(&mut engine), unread.save(&mut its_engine));
    }

    /// What both rings count together is what they count apart, however the counters are read,
    /// stopped and started; and the ledger agrees with the counters.
    #[test]
    fn totals_add_up(seed: u64, rounds in 1_usize..40) {
        let mut pmu = Vpmu::new(SAPPHIRE_RAPIDS);
        let mut engine = Engine::default();
        let mut rng = Rng::new(seed);
        let enables = rng.pick(&[0x1_0000_0007_u64, 0x7]);
        for (n, rings) in [(0, 1), (1, 2), (2, 3)] {
            wrmsr(&mut pmu, &mut engine, 0x186 + n, 0x40_00C0 | rings << 16);
        }
        wrmsr(&mut pmu, &mut engine, FIXED_CTR_CTRL, 3);
        for _ in 0..rounds {
            wrmsr(&mut pmu, &mut engine, GLOBAL_CTRL, if rng.one_in(3) { 0 } else { enables });
            for _ in 0..rng.below(5) {
                engine.advance(&Tick {
                    events: vec![Occurrences {
                        stream: Stream::Instructions,
                        os: rng.one_in(2),
                        count: rng.below(1 << 40),
                    }],
                    slots: Vec::new(),
                });
                if rng.one_in(2) {
                    rdmsr(&mut pmu, &mut engine, 0xC1 + rng.below(3) as u32);
                }
            }
        }
        let [os, usr, both] = [0xC1, 0xC2, 0xC3].map(|index| rdmsr(&mut pmu, &mut engine, index));
        prop_assert_eq!((os + usr) % (1 << 48), both);
        if enables >> 32 == 1 {
            prop_assert_eq!(rdmsr(&mut pmu, &mut engine, 0x309), both);
        }
        let mut booked = [0; 3];
        for (key, count) in pmu.ledger(&mut engine).entries() {
            if let CounterId::Gp(n) = key.counter {
                booked[usize::from(n)] += count % (1 << 48);
            }
        }
        prop_assert_eq!(booked.map(|count| count % (1 << 48)), [os, usr, both]);
    }

    /// A pair that starts at 0 and is switched out and in by the manual's rules always shows
    /// fractions of one whole, with level 2 inside level 1.
    #[test]
    fn metrics_of_a_consistent_pair_add_up_to_255(
        variant in prop::sample::select(vec!["icelake-sp", "sapphire-rapids", "metrics clear"]),
        seed: u64,
        rounds in 1_usize..40,
    ) {
        let Pair { mut pmu, mut engine, .. } = Pair::power_on(Variant::named(variant), Mode::Lazy);
        let mut rng = Rng::new(seed);
        wrmsr(&mut pmu, &mut engine, FIXED_CTR_CTRL, 0x3000);
        wrmsr(&mut pmu, &mut engine, GLOBAL_CTRL, 1 << 48 | 1 << 35);
        for _ in 0..rounds {
            if rng.one_in(4) {
                let saved = [FIXED_CTR3, PERF_METRICS].map(|index| rdmsr(&mut pmu, &mut engine, index));
                wrmsr(&mut pmu, &mut engine, FIXED_CTR3, 0);
                wrmsr(&mut pmu, &mut engine, PERF_METRICS, 0);
                run_slots(&mut engine, &mut rng);
                wrmsr(&mut pmu, &mut engine, FIXED_CTR3, saved[0]);
                wrmsr(&mut pmu, &mut engine, PERF_METRICS, saved[1]);
                let now = [FIXED_CTR3, PERF_METRICS].map(|index| rdmsr(&mut pmu, &mut engine, index));
                prop_assert_eq!(now, saved);
            }
            run_slots(&mut engine, &mut rng);
            let slots = rdmsr(&mut pmu, &mut engine, FIXED_CTR3);
            let fields = rdmsr(&mut pmu, &mut engine, PERF_METRICS).to_le_bytes();
            if slots > 0 {
                let level1: u32 = fields[..4].iter().map(|&field| u32::from(field)).sum();
                prop_assert_eq!(level1, 255, "{} slots: {:?}", slots, fields);
            }
            for n in 0..4 {
                prop_assert!(fields[n + 4] <= fields[n], "{:?}", fields);
            }
        }
    }
}

fn run_slots(engine: &mut Engine, rng: &mut Rng) {
    // Without the amounts that would wrap FIXED_CTR3.
    let mut slots: Slots = generate::slots(rng);
    for n in 0..4 {
        slots.categories[n] &= (1 << 40) - 1;
        slots.categories[n + 4] = rng.below(slots.categories[n] + 1);
    }
    engine.advance(&Tick { events: Vec::new(), slots: vec![slots] });
}
