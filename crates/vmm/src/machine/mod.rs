//! The machine: what a vCPU sees around it, the same for every engine.
//!
//! An engine executes instructions, passes on what concerns devices and registers of the machine, tells it how guest
//! time goes by, and asks it which interrupt is due.
//!
//! | module | what it is |
//! | --- | --- |
//! | `mod.rs` | what every machine has: memory, the PMU, guest time, how a run ends |
//! | [`board`] | what a machine's architecture decides: interrupt controller, timers, devices |
//! | [`x86`], [`arm`] | the PC, and the AArch64 machine |
//! | [`pmu`] | the vPMU with its counts source, trace and measuring windows |
//! | [`exceptions`] | what the CPU delivers, for traces and for the report of a crash |
//! | [`program`] | a program that a Linux guest runs for us: files, streams, counts by address space |
//! | [`progress`], [`stop`] | watching a run and ending it, from another thread |

pub mod arm;
pub mod board;
mod error;
pub mod exceptions;
mod json_lines;
mod outcome;
pub mod pmu;
pub mod program;
pub mod progress;
pub mod stop;
mod unknown;
pub mod x86;

pub use self::board::Board;
pub use self::error::{SaveRestoreError, StateError};
pub use self::outcome::Outcome;
pub use self::unknown::{UnknownMsr, UnknownMsrs};

use self::arm::VirtState;
use self::exceptions::{ExceptionLog, MsrAccess, Refusal, RefusalReason};
use self::pmu::{Origin, PmuDevice, PmuState};
use self::program::Program;
use self::progress::RunProgress;
use self::stop::StopRequest;
use self::x86::PcState;
use crate::counts::Slice;
use platform::devices::Effect;
use platform::memory::GuestMemory;
use platform::time::GuestTime;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use vpmu::PmiRequests;

/// Latest time of a saved machine, in ns or timer ticks: after decades.
pub(crate) const MAX_TIME: u64 = 1 << 60;

/// Everything around the vCPU.
#[derive(Debug)]
pub struct Machine<B: Board> {
    /// Guest RAM.
    pub memory: GuestMemory,
    /// Interrupt controller, timers and devices.
    pub board: B,
    /// The virtual PMU.
    pub pmu: PmuDevice,
    /// The exceptions and interrupts that the CPU delivers.
    pub exceptions: ExceptionLog<B::Delivery>,
    now: GuestTime,
    outcome: Option<Outcome>,
    stop_request: StopRequest,
    progress: RunProgress,
    unknown_msrs: UnknownMsrs,
    program: Option<Box<Program>>,
    modelled: Option<Modelled>,
}

/// Intervals of a name, which the guest marks, are what a model of the core observes.
#[derive(Debug)]
struct Modelled {
    name: String,
    /// The engine shall start the model, or stop it.
    wanted: Option<bool>,
}

/// The saved state of a [`Machine`] without its RAM.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineState {
    now: GuestTime,
    pub(crate) board: BoardState,
    pmu: PmuState,
    unknown_msrs: UnknownMsrs,
}

/// The saved state of a [`Board`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoardState {
    /// Of the PC.
    X86(Box<PcState>),
    /// Of the AArch64 machine.
    Arm(Box<VirtState>),
}

impl<B: Board> Machine<B> {
    /// Puts the parts together.
    #[must_use]
    pub fn new(memory: GuestMemory, board: B, pmu: PmuDevice) -> Self {
        Self {
            memory,
            board,
            pmu,
            exceptions: ExceptionLog::default(),
            now: GuestTime::default(),
            outcome: None,
            stop_request: StopRequest::default(),
            progress: RunProgress::default(),
            unknown_msrs: UnknownMsrs::default(),
            program: None,
            modelled: None,
        }
    }

    /// Takes a copy of everything but RAM, between two instructions.
    pub fn save(&mut self) -> MachineState {
        let (pmu, pmis) = self.pmu.save_all().into_parts();
        self.deliver(pmis);
        MachineState { now: self.now, board: self.board.save(), pmu, unknown_msrs: self.unknown_msrs.clone() }
    }

    /// Goes on from a saved state, on a fresh machine whose devices [have been resumed](Board) and whose counts source
    /// has its totals again.
    ///
    /// # Errors
    /// What this machine cannot have saved.
    pub fn resume(&mut self, saved: &MachineState) -> Result<(), StateError> {
        if saved.now.0 > MAX_TIME {
            return Err(StateError::Time);
        }
        self.board.resume(&saved.board)?;
        self.now = saved.now;
        self.unknown_msrs = saved.unknown_msrs.clone();
        self.pmu.resume(&saved.pmu)
    }

    /// Guest time.
    #[must_use]
    pub fn now(&self) -> GuestTime {
        self.now
    }

    /// From here on tells this how far the run is.
    pub fn set_progress(&mut self, progress: RunProgress) {
        self.progress = progress;
    }

    /// So many instructions have retired since boot.
    pub(crate) fn note_progress(&self, instructions: u64) {
        self.progress.note(instructions, self.now);
    }

