//! The guest's console, with the processor time that its emulator had used when each line came. Processor time,
//! because other programs on the machine would be measured too otherwise.

#![expect(unsafe_code, reason = "settings of a terminal")]

use super::{Loop, Run, failed};
use crate::error::TaskError;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The longest silence.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Lines as they come.
#[derive(Debug)]
pub(super) struct Lines {
    receiver: Receiver<(Option<f64>, String)>,
}

impl Lines {
    /// Reads in a thread of its own, so that a guest that falls silent is noticed.
    pub(super) fn of(emulator: &Child, stream: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        let process = emulator.id();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if sender.send((processor_seconds(process), line)).is_err() {
                    return;
                }
            }
        });
        Self { receiver }
    }

    /// Processor time, in seconds, when a line with this text came.
    pub(super) fn until(&mut self, text: &str) -> Result<f64, TaskError> {
        loop {
            let (now, line) = self.next()?;
            if line.contains(text) {
                return Ok(now);
            }
        }
    }

    fn next(&mut self) -> Result<(f64, String), TaskError> {
        let (now, line) = self
            .receiver
            .recv_timeout(TIMEOUT)
            .map_err(|_| failed("the guest's console ended or fell silent before it was done"))?;
        Ok((now.ok_or_else(|| failed("the emulator's processor time is unknown"))?, line))
    }

    /// Reads until the image says that it is done.
    pub(super) fn loops(&mut self) -> Result<Run, TaskError> {
        let mut run = Run::default();
        let mut begun = None;
        loop {
            let (now, line) = self.next()?;
            let mut words = line.split_ascii_whitespace();
            match (words.next(), words.next()) {
                (Some("begin"), _) => begun = Some(now),
                (Some("end"), Some(name)) => {
                    let begun = begun.take().ok_or_else(|| failed(format!("`{line}` without a begin")))?;
                    let instructions =
                        words.find_map(|word| word.strip_prefix("instructions=")?.parse().ok());
                    run.loops.push(Loop { name: name.to_owned(), seconds: now - begun, instructions });
                }
                (Some("#"), Some("LBR")) => run.lbr = words.next() == Some("on"),
                (Some("done"), _) => return Ok(run),
                (Some("Bail"), _) => return Err(failed(format!("the guest said: {line}"))),
                _ => {}
            }
        }
    }
}

/// Seconds that all threads of a process have run; `None` if it has ended.
fn processor_seconds(process: u32) -> Option<f64> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both pointers are to locals that outlive the calls.
    let known = unsafe {
        libc::clock_getcpuclockid(process.cast_signed(), &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    known.then(|| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}
