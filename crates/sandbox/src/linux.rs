//! The two mechanisms of Linux.

use crate::{Files, Needs, SandboxError, calls};
use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeMap;

/// The version whose rights are taken away where the kernel knows them: of Linux 6.2.
const KNOWN: ABI = ABI::V3;

pub(crate) fn enter(needs: Needs) -> Result<Files, SandboxError> {
    let files = match landlocked() {
        Ok(true) => Files::Landlock,
        Ok(false) => Files::Seccomp,
        Err(error) => return Err(SandboxError::Refused(error.to_string())),
    };
    let denies_files = files == Files::Seccomp;
    let refused = |error: &dyn std::fmt::Display| SandboxError::Refused(error.to_string());
    // Opening fails instead of ending the process: what only wants to know something does without.
    let opening = filter(&opening_calls(), SeccompAction::Errno(libc::EACCES.unsigned_abs()));
    let mut allowed: Vec<libc::c_long> = calls::allowed().chain(opening_calls()).collect();
    if needs.host_counters {
        allowed.push(libc::SYS_perf_event_open);
    }
    if denies_files {
        let program = opening.map_err(|error| refused(&error))?;
        seccompiler::apply_filter_all_threads(&program).map_err(|error| refused(&error))?;
        // A second filter can only be stricter, and needs a system call to be put in place.
    }
    allowed.push(libc::SYS_seccomp);
    let program = only(&allowed).map_err(|error| refused(&error))?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| refused(&error))?;
    Ok(files)
}

/// Calls that open files.
fn opening_calls() -> Vec<libc::c_long> {
    let mut calls = vec![libc::SYS_openat, libc::SYS_openat2];
    #[cfg(target_arch = "x86_64")]
    calls.push(libc::SYS_open);
    calls
}

/// Files: nothing but /proc/self, to be read. False if the kernel has no landlock.
fn landlocked() -> Result<bool, landlock::RulesetError> {
    let all = AccessFs::from_all(KNOWN);
    let mut ruleset = Ruleset::default().handle_access(all)?.create()?;
    match PathFd::new("/proc/self") {
        Ok(own) => ruleset = ruleset.add_rule(PathBeneath::new(own, AccessFs::from_read(KNOWN)))?,
        Err(error) => log::debug!("the sandbox does without /proc: {error}"),
    }
    Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

fn architecture() -> TargetArch {
    if cfg!(target_arch = "aarch64") { TargetArch::aarch64 } else { TargetArch::x86_64 }
}

/// These calls come to this action, and all others go on.
fn filter(calls: &[libc::c_long], action: SeccompAction) -> Result<BpfProgram, seccompiler::BackendError> {
    let rules: BTreeMap<i64, Vec<_>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    SeccompFilter::new(rules, SeccompAction::Allow, action, architecture())?.try_into()
}

/// These calls go on, and any other ends the process.
fn only(calls: &[libc::c_long]) -> Result<BpfProgram, seccompiler::BackendError> {
    let rules: BTreeMap<i64, Vec<_>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, architecture())?.try_into()
}
