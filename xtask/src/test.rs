//! `cargo xtask test`: everything that CI checks.

use crate::cargo::{capture, cargo, line, run};
use crate::docs::docs;
use crate::error::TaskError;
use crate::images::{self, GuestImage};
use crate::linux;
use crate::packaging;
use crate::suite::run_images;
use crate::tally::Tally;
use crate::tap::Tap;
use crate::tma;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use anstyle::Style;
use indicatif::ProgressBar;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

const BOLD: Style = Style::new().bold();

/// Seconds that an image may take under QEMU.
const QEMU_TIMEOUT: &str = "120";

/// Runs all stages; the first host-side failure ends it, guest checks are all run.
pub(crate) fn test() -> Result<(), TaskError> {
    stage("format");
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    stage("the vpmu command and the guest images, as for the demo");
    let vpmu = Vpmu::build()?;
    let images = images::build()?;
    stage("lints");
    run(&mut cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    stage("documentation");
    docs(true)?;
    run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    stage("packages");
    packaging::check()?;
    let mut totals = Tally::default();
    stage("host tests");
    host_tests(&mut totals)?;
    stage("guest tests");
    totals += guest_tests(&vpmu, &images)?;
    stage("guest tests with a model of the core");
    totals += timing_tests(&vpmu, &images)?;
    stage("the soft engine repeats itself");
    repeats(&vpmu, &images, &mut totals)?;
    stage("workloads are bound by what they were written for");
    if let Some(image) = images.iter().find(|image| image.is_workload()) {
        totals += tma::check(&vpmu, &image.path, &tma::PROFILES_OF_CORES)?;
    }
    stage("a Linux guest");
    totals += linux::boot_all(&linux::LinuxArgs::short())?;
    stage("guest images under QEMU");
    under_qemu(&images, &mut totals)?;

    let Tally { passed, failed, skipped } = totals;
    anstream::println!(
        "\nguest checks, and host tests that were skipped:\n{passed} passed, {failed} failed, {skipped} skipped"
    );
    if failed == 0 { Ok(()) } else { Err(TaskError::Failed(format!("{failed} guest checks"))) }
}

fn stage(name: &str) {
    anstream::println!("{BOLD}== {name}{BOLD:#}");
}

/// Runs the workspace's tests. A test that lacks KVM or a PMU passes with a line that says so; those
/// lines are counted here, so that a skip never looks like a success.
fn host_tests(totals: &mut Tally) -> Result<(), TaskError> {
    // First the part of which cargo shows how far it is.
    run(&mut cargo(["test", "--workspace", "--no-run"]))?;
    // Hidden where stderr is no terminal.
    let spinner = ProgressBar::new_spinner().with_message("cargo test, about a minute");
    spinner.enable_steady_tick(Duration::from_millis(100));
    let mut command = cargo(["test", "--workspace", "--quiet", "--", "--show-output"]);
    let output = capture(command.stderr(Stdio::inherit()))?;
    spinner.finish_and_clear();
    let log = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        anstream::println!("{log}");
        return Err(TaskError::Command { command: line(&command) });
    }
    for result in log.lines().filter(|line| line.starts_with("test result:") && !line.contains(" 0 passed")) {
        anstream::println!("{result}");
    }
    let is_skip = |line: &&str| line.starts_with("SKIP ") || line.starts_with("skipped");
    let skipped: Vec<&str> = log.lines().filter(is_skip).collect();
    let mut reasons = skipped.clone();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        anstream::println!("{reason}");
    }
    totals.skipped += skipped.len();
    Ok(())
}

/// Every image on every profile, misbehaving ones included; under KVM, where they take seconds, on one profile for
/// each kind of PMU.
fn guest_tests(vpmu: &Vpmu, images: &[GuestImage]) -> Result<Tally, TaskError> {
    const CASES: &str = "engine(soft) or profile({skylake-sp,icelake-sp,sapphire-rapids,zen3,zen4})";
    run_images(vpmu, images, &["--engine", "all", "--counts", "synthetic", "-E", CASES])
}

/// The images on profiles whose core is modelled, without the misbehaving ones: those do not depend on time.
fn timing_tests(vpmu: &Vpmu, images: &[GuestImage]) -> Result<Tally, TaskError> {
    const CASES: &str = "profile({icelake-sp,sapphire-rapids}) and not group(hostile) or profile({zen2,zen4}) and image({amd,merge})";
    run_images(vpmu, images, &["--engine", "soft", "--detail", "timing", "-E", CASES])
}

/// Two runs on the soft engine write the same trace, byte for byte, on one thread and on two.
fn repeats(vpmu: &Vpmu, images: &[GuestImage], totals: &mut Tally) -> Result<(), TaskError> {
    const RUNS: [(&str, &str); 5] = [
        ("overflow", "counts"),
        ("overflow", "timing"),
        ("metrics", "counts"),
        ("metrics", "timing"),
        ("workloads", "timing"),
    ];
    for (name, detail) in RUNS {
        let Some(image) = images.iter().find(|image| image.name == name) else { continue };
        let mut traces = Vec::new();
        for threads in ["1", "2"] {
            let path =
                std::env::temp_dir().join(format!("vpmu-{}-{threads}-{}", image.name, std::process::id()));
            let mut command = vpmu.on_image("run", &image.path, "icelake-sp", EngineFlags::Soft);
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
    Ok(())
}

/// Boots the test images under QEMU's interpreter, which has no PMU: they have to run to their end.
fn under_qemu(images: &[GuestImage], totals: &mut Tally) -> Result<(), TaskError> {
    let tests = images.iter().filter(|image| !image.is_hostile() && !image.is_workload());
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        let count = tests.count();
        anstream::println!("skipped {count} images: qemu-system-x86_64 is not installed");
        totals.skipped += count;
        return Ok(());
    }
    for image in tests {
        let mut command = Command::new("timeout");
        command
            .args([QEMU_TIMEOUT, "qemu-system-x86_64", "-display", "none", "-serial", "stdio", "-no-reboot"])
            .args(["-cpu", "max", "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel"])
            .arg(&image.path);
        let output = capture(&mut command)?;
        let tap = Tap::parse(&String::from_utf8_lossy(&output.stdout));
        let ended = tap.planned == Some(tap.seen()) && tap.seen() > 0;
        totals.add(ended);
        if ended {
            anstream::println!(
                "ok {} ran to its end ({} passed, {} failed, {} skipped for want of a PMU)",
                image.name,
                tap.passed,
                tap.failed,
                tap.skipped
            );
        } else {
            anstream::println!(
                "FAILED {}: {} results of {:?} planned; {}",
                image.name,
                tap.seen(),
                tap.planned,
                line(&command)
            );
        }
    }
    Ok(())
}
