//! `cargo xtask test compiled`: compiled code does what the interpreter does, on every guest image.

use crate::error::TaskError;
use crate::images::GuestImage;
use crate::linux::{Architecture, SAME};
use crate::tally::Tally;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use serde_json::Value;
use std::fs;

/// One of each vendor.
const PROFILES: [&str; 2] = ["sapphire-rapids", "zen4"];
/// Ends when time is up, which may be after any instruction.
const ENDLESS: &str = "hostile-endless-loop";

/// Runs every x86-64 image with compiled code and without, and compares reports and traces.
pub(crate) fn check(vpmu: &Vpmu, images: &[GuestImage]) -> Result<Tally, TaskError> {
    let mut totals = Tally::default();
    let of_pc = |image: &&GuestImage| image.architecture == Architecture::Amd64 && image.name != ENDLESS;
    for image in images.iter().filter(of_pc) {
        for profile in PROFILES {
            let [on, off] = [run(vpmu, image, profile, "on")?, run(vpmu, image, profile, "off")?];
            let keys = SAME.iter().filter(|key| on.report[**key] != off.report[**key]);
            let mut different: Vec<&str> = keys.copied().collect();
            different.extend((on.trace != off.trace).then_some("trace"));
            totals.add(different.is_empty());
            if !different.is_empty() {
                anstream::println!("FAILED {}, {profile}: differs in {}", image.name, different.join(", "));
            }
        }
    }
    anstream::println!("{} runs are the same compiled and interpreted", totals.passed);
    Ok(totals)
}

struct Run {
    report: Value,
    trace: Vec<u8>,
}

fn run(vpmu: &Vpmu, image: &GuestImage, profile: &str, compile: &str) -> Result<Run, TaskError> {
    let path = std::env::temp_dir().join(format!("vpmu-compiled-{}-{}", image.name, std::process::id()));
    let mut command = vpmu.on_image("run", &image.path, profile, EngineFlags::Soft);
    command.args(["--compile", compile, "--trace"]).arg(&path);
    let report = vpmu.json(&mut command)?;
    let file_error = |source| TaskError::File { path: path.clone(), source };
    let trace = fs::read(&path).map_err(file_error)?;
    fs::remove_file(&path).map_err(file_error)?;
    Ok(Run { report, trace })
}
