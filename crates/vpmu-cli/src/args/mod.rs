//! The command line, recorded as it was typed.

pub(crate) mod program;
pub(crate) mod report;
pub(crate) mod test;

use crate::condition::Condition;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use platform::loader::Protocol;
use program::{ProgramArgs, RegionArgs};
use report::ReportArgs;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use test::TestArgs;
use vmm::counts::CountsChoice;
use vmm::counts::timing::{Sampling, Uncore};
use vmm::engine::{Detail, EngineChoice};
use vmm::inject::SkidChoice;
use vmm::run::{LbrChoice, PreciseChoice};
use vpmu::profile::Isa;

/// RAM of a guest that is no Linux with a program, in MiB: as much as QEMU's.
pub(crate) const MEMORY_MIB: u64 = 128;

const AFTER_HELP: &str = "\
Examples:
  vpmu doctor                               what this machine can do
  vpmu run tests.elf                        boot an image, show its console
  vpmu test images/ --no-fail-fast          many images on every CPU
  vpmu stat tests.elf                       what the guest counted
  vpmu stat tests.elf --detail timing       why it was slow: cycles, TMA
  vpmu stat -- gzip -9 -c FILE              a program of yours, counted
  vpmu decode 0x38d 0xb0b                   a register value in words

Exit status:
    0   the guest passed or powered off, or the command did what it was asked
    1   the guest reported failed tests (any other exit status)
    2   wrong arguments, image or file
    3   the VMM could not run: no KVM, no counts source, a host error
    4   the guest crashed, panicked, or halted without a result
   77   the guest skipped every test
  124   the guest did not end before --timeout
  130   Ctrl-C (SIGINT) ended it, with the results so far; 143 SIGTERM";

const RUN_HELP: &str = "\
The guest ends the run through the exit port 0xF4 (isa-debug-exit). QEMU makes
status (value << 1) | 1 of it; vpmu exits with 0 for value 0 (status 1) and
with 1 for all others, unless --raw-exit is given. `vpmu --help` lists the
other exit statuses.

Examples:
  vpmu run smoke.elf
  vpmu run smoke.elf --isolate --timeout 10
  vpmu run smoke.elf --test time_passes --trace t.jsonl
  vpmu run --kernel vmlinuz --initrd initrd.cpio --append console=ttyS0 -m 512M";

const STAT_HELP: &str = "\
The table goes to stdout, the guest's console to stderr (-q: nowhere).
Ratios are taken over measuring windows in which both counters ran. Top-down
shares (TMA) need a model of the core, --detail timing, or the host's PMU.

Examples:
  vpmu stat workloads.elf
  vpmu stat workloads.elf --detail timing --profile icelake-sp

With -- PROGRAM, a program of this machine runs in a Linux guest, on copies of
its files. Its output is its own; the counts go to stderr. `User` is what the
program itself did, `Kernel` what the kernel did in its address spaces. Two
runs count the same. `vpmu setup` fetches the kernel, once.

Examples:
  vpmu stat -- gzip -9 -c FILE > FILE.gz
  vpmu stat --detail timing -e instructions:u,cycles:u -- ./prog --size 5";

const COMPARE_HELP: &str = "\
A measuring window opens when the guest writes a GLOBAL_CTRL that enables
something, and closes when it writes 0. Both columns are of the same window:
what the guest then read, and the VMM's own totals. One step of a PERF_METRICS
field is 100/255 points: `8-bit rounding` is the part of a difference that this
explains, `Other steps` what it does not. Windows that are named after a workload
of ours get a native column, where the host has a PMU with PERF_METRICS.
PERF_METRICS is shown with --detail timing or the host's PMU.

Examples:
  vpmu compare workloads.elf --detail timing --html compare.html
  vpmu compare workloads.elf --detail timing --strategy converted

With -- PROGRAM, the guest's Linux counts a program of this machine with perf,
that is by the guest's PMU, and the VMM counts it by its address spaces.

Example:
  vpmu compare -- gzip -9 -c FILE > FILE.gz";

