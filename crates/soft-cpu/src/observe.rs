//! Reports what retires: what a model of the core needs beside [`Totals`](crate::Totals).
//!
//! A [`Bus`](crate::Bus) that has an [`Observer`](retire::Observer) gets every retired instruction with its memory
//! accesses and its branch, in program order. The CPU then runs blocks in a loop of its own ([`run`]), and memory
//! accesses are logged ([`watch`]). A bus that has none ([`Bus::OBSERVED`](crate::Bus::OBSERVED)) has a CPU without
//! any of this.
//!
//! Blocks of instructions that are about registers and RAM only, which are most of them, are executed in batches of
//! up to 64 and reported behind them, as far as the observer's horizon allows it: so interpreter and observer each
//! keep the host's caches and branch predictors for a while. All others are reported one by one, each as a part of
//! its block.

mod block;
mod note;
mod run;
mod watch;

pub(crate) use block::Observed;
pub(crate) use watch::Watch;
