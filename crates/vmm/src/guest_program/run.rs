//! One program from its first to its last instruction.

use super::changed::Changed;
use super::counters::{self, PerfCount};
use super::files::Files;
use super::job::{self, Job};
use super::roi::{Change, Roi};
use super::sample::{Sampler, Stacks};
use super::{ProgramError, boot};
use crate::counts::timing::{Sampling, SamplingReport, SharedCore, TimingSource, Uncore};
use crate::engine::soft::x86::{Goal, SoftEngine};
use crate::engine::{Detail, RunLimits};
use crate::machine::program::spaces::SpaceCount;
use crate::machine::program::{End, Pause, Program, Receiver};
use crate::machine::progress::RunProgress;
use crate::machine::stop::StopRequest;
use crate::machine::x86::Pc;
use crate::machine::{BoardState, Machine, Outcome, StateError};
use crate::recording::recorder::Recorder;
use crate::recording::symbols::Symbols;
use crate::run::RunError;
use crate::snapshot::SnapshotError;
use crate::snapshot::mapped::Mapped;
use platform::devices::{Capture, Output};
use platform::x86;
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use vpmu::event::{Event, EventCode};
use vpmu::source::EventRequest;
use vpmu::{Provenance, TopdownSlots};

/// Bytes of the console that the report keeps.
const CONSOLE: usize = 1 << 16;

/// What to run.
pub struct ProgramConfig {
    /// The booted guest.
    pub snapshot: Mapped,
    /// What the guest gets.
    pub files: Files,
    /// What it runs.
    pub job: Job,
    /// How closely the program is modelled.
    pub detail: Detail,
    /// What the modelled core finds outside of itself.
    pub uncore: Uncore,
    /// Only samples go through the model of the core, and the rest is estimated.
    pub sampling: Option<Sampling>,
    /// Threads that may run the guest; no result depends on it.
    pub threads: NonZeroUsize,
    /// Hot blocks are compiled; no result depends on it.
    pub compile: bool,
    /// The part of the program that is counted; else the whole.
    pub roi: Option<Roi>,
    /// When the model of the core begins: after so many instructions since boot, or with what is counted.
    pub warm_from: Option<u64>,
    /// The run ends where what is counted begins.
    pub only_search: bool,
    /// Takes samples, without a model of the core.
    pub sampler: Option<Sampler>,
    /// Records all that the program executes, in a kernel with these functions.
    pub recorder: Option<Symbols>,
    /// Events to count.
    pub events: Vec<EventRequest>,
    /// Where what the program changes goes, if the job returns it.
    pub changed: Option<PathBuf>,
    /// Standard output and standard error.
    pub streams: [Output; 2],
    /// Wall-clock limit.
    pub timeout: Duration,
    /// Asks the run to end.
    pub stop: StopRequest,
    /// Is told how far it is.
    pub progress: RunProgress,
}

impl fmt::Debug for ProgramConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramConfig")
            .field("job", &self.job)
            .field("detail", &self.detail)
            .finish_non_exhaustive()
    }
}

/// An event, and how often it occurred.
#[derive(Debug, Clone)]
pub struct EventCount {
    /// What was asked for.
    pub request: EventRequest,
    /// Occurrences; `None` if that cannot be counted.
    pub count: Option<SpaceCount>,
    /// What the numbers are worth.
    pub provenance: Provenance,
}

/// How often what is counted came, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegionReport {
    /// Instructions since boot when it came first.
    pub first: u64,
    /// How often it came.
    pub times: u64,
    /// It had not ended at the program's end.
    pub open: bool,
}

/// What came of a program.
#[derive(Debug)]
pub struct ProgramReport {
    /// Its status as wait(2) has it; `None` if the run ended before it.
    pub status: Option<u32>,
    /// How the run ended.
    pub outcome: Outcome,
    /// Instructions of the program itself.
    pub instructions: SpaceCount,
    /// The events that were asked for.
    pub events: Vec<EventCount>,
    /// What the guest's perf has counted, for the events of the job.
    pub perf: Vec<PerfCount>,
    /// Files and links that have come back.
    pub returned: usize,
    /// Slots by category of the program itself, where a model of the core knows them.
    pub topdown_user: Option<TopdownSlots>,
    /// The same of the kernel in its address spaces.
    pub topdown_kernel: Option<TopdownSlots>,
    /// What sampling has come to, if only samples went through the model of the core.
    pub sampling: Option<SamplingReport>,
    /// Guest time of what was counted, in nanoseconds.
    pub guest_ns: u64,
    /// Wall-clock time until the program had its address space.
    pub startup: Duration,
    /// Wall-clock time of what was counted.
    pub ran: Duration,
    /// What of the program was counted.
    pub region: RegionReport,
    /// Samples by stack, if there were to be any.
    pub stacks: Option<Stacks>,
    /// All that it executed, if that was to be recorded.
    pub recorder: Option<Recorder>,
    /// The guest's console.
    pub console: String,
}

