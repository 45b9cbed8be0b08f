//! `vpmu completions`: what makes a shell complete our commands and options.

use crate::args::Cli;
use crate::error::CliError;
use crate::exit;
use crate::output::print;
use clap::CommandFactory as _;
use clap_complete::{Shell, generate};
use std::io;

pub(super) fn completions(shell: Shell) -> Result<u8, CliError> {
    // By way of memory, since clap_complete panics where it cannot write, as in `| head`.
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "vpmu", &mut script);
    print(&String::from_utf8(script).map_err(io::Error::other)?)?;
    Ok(exit::PASS)
}
