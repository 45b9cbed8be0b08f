//! Recording what the guest asks of its PMU and gets, and answering from such a recording. The format is that of
//! [`vpmu::recording`].

use serde::Serialize;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use vpmu::decode::msr_name;
use vpmu::recording::{Entry, Event, Header, Malformed, Reader, Writer};
use vpmu::register::rdpmc_msr;
use vpmu::{PmiRequests, Profile, ReadOutcome, WriteOutcome};

/// Largest recording that is read, in bytes.
const MAX_FILE: u64 = 1 << 30;
/// Bytes that are written together.
const CHUNK: usize = 1 << 16;

/// A recording is of no use.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// It cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is far longer than a run.
    #[error("it is longer than {} MiB", MAX_FILE >> 20)]
    TooLong,
    /// It is something else.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Another CPU.
    #[error("it was recorded on profile {recorded}, and this is {shown}")]
    Profile {
        /// In the file.
        recorded: String,
        /// That of the run.
        shown: String,
    },
}

/// Writes a recording. After the first error nothing more is written; its end reports it.
pub struct Recorder {
    writer: Writer,
    bytes: Vec<u8>,
    sink: Box<dyn Write>,
    error: Option<io::Error>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("writer", &self.writer)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recording with this header.
    #[must_use]
    pub fn new(sink: Box<dyn Write>, header: &Header) -> Self {
        let mut bytes = Vec::new();
        Self { writer: Writer::new(header, &mut bytes), bytes, sink, error: None }
    }

    fn note(&mut self, event: Event, instructions: u64) {
        self.writer.write(&Entry { instructions, event }, &mut self.bytes);
        if self.bytes.len() >= CHUNK {
            self.flush();
        }
    }

    fn note_requests(&mut self, requests: &PmiRequests, instructions: u64) {
        (0..requests.nmis()).for_each(|_| self.note(Event::Nmi, instructions));
        (0..requests.count()).for_each(|_| self.note(Event::Pmi, instructions));
        if let Some(high) = requests.line() {
            self.note(Event::Line(high), instructions);
        }
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.sink.write_all(&self.bytes).err();
        }
        self.bytes.clear();
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.clone().finish(&mut self.bytes);
        self.flush();
        match self.error.take() {
            Some(error) => Err(error),
            None => self.sink.flush(),
        }
    }
}

/// What has become of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayReport {
    /// Entries of the recording that the guest has had.
    pub replayed: u64,
    /// Those that are left.
    pub left: u64,
    /// Where the guest first did something else.
    pub divergence: Option<Divergence>,
}

/// Where a guest does something else than in a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// Number of the entry, from 0.
    pub entry: u64,
    /// What the recording has there; `None` behind its end.
    pub recorded: Option<String>,
    /// Instructions retired since boot in the recording, where they were counted.
    pub recorded_instructions: Option<u64>,
    /// What the guest did.
    pub asked: String,
    /// Instructions retired since boot, where the engine counts them.
    pub asked_instructions: Option<u64>,
}

/// What a guest asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Read { level: vpmu::Level, index: u32 },
    Write { level: vpmu::Level, index: u32, value: u64 },
    Rdpmc { ecx: u32 },
}

/// Answers from a recording.
#[derive(Debug)]
pub struct Replayer {
    header: Header,
    reader: Reader<Vec<u8>>,
    next: Option<Entry>,
    entries: u64,
    replayed: u64,
    line: bool,
    divergence: Option<Divergence>,
}

impl Replayer {
    /// Reads a recording that was made on this profile.
    ///
    /// # Errors
    /// [`TapeError`].
    pub fn open(path: &Path, profile: &Profile) -> Result<Self, TapeError> {
        if std::fs::metadata(path)?.len() > MAX_FILE {
            return Err(TapeError::TooLong);
        }
        Self::new(std::fs::read(path)?, profile)
    }