const DECODE_HELP: &str = "\
Examples:
  vpmu decode 0x38d 0xb0b                 by MSR index
  vpmu decode PERFEVTSEL0 0x4300c4        by name, with the event's name
  vpmu decode PERF_METRICS 0x40201f80     the fractions in percent
  vpmu decode GLOBAL_CTRL                 the fields of a register
  vpmu decode LVTPC 0x400                 how a PMI is delivered
  vpmu decode CPUID.0AH:EDX 0x8604        what CPUID says of a PMU
  vpmu decode branch-misses:u             an event's codes and counters
  vpmu decode r20d1 -p icelake-sp         the event of a raw code
  vpmu decode rdpmc 0x40000003            what RDPMC reads with this ECX";

const LIST_HELP: &str = "\
Examples:
  vpmu list events branch
  vpmu list events 'MEM_*MISS' --profile icelake-sp
  vpmu list tests smoke.elf";

const RECORD_HELP: &str = "\
Every instruction is recorded, with the calls that led to it; with --detail
timing also its cycles and slots by a model of the core. Functions are those
of the symbols in the program, its libraries and the kernel; lines are those of
debug information (-g). Two runs write the same file.

Examples:
  vpmu record -- ./prog --size 5
  vpmu record --detail timing -- ./prog --size 5
  vpmu report --lines";

const DIFF_HELP: &str = "\
Results are exact, so that a difference of one instruction is one.

Example:
  vpmu stat --json -o new.json -- ./prog
  vpmu diff old.json new.json --fail-on 'instructions:u>+0.1%'";

const SETUP_HELP: &str = "\
Takes the kernel for virtual machines of Debian or Ubuntu with apt-get download,
without root, into ~/.cache/vpmu. Elsewhere give `vpmu stat` one with --kernel.

Example:
  vpmu setup && vpmu stat -- gzip -9 -c FILE";

const COMPLETIONS_HELP: &str = "\
Examples:
  vpmu completions bash > ~/.local/share/bash-completion/completions/vpmu
  vpmu completions zsh > ~/.zfunc/_vpmu           with fpath+=~/.zfunc
  vpmu completions fish > ~/.config/fish/completions/vpmu.fish";

const MAN_HELP: &str = "\
Example:
  vpmu man ~/.local/share/man/man1 && man vpmu-run";

/// Boot guests on a virtual PMU and see what it counted
#[derive(Debug, Parser)]
#[command(name = "vpmu", version, max_term_width = 79, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalArgs {
    /// Print one JSON document on stdout, and nothing else there
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Log more to stderr: -v, -vv, -vvv (RUST_LOG decides when set)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    pub(crate) verbose: u8,
    /// When to use colours (NO_COLOR is respected)
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t, help_heading = "Output")]
    pub(crate) color: ColorWhen,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Boot an image and show its console
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Boot an image and print what the guest counted, with a TMA breakdown
    #[command(after_help = STAT_HELP)]
    Stat(StatArgs),
    /// Boot an image and put the guest's readings next to the VMM's totals
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Record what a program executes, by function, line and caller
    #[command(after_help = RECORD_HELP)]
    Record(RecordArgs),
    /// Show what `vpmu record` has recorded, or write it for other programs
    #[command(after_help = report::HELP)]
    Report(ReportArgs),
    /// Compare two results of `vpmu stat --json -- PROGRAM`
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// Run many images on many CPUs as tests
    #[command(after_help = test::HELP)]
    Test(TestArgs),
    /// List profiles, events, counters, registers, or the tests of an image
    #[command(after_help = LIST_HELP)]
    List {
        #[command(subcommand)]
        what: ListCommand,
    },
    /// Explain a register value, an event code, or an RDPMC index
    #[command(after_help = DECODE_HELP)]
    Decode(DecodeArgs),
    /// Fetch a Linux kernel for `vpmu stat -- PROGRAM`, once
    #[command(after_help = SETUP_HELP)]
    Setup {
        /// Fetch the newest, even if one is there
        #[arg(long)]
        again: bool,
    },
    /// Say what this machine can do, and what to do about the rest
    Doctor,
    /// Print what makes a shell complete commands and options
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages, one for each command
    #[command(after_help = MAN_HELP)]
    Man {
        /// Where to; made if it is missing
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(mut_arg("image", |image| image.required_unless_present_any(["program"])))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Run each test of the image on a fresh machine, as one TAP stream
    #[arg(long, conflicts_with_all = ["trace", "trace_exceptions", "raw_exit", "restore", "snapshot"],
          help_heading = "Tests")]
    pub(crate) isolate: bool,
    /// Run the guest in a child that may open no files and no sockets, nor
    /// start programs: seccomp, and landlock where the kernel has it
    #[arg(long, conflicts_with_all = ["isolate", "gdb", "snapshot", "program"], help_heading = "Machine")]
    pub(crate) sandbox: bool,
    /// We are that child
    #[arg(long, hide = true, conflicts_with_all = ["sandbox", "isolate", "gdb", "snapshot", "program"])]
    pub(crate) sandboxed: bool,
    /// Let GDB connect to this address (soft engine) [default: 127.0.0.1:1234]
    #[arg(short = 's', long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true,
          default_missing_value = vmm::gdb::DEFAULT_ADDRESS, conflicts_with_all = ["isolate", "snapshot"],
          help_heading = "Debugging")]
    pub(crate) gdb: Option<String>,
    /// Do not start the guest before GDB has connected and says so
    #[arg(short = 'S', long, requires = "gdb", help_heading = "Debugging")]
    pub(crate) freeze: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("image", |image| image.required_unless_present_any(["program"])))]
