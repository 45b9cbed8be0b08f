//! `vpmu test`: many images on many CPUs, as a test runner does it.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`discover`] | images and what [`manifest`] or [`unittests`] says about them |
//! | [`plan`] | the matrix of images, profiles and engines, less what [`filter`] and [`shard`] leave out |
//! | [`schedule`], [`child`] | processes, several at a time |
//! | [`console`], [`verdict`] | what came of each |
//! | [`show`], [`report`] | for people, for programs |
//! | [`merge`] | the reports of all shards as one |

mod check;
mod child;
mod console;
mod discover;
pub(crate) mod engine;
mod error;
mod filter;
mod manifest;
mod merge;
mod plan;
mod report;
mod schedule;
pub(crate) mod shard;
mod show;
mod unittests;
mod verdict;

pub(crate) use error::TestError;
pub(crate) use merge::MergeError;

use super::doctor;
use crate::args::test::{Engines, TestArgs, TestCommand};
use crate::error::CliError;
use crate::exit;
use crate::interrupt::{self, Interrupt, Role};
use crate::machine::processors;
use crate::output::{file, print, print_json, print_json_list};
use check::Status;
use plan::{Case, KvmMissing, Plan, Shown};
use report::{Document, PartOf, Test};
use schedule::Schedule;
use shard::{Shard, ShardArg};
use show::Show;
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use verdict::Verdict;
use vpmu::profile::Architecture;

pub(super) fn test(args: &TestArgs, json: bool) -> Result<u8, CliError> {
    if let Some(TestCommand::Merge(args)) = &args.command {
        return merge::merge(args, json);
    }
    let Assigned { shard, junit } = assigned(args)?;
    let (tap, junit) = (args.tap.as_deref(), junit.as_deref());
    file::check(json, &[("--tap", tap), ("--junit", junit)])?;
    let shown = plan::chosen_profiles(args)?;
    let kvm_missing =
        if args.engine == Engines::Soft { KvmMissing::new() } else { kvm_missing(args, &shown) };
    let entries = discover::discover(args)?;
    let Plan { cases, selected, found } = plan::plan(entries, args, &shown, shard, &kvm_missing)?;
    if args.list {
        return list(&cases, json);
    }
    let part = shard.map(|shard| PartOf { shard, selected });
    let jobs = args.jobs.map_or_else(|| processors().get(), usize::from);
    let schedule = Schedule {
        // Also when the file has been replaced since.
        program: PathBuf::from("/proc/self/exe"),
        jobs,
        threads: (processors().get() / jobs.max(1)).max(1),
        fail_fast: !args.no_fail_fast,
        sandbox: !args.no_sandbox && sandbox::SUPPORTED,
        interrupt: Interrupt::watch(Role::Parent).map_err(CliError::Signals)?,
    };
    let started = Instant::now();
    let mut show = Show::new(cases.len(), args.quiet);
    let images: BTreeSet<&Path> = cases.iter().map(|case| case.entry.path.as_path()).collect();
    show.begin(cases.len(), images.len(), found, schedule.jobs);
    let results = schedule::run(&cases, &schedule, &mut show)?;
    let seconds = started.elapsed().as_secs_f64();
    let interrupted = schedule.interrupt.signal();
    show.end(&cases, &results, seconds, interrupted);
    let exit_code = match (interrupted, exit_code(&results), shard) {
        (Some(signal), ..) => interrupt::exit_code(signal),
        // What there was nothing to do for in one part says nothing about the run; merge does.
        (None, exit::SKIP, Some(_)) => exit::PASS,
        (None, code, _) => code,
    };
    if let Some(path) = tap {
        file::write(path, report::tap(&cases, &results, interrupted).as_bytes())?;
    }
    if let Some(path) = junit {
        file::write(path, report::junit(&cases, &results, seconds, part)?.as_bytes())?;
    }
    if json {
        print_json(&Document::new(&cases, &results, seconds, exit_code, part))?;
    }
    Ok(exit_code)
}

/// What arguments and environment say about this part of the run.
struct Assigned {
    shard: Option<Shard>,
    junit: Option<PathBuf>,
}

/// Asks the environment if it is to be asked. Bazel wants a test that obeys its variables to touch a file, and says
/// where it looks for JUnit.
fn assigned(args: &TestArgs) -> Result<Assigned, CliError> {
    let variable = |name: &str| env::var(name).ok();
    let mut assigned = Assigned { shard: None, junit: args.junit.clone() };
    let Some(shard) = args.shard else { return Ok(assigned) };
    assigned.shard = shard.resolve(&variable).map_err(TestError::from)?;
    if matches!(shard, ShardArg::Auto { .. }) {
        let file = |name| variable(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        if let Some(path) = file("TEST_SHARD_STATUS_FILE") {
            std::fs::write(&path, "").map_err(|source| CliError::NotWritable { path, source })?;
        }
        assigned.junit = assigned.junit.or_else(|| file("XML_OUTPUT_FILE"));
    }
    Ok(assigned)
}

/// Asks KVM about every profile of an x86-64 CPU, since a para-virtual one cannot show each.
fn kvm_missing(args: &TestArgs, shown: &[Arc<Shown>]) -> KvmMissing {
    let choice = &args.counts;
    let missing = |shown: &Arc<Shown>| {
        Some((shown.profile.name.to_string(), doctor::kvm_missing(&shown.profile, choice)?))
    };
    let of_host = |shown: &&Arc<Shown>| shown.profile.architecture() == Architecture::X86_64;
    shown.iter().filter(of_host).filter_map(missing).collect()
}

fn list(cases: &[Case], json: bool) -> Result<u8, CliError> {
    if json {
        let tests: Vec<Test<'_>> = cases.iter().map(|case| Test::new(case, None)).collect();
        print_json_list("tests", &tests)?;
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
