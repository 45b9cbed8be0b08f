//! The control page that the kernel keeps for a mapped event, and the RDPMC instruction.

#![expect(unsafe_code, reason = "the kernel writes the page while it is read")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, compiler_fence};

use perf_event_open_sys::bindings::perf_event_mmap_page;

use super::{PageFields, PageView};
use crate::errno::Errno;

/// A read-only mapping of the first page of a perf event.
#[derive(Debug)]
pub(crate) struct MappedPage {
    page: NonNull<perf_event_mmap_page>,
    length: usize,
}

impl MappedPage {
    pub(crate) fn map(fd: &OwnedFd) -> Result<Self, Errno> {
        let length = page_size().map_err(|e| Errno(e.raw_os_error().unwrap_or(libc::EINVAL)))?;
        // SAFETY: a new mapping at an address of the kernel's choice; the descriptor is open.
        let address = unsafe {
            libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd.as_raw_fd(), 0)
        };
        if address == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let page = NonNull::new(address.cast()).ok_or(Errno(libc::ENOMEM))?;
        Ok(MappedPage { page, length })
    }
}

impl Drop for MappedPage {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` created; `self` was its only user.
        unsafe { libc::munmap(self.page.as_ptr().cast(), self.length) };
    }
}

/// Size of a page of this machine, in bytes.
fn page_size() -> io::Result<usize> {
    // SAFETY: sysconf reads a constant.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).map_err(|_| io::Error::last_os_error())
}

/// Reads one field of the page. The kernel changes it under us, hence volatile.
macro_rules! load {
    ($page:expr, $($field:tt)+) => {
        // SAFETY: the page is mapped for reading as long as `self` lives, at least as large as the structure
        // (one page), and page-aligned.
        unsafe { ptr::read_volatile(&raw const (*$page.as_ptr()).$($field)+) }
    };
}

impl PageView for MappedPage {
    fn lock(&self) -> u32 {
        // The kernel writes on the CPU of the counted thread, which is ours: the compiler is all that could
        // reorder (the kernel's own recipe uses barrier()).
        compiler_fence(Ordering::SeqCst);
        let lock = load!(self.page, lock);
        compiler_fence(Ordering::SeqCst);
        lock
    }

    fn fields(&self) -> PageFields {
        const CAP_USER_RDPMC: u64 = 1 << 2;
        let capabilities: u64 = load!(self.page, __bindgen_anon_1.capabilities);
        PageFields {
            index: load!(self.page, index),
            offset: load!(self.page, offset),
            time_enabled: load!(self.page, time_enabled),
            time_running: load!(self.page, time_running),
            // Other architectures give the bit to instructions of their own.
            cap_user_rdpmc: cfg!(target_arch = "x86_64") && capabilities & CAP_USER_RDPMC != 0,
            pmc_width: load!(self.page, pmc_width),
        }
    }

    unsafe fn rdpmc(&self, selector: u32) -> u64 {
        // SAFETY: the caller keeps the contract, which is that of `rdpmc`.
        unsafe { rdpmc(selector) }
    }
}

/// Reads a counter: bits 31:16 of `selector` are the type (0 general, 0x4000 fixed, 0x2000 metrics).
///
/// # Safety
/// CR4.PCE must be set for this process and the counter must exist on this CPU.
#[cfg(target_arch = "x86_64")]
unsafe fn rdpmc(selector: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: RDPMC only writes EAX and EDX; that it does not fault is the caller's promise.
    // No `nomem`: the instruction must stay between the two reads of the page's lock.
    unsafe {
        std::arch::asm!("rdpmc", in("ecx") selector, out("eax") low, out("edx") high,
            options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Never reached: without RDPMC [`PageFields::cap_user_rdpmc`] is false.
///
/// # Safety
/// None needed.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn rdpmc(_selector: u32) -> u64 {
    0
}