pub(crate) struct StatArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    #[command(flatten)]
    pub(crate) region: RegionArgs,
    /// Count these events in PROGRAM, separated by commas, with perf's names
    /// and `:u` or `:k`; see `vpmu list events` (repeatable)
    #[arg(short, long, value_name = "EVENTS", requires = "program", help_heading = "Program")]
    pub(crate) event: Vec<String>,
    /// Count cache and TLB misses too, as perf's -d (needs --detail timing)
    #[arg(short = 'd', long, requires = "program", help_heading = "Program")]
    pub(crate) detailed: bool,
    /// Print these metrics of PROGRAM, separated by commas: a group (summary,
    /// branches, memory, cache, tlb, all) or a name (repeatable)
    #[arg(short = 'M', long, value_name = "METRICS", requires = "program", help_heading = "Program")]
    pub(crate) metrics: Vec<String>,
    /// Let only samples of PROGRAM go through the core model, one in each N
    /// instructions [default: 30000], and estimate the rest: several times as
    /// fast, with an error that is told (needs --detail timing)
    #[arg(long, value_name = "N", requires = "program", num_args = 0..=1, require_equals = true,
          default_missing_value = "30000", help_heading = "Program",
          value_parser = clap::value_parser!(u32).range(i64::from(Sampling::LEAST_PERIOD)..))]
    pub(crate) sample: Option<u32>,
    /// Only PROGRAM's top-down breakdown, down to level 3 (needs --detail
    /// timing)
    #[arg(long, requires = "program", help_heading = "Program")]
    pub(crate) topdown: bool,
    /// Write PROGRAM's counts as perf's -x does, with this between two fields
    #[arg(
        short = 'x',
        long,
        value_name = "SEPARATOR",
        requires = "program",
        conflicts_with = "topdown",
        help_heading = "Program"
    )]
    pub(crate) field_separator: Option<String>,
    /// Write PROGRAM's counts to this file as Bencher's metrics (-: stdout)
    #[arg(long, value_name = "FILE", requires = "program", help_heading = "Program")]
    pub(crate) bencher: Option<PathBuf>,
    /// Write PROGRAM's counts to this file for github-action-benchmark, as
    /// customSmallerIsBetter (-: stdout)
    #[arg(long, value_name = "FILE", requires = "program", help_heading = "Program")]
    pub(crate) github_benchmark: Option<PathBuf>,
    /// What PROGRAM is called there [default: its command line]
    #[arg(long, value_name = "NAME", requires = "program", help_heading = "Program")]
    pub(crate) name: Option<String>,
    /// Write PROGRAM's counts to this file as a web page (-: stdout)
    #[arg(long, value_name = "FILE", requires = "program", help_heading = "Program")]
    pub(crate) html: Option<PathBuf>,
    /// Write PROGRAM's counts to this file instead of stderr (-: stdout)
    #[arg(short, long, value_name = "FILE", requires = "program", help_heading = "Program")]
    pub(crate) output: Option<PathBuf>,
    /// Write the table to this file as comma-separated values (-: stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(mut_arg("image", |image| image.hide(true).required_unless_present_any(["program"])))]
