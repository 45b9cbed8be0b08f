//! A model of an out-of-order core: it turns a stream of retired instructions into cycles.
//!
//! ```text
//! UopTable   what each instruction costs on one core: uops, latency, ports   (data/*.tsv, generated)
//! Core       the widths and sizes of that core, with their sources
//! Operation  one instruction prepared for the model: its costs and its registers
//! Pipeline   dispatch -> issue -> complete -> retire, instruction by instruction, in program order
//! Model      what an engine uses: prepare each instruction once, retire each Step, read CoreTotals
//! ```
//!
//! The pipeline is greedy: instructions arrive in program order, and each uop takes the first free cycle
//! of one of its ports once its sources are ready. That gives what an oldest-first scheduler does,
//! without simulating cycles in which nothing happens.
//!
//! Loads hit the first-level cache, branches are predicted, and the front end always supplies: caches, predictor
//! and front end are not part of this crate yet, so it knows throughput of straight code, not TMA.
#![forbid(unsafe_code)]

mod core;
mod model;
mod operation;
mod pipeline;
mod step;
mod table;
mod totals;

pub use crate::core::{Core, GOLDEN_COVE, SUNNY_COVE};
pub use model::{Model, Prepared};
pub use operation::Operation;
pub use pipeline::{Pipeline, Times};
pub use step::{BranchKind, BranchStep, CoreEvent, MemoryAccess, Step};
pub use table::{Cost, Form, TableError, UopTable, Uops};
pub use totals::{Branches, CoreTotals, Lookups, MOST_PER_CYCLE, PORTS, PerCycle, Slots, Translation};
