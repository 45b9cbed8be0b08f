//! System calls. Texts end in 0, as the kernel wants them.

use core::arch::asm;

/// An error of the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) usize);

pub(crate) type Result<T> = core::result::Result<T, Errno>;

/// Numbers of arch/x86/entry/syscalls/syscall_64.tbl.
mod number {
    pub(super) const READ: usize = 0;
    pub(super) const WRITE: usize = 1;
    pub(super) const OPEN: usize = 2;
    pub(super) const CLOSE: usize = 3;
    pub(super) const LSTAT: usize = 6;
    pub(super) const POLL: usize = 7;
    pub(super) const MMAP: usize = 9;
    pub(super) const IOCTL: usize = 16;
    pub(super) const DUP2: usize = 33;
    pub(super) const FORK: usize = 57;
    pub(super) const EXECVE: usize = 59;
    pub(super) const EXIT: usize = 60;
    pub(super) const WAIT4: usize = 61;
    pub(super) const FCNTL: usize = 72;
    pub(super) const CHDIR: usize = 80;
    pub(super) const MKDIR: usize = 83;
    pub(super) const SYMLINK: usize = 88;
    pub(super) const READLINK: usize = 89;
    pub(super) const CHMOD: usize = 90;
    pub(super) const MOUNT: usize = 165;
    pub(super) const IOPL: usize = 172;
    pub(super) const GETDENTS64: usize = 217;
    pub(super) const CLOCK_SETTIME: usize = 227;
    pub(super) const CLOCK_GETTIME: usize = 228;
    pub(super) const UTIMENSAT: usize = 280;
    pub(super) const PIPE2: usize = 293;
    pub(super) const PERF_EVENT_OPEN: usize = 298;
    pub(super) const PIDFD_OPEN: usize = 434;
}

/// open(2).
pub(crate) const WRITE_NEW: usize = 0o1 | 0o100 | 0o1000;
pub(crate) const WRITE_END: usize = 0o1 | 0o2000;
pub(crate) const READ_ONLY: usize = 0;
/// A directory, itself and not what a link leads to.
pub(crate) const LISTED: usize = 0o200_000 | 0o400_000;
const READ_WRITE: usize = 2;
const CLOSE_ON_EXEC: usize = 0o2_000_000;
/// fcntl(2).
const SET_PIPE_SIZE: usize = 1031;
/// Fewer switches between the program and us.
const PIPE_SIZE: usize = 1 << 20;
/// poll(2).
const POLLIN: u16 = 1;

fn call(number: usize, arguments: [usize; 6]) -> Result<usize> {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    // SAFETY: every pointer that is passed here is to something that lives, with its length or a 0 at its end.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _);
    }
    if (-4095..0).contains(&answer) { Err(Errno(answer.unsigned_abs())) } else { Ok(answer as usize) }
}

fn address<T: ?Sized>(of: &T) -> usize {
    core::ptr::from_ref(of).cast::<u8>() as usize
}

pub(crate) fn print(text: &[u8]) {
    let _ = call(number::WRITE, [2, address(text), text.len() - 1, 0, 0, 0]);
}

pub(crate) fn exit(status: usize) -> ! {
    loop {
        let _ = call(number::EXIT, [status, 0, 0, 0, 0, 0]);
    }
}

pub(crate) fn mount(kind: &[u8], at: &[u8]) -> Result<usize> {
    // Debian's kernel mounts /dev by itself.
    match call(number::MOUNT, [address(kind), address(at), address(kind), 0, 0, 0]) {
        Err(Errno(16)) => Ok(0),
        other => other,
    }
}

pub(crate) fn make_directory(path: &[u8], mode: u32) -> Result<usize> {
    const EXISTS: Errno = Errno(17);
    match call(number::MKDIR, [address(path), mode as usize, 0, 0, 0, 0]) {
        Err(EXISTS) => Ok(0),
        other => other,
    }
}

pub(crate) fn change_mode(path: &[u8], mode: u32) -> Result<usize> {
    call(number::CHMOD, [address(path), mode as usize, 0, 0, 0, 0])
}