#[command(mut_arg("program", |program| program.required(true)))]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    #[command(flatten)]
    pub(crate) region: RegionArgs,
    /// Take a sample each N instructions of the whole guest, and write stacks
    /// of functions, instead of recording everything
    #[arg(short, long, value_name = "N", help_heading = "Program")]
    pub(crate) count: Option<NonZeroU64>,
    /// Write the recording, or the samples' stacks, to this file (-: stdout)
    /// [default: vpmu.data, vpmu.folded]
    #[arg(short, long, value_name = "FILE", help_heading = "Program")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The older result
    pub(crate) before: PathBuf,
    /// The newer result
    pub(crate) after: PathBuf,
    /// Exit with 1 if an event has changed by more, as in
    /// `instructions:u>+0.1%` or `branches<-1000` (repeatable)
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    pub(crate) fail_on: Vec<Condition>,
}

#[derive(Debug, Args)]
#[command(mut_arg("image", |image| image.required_unless_present_any(["program"])))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// Compare these events of PROGRAM, separated by commas, with perf's names
    /// and `:u` or `:k`; see `vpmu list events` (repeatable)
    #[arg(short, long, value_name = "EVENTS", requires = "program", help_heading = "Program")]
    pub(crate) event: Vec<String>,
    /// How a VMM gets at the metrics: raw passes the register through;
    /// converted adds what rebuilding it from metric counts would give
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) strategy: StrategyKind,
    /// Write the comparison to this file as a web page (-: stdout)
    #[arg(long, value_name = "FILE", conflicts_with = "program", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Write the comparison to this file as comma-separated values (-: stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
}

/// How a VMM gets at the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum StrategyKind {
    /// The register itself
    #[default]
    Raw,
    /// Rebuilt from one count per field
    Converted,
}

/// [`Isa`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsaArg {
    /// Up to SSE4.2
    V2,
    /// AVX, AVX2, FMA, BMI
    V3,
    /// All that the CPU has
    V4,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Switch {
    /// Yes
    On,
    /// No
    #[default]
    Off,
}

impl From<IsaArg> for Isa {
    fn from(isa: IsaArg) -> Self {
        match isa {
            IsaArg::V2 => Self::V2,
            IsaArg::V3 => Self::V3,
            IsaArg::V4 => Self::V4,
        }
    }
}

