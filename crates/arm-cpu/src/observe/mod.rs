//! The retirement stream: what an observer is told.

mod run;
mod watch;

pub(crate) use watch::Watch;
