//! `cargo xtask oracle` and `cargo xtask fuzz`: soft-cpu against the host's CPU, and against random bytes.

use crate::cargo::{cargo, run};
use crate::error::TaskError;

/// Builds a program of the crate `oracle`, fast and with overflow checks, and runs it.
pub(crate) fn oracle(program: &str, args: &[String]) -> Result<(), TaskError> {
    let mut command =
        cargo(["run", "--quiet", "--profile", "checked", "--package", "oracle", "--bin", program]);
    run(command.arg("--").args(args))
}
