//! What sequences have reached: random operations are worth what they reach.

use serde::Serialize;

/// Something that a run counts.
macro_rules! reached {
    ($($id:ident = $name:literal,)*) => {
        /// What can be reached.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Reached {
            $(#[doc = $name] $id,)*
        }

        impl Reached {
            /// All, in the order of reports.
            pub const ALL: &'static [Self] = &[$(Self::$id),*];

            /// In words.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$id => $name,)* }
            }
        }
    };
}

reached! {
    WritesDone = "WRMSR done",
    WriteFaults = "WRMSR raised #GP",
    ReservedBits = "WRMSR raised #GP for reserved bits",
    FixedBits = "WRMSR raised #GP for bits that do not change",
    ReadOnly = "WRMSR raised #GP for a read-only register",
    Reads = "RDMSR done",
    ReadFaults = "RDMSR raised #GP",
    NotOurs = "not one of the PMU's registers",
    Rdpmc = "RDPMC done",
    RdpmcFaults = "RDPMC raised #GP",
    MetricsCleared = "RDPMC cleared PERF_METRICS",
    Counted = "counts checked on other counters",
    MergedCounted = "counts checked on merged pairs",
    Overflows = "overflows of counters",
    MetricsOverflows = "overflows of PERF_METRICS",
    Frozen = "freezes on a PMI",
    Deadlines = "overflows noticed at a deadline",
    PmiTaken = "PMIs taken",
    MetricsSwitched = "PERF_METRICS saved, cleared and written back",
    Whole = "PERF_METRICS that show one whole",
    Branches = "branches recorded",
    BranchesLeftOut = "branches left out",
    Logged = "events in branch records",
    NotLogged = "branch records without events of a counter",
    Xrstors = "XRSTORS done",
    XrstorsFaults = "XRSTORS raised #GP",
    Saved = "states saved and restored",
    RolledBack = "states rolled back",
    TamperedTaken = "changed states taken",
    TamperedRefused = "changed states refused",
    Resets = "RESETs",
    PebsRecords = "PEBS records written",
    PebsLost = "PEBS records lost for a buffer that is full or damaged",
    PebsNotMapped = "PEBS records lost for memory that is not mapped",
    PebsThresholds = "PEBS buffers that reached their threshold",
    IbsFetches = "fetches sampled by IBS",
    IbsOps = "ops sampled by IBS",
    IbsDropped = "IBS samples dropped",
    SystemRegisters = "MRS and MSR done",
    Undefined = "MRS and MSR UNDEFINED",
    Trapped = "MRS and MSR trapped to EL1",
    ArmOverflows = "overflows of PMUv3's counters",
    Chained = "operations that added to counters of CHAIN",
    LinesRaised = "interrupt lines raised",
    Looks = "looks at every register",
}

/// Numbers of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Operations.
    pub operations: u64,
    /// Operations of these that were compared with a naive model.
    pub compared: u64,
    /// Sequences, each from power-on.
    pub sequences: u64,
    /// How often each of [`Reached::ALL`] was.
    #[serde(serialize_with = "named")]
    pub reached: [u64; Reached::ALL.len()],
}

impl Default for Report {
    fn default() -> Self {
        Self { operations: 0, compared: 0, sequences: 0, reached: [0; Reached::ALL.len()] }
    }
}

impl Report {
    /// Notes that something was reached.
    pub(crate) const fn note(&mut self, what: Reached) {
        self.reached[what as usize] += 1;
    }
}

fn named<S: serde::Serializer>(counts: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Reached::ALL.iter().map(|reached| reached.name()).zip(counts))
}