pub(crate) fn link(target: &[u8], path: &[u8]) -> Result<usize> {
    call(number::SYMLINK, [address(target), address(path), 0, 0, 0, 0])
}

/// Seconds since 1970.
pub(crate) fn set_clock(seconds: u64) -> Result<usize> {
    call(number::CLOCK_SETTIME, [0, address(&[seconds, 0]), 0, 0, 0, 0])
}

/// The kernel's random numbers have what they need: always the same, and none has to wait for it (random(4)).
pub(crate) fn add_entropy() -> Result<usize> {
    /// RNDADDENTROPY.
    const ADD: usize = 0x4008_5203;
    const BYTES: u32 = 64;
    let mut info = [0x5EED_5EED_u32; 2 + BYTES as usize / 4];
    (info[0], info[1]) = (BYTES * 8, BYTES);
    let random = open(b"/dev/random\0", READ_WRITE, 0)?;
    let added = call(number::IOCTL, [random, ADD, address(&info), 0, 0, 0]);
    close(random);
    added
}

/// Modification and access time, of a link itself.
pub(crate) fn set_time(path: &[u8], seconds: u64, nanoseconds: u64) -> Result<usize> {
    const CURRENT_DIRECTORY: usize = -100_isize as usize;
    const NO_FOLLOW: usize = 0x100;
    let times = [seconds, nanoseconds, seconds, nanoseconds];
    call(number::UTIMENSAT, [CURRENT_DIRECTORY, address(path), address(&times), NO_FOLLOW, 0, 0])
}

/// IN and OUT, 3, or not, 0. A child has what its parent has, and so has what it executes.
pub(crate) fn port_access(level: usize) -> Result<usize> {
    call(number::IOPL, [level, 0, 0, 0, 0, 0])
}

pub(crate) fn open(path: &[u8], flags: usize, mode: u32) -> Result<usize> {
    call(number::OPEN, [address(path), flags | CLOSE_ON_EXEC, mode as usize, 0, 0, 0])
}

pub(crate) fn close(file: usize) {
    let _ = call(number::CLOSE, [file, 0, 0, 0, 0, 0]);
}

/// Maps physical memory, readable and writable.
pub(crate) fn map_physical(at: u64, len: usize) -> Result<*mut u8> {
    const SHARED: usize = 1;
    const READ_AND_WRITE: usize = 3;
    let memory = open(b"/dev/mem\0", READ_WRITE, 0)?;
    let window = call(number::MMAP, [0, len, READ_AND_WRITE, SHARED, memory, at as usize])?;
    close(memory);
    Ok(window as *mut u8)
}

pub(crate) fn read(file: usize, to: &mut [u8]) -> Result<usize> {
    call(number::READ, [file, address(to), to.len(), 0, 0, 0])
}

pub(crate) fn write_all(file: usize, mut from: &[u8]) -> Result<()> {
    while !from.is_empty() {
        let written = call(number::WRITE, [file, address(from), from.len(), 0, 0, 0])?;
        from = from.get(written..).unwrap_or_default();
    }
    Ok(())
}

pub(crate) struct Pipe {
    pub(crate) reader: usize,
    pub(crate) writer: usize,
}

pub(crate) fn pipe() -> Result<Pipe> {
    let mut files = [0_u32; 2];
    call(number::PIPE2, [address(&mut files), CLOSE_ON_EXEC, 0, 0, 0, 0])?;
    // SAFETY: the kernel has written both.
    let [reader, writer] = unsafe { core::ptr::read_volatile(&raw const files) };
    let pipe = Pipe { reader: reader as usize, writer: writer as usize };
    call(number::FCNTL, [pipe.writer, SET_PIPE_SIZE, PIPE_SIZE, 0, 0, 0])?;
    Ok(pipe)
}

/// The process of the child; 0 in it.
pub(crate) fn fork() -> Result<usize> {
    call(number::FORK, [0; 6])
}

pub(crate) fn process_file(process: usize) -> Result<usize> {
    call(number::PIDFD_OPEN, [process, 0, 0, 0, 0, 0])
}

