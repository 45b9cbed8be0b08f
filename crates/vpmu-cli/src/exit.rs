//! Exit codes; `vpmu --help` documents them.

/// The guest passed, or the command did its work.
pub(crate) const PASS: u8 = 0;
/// The guest reported failed tests.
pub(crate) const FAIL: u8 = 1;
/// Wrong arguments, image or file. clap uses the same.
pub(crate) const USAGE: u8 = 2;
/// The VMM could not run.
pub(crate) const HOST: u8 = 3;
/// The guest crashed, or halted without a result.
pub(crate) const CRASH: u8 = 4;
/// `vpmu test` has nothing to run; cargo-nextest uses the same.
pub(crate) const NOTHING_TO_RUN: u8 = 4;
/// The guest skipped every test; Automake and kvm-unit-tests use the same.
pub(crate) const SKIP: u8 = 77;
/// The time-out has passed; `timeout(1)` uses the same.
pub(crate) const TIMEOUT: u8 = 124;
