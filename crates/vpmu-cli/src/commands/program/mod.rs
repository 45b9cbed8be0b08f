//! `vpmu run|stat -- PROGRAM`: a program of the host in a Linux guest.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`compare`] | what the guest's perf counted, next to the VMM's totals |
//! | [`kernel`] | the kernel and booted guests in the user's cache |
//! | [`prepare`] | from arguments to what the guest gets |
//! | [`derived`] | level 3 of TMA and metrics |
//! | [`events`] | names of events |
//! | [`record`] | a recording, or samples as stacks |
//! | [`stat`] | the counts as a table, JSON, a page, and in formats of others |
//! | [`symbols`] | the kernel's functions |

pub(super) mod compare;
mod derived;
pub(super) mod events;
pub(super) mod kernel;
mod prepare;
pub(super) mod record;
pub(super) mod stat;
mod symbols;

use crate::args::program::{ProgramArgs, RegionArgs};
use crate::args::{MachineArgs, RunArgs};
use crate::error::CliError;
use crate::exit;
use crate::interrupt::{self, Interrupt, Role};
use crate::machine::{processors, profile_with, uncore};
use crate::output::console::{Console, Target};
use crate::output::number::counted;
use crate::output::progress::Progress;
use crate::output::remark;
use platform::devices::Output;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use vmm::counts::timing::Sampling;
use vmm::engine::Detail;
use vmm::guest_program::counters::PerfEvent;
use vmm::guest_program::roi::Roi;
use vmm::guest_program::roi::spec::Region;
use vmm::guest_program::sample::Sampler;
use vmm::guest_program::{self, ProgramConfig, ProgramReport, RegionReport};
use vmm::machine::Outcome;
use vmm::machine::progress::RunProgress;
use vpmu::Profile;
use vpmu::source::EventRequest;

/// Guest RAM in MiB.
pub(crate) const MEMORY_MIB: u64 = 1024;
/// A program takes as long as it takes.
const DAY: u64 = 86_400;
/// A program that a signal has ended has this status, and the signal's number, as in a shell.
const SIGNALLED: u8 = 128;

/// What is wanted beside counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// Nothing.
    Counts,
    /// Nothing, and counts that depend on the model of the core are estimated from samples.
    Estimates(Sampling),
    /// A sample each so many instructions.
    Samples(NonZeroU64),
    /// A recording.
    Everything,
}

/// A program that can be run, and what it is run on.
pub(super) struct Run {
    pub(super) profile: Profile,
    pub(super) report: ProgramReport,
}

impl Run {
    /// Runs the program; its streams go where `targets` say.
    pub(super) fn new(
        machine: &MachineArgs,
        program: &ProgramArgs,
        targets: [Target; 2],
        events: impl FnOnce(&Profile) -> Result<Vec<EventRequest>, CliError>,
    ) -> Result<Self, CliError> {
        let whole = RegionArgs::default();
        Self::watched(machine, program, &whole, targets, Watch::Counts, events)
    }

    /// The same, with events that the guest's perf counts.
    pub(super) fn perfed(
        machine: &MachineArgs,
        program: &ProgramArgs,
        targets: [Target; 2],
        events: impl FnOnce(&Profile) -> Result<(Vec<EventRequest>, Vec<PerfEvent>), CliError>,
    ) -> Result<Self, CliError> {
        let region = &RegionArgs::default();
        Plan { machine, program, region, watch: Watch::Counts }.run(targets, events)
    }

    /// The same of a part of it, with samples, or recorded.
    pub(super) fn watched(
        machine: &MachineArgs,
        program: &ProgramArgs,
        region: &RegionArgs,
        targets: [Target; 2],
        watch: Watch,
        events: impl FnOnce(&Profile) -> Result<Vec<EventRequest>, CliError>,
    ) -> Result<Self, CliError> {
        let plan = Plan { machine, program, region, watch };
        plan.run(targets, |profile| Ok((events(profile)?, Vec::new())))
    }

    /// The program's own status, or why there is none.
    pub(super) fn exit_code(&self) -> u8 {
        match (self.report.status, &self.report.outcome) {
            (Some(status), _) => status_code(status),
            (None, Outcome::TimedOut) => exit::TIMEOUT,
            (None, Outcome::Interrupted { signal }) => interrupt::exit_code(*signal),
            (None, _) => exit::CRASH,
        }
    }

    /// What is to be said of how it ended, beside its status.
    pub(super) fn remarks(&self) {
        let ProgramReport { status, outcome, console, .. } = &self.report;
        if status.is_none() {
            let (_, how) = crate::output::report::outcome(outcome);
            remark(&format!("the program did not end: {how}\n"));
            if !matches!(outcome, Outcome::TimedOut | Outcome::Interrupted { .. }) {
                remark(&crate::output::printable(console));
            }
        }
    }
}

/// What is run, and what of it is wanted.
#[derive(Clone, Copy)]
struct Plan<'a> {
    machine: &'a MachineArgs,
    program: &'a ProgramArgs,
    region: &'a RegionArgs,
    watch: Watch,
}

