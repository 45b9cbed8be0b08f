//! The exceptions and interrupts that the CPU delivers: all of them for the trace, and the newest for the report of a
//! crash.
//!
//! | file | what it is |
//! | --- | --- |
//! | `mod.rs` | the log that an engine fills |
//! | `refusal.rs` | accesses to registers that raised an exception, and why |
//! | `cause.rs` | what a report says of a crash |
//! | `trace.rs` | the trace |
//!
//! What an event is, and how it reads, is its architecture's: [`Delivered`].

mod cause;
mod refusal;
mod trace;

pub use cause::{Cause, Details, RaisedException};
pub use refusal::{MsrAccess, Refusal, RefusalReason};
pub use trace::{ExceptionTracer, Moment};

use serde::Serialize;
use std::{fmt, io};

/// Undelivered exceptions in a row: a triple fault has three or four.
const MAX_CHAIN: usize = 8;

/// An exception or interrupt that a CPU has delivered, or could not deliver.
pub trait Delivered: Copy + fmt::Debug {
    /// How the trace shows it.
    type Line: Serialize;

    /// True for exceptions.
    fn is_exception(&self) -> bool;

    /// True if its handler could not be entered.
    fn is_lost(&self) -> bool;

    /// Of an exception that a refused access may have raised: the address of its instruction.
    fn refused_at(&self) -> Option<u64>;

    /// As the trace shows it.
    fn line(&self) -> Self::Line;

    /// As a report shows it. `code` tells the instruction at an address, as the vCPU stands now.
    fn report(&self, code: &dyn Fn(u64) -> Option<String>) -> RaisedException;
}

/// An event with the access that raised it.
#[derive(Debug, Clone, Copy)]
struct Noted<D> {
    delivery: D,
    refused: Option<Refusal>,
}

/// What the CPU delivers.
#[derive(Debug)]
pub struct ExceptionLog<D> {
    tracer: Option<ExceptionTracer>,
    /// What could not be delivered since something could.
    undelivered: Vec<Noted<D>>,
    /// The newest exception that reached its handler.
    delivered: Option<Noted<D>>,
    /// The newest refused access, and whether its exception has been reported.
    refused: Option<(Refusal, bool)>,
}

impl<D> Default for ExceptionLog<D> {
    fn default() -> Self {
        Self { tracer: None, undelivered: Vec::new(), delivered: None, refused: None }
    }
}

impl<D: Delivered> ExceptionLog<D> {
    /// Traces everything from now on.
    pub fn set_tracer(&mut self, tracer: Option<ExceptionTracer>) {
        self.tracer = tracer;
    }

    /// True if exceptions are traced, which needs the time of each.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.tracer.is_some()
    }

    /// An access raises an exception.
    pub fn refuse(&mut self, refusal: Refusal) {
        self.refused = Some((refusal, false));
    }

    /// An exception or interrupt has entered its handler, or could not. `moment` is only looked at if this
    /// [is traced](Self::is_traced).
    pub fn note(&mut self, delivery: &D, profile: &vpmu::Profile, moment: Moment) {
        let mut refused = None;
        if let Some(address) = delivery.refused_at()
            && let Some((refusal, told @ false)) = &mut self.refused
            && refusal.rip == Some(address)
        {
            *told = true;
            refused = Some(*refusal);
        }
        let noted = Noted { delivery: *delivery, refused };
        if delivery.is_lost() {
            if self.undelivered.len() < MAX_CHAIN {
                self.undelivered.push(noted);
            }
        } else {
            self.undelivered.clear();
            if delivery.is_exception() {
                self.delivered = Some(noted);
            }
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.event(delivery, noted.refused.as_ref(), profile, moment);
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
