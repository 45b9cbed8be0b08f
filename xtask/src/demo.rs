//! `cargo xtask demo`: what the project does, in a minute.

use crate::cargo::{line, run};
use crate::error::TaskError;
use crate::images;
use crate::suite::{self, print_results, run_image};
use crate::vpmu_cli::{EngineFlags, Vpmu, kvm_missing};
use anstyle::Style;

const BOLD: Style = Style::new().bold();

/// Boots the guest test images on every profile, then compares guest and VMM readings.
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
    let mut results = Vec::new();
    for profile in suite::profiles() {
        for image in all.iter().filter(|image| !image.is_hostile() && !image.is_workload()) {
            results.push(run_image(&vpmu, image, profile, EngineFlags::Kvm)?);
        }
    }
    anstream::println!("\n{BOLD}Guest test images under /dev/kvm{BOLD:#} (counts: synthetic)\n");
    print_results(&results);
    for profile in suite::profiles() {
        for image in all.iter().filter(|image| image.is_workload()) {
            let mut compare = vpmu.on_image("compare", &image.path, profile, EngineFlags::Kvm);
            compare.args(["--quiet", "--append", "workload=alu,chase-dram"]);
            anstream::println!("\n{BOLD}$ {}{BOLD:#}\n", line(&compare));
            run(&mut compare)?;
        }
    }
    let failures: usize = results.iter().map(suite::ImageResult::failures).sum();
    let passed: usize = results.iter().map(|result| result.tap.passed).sum();
    let skipped: usize = results.iter().map(|result| result.tap.skipped.len()).sum();
    anstream::println!("\nguest checks: {passed} passed, {failures} failed, {skipped} skipped");
    if failures == 0 { Ok(()) } else { Err(TaskError::Failed(format!("{failures} guest checks"))) }
}
