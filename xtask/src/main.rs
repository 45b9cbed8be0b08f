//! `cargo xtask`: the project's tasks.
//!
//! | task | does |
//! | --- | --- |
//! | `demo` | boots the guest test images on every profile, shows results and a guest-vs-VMM table |
//! | `test` | everything that CI checks: format, lints, docs, tests, guest images |
//! | `bench` | measures, side by side, what the virtual PMU costs |
//! | `linux` | boots the distribution's kernel on the soft engine, with perf in it |
//! | `oracle` | compares the interpreters with the host's CPU under KVM and with QEMU, in random cases |
//! | `images` | builds the guest test images |
//! | `uops` | writes the core model's uop tables, from llvm-mca |
//! | `events` | writes the event tables, from the vendors' lists |
//! | `mca` | compares the core model with llvm-mca |
//! | `silicon` | compares the core model with measured CPUs |
//! | `tma` | checks that the workloads are bound by what they were written for |
//! | `properties` | checks what has to hold of the virtual PMU, in random sequences |
//! | `fuzz` | feeds the interpreters random code |
//! | `docs` | writes the generated pages under `docs/` |

// Also what only tasks of the other build use.
#![cfg_attr(not(feature = "engines"), allow(dead_code))]

#[cfg(feature = "engines")]
mod bench;
mod cargo;
mod compiled;
mod concurrently;
mod demo;
#[cfg(feature = "docs")]
mod docs;
#[cfg(not(feature = "engines"))]
mod elsewhere;
mod error;
mod events;
mod host_tests;
mod images;
#[cfg(test)]
mod imports;
mod lines;
mod linux;
#[cfg(feature = "engines")]
mod mca;
mod packaging;
mod random;
mod rust_target;
#[cfg(feature = "engines")]
mod silicon;
mod suite;
mod tally;
mod tap;
mod test;
mod tma;
mod traced;
mod vpmu_cli;

use clap::{Parser, Subcommand};
#[cfg(not(feature = "docs"))]
use elsewhere::docs;
#[cfg(not(feature = "engines"))]
use elsewhere::{bench, mca, silicon};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The project's tasks", max_term_width = 79)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Boot the guest test images and show what they say
    Demo,
    /// Run everything that CI checks, or some stages of it
    Test(test::TestArgs),
    /// Measure what the virtual PMU costs
    #[cfg_attr(not(feature = "engines"), command(disable_help_flag = true))]
    Bench(bench::BenchArgs),
    /// Boot the distribution's kernel on the soft engine, with perf in it
    Linux(linux::LinuxArgs),
    /// Build the guest test images and print their paths
    Images,
    /// Write the uop tables of the core model, from llvm-mca
    #[cfg_attr(not(feature = "engines"), command(disable_help_flag = true))]
    Uops(mca::UopsArgs),
    /// Write the event tables of the virtual PMU, from the vendors' lists
    Events(events::EventsArgs),
    /// Compare the core model with llvm-mca on generated basic blocks
    #[cfg_attr(not(feature = "engines"), command(disable_help_flag = true))]
    Mca(mca::CompareArgs),
    /// Compare the core model with measured CPUs
    #[cfg_attr(not(feature = "engines"), command(disable_help_flag = true))]
    Silicon(silicon::SiliconArgs),
    /// Check that the workloads are bound by what they were written for
    Tma(tma::TmaArgs),
    /// Compare soft-cpu with the host's CPU, or arm-cpu with QEMU, in random cases (--help: its options)
    #[command(disable_help_flag = true)]
    Oracle {
        /// Options of the comparison
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Feed soft-cpu or arm-cpu random code (--help: its options)
    #[command(disable_help_flag = true)]
    Fuzz {
        /// Options of the fuzzer
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Check what has to hold of the virtual PMU in random sequences (--help: its options)
    #[command(disable_help_flag = true)]
    Properties {
        /// Options of the check
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Write the generated pages under docs/
    Docs {
        /// Only check that they are up to date
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let result = match Args::parse().task {
        Task::Demo => demo::demo(),
        Task::Test(args) => test::test(&args),
        Task::Bench(args) => bench::bench(&args),
        Task::Linux(args) => linux::linux(&args),
        Task::Images => images::build().map(|images| {
            for image in images {
                anstream::println!("{}", image.path.display());
            }
        }),
        Task::Uops(args) => mca::write_tables(&args),
        Task::Events(args) => events::events(&args),
        Task::Mca(args) => mca::compare(&args),
        Task::Silicon(args) => silicon::silicon(&args),
        Task::Tma(args) => tma::tma(&args),
        Task::Fuzz { args } => random::checked("oracle", "fuzz", &args),
        Task::Oracle { args } => random::checked("oracle", "oracle", &args),
        Task::Properties { args } => random::checked("properties", "properties", &args),
        Task::Docs { check } => docs::docs(check),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