impl Plan<'_> {
    fn run(
        self,
        targets: [Target; 2],
        events: impl FnOnce(&Profile) -> Result<(Vec<EventRequest>, Vec<PerfEvent>), CliError>,
    ) -> Result<Run, CliError> {
        let Self { machine, program, region, watch } = self;
        if region.warm.is_some() && machine.detail != Some(Detail::Timing) {
            return Err(CliError::NeedsModel("--warm"));
        }
        let uncore = uncore(machine)?;
        let profile = profile_with(&machine.profile.profile, machine.isa)?;
        let (events, perf) = events(&profile)?;
        // What is missing of the program is told before a boot.
        let (files, job) = prepare::prepare(program, perf)?;
        let roi = || region.roi.as_ref().map(|region| Roi::new(region, &files, &job)).transpose();
        let found = roi()?;
        let sampler = match watch {
            Watch::Samples(period) => Some(Sampler::new(period, &files)),
            Watch::Counts | Watch::Estimates(_) | Watch::Everything => None,
        };
        let interrupt = Interrupt::watch(Role::Alone).map_err(CliError::Signals)?;
        let timeout = Duration::from_secs(machine.timeout(true).0.min(DAY));
        let progress = Progress::start(format!("running {}", prepare::name(program)), machine.quiet);
        let watched = RunProgress::default();
        progress.follow(watched.clone());
        let booted = || kernel::booted(machine, &profile, timeout, &interrupt, &watched, &progress);
        let (snapshot, path) = booted()?;
        let recorder = match watch {
            Watch::Everything => Some(symbols::of_guest(&path, timeout, &interrupt)),
            Watch::Counts | Watch::Estimates(_) | Watch::Samples(_) => None,
        };
        let config = |snapshot, (files, job), streams: [Target; 2]| ProgramConfig {
            snapshot,
            files,
            job,
            detail: machine.detail.unwrap_or_default(),
            uncore,
            sampling: match watch {
                Watch::Estimates(sampling) => Some(sampling),
                Watch::Counts | Watch::Samples(_) | Watch::Everything => None,
            },
            compile: machine.compiles(),
            threads: machine.threads.unwrap_or_else(processors),
            roi: None,
            warm_from: None,
            only_search: false,
            sampler: None,
            recorder: None,
            events: Vec::new(),
            changed: None,
            streams: streams
                .map(|target| -> Output { Box::new(Console::new(target, Arc::clone(&progress), None)) }),
            timeout,
            stop: interrupt.request(),
            progress: watched.clone(),
        };
        let mut warm_from = None;
        if let Some(warm) = region.warm {
            // Where it begins is known when it has been there.
            let search = ProgramConfig {
                roi: roi()?,
                detail: Detail::Counts,
                only_search: true,
                ..config(booted()?.0, (files.clone(), job.clone()), [Target::Nowhere, Target::Nowhere])
            };
            let searched = guest_program::run(search)?;
            if searched.region.times > 0 {
                warm_from = Some(searched.region.first.saturating_sub(warm));
            }
        }
        let report = guest_program::run(ProgramConfig {
            roi: found,
            warm_from,
            sampler,
            recorder,
            events,
            changed: program.out.clone(),
            ..config(snapshot, (files, job), targets)
        });
        progress.end();
        let report = report?;
        if let Some(directory) = program.out.as_ref().filter(|_| !machine.quiet) {
            remark(&format!("{} in {}\n", counted(report.returned, "file"), directory.display()));
        }
        if let Some(region) = region.roi.as_ref().filter(|_| report.status.is_some()) {
            match report.region {
                RegionReport { times: 0, .. } => {
                    return Err(CliError::NoRegion { region: region.to_string() });
                }
                RegionReport { open: true, .. } if !is_endless(region) => {
                    remark(&format!("{region} was counted to the program's end, where it had not ended\n"));
                }
                _ => {}
            }
        }
        Ok(Run { profile, report })
    }
}

/// Whether it ends with the program.
fn is_endless(region: &Region) -> bool {
    matches!(region, Region::Numbers { to: None, .. } | Region::Marks { to: None, .. })
}

/// As a shell has it: the status, or 128 and the signal.
fn status_code(status: u32) -> u8 {
    let [low, high, ..] = status.to_le_bytes();
    match low & 0x7F {
        0 => high,
        signal => SIGNALLED.saturating_add(signal),
    }
}

/// `vpmu run -- PROGRAM`.
pub(super) fn run(args: &RunArgs) -> Result<u8, CliError> {
    let run = Run::new(&args.machine, &args.program, [Target::Stdout, Target::Stderr], |_| Ok(Vec::new()))?;
    run.remarks();
    Ok(run.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_those_of_a_shell() {
        assert_eq!(
            [status_code(0), status_code(3 << 8), status_code(11), status_code(6 | 0x80)],
            [0, 3, 139, 134]
        );
    }
}
