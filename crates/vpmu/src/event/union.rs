//! Codes without a name of their own, whose unit mask asks for several named events at once.
//!
//! A counter with several unit mask bits counts each occurrence that any of them selects. The event lists name only
//! some of the combinations; the others are made of the named ones here, once for all counts sources. What a list
//! names wins: it may be something else than the union of its bits (`A6/21`), or have bits that only qualify others
//! (`D0/81`).

use super::Event::{self, *};
use super::{Encoding, EventCode};

/// Named events that a code without a name counts together. No occurrence belongs to two of them, so that their
/// counts add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventUnion([Option<Event>; Self::MOST]);

impl EventUnion {
    /// Most events of one.
    pub const MOST: usize = 8;

    /// The events; none for a code that has a name, and for one that is unknown.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().map_while(|event| *event)
    }

    /// True if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// The union of events, `None` if there is no room for all or an occurrence may be one of two of them.
    pub(super) fn of(events: impl IntoIterator<Item = Event>) -> Option<Self> {
        let mut union = Self::default();
        for event in events {
            union.add(event)?;
        }
        let inside = |event: &Event| union.events().any(|other| contains(other, *event));
        let reduced = Self::one_by_one(union.events().filter(|event| !inside(event)))?;
        let overlaps = |a| {
            reduced
                .events()
                .any(|b| OVERLAPS.iter().any(|set| set.contains(&a) && set.contains(&b) && a != b))
        };
        (!reduced.events().any(overlaps)).then_some(reduced)
    }

    /// The union of events of which no occurrence is two; `None` if there is no room for all.
    pub(super) fn one_by_one(events: impl IntoIterator<Item = Event>) -> Option<Self> {
        let mut union = Self::default();
        let mut slots = union.0.iter_mut();
        for event in events {
            *slots.next()? = Some(event);
        }
        Some(union)
    }

    /// The event, if there is one only.
    pub(super) fn single(&self) -> Option<Event> {
        let mut events = self.events();
        events.next().filter(|_| events.next().is_none())
    }

    /// Adds an event, or what it is the sum of.
    fn add(&mut self, event: Event) -> Option<()> {
        for part in event.parts() {
            self.add(*part)?;
        }
        if event.parts().is_empty() && !self.events().any(|known| known == event) {
            *self.0.iter_mut().find(|slot| slot.is_none())? = Some(event);
        }
        Some(())
    }
}

/// Events of which each occurrence is one of another event too, by the definitions in the event lists.
const INSIDE: &[(Event, &[Event])] = &[
    (
        BrInstRetiredNearTaken,
        &[BrInstRetiredCondTaken, BrInstRetiredNearCall, BrInstRetiredNearReturn, BrInstRetiredIndirect],
    ),
    (
        BrMispRetiredNearTaken,
        &[BrMispRetiredCondTaken, BrMispRetiredIndirectCall, BrMispRetiredRet, BrMispRetiredIndirect],
    ),
    (BrMispRetiredIndirect, &[BrMispRetiredIndirectCall]),
    (
        MemInstRetiredAllLoads,
        &[MemInstRetiredStlbMissLoads, MemInstRetiredLockLoads, MemInstRetiredSplitLoads],
    ),
    (MemInstRetiredAllStores, &[MemInstRetiredStlbMissStores, MemInstRetiredSplitStores]),
    (ItlbMissesWalkCompleted, &[ItlbMissesWalkCompleted4k, ItlbMissesWalkCompleted2m4m]),
];

fn contains(whole: Event, part: Event) -> bool {
    INSIDE.iter().any(|(event, inside)| *event == whole && inside.contains(&part))
}

/// Events of which an occurrence may be two: how many there are in their union cannot be told.
const OVERLAPS: &[&[Event]] = &[
    &[BrInstRetiredNearCall, BrInstRetiredIndirect],
    &[MemInstRetiredStlbMissLoads, MemInstRetiredLockLoads, MemInstRetiredSplitLoads],
    &[MemInstRetiredStlbMissStores, MemInstRetiredSplitStores],
];

/// What is known of the unit masks of an event, by the first part of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bits {
    /// The named masks select different occurrences; other bits may mean something that the table does not have.
    Some,
    /// And bits without a name mean nothing.
    All,
}

