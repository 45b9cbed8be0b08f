//! A virtual performance monitoring unit (PMU): the register state machine of one vCPU.
//!
//! The crate is pure. It performs no I/O, reads no clock, allocates little and contains no unsafe
//! code. Its embedder traps the guest's RDMSR, WRMSR, RDPMC and CPUID, or MRS and MSR, passes them
//! to a [`Vpmu`], and supplies event counts through a [`CountsSource`].
//!
//! | module | what it is |
//! | --- | --- |
//! | [`register`] | every register, declared once: address, fields, reserved bits, reset value |
//! | [`event`] | event names and their encodings |
//! | [`profile`] | the CPUs whose PMU can be shown |
//! | [`source`] | where counts come from |
//! | [`pmu`] | the state machine itself |
//! | [`lbr`] | last branch records: the model-specific and the architectural stack |
//! | [`metrics`] | PERF_METRICS: fractions of the slots in fixed counter 3 |
//! | [`pebs`] | precise samples in the guest's debug store |
//! | [`state`] | saving and restoring |
//! | [`recording`] | what a guest asked and got, as bytes |
//! | [`inject`] | faults on command, and skid |
//! | [`decode`] | register values in words |
//! | [`cpuid`] | the CPUID bits that announce the PMU of an x86 CPU |
//! | [`id_registers`] | the ID registers that announce the PMU of an Arm CPU |
//!
//! # Embedding
//!
//! [`Profile::trapped_ranges`] says which MSRs to trap, [`register::filter_ranges`] puts them into the form of KVM's
//! MSR filter, and [`cpuid::patch`] announces the PMU. A [`CountsSource`] answers an [`EventRequest`]; one that counts
//! by privilege level adds up with [`PrivilegeFilter::sum_of`]. The example `kvm` is a small VMM that does all of it
//! with kvm-ioctls alone, RDPMC included; `embed` shows overflows, PMIs and migration without a guest.
//!
//! ```
//! use vpmu::{Level, ReadOutcome, Vpmu, WriteOutcome, profile, source::ScriptedSource};
//! use vpmu::event::Event;
//!
//! let mut pmu = Vpmu::new(profile::ICELAKE_SP);
//! let mut source = ScriptedSource::new();
//!
//! // A PMI that an access requests: the local APIC applies LVTPC.
//! let raise = || println!("PMI");
//!
//! // The guest enables fixed counter 0 (instructions) for both rings ...
//! assert_eq!(pmu.write_register(Level::Kernel, 0x38D, 0x3, &mut source).deliver(raise), WriteOutcome::Done);
//! assert_eq!(pmu.write_register(Level::Kernel, 0x38F, 1 << 32, &mut source).deliver(raise), WriteOutcome::Done);
//! // ... executes a hundred instructions in ring 3 ...
//! source.add_user(Event::InstRetiredAny, 100);
//! // ... and reads the counter.
//! assert_eq!(pmu.read_register(Level::Kernel, 0x309, &mut source).deliver(raise), ReadOutcome::Value(100));
//! ```
#![no_std]
#![forbid(unsafe_code)]
// What a guest says keeps its value, or the conversion says so.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

extern crate alloc;

mod bits;
pub mod cpuid;
pub mod decode;
pub mod event;
pub mod ibs;
pub mod id_registers;
pub mod inject;
pub mod lbr;
pub mod metrics;
pub mod pebs;
pub mod pmu;
pub mod precise;
pub mod profile;
pub mod recording;
pub mod register;
pub mod source;
pub mod state;

pub use lbr::{BranchFilter, BranchKind, BranchRecord};
pub use pmu::{Active, Answer, CounterId, Fault, PmiRequests, RdpmcContext, ReadOutcome, Vpmu, WriteOutcome};
pub use profile::Profile;
pub use register::MsrRange;
pub use source::{CountsSource, EventRequest, Level, PrivilegeFilter, Provenance, TopdownSlots};
