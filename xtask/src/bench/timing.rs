//! What a model of the core costs the soft engine: the workloads with `--detail counts` and `--detail timing`,
//! in interleaved rounds.

use super::{Figure, figure, ratio};
use crate::error::TaskError;
use crate::images;
use crate::vpmu_cli::{EngineFlags, Vpmu};

const PROFILE: &str = "icelake-sp";
/// Batches of each workload: the same work on both sides, of some seconds with the model.
const PASSES: &str = "passes=40";

fn failed(reason: &str) -> TaskError {
    TaskError::Measure { what: "speed with a model of the core", reason: reason.to_owned() }
}

/// Million instructions per second with either, and the ratio.
pub(super) fn measure(rounds: usize) -> Result<Vec<Figure>, TaskError> {
    let vpmu = Vpmu::build()?;
    let all = images::build()?;
    let image =
        all.iter().find(|image| image.is_workload()).ok_or_else(|| failed("no image of workloads"))?;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (rates, detail) in rates.iter_mut().zip(["counts", "timing"]) {
            let mut command = vpmu.on_image("run", &image.path, PROFILE, EngineFlags::Soft);
            command.args(["--detail", detail, "--append", PASSES, "--timeout", "600"]);
            let report = vpmu.json(&mut command)?;
            let number = |key: &str| report[key].as_f64().filter(|number| *number > 0.0);
            let nanoseconds = number("run_ns").ok_or_else(|| failed("the report has no run time"))?;
            let retired = number("instructions").ok_or_else(|| failed("the report has no instructions"))?;
            rates.push(retired * 1e3 / nanoseconds);
        }
    }
    let [counts, timing] = rates;
    let counts = figure("workloads, --detail counts", "M insn/s", counts);
    let timing = figure("workloads, --detail timing", "M insn/s", timing);
    let share = ratio("workloads, speed of timing to counts", &timing, &counts);
    Ok(vec![counts, timing, share])
}
