//! An A64 system interpreter with exact accounting of what retires.
//!
//! [`Cpu`] executes guest instructions at EL1 and EL0; everything that it needs from outside is the [`Bus`] trait:
//! guest RAM, MMIO, the system registers that are not the CPU's own, and hypervisor calls. Time, devices and interrupts
//! are the embedder's business.
//!
//! ```text
//! embedder            Cpu::run(bus, budget)  -> Exit
//!                       block cache  (cache.rs, decode/): disarm64 once per instruction of a block
//!                       handlers     (exec/, fp/, simd/): one function per operation, width and operand form
//!                       software TLB (mmu/)
//!                       totals (totals.rs), system registers (register/), debug (debug/),
//!                       the retirement stream (observe/)
//! ```
//!
//! # Accounting
//!
//! [`Totals`] counts instructions, branches by kind, loads and stores, separately for EL1 and EL0.
//! An instruction counts when it retires, in the exception level in which it started; one that faults
//! does not. SVC and HVC retire, and so does ERET. The bus sees totals that exclude the instruction
//! that calls it. [`Budget::instructions`] ends a run after exactly that many.
//!
//! # What is there
//!
//! Armv8.0 without EL2, EL3 and AArch32: HVC calls the bus and SMC is UNDEFINED. Memory is little-endian; the
//! translation granule is 4 KiB. [`Identification::implemented`] announces what works and nothing else.
//! An instruction that is not announced is UNDEFINED.
//!
//! # Handlers
//!
//! The decoder gives each instruction an `exec::Code`: a function that executes it, and one that executes it and
//! those behind it. `exec::plain!`, `exec::vector!` and `exec::full!` make both from one function:
//!
//! * `plain!(f)`: `f(&mut Core, &Operands)` works on `Core::regs` and flags, and cannot fault.
//! * `vector!(f)`: the same with `Core::v` and `Core::fp` (FPCR and FPSR); traps by itself if FP and Advanced SIMD
//!   are disabled.
//! * `full!(f)`: `f(&mut Core, &mut B, &Operands) -> Done` may access memory by `Core::load` and `Core::store`, which
//!   take any [`soft_base::Operand`] (`u8` to `u128`) and fault by `Err(Fault)`. All that an instruction changes
//!   comes after its last access that may fault. One on vector registers begins with `Core::require_fp`.
#![forbid(unsafe_code)]
// What a guest says keeps its value, or the conversion says so.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod block;
mod bus;
mod cache;
mod context;

mod cpu;
mod debug;
mod decode;
pub mod describe;
mod exception;
mod exec;
mod flags;
mod fp;
mod mmu;
mod observe;
mod register;
mod simd;
mod state;
mod totals;

pub use bus::{Access, Bus, ExternalAbort, SystemFault, Tracer};
pub use cpu::{Budget, Cpu, Exit, Unimplemented};
pub use exception::{Cause, Class, Delivery, Exception};
pub use register::{Identification, SystemRegister};
pub use soft_base::{DebugStop, DebugStops, Ram, Watchpoint};
pub use state::{State, SystemState};
pub use totals::{ExceptionCount, LevelTotals, Totals};
