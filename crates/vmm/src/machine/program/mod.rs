//! A program that the init of a Linux guest runs for us: it gets records with files, and says what is printed and how
//! the program ends ([`guest_protocol::program`]). Meanwhile [`spaces`] counts by address space.

pub mod spaces;

use super::{Board, Machine, Outcome, SaveRestoreError};
use crate::counts::Source;
use guest_protocol::program as protocol;
use platform::convert::count_u32;
use platform::devices::Output;
use platform::devices::program::ProgramCommand;
use spaces::{ProgramCounts, Spaces};
use std::fmt;
use std::io;
use vpmu::source::EventRequest;

/// Records for the guest's init, in order.
pub type Records = Box<dyn Iterator<Item = io::Result<Vec<u8>>>>;

/// What the guest's init tells of beside the program's output.
pub trait Receiver {
    /// A record about something that the program has changed.
    ///
    /// # Errors
    /// It is not well-formed, or cannot be kept.
    fn changed(&mut self, record: &[u8]) -> io::Result<()>;

    /// What perf has counted: four 64-bit numbers for each event.
    fn counted(&mut self, numbers: &[u8]);
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With this status, as wait(2) has it.
    Status(u32),
    /// It could not be executed: an errno.
    NotExecuted(u32),
    /// The guest's init could not do something: an errno.
    Init {
        /// What it wanted to do.
        what: String,
        /// Why it could not.
        errno: u32,
    },
}

/// Why the run was stopped, where it can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Init waits for a program.
    Ready,
    /// The kernel has given the program its address space, in which nothing has been executed.
    Started,
}

/// A program, and what is around it on our side.
pub struct Program {
    records: Records,
    streams: [Output; 2],
    receiver: Option<Box<dyn Receiver>>,
    spaces: Spaces,
    pause: Option<Pause>,
    paused: Option<Pause>,
    end: Option<End>,
    error: Option<io::Error>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("spaces", &self.spaces)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl Program {
    /// A program that init gets by these records, with its standard output and standard error. Counted are these
    /// events, with `space` as the value of CR3.
    #[must_use]
    pub fn new(records: Records, streams: [Output; 2], requests: Vec<EventRequest>, space: u64) -> Self {
        let spaces = Spaces::new(requests, space);
        Self { records, streams, receiver: None, spaces, pause: None, paused: None, end: None, error: None }
    }

    /// The same with one who is told what the program has changed and what perf has counted.
    #[must_use]
    pub fn with_receiver(mut self, receiver: Box<dyn Receiver>) -> Self {
        self.receiver = Some(receiver);
        self
    }

    /// Whether the CPU is in one of the program's address spaces.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.spaces.is_program()
    }

    /// The same, in a part of the program that is counted.
    #[must_use]
    pub(crate) fn is_measured(&self) -> bool {
        self.spaces.is_measured()
    }

    /// Why the run was stopped last.
    #[must_use]
    pub fn paused(&self) -> Option<Pause> {
        self.paused
    }

    /// How the program ended, once it has.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// What of the host failed, a file or a stream.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }
}

impl<B: Board> Machine<B> {
    /// From here on the guest's init runs this program.
    pub fn set_program(&mut self, program: Program) {
        self.program = Some(Box::new(program));
    }

    /// The program that the guest's init runs.
    #[must_use]
    pub fn program(&self) -> Option<&Program> {
        self.program.as_deref()
    }

    /// The same, to change it.
    pub fn program_mut(&mut self) -> Option<&mut Program> {
        self.program.as_deref_mut()
    }

    /// True if a program wants the run to stop, which is over then, or the engine has to start or stop a model.
    pub(crate) fn take_pause(&mut self) -> bool {
        if self.wants_model().is_some() {
            return true;
        }
        let Some(program) = &mut self.program else { return false };
        let pause = program.pause.take();
        program.paused = pause.or(program.paused);
        pause.is_some()
    }

    /// CR3 gets this value; counts are up to date. True if the run shall stop.
    pub(crate) fn switch_space(&mut self, cr3: u64) -> bool {
        let Some(program) = &mut self.program else { return false };
        let started = program.spaces.switch(cr3, &mut self.pmu);
        if started {
            program.pause = Some(Pause::Started);
        }
        started
    }

