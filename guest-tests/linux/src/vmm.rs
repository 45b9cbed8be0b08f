//! The devices of our VMM, from user space.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64::Control;
use guest_protocol::control;
use std::io;
#[cfg(target_arch = "x86_64")]
use x86_64::Control;

/// Does something in an interval of this name; where the VMM's devices cannot be had, without.
pub fn interval<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let vmm = Vmm::open().ok();
    if let Some(vmm) = &vmm {
        vmm.label(name);
        vmm.begin_interval();
    }
    let result = run();
    if let Some(vmm) = &vmm {
        vmm.end_interval();
    }
    result
}

/// Access to the VMM's devices. On a machine without them it has no effect.
#[derive(Debug)]
pub struct Vmm(Control);

impl Vmm {
    /// Gets access.
    ///
    /// # Errors
    /// The process lacks CAP_SYS_RAWIO, or the kernel what it takes.
    pub fn open() -> io::Result<Self> {
        Control::open().map(Self)
    }

    /// Names the next interval.
    pub fn label(&self, name: &str) {
        for byte in name.bytes().chain([0]) {
            self.0.label(byte);
        }
    }

    /// From here on the VMM counts an interval for itself.
    #[inline(always)]
    pub fn begin_interval(&self) {
        self.0.command(control::INTERVAL_BEGIN);
    }

    /// End of the interval.
    #[inline(always)]
    pub fn end_interval(&self) {
        self.0.command(control::INTERVAL_END);
    }

    /// Ends the run; returns where there is no such device.
    pub fn exit(&self, value: u8) {
        self.0.exit(value);
    }
}
