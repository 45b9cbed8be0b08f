//! Exceptions: what they are, and how faults travel through the interpreter.

use core::fmt;

pub(crate) const DE: u8 = 0;
pub(crate) const DB: u8 = 1;
pub(crate) const NMI: u8 = 2;
pub(crate) const BP: u8 = 3;
pub(crate) const OF: u8 = 4;
pub(crate) const UD: u8 = 6;
pub(crate) const NM: u8 = 7;
pub(crate) const DF: u8 = 8;
pub(crate) const TS: u8 = 10;
pub(crate) const NP: u8 = 11;
pub(crate) const SS: u8 = 12;
pub(crate) const GP: u8 = 13;
pub(crate) const PF: u8 = 14;
pub(crate) const MF: u8 = 16;
pub(crate) const AC: u8 = 17;
pub(crate) const XM: u8 = 19;

/// An exception on its way to the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exception {
    /// Vector: 0 to 31, but for interrupts.
    pub vector: u8,
    /// Error code, for the vectors that have one.
    pub error: Option<u32>,
    /// Linear address for CR2; only with #PF.
    pub address: u64,
}

impl Exception {
    pub(crate) fn plain(vector: u8) -> Self {
        Self { vector, error: None, address: 0 }
    }

    pub(crate) fn with_error(vector: u8, error: u32) -> Self {
        Self { vector, error: Some(error), address: 0 }
    }

    /// Contributory exceptions (SDM volume 3, table 6-4).
    fn is_contributory(&self) -> bool {
        matches!(self.vector, DE | TS | NP | SS | GP)
    }

    /// Whether this exception, raised while `first` was delivered, makes a double fault (SDM
    /// volume 3, table 6-5).
    pub(crate) fn doubles(&self, first: &Self) -> bool {
        first.is_contributory() && self.is_contributory()
            || first.vector == PF && (self.is_contributory() || self.vector == PF)
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exception {}", self.vector)?;
        if let Some(error) = self.error {
            write!(f, "({error:#x})")?;
        }
        if self.vector == PF {
            write!(f, " at {:#x}", self.address)?;
        }
        Ok(())
    }
}

/// What made the CPU enter the IDT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A fault, trap or abort of the CPU; INT1 counts as one.
    Exception,
    /// INT n, INT3, INTO.
    Software,
    /// An NMI or a maskable interrupt.
    Interrupt,
}

/// An exception or interrupt at the IDT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// What it is; interrupts have a vector only.
    pub event: Exception,
    /// Why it happens.
    pub kind: EventKind,
    /// The instruction that raised it; of an interrupt or trap the one that did not begin.
    pub from: Place,
    /// Where its handler starts; or the exception that its delivery raised. That one, or a double fault instead, is
    /// delivered next; if a double fault cannot be delivered the CPU shuts down.
    pub handler: Result<Place, Exception>,
}

/// Where the CPU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// CS.
    pub cs: u16,
    /// RIP.
    pub rip: u64,
    /// Privilege level.
    pub cpl: u8,
}

/// The instruction did not complete; `Core::raised` says why. Without content so that results of
/// memory accesses fit in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault;

/// How an instruction ends.
pub(crate) type Done = Result<(), Fault>;
