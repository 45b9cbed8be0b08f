//! PEBS records: the sample that the interpreter is in, and the guest's debug store.

use crate::engine::StoppedVcpu;
use soft_cpu::{Sampled, State};
use vpmu::pebs::{DebugStore, MemorySample, NotMapped, PebsSample};

/// What a record says of the CPU after the sampled instruction. Without a model of the core the source and the latency
/// of its data are unknown.
pub(super) fn sample(sampled: Option<Sampled>, state: &State, tsc: u64) -> PebsSample {
    let address = sampled.and_then(|sampled| sampled.data);
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
