//! The event table of a core: from event select codes to events and back.

use core::fmt;

use super::union::{Unnamed, unnamed};
use super::{
    Encoding, Event, EventCode, EventUnion, MSR_OFFCORE_RSP_0, MSR_OFFCORE_RSP_1, encodings, offcore,
};

/// The table of one core, with the number of general-purpose counters that its list knows.
macro_rules! table {
    ($rows:ident, $core:ident, $counters:literal) => {{
        const ENCODINGS: [Encoding; encodings::count(encodings::$rows, encodings::$core)] =
            encodings::of(encodings::$rows, encodings::$core, $counters);
        const BY_CODE: [usize; ENCODINGS.len()] = sorted_by_code(&ENCODINGS);
        Self { encodings: &ENCODINGS, by_code: &BY_CODE, unit_masks: true }
    }};
}

/// The events that one core can count on its general-purpose counters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EventTable {
    encodings: &'static [Encoding],
    // Positions in `encodings`, sorted by event select and unit mask: the tables themselves stay in
    // the order in which people read them, and a trapped WRMSR does not scan them.
    by_code: &'static [usize],
    /// Codes have unit masks, of which several together may ask for several events.
    unit_masks: bool,
}

/// What an event select code asks for on one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resolved {
    /// The named event that the whole code stands for, modifiers included.
    pub exact: Option<Event>,
    /// The named event of event select and unit mask alone. With CMASK, INV or E, a counter counts
    /// cycles or edges of this event.
    pub base: Option<Event>,
    /// The named events that event select and unit mask ask for together, when they have no name of their own. With
    /// CMASK, INV or E, a counter counts cycles or edges of their sum.
    pub union: EventUnion,
    /// The general-purpose counters on which it counts, one bit each; 0 for an unknown code.
    pub counters: u32,
    /// The MSR whose value also selects the event, when events of this code need one. Resolve
    /// with [`EventTable::resolve_extra`] then.
    pub extra_msr: Option<u32>,
}

impl Resolved {
    /// What a code asks for by several events together, or by one of them that contains the others.
    fn union(union: EventUnion, code: EventCode, counters: u32) -> Self {
        match union.single() {
            Some(event) => Self {
                exact: code.is_plain().then_some(event),
                base: Some(event),
                counters,
                ..Self::default()
            },
            None => Self { union, counters, ..Self::default() },
        }
    }
}

impl EventTable {
    /// Ice Lake-SP; also right for the shared names of Ice Lake client, Tiger Lake and Rocket Lake.
    pub const ICELAKE_SP: Self = table!(INTEL, ICX, 8);

    /// Sapphire Rapids; also right for Emerald Rapids and the P-cores of Alder Lake.
    pub const SAPPHIRE_RAPIDS: Self = table!(INTEL, SPR, 8);

    /// Skylake-SP; also right for Cascade Lake.
    pub const SKYLAKE_SP: Self = table!(INTEL, SKX, 8);

    /// Granite Rapids.
    pub const GRANITE_RAPIDS: Self = table!(INTEL, GNR, 8);

    /// The P-cores of Lunar Lake and Arrow Lake.
    pub const LION_COVE: Self = table!(INTEL, LNL, 10);

    /// AMD Zen 2.
    pub const ZEN2: Self = table!(AMD, ZEN2, 8);
    /// AMD Zen 3.
    pub const ZEN3: Self = table!(AMD, ZEN3, 8);
    /// AMD Zen 4.
    pub const ZEN4: Self = table!(AMD, ZEN4, 8);
    /// AMD Zen 5.
    pub const ZEN5: Self = table!(AMD, ZEN5, 8);

    /// Qualcomm Falkor: the common events, and those of its matrix by [`MatrixEvent::code`](super::MatrixEvent::code).
    pub const FALKOR: Self = Self { unit_masks: false, ..table!(ARM, FALKOR, 8) };

    /// Finds the event of a code. Unit mask bits that mean nothing are ignored; of several that have no common name,
    /// `Resolved::union` has what they stand for.
    ///
    /// Events that also need an extra register are not found, because the code alone does not name
    /// them; [`Resolved::extra_msr`] says so.
    #[must_use]
    pub fn resolve(self, code: EventCode) -> Resolved {
        self.lookup(code, None)
    }

