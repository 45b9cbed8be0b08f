//! The retirement stream: what an observer is told.

mod note;
mod run;
mod watch;

pub(crate) use watch::Watch;
