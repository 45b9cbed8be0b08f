//! An x86-64 system interpreter with exact accounting of what retires.
//!
//! [`Cpu`] executes guest instructions; everything that it needs from outside is the [`Bus`] trait:
//! guest RAM, MMIO, ports, the MSRs that are not the CPU's own, RDPMC, CPUID and the TSC. Time,
//! devices and interrupts are the embedder's business.
//!
//! ```text
//! embedder            Cpu::run(bus, budget)  -> Exit
//!                       block cache  (cache.rs, decode/): iced-x86 once per basic block
//!                       handlers     (exec/, sse/, mmx/, x87/): one function per operation, width and operand form
//!                                    (vector/): AVX to AVX-512, one per shape of operands
//!                       software TLB (mmu/)
//!                       totals, taken branches (account/), breakpoints (debug/), the retirement stream (observe/)
//! ```
//!
//! # Accounting
//!
//! [`Totals`] counts instructions, branches by kind, loads and stores, separately for CPL 0 and CPL 3.
//! An instruction counts when it retires, in the privilege level in which it started; one that faults
//! does not. A REP-prefixed instruction is one instruction. The bus sees totals that exclude the instruction
//! that calls it. [`Budget::instructions`] ends a run after exactly that many.
//!
//! # Where models differ
//!
//! [`silicon`] lists what the CPUs of each vendor do in their own way; [`Cpu::with_silicon`] says which this one is.
//! RCPSS, RCPPS, RSQRTSS and RSQRTPS give the exact value rounded to nearest, where the SDM allows a relative error of
//! 1.5 * 2^-12 and every model approximates in its own way; so do their VEX encodings. VRCP14xx, VRSQRT14xx and
//! those of half precision give what Intel's give, whatever the CPU.
//!
//! # What is not implemented
//!
//! Real mode, virtual-8086 mode, task switches, call gates, AMX, XOP and FMA4. An instruction that
//! is not implemented raises #UD in the guest, and [`Cpu::unimplemented`] names it.
//! [`cpuid::leaf`] advertises only what works.
#![deny(unsafe_code)]
// What a guest says keeps its value, or the conversion says so.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod account;
mod block;
mod bus;
mod cache;
pub mod compiled;
mod context;
pub mod coverage;
mod cpu;
pub mod cpuid;
mod debug;
mod decode;
#[allow(clippy::cast_possible_truncation, reason = "codes, offsets in a block and numbers of registers fit")]
pub mod describe;
mod exception;
mod exec;
mod features;
mod flags;
mod float;
mod low;
mod mmu;
mod mmx;
mod msr;
#[allow(clippy::cast_possible_truncation, reason = "sizes of accesses and counts in a log fit eight bits")]
mod observe;
mod operations;
mod run_compiled;
mod sample;
mod sampled;
mod segment;
pub mod silicon;
mod sse;
mod state;
mod vector;
mod width;
mod x87;

pub use account::totals::{Arithmetic, Flop, ModeTotals, Totals};
pub use bus::{
    Access, BranchRecorder, Bus, GeneralProtection, LBR_COMPONENT_WORDS, LbrState, TakenBranch, Tracer,
};
pub use cpu::{Budget, Cpu, Exit, Unimplemented};
pub use cpuid::CpuidLeaf;
pub use exception::{Delivery, EventKind, Exception, Place};
pub use features::Features;
pub use operations::{OperationFile, OperationTypes, Operations};
pub use sampled::{Physical, Sampled, SampledData, Sampling};
pub use soft_base::Ram;
pub use soft_base::{DebugStop, DebugStops, Watchpoint};
pub use state::{DescriptorTable, RFLAGS_IF, Segment, State};
