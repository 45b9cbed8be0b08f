//! Running tests at the same time, and telling about them in their order.

use super::check::Status;
use super::child;
use super::error::TestError;
use super::plan::Case;
use super::verdict::{Verdict, judge};
use crate::interrupt::Interrupt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// How to run.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    /// The executable whose `run` runs a test.
    pub(super) program: PathBuf,
    pub(super) jobs: usize,
    /// Threads of each test.
    pub(super) threads: usize,
    pub(super) fail_fast: bool,
    /// Each test gives up the rights that it does not need.
    pub(super) sandbox: bool,
    pub(super) interrupt: Interrupt,
}

/// Who is told what happens.
pub(super) trait Listener {
    /// A test has begun.
    fn started(&mut self, case: &Case);
    /// A test has ended; in the order in which they end.
    fn ended(&mut self, case: &Case, verdict: &Verdict);
    /// A test has ended; in the order of the plan.
    fn result(&mut self, case: &Case, verdict: &Verdict);
}

enum Event {
    Started(usize),
    Ended(usize, Box<io::Result<Verdict>>),
}

/// Runs the tests. The results are those of the first tests of the plan: all of them, unless a failure
/// stopped the rest.
pub(super) fn run(
    cases: &[Case],
    schedule: &Schedule,
    listener: &mut impl Listener,
) -> Result<Vec<Verdict>, TestError> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let (sender, events) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..schedule.jobs.min(cases.len()).max(1) {
            let sender = sender.clone();
            let (next, stop) = (&next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::SeqCst) && schedule.interrupt.signal().is_none() {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    let Some(case) = cases.get(index) else { return };
                    let _ = sender.send(Event::Started(index));
                    let verdict = run_one(schedule, case);
                    let failed = verdict.as_ref().map_or(true, |verdict| verdict.status() == Status::Failed);
                    // A process that cannot be started will not start for the next test either.
                    if failed && (schedule.fail_fast || verdict.is_err()) {
                        stop.store(true, Ordering::SeqCst);
                    }
                    let _ = sender.send(Event::Ended(index, Box::new(verdict)));
                }
            });
        }
        drop(sender);
        collect(cases, &schedule.program, events, listener)
    })
}

/// A test that is skipped needs no process.
fn run_one(schedule: &Schedule, case: &Case) -> io::Result<Verdict> {
    if let Some(reason) = &case.skip {
        return Ok(Verdict::skipped(reason));
    }
    let started = Instant::now();
    let ended = child::run(&schedule.program, schedule.threads, schedule.sandbox, &schedule.interrupt, case)?;
    let mut verdict = judge(case, ended);
    verdict.seconds = started.elapsed().as_secs_f64();
    Ok(verdict)
}

fn collect(
    cases: &[Case],
    program: &Path,
    events: mpsc::Receiver<Event>,
    listener: &mut impl Listener,
) -> Result<Vec<Verdict>, TestError> {
    let mut waiting: Vec<Option<Verdict>> = vec![None; cases.len()];
    let mut results = Vec::new();
    let mut broken = None;
    for event in events {
        match event {
            Event::Started(index) => listener.started(&cases[index]),
            Event::Ended(index, verdict) => match *verdict {
                Ok(verdict) => {
                    listener.ended(&cases[index], &verdict);
                    waiting[index] = Some(verdict);
                }
                Err(source) => broken = Some(source),
            },
        }
        while let Some(verdict) = waiting.get_mut(results.len()).and_then(Option::take) {
            listener.result(&cases[results.len()], &verdict);
            results.push(verdict);
        }
    }
    match broken {
        Some(source) => Err(TestError::Start { program: program.to_owned(), source }),
        None => Ok(results),
    }
}
