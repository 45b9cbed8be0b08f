//! I/O ports.

use guest_protocol::ports;
use std::arch::asm;
use std::io;

/// The permission to use all I/O ports.
#[derive(Debug)]
pub(super) struct Control(());

impl Control {
    pub(super) fn open() -> io::Result<Self> {
        // SAFETY: iopl changes nothing but this thread's permission.
        if unsafe { libc::iopl(3) } == 0 { Ok(Self(())) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) fn label(&self, byte: u8) {
        out8(ports::CONTROL_LABEL, byte);
    }

    #[inline(always)]
    pub(super) fn command(&self, command: u32) {
        // SAFETY: the ports of our VMM do not touch memory.
        unsafe {
            asm!("out dx, eax", in("dx") ports::CONTROL, in("eax") command, options(nomem, nostack, preserves_flags));
        }
    }

    pub(super) fn exit(&self, value: u8) {
        out8(ports::EXIT, value);
    }
}

fn out8(port: u16, value: u8) {
    // SAFETY: the ports of our VMM do not touch memory.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags));
    }
}
