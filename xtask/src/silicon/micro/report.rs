//! The tables of docs/silicon.md, and whether the model keeps to them.

use super::{Line, compare, parse};
use crate::error::TaskError;
use core_model::{CASCADE_LAKE, Core, RAPTOR_COVE, REDWOOD_COVE, ZEN3, ZEN4, ZEN5};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The page, from the root of the repository.
const PAGE: &str = "docs/silicon.md";
const END: &str = "<!-- end -->\n";

/// A recording in the repository.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recording {
    pub(crate) core: &'static Core,
    text: &'static str,
}

pub(crate) const RECORDINGS: [Recording; 6] = [
    Recording { core: &CASCADE_LAKE, text: include_str!("../../../data/silicon/cascade-lake-micro.tsv") },
    Recording { core: &RAPTOR_COVE, text: include_str!("../../../data/silicon/emerald-rapids-micro.tsv") },
    Recording { core: &REDWOOD_COVE, text: include_str!("../../../data/silicon/granite-rapids-micro.tsv") },
    Recording { core: &ZEN3, text: include_str!("../../../data/silicon/zen3-micro.tsv") },
    Recording { core: &ZEN4, text: include_str!("../../../data/silicon/zen4-micro.tsv") },
    Recording { core: &ZEN5, text: include_str!("../../../data/silicon/zen5-micro.tsv") },
];

/// Rows that do not agree: the core, the row, and why, separated by tabs.
const OUTSIDE: &str = include_str!("../../../data/silicon/outside.tsv");

/// Reasons by the name of the row.
pub(crate) fn reasons(core: &Core) -> BTreeMap<&'static str, &'static str> {
    let fields = OUTSIDE.lines().filter_map(|line| {
        let (name, rest) = line.split_once('\t')?;
        (name == core.name).then(|| rest.split_once('\t')).flatten()
    });
    fields.collect()
}

impl Recording {
    pub(crate) fn lines(&self) -> Result<Vec<Line>, TaskError> {
        Ok(compare(self.core, &parse(self.text).map_err(TaskError::Data)?))
    }

    fn begin(&self) -> String {
        format!("<!-- rows of {} -->\n", self.core.name)
    }

    /// What is between the marks of the page.
    fn section(&self, lines: &[Line]) -> String {
        let reasons = reasons(self.core);
        let mut text = "| | silicon | model | error | why |\n| --- | ---: | ---: | ---: | --- |\n".to_owned();
        for line in lines {
            let Some((silicon, model)) = line.silicon.zip(line.model) else { continue };
            let error = (model / silicon - 1.0) * 100.0;
            let why = if line.agrees() == Some(true) { "" } else { reasons.get(line.name).unwrap_or(&"?") };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "| {} | {silicon:.2} | {model:.2} | {error:+.0} % | {why} |", line.name);
        }
        let agree = lines.iter().filter(|line| line.agrees() == Some(true)).count();
        let _ = writeln!(text, "\n{agree} of {} rows agree.", lines.len());
        text
    }
}

/// The rows of all recordings.
fn all_lines() -> Result<Vec<(Recording, Vec<Line>)>, TaskError> {
    RECORDINGS.into_iter().map(|recording| Ok((recording, recording.lines()?))).collect()
}

/// The page with these tables.
fn renew(page: &str, all: &[(Recording, Vec<Line>)]) -> Result<String, TaskError> {
    let mut page = page.to_owned();
    for (recording, lines) in all {
        let begin = recording.begin();
        let missing = || TaskError::Data(format!("{PAGE} has no {}", begin.trim_end()));
        let from = page.find(&begin).ok_or_else(missing)? + begin.len();
        let to = from + page[from..].find(END).ok_or_else(missing)?;
        page.replace_range(from..to, &recording.section(lines));
    }
    Ok(page)
}

/// Writes the tables to the page, below this folder.
pub(crate) fn write(root: &Path) -> Result<(), TaskError> {
    let path = root.join(PAGE);
    let failed = |source| TaskError::File { path: path.clone(), source };
    let page = fs::read_to_string(&path).map_err(failed)?;
    fs::write(&path, renew(&page, &all_lines()?)?).map_err(failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;
    use std::sync::LazyLock;

    static ALL: LazyLock<Vec<(Recording, Vec<Line>)>> = LazyLock::new(|| all_lines().unwrap());

    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes two minutes without --release")]
    fn rows_keep_to_their_bounds_but_for_those_that_are_named() {
        for (recording, lines) in ALL.iter() {
            let name = recording.core.name;
            let reasons = reasons(recording.core);
            assert!(lines.len() > 60, "{name}: {} rows", lines.len());
            for line in lines {
                let agrees = line.agrees().unwrap();
                let named = reasons.contains_key(line.name);
                assert!(agrees || named, "{name}: {line:?} has left its bound");
                assert!(!agrees || !named, "{name}: {line:?} agrees, and is in outside.tsv");
            }
            let known = |row: &&str| lines.iter().any(|line| line.name == *row);
            assert!(reasons.keys().all(known), "{name}: a row of outside.tsv is no row");
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes two minutes without --release")]
    fn the_page_has_the_tables_of_now() {
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE)).unwrap();
        assert!(renew(&page, &ALL).unwrap() == page, "run `cargo xtask silicon --update` and commit {PAGE}");
    }
}
