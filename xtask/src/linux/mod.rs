//! `cargo xtask linux`: boots the distribution's kernel on the soft engine and lets perf count in it.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`architecture`] | what differs between x86-64 and AArch64 |
//! | [`packages`] | fetches kernel, busybox and perf |
//! | [`apt`] | downloads and unpacks packages without root |
//! | [`kernel_module`] | builds the module for Falkor's matrix |
//! | [`libraries`] | finds the shared libraries that perf needs |
//! | [`initrd`] | builds the initial RAM disk, once |
//! | [`session`] | turns steps into a script and a console into results |
//! | [`steps`] | the commands, and what each has to print |
//! | [`compare`] | perf's numbers beside the VMM's |
//! | [`ends`] | other ways for a run to end: power-off, reboot, panic |
//! | [`record_replay`] | rr in the guest |
//! | [`programs`] | programs of the host in a guest, as on the host |
//! | [`many_programs`] | the same of many, and of what is compiled here |
//! | [`recordings`] | what programs execute, as `vpmu stat` counts it |
//! | [`repeats`] | two runs are the same run, compiled or not |

mod apt;
mod architecture;
mod compare;
mod cpio;
mod ends;
mod initrd;
mod kernel_module;
mod libraries;
mod many_programs;
mod packages;
mod programs;
mod record_replay;
mod recordings;
mod repeats;
mod session;
mod steps;

use crate::cargo::root;
use crate::error::TaskError;
use crate::tally::Tally;
use crate::vpmu_cli::{EngineFlags, Vpmu};
pub(crate) use architecture::Architecture;
use clap::{Args, ValueEnum};
use serde_json::Value;
use session::StepResult;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// The profile with a matrix.
const FALKOR: &str = "falkor";
/// RAM of the guest.
pub(crate) const MEMORY: &str = "768M";

/// What to boot.
#[derive(Debug, Clone, Args)]
pub(crate) struct LinuxArgs {
    /// Boot this kernel instead of the distribution's
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// Only this profile (repeatable) [default: skylake-sp (not with
    /// --short), icelake-sp, sapphire-rapids, zen2, zen4, falkor]
    #[arg(short, long, value_name = "NAME")]
    profile: Vec<String>,
    /// How closely the engine models the core, as `vpmu run` takes it
    #[arg(long, value_name = "LEVEL", default_value = "counts")]
    detail: String,
    /// Only the steps that `cargo xtask test` runs
    #[arg(long)]
    short: bool,
    /// Only this part (repeatable) [default: all, with --short session, matrix
    /// and programs]
    #[arg(long, value_name = "PART")]
    part: Vec<Part>,
    /// In the session, only steps whose name contains this (repeatable)
    #[arg(long, value_name = "TEXT")]
    step: Vec<String>,
    /// Print what each command printed
    #[arg(long)]
    show: bool,
    /// Seconds for each boot
    #[arg(short, long, value_name = "SECONDS", default_value_t = 900)]
    timeout: u64,
}

/// What there is to do on a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// perf commands with a check of each
    Session,
    /// The same with PEBS or IBS, on profiles that have it
    #[value(alias = "pebs")]
    Precise,
    /// Late interrupts beside precise samples (x86-64)
    Skid,
    /// Recording and replaying by rr (x86-64 CPUs that it knows)
    Rr,
    /// Matrix events of Falkor, by a module for its kernel
    Matrix,
    /// A table of perf's numbers beside the VMM's
    Compare,
    /// Power-off, reboot and panic
    Ends,
    /// The short session twice, and interpreted
    Repeats,
    /// Programs of the host (x86-64)
    Programs,
    /// Two dozen of them, a Go and a Rust program, redis; takes a minute
    ManyPrograms,
}

impl LinuxArgs {
    fn includes(&self, part: Part) -> bool {
        let always = [Part::Session, Part::Matrix, Part::Programs].contains(&part);
        if self.part.is_empty() { always || !self.short } else { self.part.contains(&part) }
    }

    /// What `cargo xtask test` boots.
    pub(crate) fn short() -> Self {
        Self {
            kernel: None,
            profile: Vec::new(),
            detail: "counts".to_owned(),
            short: true,
            part: Vec::new(),
            step: Vec::new(),
            show: false,
            timeout: 900,
        }
    }

