//! What the user sees: results on stdout, everything else on stderr.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`number`] | counts, percentages and times as text |
//! | [`bar`] | bars of a fraction |
//! | [`table`] | tables |
//! | [`report`] | how a run ended, for people |
//! | [`console`] | the guest's console, live |
//! | [`mod@file`] | results in files |
//! | [`progress`] | a spinner while nothing else happens |

pub(crate) mod bar;
pub(crate) mod console;
pub(crate) mod file;
pub(crate) mod number;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod table;

use crate::args::ColorWhen;
use crate::error::CliError;
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write as _};

/// Headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// Things that went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Things to look at.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// Things that went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Less important text.
pub(crate) const DIM: Style = Style::new().dimmed();

/// Retiring, bad speculation, frontend bound and backend bound.
pub(crate) const TMA: [Style; 4] = [
    AnsiColor::Green.on_default(),
    AnsiColor::Red.on_default(),
    AnsiColor::Yellow.on_default(),
    AnsiColor::Blue.on_default(),
];

/// Characters that fit a line of the terminal, 80 where there is none.
pub(crate) fn columns() -> usize {
    terminal().unwrap_or(80)
}

/// Characters that fit a line of the terminal, if there is one.
#[cfg(not(test))]
pub(crate) fn terminal() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

#[cfg(test)]
thread_local! {
    /// The terminal of a test: none, unless [`assert_fits`] wants one.
    static TERMINAL: std::cell::Cell<Option<usize>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
pub(crate) fn terminal() -> Option<usize> {
    TERMINAL.get()
}

/// What is printed fits terminals of usual widths, and has these words as they are on each of them.
#[cfg(test)]
pub(crate) fn assert_fits(words: &[&str], printed: impl Fn() -> String) {
    for width in [60, 80, 120, 200] {
        TERMINAL.set(Some(width));
        let text = anstream::adapter::strip_str(&printed()).to_string();
        TERMINAL.set(None);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        for word in words {
            assert!(text.contains(word), "{word:?} at {width}:\n{text}");
        }
    }
}

/// Styles a piece of text; the streams drop it where colours are not wanted.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Decides about colours for the whole process.
pub(crate) fn set_color(when: ColorWhen) {
    match when {
        ColorWhen::Auto => anstream::ColorChoice::Auto,
        ColorWhen::Always => anstream::ColorChoice::Always,
        ColorWhen::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Prints a result.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Version of all JSON documents. It grows when a key goes away or changes its meaning, not when one is added.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// A document that says which version it is.
#[derive(Serialize)]
struct Versioned<'a, T: Serialize> {
    schema_version: u32,
    #[serde(flatten)]
    document: &'a T,
}

/// Prints a result, which has named members, as one JSON document.
pub(crate) fn print_json(document: &impl Serialize) -> Result<(), CliError> {
    print(&to_json(document)?)
}

/// A JSON document as it is printed.
pub(crate) fn to_json(document: &impl Serialize) -> Result<String, CliError> {
    let document = Versioned { schema_version: SCHEMA_VERSION, document };
    let mut text = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
    text.push('\n');
    Ok(text)
}

/// The same for a list, which becomes the member `name` of a document.
pub(crate) fn print_json_list<T: Serialize>(name: &str, entries: &[T]) -> Result<(), CliError> {
    print_json(&BTreeMap::from([(name, entries)]))
}

/// Prints a remark to stderr. That this fails cannot be told.
pub(crate) fn remark(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Prints an error and the next step to stderr.
pub(crate) fn error(message: &str, next_step: Option<&str>) {
    let mut text = format!("{} {message}\n", paint(BAD.bold(), "error:"));
    if let Some(next_step) = next_step {
        text += &format!("  {} {next_step}\n", paint(HEADING, "next:"));
    }
    remark(&text);
}

/// Guest text for a terminal: control characters, which are commands there, become visible.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The report of a guest that did nothing and passed, for tests.
#[cfg(test)]
pub(crate) fn test_report() -> vmm::run::RunReport {
    use vmm::machine::{Outcome, UnknownMsrs};
    vmm::run::RunReport {
        outcome: Outcome::Exit { status: 1 },
        cause: None,
        registers: None,
        engine: "kvm",
        profile: "sapphire-rapids".to_owned(),
        metrics_level: 2,
        slots_per_cycle: 6,
        detail: None,
        counts: vpmu::Provenance::Synthetic,
        console: String::new(),
        console_dropped: 0,
        startup_ns: 3_400_000,
        run_ns: 1_250_000_000,
        peak_rss_kib: Some(2_048),
        accesses: vmm::machine::pmu::AccessStats::default(),
        instructions: None,
        exits: vec![("io", 1_200), ("msr", 34), ("halt", 0)],
        completed: Vec::new(),
        counted: Vec::new(),
        topdown: vpmu::TopdownSlots::default(),
        windows: Vec::new(),
        intervals: Vec::new(),
        injections: Vec::new(),
        replay: None,
        unknown_msrs: UnknownMsrs::default(),
        warnings: Vec::new(),
    }
}
