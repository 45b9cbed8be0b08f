//! The user's terminal as the guest's console: keys go to the guest one by one, Ctrl-A X ends the run.

use platform::devices::{Input, Typed};
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use vmm_sys_util::terminal::Terminal as _;

/// Ctrl-A: the next key is for us, as QEMU has it.
const ESCAPE: u8 = 1;

/// The terminal is in raw mode.
static RAW: AtomicBool = AtomicBool::new(false);

/// Whether both stdin and stdout are a terminal.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Raw mode, until it is dropped.
#[derive(Debug)]
pub(crate) struct Raw(());

impl Raw {
    /// Every key reaches the guest at once, Ctrl-C too.
    ///
    /// # Errors
    /// The terminal refuses.
    pub(crate) fn enter() -> io::Result<Self> {
        io::stdin().lock().set_raw_mode().map_err(io::Error::from)?;
        RAW.store(true, Ordering::SeqCst);
        Ok(Self(()))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        leave_raw();
    }
}

/// Makes the terminal again what it was before [`Raw`].
pub(crate) fn leave_raw() {
    if RAW.swap(false, Ordering::SeqCst)
        && let Err(error) = io::stdin().lock().set_canon_mode()
    {
        log::warn!("the terminal stays in raw mode ({error}); `reset` brings it back");
    }
}

/// What is typed, read by a thread of its own.
///
/// # Errors
/// No file descriptor is left.
pub(crate) fn keyboard() -> io::Result<Input> {
    // Not `Stdin` itself: the thread would hold its lock when the terminal has to be reset.
    let keys = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || read(keys, &sender));
    Ok(Input::Live(receiver))
}

fn read(mut keys: File, sender: &Sender<Typed>) {
    let mut buffer = [0; 256];
    let mut escape = Escape::default();
    while let Ok(length @ 1..) = keys.read(&mut buffer) {
        for typed in escape.filter(&buffer[..length]) {
            if sender.send(typed).is_err() {
                return;
            }
        }
    }
}

/// Looks for Ctrl-A.
#[derive(Debug, Default)]
struct Escape {
    seen: bool,
}

impl Escape {
    fn filter(&mut self, keys: &[u8]) -> Vec<Typed> {
        let mut bytes = Vec::new();
        let mut quit = false;
        for &key in keys {
            let escaped = std::mem::take(&mut self.seen);
            match (escaped, key) {
                (false, ESCAPE) => self.seen = true,
                (true, b'x' | b'X') => quit = true,
                (false, _) | (true, ESCAPE) => bytes.push(key),
                (true, _) => {}
            }
        }
        let mut typed = Vec::new();
        if !bytes.is_empty() {
            typed.push(Typed::Bytes(bytes));
        }
        if quit {
            typed.push(Typed::Quit);
        }
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_a_x_quits_and_control_a_twice_is_control_a() {
        let keys = |text: &[u8]| Escape::default().filter(text);
        assert_eq!(keys(b"ls\r"), [Typed::Bytes(b"ls\r".to_vec())]);
        assert_eq!(keys(b"a\x01x"), [Typed::Bytes(b"a".to_vec()), Typed::Quit]);
        assert_eq!(keys(b"\x01\x01x"), [Typed::Bytes(b"\x01x".to_vec())]);
        assert_eq!(keys(b"\x01?b"), [Typed::Bytes(b"b".to_vec())]);
        let mut escape = Escape::default();
        assert_eq!(escape.filter(b"\x01"), []);
        assert_eq!(escape.filter(b"X"), [Typed::Quit]);
    }
}