pub(crate) fn wait(process: usize) -> Result<u32> {
    let mut status = 0_u32;
    call(number::WAIT4, [process, address(&mut status), 0, 0, 0, 0])?;
    // SAFETY: the kernel has written it.
    Ok(unsafe { core::ptr::read_volatile(&raw const status) })
}

pub(crate) fn duplicate(file: usize, onto: usize) -> Result<usize> {
    call(number::DUP2, [file, onto, 0, 0, 0, 0])
}

pub(crate) fn change_directory(path: &[u8]) -> Result<usize> {
    call(number::CHDIR, [address(path), 0, 0, 0, 0, 0])
}

/// Returns only what kept it from happening. Both lists end in a null pointer.
pub(crate) fn execute(path: &[u8], arguments: &[*const u8], environment: &[*const u8]) -> Errno {
    match call(number::EXECVE, [address(path), address(arguments), address(environment), 0, 0, 0]) {
        Ok(_) => Errno(0),
        Err(errno) => errno,
    }
}

/// `struct pollfd`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Poll {
    /// Negative: not looked at.
    pub(crate) file: i32,
    events: u16,
    answer: u16,
}

impl Poll {
    pub(crate) const NONE: Self = Self { file: -1, events: POLLIN, answer: 0 };

    pub(crate) fn of(file: usize) -> Self {
        Self { file: file as i32, ..Self::NONE }
    }

    pub(crate) fn is_ready(&self) -> bool {
        // SAFETY: the kernel has written it.
        self.file >= 0 && unsafe { core::ptr::read_volatile(&raw const self.answer) } != 0
    }
}

/// Waits for one of them, at most so many milliseconds; negative: for ever.
pub(crate) fn poll(files: &mut [Poll], milliseconds: isize) -> Result<usize> {
    call(number::POLL, [address(files), files.len(), milliseconds as usize, 0, 0, 0])
}

/// What is at a path, of a link the link itself.
pub(crate) struct Status {
    pub(crate) mode: u32,
    /// Modification and change of the inode, in seconds and nanoseconds.
    pub(crate) modified: [u64; 2],
    pub(crate) changed: [u64; 2],
}

/// lstat(2).
pub(crate) fn status(path: &[u8]) -> Result<Status> {
    let mut stat = [0_u64; 18];
    call(number::LSTAT, [address(path), address(&mut stat), 0, 0, 0, 0])?;
    // SAFETY: the kernel has written it.
    let stat = unsafe { core::ptr::read_volatile(&raw const stat) };
    // `struct stat` of x86-64 in words: st_mode is the low half of word 3.
    Ok(Status { mode: stat[3] as u32, modified: [stat[11], stat[12]], changed: [stat[13], stat[14]] })
}

/// The target of a link; its length.
pub(crate) fn read_link(path: &[u8], to: &mut [u8]) -> Result<usize> {
    call(number::READLINK, [address(path), address(to), to.len(), 0, 0, 0])
}

/// The next entries of a directory, each a `struct linux_dirent64`; 0 bytes at its end.
pub(crate) fn entries(directory: usize, to: &mut [u8]) -> Result<usize> {
    call(number::GETDENTS64, [directory, address(to), to.len(), 0, 0, 0])
}

/// The clock by which files are stamped, in seconds and nanoseconds.
pub(crate) fn coarse_clock() -> Result<[u64; 2]> {
    const REALTIME_COARSE: usize = 5;
    let mut time = [0_u64; 2];
    call(number::CLOCK_GETTIME, [REALTIME_COARSE, address(&mut time), 0, 0, 0, 0])?;
    // SAFETY: the kernel has written it.
    Ok(unsafe { core::ptr::read_volatile(&raw const time) })
}

/// perf_event_open(2) for this process and its children, on any CPU.
pub(crate) fn open_event(attribute: &[u8]) -> Result<usize> {
    const NONE: usize = usize::MAX;
    const CLOSE_ON_EXEC_FLAG: usize = 8;
    call(number::PERF_EVENT_OPEN, [address(attribute), 0, NONE, NONE, CLOSE_ON_EXEC_FLAG, 0])
}
