//! Two runs of one session have to be the same run.

use super::{Guest, Tally, session, steps};
use crate::error::TaskError;

/// What must not differ between two reports. Times of the host may.
const SAME: [&str; 6] = ["outcome", "instructions", "console", "counted", "intervals", "accesses"];

/// Boots the short session twice and compares the reports.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let facts = session::Facts::of(profile, &guest.args.detail);
    let script = session::script(&steps::select(&facts, true));
    let [first, second] = [guest.boot(profile, &script)?, guest.boot(profile, &script)?];
    let bytes = first["console"].as_str().unwrap_or_default().len();
    match SAME.iter().find(|key| first[*key] != second[*key]) {
        None => {
            anstream::println!(
                "ok {profile}: a second run is the same: {} instructions, {bytes} bytes of console",
                first["instructions"]
            );
            tally.passed += 1;
        }
        Some(key) => {
            anstream::println!("FAILED {profile}: two runs differ in `{key}`");
            tally.failed += 1;
        }
    }
    Ok(())
}
