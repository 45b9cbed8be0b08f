//! The system calls of the running Linux kernel.

#![expect(unsafe_code, reason = "perf_event_open, ioctl and mmap")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use perf_event_open_sys::{self as perf, bindings, ioctls};

use super::page::MappedPage;
use super::{Ioctl, PageView, PerfFd, PerfSys, perf_event_attr};
use crate::errno::Errno;

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
        // SAFETY: the kernel has just created `fd`, which has no other owner.
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
