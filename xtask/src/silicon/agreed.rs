//! What several recordings of one CPU agree on.
//!
//! A process may measure a block some percent slower than the next one does, in all of its samples. Whatever disturbs
//! makes it longer, so the lowest figure that is seen twice counts.

use super::block::{self, Measured, Way};
use super::form_rows::{self, Row};
use crate::error::TaskError;
use core_model::{Core, Form};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// By how much more a second recording may have measured that agrees.
const AGREES: f64 = 0.03;

/// Reads a text, or names the first line that is wrong.
type Parse<T> = fn(&str) -> Result<Vec<T>, (usize, String)>;

/// The lowest figure that another recording agrees with, and by how much more that has.
fn lowest(mut figures: Vec<f64>) -> Option<(f64, f64)> {
    figures.sort_by(f64::total_cmp);
    let pairs = figures.iter().zip(figures.iter().skip(1));
    pairs.map(|(low, next)| (*low, next / low - 1.0)).find(|(_, more)| *more <= AGREES)
}

/// Rows of a file with what recordings of a core agree on, in the order of the first one, and how many figures these
/// are.
fn rows(recordings: &[Vec<Measured>], core: &Core) -> (String, usize) {
    let mut by_code: HashMap<&[u8], Vec<&Measured>> = HashMap::new();
    for block in recordings.iter().flatten() {
        by_code.entry(&block.code).or_default().push(block);
    }
    let (mut text, mut agreed) = (String::new(), 0);
    for block in recordings.first().into_iter().flatten() {
        // A block that is there twice has been measured twice.
        let Some(of_it) = by_code.remove(block.code.as_slice()) else { continue };
        let count = block::decode(&block.code).map_or(0, |instructions| instructions.len());
        let mut column = |way| {
            let figures = of_it.iter().filter_map(|block| block.cycles(way));
            let figure = lowest(figures.filter(|&cycles| block::is_possible(cycles, count, core)).collect());
            agreed += usize::from(figure.is_some());
            figure.map_or_else(|| "-\t-".to_owned(), |(cycles, more)| format!("{cycles:.4}\t{more:.4}"))
        };
        let (unrolled, looped) = (column(Way::Unrolled), column(Way::Loop));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\t{unrolled}\t{looped}\t{}", block.source, block.hexadecimal());
    }
    (text, agreed)
}

/// What recordings say of themselves, one behind the other, and what they have.
fn read<T>(of: &[PathBuf], parse: Parse<T>) -> Result<(String, Vec<Vec<T>>), TaskError> {
    let (mut text, mut recordings) = (String::new(), Vec::new());
    for path in of {
        let own = block::text(path)?;
        own.lines().take_while(|line| line.starts_with('#')).for_each(|line| text.extend([line, "\n"]));
        recordings.push(parse(&own).map_err(|wrong| TaskError::at_line(path, wrong))?);
    }
    Ok((text, recordings))
}

/// Writes what the recordings agree on to a file.
pub(super) fn write(path: &Path, of: &[PathBuf], core: &Core) -> Result<(), TaskError> {
    let (mut text, recordings) = read(of, block::parse)?;
    let (rows, agreed) = rows(&recordings, core);
    let figures = 2 * rows.lines().count();
    let _ = writeln!(text, "# {agreed} of {figures} figures are the lowest that two of these agree on");
    let _ = writeln!(text, "{}", block::HEADER);
    text += &rows;
    fs::write(path, text).map_err(|source| TaskError::File { path: path.to_owned(), source })?;
    anstream::println!("wrote {}: {agreed} of {figures} figures", path.display());
    Ok(())
}

