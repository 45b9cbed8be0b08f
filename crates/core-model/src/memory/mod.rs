//! Memory as the core sees it: TLBs, caches, prefetchers, and the store buffer.

mod caches;
mod limits;
mod prefetch;
mod stores;
mod translation;

pub(crate) use caches::{Asker, Caches, Level};
pub(crate) use stores::{Found, Store, Stores};
pub(crate) use translation::{Purpose, Tlbs};
