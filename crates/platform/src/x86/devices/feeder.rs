//! What the guest reads from its serial port.
//!
//! A script is fed a line at a time, each when the guest waits: it has switched the receive interrupt on and halts
//! with nothing left to read. That depends on nothing but the guest, so a run with a script is as repeatable as one
//! without. What a user types is passed on as it comes.

use super::Serial;
use crate::devices::{Input, Typed};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// Most typed bytes that wait for the guest; more are dropped, as a full line would drop them.
const MAX_TYPED: usize = 1 << 16;

/// Passes input to the serial port.
#[derive(Debug, Default)]
pub(super) struct Feeder {
    waiting: VecDeque<u8>,
    live: Option<Receiver<Typed>>,
    quit: bool,
}

impl Feeder {
    pub(super) fn new(input: Input) -> Self {
        match input {
            Input::Script(bytes) => Self { waiting: bytes.into(), ..Self::default() },
            Input::Live(receiver) => Self { live: Some(receiver), ..Self::default() },
        }
    }

    /// A user may type.
    pub(super) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// The user wants the run to end.
    pub(super) fn wants_quit(&self) -> bool {
        self.quit
    }

    /// Passes on what has been typed, as far as there is room. True if there was something.
    pub(super) fn poll(&mut self, serial: &mut Serial) -> bool {
        while let Some(receiver) = &self.live {
            match receiver.try_recv() {
                Ok(typed) => self.take(typed),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => self.live = None,
            }
        }
        self.live.is_some() && self.push(serial, usize::MAX) > 0
    }

    /// The guest halts. True if there was something for it.
    pub(super) fn idle(&mut self, serial: &mut Serial) -> bool {
        if self.live.is_some() {
            return self.poll(serial);
        }
        if self.waiting.is_empty() || !serial.wants_input() {
            return false;
        }
        let line =
            self.waiting.iter().position(|byte| *byte == b'\n').map_or(self.waiting.len(), |end| end + 1);
        self.push(serial, line) > 0
    }

    /// Waits for input, at most so long. True if there was some.
    pub(super) fn wait(&mut self, serial: &mut Serial, timeout: Duration) -> bool {
        let Some(receiver) = &self.live else { return false };
        match receiver.recv_timeout(timeout) {
            Ok(typed) => {
                self.take(typed);
                self.poll(serial);
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                self.live = None;
                false
            }
        }
    }

    fn take(&mut self, typed: Typed) {
        match typed {
            Typed::Bytes(bytes) => {
                let room = MAX_TYPED.saturating_sub(self.waiting.len());
                self.waiting.extend(bytes.into_iter().take(room));
            }
            Typed::Quit => self.quit = true,
        }
    }

    fn push(&mut self, serial: &mut Serial, most: usize) -> usize {
        let most = most.min(self.waiting.len());
        let taken = serial.enqueue(&self.waiting.make_contiguous()[..most]);
        self.waiting.drain(..taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const RBR: u8 = 0;
    const IER: u8 = 1;
    const RECEIVE: u8 = 1;

    fn read_all(serial: &mut Serial) -> Vec<u8> {
        let mut bytes = Vec::new();
        while serial.interrupt() {
            bytes.push(serial.read(RBR));
        }
        bytes
    }

    #[test]
    fn a_script_comes_line_by_line_to_a_guest_that_waits_for_it() {
        let mut serial = Serial::default();
        let mut feeder = Feeder::new(Input::Script(b"ls\npwd".to_vec()));
        feeder.poll(&mut serial);
        assert!(!feeder.idle(&mut serial), "the guest does not listen");
        serial.write(IER, RECEIVE);
        assert!(feeder.idle(&mut serial));
        assert!(!feeder.idle(&mut serial), "the line has not been read");
        assert_eq!(read_all(&mut serial), b"ls\n");
        assert!(feeder.idle(&mut serial));
        assert_eq!(read_all(&mut serial), b"pwd");
        assert!(!feeder.idle(&mut serial));
    }

    #[test]
    fn a_line_longer_than_the_receive_buffer_comes_in_parts() {
        let mut serial = Serial::default();
        serial.write(IER, RECEIVE);
        let line = [vec![b'x'; 150], b"\n".to_vec()].concat();
        let mut feeder = Feeder::new(Input::Script(line.clone()));
        let mut seen = Vec::new();
        while feeder.idle(&mut serial) {
            seen.extend(read_all(&mut serial));
        }
        assert_eq!(seen, line);
    }

    #[test]
    fn keys_come_as_they_are_typed_and_quit_is_noticed() {
        let (keyboard, receiver) = mpsc::channel();
        let mut serial = Serial::default();
        serial.write(IER, RECEIVE);
        let mut feeder = Feeder::new(Input::Live(receiver));
        assert!(!feeder.wait(&mut serial, Duration::ZERO) && feeder.is_live());
        keyboard.send(Typed::Bytes(vec![b'k'; 100])).unwrap();
        feeder.poll(&mut serial);
        assert_eq!(read_all(&mut serial).len(), 64);
        assert!(feeder.idle(&mut serial));
        assert_eq!(read_all(&mut serial).len(), 36);
        keyboard.send(Typed::Quit).unwrap();
        assert!(feeder.wait(&mut serial, Duration::ZERO) && feeder.wants_quit());
        drop(keyboard);
        feeder.poll(&mut serial);
        assert!(!feeder.is_live());
    }
}
