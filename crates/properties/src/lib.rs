//! What has to hold of a [`vpmu::Vpmu`] whatever a guest does.
//!
//! [`check`] turns bytes into a sequence of operations on the vPMU of one CPU and checks after each what the
//! registers' declarations and the counting rules say. The bytes come from a random generator (the program of this
//! crate, `cargo xtask properties`), from a fuzzer (`crates/vpmu/fuzz`), or from files that either has kept.

#![forbid(unsafe_code)]

#[allow(
    missing_docs,
    missing_debug_implementations,
    clippy::panic,
    reason = "a panic is the verdict; names say what there is to say"
)]
pub mod harness;
mod input;
mod machine;
#[allow(missing_docs, missing_debug_implementations, clippy::panic, reason = "as above")]
pub mod model;
mod op;
mod report;
mod rng;
mod shrink;
mod subject;
mod totals;

pub use report::{Reached, Report};
pub use rng::Rng;
pub use shrink::shrink;

use input::Input;
use machine::Machine;
use op::Op;
use std::panic::{AssertUnwindSafe, catch_unwind};
use subject::{SUBJECTS, Subject};

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{profile}, operation {at} ({op}): {what}")]
pub struct Violation {
    /// The CPU.
    pub profile: &'static str,
    /// Number of the operation, from 0.
    pub at: usize,
    /// The operation.
    pub op: String,
    /// What is not as it has to be.
    pub what: String,
}

/// The CPU that the first byte chooses.
fn subject(input: &mut Input<'_>) -> &'static Subject {
    &SUBJECTS[usize::from(input.byte()) % SUBJECTS.len()]
}

/// The name of the CPU and the operations that `bytes` stand for, in words.
#[must_use]
pub fn describe(bytes: &[u8]) -> (&'static str, Vec<String>) {
    let mut input = Input::new(bytes);
    let subject = subject(&mut input);
    let mut ops = Vec::new();
    while !input.is_empty() {
        ops.push(Op::read(&mut input, subject).to_string());
    }
    (subject.profile.name, ops)
}

/// Runs the sequence that `bytes` stand for from power-on.
///
/// # Errors
/// The first rule that does not hold.
pub fn check(bytes: &[u8], report: &mut Report) -> Result<(), Violation> {
    let mut input = Input::new(bytes);
    let subject = subject(&mut input);
    report.sequences += 1;
    let mut machine = Machine::power_on(subject, report);
    let violation =
        |at, op: &str, what| Violation { profile: subject.profile.name, at, op: op.to_owned(), what };
    let mut at = 0;
    while !input.is_empty() {
        let op = Op::read(&mut input, subject);
        machine.step(&op).map_err(|what| violation(at, &op.to_string(), what))?;
        at += 1;
    }
    machine.finish().map_err(|what| violation(at, "the end", what))
}

/// As [`check`]; a panic is a violation too.
///
/// # Errors
/// The first rule that does not hold.
pub fn check_without_panic(bytes: &[u8], report: &mut Report) -> Result<(), Violation> {
    catch_unwind(AssertUnwindSafe(|| check(bytes, report))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let (profile, ops) = describe(bytes);
        Err(Violation {
            profile,
            at: ops.len(),
            op: String::from("unknown"),
            what: format!("panic: {}", text.unwrap_or_default()),
        })
    })
}
