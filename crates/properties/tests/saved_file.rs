//! Saved states in files.

use serde_json::Value;
use vpmu::profile::{ICELAKE_SP, PROFILES};
use vpmu::source::ScriptedSource;
use vpmu::state::VpmuState;
use vpmu::{Level, Profile, Vpmu};

/// A vPMU whose guest has written every register: each bit that may be set, with the accepted values of the others.
fn with_a_past(profile: &Profile) -> (Vpmu, ScriptedSource) {
    let (mut pmu, mut source) = (Vpmu::new(profile.clone()), ScriptedSource::new());
    for register in vpmu::register::registers(profile.vendor()) {
        for instance in 0..register.instances(profile) {
            let index = register.index_of(instance);
            for value in
                [register.accepted(profile), register.accepted(profile) >> 1 & 0x5555_5555_5555, 0x40_00C0]
            {
                drop(pmu.write_register(Level::Kernel, index, value, &mut source));
            }
        }
    }
    (pmu, source)
}

#[test]
fn a_state_survives_its_file() {
    for &profile in PROFILES {
        let (mut pmu, mut source) = with_a_past(profile);
        let state = pmu.save(&mut source).into_parts().0;
        let text = serde_json::to_string(&state).expect("a state is data");
        let read: VpmuState = serde_json::from_str(&text).expect("own text");
        assert_eq!(read, state);
        let mut other = Vpmu::new(profile.clone());
        assert_eq!(other.restore(&read, &mut source), Ok(()));
        assert_eq!(other.save(&mut source).into_parts().0, state);
    }
}

#[test]
fn a_changed_file_is_refused_or_taken_as_it_is() {
    let with = ["0", "1", "-1", "1.5", "18446744073709551615", "1e30", "null", "\"x\"", "[]", "true"];
    let (mut taken, mut refused) = (0, 0);
    for &profile in PROFILES {
        let (mut pmu, mut source) = with_a_past(profile);
        let before = pmu.save(&mut source).into_parts().0;
        let file = serde_json::to_value(&before).expect("a state is data");
        let mut leaves = Vec::new();
        collect(&file, "", &mut leaves);
        for (at, leaf) in leaves.iter().enumerate() {
            // Of the registers, which are many, one value each.
            let values =
                if leaf.starts_with("/registers/") { &with[at % with.len()..][..1] } else { &with[..] };
            for value in values {
                let mut file = file.clone();
                *file.pointer_mut(leaf).expect("a leaf") = serde_json::from_str(value).expect("JSON");
                let Ok(state) = serde_json::from_value::<VpmuState>(file) else { continue };
                let restored = pmu.restore(&state, &mut source).is_ok();
                let expected = if restored { &state } else { &before };
                assert_eq!(
                    &pmu.save(&mut source).into_parts().0,
                    expected,
                    "{}: {leaf} = {value}",
                    profile.name
                );
                assert_eq!(pmu.restore(&before, &mut source), Ok(()), "{}: {leaf} = {value}", profile.name);
                *if restored { &mut taken } else { &mut refused } += 1;
            }
        }
    }
    assert!(taken > 100 && refused > 100, "{taken} taken, {refused} refused");
}

/// Pointers to all values that contain no others.
fn collect(value: &Value, path: &str, leaves: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, v)| collect(v, &format!("{path}/{key}"), leaves)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(n, v)| collect(v, &format!("{path}/{n}"), leaves));
        }
        _ => leaves.push(path.to_owned()),
    }
}

#[test]
fn a_file_with_an_unknown_key_is_refused() {
    let state = Vpmu::new(ICELAKE_SP).save(&mut ScriptedSource::new()).into_parts().0;
    let mut file = serde_json::to_value(state).expect("a state is data");
    file["pebs"] = Value::from(1);
    let error = serde_json::from_value::<VpmuState>(file).expect_err("unknown key");
    assert!(error.to_string().contains("unknown field `pebs`"), "{error}");
}
