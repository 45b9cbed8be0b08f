//! Tasks that link the engines are handed on to a build of this program that has them, so that the one with which
//! everything starts takes seconds.

use crate::cargo::{cargo, run};
use crate::error::TaskError;

/// Arguments, for the other build to judge.
#[derive(Debug, clap::Args)]
pub(crate) struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Runs a task in the build with these features. Their crates are shared with the `vpmu` command.
fn hand_on<'a>(features: &str, task: &str, args: impl IntoIterator<Item = &'a str>) -> Result<(), TaskError> {
    let mut command = cargo(["run", "--release", "--package", "xtask"]);
    // What measures itself is optimised like what it measures.
    command.args(["--config", "profile.release.package.xtask.opt-level=3"]);
    command.args(["--no-default-features", "--features", features, "--", task]);
    run(command.args(args))
}

/// The pages from the register declarations and from the decoder.
#[cfg(not(feature = "docs"))]
pub(crate) mod docs {
    use super::{TaskError, hand_on};

    pub(crate) fn docs(check: bool) -> Result<(), TaskError> {
        hand_on("docs", "docs", check.then_some("--check"))
    }
}

/// Measurements.
pub(crate) mod bench {
    pub(crate) use super::Rest as BenchArgs;
    use super::{TaskError, hand_on};

    pub(crate) fn bench(rest: &BenchArgs) -> Result<(), TaskError> {
        hand_on("engines", "bench", rest.args.iter().map(String::as_str))
    }
}

/// The core model beside llvm-mca.
pub(crate) mod mca {
    pub(crate) use super::{Rest as CompareArgs, Rest as UopsArgs};
    use super::{TaskError, hand_on};

    pub(crate) fn compare(rest: &CompareArgs) -> Result<(), TaskError> {
        hand_on("engines", "mca", rest.args.iter().map(String::as_str))
    }

    pub(crate) fn write_tables(rest: &UopsArgs) -> Result<(), TaskError> {
        hand_on("engines", "uops", rest.args.iter().map(String::as_str))
    }
}

/// The core model beside measured CPUs.
pub(crate) mod silicon {
    pub(crate) use super::Rest as SiliconArgs;
    use super::{TaskError, hand_on};

    pub(crate) fn silicon(rest: &SiliconArgs) -> Result<(), TaskError> {
        hand_on("engines", "silicon", rest.args.iter().map(String::as_str))
    }
}
