//! Running the guest images: what `vpmu test` says of them.

use crate::error::TaskError;
use crate::images::GuestImage;
use crate::linux::Architecture;
use crate::tally::Tally;
use crate::vpmu_cli::Vpmu;
use serde_json::Value;
use std::process::Stdio;

/// What there is to know about the images of an instruction set, beside their sources.
fn manifest(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "guest-tests/images/vpmu-test.toml",
        Architecture::Arm64 => "guest-tests/images-aarch64/vpmu-test.toml",
    }
}

/// Runs `vpmu test` over the directory of the images of an instruction set; its report goes to stderr. Without images,
/// because they could not be built, there is nothing to run.
pub(crate) fn run_images(
    vpmu: &Vpmu,
    images: &[GuestImage],
    architecture: Architecture,
    flags: &[&str],
) -> Result<Tally, TaskError> {
    let first = images.iter().find(|image| image.architecture == architecture);
    let Some(directory) = first.and_then(|image| image.path.parent()) else { return Ok(Tally::default()) };
    let mut command = vpmu.command("test", directory);
    command
        .args(["--manifest", manifest(architecture), "--no-fail-fast"])
        .args(flags)
        .stderr(Stdio::inherit());
    let document = vpmu.json(&mut command)?;
    Ok(add_up(&document))
}

/// Checks of the images; a run without checks counts as one.
fn add_up(document: &Value) -> Tally {
    let mut results = Tally::default();
    for test in document["tests"].as_array().into_iter().flatten() {
        let checks = test["checks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let count = |status: &str| checks.iter().filter(|check| check["status"] == status).count();
        results.passed += count("passed").max(usize::from(test["status"] == "passed"));
        results.failed += count("failed").max(usize::from(test["status"] == "failed"));
        results.skipped += count("skipped").max(usize::from(test["status"] == "skipped"));
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn runs_without_checks_count_as_one() {
        let check = |status: &str| json!({ "status": status });
        let document = json!({ "tests": [
            { "status": "passed", "checks": [check("passed"), check("skipped")] },
            { "status": "failed", "checks": [check("passed"), check("failed"), check("failed")] },
            { "status": "failed", "checks": [] },
            { "status": "skipped", "checks": [] },
            { "status": "passed", "checks": [] },
        ] });
        assert_eq!(add_up(&document), Tally { passed: 3, failed: 3, skipped: 2 });
    }
}
