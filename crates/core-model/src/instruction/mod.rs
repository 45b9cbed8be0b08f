//! Instructions and blocks of them as the pipeline needs them.

pub(crate) mod block;
pub(crate) mod execution;
pub(crate) mod prepared;
pub(crate) mod traits;
pub(crate) mod units;

pub(crate) use block::{Definition, Definitions, Predicted, accesses_of};
pub(crate) use execution::{Executed, Execution, NEVER};
pub(crate) use prepared::{Prepared, READY, RESOURCES};
pub(crate) use traits::Traits;
pub(crate) use units::UnitsInTurn;