    fn profiles(&self) -> Vec<String> {
        if !self.profile.is_empty() {
            return self.profile.clone();
        }
        // One for each kind of PMU whose driver and events the steps know. The first has Intel's top-down events in
        // general counters, which only the whole session looks at.
        let all = ["skylake-sp", "icelake-sp", "sapphire-rapids", "zen2", "zen4", "falkor"];
        let of_a_kind = if self.short { &all[1..] } else { &all[..] };
        of_a_kind.iter().copied().map(str::to_owned).collect()
    }
}

/// Fetches and builds what is missing, runs the session on every profile, and fails if a step did.
pub(crate) fn linux(args: &LinuxArgs) -> Result<(), TaskError> {
    let tally = boot_all(args)?;
    anstream::println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    if tally.failed == 0 { Ok(()) } else { Err(TaskError::Failed(format!("{} checks", tally.failed))) }
}

/// As [`linux`], but counts failures.
pub(crate) fn boot_all(args: &LinuxArgs) -> Result<Tally, TaskError> {
    let mut tally = Tally::default();
    let mut prepared = BTreeMap::new();
    for profile in args.profiles() {
        let architecture = architecture_of(&profile)?;
        let guest = match prepared.entry(architecture) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Guest::prepare(architecture, args)?),
        };
        let guest = match guest {
            Ok(guest) => guest,
            Err(reason) => {
                anstream::println!("skipped {profile}: {reason}");
                tally.skipped += 1;
                continue;
            }
        };
        if args.includes(Part::Session) {
            Session::of("session", steps::select).check(guest, &profile, &mut tally)?;
        }
        if args.includes(Part::Precise) && guest.facts(&profile)?.precise {
            Session::of("precise", steps::precise).check(guest, &profile, &mut tally)?;
        }
        if args.includes(Part::Skid) && !args.short && guest.facts(&profile)?.precise {
            let session = Session { flags: &["--skid", "5-60"], ..Session::of("skid", steps::skid) };
            session.check(guest, &profile, &mut tally)?;
        }
        if args.includes(Part::Rr) && architecture == Architecture::Amd64 {
            record_replay::check(guest, &profile, &mut tally)?;
        }
        if args.includes(Part::Matrix) && profile == FALKOR {
            match kernel_module::falkor_matrix(&directory(architecture), &guest.kernel)? {
                Ok(module) => {
                    let session = Session { files: vec![module], ..Session::of("matrix", steps::matrix) };
                    session.check(guest, &profile, &mut tally)?;
                }
                Err(reason) => {
                    anstream::println!("skipped the matrix by a kernel module: {reason}");
                    tally.skipped += 1;
                }
            }
        }
        if args.includes(Part::Compare) {
            compare::check(guest, &profile, &mut tally)?;
        }
        if args.includes(Part::Ends) {
            ends::check(guest, &profile, &mut tally)?;
        }
        if args.includes(Part::Repeats) {
            repeats::check(guest, &profile, &mut tally)?;
        }
        if args.includes(Part::Programs) && architecture == Architecture::Amd64 {
            programs::check(guest, &profile, &mut tally)?;
            recordings::check(guest, &profile, &mut tally)?;
            programs::by_level(guest, &profile, &mut tally)?;
        }
        if args.includes(Part::ManyPrograms) && architecture == Architecture::Amd64 {
            many_programs::check(guest, &profile, &mut tally)?;
        }
    }
    Ok(tally)
}

fn architecture_of(profile: &str) -> Result<Architecture, TaskError> {
    let unknown = || TaskError::Data(format!("there is no built-in profile {profile}"));
    Architecture::of(profile).ok_or_else(unknown)
}

/// Where the packages of an architecture and what is made of them are kept.
fn directory(architecture: Architecture) -> PathBuf {
    root().join("target/linux").join(architecture.name())
}

/// A script of steps to boot with, and what is judged by.
struct Session {
    /// Of the file with its console.
    name: &'static str,
    steps: fn(&session::Facts, bool) -> Vec<session::Step>,
    /// Of `vpmu run`.
    flags: &'static [&'static str],
    /// More files in the root of the RAM disk.
    files: Vec<PathBuf>,
}

impl Session {
    fn of(name: &'static str, steps: fn(&session::Facts, bool) -> Vec<session::Step>) -> Self {
        Self { name, steps, flags: &[], files: Vec::new() }
    }

