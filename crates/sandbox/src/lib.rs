//! Takes rights away from a process that is about to run a guest.
//!
//! Everything that the run needs is open before: images, traces, /dev/kvm. What a guest that has taken over its
//! interpreter could still want, it does not get:
//!
//! * *seccomp*: system calls that a run does not need end the process by SIGSYS: programs, sockets, tracing, signals to
//!   others, mounts, keys. The list names what is allowed; everything else is not.
//! * *landlock*: of files only those below /proc/self can be opened, and only to be read. A kernel without landlock
//!   gets a stricter filter instead: opening any file fails.
//!
//! Rights do not come back: [`enter`] is for a process of its own.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod linux;

/// There is a sandbox for this operating system and CPU.
pub const SUPPORTED: bool =
    cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));

/// What a run does that others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// Opens and closes counters of the host while the guest runs.
    pub host_counters: bool,
}

/// What keeps the process from files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Landlock: nothing but /proc/self, to be read.
    Landlock,
    /// This kernel has no landlock: the filter of system calls lets no file be opened.
    Seccomp,
}

/// The rights could not be taken away.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Another operating system, or a CPU for which there is no list of system calls.
    #[error("there is no sandbox for this operating system and CPU")]
    Unsupported,
    /// The kernel refused.
    #[error("the kernel does not restrict this process: {0}")]
    Refused(String),
}

/// From here on this process, with all its threads, can do what a run needs and no more.
///
/// # Errors
/// [`SandboxError`]; some rights may be gone then.
pub fn enter(needs: Needs) -> Result<Files, SandboxError> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return linux::enter(needs);
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = needs;
        Err(SandboxError::Unsupported)
    }
}
