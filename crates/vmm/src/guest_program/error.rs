//! Why a program could not be run.

use crate::run::RunError;
use crate::snapshot::SnapshotError;
use platform::loader::ImageError;
use std::io;
use std::path::PathBuf;

/// A program could not be run in a guest.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The build script found no compiler for x86-64.
    #[error("this vpmu was built without the guest's init, for lack of a Rust target for x86-64")]
    NoInit,
    /// The profile is not of x86-64, or not a built-in one.
    #[error("programs run on the built-in profiles of x86-64, which {0} is not")]
    Profile(String),
    /// The guest's memory does not hold kernel and window.
    #[error(
        "{size_mib} MiB of guest memory is too little for Linux with a program; the least is {least_mib} MiB"
    )]
    Memory {
        /// What was asked for.
        size_mib: u64,
        /// The least.
        least_mib: u64,
    },
    /// The kernel's image.
    #[error("kernel {}", path.display())]
    Kernel {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ImageError,
    },
    /// It is no Linux kernel.
    #[error("{} is no Linux kernel", .0.display())]
    NotLinux(PathBuf),
    /// The kernel did not get as far as init's wait for a program.
    #[error("the guest did not boot: {0}")]
    Boot(String),
    /// A signal ended the boot.
    #[error("interrupted while the guest booted")]
    Interrupted {
        /// The signal (signal(7)).
        signal: i32,
    },
    /// The boot took too long.
    #[error("the guest did not boot in time")]
    BootTimedOut,
    /// There is no such program.
    #[error("there is no program {0:?}")]
    NotFound(String),
    /// The file has no permission to be executed, or is a directory.
    #[error("{} is not an executable file", .0.display())]
    NotExecutable(PathBuf),
    /// The program's file is for another machine.
    #[error("{} is no program for Linux on x86-64", .0.display())]
    Foreign(PathBuf),
    /// A library that the loader would not find.
    #[error("{} needs {library}, which is in none of the directories of the loader", path.display())]
    Library {
        /// What needs it.
        path: PathBuf,
        /// Its name.
        library: String,
    },
    /// A file of the host.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// It is no container image.
    #[error("{} is no container image for Linux on x86-64: {what}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A region of a program that is not there.
    #[error("{} has no {what}", path.display())]
    NoPlace {
        /// The program.
        path: PathBuf,
        /// What was looked for.
        what: String,
    },
    /// Too much for the guest's memory.
    #[error("the program's files have {files_mib} MiB, the guest {memory_mib} MiB of memory")]
    TooLarge {
        /// All files.
        files_mib: u64,
        /// The guest.
        memory_mib: u64,
    },
    /// The kernel did not execute the program.
    #[error("the guest's kernel cannot execute {}", path.display())]
    NotExecuted {
        /// The program.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The guest's init.
    #[error("the guest cannot {what}")]
    Init {
        /// What it wanted to do.
        what: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// What the program printed could not be passed on, or a file could not be read.
    #[error("cannot pass on the program's files or output")]
    Stream(#[source] io::Error),
    /// The snapshot of the booted guest.
    #[error("the snapshot of the booted guest")]
    Snapshot(#[from] SnapshotError),
    /// The VMM.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl ProgramError {
    /// For errors with a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
