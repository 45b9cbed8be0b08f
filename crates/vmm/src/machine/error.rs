//! Why a machine cannot go on from a saved state.

use platform::x86::apic;
use vpmu::state::RestoreError;

/// Why no guest can have reached a saved state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A total of the engine.
    #[error("a total is larger than any guest can have retired")]
    Total,
    /// Guest time.
    #[error("a time lies further ahead than any guest can have come")]
    Time,
    /// The local APIC.
    #[error(transparent)]
    Apic(#[from] apic::StateError),
    /// The GIC.
    #[error("the interrupt controller has bits set that do not exist")]
    Gic,
    /// The generic timer.
    #[error("the generic timer is of another rate, or has bits set that do not exist")]
    Timer,
    /// Another instruction set's.
    #[error("the saved machine is of another architecture")]
    Architecture,
    /// The level of instruction sets.
    #[error("the level of instruction sets is none of v2, v3 and v4")]
    InstructionSets,
    /// The serial port.
    #[error("the serial port holds too much input")]
    SerialInput,
    /// A measuring window.
    #[error("a measuring window has a counter of impossible width")]
    Window,
    /// The vPMU.
    #[error(transparent)]
    Pmu(#[from] RestoreError),
}

/// Why the vPMU could not be saved and restored in mid-run.
#[derive(Debug, thiserror::Error)]
pub enum SaveRestoreError {
    /// Its state did not go through JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Its state was refused.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}
