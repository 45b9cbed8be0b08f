//! `cargo xtask demo`: what the project does, in a minute.

use crate::cargo::{line, run};
use crate::error::TaskError;
use crate::images;
use crate::suite::run_images;
use crate::tally::Tally;
use crate::vpmu_cli::{EngineFlags, Vpmu, kvm_missing};
use anstyle::Style;

const BOLD: Style = Style::new().bold();

/// One for each level of PERF_METRICS; `cargo xtask test` runs all.
const PROFILES: [&str; 2] = ["icelake-sp", "sapphire-rapids"];

/// Boots the guest test images on two profiles, then compares guest and VMM readings.
pub(crate) fn demo() -> Result<(), TaskError> {
    if let Some(reason) = kvm_missing() {
        anstream::println!(
            "{reason}\nThe demo boots guests under KVM; `vpmu doctor` says what this machine lacks."
        );
        return Err(TaskError::Failed("the demo".to_owned()));
    }
    anstream::println!("Building the vpmu command and the guest test images ...");
    let vpmu = Vpmu::build()?;
    let all = images::build()?;
    anstream::println!("\n{BOLD}Guest test images under /dev/kvm{BOLD:#} (counts: synthetic)\n");
    let names = PROFILES.join(",");
    let flags =
        ["--engine", "kvm", "--counts", "synthetic", "--profile", names.as_str(), "-E", "not group(hostile)"];
    let Tally { passed, failed, skipped } = run_images(&vpmu, &all, &flags)?;
    for profile in PROFILES {
        for image in all.iter().filter(|image| image.is_workload()) {
            let mut compare = vpmu.on_image("compare", &image.path, profile, EngineFlags::Kvm);
            compare.args(["--quiet", "--append", "workload=alu,chase-dram"]);
            anstream::println!("\n{BOLD}$ {}{BOLD:#}\n", line(&compare));
            run(&mut compare)?;
        }
    }
    anstream::println!("\nguest checks: {passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(TaskError::Failed(format!("{failed} guest checks"))) }
}