    /// Finds the event of a code, given the value of the extra register that it needs.
    ///
    /// Without a named event for this value (a load latency threshold of 30 cycles, say), `exact`
    /// and `base` are `None`.
    #[must_use]
    pub fn resolve_extra(self, code: EventCode, extra_value: u64) -> Resolved {
        self.lookup(code, Some(extra_value))
    }

    fn lookup(self, code: EventCode, extra_value: Option<u64>) -> Resolved {
        let code = code.normalized();
        if let Some(resolved) = self.offcore(code, extra_value) {
            return resolved;
        }
        let found = self.named(code, extra_value);
        if found.counters != 0 || !self.unit_masks {
            return found;
        }
        match unnamed(code, &self.by_select(code.select)) {
            Some(Unnamed::Same(code)) => self.named(code, extra_value),
            Some(Unnamed::Union(union, counters)) => Resolved::union(union, code, counters),
            None => found,
        }
    }

    /// What the table has under this event select and unit mask.
    fn named(self, code: EventCode, extra_value: Option<u64>) -> Resolved {
        let mut found = Resolved::default();
        for encoding in self.by_select_umask(code.select, code.umask) {
            if found.counters == 0 || encoding.code == code {
                found.counters = encoding.counters;
            }
            if let Some(extra) = encoding.extra {
                found.extra_msr = Some(extra.msr);
                if extra_value != Some(extra.value) {
                    continue;
                }
            }
            if encoding.code == code {
                found.exact = Some(encoding.event);
            }
            if encoding.code.is_plain() {
                found.base = Some(encoding.event);
            }
        }
        found
    }

    /// A code whose event OFFCORE_RSP_0 or OFFCORE_RSP_1 selects.
    fn offcore(self, code: EventCode, extra_value: Option<u64>) -> Option<Resolved> {
        let (select, extra_msr) = match offcore::first_select(code.select) {
            Some(select) => (select, MSR_OFFCORE_RSP_1),
            None => (code.select, MSR_OFFCORE_RSP_0),
        };
        let row = self.by_select_umask(select, code.umask).next()?;
        row.extra.filter(|extra| extra.msr == MSR_OFFCORE_RSP_0)?;
        let union = extra_value.and_then(offcore::selected).unwrap_or_default();
        Some(Resolved { extra_msr: Some(extra_msr), ..Resolved::union(union, code, row.counters) })
    }

    /// Every encoding, in the order of the topics: retirement, branches, front end, uops, stalls,
    /// floating point, memory.
    #[must_use]
    pub const fn encodings(self) -> &'static [Encoding] {
        self.encodings
    }

    /// How this core encodes an event; `None` when its general-purpose counters cannot count it.
    #[must_use]
    pub fn by_event(self, event: Event) -> Option<&'static Encoding> {
        self.encodings.iter().find(|encoding| encoding.event == event)
    }

    /// Every encoding with this event select and unit mask, whatever its modifiers.
    pub fn by_select_umask(self, select: u16, umask: u16) -> impl Iterator<Item = &'static Encoding> {
        self.from(select, umask)
            .take_while(move |encoding| (encoding.code.select, encoding.code.umask) == (select, umask))
    }

    /// Every encoding with this event select.
    fn by_select(self, select: u16) -> impl Iterator<Item = &'static Encoding> + Clone {
        self.from(select, 0).take_while(move |encoding| encoding.code.select == select)
    }

    /// The encodings from this event select and unit mask on.
    fn from(self, select: u16, umask: u16) -> impl Iterator<Item = &'static Encoding> + Clone {
        let wanted = key(EventCode::new(select, umask));
        let sorted = move |position: &usize| &self.encodings[*position];
        let first = self.by_code.partition_point(|position| key(sorted(position).code) < wanted);
        self.by_code[first..].iter().map(sorted)
    }
}

const fn key(code: EventCode) -> u32 {
    (code.select as u32) << 16 | code.umask as u32
}

/// Insertion sort, because it is the shortest that a `const fn` can do.
const fn sorted_by_code<const N: usize>(encodings: &[Encoding]) -> [usize; N] {
    let mut sorted = [0; N];
    let mut next = 0;
    while next < N {
        let mut at = next;
        while at > 0 && key(encodings[sorted[at - 1]].code) > key(encodings[next].code) {
            sorted[at] = sorted[at - 1];
            at -= 1;
        }
        sorted[at] = next;
        next += 1;
    }
    sorted
}

/// Short on purpose: a table is hundreds of rows, and it is part of every printed profile.
impl fmt::Debug for EventTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventTable({} encodings)", self.encodings.len())
    }
}