    /// The same from bytes, which are all looked at before the guest runs.
    ///
    /// # Errors
    /// [`TapeError`].
    pub fn new(bytes: Vec<u8>, profile: &Profile) -> Result<Self, TapeError> {
        let (header, mut looked) = Reader::new(&bytes)?;
        if header.profile != profile.name {
            return Err(TapeError::Profile { recorded: header.profile, shown: profile.name.to_string() });
        }
        let mut entries = 0;
        while looked.read()?.is_some() {
            entries += 1;
        }
        let (header, mut reader) = Reader::new(bytes)?;
        let next = reader.read()?;
        Ok(Self { header, reader, next, entries, replayed: 0, line: false, divergence: None })
    }

    fn is_on(&self) -> bool {
        self.divergence.is_none()
    }

    fn report(&self) -> ReplayReport {
        let Self { entries, replayed, divergence, .. } = self;
        ReplayReport { replayed: *replayed, left: entries - replayed, divergence: divergence.clone() }
    }

    fn step(&mut self) {
        self.replayed += 1;
        // All of it has been read before.
        self.next = self.reader.read().unwrap_or(None);
    }

    /// The next entry, if it is about what the guest asks.
    fn find(&mut self, asked: Asked, now: Option<u64>, profile: &Profile) -> Option<Event> {
        if !self.is_on() {
            return None;
        }
        let event = self.next.map(|next| next.event).filter(|event| is_about(event, asked));
        if event.is_some() {
            self.step();
        } else {
            self.divergence = Some(Divergence {
                entry: self.replayed,
                recorded: self.next.map(|next| describe(profile, &next.event)),
                recorded_instructions: self
                    .next
                    .map(|next| next.instructions)
                    .filter(|_| self.header.counted),
                asked: asked.describe(profile),
                asked_instructions: now,
            });
        }
        event
    }

    /// Instructions until an interrupt of the recording is due.
    fn until_due(&self, now: Option<u64>) -> Option<u64> {
        let next = self.next.filter(|next| self.is_on() && is_request(&next.event))?;
        Some(if self.header.counted { next.instructions.saturating_sub(now?) } else { 0 })
    }

    /// Interrupts that are due. Where no instructions are counted they come with the access before them.
    fn due(&mut self, now: Option<u64>) -> PmiRequests {
        let mut requests = PmiRequests::NONE;
        while let Some(Entry { instructions, event }) = self.next.filter(|next| is_request(&next.event)) {
            if self.header.counted && now.is_some_and(|now| instructions > now) {
                break;
            }
            self.step();
            requests += match event {
                Event::Pmi => PmiRequests::recorded(1, 0, None),
                Event::Nmi => PmiRequests::recorded(0, 1, None),
                Event::Line(high) => {
                    self.line = high;
                    PmiRequests::recorded(0, 0, Some(high))
                }
                Event::Read { .. } | Event::Write { .. } | Event::Rdpmc { .. } => PmiRequests::NONE,
            };
        }
        requests
    }
}

fn is_request(event: &Event) -> bool {
    matches!(event, Event::Pmi | Event::Nmi | Event::Line(_))
}

fn is_about(event: &Event, asked: Asked) -> bool {
    match *event {
        Event::Read { level, index, .. } => asked == Asked::Read { level, index },
        Event::Write { level, index, value, .. } => asked == Asked::Write { level, index, value },
        Event::Rdpmc { ecx, .. } => asked == Asked::Rdpmc { ecx },
        Event::Pmi | Event::Nmi | Event::Line(_) => false,
    }
}

fn register(profile: &Profile, index: u32) -> String {
    msr_name(profile, index).unwrap_or_else(|| format!("{index:#x}"))
}

