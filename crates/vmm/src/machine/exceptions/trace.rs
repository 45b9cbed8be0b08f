//! The trace of exceptions and interrupts, one JSON object a line.
//!
//! | key | meaning |
//! | --- | --- |
//! | `t_ns` | guest time in nanoseconds |
//! | `instructions` | instructions retired before it |
//! | | the event, as its architecture shows it: [`Delivered::Line`] |
//! | `refused` | of the exception of an access to a register: what was accessed, and which rule it broke |

use super::{Delivered, Refusal};
use crate::machine::json_lines::JsonLines;
use platform::time::GuestTime;
use serde::Serialize;
use std::io::{self, Write};
use vpmu::Profile;

/// When something happened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// Guest time.
    pub now: GuestTime,
    /// Instructions retired before it.
    pub instructions: u64,
}

/// Writes the trace.
#[derive(Debug)]
pub struct ExceptionTracer {
    lines: JsonLines,
}

#[derive(Serialize)]
struct Line<L> {
    t_ns: u64,
    instructions: u64,
    #[serde(flatten)]
    event: L,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl ExceptionTracer {
    /// A tracer that writes to `sink`. The sink should buffer.
    #[must_use]
    pub fn new(sink: Box<dyn Write>) -> Self {
        Self { lines: JsonLines::new(sink) }
    }

    pub(super) fn event(
        &mut self,
        delivery: &impl Delivered,
        refused: Option<&Refusal>,
        profile: &Profile,
        moment: Moment,
    ) {
        self.lines.line(&Line {
            t_ns: moment.now.0,
            instructions: moment.instructions,
            event: delivery.line(),
            refused: refused.map(|refusal| refusal.describe(profile)),
        });
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.lines.finish()
    }
}
