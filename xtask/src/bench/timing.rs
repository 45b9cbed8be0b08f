//! What a model of the core costs the soft engine: the workloads with `--detail counts` and `--detail timing`,
//! in interleaved rounds.

use super::{Figure, figure, ratio};
use crate::error::TaskError;
use crate::images;
use crate::vpmu_cli::{EngineFlags, Vpmu};

const PROFILE: &str = "icelake-sp";
/// A round takes half a minute, and repeats itself to the instruction.
const ROUNDS: usize = 3;

fn failed(reason: &str) -> TaskError {
    TaskError::Measure { what: "speed with a model of the core", reason: reason.to_owned() }
}

/// Million instructions per second with either, and how many times slower the model is.
pub(super) fn measure(rounds: usize) -> Result<Vec<Figure>, TaskError> {
    let vpmu = Vpmu::build()?;
    let all = images::build()?;
    let image =
        all.iter().find(|image| image.is_workload()).ok_or_else(|| failed("no image of workloads"))?;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..rounds.min(ROUNDS) {
        for (rates, detail) in rates.iter_mut().zip(["counts", "timing"]) {
            let mut command = vpmu.on_image("run", &image.path, PROFILE, EngineFlags::Soft);
            let report = vpmu.json(command.args(["--detail", detail, "--timeout", "600"]))?;
            let nanoseconds = report["run_ns"].as_f64().filter(|ns| *ns > 0.0);
            let nanoseconds = nanoseconds.ok_or_else(|| failed("the report has no run time"))?;
            let retired = instructions(report["console"].as_str().unwrap_or_default());
            rates.push(retired as f64 * 1e3 / nanoseconds);
        }
    }
    let [counts, timing] = rates;
    let counts = figure("workloads, --detail counts", "M insn/s", counts);
    let timing = figure("workloads, --detail timing", "M insn/s", timing);
    let slower = ratio("workloads, speed of counts to timing", &counts, &timing);
    Ok(vec![counts, timing, slower])
}

/// What the workloads say that they have retired.
fn instructions(console: &str) -> u64 {
    let words = console.split_whitespace().filter_map(|word| word.strip_prefix("instructions="));
    words.filter_map(|count| count.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_added_up() {
        let console =
            "workload a iterations=1 instructions=20 cycles=3\nworkload b instructions=22 slots=1\n";
        assert_eq!(instructions(console), 42);
    }
}