    /// The totals come from another source from here on.
    ///
    /// # Errors
    /// As [`save_and_restore`](crate::machine::pmu::PmuDevice::save_and_restore).
    pub(crate) fn replace_source(&mut self, source: Box<dyn Source>) -> Result<(), SaveRestoreError> {
        let (replaced, pmis) = self.pmu.replace_source(source).into_parts();
        self.deliver(pmis);
        if let Some(program) = &mut self.program {
            program.spaces.rebase(&mut self.pmu);
        }
        replaced
    }

    /// From here on what the program executes is counted, or not.
    pub(crate) fn measure(&mut self, measured: bool) {
        if let Some(program) = &mut self.program {
            program.spaces.measure(measured, &mut self.pmu);
        }
    }

    /// Instructions of the program above CPL 0 up to now, counted or not.
    pub(crate) fn program_instructions(&mut self) -> u64 {
        self.program.as_mut().map_or(0, |program| program.spaces.user(&mut self.pmu))
    }

    /// What has been counted up to now.
    pub(crate) fn program_counts(&mut self) -> Option<ProgramCounts> {
        let program = self.program.as_mut()?;
        Some(program.spaces.counts(&mut self.pmu))
    }

    /// Carries out a command of the guest's init.
    pub(super) fn program_command(&mut self, command: ProgramCommand) {
        let Some(program) = &mut self.program else { return };
        let ProgramCommand { command, length } = command;
        match command {
            protocol::READY => program.pause = Some(Pause::Ready),
            protocol::RECEIVE => self.send_record(),
            protocol::STDOUT | protocol::STDERR => {
                let stream = usize::from(command == protocol::STDERR);
                self.pass_on(stream, length);
            }
            protocol::COUNTS | protocol::CHANGED => self.receive(command, length),
            protocol::EXEC => program.spaces.arm(),
            protocol::EXEC_FAILED => self.end_program(End::NotExecuted(length)),
            protocol::EXITED => self.end_program(End::Status(length)),
            protocol::FAILED => {
                let mut text = [0; 64];
                let read = self.memory.read(protocol::WINDOW, &mut text);
                let text = text.split(|byte| *byte == 0).next().filter(|_| read.is_ok()).unwrap_or_default();
                let what = String::from_utf8_lossy(text).into_owned();
                self.end_program(End::Init { what, errno: length });
            }
            _ => log::warn!("the guest wrote {command} to the program port, which is no command"),
        }
    }

    fn end_program(&mut self, end: End) {
        if let Some(program) = &mut self.program {
            program.end.get_or_insert(end);
        }
        self.stop(Outcome::PoweredOff);
    }

    fn send_record(&mut self) {
        let Some(program) = &mut self.program else { return };
        let len = match program.records.next() {
            None => 0,
            Some(Ok(record)) if record.len() <= protocol::WINDOW_SIZE => {
                match self.memory.write(protocol::WINDOW, &record) {
                    Ok(()) => count_u32(record.len()),
                    Err(error) => {
                        log::error!("the window of the guest's init: {error}");
                        0
                    }
                }
            }
            Some(Ok(_)) => return self.fail(io::ErrorKind::FileTooLarge.into()),
            Some(Err(error)) => return self.fail(error),
        };
        self.board.answer_program(len);
    }

    /// The first bytes of the window.
    fn window(&self, length: u32) -> Option<Vec<u8>> {
        let mut data = vec![0; (length as usize).min(protocol::WINDOW_SIZE)];
        match self.memory.read(protocol::WINDOW, &mut data) {
            Ok(()) => Some(data),
            Err(error) => {
                log::error!("the window of the guest's init: {error}");
                None
            }
        }
    }

    /// Bytes of the window for the receiver.
    fn receive(&mut self, command: u32, length: u32) {
        let Some(data) = self.window(length) else { return };
        let Some(receiver) = self.program.as_mut().and_then(|program| program.receiver.as_mut()) else {
            return;
        };
        if command == protocol::COUNTS {
            receiver.counted(&data);
        } else if let Err(error) = receiver.changed(&data) {
            self.fail(error);
        }
    }

    /// Bytes of the window for one of the two streams.
    fn pass_on(&mut self, stream: usize, length: u32) {
        let Some(data) = self.window(length) else { return };
        let Some(program) = &mut self.program else { return };
        if let Some(output) = program.streams.get_mut(stream)
            && let Err(error) = output.write_all(&data).and_then(|()| output.flush())
        {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: io::Error) {
        if let Some(program) = &mut self.program {
            program.error.get_or_insert(error);
        }
        self.stop(Outcome::Quit);
    }
}