/// What to boot, on what.
#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    /// ELF image with a PVH note or a multiboot 1 header, or a Linux kernel
    #[arg(index = 1, required_unless_present_any = ["kernel", "restore"], conflicts_with = "kernel")]
    image: Option<PathBuf>,
    /// The same as IMAGE, as QEMU has it
    #[arg(long, value_name = "FILE", help_heading = "Linux")]
    kernel: Option<PathBuf>,
    /// What the guest reads from its serial port, a line each time it waits;
    /// `-` is stdin [default: the terminal, for --kernel]
    #[arg(long, value_name = "FILE", help_heading = "Linux")]
    pub(crate) input: Option<PathBuf>,
    /// Linux's initial RAM disk
    #[arg(long, value_name = "FILE", help_heading = "Linux")]
    pub(crate) initrd: Option<PathBuf>,
    /// Go on from this snapshot instead of booting an image
    #[arg(long, value_name = "FILE", help_heading = "Snapshots",
          conflicts_with_all = ["image", "kernel", "initrd", "profile", "engine", "counts", "lbr", "precise", "pebs",
                                "isa", "rates", "memory", "append", "module", "detail", "model_in", "llc",
                                "llc_lifetime", "memory_latency", "threads", "protocol", "test"])]
    pub(crate) restore: Option<PathBuf>,
    /// Write a snapshot of the machine to this file (soft engine)
    #[arg(long, value_name = "FILE", requires = "snapshot_at", help_heading = "Snapshots")]
    pub(crate) snapshot: Option<PathBuf>,
    /// Take it after so many instructions retired since boot, and go on
    #[arg(long, value_name = "N", requires = "snapshot", help_heading = "Snapshots")]
    pub(crate) snapshot_at: Option<u64>,
    #[command(flatten)]
    pub(crate) profile: ProfileArgs,
    /// What executes the guest's instructions
    #[arg(long, value_enum, default_value_t, help_heading = "Machine")]
    pub(crate) engine: EngineChoice,
    /// Who supplies the counts
    #[arg(long, value_enum, default_value_t, help_heading = "Machine")]
    pub(crate) counts: CountsChoice,
    /// How closely the soft engine models the core [default: counts]
    #[arg(long, value_enum, help_heading = "Machine")]
    pub(crate) detail: Option<Detail>,
    /// With `--detail timing`, model the core only within intervals of this
    /// name, which the guest marks; elsewhere an instruction takes a cycle
    #[arg(long, value_name = "NAME", help_heading = "Machine")]
    pub(crate) model_in: Option<String>,
    /// With `--detail timing`, the share of the last-level cache that the core
    /// has, as other cores or a partition leave it: 4M [default: all of it]
    #[arg(long, value_name = "SIZE", value_parser = llc, help_heading = "Machine")]
    pub(crate) llc: Option<NonZeroU64>,
    /// With `--detail timing`, core cycles after which the last-level cache has
    /// lost a line that was not used, to others [default: it is kept]
    #[arg(long, value_name = "CYCLES", help_heading = "Machine")]
    pub(crate) llc_lifetime: Option<NonZeroU64>,
    /// With `--detail timing`, core cycles of a load from memory [default:
    /// those of the core's description]
    #[arg(long, value_name = "CYCLES", help_heading = "Machine",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(Uncore::MOST_LATENCY)))]
    pub(crate) memory_latency: Option<u32>,
    /// Threads that may run the guest: with `--detail timing` a second one
    /// takes the model of the core. No result depends on it [default: as many
    /// as the host has processors]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Whether the soft engine compiles hot blocks. No result depends on it
    /// [default: on, where the host is an x86-64 CPU with Linux]
    #[arg(long, value_enum, help_heading = "Machine")]
    compile: Option<Switch>,
    /// Whether the guest gets last branch records
    #[arg(long, value_enum, default_value_t, help_heading = "Machine")]
    pub(crate) lbr: LbrChoice,
    /// Whether the guest gets the precise sampling of the profile's silicon:
    /// PEBS of Intel's, IBS of AMD's (soft engine)
    #[arg(long, value_enum, default_value_t, help_heading = "Machine")]
    pub(crate) precise: PreciseChoice,
    /// The same as `--precise on`
    #[arg(long, hide = true, conflicts_with = "precise")]
    pub(crate) pebs: bool,
    /// The most instruction sets that the guest is shown, as levels of the
    /// x86-64 psABI: v3 hides AVX-512, v2 hides AVX too [default: the
    /// profile's, v4 for those that are built in]
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Machine")]
    pub(crate) isa: Option<IsaArg>,
    /// Rates for `--counts synthetic` (TOML)
    #[arg(long, value_name = "FILE", help_heading = "Machine")]
    pub(crate) rates: Option<PathBuf>,
    /// Guest memory in MiB, or with a unit: 512M, 2G [default: 128; 1G for a
    /// program]
    #[arg(short, long, value_name = "SIZE", value_parser = mebibytes, help_heading = "Machine")]
    pub(crate) memory: Option<u64>,
    /// Seconds after which the run ends [default: 60; a day for a Linux
    /// kernel]
    #[arg(short, long, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "Machine")]
    timeout: Option<u64>,
    /// Command line for the guest
    #[arg(
        short,
        long,
        value_name = "CMDLINE",
        default_value = "",
        hide_default_value = true,
        help_heading = "Machine"
    )]
    pub(crate) append: String,
    /// File for the guest (repeatable)
    #[arg(long, value_name = "FILE", help_heading = "Machine")]
    pub(crate) module: Vec<PathBuf>,
    /// How to start the image [default: what it offers, PVH first]
    #[arg(long, value_enum, help_heading = "Machine")]
    pub(crate) protocol: Option<Protocol>,
    /// Let the PMU go wrong as this file (TOML) plans: see docs/inject.md
    #[arg(long, value_name = "FILE", conflicts_with = "snapshot", help_heading = "Faults")]
    pub(crate) inject: Option<PathBuf>,
    /// Deliver interrupts of the PMU so many instructions late (soft engine): N,
    /// LEAST-MOST, or `core` for what the CPU has in flight; @SEED draws others
    #[arg(long, value_name = "N|MODEL", value_parser = SkidChoice::from_str, conflicts_with = "snapshot",
          help_heading = "Faults")]
    pub(crate) skid: Option<SkidChoice>,
    /// Write what the guest asks of its PMU and gets to this file, for
    /// --replay-pmu
    #[arg(long, value_name = "FILE", help_heading = "Faults")]
    pub(crate) record_pmu: Option<PathBuf>,
    /// Answer the guest's PMU accesses from this recording, on any engine, and
    /// say where the guest first does something else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inject", "skid", "snapshot", "restore"],
          help_heading = "Faults")]
    pub(crate) replay_pmu: Option<PathBuf>,
    /// Write every PMU access to this file, decoded, as JSON lines
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Write every exception and interrupt to this file, as JSON lines (soft
    /// engine)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace_exceptions: Option<PathBuf>,
    /// Print no summary and no progress
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Exit with the guest's status unchanged, as QEMU does: 1 is a pass
    #[arg(long, help_heading = "Output")]
    pub(crate) raw_exit: bool,
    /// `vpmu test` has started us: its SIGTERM alone ends the run, whatever the terminal says
    #[arg(long, hide = true)]
    pub(crate) supervised: bool,
    /// Run only these tests of the image
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Tests")]
    pub(crate) test: Vec<String>,
}

