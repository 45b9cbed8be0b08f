//! Process 1 of a Linux guest that runs one program of the host.
//!
//! It sets up the guest, tells the VMM that it is ready (which takes a snapshot then), receives files and a program,
//! runs it, passes on what it prints, and says how it ended. It has no library, not even for memory: the build script
//! of `vmm` compiles it alone, for any Linux on x86-64, and puts it into the `vpmu` command.
#![no_std]
#![no_main]

mod changed;
mod counters;
mod memory;
#[path = "../protocol/src/program.rs"]
#[allow(dead_code, reason = "the VMM's half is here too")]
mod program;
mod receive;
mod run;
mod system;
mod vmm;

use core::arch::global_asm;
use core::panic::PanicInfo;
use system::{Errno, Result};

// The kernel leaves the stack aligned to 16 bytes, with no return address.
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "call {main}", "ud2", main = sym main);

/// 2026-01-01 00:00 UTC: what the guest's clock shows when it has booted.
const BOOT_TIME: u64 = 1_767_225_600;

extern "C" fn main() -> ! {
    let vmm = match prepare() {
        Ok(vmm) => vmm,
        Err((what, errno)) => {
            // There is no VMM to tell; the console shows it, and the kernel panics when process 1 ends.
            system::print(what);
            system::exit(errno.0);
        }
    };
    vmm.ready();
    if let Err((what, errno)) = receive::receive(&vmm) {
        vmm.failed(what, errno);
    }
    system::exit(1)
}

/// File systems, clock, random numbers, ports and window.
fn prepare() -> core::result::Result<vmm::Vmm, (&'static [u8], Errno)> {
    let step = |what: &'static [u8], done: Result<usize>| done.map_err(|errno| (what, errno));
    step(b"mount /proc\n\0", system::mount(b"proc\0", b"/proc\0"))?;
    step(b"mount /sys\n\0", system::mount(b"sysfs\0", b"/sys\0"))?;
    step(b"mount /dev\n\0", system::mount(b"devtmpfs\0", b"/dev\0"))?;
    step(b"mount /tmp\n\0", system::mount(b"tmpfs\0", b"/tmp\0"))?;
    step(b"mkdir /dev/shm\n\0", system::make_directory(b"/dev/shm\0", 0o1777))?;
    step(b"mount /dev/shm\n\0", system::mount(b"tmpfs\0", b"/dev/shm\0"))?;
    step(b"chmod /tmp\n\0", system::change_mode(b"/tmp\0", 0o1777))?;
    for (target, link) in [
        (&b"/proc/self/fd\0"[..], &b"/dev/fd\0"[..]),
        (b"/proc/self/fd/0\0", b"/dev/stdin\0"),
        (b"/proc/self/fd/1\0", b"/dev/stdout\0"),
        (b"/proc/self/fd/2\0", b"/dev/stderr\0"),
    ] {
        step(b"link in /dev\n\0", system::link(target, link))?;
    }
    step(b"set the clock\n\0", system::set_clock(BOOT_TIME))?;
    step(b"add entropy\n\0", system::add_entropy())?;
    step(b"iopl\n\0", system::port_access(3))?;
    vmm::Vmm::open().map_err(|errno| (&b"map the window\n\0"[..], errno))
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    system::print(b"init has panicked\n\0");
    system::exit(1)
}
