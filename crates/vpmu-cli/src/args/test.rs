//! The arguments of `vpmu test`.

use super::{IsaArg, mebibytes};
use crate::commands::test::engine::Engine;
use crate::commands::test::shard::ShardArg;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use vmm::counts::CountsChoice;
use vmm::engine::Detail;

/// What stands for all built-in profiles.
pub(crate) const ALL: &str = "all";

pub(crate) const HELP: &str = "\
A test is one image on one profile and one engine: IMAGE@PROFILE/ENGINE. Each
runs in a process of its own. What a directory's tests are, with arguments and
time-outs, may say a manifest in it: vpmu-test.toml, or the unittests.cfg of
kvm-unit-tests.

Filter expressions, as in cargo-nextest: test(M) image(M) area(M) group(M)
profile(M) engine(M) detail(M) all() none(), joined by and, or, not, &, |, -, !
and parentheses. M is a glob (in test(): a part of the name), =exact, ~part or
/regex/.

Exit status:
    0   at least one test passed, none failed
    1   a test failed, crashed or ran out of time
    2   wrong arguments, filter, manifest or image
    3   a report could not be written, no process could be started
    4   nothing to run: no image found, or the filter left none
   77   every test was skipped (a shard: 0)
  130   Ctrl-C (SIGINT) ended it, with the results so far; 143 SIGTERM

Examples:
  vpmu test target/guest
  vpmu test lbr.elf metrics.elf --profile sapphire-rapids --engine all
  vpmu test DIR -E 'image(lbr) and not engine(kvm)' --list
  vpmu test DIR --shard 2/4 --no-fail-fast --junit out-2.xml
  vpmu test merge out-*.xml --output out.xml";

const MERGE_HELP: &str = "\
The report is in the format of the files, in the order of one run.

Exit status:
    0   every shard is there, at least one test passed, none failed
    1   a test failed, or a shard or a test of it is missing
    2   the files are no shards of one run, or one is there twice
    3   the report could not be written
   77   every test was skipped

Example:
  vpmu test merge results/junit-*.xml --output junit.xml";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct TestArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TestCommand>,
    /// Images, and directories with images
    #[arg(value_name = "DIR|IMAGE", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Run the tests that an expression selects (repeatable: any of them)
    #[arg(short = 'E', long = "filter", value_name = "EXPR", help_heading = "Selection")]
    pub(crate) filters: Vec<String>,
    /// The CPUs whose PMU is shown, separated by commas: names (see `vpmu list
    /// profiles`), `all` of them, or files that end in .toml
    #[arg(short, long = "profile", value_name = "NAMES|FILES", value_delimiter = ',', default_value = ALL,
          help_heading = "Selection")]
    pub(crate) profiles: Vec<String>,
    /// What executes the guest's instructions
    #[arg(long, value_enum, default_value_t, help_heading = "Selection")]
    pub(crate) engine: Engines,
    /// How closely the soft engine models the core, separated by commas
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) detail: Vec<Detail>,
    /// Run the i-th of n parts: by counting through the tests (i/n, count:i/n),
    /// or by a hash of the names, which other tests do not change (hash:i/n).
    /// `auto` (auto/n, hash:auto) asks the variables of Kubernetes, Slurm,
    /// Bazel or AWS Batch
    #[arg(long, value_name = "I/N|auto", help_heading = "Selection")]
    pub(crate) shard: Option<ShardArg>,
    /// Say what each image needs: a vpmu-test.toml or unittests.cfg for one
    /// directory [default: the one in the directory]
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    pub(crate) manifest: Option<PathBuf>,
    /// Print the tests and run none
    #[arg(long, help_heading = "Selection")]
    pub(crate) list: bool,
    /// Who supplies the counts under KVM; the soft engine counts by itself
    #[arg(long, value_parser = kvm_counts(), default_value = "host", help_heading = "Machine")]
    pub(crate) counts: CountsChoice,
    /// The most instruction sets that every guest is shown, as `vpmu run
    /// --isa` has them
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Machine")]
    pub(crate) isa: Option<IsaArg>,
    /// Seconds for a test whose manifest gives none
    #[arg(short, long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "Machine")]
    pub(crate) timeout: u64,
    /// Guest memory for a test whose manifest gives none
    #[arg(short, long, value_name = "SIZE", default_value = "128", value_parser = mebibytes, help_heading = "Machine")]
    pub(crate) memory: u64,
    /// Command line for every guest, behind that of its manifest
    #[arg(
        short,
        long,
        value_name = "CMDLINE",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true,
        help_heading = "Machine"
    )]
    pub(crate) append: String,
    /// Tests at the same time [default: number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024),
          help_heading = "Running")]
    pub(crate) jobs: Option<u16>,
    /// Start no more tests after a failure (the default)
    #[arg(long, overrides_with = "no_fail_fast", help_heading = "Running")]
    fail_fast: bool,
    /// Run every test, whatever fails
    #[arg(long, overrides_with = "fail_fast", help_heading = "Running")]
    pub(crate) no_fail_fast: bool,
    /// Leave each test's process the rights that its guest does not need
    #[arg(long, help_heading = "Running")]
    pub(crate) no_sandbox: bool,
    /// Write the results as TAP 13 to this file (-: stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) tap: Option<PathBuf>,
    /// Write the results as JUnit XML to this file (-: stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// Print failures and the summary only
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TestCommand {
    /// Join the JUnit or JSON reports of all shards, and say what is missing
    #[command(after_help = MERGE_HELP)]
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Reports that `vpmu test --shard` wrote, all JUnit or all JSON
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the report of the whole run to this file (-: stdout)
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,
    /// Print no summary
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// A choice of engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Engines {
    /// Our interpreter: no KVM, exact counts
    #[default]
    Soft,
    /// /dev/kvm
    Kvm,
    /// Both
    All,
}

impl Engines {
    pub(crate) fn each(self) -> &'static [Engine] {
        match self {
            Self::Soft => &[Engine::Soft],
            Self::Kvm => &[Engine::Kvm],
            Self::All => &[Engine::Soft, Engine::Kvm],
        }
    }
}

/// Who can count under KVM, without a choice that may come to another.
fn kvm_counts() -> impl TypedValueParser<Value = CountsChoice> {
    let counts = CountsChoice::value_variants().iter();
    let counts = counts.filter(|it| matches!(it, CountsChoice::Host | CountsChoice::Synthetic { .. }));
    PossibleValuesParser::new(counts.filter_map(ValueEnum::to_possible_value))
        .try_map(|word| CountsChoice::from_str(&word, false))
}
