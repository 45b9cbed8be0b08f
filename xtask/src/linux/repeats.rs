//! Two runs of one session have to be the same run, whether code is compiled or interpreted.

use super::{Architecture, Guest, session, steps};
use crate::error::TaskError;
use crate::tally::Tally;
use crate::traced::Traced;

/// Boots the short session twice, and once more interpreted, and compares reports and traces.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let facts = guest.facts(profile)?;
    let script = session::script(&steps::select(&facts, true), facts.events);
    let first = run(guest, profile, &script, &[])?;
    let mut others = vec![("a second run", [].as_slice())];
    if guest.architecture == Architecture::Amd64 && guest.args.detail == "counts" {
        others.push(("an interpreted run", &["--compile", "off"]));
    }
    for (name, flags) in others {
        let other = run(guest, profile, &script, flags)?;
        let difference = first.differs_in(&other);
        tally.add(difference.is_none());
        let bytes = first.report["console"].as_str().unwrap_or_default().len();
        match difference {
            None => anstream::println!(
                "ok {profile}: {name} is the same: {} instructions, {bytes} bytes of console, {} of trace",
                first.report["instructions"],
                first.trace.len()
            ),
            Some(keys) => anstream::println!("FAILED {profile}: {name} differs in {keys}"),
        }
    }
    Ok(())
}

fn run(guest: &Guest, profile: &str, script: &str, flags: &[&str]) -> Result<Traced, TaskError> {
    Traced::of(&format!("repeats-{profile}"), |path| {
        let path = path.to_string_lossy();
        guest.boot_with(profile, script, &[flags, &["--trace", &path]].concat(), &[])
    })
}
