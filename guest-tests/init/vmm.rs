//! The program port and the window.

use crate::program;
use crate::system::{self, Errno, Result};
use core::arch::asm;

/// The VMM, once the guest may talk to it.
pub(crate) struct Vmm {
    window: *mut u8,
}

impl Vmm {
    pub(crate) fn open() -> Result<Self> {
        let window = system::map_physical(program::WINDOW, program::WINDOW_SIZE)?;
        Ok(Self { window })
    }

    /// The window. What is in it changes with each command.
    #[allow(clippy::mut_from_ref, reason = "one thread, and no command while it is borrowed")]
    pub(crate) fn window(&self) -> &mut [u8] {
        // SAFETY: the mapping is so long and stays; there is one thread, and each borrow ends before the next begins.
        unsafe { core::slice::from_raw_parts_mut(self.window, program::WINDOW_SIZE) }
    }

    pub(crate) fn ready(&self) {
        command(program::READY, 0);
    }

    /// The next record; empty at the end.
    pub(crate) fn receive(&self) -> &mut [u8] {
        let len = command(program::RECEIVE, 0) as usize;
        self.window().get_mut(..len).unwrap_or_default()
    }

    /// The first bytes of the window go to one of the program's streams.
    pub(crate) fn pass_on(&self, stream: u32, len: usize) {
        command(stream, len as u32);
    }

    /// We become the program.
    pub(crate) fn announce(&self) {
        command(program::EXEC, 0);
    }

    pub(crate) fn not_executed(&self, errno: Errno) {
        command(program::EXEC_FAILED, errno.0 as u32);
    }

    pub(crate) fn exited(&self, status: u32) {
        command(program::EXITED, status);
    }

    /// The first bytes of the window are what perf has counted.
    pub(crate) fn counted(&self, len: usize) {
        command(program::COUNTS, len as u32);
    }

    /// The first bytes of the window are a record about something that has changed.
    pub(crate) fn changed(&self, len: usize) {
        command(program::CHANGED, len as u32);
    }

    /// We cannot go on; the text ends in 0.
    pub(crate) fn failed(&self, what: &[u8], errno: Errno) {
        let window = self.window();
        let len = what.len().min(window.len());
        window[..len].copy_from_slice(&what[..len]);
        command(program::FAILED, errno.0 as u32);
    }
}

/// Tells the VMM a length and a command, and returns its answer.
fn command(command: u32, length: u32) -> u32 {
    let answer;
    // SAFETY: the ports are the VMM's, and `iopl` has let us use them. It may change the window, which is memory of
    // this process: the assembly is not marked as one that leaves memory alone.
    unsafe {
        asm!("out dx, eax", in("dx") program::LENGTH_PORT, in("eax") length);
        asm!("out dx, eax", in("dx") program::PORT, in("eax") command);
        asm!("in eax, dx", in("dx") program::LENGTH_PORT, out("eax") answer);
    }
    answer
}
