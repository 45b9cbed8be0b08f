//! Memory as the core sees it: TLBs, caches, prefetchers, caches of code, and stores to forward from.

mod caches;
mod code;
mod limits;
mod prefetch;
mod store_buffer;
mod stores;
mod translation;

pub(crate) use caches::{Asker, Caches, Level};
pub(crate) use code::CodeCaches;
pub(crate) use store_buffer::StoreBuffer;
pub(crate) use stores::{Found, StoreTimes, Stores};
pub(crate) use translation::{Purpose, Tlbs};
