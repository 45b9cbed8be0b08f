//! `vpmu report`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const HELP: &str = "\
Examples:
  vpmu record --detail timing -- ./prog
  vpmu report
  vpmu report --lines
  vpmu report --format callgrind -o callgrind.out && kcachegrind callgrind.out";

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// What `vpmu record` has written
    #[arg(default_value = "vpmu.data")]
    pub(crate) file: PathBuf,
    /// Lines of source code instead of functions
    #[arg(long, conflicts_with = "format")]
    pub(crate) lines: bool,
    /// Most rows of the table; 0 shows all
    #[arg(short = 'n', long, value_name = "N", default_value = "30")]
    pub(crate) limit: usize,
    /// Write the recording for another program instead
    #[arg(short, long, value_enum)]
    pub(crate) format: Option<ReportFormat>,
    /// What stacks are weighted by [default: cycles, where there are some]
    #[arg(long, value_enum, requires = "format")]
    pub(crate) weight: Option<Weight>,
    /// The program or library whose branches are written, by its name
    /// [default: the program that executed most]
    #[arg(long, value_name = "NAME", requires = "format")]
    pub(crate) object: Option<String>,
    /// Where to write what --format says [default: stdout]
    #[arg(short, long, value_name = "FILE", requires = "format")]
    pub(crate) output: Option<PathBuf>,
    /// Write all rows to this file as comma-separated values (-: stdout)
    #[arg(long, value_name = "FILE", conflicts_with = "format", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
}

/// What reads a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// callgrind_annotate, KCachegrind: exact counts by line, and calls
    Callgrind,
    /// Stacks for flamegraph.pl, inferno and speedscope.app
    Folded,
    /// speedscope.app
    Speedscope,
    /// profiler.firefox.com
    Firefox,
    /// go tool pprof, and all that reads its profiles
    Pprof,
    /// llvm-bolt: exact branches, pre-aggregated
    Bolt,
    /// create_llvm_prof and create_gcov --profiler=text, of AutoFDO
    Autofdo,
    /// llvm-profgen --unsymbolized-profile, with --use-offset=0
    Profgen,
}

/// What stacks are weighted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Weight {
    /// Instructions of the program and of the kernel for it
    Instructions,
    /// Core cycles, with `record --detail timing`
    Cycles,
}
