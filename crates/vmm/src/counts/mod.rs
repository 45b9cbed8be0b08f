//! Counts sources: who supplies event counts to the vPMU.
//!
//! | source | counts are | when |
//! | --- | --- | --- |
//! | [`synthetic`] | made up from run time and configured rates | KVM without a host PMU, on request |
//! | [`model`] | what the soft engine retired, exactly; cycles at a fixed ratio | the soft engine |
//! | [`timing`] | what a model of the core computes from what retires | the soft engine with `--detail timing` |
//! | [`switched`] | of the last two the one that is on | the same with `--model-in` |
//! | [`timed`] | the same, but for what the interpreter's totals know exactly | the same, for AArch64 |
//! | [`host`] | the host's perf event groups | KVM on a host with a PMU |

pub mod arm;
mod choice;
pub mod host;
pub mod model;
pub(crate) mod operations;
mod source;
pub mod switched;
pub mod synthetic;
pub mod timed;
pub mod timing;
pub mod totals;
mod watch;

pub use choice::{CountsChoice, CountsError, check_soft, choose, choose_soft};
pub use source::{Slice, Source};
