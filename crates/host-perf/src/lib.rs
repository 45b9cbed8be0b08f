//! Host `perf` events that back a virtual PMU.
//!
//! The crate answers three questions a VMM has about the machine it runs on:
//!
//! 1. *What can be counted here?* [`HostPmu::detect`] reads sysfs and procfs, tries to open an event, and
//!    reports [findings](HostPmu::findings), each with the next step.
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
//! Nothing here guesses: where the host cannot count, every call says why with a [`HostPerfError`].
//!
//! All system calls go through the [`PerfSys`] trait. [`LinuxSys`] is the real kernel; the feature `fake`
//! offers `fake::FakeKernel`, a model of the kernel's rules, for tests on machines without a PMU.
//!
//! `unsafe` is confined to `sys` (system calls), and `page` (the mapped page and RDPMC).

#[cfg(not(target_os = "linux"))]
compile_error!("host-perf counts with perf_event_open, which exists on Linux only");

mod counter;
mod errno;
mod error;
mod event;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod findings;
mod group;
mod page;
mod probe;
mod slots;
mod spec;
mod sys;
mod sysfs;
mod user_page;

#[cfg(test)]
mod tests;

pub use counter::{Counter, MAX_PERIOD, Reading};
pub use errno::Errno;
pub use error::HostPerfError;
pub use event::{Event, Level, Metric, RawEvent, SoftwareEvent};
pub use findings::{Finding, Status};
pub use group::{Group, GroupReading};
pub use page::PageFields;
pub use probe::{HostPmu, Privileges, Roots};
pub use slots::{Level2Counts, SlotCounts, SlotsGroup, SlotsReading};
pub use spec::{EventSpec, Filter, Scope, Target};
pub use sys::{Ioctl, LinuxSys, PageView, PerfFd, PerfSys, perf_event_attr};
pub use sysfs::{CorePmu, Format, Formats};
pub use user_page::{RawMetrics, UserCount, UserMetrics, UserPage};
