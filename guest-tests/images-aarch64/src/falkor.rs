//! Falkor's matrix of events, from the public review of its driver: registers, fields and encodings. The events that
//! [`synthetic`] names are inventions of this project on rows whose area is public; no source defines a single one.

use guest_runtime::{protocol::Needs, registers::packed};

use crate::{
    pmu::{read, write},
    table::Row,
};

/// PMRESR0_EL0; PMRESR1 and PMRESR2 follow, `1 << 6` apart.
pub const PMRESR0: u32 = packed(3, 5, 11, 3, 0);
/// PMXEVCNTCR_EL0: one for each counter, chosen by PMSELR_EL0.
pub const PMXEVCNTCR: u32 = packed(3, 5, 11, 0, 3);
/// PMACTLR_EL0, whose bit 0 opens the others to EL0 on the related Kryo; that Falkor has it is an inference.
pub const PMACTLR: u32 = packed(3, 5, 11, 0, 2);
/// Registers of the matrix that hold something.
pub const MATRIX_REGISTERS: [u32; 4] = [PMRESR0, PMRESR0 + (1 << 6), PMRESR0 + (2 << 6), PMXEVCNTCR];

/// Regions, a PMRESR each.
pub const REGIONS: u32 = 3;
/// Groups of a region, a code each.
pub const GROUPS: u32 = 8;
/// PMRESRx_EL0: the region is active.
pub const EN: u64 = 1 << 63;

/// A register of a table about the matrix.
pub type MatrixRegister = Row<{ Needs::FALKOR.bits() }>;

/// A matrix event: the code of a group of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Region, 0 to 2.
    pub region: u32,
    /// Code, 0 to FFH; to 7FH in group 7.
    pub code: u64,
    /// Group, 0 to 7.
    pub group: u32,
}

impl Event {
    /// The event of user space's number 0xPRCCG.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self { region: number >> 12 & 0xF, code: (number >> 4 & 0xFF) as u64, group: number & 0xF }
    }

    /// What PMEVTYPERn.evtCount selects it by: D8H + 8 R + G.
    #[must_use]
    pub const fn selector(self) -> u64 {
        (0xD8 + 8 * self.region + self.group) as u64
    }

    /// The region's register.
    #[must_use]
    pub const fn resr(self) -> u32 {
        resr(self.region)
    }

    /// Bits of its group in the region's register: eight, seven in group 7.
    #[must_use]
    pub const fn field(self) -> u64 {
        let width = if self.group == 7 { 0x7F } else { 0xFF };
        width << (8 * self.group)
    }

    /// Selects its code in its group and activates the region; other groups stay as they are.
    #[track_caller]
    pub fn select(self) {
        let others = read(self.resr()) & !self.field();
        write(self.resr(), others | self.code << (8 * self.group) | EN);
    }
}

/// PMRESRx_EL0 of a region.
#[must_use]
pub const fn resr(region: u32) -> u32 {
    PMRESR0 + (region << 6)
}

/// Synthetic events: names and meanings are this project's, not Qualcomm's.
pub mod synthetic {
    use super::Event;

    /// Retired instructions; code 0.
    pub const BASIC_INSTRUCTIONS: Event = Event::new(0x1_0000);
    /// IRQ exceptions taken.
    pub const IRQ_TAKEN: Event = Event::new(0x1_0450);
    /// SVC to EL1.
    pub const SVC: Event = Event::new(0x1_04B0);
    /// Data aborts.
    pub const DATA_ABORT: Event = Event::new(0x1_04B1);
    /// Conditional branches retired.
    pub const CONDITIONAL_BRANCHES: Event = Event::new(0x1_0600);
    /// Indirect branches retired.
    pub const INDIRECT_BRANCHES: Event = Event::new(0x1_0660);
    /// One per cycle; the highest code of group 7.
    pub const EVERY_CYCLE: Event = Event::new(0x1_07F7);
    /// One per retired instruction; the highest code.
    pub const EVERY_INSTRUCTION: Event = Event::new(0x1_0FF6);
    /// Loads executed.
    pub const LOADS: Event = Event::new(0x1_2060);
    /// Stores executed.
    pub const STORES: Event = Event::new(0x1_2061);
}
