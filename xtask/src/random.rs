//! The random checks, each a program of its own: `cargo xtask oracle` and `fuzz` (soft-cpu against the host's CPU, and
//! against random bytes), `cargo xtask properties` (what has to hold of the virtual PMU).

use crate::cargo::{cargo, run};
use crate::error::TaskError;

/// Builds a program of a crate, fast and with overflow checks, and runs it.
pub(crate) fn checked(package: &str, program: &str, args: &[String]) -> Result<(), TaskError> {
    let mut command = cargo(["run", "--profile", "checked", "--package", package, "--bin", program]);
    run(command.arg("--").args(args))
}
