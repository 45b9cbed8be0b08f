//! The event tables of `vpmu`, from the vendors' lists.
//!
//! `crates/vpmu/data/events.tsv` says which events have a name, and `events.corrections.tsv` where a list is wrong; the
//! codes come from the lists: Intel's perfmon (github.com/intel/perfmon), and for AMD and Arm those of perf in a Linux
//! source tree (`tools/perf/pmu-events`). The lists themselves are not part of the project.

mod list;
mod write;

use crate::cargo::root;
use crate::error::TaskError;
use list::{Code, List};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A core, by the name that corrections and tables use, and the files of its list.
struct Core {
    name: &'static str,
    files: &'static [&'static str],
}

const fn core(name: &'static str, files: &'static [&'static str]) -> Core {
    Core { name, files }
}

/// Files in a copy of `intel/perfmon`.
const INTEL: [Core; 5] = [
    core("SKX", &["SKX/events/skylakex_core.json", "SKX/events/skylakex_fp_arith_inst.json"]),
    core("ICX", &["ICX/events/icelakex_core.json"]),
    core("SPR", &["SPR/events/sapphirerapids_core.json"]),
    core("GNR", &["GNR/events/graniterapids_core.json"]),
    core("LNL", &["LNL/events/lunarlake_lioncove_core.json"]),
];
/// Folders in a Linux source tree.
const AMD: [Core; 4] = [
    core("ZEN2", &["tools/perf/pmu-events/arch/x86/amdzen2"]),
    core("ZEN3", &["tools/perf/pmu-events/arch/x86/amdzen3"]),
    core("ZEN4", &["tools/perf/pmu-events/arch/x86/amdzen4"]),
    core("ZEN5", &["tools/perf/pmu-events/arch/x86/amdzen5"]),
];
/// Files in a Linux source tree.
const ARM: [Core; 1] = [core("FALKOR", &["tools/perf/pmu-events/arch/arm64/common-and-microarch.json"])];

#[derive(Debug, clap::Args)]
pub(crate) struct EventsArgs {
    /// A copy of github.com/intel/perfmon; without it the tables of Intel's cores stay
    #[arg(long, value_name = "DIR")]
    perfmon: Option<PathBuf>,
    /// A Linux source tree; without it the tables of AMD's and Arm's cores stay
    #[arg(long, value_name = "DIR")]
    linux: Option<PathBuf>,
}

/// An event of `events.tsv`.
struct Named {
    name: String,
    description: String,
    /// Other names, the preferred one first.
    others: Vec<String>,
}

/// What replaces rows of the lists, by core and event; `None` removes one.
type Corrections = BTreeMap<(String, String), Option<Code>>;

/// How one or several cores encode an event.
struct Row<'a> {
    cores: Vec<&'static str>,
    event: &'a Named,
    /// The list's name for it.
    listed: &'a str,
    code: Code,
}

/// Writes `names.rs`, and the tables of the vendors whose lists are given.
pub(crate) fn events(args: &EventsArgs) -> Result<(), TaskError> {
    let data = root().join("crates/vpmu/data");
    let source = root().join("crates/vpmu/src/event");
    let names = names(&read(&data.join("events.tsv"))?)?;
    let corrections = corrections(&read(&data.join("events.corrections.tsv"))?, &names)?;
    save(&source.join("vocabulary/names.rs"), &write::vocabulary(&names))?;
    let vendors = [
        (&args.perfmon, INTEL.as_slice(), "intel.rs"),
        (&args.linux, AMD.as_slice(), "amd.rs"),
        (&args.linux, ARM.as_slice(), "arm.rs"),
    ];
    for (folder, cores, file) in vendors {
        let Some(folder) = folder else { continue };
        let mut versions = Vec::new();
        let mut rows: Vec<Row<'_>> = Vec::new();
        let mut lists = Vec::new();
        for core in cores {
            let list = List::read(folder, core.files)?;
            versions.extend_from_slice(&list.versions);
            lists.push((core.name, list));
        }
        versions.dedup();
        for event in &names {
            // Equal rows of several cores stand together.
            let first = rows.len();
            for (core, list) in &lists {
                let corrected = corrections.get(&((*core).to_owned(), event.name.clone()));
                let (listed, code) = match corrected {
                    Some(None) => continue,
                    Some(Some(code)) => (&event.name, code.clone()),
                    None => match list.find(event) {
                        Some(found) => found,
                        None => continue,
                    },
                };
                match rows[first..].iter_mut().find(|row| row.listed == listed && row.code == code) {
                    Some(row) => row.cores.push(core),
                    None => rows.push(Row { cores: vec![core], event, listed, code }),
                }
            }
        }
        let all: Vec<&str> = cores.iter().map(|core| core.name).collect();
        save(&source.join("encodings").join(file), &write::table(&all, &versions, &rows))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, TaskError> {
    fs::read_to_string(path).map_err(|source| TaskError::File { path: path.to_owned(), source })
}

fn save(path: &Path, text: &str) -> Result<(), TaskError> {
    fs::write(path, text).map_err(|source| TaskError::File { path: path.to_owned(), source })?;
    anstream::println!("wrote {}", path.display());
    Ok(())
}

/// The fields of each line that is no comment.
fn fields(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn names(text: &str) -> Result<Vec<Named>, TaskError> {
    fields(text)
        .map(|fields| match fields[..] {
            [name, description, ref others @ ..] if others.len() < 2 => Ok(Named {
                name: name.to_owned(),
                description: description.to_owned(),
                others: others.iter().flat_map(|others| others.split(", ")).map(str::to_owned).collect(),
            }),
            _ => Err(TaskError::Data(format!("events.tsv: {fields:?} has not two or three fields"))),
        })
        .collect()
}

fn corrections(text: &str, names: &[Named]) -> Result<Corrections, TaskError> {
    let wrong = |what: String| TaskError::Data(format!("events.corrections.tsv: {what}"));
    let mut corrections = Corrections::new();
    for fields in fields(text) {
        let [cores, name, code, _why] = fields[..] else {
            return Err(wrong(format!("{fields:?} has not four fields")));
        };
        if !names.iter().any(|event| event.name == name) {
            return Err(wrong(format!("events.tsv has no {name}")));
        }
        let code = match code {
            "absent" => None,
            code => Some(Code::parse(code).ok_or_else(|| wrong(format!("{code:?} is no code")))?),
        };
        for core in cores.split(',') {
            if !INTEL.iter().chain(&AMD).chain(&ARM).any(|known| known.name == core) {
                return Err(wrong(format!("there is no core {core}")));
            }
            corrections.insert((core.to_owned(), name.to_owned()), code.clone());
        }
    }
    Ok(corrections)
}