/// What the guest tells beside the program's output.
#[derive(Debug, Default)]
struct Told {
    changed: Option<Changed>,
    perf: Vec<PerfCount>,
}

impl Receiver for Rc<RefCell<Told>> {
    fn changed(&mut self, record: &[u8]) -> io::Result<()> {
        match &mut self.borrow_mut().changed {
            Some(changed) => changed.record(record),
            None => Ok(()),
        }
    }

    fn counted(&mut self, numbers: &[u8]) {
        self.borrow_mut().perf = counters::parse(numbers);
    }
}

/// Runs a program in a booted guest.
///
/// # Errors
/// The program could not be executed, or something outside the guest failed. What the program does is in the report.
pub fn run(config: ProgramConfig) -> Result<ProgramReport, ProgramError> {
    let began = Instant::now();
    let ProgramConfig { snapshot, files, job, detail, events, streams, timeout, mut sampler, .. } = config;
    let memory_mib = snapshot.snapshot.memory_mib();
    job::check_size(&files, memory_mib)?;
    let told = Rc::new(RefCell::new(Told::default()));
    told.borrow_mut().changed =
        config.changed.map(|directory| Changed::new(&directory, &job.directory, &files, memory_mib << 20));
    let memory = snapshot.memory(&x86::memory::LAYOUT)?;
    let profile = snapshot.snapshot.profile()?;
    let mut engine = SoftEngine::new(&memory, &profile).with_compiler(config.compile);
    let BoardState::X86(saved) = snapshot.snapshot.board() else {
        return Err(SnapshotError::from(StateError::Architecture).into());
    };
    let capture = Capture::new(CONSOLE);
    let devices =
        x86::devices::Devices::resume(Box::new(capture.clone()), Box::new(capture.clone()), &saved.devices);
    let devices = devices.ok_or(SnapshotError::State(StateError::SerialInput))?;
    let mut machine = boot::machine(memory, devices, &profile, &engine)?;
    snapshot.snapshot.resume(&mut engine, &mut machine)?;
    machine.set_stop_request(config.stop);
    machine.set_progress(config.progress);
    // The first tells address spaces of processes from others.
    let requests: Vec<EventRequest> = std::iter::once(instructions()).chain(events).collect();
    let mut recorder = config.recorder.map(|kernel| Recorder::new(&machine.memory, &files, kernel));
    let records = job::records(files, &job);
    let program = Program::new(records, streams, requests.clone(), engine.address_space());
    machine.set_program(program.with_receiver(Box::new(Rc::clone(&told))));

    let mut measured = Measured::default();
    let mut roi = config.roi;
    let mut warm_from = config.warm_from.filter(|_| detail == Detail::Timing);
    let start_model = |engine: &mut SoftEngine, machine: &mut Machine<Pc>| {
        start_model(engine, machine, (config.uncore, config.threads), config.sampling)
    };
    let mut model = None;
    let mut started = None;
    let mut due = u64::MAX;
    machine.measure(roi.is_none());
    let outcome = loop {
        if warm_from.is_some_and(|from| engine.instructions() >= from) {
            warm_from = None;
            measured.has_model = true;
            model = Some(start_model(&mut engine, &mut machine)?);
        }
        let left = timeout.saturating_sub(began.elapsed());
        let mut goal = match &roi {
            Some(roi) if started.is_some() => {
                roi.goal(machine.program_instructions(), engine.user_instructions())
            }
            _ => Goal::default(),
        };
        goal.instructions = due.min(warm_from.unwrap_or(u64::MAX));
        if let Some(outcome) = engine.run_to(&mut machine, RunLimits { timeout: left }, &goal) {
            break outcome;
        }
        if let Some(sampler) = sampler.as_mut().filter(|_| engine.instructions() == due) {
            if machine.program().is_some_and(Program::is_measured) {
                sampler.take(engine.state(), &machine.memory);
            }
            due = due.saturating_add(sampler.period().get());
        }
        let mut change = None;
        if started.is_none() && machine.program().and_then(Program::paused) == Some(Pause::Started) {
            started = Some(Instant::now());
            change = roi.is_none().then_some(Change::Begins);
        }
        if let Some(roi) = roi.as_mut().filter(|_| started.is_some())
            && machine.program().is_some_and(Program::is_running)
        {
            let executed = machine.program_instructions();
            change = roi.stopped(engine.state(), &machine.memory, executed);
        }
        match change {
            None => {}
            Some(Change::Ends) => {
                machine.measure(false);
                engine.set_recording(false);
                measured.end(machine.now().0);
            }
            Some(Change::Begins) => {
                measured.begin(engine.instructions(), machine.now().0);
                if config.only_search {
                    break Outcome::Quit;
                }
                if detail == Detail::Timing && !std::mem::replace(&mut measured.has_model, true) {
                    model = Some(start_model(&mut engine, &mut machine)?);
                }
                machine.measure(true);
                match recorder.take() {
                    Some(recorder) => engine.start_recorder(recorder),
                    None => engine.set_recording(true),
                }
                if let Some(sampler) = sampler.as_ref().filter(|_| due == u64::MAX) {
                    due = engine.instructions() + sampler.period().get();
                }
            }
        }
    };
    let entered = started.unwrap_or_else(Instant::now);
    let region = measured.report();
    measured.end(machine.now().0);
    let console = capture.text();
    let Some(program) = machine.program_mut() else {
        return Err(ProgramError::Init { what: "run a program".into(), source: io::ErrorKind::Other.into() });
    };
    if let Some(error) = program.take_error() {
        return Err(ProgramError::Stream(error));
    }
    let status = match program.end().cloned() {
        Some(End::Status(status)) => Some(status),
        Some(End::NotExecuted(errno)) => {
            return Err(ProgramError::NotExecuted { path: job.program, source: errno_error(errno) });
        }
        Some(End::Init { what, errno }) => {
            return Err(ProgramError::Init { what, source: errno_error(errno) });
        }
        None => None,
    };
    let mut told = told.borrow_mut();
    let returned = told.changed.as_mut().map_or(Ok(0), Changed::finish).map_err(ProgramError::Stream)?;
    let counts = machine.program_counts();
    let provenances: Vec<Provenance> =
        requests.iter().map(|request| machine.pmu.provenance(request)).collect();
    let (counted, topdown) = match counts {
        Some(counts) => (counts.events, [counts.topdown_user, counts.topdown_kernel]),
        None => (vec![SpaceCount::default(); requests.len()], [TopdownSlots::default(); 2]),
    };
    let modelled = detail == Detail::Timing;
    let rows = requests.into_iter().zip(counted.iter()).zip(provenances);
    let [topdown_user, topdown_kernel] = topdown.map(|slots| modelled.then_some(slots));
    Ok(ProgramReport {
        status,
        outcome,
        instructions: counted.first().copied().unwrap_or_default(),
        events: rows
            .skip(1)
            .map(|((request, count), provenance)| EventCount {
                request,
                count: (provenance != Provenance::Unknown).then_some(*count),
                provenance,
            })
            .collect(),
        perf: std::mem::take(&mut told.perf),
        returned,
        topdown_user,
        topdown_kernel,
        sampling: model.and_then(|core: SharedCore| core.drive().sampling()),
        guest_ns: measured.guest_ns,
        region,
        stacks: sampler.map(|sampler| sampler.stacks()),
        recorder: engine.take_recorder(),
        startup: entered.duration_since(began),
        ran: measured.ran,
        console,
    })
}

