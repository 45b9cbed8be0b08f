//! What the loader told: the command line and the memory map.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use firmware::BootInfo;

use crate::{
    global::Global,
    machine::loader::{self, MAPPED_END},
    text::Text,
};

/// Longest command line that is looked at, in bytes; Linux takes the same.
const COMMAND_LINE_LIMIT: usize = 2048;

/// A copy, because the loader's text may lie in memory that `with_scratch` hands out.
static COMMAND_LINE: Global<Text<COMMAND_LINE_LIMIT>> = Global::new(Text::new());
static SCRATCH_START: AtomicU64 = AtomicU64::new(0);
static SCRATCH_END: AtomicU64 = AtomicU64::new(0);
static SCRATCH_IN_USE: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    static __image_end: u8;
}

/// Keeps what the loader told.
pub(crate) fn initialise(info: &BootInfo) {
    let mut scratch = Scratch::new();
    // SAFETY: nothing else runs yet, so there is no other reference to the text.
    let command_line = unsafe { &mut *COMMAND_LINE.get() };
    let text = loader::read(info, |start, length| scratch.offer(start, length));
    text.take(COMMAND_LINE_LIMIT).for_each(|byte| command_line.push(char::from(byte)));
    SCRATCH_START.store(scratch.start, Relaxed);
    SCRATCH_END.store(scratch.end, Relaxed);
}

/// The largest piece of mapped RAM above the image.
struct Scratch {
    start: u64,
    end: u64,
    floor: u64,
}

impl Scratch {
    fn new() -> Self {
        Self { start: 0, end: 0, floor: (&raw const __image_end) as u64 }
    }

    fn offer(&mut self, start: u64, length: u64) {
        let end = start.saturating_add(length).min(MAPPED_END);
        let start = start.max(self.floor);
        if end.saturating_sub(start) > self.end - self.start {
            (self.start, self.end) = (start, end);
        }
    }
}

/// Lends RAM that nothing else uses: `words` times 8 bytes, contents undefined but initialised.
/// `None` if the machine has less, or if it is lent already.
pub fn with_scratch<R>(words: usize, body: impl FnOnce(&mut [u64]) -> R) -> Option<R> {
    let (start, end) = (SCRATCH_START.load(Relaxed).next_multiple_of(64), SCRATCH_END.load(Relaxed));
    if end.saturating_sub(start) / 8 < words as u64 || SCRATCH_IN_USE.swap(true, Relaxed) {
        return None;
    }
    // SAFETY: the memory map says RAM, it is above the image and mapped; the
    // flag makes this the only reference; what the loader left there has been copied.
    let memory = unsafe { core::slice::from_raw_parts_mut(start as *mut u64, words) };
    let result = body(memory);
    SCRATCH_IN_USE.store(false, Relaxed);
    Some(result)
}

/// Takes the scratch memory back from a test that was abandoned.
pub(crate) fn reset_scratch() {
    SCRATCH_IN_USE.store(false, Relaxed);
}

/// The kernel command line; empty if there is none. Bytes above 127 are read as Latin-1.
#[must_use]
pub fn command_line() -> &'static str {
    // SAFETY: written once, before any test runs.
    unsafe { &*COMMAND_LINE.get() }.as_str()
}

/// The value of the word `key=value` on the command line.
#[must_use]
pub fn option(key: &str) -> Option<&'static str> {
    command_line().split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// True if the command line contains `word` by itself.
#[must_use]
pub fn flag(word: &str) -> bool {
    command_line().split_ascii_whitespace().any(|other| other == word)
}
