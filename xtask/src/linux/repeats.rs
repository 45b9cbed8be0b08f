//! Two runs of one session have to be the same run.

use super::{Guest, session, steps};
use crate::error::TaskError;
use crate::tally::Tally;

/// What must not differ between two reports. Times of the host may.
const SAME: [&str; 6] = ["outcome", "instructions", "console", "counted", "intervals", "accesses"];

/// Boots the short session twice and compares the reports.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let facts = guest.facts(profile)?;
    let script = session::script(&steps::select(&facts, true));
    let [first, second] = [guest.boot(profile, &script)?, guest.boot(profile, &script)?];
    let bytes = first["console"].as_str().unwrap_or_default().len();
    let difference = SAME.iter().find(|key| first[*key] != second[*key]);
    tally.add(difference.is_none());
    match difference {
        None => anstream::println!(
            "ok {profile}: a second run is the same: {} instructions, {bytes} bytes of console",
            first["instructions"]
        ),
        Some(key) => anstream::println!("FAILED {profile}: two runs differ in `{key}`"),
    }
    Ok(())
}
