//! What a device asks of the machine.

use super::control::Command;
use super::program::ProgramCommand;

/// What a write to a device asks of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an exit or a command would be lost"]
pub enum Effect {
    /// Nothing.
    None,
    /// End the run.
    Exit {
        /// Process exit status, see [`exit_status`](super::exit_status).
        status: u8,
    },
    /// The guest reset the machine.
    Reset,
    /// The guest switched the machine off.
    PowerOff,
    /// The guest said through `pvpanic` that it panicked.
    Panicked,
    /// Save the vPMU, reset it, restore it; then tell the [`Control`](super::control::Control) device.
    SaveRestore,
    /// The guest's init wants something of the VMM.
    Program(ProgramCommand),
    /// The VMM counts for itself from here on.
    IntervalBegin,
    /// The VMM counts for itself up to here.
    IntervalEnd,
    /// The next measuring window has this name, at most [`MAX_LABEL`](super::control::MAX_LABEL) bytes from the guest.
    Label(String),
}

impl From<Option<Command>> for Effect {
    fn from(command: Option<Command>) -> Self {
        match command {
            Some(Command::SaveRestore) => Self::SaveRestore,
            Some(Command::IntervalBegin) => Self::IntervalBegin,
            Some(Command::IntervalEnd) => Self::IntervalEnd,
            None => Self::None,
        }
    }
}
