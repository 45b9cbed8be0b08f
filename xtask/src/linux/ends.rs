//! Ways for a run to end beside the exit port.

use super::Guest;
use crate::error::TaskError;
use crate::tally::Tally;

/// Script, and the kind of outcome that it has to have.
const ENDS: [(&str, &str); 3] = [
    ("poweroff -f\n", "halted"),
    ("reboot -f\n", "triple-fault"),
    ("echo c > /proc/sysrq-trigger\n", "triple-fault"),
];

/// Boots once for each.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    for (script, expected) in ENDS {
        let report = guest.boot(profile, script)?;
        let kind = report["outcome"]["kind"].as_str().unwrap_or_default();
        let command = script.trim_end();
        tally.add(kind == expected);
        if kind == expected {
            anstream::println!("ok {profile}: `{command}` ends by {kind}");
        } else {
            anstream::println!("FAILED {profile}: `{command}` ends by {kind} instead of {expected}");
        }
    }
    Ok(())
}
