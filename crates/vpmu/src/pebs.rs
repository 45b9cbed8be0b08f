//! Processor event based sampling (PEBS): what an embedder says about a sample, and how it lets records be written.
//!
//! A counter whose bit in IA32_PEBS_ENABLE is set requests no PMI when it overflows: it is armed, and the next
//! occurrence of its event becomes a record in the debug store, after which the counter holds its reset value from
//! there. With precise distribution it is armed one event earlier, so that the record is about what overflows.
//! [`Vpmu::pebs_due`](crate::Vpmu::pebs_due) tells that this occurrence was in the instruction that has just retired;
//! the embedder then hands in the CPU's state by [`Vpmu::write_pebs`](crate::Vpmu::write_pebs).
//!
//! Facts: Intel SDM vol. 3B, "Processor Event Based Sampling" and "Adaptive PEBS"; layouts cross-checked with Linux
//! `arch/x86/events/intel/ds.c` and `asm/perf_event.h`.

use crate::pmu::PmiRequests;
use crate::precise::MemoryAccess;

/// The CPU right after the sampled instruction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PebsSample {
    /// Linear address of the sampled instruction.
    pub event_ip: u64,
    /// RIP: of the next instruction.
    pub rip: u64,
    /// RFLAGS.
    pub rflags: u64,
    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15.
    pub gpr: [u64; 16],
    /// XMM0 to XMM15.
    pub xmm: [u128; 16],
    /// Time stamp counter as the guest reads it.
    pub tsc: u64,
    /// Its memory access, if it had one and the embedder knows it.
    pub memory: Option<MemoryAccess>,
}

/// A supervisor access to linear memory failed: no translation, or no permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotMapped;

/// Linear memory, accessed as the CPU accesses the debug store: at CPL 0, without faults in the guest.
pub trait DebugStore {
    /// Reads bytes.
    ///
    /// # Errors
    /// A part of them cannot be read.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NotMapped>;

    /// Writes bytes.
    ///
    /// # Errors
    /// A part of them cannot be written; others may have been.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotMapped>;
}

/// Why a record is not in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The management area or the buffer is not mapped, or not writable.
    #[error("the debug store is not mapped")]
    NotMapped,
    /// The record would pass the end of the buffer.
    #[error("the buffer is full")]
    Full,
}

/// What has become of a record.
#[must_use = "a PMI that is not delivered is lost"]
#[derive(Debug, PartialEq, Eq)]
pub struct PebsAnswer {
    /// It was written, or why not. None if none was due.
    pub record: Option<Result<(), Lost>>,
    /// The PMI of a buffer that has reached its threshold.
    pub pmis: PmiRequests,
}
