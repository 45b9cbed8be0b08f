//! `cargo xtask test compiled`: compiled code does what the interpreter does, on every guest image.

use crate::error::TaskError;
use crate::images::GuestImage;
use crate::linux::Architecture;
use crate::tally::Tally;
use crate::traced::Traced;
use crate::vpmu_cli::{EngineFlags, Vpmu};

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
            let difference = on.differs_in(&off);
            totals.add(difference.is_none());
            if let Some(difference) = difference {
                anstream::println!("FAILED {}, {profile}: differs in {difference}", image.name);
            }
        }
    }
    anstream::println!("{} runs are the same compiled and interpreted", totals.passed);
    Ok(totals)
}

fn run(vpmu: &Vpmu, image: &GuestImage, profile: &str, compile: &str) -> Result<Traced, TaskError> {
    Traced::of(&format!("compiled-{}", image.name), |path| {
        let mut command = vpmu.on_image("run", &image.path, profile, EngineFlags::Soft);
        command.args(["--compile", compile, "--trace"]).arg(path);
        vpmu.json(&mut command)
    })
}
