//! What a model of the core costs the soft engine: the workloads with `--detail counts` and `--detail timing`,
//! in interleaved rounds, for each generation of cores. What one of them remembers another one may not.

use super::{Report, figure, ratio};
use crate::error::TaskError;
use crate::images;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use std::path::Path;

const PROFILES: [&str; 6] = ["skylake-sp", "icelake-sp", "sapphire-rapids", "granite-rapids", "zen4", "zen5"];
/// Batches of each workload: the same work on both sides, of some seconds with the model.
const PASSES: &str = "passes=40";

fn failed(reason: &str) -> TaskError {
    TaskError::Measure { what: "speed with a model of the core", reason: reason.to_owned() }
}

/// Million instructions per second of the workloads with a detail.
fn rate(vpmu: &Vpmu, image: &Path, profile: &str, detail: &str) -> Result<f64, TaskError> {
    let mut command = vpmu.on_image("run", image, profile, EngineFlags::Soft);
    command.args(["--detail", detail, "--append", PASSES, "--timeout", "600"]);
    let report = vpmu.json(&mut command)?;
    let number = |key: &str| report[key].as_f64().filter(|number| *number > 0.0);
    let nanoseconds = number("run_ns").ok_or_else(|| failed("the report has no run time"))?;
    let retired = number("instructions").ok_or_else(|| failed("the report has no instructions"))?;
    Ok(retired * 1e3 / nanoseconds)
}

/// That with either detail, and the ratio, for each profile as it comes.
pub(super) fn measure(rounds: usize, report: &mut Report) -> Result<(), TaskError> {
    let vpmu = Vpmu::build()?;
    let all = images::build()?;
    let image =
        all.iter().find(|image| image.is_workload()).ok_or_else(|| failed("no image of workloads"))?;
    for profile in PROFILES {
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (rates, detail) in rates.iter_mut().zip(["counts", "timing"]) {
                rates.push(rate(&vpmu, &image.path, profile, detail)?);
            }
        }
        let [counts, timing] = rates;
        let counts = figure(format!("workloads, --detail counts, {profile}"), "M insn/s", counts);
        let timing = figure(format!("workloads, --detail timing, {profile}"), "M insn/s", timing);
        let share = ratio(format!("workloads, speed of timing to counts, {profile}"), &timing, &counts);
        report.add(vec![counts, timing, share], rounds);
    }
    Ok(())
}
