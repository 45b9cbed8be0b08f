//! Precise samples: what the interpreter knows of the instruction that has retired, for PEBS and for IBS, and the
//! guest's debug store.

use crate::counts::timing::Probe;
use crate::engine::StoppedVcpu;
use platform::memory::GuestMemory;
use retire::BranchKind;
use soft_cpu::{Physical, Sampled, SampledData, State};
use vpmu::ibs::{IbsBranch, IbsSample};
use vpmu::pebs::{DebugStore, NotMapped, PebsSample};
use vpmu::precise::{MemoryAccess, Page};

/// The instruction that has retired.
pub(super) struct Retired {
    sampled: Sampled,
    /// Linear address of the one behind it.
    next: u64,
    /// What the model of the core says of it.
    known: Option<Probe>,
}

/// What a record says of the CPU after the sampled instruction. Without a model of the core the source and the latency
/// of its data are unknown. What nothing was looked at for is the WRMSR by which the counter began to count.
pub(super) fn pebs(
    retired: Option<&Retired>,
    last_wrmsr: u64,
    state: &State,
    tsc: u64,
    memory: &GuestMemory,
) -> PebsSample {
    PebsSample {
        event_ip: retired.map_or(last_wrmsr, |retired| retired.sampled.rip),
        rip: state.rip,
        rflags: state.rflags,
        gpr: state.gpr,
        xmm: state.xmm,
        tsc,
        memory: retired.and_then(|retired| retired.access(memory)),
    }
}

impl Retired {
    pub(super) fn new(sampled: Sampled, next: u64, known: Option<Probe>) -> Self {
        Self { sampled, next, known }
    }

    /// One uop with the instruction before it.
    pub(super) fn is_fused(&self) -> bool {
        self.known.is_some_and(|known| known.is_fused())
    }

    /// A branch that may be one uop with the instruction before it.
    pub(super) fn may_fuse_with_next(&self) -> bool {
        self.known.is_some() && self.sampled.branch.is_none()
    }

    /// What IBS says of it.
    pub(super) fn ibs(&self, memory: &GuestMemory) -> IbsSample {
        let Self { sampled, next, known } = self;
        let branch = sampled.branch.map(|kind| {
            let behind = sampled.linear.wrapping_add(sampled.length.into());
            let taken = kind != BranchKind::Conditional || *next != behind;
            IbsBranch {
                returned: kind == BranchKind::Return,
                target: taken.then_some(*next),
                mispredicted: known.is_some_and(|known| known.is_mispredicted()),
                fused: self.is_fused(),
            }
        });
        IbsSample {
            address: sampled.linear,
            physical: sampled.physical.map(|place| place.address),
            page: page(sampled.physical),
            fetch: known.map(|known| known.fetched()).unwrap_or_default(),
            branch,
            access: self.access(memory),
            ..IbsSample::default()
        }
    }

    fn access(&self, memory: &GuestMemory) -> Option<MemoryAccess> {
        let SampledData { address, physical, bytes, load, store, locked, prefetch } = self.sampled.data?;
        let in_ram = |place: Physical| memory.contains(place.address, place.address.saturating_add(1));
        Some(MemoryAccess {
            address,
            physical: physical.map(|place| place.address),
            page: page(physical),
            bytes,
            load,
            store,
            locked,
            prefetch,
            uncacheable: !physical.is_none_or(in_ram),
            served: self.known.filter(|_| !prefetch).map(|known| known.served(load)),
        })
    }
}

fn page(place: Option<Physical>) -> Page {
    match place.map(|place| place.page) {
        Some(21) => Page::Large,
        Some(30) => Page::Huge,
        _ => Page::Small,
    }
}

/// The debug store is supervisor memory that software keeps mapped (SDM volume 3B, "Setting Up the DS Save Area"): the
/// rights of its pages are not looked at.
impl DebugStore for StoppedVcpu<State> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NotMapped> {
        let len = bytes.len();
        if Self::read(self, address, bytes) == len { Ok(()) } else { Err(NotMapped) }
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotMapped> {
        if Self::write(self, address, bytes) { Ok(()) } else { Err(NotMapped) }
    }
}
