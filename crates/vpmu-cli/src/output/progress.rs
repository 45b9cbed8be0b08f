//! A spinner on stderr while a run takes long and the console is quiet.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal as _, stderr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Shorter runs, and consoles that are quiet for less, need no sign of life.
const QUIET: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(150);

/// Says that something is going on.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Mutex<State>,
    started: Instant,
}

#[derive(Debug)]
struct State {
    message: String,
    bar: Option<ProgressBar>,
    last_output: Instant,
    /// The console is in the middle of a line, which the spinner would overwrite.
    in_line: bool,
    ended: bool,
}

impl Progress {
    /// Starts watching. Nothing is ever shown when `quiet`, or when stderr is not a terminal.
    pub(crate) fn start(message: String, quiet: bool) -> Arc<Self> {
        let now = Instant::now();
        let state = State { message, bar: None, last_output: now, in_line: false, ended: false };
        let progress = Arc::new(Self { state: Mutex::new(state), started: now });
        if !quiet && stderr().is_terminal() {
            let watched = Arc::downgrade(&progress);
            thread::spawn(move || watch(&watched));
        }
        progress
    }

    /// Says what is going on now.
    pub(crate) fn set_message(&self, message: String) {
        let mut state = self.lock();
        if let Some(bar) = &state.bar {
            bar.set_message(message.clone());
        }
        state.message = message;
    }

    /// The console is about to print `data`: the spinner goes away.
    pub(crate) fn output(&self, data: &[u8]) {
        let mut state = self.lock();
        state.last_output = Instant::now();
        state.in_line = data.last().is_some_and(|&byte| byte != b'\n');
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Takes the spinner away for good.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn tick(&self) {
        let mut state = self.lock();
        if state.ended || state.in_line || state.last_output.elapsed() < QUIET {
            return;
        }
        let State { message, bar, .. } = &mut *state;
        bar.get_or_insert_with(|| spinner(message.clone(), self.started.elapsed())).tick();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is only about a spinner; it is consistent enough at every point.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

fn watch(progress: &Weak<Progress>) {
    loop {
        thread::sleep(TICK);
        match progress.upgrade() {
            Some(progress) => progress.tick(),
            None => return,
        }
    }
}

fn spinner(message: String, elapsed: Duration) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_elapsed(elapsed);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
        bar.set_style(style);
    }
    bar.set_message(message);
    bar
}