/// What recordings of forms agree on, in the order of the first one, without forms of which that is nothing.
fn forms(recordings: &[Vec<Row>]) -> Vec<Row> {
    let mut by_form: HashMap<(&str, Form), Vec<&Row>> = HashMap::new();
    for row in recordings.iter().flatten() {
        by_form.entry((&row.form, row.operand)).or_default().push(row);
    }
    let agreed = |row: &Row| {
        let of_it = by_form.get(&(row.form.as_str(), row.operand)).map_or(&[][..], Vec::as_slice);
        let lowest = |figures: Vec<f64>| lowest(figures).map(|(cycles, _)| cycles);
        let through = |operand: u32| {
            let all = of_it.iter().flat_map(|row| &row.latencies).filter(|(of, _)| *of == operand);
            Some((operand, lowest(all.map(|(_, cycles)| *cycles).collect())?))
        };
        let mut operands: Vec<u32> =
            of_it.iter().flat_map(|row| row.latencies.iter().map(|(operand, _)| *operand)).collect();
        operands.sort_unstable();
        operands.dedup();
        Row {
            cycles: lowest(of_it.iter().filter_map(|row| row.cycles).collect()),
            latencies: operands.into_iter().filter_map(through).collect(),
            ..row.clone()
        }
    };
    recordings.first().into_iter().flatten().map(agreed).filter(|row| row.count() > 0).collect()
}

/// Writes what recordings of forms agree on to a file.
pub(super) fn write_forms(path: &Path, of: &[PathBuf]) -> Result<(), TaskError> {
    let (mut text, recordings) = read(of, form_rows::parse)?;
    let rows = forms(&recordings);
    let agreed: usize = rows.iter().map(Row::count).sum();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# {agreed} figures are the lowest that two of these agree on");
    let _ = writeln!(text, "{}", form_rows::HEADER);
    rows.iter().for_each(|row| text.extend([row.to_string(), "\n".to_owned()]));
    fs::write(path, text).map_err(|source| TaskError::File { path: path.to_owned(), source })?;
    anstream::println!("wrote {}: {agreed} figures of {} forms", path.display(), rows.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;
    use crate::silicon::find_core;

    #[test]
    fn the_lowest_that_two_agree_on_counts() {
        assert_eq!(lowest(vec![2.0, 1.0, 1.5, 1.51]).map(|(cycles, _)| cycles), Some(1.5));
        assert_eq!(lowest(vec![1.0, 1.1]), None);
        assert_eq!(lowest(vec![1.0]), None);
        let recording = |figures: [&str; 2]| {
            let [add, sub] = figures;
            block::parse(&format!("a\t{add}\t0\t-\t-\t4801d8\na\t{sub}\t0\t2.0\t0\t4829d8\n")).unwrap()
        };
        let core = find_core("zen-5").unwrap();
        let recordings = [recording(["1.2", "-"]), recording(["1.0", "3.0"]), recording(["1.01", "4"])];
        let (rows, agreed) = rows(&recordings, core);
        assert_eq!(rows, "a\t1.0000\t0.0100\t-\t-\t4801d8\na\t-\t-\t2.0000\t0.0000\t4829d8\n");
        assert_eq!(agreed, 2);
    }

    #[test]
    fn what_no_core_can_do_does_not_count() {
        let recording = |cycles| block::parse(&format!("a\t{cycles}\t0\t-\t-\t4801d84829d8\n")).unwrap();
        let recordings = ["0.12", "0.12", "0.13", "0.13"].map(recording);
        let (rows, _) = rows(&recordings, find_core("zen-5").unwrap());
        assert_eq!(rows, "a\t0.1300\t0.0000\t-\t-\t4801d84829d8\n");
    }

    #[test]
    fn forms_have_what_two_agree_on() {
        let recording = |text| form_rows::parse(text).unwrap();
        let rows = forms(&[
            recording("A\tr\t0.16\t1:2.0\nB\tr\t1\t-"),
            recording("A\tr\t0.25\t1:2.5"),
            recording("A\tr\t0.2501\t0:1,1:2.01\nB\tr\t2\t-"),
        ]);
        let texts: Vec<String> = rows.iter().map(Row::to_string).collect();
        assert_eq!(texts, ["A\tr\t0.2500\t1:2.0000"]);
    }
}
