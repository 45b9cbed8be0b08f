//! The other side: user mode of QEMU, or of a CPU that it could be.

use super::case::{Case, Failure, Outcome, Signal};
use super::runner::{NativeError, Runner, Running};
use super::soft::untagged;
use super::start::{Start, images};
use a64_runner::{Changed, IMAGE_LEN, MAX_BATCH, MAX_WORDS, Reply, Request};
use std::io::{self, BufReader, Read, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;
use zerocopy::{FromZeros, IntoBytes};

/// Seconds in which a batch ends, if it ends. The interpreter has ended all of its cases before.
const PATIENCE: u64 = 20;

/// What a signal was, by Linux' numbers (include/uapi/asm-generic/{signal,siginfo}.h).
const SIGILL: u32 = 4;
const SIGTRAP: u32 = 5;
const SIGBUS: u32 = 7;
const SIGSEGV: u32 = 11;
const BUS_ADRALN: u32 = 1;
const SEGV_MAPERR: u32 = 1;
const SEGV_ACCERR: u32 = 2;

/// A reply, and the words that follow it.
type Answer = (Reply, Vec<Changed>);
/// What the thread that reads has to say of a batch.
type Answers = io::Result<Vec<Answer>>;

/// The program, and a thread that reads what it writes.
#[derive(Debug)]
struct Session {
    running: Running,
    /// Where the thread hears how many answers to expect.
    batches: Sender<usize>,
    answers: Receiver<Answers>,
}

/// QEMU.
#[derive(Debug)]
pub struct Native {
    runner: Runner,
    images: Vec<Vec<u8>>,
    /// None after it has ended.
    session: Option<Session>,
    /// Cases that have been sent, with the images they start from.
    sent: Vec<(Request, usize)>,
}

impl Native {
    /// Builds the program, and starts it.
    ///
    /// # Errors
    /// There is no QEMU, or no toolchain for AArch64.
    pub fn new() -> Result<Self, NativeError> {
        let mut native = Self { runner: Runner::new()?, images: images(), session: None, sent: Vec::new() };
        native.session = Some(native.start()?);
        Ok(native)
    }

    /// What QEMU says that it is.
    #[must_use]
    pub fn version(&self) -> &str {
        self.runner.version()
    }

    fn start(&self) -> Result<Session, NativeError> {
        let mut running = self.runner.start(&self.images)?;
        let (batches, expected) = channel();
        let (sender, answers) = channel();
        let output = running.output.take();
        thread::spawn(move || {
            let Some(output) = output else { return };
            let mut output = BufReader::with_capacity(1 << 16, output);
            while let Ok(count) = expected.recv() {
                let batch = (0..count).map(|_| answer(&mut output)).collect::<Answers>();
                let over = batch.is_err();
                if sender.send(batch).is_err() || over {
                    return;
                }
            }
        });
        Ok(Session { running, batches, answers })
    }

    /// Sends up to [`MAX_BATCH`] cases, while the interpreter may do other things.
    pub fn send(&mut self, cases: &[(Case, Start)]) {
        self.sent =
            cases.iter().take(MAX_BATCH).map(|(case, start)| (request(case, start), start.image)).collect();
        if let Some(session) = &mut self.session {
            // What goes wrong shows when the answers do not come.
            let _ = session.send(&self.sent);
        }
    }

    /// What has become of the cases that were sent.
    pub fn receive(&mut self) -> Vec<Result<Outcome, Failure>> {
        let sent = std::mem::take(&mut self.sent);
        if let Some(Ok(Ok(answers))) = self.session.as_ref().map(|session| session.receive(PATIENCE)) {
            return answers
                .iter()
                .zip(&sent)
                .map(|(answer, (_, image))| Ok(self.outcome(answer, *image)))
                .collect();
        }
        // One of them has done it: each has its own chance.
        self.end();
        sent.iter().map(|case| self.alone(case)).collect()
    }

    /// Runs a case.
    ///
    /// # Errors
    /// It does not end, or QEMU does.
    pub fn run(&mut self, case: &Case, start: &Start) -> Result<Outcome, Failure> {
        self.alone(&(request(case, start), start.image))
    }

    fn alone(&mut self, case: &(Request, usize)) -> Result<Outcome, Failure> {
        if self.session.is_none() {
            self.session = Some(self.start().map_err(|error| Failure::Gone(error.to_string()))?);
        }
        let answers = self.session.as_mut().map(|session| {
            let _ = session.send(std::slice::from_ref(case));
            session.receive(PATIENCE / 4)
        });
        match answers {
            Some(Ok(Ok(answers))) if answers.len() == 1 => Ok(self.outcome(&answers[0], case.1)),
            Some(Err(RecvTimeoutError::Timeout)) => {
                self.end();
                Err(Failure::Endless)
            }
            _ => Err(Failure::Gone(self.end())),
        }
    }

    fn end(&mut self) -> String {
        self.session.take().map(|session| session.running.end()).unwrap_or_default()
    }

    fn outcome(&self, (reply, words): &Answer, image: usize) -> Outcome {
        let signal = match (reply.signal, reply.code) {
            (SIGILL, _) => Signal::Illegal,
            (SIGTRAP, _) => Signal::Trap,
            (SIGBUS, BUS_ADRALN) => Signal::Bus,
            (SIGSEGV, SEGV_MAPERR) => Signal::NoPage,
            (SIGSEGV, SEGV_ACCERR) => Signal::NoAccess,
            _ => Signal::Other,
        };
        let mut outcome = Outcome::new(signal);
        outcome.state = reply.state;
        if signal.has_address() {
            outcome.address = untagged(reply.address);
        }
        let before = &self.images[image];
        for word in words {
            let at = (word.offset as usize).min(IMAGE_LEN - 8);
            let bytes = (at as u16..).zip(word.value.to_le_bytes());
            outcome.memory.extend(bytes.filter(|(at, value)| before[usize::from(*at)] != *value));
        }
        outcome
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.end();
    }
}

impl Session {
    fn send(&mut self, batch: &[(Request, usize)]) -> io::Result<()> {
        let _ = self.batches.send(batch.len());
        let mut bytes = (batch.len() as u64).to_le_bytes().to_vec();
        batch.iter().for_each(|(request, _)| bytes.extend_from_slice(request.as_bytes()));
        self.running.input.write_all(&bytes)?;
        self.running.input.flush()
    }

    fn receive(&self, seconds: u64) -> Result<Answers, RecvTimeoutError> {
        self.answers.recv_timeout(Duration::from_secs(seconds))
    }
}

fn request(case: &Case, start: &Start) -> Request {
    let mut request = Request::new_zeroed();
    request.state = start.state;
    request.image = start.image as u32;
    request.words = case.code.len().min(MAX_WORDS) as u32;
    request.code.iter_mut().zip(&case.code).for_each(|(to, from)| *to = *from);
    request
}

fn answer(output: &mut impl Read) -> io::Result<Answer> {
    let mut reply = Reply::new_zeroed();
    output.read_exact(reply.as_mut_bytes())?;
    if reply.changed > IMAGE_LEN as u64 / 8 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut words = vec![Changed { offset: 0, value: 0 }; reply.changed as usize];
    output.read_exact(words.as_mut_bytes())?;
    Ok((reply, words))
}
