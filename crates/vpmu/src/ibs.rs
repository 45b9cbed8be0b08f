//! Instruction-based sampling (IBS) of AMD CPUs: what an embedder says about a sample.
//!
//! Two periodic counters, of fetches and of cycles or ops, tag what comes next when they reach their maximum.
//! [`Vpmu::ibs_tags`](crate::Vpmu::ibs_tags) tells that: the embedder then runs one instruction, and when that has
//! retired says what it was by [`Vpmu::ibs_sample`](crate::Vpmu::ibs_sample). The registers hold the sample, an
//! interrupt is due at an entry of the APIC's extended local vector table, and the counter waits for software.
//!
//! A fetch here is that of one instruction, and the tagged op stands for its instruction. An instruction that faults is
//! not sampled; the tag goes on to the next one.
//!
//! Facts: APM vol. 2, section 13.3; what software relies on: Linux `arch/x86/events/amd/ibs.c`.

use crate::precise::{MemoryAccess, Page};

/// What is to be sampled next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IbsTags {
    /// The next fetch.
    pub fetch: bool,
    /// The next op.
    pub op: bool,
}

impl IbsTags {
    /// Either.
    #[must_use]
    pub fn any(self) -> bool {
        self.fetch || self.op
    }
}

/// The branch that a sampled instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IbsBranch {
    /// It is a return.
    pub returned: bool,
    /// Its target (linear address), if it was taken.
    pub target: Option<u64>,
    /// Its direction or target was mispredicted; false where that is unknown.
    pub mispredicted: bool,
    /// It is one op with the instruction before it.
    pub fused: bool,
}

/// How an instruction was fetched, as a model of the core knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IbsFetch {
    /// It missed the instruction cache.
    pub icache_miss: bool,
    /// It missed the level-2 cache.
    pub l2_miss: bool,
    /// It missed the level-3 cache.
    pub l3_miss: bool,
    /// It missed the first level of the instruction TLB.
    pub l1_tlb_miss: bool,
    /// It missed the second level of the instruction TLB.
    pub l2_tlb_miss: bool,
}

/// The instruction that was tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IbsSample {
    /// Its linear address.
    pub address: u64,
    /// Its physical address, if that is known.
    pub physical: Option<u64>,
    /// The page that it is in.
    pub page: Page,
    /// How it was fetched; all false without a model of the core.
    pub fetch: IbsFetch,
    /// The branch that it is.
    pub branch: Option<IbsBranch>,
    /// It is microcode.
    pub microcode: bool,
    /// Core cycles from its allocation to its retirement; 0 is unknown.
    pub tag_to_retire: u16,
    /// Core cycles from its completion to its retirement; 0 is unknown.
    pub completion_to_retire: u16,
    /// Its memory access.
    pub access: Option<MemoryAccess>,
}

/// What has become of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "an interrupt that is not delivered is lost"]
pub struct IbsAnswer {
    /// What the registers hold a new sample of.
    pub sampled: IbsTags,
    /// The entry of the extended local vector table that delivers the interrupt.
    pub interrupt: Option<u8>,
}