/// Events whose masks can be combined. Not those that count cycles: two reasons may hold in the same cycle.
const FAMILIES: &[(&str, Bits)] = &[
    ("BR_INST_RETIRED", Bits::All),
    ("BR_MISP_RETIRED", Bits::All),
    ("FP_ARITH_INST_RETIRED", Bits::All),
    ("SW_PREFETCH_ACCESS", Bits::All),
    ("DTLB_LOAD_MISSES", Bits::All),
    ("DTLB_STORE_MISSES", Bits::All),
    ("ITLB_MISSES", Bits::All),
    ("ICACHE_64B", Bits::Some),
    ("IDQ", Bits::Some),
    ("L2_LINES_OUT", Bits::Some),
    ("L2_RQSTS", Bits::Some),
    ("LD_BLOCKS", Bits::Some),
    ("MEM_INST_RETIRED", Bits::Some),
    ("MEM_LOAD_L3_HIT_RETIRED", Bits::Some),
    ("MEM_LOAD_L3_MISS_RETIRED", Bits::Some),
    ("MEM_LOAD_RETIRED", Bits::Some),
    ("OFFCORE_REQUESTS", Bits::Some),
    ("RTM_RETIRED", Bits::Some),
    ("UOPS_DISPATCHED", Bits::Some),
    // AMD: each bit of a mask selects something of its own.
    ("bp_l1_tlb_fetch_hit", Bits::All),
    ("bp_l1_tlb_miss_l2_tlb_miss", Bits::All),
    ("de_src_op_disp", Bits::Some),
    ("ex_ret_mmx_fp_instr", Bits::All),
    ("fp_ops_retired_by_width", Bits::All),
    ("fp_ret_sse_avx_ops", Bits::All),
    ("fp_ret_x87_fp_ops", Bits::All),
    ("ic_tag_hit_miss", Bits::Some),
    ("l2_cache_req_stat", Bits::All),
    ("l2_request_g1", Bits::All),
    ("ls_dispatch", Bits::All),
    ("ls_l1_d_tlb_miss", Bits::All),
    ("ls_pref_instr_disp", Bits::All),
];

/// Skylake's list has unit mask 4 of the two branch events as ALL_BRANCHES_PEBS, the same as unit mask 0; Linux's
/// cache events of branches use it on Golden Cove (`arch/x86/events/intel/core.c`).
const ALL_BRANCHES: u16 = 0x04;

/// A unit mask that stands for all there are, and says nothing of its single bits.
const EVERYTHING: u16 = 0xFF;

/// What a table makes of a code that it has no name for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unnamed {
    /// The same as this code, which has a name: the other bits mean nothing.
    Same(EventCode),
    /// Several events, with the counters that can count all of them.
    Union(EventUnion, u32),
}

/// Finds what a code without a name counts; `rows` are all of the table with its event select.
pub(super) fn unnamed<'a>(
    code: EventCode,
    rows: &(impl Iterator<Item = &'a Encoding> + Clone),
) -> Option<Unnamed> {
    let plain = || rows.clone().filter(|row| row.code.is_plain() && row.extra.is_none());
    let first = plain().next()?.event;
    let family = family(first);
    let amd = is_amd(first);
    // AMD's events without a list of unit masks have none: the field is ignored.
    if amd && rows.clone().all(|row| row.code.umask == 0) {
        return Some(Unnamed::Same(EventCode { umask: 0, ..code }));
    }
    let family = family?;
    if !amd && code.umask & ALL_BRANCHES != 0 && matches!(first.unit(), "BR_INST_RETIRED" | "BR_MISP_RETIRED")
    {
        return Some(Unnamed::Same(EventCode { umask: 0, ..code }));
    }
    let meant = rows
        .clone()
        .map(|row| row.code.umask)
        .filter(|umask| *umask != EVERYTHING)
        .fold(0, |all, umask| all | umask);
    let umask = code.umask & meant;
    if umask != code.umask && family == Bits::Some || umask == 0 {
        return None;
    }
    if plain().any(|row| row.code.umask == umask) {
        return Some(Unnamed::Same(EventCode { umask, ..code }));
    }
    let within = || plain().filter(move |row| row.code.umask != 0 && row.code.umask & !umask == 0);
    let largest = |row: &&Encoding| {
        let own = row.code.umask;
        !within().any(|other| other.code.umask != own && other.code.umask & own == own)
    };
    let single = |row: &&Encoding| row.code.umask.is_power_of_two();
    let chosen = || within().filter(move |row| if amd { single(row) } else { largest(row) });
    if chosen().fold(0, |covered, row| covered | row.code.umask) != umask {
        return None;
    }
    let counters = chosen().fold(u32::MAX, |counters, row| counters & row.counters);
    Some(Unnamed::Union(EventUnion::of(chosen().map(|row| row.event))?, counters))
}

fn family(event: Event) -> Option<Bits> {
    FAMILIES.iter().find(|(unit, _)| *unit == event.unit()).map(|(_, bits)| *bits)
}

/// AMD's names are in lower case.
fn is_amd(event: Event) -> bool {
    event.name().starts_with(|first: char| first.is_ascii_lowercase())
}

impl Event {
    /// The name up to the dot: what a unit mask selects from.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.name().split('.').next().unwrap_or_default()
    }
}
