//! The trace of exceptions and interrupts, one JSON object a line.
//!
//! | key | meaning |
//! | --- | --- |
//! | `t_ns` | guest time in nanoseconds |
//! | `instructions` | instructions retired before it |
//! | `event` | `exception`, `interrupt`, `nmi`, or `software` for INT n, INT3 and INTO |
//! | `vector` | vector |
//! | `name` | `#GP` and so on, of exceptions |
//! | `error` | error code, hexadecimal |
//! | `meaning` | the error code in words |
//! | `cr2` | address of a #PF, hexadecimal |
//! | `cpl`, `cs`, `rip` | where it happened: the instruction that raised it, or the one that did not begin |
//! | `handler` | `cpl`, `cs` and `rip` of its handler; `null` if it could not be delivered |
//! | `delivery_raised` | the exception that kept it from its handler |
//! | `refused` | of the #GP of an MSR access or RDPMC: what was accessed, and which rule it broke |

use super::cause::{error_meaning, title};
use super::{Moment, NMI, PF, Refusal, name};
use crate::machine::json_lines::JsonLines;
use serde::Serialize;
use soft_cpu::{Delivery, EventKind, Place};
use std::io::{self, Write};
use vpmu::Profile;

/// Writes the trace.
#[derive(Debug)]
pub struct ExceptionTracer {
    lines: JsonLines,
}

#[derive(Serialize)]
struct Line {
    t_ns: u64,
    instructions: u64,
    event: &'static str,
    vector: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cr2: Option<String>,
    #[serde(flatten)]
    from: At,
    handler: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_raised: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

#[derive(Serialize)]
struct At {
    cpl: u8,
    cs: String,
    rip: String,
}

impl From<Place> for At {
    fn from(place: Place) -> Self {
        Self { cpl: place.cpl, cs: hex(place.cs), rip: hex(place.rip) }
    }
}

fn hex(value: impl Into<u64>) -> String {
    format!("{:#x}", value.into())
}

impl ExceptionTracer {
    /// A tracer that writes to `sink`. The sink should buffer.
    #[must_use]
    pub fn new(sink: Box<dyn Write>) -> Self {
        Self { lines: JsonLines::new(sink) }
    }

    pub(super) fn event(
        &mut self,
        delivery: &Delivery,
        refused: Option<&Refusal>,
        profile: &Profile,
        moment: Moment,
    ) {
        let event = &delivery.event;
        let exception = delivery.kind == EventKind::Exception;
        self.lines.line(&Line {
            t_ns: moment.now.0,
            instructions: moment.instructions,
            event: match delivery.kind {
                EventKind::Exception => "exception",
                EventKind::Software => "software",
                EventKind::Interrupt if event.vector == NMI => "nmi",
                EventKind::Interrupt => "interrupt",
            },
            vector: event.vector,
            name: name(event.vector).filter(|_| exception),
            error: event.error.map(hex),
            meaning: error_meaning(event),
            cr2: (exception && event.vector == PF).then(|| hex(event.address)),
            from: delivery.from.into(),
            handler: delivery.handler.ok().map(At::from),
            delivery_raised: delivery.handler.err().map(|raised| title(&raised)),
            refused: refused.map(|refusal| refusal.describe(profile)),
        });
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.lines.finish()
    }
}
