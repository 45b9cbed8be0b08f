//! Ways for a run to end beside the exit port.

use super::{Architecture, Guest};
use crate::error::TaskError;
use crate::tally::Tally;

/// How a guest ends, and what the run has to say about it.
struct End {
    script: &'static str,
    kind: &'static str,
    /// Of `vpmu run`.
    exit_code: u64,
    /// What a warning has to begin with.
    warning: Option<&'static str>,
}

/// On Arm all is PSCI's.
const ARM: &[End] = &[
    End { script: "poweroff -f", kind: "powered-off", exit_code: 0, warning: None },
    // A shell that waits for a line that is never typed.
    End { script: "read line < /dev/console", kind: "idle", exit_code: 4, warning: None },
    End { script: "reboot -f", kind: "reset", exit_code: 4, warning: None },
    End {
        script: "echo c > /proc/sysrq-trigger",
        kind: "reset",
        exit_code: 4,
        warning: Some("the guest's kernel panicked: sysrq triggered crash"),
    },
];

/// On x86 the kernel can reset in several ways; `reboot=t` on its command line is the first of them.
const X86: &[End] = &[
    End { script: "poweroff -f", kind: "powered-off", exit_code: 0, warning: None },
    // A shell that waits for a line that is never typed.
    End { script: "read line < /dev/console", kind: "idle", exit_code: 4, warning: None },
    End { script: "reboot -f", kind: "triple-fault", exit_code: 4, warning: None },
    End {
        script: "echo acpi > /sys/kernel/reboot/type; reboot -f",
        kind: "reset",
        exit_code: 4,
        warning: None,
    },
    End {
        script: "echo kbd > /sys/kernel/reboot/type; reboot -f",
        kind: "reset",
        exit_code: 4,
        warning: None,
    },
    End {
        script: "echo c > /proc/sysrq-trigger",
        kind: "panicked",
        exit_code: 4,
        warning: Some("the guest's kernel panicked: sysrq triggered crash"),
    },
    // As with a kernel that has no driver for pvpanic, or none yet.
    End {
        script: "rmmod pvpanic-mmio; echo c > /proc/sysrq-trigger",
        kind: "triple-fault",
        exit_code: 4,
        warning: Some("the guest's kernel panicked: sysrq triggered crash"),
    },
];

/// Boots once for each.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    let ends = match guest.architecture {
        Architecture::Amd64 => X86,
        Architecture::Arm64 => ARM,
    };
    for end in ends {
        let report = guest.boot(profile, &format!("{}\n", end.script))?;
        let kind = report["outcome"]["kind"].as_str().unwrap_or_default();
        let exit_code = report["exit_code"].as_u64();
        let warnings = report["warnings"].as_array().into_iter().flatten();
        let mut warnings = warnings.filter_map(|warning| warning.as_str());
        let warned = end.warning.is_none_or(|wanted| warnings.any(|warning| warning.starts_with(wanted)));
        let right = kind == end.kind && exit_code == Some(end.exit_code) && warned;
        tally.add(right);
        let what = format!("`{}` ends by {kind}", end.script);
        if right {
            anstream::println!("ok {profile}: {what}, exit status {}", end.exit_code);
        } else {
            anstream::println!(
                "FAILED {profile}: {what} with exit status {exit_code:?} instead of {} with {}; warnings {}",
                end.kind,
                end.exit_code,
                report["warnings"]
            );
        }
    }
    Ok(())
}
