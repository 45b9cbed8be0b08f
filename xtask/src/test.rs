//! `cargo xtask test`: everything that CI checks.

use crate::cargo::{capture, cargo, line, run};
use crate::compiled;
use crate::concurrently::{concurrently, cores};
use crate::docs::docs;
use crate::error::TaskError;
use crate::host_tests::host_tests;
use crate::images::{self, GuestImage};
use crate::lines;
use crate::linux::{self, Architecture};
use crate::packaging;
use crate::suite::run_images;
use crate::tally::Tally;
use crate::tap::Tap;
use crate::tma;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use anstyle::Style;
use clap::ValueEnum;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Seconds that an image may take under QEMU.
const QEMU_TIMEOUT: &str = "120";

/// A part of what CI checks, in the order in which they run, or begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    /// rustfmt, and no line too long
    Format,
    /// clippy, warnings are errors
    Lints,
    /// Generated pages and rustdoc
    Docs,
    /// The published crates as packages
    Packages,
    /// cargo test
    Host,
    /// The guest images on every profile, on both engines
    Guest,
    /// The guest images with a model of the core
    Timing,
    /// A Linux guest
    Linux,
    /// The soft engine writes the same trace twice
    Repeats,
    /// Compiled code does what the interpreter does
    Compiled,
    /// Workloads are bound by what they were written for
    Tma,
    /// The guest images under QEMU
    Qemu,
}

impl Stage {
    fn title(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Lints => "lints",
            Self::Docs => "documentation",
            Self::Packages => "packages",
            Self::Host => "host tests",
            Self::Guest => "guest tests",
            Self::Timing => "guest tests with a model of the core",
            Self::Repeats => "the soft engine repeats itself",
            Self::Compiled => "compiled code does what the interpreter does",
            Self::Tma => "workloads are bound by what they were written for",
            Self::Linux => "a Linux guest",
            Self::Qemu => "guest images under QEMU",
        }
    }

    /// One guest after the other: others run beside it.
    fn one_by_one(self) -> bool {
        matches!(self, Self::Linux | Self::Repeats | Self::Compiled | Self::Tma)
    }

    fn run(self, built: &Built) -> Result<Tally, TaskError> {
        let checked = |()| Tally::default();
        match self {
            Self::Format => {
                run(&mut cargo(["fmt", "--all", "--check"]))?;
                lines::check().map(checked)
            }
            Self::Lints => {
                const DENY: [&str; 3] = ["--", "-D", "warnings"];
                run(cargo(["clippy", "--workspace", "--all-targets"]).args(DENY))?;
                for arguments in images::arguments_of_others() {
                    run(cargo(["clippy"]).args(arguments).args(DENY))?;
                }
                Ok(Tally::default())
            }
            Self::Docs => {
                docs(true)?;
                run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
                    .map(checked)
            }
            Self::Packages => packaging::check().map(checked),
            Self::Host => host_tests(),
            Self::Guest => built.then(guest_tests),
            Self::Timing => built.then(timing_tests),
            Self::Repeats => built.then(repeats),
            Self::Compiled => built.then(compiled::check),
            Self::Tma => built.then(|vpmu, images| {
                let image = images.iter().find(|image| image.is_workload());
                image.map_or(Ok(Tally::default()), |image| {
                    tma::check(vpmu, &image.path, &tma::PROFILES_OF_CORES)
                })
            }),
            Self::Linux => linux::boot_all(&linux::LinuxArgs::short()),
            Self::Qemu => {
                let mut totals = built.with_images(under_qemu)?;
                totals += built.then(counts_as_qemu)?;
                Ok(totals)
            }
        }
    }
}

/// The vpmu command and the guest images, each built when it is first needed.
#[derive(Default)]
struct Built {
    vpmu: OnceLock<Vpmu>,
    images: OnceLock<Vec<GuestImage>>,
}

impl Built {
    fn then(
        &self,
        stage: impl FnOnce(&Vpmu, &[GuestImage]) -> Result<Tally, TaskError>,
    ) -> Result<Tally, TaskError> {
        let vpmu = match self.vpmu.get() {
            Some(vpmu) => vpmu,
            None => {
                announce("the vpmu command");
                let built = Vpmu::build()?;
                self.vpmu.get_or_init(|| built)
            }
        };
        self.with_images(|images| stage(vpmu, images))
    }

