//! `vpmu test`: many images on many CPUs, as a test runner does it.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`args`] | the arguments |
//! | [`discover`] | images and what [`manifest`] or [`unittests`] says about them |
//! | [`plan`] | the matrix of images, profiles and engines, less what [`filter`] and [`shard`] leave out |
//! | [`schedule`], [`child`] | processes, several at a time |
//! | [`console`], [`verdict`] | what came of each |
//! | [`show`], [`report`] | for people, for programs |

mod args;
mod child;
mod console;
mod discover;
mod error;
mod filter;
mod manifest;
mod plan;
mod report;
mod schedule;
mod shard;
mod show;
mod unittests;
mod verdict;

pub(crate) use args::{HELP, TestArgs};
pub(crate) use error::TestError;

use super::doctor;
use crate::error::{CliError, exit};
use crate::machine::processors;
use crate::output::{print, print_json};
use args::Engines;
use plan::{Case, KvmMissing};
use report::{Document, Test};
use schedule::Schedule;
use show::Show;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;
use verdict::{Status, Verdict};
use vpmu::Profile;

pub(super) fn test(args: &TestArgs, json: bool) -> Result<u8, CliError> {
    let on_stdout = |path: &Option<PathBuf>| path.as_deref().is_some_and(report::is_stdout);
    if usize::from(json) + usize::from(on_stdout(&args.tap)) + usize::from(on_stdout(&args.junit)) > 1 {
        return Err(TestError::StdoutTwice.into());
    }
    let kvm_missing = if args.engine == Engines::Soft { KvmMissing::new() } else { kvm_missing(args) };
    let (cases, found) = plan::plan(discover::discover(args)?, args, &kvm_missing)?;
    if args.list {
        return list(&cases, json);
    }
    let jobs = args.jobs.map_or_else(|| processors().get(), usize::from);
    let schedule = Schedule {
        // Also when the file has been replaced since.
        program: PathBuf::from("/proc/self/exe"),
        jobs,
        threads: (processors().get() / jobs.max(1)).max(1),
        fail_fast: !args.no_fail_fast,
    };
    let started = Instant::now();
    let mut show = Show::new(cases.len(), args.quiet);
    let images: BTreeSet<&Path> = cases.iter().map(|case| case.entry.path.as_path()).collect();
    show.begin(cases.len(), images.len(), found, schedule.jobs);
    let results = schedule::run(&cases, &schedule, &mut show)?;
    let seconds = started.elapsed().as_secs_f64();
    show.end(&cases, &results, seconds);
    let exit_code = exit_code(&results);
    if let Some(path) = &args.tap {
        report::write(path, &report::tap(&cases, &results))?;
    }
    if let Some(path) = &args.junit {
        let written = report::junit(&cases, &results, seconds);
        let text = written.map_err(|source| TestError::Write { path: path.clone(), source })?;
        report::write(path, &text)?;
    }
    if json {
        print_json(&Document::new(&cases, &results, seconds, exit_code))?;
    }
    Ok(exit_code)
}

/// Asks KVM about every profile, since a para-virtual one cannot show each.
fn kvm_missing(args: &TestArgs) -> KvmMissing {
    let choice = args.counts.choice();
    let profiles = args.chosen_profiles().into_iter().filter_map(Profile::by_name);
    profiles.filter_map(|profile| Some((profile.name, doctor::kvm_missing(profile, &choice)?))).collect()
}

fn list(cases: &[Case], json: bool) -> Result<u8, CliError> {
    if json {
        let tests: Vec<Test<'_>> = cases.iter().map(|case| Test::new(case, None)).collect();
        print_json(&tests)?;
    } else {
        print(&cases.iter().map(|case| format!("{case}\n")).collect::<String>())?;
    }
    Ok(exit::PASS)
}

fn exit_code(results: &[Verdict]) -> u8 {
    let any = |status| results.iter().any(|verdict| verdict.status() == status);
    if any(Status::Failed) {
        exit::FAIL
    } else if any(Status::Passed) {
        exit::PASS
    } else {
        exit::SKIP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_fails_the_run_and_only_skips_are_77() {
        let verdict = |word| Verdict { word, ..Verdict::skipped("") };
        let code =
            |words: &[verdict::Word]| exit_code(&words.iter().copied().map(verdict).collect::<Vec<_>>());
        use verdict::Word::{Abort, Pass, Skip};
        assert_eq!(code(&[Pass, Skip]), 0);
        assert_eq!(code(&[Pass, Abort, Skip]), 1);
        assert_eq!(code(&[Skip, Skip]), 77);
    }
}
