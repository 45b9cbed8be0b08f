//! The arguments of `vpmu test`.

use super::plan::{Engine, Shown};
use super::shard::ShardArg;
use crate::args::{DetailKind, mebibytes};
use crate::error::CliError;
use crate::machine::profile;
use clap::{Args, Subcommand, ValueEnum};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use vmm::counts::CountsChoice;
use vpmu::profile::PROFILES;

/// What stands for all built-in profiles.
const ALL: &str = "all";

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
    pub(super) command: Option<TestCommand>,
    /// Images, and directories with images
    #[arg(value_name = "DIR|IMAGE", required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// Run the tests that an expression selects (repeatable: any of them)
    #[arg(short = 'E', long = "filter", value_name = "EXPR", help_heading = "Selection")]
    pub(super) filters: Vec<String>,
    /// The CPUs whose PMU is shown, separated by commas: names (see `vpmu list
    /// profiles`), `all` of them, or files that end in .toml
    #[arg(short, long = "profile", value_name = "NAMES|FILES", value_delimiter = ',', default_value = ALL,
          help_heading = "Selection")]
    pub(super) profiles: Vec<String>,
    /// What executes the guest's instructions
    #[arg(long, value_enum, default_value_t, help_heading = "Selection")]
    pub(super) engine: Engines,
    /// How closely the soft engine models the core, separated by commas
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', help_heading = "Selection")]
    pub(super) detail: Vec<DetailKind>,
    /// Run the i-th of n parts: by counting through the tests (i/n, count:i/n),
    /// or by a hash of the names, which other tests do not change (hash:i/n).
    /// `auto` (auto/n, hash:auto) asks the variables of Kubernetes, Slurm,
    /// Bazel or AWS Batch
    #[arg(long, value_name = "I/N|auto", help_heading = "Selection")]
    pub(super) shard: Option<ShardArg>,
    /// Say what each image needs: a vpmu-test.toml or unittests.cfg for one
    /// directory [default: the one in the directory]
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    pub(super) manifest: Option<PathBuf>,
    /// Print the tests and run none
    #[arg(long, help_heading = "Selection")]
    pub(super) list: bool,
    /// Who supplies the counts under KVM; the soft engine counts by itself
    #[arg(long, value_enum, default_value_t, help_heading = "Machine")]
    pub(super) counts: KvmCounts,
    /// Seconds for a test whose manifest gives none
    #[arg(short, long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "Machine")]
    pub(super) timeout: u64,
    /// Guest memory for a test whose manifest gives none
    #[arg(short, long, value_name = "SIZE", default_value = "128", value_parser = mebibytes, help_heading = "Machine")]
    pub(super) memory: u64,
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
    pub(super) append: String,
    /// Tests at the same time [default: number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024),
          help_heading = "Running")]
    pub(super) jobs: Option<u16>,
    /// Start no more tests after a failure (the default)
    #[arg(long, overrides_with = "no_fail_fast", help_heading = "Running")]
    fail_fast: bool,
    /// Run every test, whatever fails
    #[arg(long, overrides_with = "fail_fast", help_heading = "Running")]
    pub(super) no_fail_fast: bool,
    /// Write the results as TAP 13 to this file (-: stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) tap: Option<PathBuf>,
    /// Write the results as JUnit XML to this file (-: stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) junit: Option<PathBuf>,
    /// Print failures and the summary only
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum TestCommand {
    /// Join the JUnit or JSON reports of all shards, and say what is missing
    #[command(after_help = MERGE_HELP)]
    Merge(MergeArgs),
}

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Reports that `vpmu test --shard` wrote, all JUnit or all JSON
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Write the report of the whole run to this file (-: stdout)
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(super) output: PathBuf,
    /// Print no summary
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

impl TestArgs {
    /// The built-in profiles in the order in which they are declared, then those from files; each once.
    ///
    /// # Errors
    /// There is no such profile, or its file is of no use.
    pub(super) fn chosen_profiles(&self) -> Result<Vec<Arc<Shown>>, CliError> {
        let mut chosen = Vec::new();
        for argument in self.profiles.iter().filter(|argument| *argument != ALL) {
            chosen.push(Shown { profile: profile(argument)?, argument: argument.clone() });
        }
        if self.profiles.iter().any(|argument| argument == ALL) {
            let all = PROFILES.iter().map(|&profile| (profile.clone(), profile.name.to_owned()));
            chosen.extend(all.map(|(profile, argument)| Shown { profile, argument }));
        }
        let place = |shown: &Shown| PROFILES.iter().position(|profile| profile.name == shown.profile.name);
        chosen.sort_by_key(|shown| place(shown).unwrap_or(PROFILES.len()));
        let mut names = BTreeSet::new();
        chosen.retain(|shown| names.insert(shown.profile.name));
        Ok(chosen.into_iter().map(Arc::new).collect())
    }
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
    pub(super) fn each(self) -> &'static [Engine] {
        match self {
            Self::Soft => &[Engine::Soft],
            Self::Kvm => &[Engine::Kvm],
            Self::All => &[Engine::Soft, Engine::Kvm],
        }
    }
}

/// Who counts under KVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum KvmCounts {
    /// The host's perf events
    #[default]
    Host,
    /// Made up from run time and rates
    Synthetic,
}

impl KvmCounts {
    pub(super) fn choice(self) -> CountsChoice {
        match self {
            Self::Host => CountsChoice::Host,
            Self::Synthetic => CountsChoice::Synthetic { rates: None },
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Synthetic => "synthetic",
        }
    }
}
