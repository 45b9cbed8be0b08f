//! How long it takes to the guest's first instruction, and how much memory that needs.

use super::{Figure, figure};
use crate::error::TaskError;
use crate::images;
use crate::vpmu_cli::{EngineFlags, Vpmu};

pub(super) fn measure(rounds: usize) -> Result<Vec<Figure>, TaskError> {
    let vpmu = Vpmu::build()?;
    let all = images::build()?;
    let image = all.iter().find(|image| image.name == "hostile-halt").ok_or_else(|| TaskError::Measure {
        what: "start-up",
        reason: "there is no image hostile-halt".to_owned(),
    })?;
    let mut startup = Vec::new();
    let mut memory = Vec::new();
    for _ in 0..rounds {
        let report =
            vpmu.json(&mut vpmu.on_image("run", &image.path, "sapphire-rapids", EngineFlags::Kvm))?;
        let number = |key: &'static str| {
            report[key].as_f64().ok_or_else(|| TaskError::Measure {
                what: "start-up",
                reason: format!("the report has no number {key}"),
            })
        };
        startup.push(number("startup_ns")? / 1e6);
        memory.push(number("peak_rss_kib")? / 1024.0);
    }
    Ok(vec![
        figure("start-up to the first guest instruction", "ms", startup),
        figure("peak resident memory of vpmu, 128 MiB guest", "MiB", memory),
    ])
}
