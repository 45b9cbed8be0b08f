//! One test in a process of its own: whatever happens to it happens to this test only.

use super::plan::Case;
use crate::commands::sandbox::CHILD_FLAG;
use crate::interrupt::Interrupt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use signal_hook::consts::SIGTERM;
use signal_hook::low_level::signal_name;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The child ends a guest at the time-out by itself; one that does not is killed so much later.
const GRACE: Duration = Duration::from_secs(15);
/// How often it is looked whether we have been interrupted.
const LOOK: Duration = Duration::from_millis(50);
/// Most that is kept of a child's output in bytes; a report holds 1 MiB of console.
const MAX_OUTPUT: u64 = 64 << 20;

/// What came of a process.
#[derive(Debug)]
pub(super) enum Ended {
    /// It ran the guest.
    Report(Value),
    /// It could not, and said why.
    Refused(String),
    /// It died.
    Died(String),
    /// It did not end, and was killed.
    Hung,
    /// We were interrupted and ended it.
    Interrupted,
}

/// Runs a test's process to its end; an error means that it could not be started.
pub(super) fn run(
    program: &Path,
    threads: usize,
    sandbox: bool,
    interrupt: &Interrupt,
    case: &Case,
) -> io::Result<Ended> {
    let mut command = Command::new(program);
    command
        .args(case.arguments())
        .args(["--threads", &threads.to_string()])
        .args(["--json", "--quiet", "--color", "never", "--supervised"])
        .args(sandbox.then_some(CHILD_FLAG))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (sender, receiver) = mpsc::channel();
    let errors = child.stderr.take().map(|stderr| thread::spawn(move || read(stderr)));
    if let Some(stdout) = child.stdout.take() {
        // Closed when the child ends, which alone holds it.
        thread::spawn(move || sender.send(read(stdout)));
    }
    let limit = Duration::from_secs(case.entry.timeout) + GRACE;
    let (output, told) = wait(&receiver, &child, limit, interrupt);
    if output.is_none() {
        // It may have ended by itself just now.
        let _ = child.kill();
    }
    let status = match child.wait() {
        Ok(status) => status,
        Err(error) => return Ok(Ended::Died(format!("how it ended is unknown: {error}"))),
    };
    Ok(match output {
        None if told => Ended::Interrupted,
        None => Ended::Hung,
        // Before it could listen to signals.
        Some(_) if told && status.signal() == Some(SIGTERM) => Ended::Interrupted,
        Some(output) => {
            let errors = errors.and_then(|thread| thread.join().ok()).unwrap_or_default();
            judge(status, &output, &String::from_utf8_lossy(&errors))
        }
    })
}

/// Waits for what a child has printed when it ends; `None` if it does not end in time. When we are interrupted it is
/// told, and has [`GRACE`] to end with what it has. The second value says whether it was.
fn wait(
    output: &Receiver<Vec<u8>>,
    child: &Child,
    limit: Duration,
    interrupt: &Interrupt,
) -> (Option<Vec<u8>>, bool) {
    let mut end = Instant::now() + limit;
    let mut told = false;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match output.recv_timeout(left.min(LOOK)) {
            Ok(output) => return (Some(output), told),
            Err(RecvTimeoutError::Disconnected) => return (Some(Vec::new()), told),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if left.is_zero() || interrupt.at_once() {
            return (None, told || interrupt.at_once());
        }
        if !told && interrupt.signal().is_some() {
            told = true;
            end = Instant::now() + GRACE;
            terminate(child);
        }
    }
}

/// Asks a child, which has not been waited for, to end.
fn terminate(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let sent = pid.map(|pid| kill_process(pid, Signal::TERM));
    if !matches!(sent, Some(Ok(()))) {
        log::debug!("process {} cannot be told to end: {sent:?}", child.id());
    }
}

fn read(stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut stream = stream.take(MAX_OUTPUT);
    // What was read before an error is what there is.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

fn judge(status: ExitStatus, output: &[u8], errors: &str) -> Ended {
    /// Rust's exit code after a panic.
    const PANIC: i32 = 101;
    if let Some(signal) = status.signal() {
        return Ended::Died(format!("vpmu was killed by {}", named(signal)));
    }
    if status.code() == Some(PANIC) {
        let panic =
            errors.lines().filter(|line| !line.trim().is_empty()).take(2).collect::<Vec<_>>().join(" ");
        return Ended::Died(format!("vpmu panicked: {panic}"));
    }
    match serde_json::from_slice(output) {
        Ok(report) => Ended::Report(report),
        Err(_) => {
            let said =
                errors.lines().find(|line| line.starts_with("error:")).or_else(|| errors.lines().next());
            let said = said.unwrap_or("it said nothing").trim_start_matches("error:").trim();
            Ended::Refused(said.to_owned())
        }
    }
}

fn named(signal: i32) -> String {
    match signal_name(signal) {
        Some(name) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_and_a_panic_are_deaths() {
        let died = |raw, errors| match judge(ExitStatus::from_raw(raw), b"", errors) {
            Ended::Died(how) => how,
            other => panic!("{other:?}"),
        };
        assert_eq!(died(11, ""), "vpmu was killed by signal 11 (SIGSEGV)");
        assert_eq!(died(64, ""), "vpmu was killed by signal 64");
        let panic = "\nthread 'main' panicked at src/x.rs:1:2:\nindex out of bounds\nnote: run with\n";
        assert_eq!(
            died(101 << 8, panic),
            "vpmu panicked: thread 'main' panicked at src/x.rs:1:2: index out of bounds"
        );
    }

    #[test]
    fn a_refusal_is_the_error_line() {
        let judged = judge(ExitStatus::from_raw(3 << 8), b"", "warning: x\nerror: no KVM\n  next: buy one\n");
        assert!(matches!(judged, Ended::Refused(why) if why == "no KVM"));
        let judged = judge(ExitStatus::from_raw(0), b"", "");
        assert!(matches!(judged, Ended::Refused(why) if why == "it said nothing"));
    }

    #[test]
    fn a_document_is_a_report_whatever_the_exit_status() {
        let judged = judge(ExitStatus::from_raw(1 << 8), b"{\"exit_code\": 1}", "");
        assert!(matches!(judged, Ended::Report(report) if report["exit_code"] == 1));
    }
}