impl MachineArgs {
    /// Hot blocks are compiled, where the engine can.
    pub(crate) fn compiles(&self) -> bool {
        self.compile.map_or(cfg!(feature = "compile"), |switch| switch == Switch::On)
    }

    /// The guest's console is the user's terminal: for a kernel, unless its input comes from elsewhere.
    pub(crate) fn is_interactive(&self, json: bool) -> bool {
        self.kernel.is_some() && self.input.is_none() && !json && crate::terminal::is_interactive()
    }

    /// Seconds after which the run ends, and whether the user has said so.
    pub(crate) fn timeout(&self, linux: bool) -> (u64, bool) {
        self.timeout.map_or((if linux { 86_400 } else { 60 }, false), |seconds| (seconds, true))
    }

    /// The kernel.
    pub(crate) fn kernel(&self) -> Option<&Path> {
        self.kernel.as_deref()
    }

    /// The image; without one, clap has made sure that there is a snapshot.
    pub(crate) fn image(&self) -> Option<&Path> {
        self.image.as_deref().or(self.kernel.as_deref())
    }
}

/// A size in MiB, as QEMU's `-m` takes it.
pub(crate) fn mebibytes(text: &str) -> Result<u64, String> {
    let (number, mib) = match text.strip_suffix(['M', 'm']) {
        Some(number) => (number, 1),
        None => text.strip_suffix(['G', 'g']).map_or((text, 1), |number| (number, 1024)),
    };
    let number: u64 = number.parse().map_err(|_| "write it as 512, 512M or 2G".to_owned())?;
    number.checked_mul(mib).ok_or_else(|| "that is more than any machine has".to_owned())
}

