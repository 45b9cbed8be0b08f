//! How the init of a Linux guest gets a program from the VMM, and gives back what it printed.
//!
//! Init maps a window of guest memory that the kernel leaves alone, [`WINDOW`]. A command is a 32-bit write to
//! [`PORT`]; it is about as many bytes of the window as were written to [`LENGTH_PORT`], where an answer is read.
//!
//! This file depends on nothing: init is compiled from it by the build script of `vmm`.

/// 32-bit command register.
pub const PORT: u16 = 0x5E0;
/// 32-bit length and answer.
pub const LENGTH_PORT: u16 = 0x5E4;
/// Guest physical address of the window; on the kernel's command line with `memmap=`.
pub const WINDOW: u64 = 0x1000_0000;
/// Bytes of the window.
pub const WINDOW_SIZE: usize = 4 << 20;
/// Most bytes of content in a record.
pub const MOST_DATA: usize = WINDOW_SIZE - HEADER - 4096 - 16;

/// Init has set up the guest and waits for a program: the moment for a snapshot.
pub const READY: u32 = 1;
/// Asks for the next record; the answer is its length.
pub const RECEIVE: u32 = 2;
/// The window holds what the program wrote to its standard output.
pub const STDOUT: u32 = 3;
/// The window holds what the program wrote to its standard error.
pub const STDERR: u32 = 4;
/// The process that says so becomes the program with its next `execve`.
pub const EXEC: u32 = 5;
/// That `execve` failed; the length is its errno.
pub const EXEC_FAILED: u32 = 6;
/// The program has ended; the length is its status as `wait4` tells it.
pub const EXITED: u32 = 7;
/// Init itself cannot go on; the length is an errno, the window holds what it wanted to do.
pub const FAILED: u32 = 8;
/// The window holds what perf has counted in the program: four 64-bit numbers for each event of [`COUNT`]: the errno of
/// `perf_event_open` or 0, the count, the nanoseconds for which it was enabled and those for which it ran.
pub const COUNTS: u32 = 9;
/// The window holds a record about something that has changed since [`RETURN`]: [`DIRECTORY`], [`FILE`], [`APPEND`] or
/// [`LINK`].
pub const CHANGED: u32 = 10;

/// A record begins with so many bytes of numbers, little-endian: kind, mode, bytes of content, bytes of path with its
/// 0 (32 bits each); modification time in seconds (64) and nanoseconds (32); 32 bits for the kind. Path and content
/// follow without a gap.
pub const HEADER: usize = 32;

/// A directory.
pub const DIRECTORY: u32 = 1;
/// A file with its first bytes.
pub const FILE: u32 = 2;
/// The next bytes of a file.
pub const APPEND: u32 = 3;
/// A symbolic link; the content is its target, ended by 0.
pub const LINK: u32 = 4;
/// The modification time of something that is there.
pub const TIME: u32 = 5;
/// The program: the path is its working directory; the content is the file to execute, the file that becomes its
/// standard input, as many arguments as the mode says, and as many variables of the environment as the last number of
/// the header, each ended by 0.
pub const RUN: u32 = 6;
/// Events that perf counts in the program and its children, from its `execve` on: a `struct perf_event_attr` of
/// [`EVENT`] bytes each.
pub const COUNT: u32 = 7;
/// What changes from now on, outside /dev, /proc and /sys, is told with [`CHANGED`] after the program has ended.
pub const RETURN: u32 = 8;

/// Size of the first version of `struct perf_event_attr` (`PERF_ATTR_SIZE_VER0`).
pub const EVENT: usize = 64;
/// Most events.
pub const MOST_EVENTS: usize = 64;