    /// Boots and judges the steps.
    fn check(&self, guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
        let console = &directory(guest.architecture).join(format!("{}-{profile}.txt", self.name));
        let facts = guest.facts(profile)?;
        let mut steps = (self.steps)(&facts, guest.args.short);
        let wanted = &guest.args.step;
        steps.retain(|step| wanted.is_empty() || wanted.iter().any(|text| step.name.contains(text)));
        let started = Instant::now();
        let prelude = if facts.one_cycle { "" } else { session::FEW_SYMBOLS };
        let script = format!("{prelude}{}", session::script(&steps, facts.events));
        let mut flags = self.flags.to_vec();
        if !facts.one_cycle && self.name == "precise" {
            // The kernel's boot and perf itself would take the model some minutes.
            flags.extend(["--model-in", "sampled"]);
        }
        let report = guest.boot_with(profile, &script, &flags, &self.files)?;
        // perf colours large shares.
        let text = anstream::adapter::strip_str(report["console"].as_str().unwrap_or_default()).to_string();
        fs::write(console, session::readable(&text)).map_err(|source| apt::file_error(console, source))?;
        let kind = &report["outcome"]["kind"];
        anstream::println!(
            "{profile}: {kind} after {} instructions, {:.1} s; console in {}",
            report["instructions"],
            started.elapsed().as_secs_f64(),
            console.strip_prefix(root()).unwrap_or(console).display()
        );
        for StepResult { name, output, verdict } in session::judge(&steps, &facts, &text, &report) {
            if guest.args.show || verdict.is_err() {
                anstream::println!("{output}");
            }
            tally.add(verdict.is_ok());
            match verdict {
                Ok(()) => anstream::println!("ok {profile}: {name}"),
                Err(reason) => anstream::println!("FAILED {profile}: {name}: {reason}"),
            }
        }
        Ok(())
    }
}

/// Kernel and RAM disk that run a script, if the packages have been fetched before.
pub(crate) fn fetched(
    architecture: Architecture,
    script: &str,
) -> Result<Option<(PathBuf, PathBuf)>, TaskError> {
    let directory = directory(architecture);
    let Some(unpacked) = packages::fetched(&directory) else { return Ok(None) };
    let Some(kernel) = packages::kernel(&unpacked) else { return Ok(None) };
    let Ok(initrd) = initrd::build(&directory, &unpacked, architecture)? else { return Ok(None) };
    Ok(Some((kernel, initrd.with_script(script, &[])?.to_owned())))
}

/// A kernel with its RAM disk, and who boots it.
#[derive(Debug)]
struct Guest {
    architecture: Architecture,
    vpmu: Vpmu,
    kernel: PathBuf,
    initrd: initrd::Initrd,
    args: LinuxArgs,
}

impl Guest {
    /// Fetches and builds what is missing; or says why it cannot be had.
    fn prepare(architecture: Architecture, args: &LinuxArgs) -> Result<Result<Self, String>, TaskError> {
        let directory = directory(architecture);
        let unpacked = match packages::fetch(&directory, architecture)? {
            Ok(unpacked) => unpacked,
            Err(reason) => return Ok(Err(reason)),
        };
        let Some(kernel) = args.kernel.clone().or_else(|| packages::kernel(&unpacked)) else {
            return Err(TaskError::Data(format!("no kernel in {}", unpacked.display())));
        };
        let initrd = match initrd::build(&directory, &unpacked, architecture)? {
            Ok(initrd) => initrd,
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(Ok(Self { architecture, vpmu: Vpmu::build()?, kernel, initrd, args: args.clone() }))
    }

    fn facts(&self, profile: &str) -> Result<session::Facts, TaskError> {
        let facts = session::Facts::of(profile, &self.args.detail);
        facts.ok_or_else(|| TaskError::Data(format!("there is no built-in profile {profile}")))
    }

    /// Boots, runs a shell script, and returns the report.
    fn boot(&self, profile: &str, script: &str) -> Result<Value, TaskError> {
        self.boot_with(profile, script, &[], &[])
    }

    /// The same with more flags, and more files in the root of the RAM disk.
    fn boot_with(
        &self,
        profile: &str,
        script: &str,
        flags: &[&str],
        files: &[PathBuf],
    ) -> Result<Value, TaskError> {
        let initrd = self.initrd.with_script(script, files)?;
        let mut command: Command = self.vpmu.on_image("run", &self.kernel, profile, EngineFlags::Soft);
        command.args(["--detail", &self.args.detail, "--memory", MEMORY]);
        command.args(["--append", self.architecture.options(), "--initrd"]);
        command.arg(initrd).args(flags).args(["--timeout", &self.args.timeout.to_string()]);
        self.vpmu.json(&mut command)
    }
}
