//! `vpmu run --sandbox`: the same run in a child without rights.

use crate::error::CliError;
use crate::interrupt::{Interrupt, Role};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::SIGSYS;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// What the user writes, and what the child gets instead.
const FLAG: &str = "--sandbox";
pub(crate) const CHILD_FLAG: &str = "--sandboxed";
/// How often it is looked whether the child has ended.
const LOOK: Duration = Duration::from_millis(10);

/// Runs this command line again in a child that goes into the sandbox. Its exit code is ours.
pub(super) fn run() -> Result<u8, CliError> {
    // The terminal's Ctrl-C goes to the child as well, which ends its guest by itself.
    let interrupt = Interrupt::watch(Role::Child).map_err(CliError::Signals)?;
    let replaced = |word: OsString| if word == FLAG { CHILD_FLAG.into() } else { word };
    let words = env::args_os().skip(1).map(replaced);
    let program = env::current_exe().map_err(|source| CliError::Child { source })?;
    let mut child = Command::new(program).args(words).spawn().map_err(|source| CliError::Child { source })?;
    let mut told = false;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|source| CliError::Child { source })? {
            break status;
        }
        if !told && interrupt.signal().is_some() {
            told = true;
            if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                let sent = kill_process(pid, Signal::TERM);
                log::debug!("told the child to end: {sent:?}");
            }
        }
        thread::sleep(LOOK);
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => Ok(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(SIGSYS)) => Err(CliError::Forbidden),
        (None, signal) => Err(CliError::Died { signal: signal.unwrap_or_default() }),
    }
}
