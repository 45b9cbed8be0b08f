//! What OFFCORE_RSP_0 and OFFCORE_RSP_1 select: requests that leave the core, by kind and by who answers.
//!
//! A request counts if its kind is among bits 15:0, and bit 16 (any response) is set or both its supplier, among bits
//! 30:17, and what snooping found, among bits 37:31, are. Sources: Intel's event lists (`OCR.*` of Ice Lake-SP and
//! Sapphire Rapids, `intel/perfmon`); Linux `arch/x86/events/intel/core.c`, whose generic cache events use other
//! values than the lists.

use super::Event::{self, *};
use super::EventUnion;

/// Demand data reads, RFOs and code reads, with the events of hits and misses of the last-level cache and of both.
const KINDS: [(u64, [Event; 3]); 3] = [
    (1 << 0, [OcrDemandDataRdL3Hit, OcrDemandDataRdL3Miss, OcrDemandDataRdAnyResponse]),
    (1 << 1, [OcrDemandRfoL3Hit, OcrDemandRfoL3Miss, OcrDemandRfoAnyResponse]),
    (1 << 2, [OcrDemandCodeRdL3Hit, OcrDemandCodeRdL3Miss, OcrDemandCodeRdAnyResponse]),
];
/// All kinds of requests.
const REQUESTS: u64 = 0xFFFF;
const ANY_RESPONSE: u64 = 1 << 16;
/// The last-level cache, in any state of the line.
const L3_HIT: u64 = 0xF << 18;
/// Memory of the own socket: LOCAL_DRAM in the lists of Ice Lake-SP and Sapphire Rapids, and in Linux for Skylake-SP.
const LOCAL_DRAM: u64 = 1 << 26;
/// No other core was asked, because none could have the line.
const NO_SNOOP: u64 = 0b11 << 31;

/// The code of the event that the first of the two registers refines, if `select` is that of the second one.
pub(super) const fn first_select(select: u16) -> Option<u16> {
    match select {
        0xBB => Some(0xB7),
        0x2B => Some(0x2A),
        _ => None,
    }
}

/// The events that a value of the register selects. `None` if there are none, or others as well.
pub(super) fn selected(value: u64) -> Option<EventUnion> {
    let known = KINDS.iter().fold(0, |known, (bit, _)| known | bit);
    if value & REQUESTS & !known != 0 {
        return None;
    }
    let any = value & ANY_RESPONSE != 0;
    let from = |supplier| any || value & supplier != 0 && value & NO_SNOOP != 0;
    let kinds = KINDS.iter().filter(|(bit, _)| value & bit != 0);
    let union = EventUnion::one_by_one(kinds.filter_map(|(_, [hit, miss, both])| {
        match (from(L3_HIT), from(LOCAL_DRAM)) {
            (true, true) => Some(*both),
            (true, false) => Some(*hit),
            (false, true) => Some(*miss),
            (false, false) => None,
        }
    }))?;
    (!union.is_empty()).then_some(union)
}
