//! What the CPU delivers through the IDT: all of it for the trace, and the newest for the report of a crash.
//!
//! | file | what it is |
//! | --- | --- |
//! | `mod.rs` | the log that an engine fills |
//! | `refusal.rs` | MSR accesses and RDPMC that raised #GP, and why |
//! | `cause.rs` | what a report says of a crash |
//! | `trace.rs` | the trace |

mod cause;
mod refusal;
mod trace;

pub use cause::{Cause, RaisedException};
pub use refusal::{MsrAccess, Refusal, RefusalReason};
pub use trace::ExceptionTracer;

use platform::time::GuestTime;
use soft_cpu::{Delivery, EventKind};
use std::io;

const PF: u8 = 14;
const GP: u8 = 13;
const NMI: u8 = 2;
/// Undelivered exceptions in a row: a triple fault has three or four.
const MAX_CHAIN: usize = 8;

/// When something happened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// Guest time.
    pub now: GuestTime,
    /// Instructions retired before it.
    pub instructions: u64,
}

/// An event with the access that raised it.
#[derive(Debug, Clone, Copy)]
struct Noted {
    delivery: Delivery,
    refused: Option<Refusal>,
}

/// What the CPU delivers.
#[derive(Debug, Default)]
pub struct ExceptionLog {
    tracer: Option<ExceptionTracer>,
    /// What could not be delivered since something could.
    undelivered: Vec<Noted>,
    /// The newest exception that reached its handler.
    delivered: Option<Noted>,
    /// The newest refused access, and whether its #GP has been told of.
    refused: Option<(Refusal, bool)>,
}

impl ExceptionLog {
    /// Traces everything from now on.
    pub fn set_tracer(&mut self, tracer: Option<ExceptionTracer>) {
        self.tracer = tracer;
    }

    /// True if exceptions are traced, which needs the time of each.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.tracer.is_some()
    }

    /// An access raises #GP.
    pub fn refuse(&mut self, refusal: Refusal) {
        self.refused = Some((refusal, false));
    }

    /// An exception or interrupt has entered its handler, or could not. `moment` is only looked at if this
    /// [is traced](Self::is_traced).
    pub fn note(&mut self, delivery: &Delivery, profile: &vpmu::Profile, moment: Moment) {
        let is_exception = delivery.kind == EventKind::Exception;
        let mut refused = None;
        if is_exception
            && delivery.event.vector == GP
            && let Some((refusal, told @ false)) = &mut self.refused
            && refusal.rip == Some(delivery.from.rip)
        {
            *told = true;
            refused = Some(*refusal);
        }
        let noted = Noted { delivery: *delivery, refused };
        if delivery.handler.is_err() {
            if self.undelivered.len() < MAX_CHAIN {
                self.undelivered.push(noted);
            }
        } else {
            self.undelivered.clear();
            if is_exception {
                self.delivered = Some(noted);
            }
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.event(&noted.delivery, noted.refused.as_ref(), profile, moment);
        }
    }

    /// Writes out what the trace still buffers.
    ///
    /// # Errors
    /// The first error in writing the trace file.
    pub fn finish_trace(&mut self) -> io::Result<()> {
        self.tracer.as_mut().map_or(Ok(()), ExceptionTracer::finish)
    }
}

/// The name of an exception (SDM volume 3, table 6-1; APM volume 2, table 8-1).
fn name(vector: u8) -> Option<&'static str> {
    Some(match vector {
        0 => "#DE",
        1 => "#DB",
        NMI => "NMI",
        3 => "#BP",
        4 => "#OF",
        5 => "#BR",
        6 => "#UD",
        7 => "#NM",
        8 => "#DF",
        10 => "#TS",
        11 => "#NP",
        12 => "#SS",
        GP => "#GP",
        PF => "#PF",
        16 => "#MF",
        17 => "#AC",
        18 => "#MC",
        19 => "#XM",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
