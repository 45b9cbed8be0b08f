//! Fault status codes (Arm ARM D17.2.37, ISS encodings for instruction aborts and data aborts).

use super::request::Intent;

/// Why an access does not take place. Those of translation have the level of the lookup, 0 to 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// An address has more bits than physical addresses have; level 0 also if it is that of the first table.
    AddressSize(u8),
    /// There is no translation.
    Translation(u8),
    /// The access flag is clear.
    AccessFlag(u8),
    /// The rights are missing.
    Permission(u8),
    /// Nothing answers.
    External,
    /// Nothing answers a translation table walk.
    ExternalOnWalk(u8),
    /// The address is not aligned.
    Alignment,
}

/// ISS.WnR.
const WRITE: u32 = 1 << 6;
/// ISS.CM: cache maintenance or address translation, which have WnR set.
const MAINTENANCE: u32 = 1 << 8;

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

    /// ISS of the abort. S1PTW, FnV and ISV are 0: there is no stage 2, and FAR_EL1 is always valid.
    pub(crate) fn syndrome(self, intent: Intent) -> u32 {
        self.code()
            | match intent {
                Intent::Fetch | Intent::Read => 0,
                Intent::Write => WRITE,
                Intent::Maintain | Intent::Invalidate => WRITE | MAINTENANCE,
            }
    }
}
