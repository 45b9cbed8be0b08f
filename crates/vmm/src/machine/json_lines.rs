//! Traces: one JSON object a line.

use serde::Serialize;
use std::fmt;
use std::io::{self, Write};

/// Writes objects to a sink. After the first error nothing more is written; [`finish`](Self::finish) reports it.
pub(crate) struct JsonLines {
    sink: Box<dyn Write>,
    error: Option<io::Error>,
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").field("error", &self.error).finish_non_exhaustive()
    }
}

impl JsonLines {
    /// The sink should buffer.
    pub(crate) fn new(sink: Box<dyn Write>) -> Self {
        Self { sink, error: None }
    }

    pub(crate) fn line(&mut self, line: &impl Serialize) {
        if self.error.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.sink, line)
            .map_err(io::Error::from)
            .and_then(|()| self.sink.write_all(b"\n"));
        self.error = written.err();
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.sink.flush(),
        }
    }
}
