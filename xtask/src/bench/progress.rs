//! What a measurement of minutes is doing: a bar on a terminal, lines elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};

#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    lines: bool,
}

impl Progress {
    /// Of so many steps.
    pub(super) fn new(steps: usize) -> Self {
        let style = ProgressStyle::with_template("{bar:30} [{elapsed}, {eta} left] {msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self { bar: ProgressBar::new(steps as u64).with_style(style), lines: !stderr().is_terminal() }
    }

    /// The next step begins.
    pub(super) fn begin(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
        self.bar.inc(1);
    }

    /// Something has come out.
    pub(super) fn say(&self, line: &str) {
        if self.lines {
            anstream::eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
