//! A page of registers, mapped by `/dev/mem`.

use guest_protocol::mmio::control as page;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::ptr::{self, NonNull};

/// The page. It stays mapped.
#[derive(Debug)]
pub(super) struct Control(NonNull<u32>);

impl Control {
    pub(super) fn open() -> io::Result<Self> {
        let memory = OpenOptions::new().read(true).write(true).custom_flags(libc::O_SYNC).open("/dev/mem")?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of a page that is no RAM.
        let page = unsafe {
            let (size, at) = (page::SIZE as usize, page::BASE as libc::off_t);
            libc::mmap(ptr::null_mut(), size, protection, libc::MAP_SHARED, memory.as_raw_fd(), at)
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(page.cast()).map(Self).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub(super) fn label(&self, byte: u8) {
        self.write(page::LABEL, byte.into());
    }

    #[inline(always)]
    pub(super) fn command(&self, command: u32) {
        self.write(page::CONTROL, command);
    }

    pub(super) fn exit(&self, value: u8) {
        self.write(page::EXIT, value.into());
    }

    #[inline(always)]
    fn write(&self, offset: u64, value: u32) {
        // SAFETY: a register within the page, which touches no memory.
        unsafe { self.0.byte_add(offset as usize).write_volatile(value) }
    }
}
