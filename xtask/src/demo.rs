//! `cargo xtask demo`: what the project does, in a minute, on any x86-64 Linux host.

use crate::cargo::{line, run};
use crate::error::TaskError;
use crate::images::{self, GuestImage};
use crate::linux::Architecture;
use crate::suite::run_images;
use crate::tally::Tally;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use anstyle::Style;
use std::process::Command;

const BOLD: Style = Style::new().bold();

/// PERF_METRICS of level 2 and of level 1, and AMD; `cargo xtask test` runs all.
const PROFILES: &str = "sapphire-rapids,icelake-sp,zen4";
/// For what is shown on one CPU only.
const PROFILE: &str = "sapphire-rapids";
/// Those that misbehave on purpose are for the tests of the runner.
const WELL_BEHAVED: &str = "not group(hostile)";

/// Boots the guest test images on the soft engine, shows what bounds the workloads, and boots the images under KVM
/// where there is one.
pub(crate) fn demo() -> Result<(), TaskError> {
    heading("Building the vpmu command and the guest test images");
    let vpmu = Vpmu::build()?;
    let all = images::build()?;

    heading("Guest test images on the soft engine");
    let flags = ["--engine", "soft", "--profile", PROFILES, "-E", WELL_BEHAVED];
    let mut totals = run_images(&vpmu, &all, Architecture::Amd64, &flags)?;

    heading("Guest test images for AArch64: PMUv3 and Falkor's matrix");
    totals += run_images(&vpmu, &all, Architecture::Arm64, &["--engine", "soft", "-E", WELL_BEHAVED])?;

    if let Some(workloads) = all.iter().find(|image| image.is_workload()) {
        heading("Why code is slow: top-down shares of labelled workloads, from a model of the core");
        show(&mut timing(&vpmu, "stat", workloads, PROFILE))?;
        heading("What the guest read beside what the VMM counted");
        let mut compare = timing(&vpmu, "compare", workloads, PROFILE);
        show(compare.args(["--append", "workload=branches,chase-dram"]))?;
    }

    if let Some(workloads) = all.iter().find(|image| image.is_arm_workload()) {
        heading("The same on Falkor, which has no register for top-down shares");
        let mut stat = timing(&vpmu, "stat", workloads, "falkor");
        show(stat.args(["--append", "workload=branches,chase-l2"]))?;
    }

    heading("The same images under KVM");
    match vpmu.kvm_missing()? {
        Some(reason) => {
            anstream::println!("skipped: {reason}\n  next: vpmu doctor says what this machine lacks");
        }
        None => {
            // Made up from run time, on hosts without a PMU: enough for tests of registers.
            let flags =
                ["--engine", "kvm", "--counts", "synthetic", "--profile", PROFILE, "-E", WELL_BEHAVED];
            totals += run_images(&vpmu, &all, Architecture::Amd64, &flags)?;
        }
    }

    let Tally { passed, failed, skipped } = totals;
    anstream::println!("\nguest checks: {passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(TaskError::Failed(format!("{failed} guest checks"))) }
}

fn heading(text: &str) {
    anstream::println!("\n{BOLD}{text}{BOLD:#}\n");
}

/// `vpmu COMMAND` on the workloads, with a model of the core.
fn timing(vpmu: &Vpmu, command: &str, workloads: &GuestImage, profile: &str) -> Command {
    let mut command = vpmu.on_image(command, &workloads.path, profile, EngineFlags::Soft);
    // With the guest's console on stderr, which says how far it is.
    command.args(["--detail", "timing"]);
    command
}

fn show(command: &mut Command) -> Result<(), TaskError> {
    anstream::println!("{BOLD}$ {}{BOLD:#}", line(command));
    run(command)
}
