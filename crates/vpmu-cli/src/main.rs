//! The `vpmu` command: boots guests on a virtual PMU and shows what it counted.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`args`] | records the command line, nothing else |
//! | [`machine`] | turns arguments into what the VMM runs |
//! | [`commands`] | one file per command |
//! | [`condition`] | how much a count may change |
//! | [`measured`] | what a guest measured, next to what the VMM counted |
//! | [`interrupt`] | Ctrl-C |
//! | [`output`] | tables, bars, numbers, progress |
//! | [`terminal`] | the user's terminal as the guest's console |
//! | [`error`] | every way to fail, and the next step |
//! | [`exit`] | exit codes |

#![forbid(unsafe_code)]

mod args;
mod commands;
mod condition;
mod error;
mod exit;
mod formula;
mod interrupt;
mod logging;
mod machine;
mod measured;
mod output;
mod similar;
mod terminal;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    output::set_color(cli.global.color);
    logging::init(cli.global.verbose);
    match commands::dispatch(&cli) {
        Ok(code) => ExitCode::from(code),
        // The reader of our output has seen enough, as in `vpmu list events | head`.
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error.line(), error.next_steps().as_deref());
            ExitCode::from(error.exit_code())
        }
    }
}
