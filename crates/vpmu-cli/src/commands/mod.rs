//! One file per command. Each returns the process's exit code.

mod compare;
mod completions;
mod decode;
mod diff;
mod doctor;
mod events;
mod isolate;
mod list;
mod man;
mod program;
mod rdpmc;
mod report;
mod run;
pub(crate) mod sandbox;
mod setup;
mod stat;
pub(crate) mod test;
mod tma;

use crate::args::{Cli, Command};
use crate::error::CliError;

/// Runs the command that was asked for.
pub(crate) fn dispatch(cli: &Cli) -> Result<u8, CliError> {
    let json = cli.global.json;
    match &cli.command {
        Command::Run(args) if !args.program.program.is_empty() => program::run(args),
        Command::Stat(args) if !args.program.program.is_empty() => program::stat::stat(args, json),
        Command::Compare(args) if !args.program.program.is_empty() => program::compare::compare(args, json),
        Command::Record(args) => program::record::record(args, json),
        Command::Report(args) => report::report(args, json),
        Command::Diff(args) => diff::diff(args, json),
        Command::Setup { again } => setup::setup(*again, json),
        Command::Run(args) if args.isolate => isolate::isolate(&args.machine, json),
        Command::Run(args) if args.sandbox => sandbox::run(),
        Command::Run(args) => run::run(args, json),
        Command::Stat(args) => stat::stat(args, json),
        Command::Compare(args) => compare::compare(args, json),
        Command::Test(args) => test::test(args, json),
        Command::List { what } => list::list(what, json),
        Command::Decode(args) => decode::decode(args, json),
        Command::Doctor => doctor::doctor(json),
        Command::Completions { shell } => completions::completions(*shell),
        Command::Man { directory } => man::man(directory),
    }
}
