//! Tracing what rarely happens, for reports.

use super::Access;
use crate::exception::Delivery;
use crate::totals::Totals;
use core::convert::Infallible;

/// Traces exceptions and missing instructions: an optional part of a [`Bus`](crate::Bus).
pub trait Tracer {
    /// An exception has been taken. `totals` is what has retired before it.
    fn delivery(&mut self, delivery: &Delivery, totals: &Totals);
    /// The guest executes this instruction for the first time, and it is not implemented: it is UNDEFINED. `name` is
    /// as in [`Unimplemented`](crate::Unimplemented).
    fn unimplemented(&mut self, name: &str, access: &Access<'_>);
}

impl Tracer for Infallible {
    fn delivery(&mut self, _delivery: &Delivery, _totals: &Totals) {
        match *self {}
    }
    fn unimplemented(&mut self, _name: &str, _access: &Access<'_>) {
        match *self {}
    }
}
