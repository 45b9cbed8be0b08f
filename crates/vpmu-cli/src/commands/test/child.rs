//! One test in a process of its own: whatever happens to it happens to this test only.

use super::plan::Case;
use super::schedule::Schedule;
use serde_json::Value;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The child ends a guest at the time-out by itself; one that does not is killed so much later.
const GRACE: Duration = Duration::from_secs(15);
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
}

/// Runs a test's process to its end; an error means that it could not be started.
pub(super) fn run(schedule: &Schedule, case: &Case) -> io::Result<Ended> {
    let mut command = Command::new(&schedule.program);
    command
        .args(case.arguments())
        .args(["--threads", &schedule.threads.to_string()])
        .args(["--json", "--quiet", "--color", "never"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (sender, receiver) = mpsc::channel();
    let errors = child.stderr.take().map(|stderr| thread::spawn(move || read(stderr)));
    if let Some(stdout) = child.stdout.take() {
        // Closed when the child ends; nobody else holds it.
        thread::spawn(move || sender.send(read(stdout)));
    }
    let limit = Duration::from_secs(case.entry.timeout) + GRACE;
    let output = receiver.recv_timeout(limit);
    if matches!(output, Err(RecvTimeoutError::Timeout)) {
        // It may have ended by itself just now.
        let _ = child.kill();
    }
    let status = match child.wait() {
        Ok(status) => status,
        Err(error) => return Ok(Ended::Died(format!("nobody knows how it ended: {error}"))),
    };
    Ok(match output {
        Err(RecvTimeoutError::Timeout) => Ended::Hung,
        output => {
            let errors = errors.and_then(|thread| thread.join().ok()).unwrap_or_default();
            judge(status, &output.unwrap_or_default(), &String::from_utf8_lossy(&errors))
        }
    })
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
        return Ended::Died(format!("vpmu was killed by {}", signal_name(signal)));
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

fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    format!("signal {signal} ({name})")
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
