//! A console: where a UART's bytes go, and what the guest reads from it.
//!
//! A script is fed a line at a time, each when the guest waits: it has switched the receive interrupt on and halts
//! with nothing left to read. That depends on nothing but the guest, so a run with a script is as repeatable as one
//! without. What a user types is passed on as it comes.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// Most typed bytes that wait for the guest; more are dropped, as a full line would drop them.
const MAX_TYPED: usize = 1 << 16;

/// Where a console's bytes go.
pub type Output = Box<dyn Write + Send>;

/// What a terminal passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// Keys.
    Bytes(Vec<u8>),
    /// The user wants the run to end.
    Quit,
}

/// Where input comes from.
#[derive(Debug)]
pub enum Input {
    /// A file, line by line.
    Script(Vec<u8>),
    /// A terminal.
    Live(Receiver<Typed>),
}

/// A serial port that input can be passed to.
pub trait Uart {
    /// Offers input to the guest and returns how many bytes fitted the receive buffer; offer the rest again later.
    fn enqueue(&mut self, input: &[u8]) -> usize;

    /// The guest has switched the receive interrupt on and has read everything.
    fn wants_input(&self) -> bool;
}

/// A serial port with its input.
#[derive(Debug)]
pub struct Console<U> {
    /// The port.
    pub uart: U,
    waiting: VecDeque<u8>,
    live: Option<Receiver<Typed>>,
    quit: bool,
}

impl<U: Uart> Console<U> {
    /// A port without input.
    #[must_use]
    pub fn new(uart: U) -> Self {
        Self { uart, waiting: VecDeque::new(), live: None, quit: false }
    }

    /// Gives it something to read.
    pub fn set_input(&mut self, input: Input) {
        match input {
            Input::Script(bytes) => self.waiting = bytes.into(),
            Input::Live(receiver) => self.live = Some(receiver),
        }
    }

    /// A user may type, so that the host's time matters.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// The user wants the run to end.
    #[must_use]
    pub fn quit_requested(&self) -> bool {
        self.quit
    }

    /// Passes on what has been typed, as far as there is room. True if there was something.
    pub fn poll(&mut self) -> bool {
        while let Some(receiver) = &self.live {
            match receiver.try_recv() {
                Ok(typed) => self.take(typed),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => self.live = None,
            }
        }
        self.live.is_some() && self.push(usize::MAX) > 0
    }

    /// The guest halts. True if there was something for it.
    pub fn idle(&mut self) -> bool {
        if self.live.is_some() {
            return self.poll();
        }
        if self.waiting.is_empty() || !self.uart.wants_input() {
            return false;
        }
        let line =
            self.waiting.iter().position(|byte| *byte == b'\n').map_or(self.waiting.len(), |end| end + 1);
        self.push(line) > 0
    }

    /// Waits for input, at most so long of the host's time. True if there was some.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        let Some(receiver) = &self.live else { return false };
        match receiver.recv_timeout(timeout) {
            Ok(typed) => {
                self.take(typed);
                self.poll();
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

    fn push(&mut self, most: usize) -> usize {
        let most = most.min(self.waiting.len());
        let taken = self.uart.enqueue(&self.waiting.make_contiguous()[..most]);
        self.waiting.drain(..taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A port with a receive buffer of 64 bytes.
    #[derive(Debug, Default)]
    struct Port {
        listens: bool,
        received: Vec<u8>,
    }

    impl Uart for Port {
        fn enqueue(&mut self, input: &[u8]) -> usize {
            let fits = input.len().min(64 - self.received.len());
            self.received.extend(&input[..fits]);
            fits
        }

        fn wants_input(&self) -> bool {
            self.listens && self.received.is_empty()
        }
    }

    fn console(input: Input, listens: bool) -> Console<Port> {
        let mut console = Console::new(Port { listens, ..Port::default() });
        console.set_input(input);
        console
    }

    fn read_all(console: &mut Console<Port>) -> Vec<u8> {
        std::mem::take(&mut console.uart.received)
    }

    #[test]
    fn a_script_comes_line_by_line_to_a_guest_that_waits_for_it() {
        let mut console = console(Input::Script(b"ls\npwd".to_vec()), false);
        console.poll();
        assert!(!console.idle(), "the guest does not listen");
        console.uart.listens = true;
        assert!(console.idle());
        assert!(!console.idle(), "the line has not been read");
        assert_eq!(read_all(&mut console), b"ls\n");
        assert!(console.idle());
        assert_eq!(read_all(&mut console), b"pwd");
        assert!(!console.idle());
    }

    #[test]
    fn a_line_longer_than_the_receive_buffer_comes_in_parts() {
        let line = [vec![b'x'; 150], b"\n".to_vec()].concat();
        let mut console = console(Input::Script(line.clone()), true);
        let mut seen = Vec::new();
        while console.idle() {
            seen.extend(read_all(&mut console));
        }
        assert_eq!(seen, line);
    }

    #[test]
    fn keys_come_as_they_are_typed_and_quit_is_noticed() {
        let (keyboard, receiver) = mpsc::channel();
        let mut console = console(Input::Live(receiver), true);
        assert!(!console.wait(Duration::ZERO) && console.is_live());
        keyboard.send(Typed::Bytes(vec![b'k'; 100])).unwrap();
        console.poll();
        assert_eq!(read_all(&mut console).len(), 64);
        assert!(console.idle());
        assert_eq!(read_all(&mut console).len(), 36);
        keyboard.send(Typed::Quit).unwrap();
        assert!(console.wait(Duration::ZERO) && console.quit_requested());
        drop(keyboard);
        console.poll();
        assert!(!console.is_live());
    }
}
