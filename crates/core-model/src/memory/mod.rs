//! Memory as the core sees it: TLBs, caches, prefetchers, caches of code, and stores to forward from.

mod aliases;
mod answer;
mod banks;
mod caches;
mod code;
mod disambiguation;
mod interface;
mod last_level;
mod limits;
mod prefetch;
mod renaming;
mod store_buffer;
mod stores;
mod system;
mod translation;
mod warming;

pub(crate) use answer::{Answer, NO_CODE, branch_code};
pub(crate) use caches::Level;
pub(crate) use code::{BARRED_SHIFT, Room};
pub(crate) use interface::{Destination, Entered, Entry, LoadFlags, Loaded, Loads, MemoryPort, Stored};
pub(crate) use renaming::Follow;
pub(crate) use stores::StoreTimes;
pub(crate) use system::MemorySystem;
pub(crate) use warming::Fetched;
