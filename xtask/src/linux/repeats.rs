//! Two runs of one session have to be the same run, whether code is compiled or interpreted.

use super::{Architecture, Guest, apt, session, steps};
use crate::error::TaskError;
use crate::tally::Tally;
use serde_json::Value;
use std::fs;

/// What must not differ between two reports. Times of the host may.
pub(crate) const SAME: [&str; 6] = ["outcome", "instructions", "console", "counted", "intervals", "accesses"];

/// Boots the short session twice, and once more interpreted, and compares reports and traces.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let facts = guest.facts(profile)?;
    let script = session::script(&steps::select(&facts, true));
    let first = run(guest, profile, &script, &[])?;
    let mut others = vec![("a second run", [].as_slice())];
    if guest.architecture == Architecture::Amd64 && guest.args.detail == "counts" {
        others.push(("an interpreted run", &["--compile", "off"]));
    }
    for (name, flags) in others {
        let other = run(guest, profile, &script, flags)?;
        let difference = SAME.iter().find(|key| first.report[*key] != other.report[*key]);
        let difference = difference.copied().or_else(|| (first.trace != other.trace).then_some("trace"));
        tally.add(difference.is_none());
        let bytes = first.report["console"].as_str().unwrap_or_default().len();
        match difference {
            None => anstream::println!(
                "ok {profile}: {name} is the same: {} instructions, {bytes} bytes of console, {} of trace",
                first.report["instructions"],
                first.trace.len()
            ),
            Some(key) => anstream::println!("FAILED {profile}: {name} differs in `{key}`"),
        }
    }
    Ok(())
}

struct Run {
    report: Value,
    trace: Vec<u8>,
}

fn run(guest: &Guest, profile: &str, script: &str, flags: &[&str]) -> Result<Run, TaskError> {
    let path = std::env::temp_dir().join(format!("vpmu-repeats-{profile}-{}", std::process::id()));
    let name = path.to_string_lossy();
    let report = guest.boot_with(profile, script, &[flags, &["--trace", &name]].concat(), &[])?;
    let trace = fs::read(&path).map_err(|source| apt::file_error(&path, source))?;
    fs::remove_file(&path).map_err(|source| apt::file_error(&path, source))?;
    Ok(Run { report, trace })
}