    fn with_images(
        &self,
        stage: impl FnOnce(&[GuestImage]) -> Result<Tally, TaskError>,
    ) -> Result<Tally, TaskError> {
        if let Some(images) = self.images.get() {
            return stage(images);
        }
        announce("the guest images");
        let built = images::build()?;
        stage(self.images.get_or_init(|| built))
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Only these stages, in their own order
    #[arg(value_name = "STAGE")]
    stages: Vec<Stage>,
}

/// Runs the stages; the first failure on the host's side ends it, guest checks are all run.
pub(crate) fn test(args: &TestArgs) -> Result<(), TaskError> {
    let built = Built::default();
    let wanted: Vec<_> = Stage::value_variants()
        .iter()
        .copied()
        .filter(|stage| args.stages.is_empty() || args.stages.contains(stage))
        .collect();
    let mut totals = Tally::default();
    for stages in wanted.chunk_by(|before, stage| before.one_by_one() && stage.one_by_one()) {
        if stages.len() > 1 || args.stages.is_empty() && stages != [Stage::Format] {
            // First of all, so that the first minutes show something of the product; and only once.
            built.then(|_, _| Ok(Tally::default()))?;
        }
        let run = |&stage: &Stage| {
            announce(stage.title());
            let start = Instant::now();
            let tally = stage.run(&built);
            anstream::println!("{DIM}   {}: {:.0} s{DIM:#}", stage.title(), start.elapsed().as_secs_f64());
            tally
        };
        for tally in concurrently(stages, cores(), run) {
            totals += tally?;
        }
    }

    let Tally { passed, failed, skipped } = totals;
    anstream::println!(
        "\nguest checks, and host tests that were skipped:\n{passed} passed, {failed} failed, {skipped} skipped"
    );
    if failed == 0 { Ok(()) } else { Err(TaskError::Failed(format!("{failed} guest checks"))) }
}

fn announce(stage: &str) {
    anstream::println!("{BOLD}== {stage}{BOLD:#}");
}

/// Every image on every profile of its instruction set, misbehaving ones included; under KVM, where they take seconds,
/// on one profile for each kind of PMU.
fn guest_tests(vpmu: &Vpmu, images: &[GuestImage]) -> Result<Tally, TaskError> {
    const CASES: &str = "engine(soft) or profile({skylake-sp,icelake-sp,sapphire-rapids,zen3,zen4})";
    let both = ["--engine", "all", "--counts", "synthetic", "-E", CASES];
    let mut totals = run_images(vpmu, images, Architecture::Amd64, &both)?;
    totals += run_images(vpmu, images, Architecture::Arm64, &["--engine", "soft"])?;
    Ok(totals)
}

/// The images on profiles whose core is modelled, without the misbehaving ones: those do not depend on time.
fn timing_tests(vpmu: &Vpmu, images: &[GuestImage]) -> Result<Tally, TaskError> {
    const CASES: &str = "profile({icelake-sp,sapphire-rapids}) and not group(hostile) \
                         or profile({zen2,zen4}) and image({amd,merge})";
    const WELL_BEHAVED: &str = "not group(hostile)";
    let timed = |cases| ["--engine", "soft", "--detail", "timing", "-E", cases];
    let mut totals = run_images(vpmu, images, Architecture::Amd64, &timed(CASES))?;
    totals += run_images(vpmu, images, Architecture::Arm64, &timed(WELL_BEHAVED))?;
    Ok(totals)
}

/// Two runs on the soft engine write the same trace, byte for byte, on one thread and on two.
fn repeats(vpmu: &Vpmu, images: &[GuestImage]) -> Result<Tally, TaskError> {
    let mut totals = Tally::default();
    const X86: &str = "icelake-sp";
    const ARM: &str = "falkor";
    const RUNS: [(&str, &str, &str); 7] = [
        ("overflow", "counts", X86),
        ("overflow", "timing", X86),
        ("metrics", "counts", X86),
        ("metrics", "timing", X86),
        ("workloads", "timing", X86),
        ("pmuv3_overflow", "counts", ARM),
        ("pmuv3_overflow", "timing", ARM),
    ];
    for (name, detail, profile) in RUNS {
        let Some(image) = images.iter().find(|image| image.name == name) else { continue };
        let mut traces = Vec::new();
        for threads in ["1", "2"] {
            let path =
                std::env::temp_dir().join(format!("vpmu-{}-{threads}-{}", image.name, std::process::id()));
            let mut command = vpmu.on_image("run", &image.path, profile, EngineFlags::Soft);
            command.args(["--detail", detail, "--threads", threads, "--trace"]);
            vpmu.json(command.arg(&path))?;
            let trace = fs::read(&path).map_err(|source| TaskError::File { path: path.clone(), source })?;
            fs::remove_file(&path).map_err(|source| TaskError::File { path, source })?;
            traces.push(trace);
        }
        let name = format!("{}, --detail {detail}", image.name);
        let equal = traces[0] == traces[1] && !traces[0].is_empty();
        totals.add(equal);
        if equal {
            anstream::println!("ok {name}: two traces of {} bytes are equal", traces[0].len());
        } else {
            anstream::println!("FAILED {name}: two runs wrote different traces");
        }
    }
    Ok(totals)
}

/// QEMU's machine for an instruction set, and whether its PMU lets the checks pass.
struct Qemu {
    program: &'static str,
    architecture: Architecture,
    machine: &'static [&'static str],
    has_pmu: bool,
}

