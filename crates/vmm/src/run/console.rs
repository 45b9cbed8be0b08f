//! The console: kept for the report, and shown while the guest runs.

use platform::devices::Capture;
use platform::devices::Output;
use std::io::{self, Write};

/// Most console bytes that a report keeps; the oldest go first.
pub const CONSOLE_LIMIT: usize = 1 << 20;

/// A bounded copy of the console, and where the guest writes.
pub(super) fn console(live: Option<Output>) -> (Capture, Output) {
    let capture = Capture::new(CONSOLE_LIMIT);
    let output: Output = match live {
        Some(live) => Box::new(Tee { first: live, second: capture.clone() }),
        None => Box::new(capture.clone()),
    };
    (capture, output)
}

/// Console output to two places; the first one's errors do not stop the second.
struct Tee {
    first: Output,
    second: Capture,
}

impl Write for Tee {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.second.write_all(data)?;
        self.first.write_all(data)?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.first.flush()
    }
}