/// What of the program has been counted.
#[derive(Debug, Default)]
struct Measured {
    region: RegionReport,
    /// When it began, and in guest time.
    since: Option<(Instant, u64)>,
    guest_ns: u64,
    ran: Duration,
    has_model: bool,
}

impl Measured {
    fn begin(&mut self, instructions: u64, now_ns: u64) {
        if self.region.times == 0 {
            self.region.first = instructions;
        }
        self.region.times += 1;
        self.since = Some((Instant::now(), now_ns));
    }

    fn end(&mut self, now_ns: u64) {
        if let Some((since, since_ns)) = self.since.take() {
            self.ran += since.elapsed();
            self.guest_ns += now_ns.saturating_sub(since_ns);
        }
    }

    fn report(&self) -> RegionReport {
        RegionReport { open: self.since.is_some(), ..self.region }
    }
}

/// The core that has executed the guest until here gets a model, with empty caches and predictors.
fn start_model(
    engine: &mut SoftEngine,
    machine: &mut Machine<Pc>,
    (uncore, threads): (Uncore, NonZeroUsize),
    sampling: Option<Sampling>,
) -> Result<SharedCore, ProgramError> {
    let profile = machine.pmu.profile().clone();
    let core = SharedCore::on_threads(&profile, uncore, threads).map_err(RunError::from)?;
    if let Some(sampling) = sampling {
        core.drive().sample(sampling);
    }
    engine.start_model(core.clone());
    let source = Box::new(TimingSource::new(&profile, core.clone()));
    machine.replace_source(source).map_err(|error| SnapshotError::Damaged(error.to_string()))?;
    Ok(core)
}

fn instructions() -> EventRequest {
    EventRequest::named(Event::InstRetiredAny, EventCode::default())
}

fn errno_error(errno: u32) -> io::Error {
    io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(0))
}
