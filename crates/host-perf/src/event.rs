//! What can be counted, and how `perf_event_open` names it.

use std::fmt;

/// `config` of the slots event: event 0x00, umask 0x04, fixed counter 3 (Ice Lake and later big cores).
pub(crate) const SLOTS_CONFIG: u64 = 0x0400;

/// Something that the host can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Retired instructions.
    Instructions,
    /// Core cycles while not halted.
    CpuCycles,
    /// Reference cycles while not halted, at a constant rate.
    RefCycles,
    /// Retired branch instructions.
    Branches,
    /// Retired mispredicted branches.
    BranchMisses,
    /// Last-level cache references, as the kernel maps them for this CPU.
    CacheReferences,
    /// Last-level cache misses, as the kernel maps them for this CPU.
    CacheMisses,
    /// An event of the host's own core PMU, by encoding.
    Raw(RawEvent),
    /// Issue slots (fixed counter 3).
    Slots,
    /// A PERF_METRICS field that the kernel converts to slots. Only valid in a group led by [`Event::Slots`].
    Topdown(Metric),
    /// A count kept by the kernel; works without a PMU.
    Software(SoftwareEvent),
}

/// Counts that the kernel keeps itself. They prove that perf works on a host whose hardware counters do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SoftwareEvent {
    /// Nanoseconds that the thread spent on a CPU.
    TaskClock,
    /// Page faults of the thread.
    PageFaults,
    /// Context switches of the thread.
    ContextSwitches,
}

/// An x86 event encoding. [`CorePmu::encode`](crate::CorePmu::encode) places the fields where the host's sysfs
/// `format/` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RawEvent {
    /// Event number; 8 bits on Intel, 12 on AMD.
    pub event: u16,
    /// Unit mask; 8 bits, 16 on Intel CPUs with the UMASK2 extension.
    pub umask: u16,
    /// Counter mask: count cycles with at least this many occurrences. 0 counts occurrences.
    pub cmask: u8,
    /// Invert the comparison of `cmask`.
    pub inv: bool,
    /// Count rising edges only.
    pub edge: bool,
}

impl RawEvent {
    /// An event by number and unit mask, without modifiers.
    pub const fn new(event: u16, umask: u16) -> Self {
        RawEvent { event, umask, cmask: 0, inv: false, edge: false }
    }
}

impl fmt::Display for RawEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event={:#04x},umask={:#04x}", self.event, self.umask)?;
        if self.cmask != 0 {
            write!(f, ",cmask={}", self.cmask)?;
        }
        if self.inv {
            f.write_str(",inv")?;
        }
        if self.edge {
            f.write_str(",edge")?;
        }
        Ok(())
    }
}

/// How deep PERF_METRICS divides the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Four fields: Ice Lake and later.
    One,
    /// Eight fields: Golden Cove (Sapphire Rapids, Alder Lake P cores) and later.
    Two,
}

impl Level {
    /// The metrics of this level, in the order of their bytes in PERF_METRICS.
    pub fn metrics(self) -> &'static [Metric] {
        match self {
            Level::One => &Metric::ALL[..4],
            Level::Two => &Metric::ALL,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::One => "level 1",
            Level::Two => "level 2",
        })
    }
}

/// One 8-bit field of PERF_METRICS (MSR 0x329). The discriminant is the byte's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Metric {
    /// Slots that retired a micro-op.
    Retiring = 0,
    /// Slots lost to work that was thrown away.
    BadSpec = 1,
    /// Slots that the front end did not fill.
    FeBound = 2,
    /// Slots that the back end could not take.
    BeBound = 3,
    /// Part of retiring: instructions of several micro-ops, or microcoded.
    HeavyOps = 4,
    /// Part of bad speculation: branch mispredictions.
    BrMispredict = 5,
    /// Part of front-end bound: fetch latency.
    FetchLat = 6,
    /// Part of back-end bound: memory.
    MemBound = 7,
}

impl Metric {
    /// All fields in the order of their bytes.
    pub const ALL: [Metric; 8] = [
        Metric::Retiring,
        Metric::BadSpec,
        Metric::FeBound,
        Metric::BeBound,
        Metric::HeavyOps,
        Metric::BrMispredict,
        Metric::FetchLat,
        Metric::MemBound,
    ];

    /// `config` of the perf pseudo event: event 0x00, umask 0x80 and up.
    pub fn config(self) -> u64 {
        0x8000 + ((self as u64) << 8)
    }

    /// This field of a raw PERF_METRICS value, in 1/255 of all slots.
    pub fn of(self, perf_metrics: u64) -> u8 {
        perf_metrics.to_le_bytes()[self as usize]
    }

    /// Name of the event in sysfs `events/` and in perf's `-e`.
    pub fn sysfs_name(self) -> &'static str {
        match self {
            Metric::Retiring => "topdown-retiring",
            Metric::BadSpec => "topdown-bad-spec",
            Metric::FeBound => "topdown-fe-bound",
            Metric::BeBound => "topdown-be-bound",
            Metric::HeavyOps => "topdown-heavy-ops",
            Metric::BrMispredict => "topdown-br-mispredict",
            Metric::FetchLat => "topdown-fetch-lat",
            Metric::MemBound => "topdown-mem-bound",
        }
    }
}

impl Event {
    /// Whether the event needs a hardware PMU.
    pub fn is_hardware(self) -> bool {
        !matches!(self, Event::Software(_))
    }
}

impl fmt::Display for Event {
    /// The name that the perf tool uses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Event::Instructions => "instructions",
            Event::CpuCycles => "cpu-cycles",
            Event::RefCycles => "ref-cycles",
            Event::Branches => "branches",
            Event::BranchMisses => "branch-misses",
            Event::CacheReferences => "cache-references",
            Event::CacheMisses => "cache-misses",
            Event::Raw(raw) => return write!(f, "cpu/{raw}/"),
            Event::Slots => "slots",
            Event::Topdown(metric) => metric.sysfs_name(),
            Event::Software(SoftwareEvent::TaskClock) => "task-clock",
            Event::Software(SoftwareEvent::PageFaults) => "page-faults",
            Event::Software(SoftwareEvent::ContextSwitches) => "context-switches",
        })
    }
}
