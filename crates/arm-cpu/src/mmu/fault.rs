//! Syndromes of aborts (Arm ARM D17.2.37, ISS encoding for exceptions from Instruction Aborts and Data Aborts).

use super::Intent;
use crate::context::Core;
use crate::exception::{Class, Exception, Fault};

/// Fault status codes, of which those of translation have a level from 0 to 3 in the low two bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    AddressSize(u8),
    Translation(u8),
    AccessFlag(u8),
    Permission(u8),
    External,
    /// On a translation table walk.
    ExternalOnWalk(u8),
    Alignment,
}

impl Status {
    /// DFSC and IFSC, and FST of PAR_EL1.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::AddressSize(level) => u32::from(level),
            Self::Translation(level) => 0b0100 | u32::from(level),
            Self::AccessFlag(level) => 0b1000 | u32::from(level),
            Self::Permission(level) => 0b1100 | u32::from(level),
            Self::External => 0b01_0000,
            Self::ExternalOnWalk(level) => 0b01_0100 | u32::from(level),
            Self::Alignment => 0b10_0001,
        }
    }
}

/// ISS.WnR.
const WRITE: u32 = 1 << 6;
/// ISS.CM: cache maintenance or address translation.
const CACHE_MAINTENANCE: u32 = 1 << 8;

impl Core {
    /// An instruction or data abort at a virtual address.
    #[cold]
    pub(crate) fn abort(&mut self, va: u64, status: Status, intent: Intent) -> Fault {
        let (class, bits) = match intent {
            Intent::Fetch => (Class::InstructionAbort, 0),
            Intent::Read => (Class::DataAbort, 0),
            Intent::Write => (Class::DataAbort, WRITE),
            Intent::Maintain => (Class::DataAbort, WRITE | CACHE_MAINTENANCE),
        };
        self.raise(Exception { class, iss: status.code() | bits, address: Some(va), behind: false })
    }
}
