//! Saved states: own ones, and what somebody made of them.

use super::{any_variant, with_past};
use properties::harness::pair::Pair;
use properties::{
    Rng,
    harness::{engine::Engine, generate},
};
use proptest::prelude::*;
use serde_json::Value;
use vpmu::Vpmu;
use vpmu::state::VpmuState;

/// A change of one word of a state.
#[derive(Debug, Clone, Copy)]
struct Change {
    word: prop::sample::Index,
    value: u64,
    /// Change these bits only, instead of setting the word.
    flip: bool,
}

/// Every word of a state, whatever it belongs to.
fn words(state: &mut VpmuState) -> Vec<&mut u64> {
    let metrics = &mut state.metrics;
    state.msrs.values_mut().chain([&mut metrics.written]).chain(&mut metrics.accumulators).collect()
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let value = prop_oneof![
        2 => any::<u64>(),
        2 => (0..64_u32).prop_map(|bit| 1 << bit),
        1 => Just(u64::MAX),
        1 => 0..300_u64,
    ];
    let change = (any::<prop::sample::Index>(), value, any::<bool>())
        .prop_map(|(word, value, flip)| Change { word, value, flip });
    prop::collection::vec(change, 1..4)
}

/// Restoring works completely or not at all, and nothing later breaks.
fn restore_is_all_or_nothing(pmu: &mut Vpmu, engine: &mut Engine, state: &VpmuState, seed: u64) -> bool {
    let before = pmu.save(engine);
    let restored = pmu.restore(state, engine).is_ok();
    let expected = if restored { state } else { &before };
    assert_eq!(&pmu.save(engine), expected, "restored: {restored}");
    let mut rng = Rng::new(seed).fork("after restore");
    for _ in 0..20 {
        engine.advance(&generate::tick(&mut rng));
        if engine.deadline_reached() {
            pmu.sync(engine);
        }
        let state = pmu.save(engine);
        assert_eq!(pmu.restore(&state, engine), Ok(()), "what was saved can be restored");
    }
    restored
}

proptest! {
    #![proptest_config(super::cases())]

    #[test]
    fn restore_of_save_is_identity(variant in any_variant(), seed: u64, ops in 1_usize..120) {
        let Pair { mut pmu, mut engine, .. } = with_past(variant, seed, ops);
        let state = pmu.save(&mut engine);
        let text = serde_json::to_string(&state).expect("a state is data");
        let read: VpmuState = serde_json::from_str(&text).expect("own text");
        prop_assert_eq!(&read, &state);
        let mut other = Vpmu::new((variant.profile)());
        prop_assert_eq!(other.restore(&read, &mut engine), Ok(()));
        prop_assert_eq!(&other.save(&mut engine), &state);
        prop_assert_eq!(super::look(&mut other, &mut engine), super::look(&mut pmu, &mut engine));
        prop_assert_eq!(other.take_pmi(), pmu.take_pmi());
    }

    #[test]
    fn a_changed_state_is_refused_or_taken_as_it_is(
        variant in any_variant(),
        seed: u64,
        changes in changes(),
        pmi: bool,
        counted: bool,
    ) {
        let Pair { mut pmu, mut engine, .. } = with_past(variant, seed, 30);
        let mut state = with_past(variant, !seed, 60).pmu.save(&mut Engine::default());
        state.pmi_pending = pmi;
        state.metrics.counted = counted;
        for change in changes {
            let mut words = words(&mut state);
            let at = change.word.index(words.len());
            let word = &mut words[at];
            **word = if change.flip { **word ^ change.value } else { change.value };
        }
        restore_is_all_or_nothing(&mut pmu, &mut engine, &state, seed);
    }

    #[test]
    fn a_changed_file_is_refused_or_taken_as_it_is(
        variant in any_variant(),
        seed: u64,
        place: prop::sample::Index,
        with in prop::sample::select(vec!["0", "1", "-1", "1.5", "18446744073709551615", "1e30", "null", "\"x\"", "[]", "true"]),
    ) {
        let Pair { mut pmu, mut engine, .. } = with_past(variant, seed, 30);
        let mut file = serde_json::to_value(pmu.save(&mut engine)).expect("a state is data");
        let leaves = leaves(&file);
        let changed = leaves[place.index(leaves.len())].clone();
        *file.pointer_mut(&changed).expect("a leaf") = serde_json::from_str(with).expect("JSON");
        if let Ok(state) = serde_json::from_value::<VpmuState>(file) {
            restore_is_all_or_nothing(&mut pmu, &mut engine, &state, seed);
        }
    }
}

/// Pointers to all values that contain no others.
fn leaves(value: &Value) -> Vec<String> {
    fn collect(value: &Value, path: &str, leaves: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                map.iter().for_each(|(key, v)| collect(v, &format!("{path}/{key}"), leaves));
            }
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(n, v)| collect(v, &format!("{path}/{n}"), leaves));
            }
            _ => leaves.push(path.to_owned()),
        }
    }
    let mut found = Vec::new();
    collect(value, "", &mut found);
    found
}

/// The properties above say "or": both halves must happen.
#[test]
fn some_changes_are_refused_and_some_are_not() {
    let variant = properties::harness::variants::Variant::named("icelake-sp");
    let state = with_past(variant, 1, 60).pmu.save(&mut Engine::default());
    let refused = |change: fn(&mut VpmuState)| {
        let Pair { mut pmu, mut engine, .. } = with_past(variant, 2, 30);
        let mut state = state.clone();
        change(&mut state);
        !restore_is_all_or_nothing(&mut pmu, &mut engine, &state, 3)
    };
    // GLOBAL_STATUS has bit 63, GLOBAL_CTRL has not; there is a first counter and no ninth; MISC_ENABLE announces perfmon.
    assert!(!refused(|state| {
        state.msrs.insert(0x38E, 1 << 63);
    }));
    assert!(refused(|state| {
        state.msrs.insert(0x38F, 1 << 63);
    }));
    assert!(!refused(|state| {
        state.msrs.insert(0xC1, 1);
    }));
    assert!(refused(|state| {
        state.msrs.insert(0xC9, 1);
    }));
    assert!(refused(|state| {
        state.msrs.insert(0x1A0, 1);
    }));
    assert!(refused(|state| {
        state.msrs.remove(&0x38F);
    }));
    assert!(!refused(|state| state.metrics.accumulators[3] = 1));
    assert!(refused(|state| state.metrics.accumulators[4] = 1), "level 1");
}

#[test]
fn a_file_with_an_unknown_key_is_refused() {
    let mut pmu = Vpmu::new(vpmu::profile::ICELAKE_SP);
    let mut file = serde_json::to_value(pmu.save(&mut Engine::default())).expect("a state is data");
    file["pebs"] = Value::from(1);
    let error = serde_json::from_value::<VpmuState>(file).expect_err("unknown key");
    assert!(error.to_string().contains("unknown field `pebs`"), "{error}");
}
