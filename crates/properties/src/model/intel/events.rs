//! Which event select code counts what.

use super::enumeration::{Core, Cpu};
use vpmu::event::Event;

/// Codes to program, as bits of the event select, each with an event that happens.
pub(super) fn codes(cpu: &Cpu) -> Vec<(u64, Option<Event>)> {
    let reference =
        if cpu.core == Core::GoldenCove { Event::CpuClkUnhaltedRefTsc } else { Event::CpuClkUnhaltedRefXclk };
    let codes = [
        (0x00C0, Event::InstRetiredAny),
        (0x003C, Event::CpuClkUnhaltedThread),
        (0x00C4, Event::BrInstRetiredAllBranches),
        (0x01A4, Event::TopdownSlots),
        (0x81D0, Event::MemInstRetiredAllLoads),
        (0x0180_02C2, Event::UopsRetiredStalls),
        (0x01C6, Event::FrontendRetiredDsbMiss),
        (0x01CD, Event::MemTransRetiredLoadLatencyGt4),
        (0x4F2E, Event::LongestLatCacheReference),
        (0x412E, Event::LongestLatCacheMiss),
        (0x00C5, Event::BrMispRetiredAllBranches),
        (0x013C, reference),
        // A fixed counter's pseudo code, which selects nothing, and one that no core has.
        (0x0100, Event::InstRetiredAny),
        (0x00EE, Event::CpuClkUnhaltedRefTsc),
    ];
    codes.map(|(code, event)| (code, Some(event))).to_vec()
}

/// What general-purpose counter `n` counts with this event select, if anything.
pub(super) fn selected(cpu: &Cpu, evtsel: u64, n: usize, frontend: u64, ld_lat: u64) -> Option<Event> {
    let code = evtsel & 0xFFFF;
    let cmask = evtsel >> 24 & 0xFF;
    let edge = super::bit(evtsel, 18);
    // Without CMASK there is no comparison that INV could invert.
    let inv = super::bit(evtsel, 23) && cmask != 0;
    if (code, cmask, inv, edge) == (0x02C2, 1, true, false) {
        return Some(Event::UopsRetiredStalls);
    }
    if cmask != 0 || edge {
        return None;
    }
    let golden = cpu.core == Core::GoldenCove;
    match code {
        0x00C0 => Some(Event::InstRetiredAny),
        0x003C => Some(Event::CpuClkUnhaltedThread),
        0x013C if golden => Some(Event::CpuClkUnhaltedRefTsc),
        0x013C => Some(Event::CpuClkUnhaltedRefXclk),
        0x4F2E => Some(Event::LongestLatCacheReference),
        0x412E => Some(Event::LongestLatCacheMiss),
        0x00C4 => Some(Event::BrInstRetiredAllBranches),
        0x00C5 => Some(Event::BrMispRetiredAllBranches),
        // Unit mask bit 2 selects all of them as well, whatever else is selected.
        _ if code & 0x04FF == 0x04C4 => Some(Event::BrInstRetiredAllBranches),
        _ if code & 0x04FF == 0x04C5 => Some(Event::BrMispRetiredAllBranches),
        0x01A4 => Some(Event::TopdownSlots),
        // Counters 0 to 3 only.
        // Bits 4 to 6 select some of the loads that bit 7 selects all of.
        _ if code & 0x8FFF == 0x81D0 && n < 4 => Some(Event::MemInstRetiredAllLoads),
        0x01C6 if frontend == 0x11 => Some(Event::FrontendRetiredDsbMiss),
        // Golden Cove: not on counter 0.
        0x01CD if ld_lat == 4 && !(golden && n == 0) => Some(Event::MemTransRetiredLoadLatencyGt4),
        _ => None,
    }
}

/// What fixed counter `n` counts.
pub(super) fn fixed(n: usize) -> Event {
    match n {
        0 => Event::InstRetiredAny,
        1 => Event::CpuClkUnhaltedThread,
        2 => Event::CpuClkUnhaltedRefTsc,
        3 => Event::TopdownSlots,
        _ => unreachable!("fixed counters 4 to 6 are Atom's"),
    }
}