/// Bytes of a cache, from a size as of memory.
fn llc(text: &str) -> Result<NonZeroU64, String> {
    let mib = mebibytes(text)?;
    let bytes = (mib <= 1 << 12).then_some(mib << 20);
    bytes.and_then(NonZeroU64::new).ok_or_else(|| "give it 1M to 4G".to_owned())
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ProfileArgs {
    /// The CPU whose PMU is shown: a name (see `vpmu list profiles`), or a file
    /// that ends in .toml and describes one
    #[arg(
        short,
        long,
        value_name = "NAME|FILE",
        default_value = "sapphire-rapids",
        help_heading = "Machine"
    )]
    pub(crate) profile: String,
}

/// The word for a value of an option.
pub(crate) fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |possible| possible.get_name().to_owned())
}

/// All words for an option's values.
pub(crate) fn words<T: ValueEnum>() -> Vec<String> {
    T::value_variants().iter().map(word).collect()
}

#[derive(Debug, Subcommand)]
pub(crate) enum ListCommand {
    /// The CPUs whose PMU can be shown to a guest
    Profiles,
    /// What can be counted, with codes, in the style of `perf list`
    Events {
        #[command(flatten)]
        profile: ProfileArgs,
        /// Part of a name or description; `*` stands for anything
        filter: Option<String>,
    },
    /// The counters of a profile and how to read them
    Counters {
        #[command(flatten)]
        profile: ProfileArgs,
    },
    /// The registers of a profile's PMU
    Registers {
        #[command(flatten)]
        profile: ProfileArgs,
    },
    /// The tests of an image, without booting it
    Tests {
        /// The image
        image: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    /// MSR index (0x38d, 909) or name, with or without IA32_; a register of CPUID
    /// as the SDM writes it; an event's name or raw code (rNNNN, as perf takes
    /// it; of Falkor also 0xPRCCG); or `rdpmc`
    #[arg(value_name = "REGISTER|EVENT")]
    pub(crate) register: String,
    /// The value (hexadecimal with 0x, or decimal); for `rdpmc`: ECX. Without
    /// one a register shows its fields, and one of CPUID what is announced
    pub(crate) value: Option<String>,
    #[command(flatten)]
    pub(crate) profile: ProfileArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_declarations_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_fits_79_columns() {
        let mut command = Cli::command();
        command.build();
        for sub in [&mut command].into_iter().chain(Cli::command().get_subcommands_mut()) {
            let help = sub.clone().max_term_width(79).render_long_help().to_string();
            let wide: Vec<_> = help.lines().filter(|line| line.chars().count() > 79).collect();
            assert!(wide.is_empty(), "{}: {wide:#?}", sub.get_name());
        }
    }

    #[test]
    fn sizes_are_mib_unless_they_have_a_unit() {
        assert_eq!([mebibytes("128"), mebibytes("512M"), mebibytes("2G")], [Ok(128), Ok(512), Ok(2048)]);
        for wrong in ["", "M", "1.5G", "12K", "-1", "99999999999999999G"] {
            assert!(mebibytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_linux_kernel_has_a_day_unless_the_user_says_otherwise() {
        let timeout =
            |args: &[&str], linux| match Cli::parse_from([&["vpmu", "run", "x"], args].concat()).command {
                Command::Run(args) => args.machine.timeout(linux),
                _ => panic!("not run"),
            };
        assert_eq!([timeout(&[], false), timeout(&[], true)], [(60, false), (86_400, false)]);
        assert_eq!(timeout(&["--timeout", "7"], true), (7, true));
    }

    #[test]
    fn a_kernel_is_an_image() {
        let image = |args: &[&str]| match Cli::try_parse_from([&["vpmu", "run"], args].concat())?.command {
            Command::Run(args) => Ok::<_, clap::Error>(args.machine.image().map(Path::to_owned)),
            _ => panic!("not run"),
        };
        assert_eq!(image(&["x"]).unwrap(), image(&["--kernel", "x"]).unwrap());
        assert!(image(&["x", "--kernel", "x"]).is_err());
        assert!(image(&[]).is_err());
    }

    #[test]
    fn several_tests_may_be_separated_by_commas() {
        let cli = Cli::parse_from(["vpmu", "run", "x", "--test", "a,b", "--test", "c"]);
        let Command::Run(args) = cli.command else { panic!("not run") };
        assert_eq!(args.machine.test, ["a", "b", "c"]);
    }
}
