//! Host `perf` events that back a virtual PMU.
//!
//! The crate answers three questions a VMM has about the machine it runs on:
//!
//! 1. *What can be counted here?* [`HostPmu::detect`] reads sysfs and procfs, tries to open an event, and
//!    reports [findings](HostPmu::findings), each with [`Advice`].
//! 2. *How much happened on this vCPU thread?* [`Counter`] counts one event, [`SlotsGroup`] counts the slots
//!    leader and its topdown metrics with one atomic read. Both can be limited to guest mode
//!    ([`Scope::GuestOnly`]) and to privilege levels ([`Filter`]).
//! 3. *Tell me after N more events.* A [`Counter`] opened with a period sends a signal to the thread
//!    ([`Counter::signal_thread`], [`Counter::arm`]).
//!
//! ```no_run
//! use host_perf::{Counter, Event, EventSpec, HostPmu};
//!
//! # fn main() -> Result<(), host_perf::HostPerfError> {
//! let host = HostPmu::detect();
//! let mut instructions = Counter::open(&host, EventSpec::new(Event::Instructions).user_only())?;
//! instructions.enable()?;
//! // ... work ...
//! println!("{} instructions", instructions.total()?);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here guesses: where the host cannot count, every call says why with a [`HostPerfError`], and
//! [`HostPerfError::advice`] what to do about it.
//!
//! All system calls go through the [`PerfSys`] trait. [`LinuxSys`] is the real kernel; the feature `fake`
//! offers `fake::FakeKernel`, a model of the kernel's rules, for tests on machines without a PMU.
//!
//! `unsafe` is confined to `kernel` (system calls, the mapped page and RDPMC) and its callers of RDPMC.

// Counts and encodings keep their value, or the conversion says so.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

#[cfg(not(target_os = "linux"))]
compile_error!("host-perf counts with perf_event_open, which exists on Linux only");

// What to count, and what can go wrong.
mod advice;
mod errno;
mod error;
mod event;
mod spec;
// What it is counted with.
mod host;
mod kernel;
// The counts.
mod counter;
mod group;
mod slots;
mod user_page;

#[cfg(any(test, feature = "fake"))]
pub mod fake;

#[cfg(test)]
mod tests;

pub use advice::{Advice, Capability};
pub use counter::{Counter, Reading};
pub use errno::Errno;
pub use error::HostPerfError;
pub use event::{Event, Level, Metric, RawEvent, SoftwareEvent};
pub use group::{Group, GroupReading};
pub use host::{CorePmu, Finding, Format, Formats, HostPmu, Privileges, Roots, Status};
pub use kernel::{Ioctl, LinuxSys, PageFields, PageView, PerfFd, PerfSys, perf_event_attr};
pub use slots::{Level2Counts, RawMetrics, SlotCounts, SlotsGroup, SlotsReading, UserMetrics};
pub use spec::{EventSpec, Filter, MAX_PERIOD, Scope, Target};
pub use user_page::{UserCount, UserPage};
