//! A model of an out-of-order core: it turns a stream of retired instructions into cycles.
//!
//! ```text
//! UopTable   what each form of instruction costs on one core: uops, latency, ports   (data/*.tsv, generated)
//! Core       widths, sizes and latencies of that core, with their sources            (cores/*.rs)
//! Model      consumes the retirement stream (retire::Observer), in program order:
//!            branch prediction -> front end -> allocation -> execution -> retirement
//! CoreTotals what came of it: cycles, slots by TMA leaf, and the raw material of events, by privilege level
//! ```
//!
//! The model knows no instruction set: instructions come as [`retire::Instruction`], and tables name forms that the
//! producer of the stream numbers.
//!
//! Nothing is simulated cycle by cycle. Each stage keeps the cycle up to which it is known, and an instruction moves
//! them on. What a block did to them is remembered, and not worked out again in the same state (`memo`). Allocation is
//! the stage whose slots are booked: what an instruction waits for before its slots are taken gets the slots in
//! between.
//!
//! | an instruction waits because | leaf of its empty slots |
//! | --- | --- |
//! | a mispredicted branch or machine clear is not resolved or not recovered from | bad speculation[^1] |
//! | reorder buffer, load buffer or schedulers are full, or it serialises | memory bound[^2], else core bound |
//! | the store buffer is full | memory bound |
//! | no uop is there | fetch latency in cycles without any uop, else fetch bandwidth |
//!
//! [^1]: As long as wrong-path uops find room.
//!
//! [^2]: In cycles in which the oldest instruction waits for a load and no uop executes.
//!
//! Limits: wrong paths do not touch caches and predictors; there is one thread on one core, and memory has a constant
//! latency below a bandwidth per core; page walks have a cost, not addresses.
#![forbid(unsafe_code)]

mod back_end;
mod core;
mod cores;
mod front_end;
mod instruction;
mod llvm;
mod machine;
mod memo;
mod memory;
mod model;
mod offload;
mod pipeline;
mod predictor;
mod sampling;
mod sets;
mod silicon;
mod state;
mod table;
mod totals;
mod upper_bits;

pub use crate::core::{
    BranchCycles, Bypass, Core, Divider, Flows, Forwarding, FrontEnd, Geometry, Isa, LinearTags, Memory,
    MemoryRenaming, OverriddenDirections, Pairing, PortBinding, Prediction, RenamedAccesses,
    RestartedTargets, Uncore, WideUnits,
};
pub use cores::{
    CASCADE_LAKE, CORES, CYPRESS_COVE, FALKOR, GOLDEN_COVE, GOLDEN_COVE_CLIENT, RAPTOR_COVE, REDWOOD_COVE,
    SKYLAKE_SP, SUNNY_COVE, SUNNY_COVE_CLIENT, WILLOW_COVE, ZEN2, ZEN3, ZEN4, ZEN5, cores, pipelines,
};
pub use llvm::LlvmSimulation;
pub use model::Model;
pub use sampling::{Sampling, SamplingReport};
pub use silicon::{Comparison, comparison};
pub use table::{Cost, Form, TableError, UopTable, Uops};
pub use totals::{
    Branches, CoreTotals, FLOP_SETS, Lookups, MOST_PER_CYCLE, PORTS, PerCycle, SUPPLY_GAPS, Slots,
    Translation,
};
