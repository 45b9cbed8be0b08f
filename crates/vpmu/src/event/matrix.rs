//! Events of Falkor's matrix: region, code and group, and the numbers that stand for them.
//!
//! A user writes 0xPRCCG, where P is 1: region R, code CC, group G. A counter's type register takes D8H + 8R + G, and
//! the group's field in PMRESRn_EL0 the code. Source: the published patch "perf: qcom: Add Falkor CPU PMU
//! IMPLEMENTATION DEFINED event support", RFC V2.

use super::EventCode;
use core::fmt;

/// Regions of the matrix: PMRESR0_EL0 to PMRESR2_EL0.
pub(crate) const REGIONS: u32 = 3;
/// Groups of a region.
const GROUPS: u8 = 8;
/// The group whose code has 7 bits, because bit 63 of the register is EN.
const SHORT_GROUP: u8 = 7;
/// PMEVTYPERn_EL0.evtCount of group 0 of region 0.
const FIRST_SELECTOR: u16 = 0xD8;
/// The bit that tells a matrix event from an ordinary one.
const FLAG: u32 = 1 << 16;

/// An event of the matrix. What most of them count is not published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MatrixEvent {
    /// PMRESRn_EL0, 0 to 2.
    pub region: u8,
    /// What the group selects; of group 7 at most 7FH.
    pub code: u8,
    /// 0 to 7.
    pub group: u8,
}

/// Why a number is no matrix event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// Bits above the flag.
    #[error("{0:#x} has more than five digits of 0xPRCCG, or P is not 1")]
    Flag(u32),
    /// No such region.
    #[error("region {0} is not 0 to 2")]
    Region(u32),
    /// No such group.
    #[error("group {0} is not 0 to 7")]
    Group(u32),
    /// Group 7 has seven bits.
    #[error("code {0:#x} of group 7 is above 0x7f")]
    Code(u8),
}

impl MatrixEvent {
    /// The event that a user's number 0xPRCCG stands for.
    ///
    /// # Errors
    /// What is wrong with the number.
    pub const fn from_number(number: u32) -> Result<Self, MatrixError> {
        let [low, high, ..] = number.to_le_bytes();
        let (region, group) = (high >> 4, low & 0xF);
        let code = high << 4 | low >> 4;
        if number >> 16 << 16 != FLAG {
            return Err(MatrixError::Flag(number));
        }
        if region as u32 >= REGIONS {
            return Err(MatrixError::Region(region as u32));
        }
        if group >= GROUPS {
            return Err(MatrixError::Group(group as u32));
        }
        if group == SHORT_GROUP && code > 0x7F {
            return Err(MatrixError::Code(code));
        }
        Ok(Self { region, code, group })
    }

    /// The user's number 0xPRCCG.
    #[must_use]
    pub const fn number(self) -> u32 {
        FLAG | (self.region as u32) << 12 | (self.code as u32) << 4 | self.group as u32
    }

    /// Region and group that PMEVTYPERn_EL0.evtCount selects, if it selects any.
    #[must_use]
    pub fn place_of(selector: u16) -> Option<(u8, u8)> {
        let place = u8::try_from(selector.checked_sub(FIRST_SELECTOR)?).ok()?;
        let (region, group) = (place / GROUPS, place % GROUPS);
        (u32::from(region) < REGIONS).then_some((region, group))
    }

    /// PMEVTYPERn_EL0.evtCount of a counter that counts it.
    #[must_use]
    pub const fn selector(self) -> u16 {
        FIRST_SELECTOR + (self.region * GROUPS + self.group) as u16
    }

    /// As a code in an event table: the selector as event select, the group's code as unit mask.
    #[must_use]
    pub const fn code(self) -> EventCode {
        EventCode::new(self.selector(), self.code as u16)
    }

    /// The code that a user's number stands for on a CPU with the matrix: 0xPRCCG, or the number of a common event.
    #[must_use]
    pub fn code_of_number(number: u64) -> EventCode {
        let [low, high, ..] = number.to_le_bytes();
        let matrix = u32::try_from(number).ok().and_then(|number| Self::from_number(number).ok());
        matrix.map_or(EventCode::new(u16::from_le_bytes([low, high]), 0), Self::code)
    }

    /// The event that [`code`](Self::code) made of it, if the code is one of those.
    #[must_use]
    pub fn from_code(code: EventCode) -> Option<Self> {
        let (region, group) = Self::place_of(code.select)?;
        let code = u8::try_from(code.umask).ok()?;
        Self::from_number(Self { region, code, group }.number()).ok()
    }
}

/// The user's number.
impl fmt::Display for MatrixEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.number())
    }
}