    /// The end of the run, once it has come.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Ends the run. The first reason stays.
    pub fn stop(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    /// Registers that the guest accessed and that are not implemented.
    #[must_use]
    pub fn unknown_msrs(&self) -> &UnknownMsrs {
        &self.unknown_msrs
    }

    /// Guest time is now `now`; of the time since the last call the guest ran for `ran`.
    pub fn advance(&mut self, now: GuestTime, ran: Slice) {
        self.now = self.now.max(now);
        let pmis = self.pmu.advance(ran);
        self.board.advance(self.now);
        self.deliver(pmis);
    }

    /// From here on the run ends when this asks for it.
    pub fn set_stop_request(&mut self, request: StopRequest) {
        self.stop_request = request;
    }

    /// Passes on what has been typed; ends the run when the user or a signal wants that.
    pub fn poll_input(&mut self) {
        if self.board.console_mut().poll() {
            self.board.route_interrupts();
        }
        self.end_on_request();
    }

    fn end_on_request(&mut self) {
        if self.board.console().quit_requested() {
            self.stop(Outcome::Quit);
        }
        if let Some(signal) = self.stop_request.signal() {
            self.stop(Outcome::Interrupted { signal });
        }
    }

    /// The guest halts. True if its serial port has something new for it.
    pub fn idle_input(&mut self) -> bool {
        let any = self.board.console_mut().idle();
        self.board.route_interrupts();
        self.end_on_request();
        any
    }

    /// Waits for input, at most so long of the host's time. True if there was some.
    pub fn wait_for_input(&mut self, timeout: Duration) -> bool {
        let typed = self.board.console_mut().wait(timeout);
        if typed {
            self.board.route_interrupts();
        }
        typed
    }

    /// From here on a model of the core observes intervals of this name, and nothing else.
    pub fn model_intervals(&mut self, name: String) {
        self.modelled = Some(Modelled { name, wanted: None });
    }

    /// The guest has begun such an interval, or ended it.
    pub(crate) fn wants_model(&self) -> Option<bool> {
        self.modelled.as_ref()?.wanted
    }

    /// The model is on or off as [wanted](Self::wants_model), and counts go on as it says.
    pub(crate) fn model_switched(&mut self) {
        if let Some(modelled) = &mut self.modelled {
            modelled.wanted = None;
        }
        self.pmu.rearm();
    }

    /// The host says that a counter may have overflowed.
    pub fn poll_pmu(&mut self) {
        let pmis = self.pmu.poll();
        self.deliver(pmis);
    }

    /// Passes what the PMU requests to the interrupt controller.
    fn deliver(&mut self, pmis: PmiRequests) {
        self.pmu.follow_injections(self.now);
        if pmis != PmiRequests::NONE {
            self.board.interrupt(pmis, |delivery| self.pmu.trace_pmi(delivery, self.now));
        }
    }

    /// So many instructions have retired: planned faults and late interrupts that are due happen.
    pub(crate) fn inject_due(&mut self) {
        let pmis = self.pmu.inject_due();
        self.deliver(pmis);
    }

    /// Instructions until a planned fault or a late interrupt is due.
    pub(crate) fn until_injection(&self) -> Option<u64> {
        self.pmu.until_injection()
    }

    /// The CPU waits for an interrupt: none is late any longer.
    pub(crate) fn end_skid(&mut self) {
        let pmis = self.pmu.end_skid();
        self.deliver(pmis);
    }

    /// Carries out what a device asks for.
    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::None => {}
            Effect::Exit { status } => self.stop(Outcome::Exit { status }),
            Effect::Reset => self.stop(Outcome::Reset),
            Effect::PowerOff => self.stop(Outcome::PoweredOff),
            Effect::Panicked => self.stop(Outcome::Panicked),
            Effect::Label(label) => self.pmu.label_window(label),
            Effect::Program(command) => self.program_command(command),
            Effect::IntervalBegin => {
                self.pmu.begin_interval();
                self.follow_interval();
            }
            Effect::IntervalEnd => {
                self.pmu.end_interval();
                self.follow_interval();
            }
            Effect::SaveRestore => {
                let (result, pmis) = self.pmu.save_and_restore().into_parts();
                if let Err(reason) = &result {
                    log::error!("save and restore of the vPMU failed: {reason}");
                }
                self.board.control_done(result.is_ok());
                self.deliver(pmis);
            }
        }
        self.board.route_interrupts();
    }

    fn follow_interval(&mut self) {
        if let Some(Modelled { name, wanted }) = &mut self.modelled {
            *wanted = Some(self.pmu.interval() == Some(name));
        }
    }

    /// The guest executes for the first time what the engine does not implement, and gets an exception.
    pub fn note_unimplemented(&mut self, code: &str, address: u64) {
        self.pmu.trace_unimplemented(code, Origin { now: self.now, rip: Some(address) });
    }

    /// An access raises an exception.
    fn refuse(&mut self, access: MsrAccess, rip: Option<u64>, reason: RefusalReason) {
        self.exceptions.refuse(Refusal { access, rip, reason });
    }

    /// An access to a register that is not implemented raises an exception.
    #[cold]
    fn unknown(&mut self, access: MsrAccess, rip: Option<u64>) {
        self.unknown_msrs.note(access, rip);
        self.pmu.trace_unknown_msr(access, Origin { now: self.now, rip });
        self.refuse(access, rip, RefusalReason::Unknown);
    }
}
