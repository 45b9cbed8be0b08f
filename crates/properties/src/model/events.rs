//! What happens in the core, and which event select code counts it.

use super::enumeration::{Core, Cpu};

/// A quantity that the core produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Instructions,
    Cycles,
    /// Reference cycles at the TSC's rate.
    TscCycles,
    /// Reference cycles at the crystal's rate.
    CrystalCycles,
    LlcReferences,
    LlcMisses,
    Branches,
    Mispredicts,
    Loads,
    /// Cycles without a retiring slot: slots retired, CMASK 1, INV.
    RetireStalls,
    /// Front-end retired event 0x11: an instruction after a miss of the decoded micro-op cache.
    DsbMisses,
    /// Loads that took longer than 4 cycles.
    LoadsOver4,
    /// Issue slots; always produced by category.
    Slots,
}

impl Stream {
    pub const ALL: [Self; 13] = [
        Self::Instructions,
        Self::Cycles,
        Self::TscCycles,
        Self::CrystalCycles,
        Self::LlcReferences,
        Self::LlcMisses,
        Self::Branches,
        Self::Mispredicts,
        Self::Loads,
        Self::RetireStalls,
        Self::DsbMisses,
        Self::LoadsOver4,
        Self::Slots,
    ];
}

/// What general-purpose counter `n` counts with this event select, if anything.
pub fn selected(cpu: &Cpu, evtsel: u64, n: usize, frontend: u64, ld_lat: u64) -> Option<Stream> {
    let code = evtsel & 0xFFFF;
    let cmask = evtsel >> 24 & 0xFF;
    let edge = super::bit(evtsel, 18);
    // Without CMASK there is no comparison that INV could invert.
    let inv = super::bit(evtsel, 23) && cmask != 0;
    if (code, cmask, inv, edge) == (0x02C2, 1, true, false) {
        return Some(Stream::RetireStalls);
    }
    if cmask != 0 || edge {
        return None;
    }
    let golden = cpu.core == Core::GoldenCove;
    match code {
        0x00C0 => Some(Stream::Instructions),
        0x003C => Some(Stream::Cycles),
        0x013C if golden => Some(Stream::TscCycles),
        0x013C => Some(Stream::CrystalCycles),
        0x4F2E => Some(Stream::LlcReferences),
        0x412E => Some(Stream::LlcMisses),
        0x00C4 => Some(Stream::Branches),
        0x00C5 => Some(Stream::Mispredicts),
        // Unit mask bit 2 selects all of them as well, whatever else is selected.
        _ if code & 0x04FF == 0x04C4 => Some(Stream::Branches),
        _ if code & 0x04FF == 0x04C5 => Some(Stream::Mispredicts),
        0x01A4 => Some(Stream::Slots),
        // Counters 0 to 3 only.
        // Bits 4 to 6 select some of the loads that bit 7 selects all of.
        _ if code & 0x8FFF == 0x81D0 && n < 4 => Some(Stream::Loads),
        0x01C6 if frontend == 0x11 => Some(Stream::DsbMisses),
        // Golden Cove: not on counter 0.
        0x01CD if ld_lat == 4 && !(golden && n == 0) => Some(Stream::LoadsOver4),
        _ => None,
    }
}

/// What fixed counter `n` counts.
pub fn fixed(n: usize) -> Stream {
    match n {
        0 => Stream::Instructions,
        1 => Stream::Cycles,
        2 => Stream::TscCycles,
        3 => Stream::Slots,
        _ => unreachable!("fixed counters 4 to 6 are Atom's"),
    }
}
