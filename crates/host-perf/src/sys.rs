//! The system calls, behind a trait small enough to be modelled in tests.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use perf_event_open_sys::{self as perf, bindings, ioctls};

pub use perf_event_open_sys::bindings::perf_event_attr;

use crate::errno::Errno;
use crate::page::{MappedPage, PageFields};

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

/// The running Linux kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxSys;

impl PerfSys for LinuxSys {
    fn open(
        &self,
        attr: &mut perf_event_attr,
        tid: i32,
        leader: Option<RawFd>,
    ) -> Result<Box<dyn PerfFd>, Errno> {
        const ANY_CPU: i32 = -1;
        let flags = bindings::PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: `attr` is a live, exclusively borrowed structure whose `size` field the kernel checks.
        let fd = unsafe { perf::perf_event_open(attr, tid, ANY_CPU, leader.unwrap_or(-1), flags) };
        if fd < 0 {
            return Err(Errno::last());
        }
        // SAFETY: the kernel has just created `fd` for us, nobody else owns it.
        Ok(Box::new(LinuxFd(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    fn current_tid(&self) -> i32 {
        // SAFETY: gettid has no arguments and cannot fail.
        unsafe { libc::gettid() }
    }
}

#[derive(Debug)]
struct LinuxFd(OwnedFd);

impl PerfFd for LinuxFd {
    fn raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    fn ioctl(&self, operation: Ioctl) -> Result<u64, Errno> {
        let fd = self.raw_fd();
        let mut id = 0;
        // SAFETY: `fd` is open. All arguments are plain numbers, except that ID writes to the local `id` and
        // PERIOD reads the local `period`; both outlive the call.
        let result = unsafe {
            match operation {
                Ioctl::Enable { group } => ioctls::ENABLE(fd, group.into()),
                Ioctl::Disable { group } => ioctls::DISABLE(fd, group.into()),
                Ioctl::Reset { group } => ioctls::RESET(fd, group.into()),
                Ioctl::Refresh(budget) => ioctls::REFRESH(fd, budget.into()),
                // The bindings declare a number, but the kernel copies the period from user memory.
                Ioctl::Period(period) => ioctls::PERIOD(fd, &raw const period as u64),
                Ioctl::Id => ioctls::ID(fd, &mut id),
            }
        };
        if result < 0 { Err(Errno::last()) } else { Ok(id) }
    }

    fn read(&self, words: &mut [u64]) -> Result<usize, Errno> {
        // SAFETY: the buffer is valid for writes of its whole length.
        let bytes = unsafe { libc::read(self.raw_fd(), words.as_mut_ptr().cast(), size_of_val(words)) };
        usize::try_from(bytes).map(|bytes| bytes / size_of::<u64>()).map_err(|_| Errno::last())
    }

    fn map_page(&self) -> Result<Box<dyn PageView>, Errno> {
        Ok(Box::new(MappedPage::map(&self.0)?))
    }

    fn signal_thread(&self, tid: i32, signal: i32) -> Result<(), Errno> {
        // asm-generic/fcntl.h; the libc crate has these for some targets only.
        const F_SETSIG: i32 = 10;
        const F_SETOWN_EX: i32 = 15;
        const F_OWNER_TID: i32 = 0;
        #[repr(C)]
        struct OwnerEx {
            kind: i32,
            pid: libc::pid_t,
        }

        let fd = self.raw_fd();
        let owner = OwnerEx { kind: F_OWNER_TID, pid: tid };
        // SAFETY: `fd` is open, `owner` is a live f_owner_ex that the kernel only reads.
        check(unsafe { libc::fcntl(fd, F_SETOWN_EX, &raw const owner) })?;
        // SAFETY: `fd` is open, the argument is a number that the kernel checks.
        check(unsafe { libc::fcntl(fd, F_SETSIG, signal) })?;
        // SAFETY: `fd` is open, F_GETFL takes no argument.
        let flags = check(unsafe { libc::fcntl(fd, libc::F_GETFL) })?;
        // SAFETY: `fd` is open, the argument is a set of flags.
        check(unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_ASYNC) })?;
        Ok(())
    }
}

fn check(result: i32) -> Result<i32, Errno> {
    if result < 0 { Err(Errno::last()) } else { Ok(result) }
}

/// Size of a page of this machine, in bytes.
pub(crate) fn page_size() -> io::Result<usize> {
    // SAFETY: sysconf reads a constant.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).map_err(|_| io::Error::last_os_error())
}
