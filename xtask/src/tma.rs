//! `cargo xtask tma`: are the workloads bound by what they were written for?
//!
//! The `workloads` image runs on the soft engine with a model of the core; the largest category of each measuring
//! window must be the one that the workload is labelled with, and so must be the largest of its parts. Where the guest
//! counts the events of a published formula for level 1, the formula must agree with the model's slots.

use crate::error::TaskError;
use crate::images;
use crate::tally::Tally;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;
use std::path::Path;
use workloads::Category;

/// One profile for each of Intel's pipelines.
pub(crate) const PROFILES_OF_CORES: [&str; 3] = ["skylake-sp", "icelake-sp", "sapphire-rapids"];
/// Percentage points between the published formula and the model's slots. What was issued and has not retired when
/// counters are read is bad speculation to the formula.
const FORMULA_POINTS: f64 = 1.0;

#[derive(Debug, Args)]
pub(crate) struct TmaArgs {
    /// Every Intel profile whose core has a model, not only one for each pipeline
    #[arg(long)]
    all: bool,
    /// This profile only
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    profile: Option<String>,
}

/// The largest category of each level, with its share of the slots in percent.
type Largest = [Option<(String, f64)>; 2];

/// The task.
pub(crate) fn tma(args: &TmaArgs) -> Result<(), TaskError> {
    let images = images::build()?;
    let image = images.iter().find(|image| image.is_workload());
    let image = image.ok_or_else(|| TaskError::Data("there is no image of workloads".to_owned()))?;
    let vpmu = Vpmu::build()?;
    let profiles = match &args.profile {
        Some(name) => vec![name.clone()],
        None if args.all => vpmu.modelled_intel_profiles()?,
        None => PROFILES_OF_CORES.map(str::to_owned).to_vec(),
    };
    let profiles: Vec<&str> = profiles.iter().map(String::as_str).collect();
    match check(&vpmu, &image.path, &profiles)?.failed {
        0 => Ok(()),
        failed => Err(TaskError::Failed(format!("{failed} workloads are bound by something else"))),
    }
}

/// Runs the image on the profiles and prints a table.
pub(crate) fn check(vpmu: &Vpmu, image: &Path, profiles: &[&str]) -> Result<Tally, TaskError> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["profile", "workload", "expected", "level 1", "%", "level 2", "%", ""]);
    for column in [4, 6] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut tally = Tally::default();
    let mut formulas = Vec::new();
    for profile in profiles {
        let mut command = vpmu.on_image("stat", image, profile, EngineFlags::Soft);
        let report = vpmu.json(command.args(["--detail", "timing", "--timeout", "600"]))?;
        for workload in workloads::ALL {
            let Some(expected) = workload.dominant else { continue };
            if workload.extension.is_some() && !ran(&report, workload.name) {
                continue;
            }
            let found = largest(&report, workload.name);
            let good = is_bound_by(&found, expected);
            tally.add(good);
            let [one, two] = found.map(|part| {
                part.map_or_else(|| ("-".to_owned(), "-".to_owned()), |(n, p)| (n, format!("{p:.1}")))
            });
            let verdict = if good { "ok" } else { "NOT OK" };
            let row = [*profile, workload.name, expected.level2(), &one.0, &one.1, &two.0, &two.1, verdict];
            table.add_row(row);
        }
        formulas.extend(formula_distance(&report).map(|points| (*profile, points)));
    }
    anstream::println!("{}", table.trim_fmt());
    for (profile, points) in formulas {
        tally.add(points <= FORMULA_POINTS);
        anstream::println!(
            "{profile}: the published formula is at most {points:.2} points from the slots that the model knows"
        );
    }
    let Tally { passed, failed, .. } = tally;
    anstream::println!("{passed} of {} checks hold", passed + failed);
    Ok(tally)
}

/// The largest difference between a share of level 1 by the formula and the model's; `None` without a formula.
fn formula_distance(report: &Value) -> Option<f64> {
    let shares = |view: &str| -> Vec<(String, String, f64)> {
        let windows = report[view].as_array().map_or(&[][..], Vec::as_slice);
        let categories = |window: &Value| {
            let name = window["name"].as_str().unwrap_or_default().to_owned();
            let of = window["categories"].as_array().cloned().unwrap_or_default();
            of.into_iter().filter(|category| category["level"] == 1).filter_map(move |category| {
                Some((name.clone(), category["name"].as_str()?.to_owned(), category["percent"].as_f64()?))
            })
        };
        windows.iter().flat_map(categories).collect()
    };
    let known = shares("windows_tma");
    let distance = |(window, category, percent): &(String, String, f64)| {
        let same = known.iter().find(|(w, c, _)| w == window && c == category);
        same.map_or(f64::MAX, |(_, _, known)| (percent - known).abs())
    };
    shares("windows_formula").iter().map(distance).reduce(f64::max)
}

/// True if the workload has a window: it has none on a CPU that lacks its instructions.
fn ran(report: &Value, name: &str) -> bool {
    report["windows_tma"]
        .as_array()
        .is_some_and(|windows| windows.iter().any(|window| window["name"] == name))
}

fn is_bound_by(found: &Largest, expected: Category) -> bool {
    let names = [expected.level1(), expected.level2()];
    found.iter().zip(names).all(|(part, name)| part.as_ref().is_some_and(|(found, _)| found == name))
}

/// The largest category of level 1 in the window with this name, and the largest of its parts: top down.
fn largest(report: &Value, name: &str) -> Largest {
    let windows = report["windows_tma"].as_array().map_or(&[][..], Vec::as_slice);
    let window = windows.iter().find(|window| window["name"] == name);
    let categories = window.and_then(|window| window["categories"].as_array()).map_or(&[][..], Vec::as_slice);
    // Each category of level 1 comes before its parts.
    let slots = |category: &&Value| category["slots"].as_u64().unwrap_or(0);
    let named =
        |category: &Value| Some((category["name"].as_str()?.to_owned(), category["percent"].as_f64()?));
    let level1 = categories.iter().filter(|category| category["level"] == 1).max_by_key(slots);
    let after = categories.iter().skip_while(|category| Some(*category) != level1).skip(1);
    let level2 = after.take_while(|category| category["level"] == 2).max_by_key(slots);
    [level1.and_then(named), level2.and_then(named)]
}
