//! What became of many cases, as text.

use super::run::{Difference, Report};
use comfy_table::{Table, presets};
use std::collections::BTreeMap;

/// One example of each difference, and how many there are; the others are often the same.
pub fn print_differences(differences: &[Difference]) {
    let mut shown = BTreeMap::new();
    for difference in differences {
        let count = shown.entry(&difference.mnemonic).or_insert(0_u64);
        *count += 1;
        if *count == 1 {
            anstream::println!("{difference}");
        }
    }
    for (mnemonic, count) in shown {
        anstream::println!("{count:>9} differences in {mnemonic}");
    }
}

/// All of it, of what calls itself so.
pub fn print(report: &Report, version: &str) {
    print_differences(&report.differences);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["cases start with", "mnemonics", "cases"]);
    for (group, count) in &report.groups {
        table.add_row([group.name().to_owned(), count.mnemonics.len().to_string(), count.cases.to_string()]);
    }
    anstream::println!("{table}");
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["cases end in", "cases"]);
    for (signal, count) in &report.signals {
        table.add_row([signal.name().to_owned(), count.to_string()]);
    }
    anstream::println!("{table}");
    anstream::println!(
        "{} cases on {version}: {} unexplained, {} differ in what is not compared only; left out: {} without an end",
        report.cases,
        report.different,
        report.masked,
        report.endless
    );
}
