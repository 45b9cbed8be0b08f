//! Ctrl-C and its kin: the first signal asks what runs to end with its results, the second ends it at once.

use crate::terminal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use vmm::machine::stop::StopRequest;

/// A second signal sooner than this is the first one once more: `timeout(1)` sends it to the process and to its
/// group.
const ECHO: Duration = Duration::from_millis(300);

/// Whose signals they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A command of its own.
    Alone,
    /// A command whose processes end first: the second signal kills them, the third ends the command itself.
    Parent,
    /// Such a process. The terminal's signals are for its parent, which says SIGTERM when it has to end.
    Child,
}

/// What signals have asked for so far. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt {
    request: StopRequest,
    at_once: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes SIGINT, SIGTERM and SIGHUP from here on, but for those that the parent process has switched off, as
    /// `nohup` does.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn watch(role: Role) -> io::Result<Self> {
        let ignored = ignored(&fs::read_to_string("/proc/self/status").unwrap_or_default());
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|n| ignored >> (n - 1) & 1 == 0))?;
        let interrupt = Self::default();
        let told = interrupt.clone();
        thread::spawn(move || {
            let mut state = State { role, first: None, seconds: 0 };
            for signal in signals.forever() {
                told.act(signal, state.next(signal, Instant::now()));
            }
        });
        Ok(interrupt)
    }

    fn act(&self, signal: i32, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Stop => self.request.request(signal),
            Step::Kill => self.at_once.store(true, Ordering::SeqCst),
            Step::Exit => {
                terminal::leave_raw();
                low_level::exit(exit_code(signal).into());
            }
        }
    }

    /// For the VMM.
    pub(crate) fn request(&self) -> StopRequest {
        self.request.clone()
    }

    /// The first signal.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.request.signal()
    }

    /// Whether there was a second one.
    pub(crate) fn at_once(&self) -> bool {
        self.at_once.load(Ordering::SeqCst)
    }
}

/// What a signal leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Nothing,
    Stop,
    Kill,
    Exit,
}

#[derive(Debug)]
struct State {
    role: Role,
    first: Option<Instant>,
    seconds: u32,
}

impl State {
    fn next(&mut self, signal: i32, now: Instant) -> Step {
        let Some(first) = self.first else {
            if self.role == Role::Child && signal != SIGTERM {
                return Step::Nothing;
            }
            self.first = Some(now);
            return Step::Stop;
        };
        if self.role == Role::Child || now.duration_since(first) < ECHO {
            return Step::Nothing;
        }
        self.seconds += 1;
        if self.role == Role::Parent && self.seconds == 1 { Step::Kill } else { Step::Exit }
    }
}

/// The mask of ignored signals, bit 0 for signal 1 (proc(5)).
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// What a shell says of a process that a signal has ended.
pub(crate) fn exit_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// `SIGINT`.
pub(crate) fn name(signal: i32) -> String {
    low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(role: Role, signals: &[(i32, u64)]) -> Vec<Step> {
        let mut state = State { role, first: None, seconds: 0 };
        let start = Instant::now();
        signals.iter().map(|(signal, ms)| state.next(*signal, start + Duration::from_millis(*ms))).collect()
    }

    #[test]
    fn the_first_signal_stops_and_the_second_ends_at_once() {
        use Step::{Exit, Kill, Nothing, Stop};
        assert_eq!(steps(Role::Alone, &[(SIGINT, 0), (SIGINT, 1_000)]), [Stop, Exit]);
        assert_eq!(steps(Role::Alone, &[(SIGTERM, 0), (SIGTERM, 1), (SIGINT, 400)]), [Stop, Nothing, Exit]);
        assert_eq!(steps(Role::Parent, &[(SIGINT, 0), (SIGINT, 400), (SIGINT, 401)]), [Stop, Kill, Exit]);
    }

    #[test]
    fn a_child_listens_to_its_parent_only() {
        use Step::{Nothing, Stop};
        let signals = [(SIGINT, 0), (SIGHUP, 1), (SIGTERM, 2), (SIGTERM, 5_000), (SIGINT, 9_000)];
        assert_eq!(steps(Role::Child, &signals), [Nothing, Nothing, Stop, Nothing, Nothing]);
    }

    #[test]
    fn what_nohup_switches_off_stays_off() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000000002\n"), 1);
        assert_eq!(ignored(""), 0);
    }

    #[test]
    fn an_interrupted_command_has_the_status_of_a_shell() {
        assert_eq!([SIGHUP, SIGINT, SIGTERM].map(exit_code), [129, 130, 143]);
        assert_eq!(name(SIGINT), "SIGINT");
    }
}
