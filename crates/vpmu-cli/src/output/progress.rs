//! A line on stderr while a run takes long and the console is quiet: how far it is, and how fast.

use super::number::duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal as _, stderr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};
use vmm::machine::progress::RunProgress;

/// Shorter runs, and consoles that are quiet for less, need no sign of life.
const QUIET: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(150);
/// Over what the speed is taken.
const SAMPLE: Duration = Duration::from_secs(1);

/// Says that something is going on.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Mutex<State>,
    started: Instant,
}

#[derive(Debug)]
struct State {
    message: String,
    run: RunProgress,
    speed: Speed,
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
        let state = State {
            message,
            run: RunProgress::default(),
            speed: Speed { since: now, instructions: 0, mips: None },
            bar: None,
            last_output: now,
            in_line: false,
            ended: false,
        };
        let progress = Arc::new(Self { state: Mutex::new(state), started: now });
        if !quiet && stderr().is_terminal() {
            let watched = Arc::downgrade(&progress);
            thread::spawn(move || watch(&watched));
        }
        progress
    }

    /// Says what is going on now.
    pub(crate) fn set_message(&self, message: String) {
        self.lock().message = message;
    }

    /// Shows how far this run is.
    pub(crate) fn follow(&self, run: RunProgress) {
        let mut state = self.lock();
        state.speed = Speed { since: Instant::now(), instructions: 0, mips: None };
        state.run = run;
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
        let instructions = state.run.instructions();
        state.speed.sample(instructions);
        if state.ended || state.in_line || state.last_output.elapsed() < QUIET {
            return;
        }
        let State { message, run, speed, bar, .. } = &mut *state;
        let text = format!("{}{message}", how_far(instructions, run.guest_time().0, speed.mips));
        let bar = bar.get_or_insert_with(|| spinner(String::new(), self.started.elapsed()));
        bar.set_message(text);
        bar.tick();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is only about a spinner; it is consistent enough at every point.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Instructions a second, in millions, as of the last sample.
#[derive(Debug)]
struct Speed {
    since: Instant,
    instructions: u64,
    mips: Option<f64>,
}

impl Speed {
    fn sample(&mut self, instructions: u64) {
        let elapsed = self.since.elapsed();
        if elapsed >= SAMPLE {
            let retired = instructions.saturating_sub(self.instructions);
            *self = Self {
                since: Instant::now(),
                instructions,
                mips: Some(retired as f64 / elapsed.as_secs_f64() / 1e6),
            };
        }
    }
}

/// `312.5 million instructions, 130.2 ms of guest time, 48.2 MIPS: `; empty with an engine that does not count them.
fn how_far(instructions: u64, guest_ns: u64, mips: Option<f64>) -> String {
    if instructions == 0 {
        return String::new();
    }
    let millions = instructions as f64 / 1e6;
    let speed = mips.map_or_else(String::new, |mips| format!(", {mips:.1} MIPS"));
    format!("{millions:.1} million instructions, {} of guest time{speed}: ", duration(guest_ns))
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
    if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed}] {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_message(message);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_run_is_said() {
        assert_eq!(how_far(0, 5, Some(0.0)), "", "an engine that does not count");
        assert_eq!(
            how_far(312_500_000, 130_200_000, None),
            "312.5 million instructions, 130.2 ms of guest time: "
        );
        assert!(how_far(1_000_000, 0, Some(48.25)).ends_with(", 48.2 MIPS: "));
    }
}