impl Asked {
    fn describe(self, profile: &Profile) -> String {
        match self {
            Self::Read { index, .. } => format!("read of {}", register(profile, index)),
            Self::Write { index, value, .. } => {
                format!("write of {value:#x} to {}", register(profile, index))
            }
            Self::Rdpmc { ecx } => match rdpmc_msr(profile.vendor(), ecx) {
                Some(index) => format!("RDPMC of {}", register(profile, index)),
                None => format!("RDPMC of {ecx:#x}"),
            },
        }
    }
}

fn describe(profile: &Profile, event: &Event) -> String {
    match *event {
        Event::Read { level, index, .. } => Asked::Read { level, index }.describe(profile),
        Event::Write { level, index, value, .. } => Asked::Write { level, index, value }.describe(profile),
        Event::Rdpmc { ecx, .. } => Asked::Rdpmc { ecx }.describe(profile),
        Event::Pmi => "PMI".to_owned(),
        Event::Nmi => "NMI".to_owned(),
        Event::Line(true) => "rise of the interrupt line".to_owned(),
        Event::Line(false) => "fall of the interrupt line".to_owned(),
    }
}

/// A recording that is made or answered from, or none.
#[derive(Debug, Default)]
pub(super) struct Tape {
    pub(super) recorder: Option<Recorder>,
    pub(super) replayer: Option<Box<Replayer>>,
}

impl Tape {
    pub(super) fn read(
        &mut self,
        asked: Asked,
        live: ReadOutcome,
        now: Option<u64>,
        profile: &Profile,
    ) -> ReadOutcome {
        let found = self.replayer.as_mut().and_then(|replayer| replayer.find(asked, now, profile));
        let outcome = match found {
            Some(Event::Read { outcome, .. } | Event::Rdpmc { outcome, .. }) => outcome,
            _ => live,
        };
        if let Some(recorder) = &mut self.recorder {
            let event = match asked {
                Asked::Read { level, index } => Event::Read { level, index, outcome },
                Asked::Rdpmc { ecx } => Event::Rdpmc { ecx, outcome },
                Asked::Write { .. } => return outcome,
            };
            recorder.note(event, now.unwrap_or_default());
        }
        outcome
    }

    pub(super) fn write(
        &mut self,
        (level, index, value): (vpmu::Level, u32, u64),
        live: WriteOutcome,
        now: Option<u64>,
        profile: &Profile,
    ) -> WriteOutcome {
        let asked = Asked::Write { level, index, value };
        let found = self.replayer.as_mut().and_then(|replayer| replayer.find(asked, now, profile));
        let outcome = if let Some(Event::Write { outcome, .. }) = found { outcome } else { live };
        if let Some(recorder) = &mut self.recorder {
            recorder.note(Event::Write { level, index, value, outcome }, now.unwrap_or_default());
        }
        outcome
    }

    /// The interrupts that the guest gets.
    pub(super) fn requests(&mut self, live: PmiRequests, now: Option<u64>) -> PmiRequests {
        let requests = match &mut self.replayer {
            Some(replayer) if replayer.is_on() => {
                // Those of the state machine, which counts by itself, are not the recording's.
                drop(live);
                replayer.due(now)
            }
            _ => live,
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.note_requests(&requests, now.unwrap_or_default());
        }
        requests
    }

    pub(super) fn until_due(&self, now: Option<u64>) -> Option<u64> {
        self.replayer.as_ref()?.until_due(now)
    }

    /// The level of the interrupt line, if the recording decides it.
    pub(super) fn line(&self) -> Option<bool> {
        self.replayer.as_ref().filter(|replayer| replayer.is_on()).map(|replayer| replayer.line)
    }

    /// CPUID.0AH:EBX, if the recording decides it.
    pub(super) fn unavailable_events(&self) -> Option<u32> {
        self.replayer.as_ref().map(|replayer| replayer.header.unavailable_events)
    }

    pub(super) fn report(&self) -> Option<ReplayReport> {
        self.replayer.as_ref().map(|replayer| replayer.report())
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::finish)
    }
}

#[cfg(test)]
mod tests;
