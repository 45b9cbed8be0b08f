//! `-- PROGRAM`: a program of the host in a Linux guest.

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::str::FromStr as _;
use vmm::guest_program::roi::spec::Region;

/// A program, and what goes with it.
#[derive(Debug, Default, Args)]
pub(crate) struct ProgramArgs {
    /// Copy this file, directory (without what is in it) or program into the
    /// guest; files among the program's arguments come along by themselves
    /// (repeatable)
    #[arg(long, value_name = "PATH", requires = "program", help_heading = "Program")]
    pub(crate) file: Vec<PathBuf>,
    /// Copy this directory with everything in it into the guest (repeatable)
    #[arg(long, value_name = "PATH", requires = "program", help_heading = "Program")]
    pub(crate) dir: Vec<PathBuf>,
    /// Take programs and libraries from this directory, as if it were the root;
    /// a path that it does not have is that of a file of ours
    #[arg(
        long,
        value_name = "DIR",
        requires = "program",
        conflicts_with = "container",
        help_heading = "Program"
    )]
    pub(crate) sysroot: Option<PathBuf>,
    /// The same from a container image for x86-64: what `docker save`, `podman
    /// save`, `skopeo copy` or `docker export` have written. Its variables are
    /// set, and nothing of it is executed by itself
    #[arg(
        id = "container",
        long = "image",
        value_name = "TAR",
        requires = "program",
        help_heading = "Program"
    )]
    pub(crate) image: Option<PathBuf>,
    /// Give the program this variable of ours, or with this value (repeatable).
    /// It has PATH, HOME, LC_ALL=C and TZ=UTC otherwise
    #[arg(long, value_name = "NAME[=VALUE]", requires = "program", help_heading = "Program",
          value_parser = OsStringValueParser::new().try_map(variable))]
    pub(crate) env: Vec<OsString>,
    /// The program's standard input; `-` is ours [default: ours, if that is a
    /// file or a pipe]
    #[arg(long, value_name = "FILE", requires = "program", help_heading = "Program")]
    pub(crate) stdin: Option<PathBuf>,
    /// Put the files that the program writes or changes into this directory:
    /// those of its working directory with their paths from there, others with
    /// their absolute ones
    #[arg(long, value_name = "DIR", requires = "program", help_heading = "Program")]
    pub(crate) out: Option<PathBuf>,
    /// A program of this machine with its arguments, to run in a Linux guest;
    /// see `vpmu setup`
    #[arg(index = 2, last = true, num_args = 1.., value_name = "PROGRAM", help_heading = "Program",
          conflicts_with_all = ["image", "input", "initrd", "restore", "snapshot", "engine", "counts", "lbr", "rates",
                                "append", "module", "protocol", "trace", "trace_exceptions", "raw_exit", "test",
                                "inject", "skid", "record_pmu", "replay_pmu"])]
    pub(crate) program: Vec<OsString>,
}

/// A variable of the environment, which has a name.
fn variable(text: OsString) -> Result<OsString, &'static str> {
    match text.as_bytes() {
        [] | [b'=', ..] => Err("a variable needs a name: NAME or NAME=VALUE"),
        _ => Ok(text),
    }
}

/// The part of a program that is counted.
#[derive(Debug, Default, Args)]
pub(crate) struct RegionArgs {
    /// Count only this part of PROGRAM: FUNCTION from each call to its return;
    /// FROM..TO between functions or SSC marks (ssc:NUMBER); A..B from its
    /// user instruction A to the one before B, from 0
    #[arg(long, value_name = "REGION", value_parser = Region::from_str, requires = "program",
          help_heading = "Program")]
    pub(crate) roi: Option<Region>,
    /// Let the core model's caches and predictors see N instructions of the
    /// guest before what is counted (needs --detail timing)
    #[arg(long, value_name = "N", requires = "program", help_heading = "Program")]
    pub(crate) warm: Option<u64>,
}
