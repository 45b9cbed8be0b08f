//! Tracing what rarely happens, for reports.

use super::Access;
use crate::account::totals::Totals;
use crate::exception::Delivery;
use core::convert::Infallible;

/// Traces exceptions, interrupts and missing instructions: an optional part of a [`Bus`](crate::Bus).
pub trait Tracer {
    /// An exception or interrupt has entered its handler, or could not. `totals` is what has retired before it.
    fn delivery(&mut self, delivery: &Delivery, totals: &Totals);
    /// The guest executes this instruction for the first time, and it is not implemented: it raises #UD. `code` is
    /// as in [`Unimplemented`](crate::Unimplemented).
    fn unimplemented(&mut self, code: &str, access: &Access<'_>);
}

impl Tracer for Infallible {
    fn delivery(&mut self, _delivery: &Delivery, _totals: &Totals) {
        match *self {}
    }
    fn unimplemented(&mut self, _code: &str, _access: &Access<'_>) {
        match *self {}
    }
}
