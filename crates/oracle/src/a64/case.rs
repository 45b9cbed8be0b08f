//! A case, and what comes out of it.

use crate::changes::Memory;
use a64_runner::{CODE, State};
use zerocopy::FromZeros;

/// Instructions and the state in which they start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Instructions. BRKs follow.
    pub code: Vec<u32>,
    /// Where the first one is, in bytes from [`CODE`].
    pub offset: u16,
    /// Seed of [`Start`](super::start::Start).
    pub seed: u64,
}

impl Case {
    /// Address of the first instruction.
    #[must_use]
    pub fn pc(&self) -> u64 {
        CODE + u64::from(self.offset)
    }

    /// The instruction at an address.
    #[must_use]
    pub fn at(&self, pc: u64) -> Option<u32> {
        let distance = pc.checked_sub(self.pc())?;
        self.code.get(usize::try_from(distance / 4).ok()?).copied().filter(|_| distance.is_multiple_of(4))
    }
}

/// What Linux makes of an exception of user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Signal {
    /// SIGILL: UNDEFINED, or not for EL0.
    Illegal = 4,
    /// SIGTRAP: BRK, the regular end.
    Trap = 5,
    /// SIGBUS: an address that is not aligned.
    Bus = 7,
    /// SIGSEGV, SEGV_MAPERR: there is no page.
    NoPage = 1,
    /// SIGSEGV, SEGV_ACCERR: a page that may not be accessed so.
    NoAccess = 2,
    /// Any other.
    Other = 0,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Trap, Self::Illegal, Self::Bus, Self::NoPage, Self::NoAccess, Self::Other];

    /// As the manuals of Linux call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Illegal => "SIGILL",
            Self::Trap => "SIGTRAP (BRK, the regular end)",
            Self::Bus => "SIGBUS, BUS_ADRALN",
            Self::NoPage => "SIGSEGV, SEGV_MAPERR",
            Self::NoAccess => "SIGSEGV, SEGV_ACCERR",
            Self::Other => "another signal",
        }
    }

    /// `si_addr` says which address it is about, besides that of the instruction.
    #[must_use]
    pub fn has_address(self) -> bool {
        matches!(self, Self::Bus | Self::NoPage | Self::NoAccess)
    }
}

/// The state at the signal that ended the case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The signal.
    pub signal: Signal,
    /// The address that it is about, if it has one, else 0.
    pub address: u64,
    /// Registers.
    pub state: State,
    /// What has changed in memory.
    pub memory: Memory,
}

impl Outcome {
    /// One without contents.
    pub(crate) fn new(signal: Signal) -> Self {
        Self { signal, address: 0, state: State::new_zeroed(), memory: Memory::default() }
    }
}

/// Why a side has no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It does not end.
    #[error("does not end")]
    Endless,
    /// QEMU has ended.
    #[error("QEMU has ended: {0}")]
    Gone(String),
}
