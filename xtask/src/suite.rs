//! Running the guest images and judging what they say.

use crate::error::TaskError;
use crate::images::GuestImage;
use crate::tap::Tap;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use comfy_table::{CellAlignment, Table, presets};
use std::time::Instant;

/// The profiles that every image runs on.
pub(crate) fn profiles() -> impl Iterator<Item = &'static str> {
    vpmu::profile::PROFILES.iter().map(|profile| profile.name)
}

/// Results of one image on one profile.
#[derive(Debug)]
pub(crate) struct ImageResult {
    pub(crate) image: String,
    pub(crate) profile: &'static str,
    pub(crate) engine: EngineFlags,
    pub(crate) tap: Tap,
    pub(crate) seconds: f64,
    /// Why the run itself is a failure, if it is.
    pub(crate) broken: Option<String>,
}

impl ImageResult {
    pub(crate) fn is_success(&self) -> bool {
        self.broken.is_none() && self.tap.is_success()
    }

    /// Number of failures: failed tests, or 1 for a run that broke off.
    pub(crate) fn failures(&self) -> usize {
        self.tap.failed.len().max(usize::from(!self.is_success()))
    }
}

/// Boots one test image.
pub(crate) fn run_image(
    vpmu: &Vpmu,
    image: &GuestImage,
    profile: &'static str,
    engine: EngineFlags,
) -> Result<ImageResult, TaskError> {
    let started = Instant::now();
    let report = vpmu.json(&mut vpmu.on_image("run", &image.path, profile, engine))?;
    let tap = Tap::parse(report["console"].as_str().unwrap_or_default());
    let kind = report["outcome"]["kind"].as_str().unwrap_or("no outcome");
    let broken = match kind {
        "exit" if tap.planned == Some(tap.seen()) && tap.passed == 0 => Some("every test skipped".to_owned()),
        "exit" if tap.planned == Some(tap.seen()) => None,
        "exit" => Some(format!("{} results of {:?} planned", tap.seen(), tap.planned)),
        other => Some(format!("ended by {other}")),
    };
    Ok(ImageResult {
        image: image.name.clone(),
        profile,
        engine,
        tap,
        seconds: started.elapsed().as_secs_f64(),
        broken,
    })
}

/// Prints results as a table, with every failure and its reason below.
pub(crate) fn print_results(results: &[ImageResult]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["image", "profile", "engine", "passed", "failed", "skipped", "time"]);
    for column in 3..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for result in results {
        table.add_row([
            result.image.clone(),
            result.profile.to_owned(),
            result.engine.name().to_owned(),
            result.tap.passed.to_string(),
            result.failures().to_string(),
            result.tap.skipped.len().to_string(),
            format!("{:.2} s", result.seconds),
        ]);
    }
    anstream::println!("{table}");
    for result in results.iter().filter(|result| !result.is_success()) {
        for test in &result.tap.failed {
            anstream::println!(
                "FAILED {} on {} ({}): {test}",
                result.image,
                result.profile,
                result.engine.name()
            );
        }
        if let Some(reason) = &result.broken {
            anstream::println!(
                "FAILED {} on {} ({}): {reason}",
                result.image,
                result.profile,
                result.engine.name()
            );
        }
    }
    let mut reasons: Vec<&String> = results.iter().flat_map(|result| &result.tap.skipped).collect();
    reasons.sort();
    reasons.dedup();
    for skipped in reasons {
        anstream::println!("skipped {skipped}");
    }
}
