//! The system calls, behind a trait small enough to be modelled in tests.

#![expect(unsafe_code, reason = "declares RDPMC, which faults where the kernel does not allow it")]

mod linux;
mod page;

use std::fmt;
use std::os::fd::RawFd;

pub use linux::LinuxSys;
pub use perf_event_open_sys::bindings::perf_event_attr;

use crate::errno::Errno;

/// What this crate needs from a kernel.
pub trait PerfSys: fmt::Debug + Send + Sync {
    /// `perf_event_open` on any CPU, with close-on-exec. `tid` 0 is the calling thread.
    ///
    /// # Errors
    /// The errno of the call. With E2BIG the kernel writes the size it knows into `attr.size`.
    fn open(
        &self,
        attr: &mut perf_event_attr,
        tid: i32,
        leader: Option<RawFd>,
    ) -> Result<Box<dyn PerfFd>, Errno>;

    /// Kernel id of the calling thread (`gettid`).
    fn current_tid(&self) -> i32;
}

/// An open event. Dropping it closes it.
pub trait PerfFd: fmt::Debug + Send {
    /// The descriptor: names the leader when a sibling is opened, and is `si_fd` of overflow signals.
    fn raw_fd(&self) -> RawFd;

    /// One of the perf ioctls; answers the id for [`Ioctl::Id`] and 0 otherwise.
    ///
    /// # Errors
    /// The errno of the call.
    fn ioctl(&self, operation: Ioctl) -> Result<u64, Errno>;

    /// Reads the count in the event's `read_format`; answers the number of words.
    ///
    /// 0 words mean that a pinned event is in error state.
    ///
    /// # Errors
    /// The errno of the call; ENOSPC when `words` is too small.
    fn read(&self, words: &mut [u64]) -> Result<usize, Errno>;

    /// Maps the event's control page.
    ///
    /// # Errors
    /// The errno of the call; EPERM when the locked-memory limit is used up.
    fn map_page(&self) -> Result<Box<dyn PageView>, Errno>;

    /// Sends `signal` to thread `tid` at every overflow.
    ///
    /// # Errors
    /// The errno of the first `fcntl` that fails.
    fn signal_thread(&self, tid: i32, signal: i32) -> Result<(), Errno>;
}

/// The control page of an event, as its own thread sees it.
pub trait PageView: fmt::Debug {
    /// The sequence count. It changes whenever the kernel rewrites the page.
    fn lock(&self) -> u32;

    /// The fields. Valid only if [`lock`](Self::lock) was the same before and after.
    fn fields(&self) -> PageFields;

    /// Executes RDPMC.
    ///
    /// # Safety
    /// Within the calling process `cap_user_rdpmc` must be set on a mapped event and `selector` must name a
    /// counter of this CPU; anything else raises #GP, which arrives as SIGSEGV.
    unsafe fn rdpmc(&self, selector: u32) -> u64;
}

/// The fields of `perf_event_mmap_page` that a user-space reader needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageFields {
    /// RDPMC selector plus 1; 0 when the event is not on the PMU.
    pub index: u32,
    /// To be added to the sign-extended counter.
    pub offset: i64,
    /// Nanoseconds enabled, at the kernel's last update.
    pub time_enabled: u64,
    /// Nanoseconds on the PMU, at the kernel's last update.
    pub time_running: u64,
    /// Whether the kernel lets this process execute RDPMC.
    pub cap_user_rdpmc: bool,
    /// Width of the counter in bits.
    pub pmc_width: u16,
}

/// An operation on an open event. `group` extends it to the siblings of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ioctl {
    /// Start counting (clears the error state of a pinned event).
    Enable {
        /// Also the siblings.
        group: bool,
    },
    /// Stop counting.
    Disable {
        /// Also the siblings.
        group: bool,
    },
    /// Zero the count; the times go on.
    Reset {
        /// Also the siblings.
        group: bool,
    },
    /// Add to the overflow budget and enable. At budget 0 the event is disabled.
    Refresh(u16),
    /// Replace the period and restart it.
    Period(u64),
    /// Ask for the id that group reads carry.
    Id,
}
