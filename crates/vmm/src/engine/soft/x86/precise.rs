//! Precise samples: what the interpreter knows of the instruction that has retired, for PEBS and for IBS, and the
//! guest's debug store.

use crate::engine::StoppedVcpu;
use platform::memory::GuestMemory;
use retire::BranchKind;
use soft_cpu::{Physical, Sampled, SampledData, State};
use vpmu::ibs::{IbsBranch, IbsSample};
use vpmu::pebs::{DebugStore, MemorySample, NotMapped, PebsSample};
use vpmu::precise::{MemoryAccess, Page};

/// What a record says of the CPU after the sampled instruction. Without a model of the core the source and the latency
/// of its data are unknown.
pub(super) fn pebs(sampled: Option<Sampled>, state: &State, tsc: u64) -> PebsSample {
    let address = sampled.and_then(|sampled| sampled.data).map(|data| data.address);
    PebsSample {
        event_ip: sampled.map_or(state.rip, |sampled| sampled.rip),
        rip: state.rip,
        rflags: state.rflags,
        gpr: state.gpr,
        xmm: state.xmm,
        tsc,
        memory: address.map(|address| MemorySample { address, ..MemorySample::default() }),
    }
}

/// What IBS says of the instruction; `next` is the linear address of the one that follows it.
pub(super) fn ibs(sampled: &Sampled, next: u64, memory: &GuestMemory) -> IbsSample {
    let branch = sampled.branch.map(|kind| {
        let behind = sampled.linear.wrapping_add(sampled.length.into());
        let taken = kind != BranchKind::Conditional || next != behind;
        IbsBranch { returned: kind == BranchKind::Return, target: taken.then_some(next), mispredicted: false }
    });
    IbsSample {
        address: sampled.linear,
        physical: sampled.physical.map(|place| place.address),
        page: page(sampled.physical),
        branch,
        access: sampled.data.map(|data| access(&data, memory)),
        ..IbsSample::default()
    }
}

fn access(data: &SampledData, memory: &GuestMemory) -> MemoryAccess {
    let SampledData { address, physical, bytes, load, store, locked, prefetch } = *data;
    let in_ram = |place: Physical| memory.contains(place.address, place.address.saturating_add(1));
    MemoryAccess {
        address,
        physical: physical.map(|place| place.address),
        page: page(physical),
        bytes,
        load,
        store,
        locked,
        prefetch,
        uncacheable: !physical.is_none_or(in_ram),
        served: None,
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
