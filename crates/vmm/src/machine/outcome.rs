//! How a run ends.

use serde::Serialize;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// The guest wrote the exit port; `status` is the process exit status, (value << 1) | 1.
    Exit {
        /// Process exit status.
        status: u8,
    },
    /// Triple fault, or another guest-initiated shutdown.
    TripleFault,
    /// The guest reset the machine: keyboard controller or port 0xCF9.
    Reset,
    /// The guest switched the machine off: ACPI state S5.
    PoweredOff,
    /// The guest said through `pvpanic` that its kernel panicked.
    Panicked,
    /// HLT with nothing that could wake the CPU.
    Halted,
    /// For an hour of its time the guest has done next to nothing but wait for timers, without a byte of output, and
    /// its console has no input.
    Idle,
    /// The run's time-out has passed.
    TimedOut,
    /// The user ended it at the console.
    Quit,
    /// A signal to the VMM ended it.
    Interrupted {
        /// The signal that said so (signal(7)).
        signal: i32,
    },
    /// The guest executed something that the engine cannot.
    CannotExecute {
        /// What and where.
        what: String,
    },
}

impl Outcome {
    /// The guest cannot have meant to end like this.
    #[must_use]
    pub fn is_crash(&self) -> bool {
        matches!(
            self,
            Self::TripleFault | Self::Reset | Self::Panicked | Self::Halted | Self::CannotExecute { .. }
        )
    }
}