const QEMU: [Qemu; 2] = [
    Qemu {
        program: "qemu-system-x86_64",
        architecture: Architecture::Amd64,
        machine: &["-cpu", "max", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"],
        has_pmu: false,
    },
    Qemu {
        program: "qemu-system-aarch64",
        architecture: Architecture::Arm64,
        // With a nanosecond for each instruction they are counted exactly.
        machine: &[
            "-machine",
            "virt,gic-version=3",
            "-cpu",
            "cortex-a57",
            "-icount",
            "shift=0",
            "-nic",
            "none",
        ],
        has_pmu: true,
    },
];

/// Boots the test images under QEMU's interpreter. For x86-64 it has no PMU: they have to run to their end. For
/// AArch64 it has a PMUv3: what is not skipped has to pass.
fn under_qemu(images: &[GuestImage]) -> Result<Tally, TaskError> {
    let mut totals = Tally::default();
    for qemu in &QEMU {
        let of_machine = |image: &&GuestImage| image.architecture == qemu.architecture;
        let tests: Vec<&GuestImage> =
            images.iter().filter(of_machine).filter(|image| image.is_test()).collect();
        if Command::new(qemu.program).arg("--version").output().is_err() {
            anstream::println!("skipped {} images: {} is not installed", tests.len(), qemu.program);
            totals.skipped += tests.len();
            continue;
        }
        for image in tests {
            totals += image_under_qemu(qemu, image)?;
        }
    }
    Ok(totals)
}

/// The image on QEMU's machine, its console on stdout.
fn qemu_command(qemu: &Qemu, image: &GuestImage) -> Command {
    let mut command = Command::new("timeout");
    command
        .args([QEMU_TIMEOUT, qemu.program, "-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(qemu.machine)
        .arg("-kernel")
        .arg(&image.path);
    command
}

/// What PMUv3 counts of loops of known length is the same here as under QEMU, where each instruction is counted.
fn counts_as_qemu(vpmu: &Vpmu, images: &[GuestImage]) -> Result<Tally, TaskError> {
    let mut totals = Tally::default();
    let [_, qemu] = &QEMU;
    let Some(image) = images.iter().find(|image| image.name == "arm_counts") else { return Ok(totals) };
    if Command::new(qemu.program).arg("--version").output().is_err() {
        anstream::println!("skipped the comparison of counts: {} is not installed", qemu.program);
        totals.skipped += 1;
        return Ok(totals);
    }
    let counts = |console: &str| -> Vec<String> {
        console
            .lines()
            .map(str::trim_end)
            .filter(|line| line.starts_with("count "))
            .map(str::to_owned)
            .collect()
    };
    let theirs = counts(&String::from_utf8_lossy(&capture(&mut qemu_command(qemu, image))?.stdout));
    let report = vpmu.json(&mut vpmu.on_image("run", &image.path, "falkor", EngineFlags::Soft))?;
    let ours = counts(report["console"].as_str().unwrap_or_default());
    let equal = ours.iter().filter(|line| theirs.contains(line)).count();
    let good = !ours.is_empty() && ours == theirs;
    totals.add(good);
    let verdict = if good { "ok" } else { "FAILED" };
    anstream::println!("{verdict} {equal} of {} counts of instructions are those of QEMU", theirs.len());
    if !good {
        ours.iter().filter(|line| !theirs.contains(line)).for_each(|line| anstream::println!("here: {line}"));
        theirs.iter().filter(|line| !ours.contains(line)).for_each(|line| anstream::println!("QEMU: {line}"));
    }
    Ok(totals)
}

fn image_under_qemu(qemu: &Qemu, image: &GuestImage) -> Result<Tally, TaskError> {
    let mut totals = Tally::default();
    let mut command = qemu_command(qemu, image);
    let output = capture(&mut command)?;
    let log = String::from_utf8_lossy(&output.stdout);
    let tap = Tap::parse(&log);
    let Tap { passed, failed, skipped, .. } = tap;
    let ended = tap.planned == Some(tap.seen()) && tap.seen() > 0;
    let good = ended && !(qemu.has_pmu && failed > 0);
    totals.add(good);
    if !ended {
        let (seen, planned) = (tap.seen(), tap.planned);
        anstream::println!(
            "FAILED {}: {seen} results of {planned:?} planned; {}",
            image.name,
            line(&command)
        );
    } else if good {
        anstream::println!(
            "ok {} ran to its end ({passed} passed, {failed} failed, {skipped} skipped for want of a PMU that has it)",
            image.name
        );
    } else {
        log.lines().filter(|line| line.starts_with("not ok")).for_each(|line| anstream::println!("{line}"));
        anstream::println!("FAILED {}: {failed} checks; {}", image.name, line(&command));
    }
    Ok(totals)
}
