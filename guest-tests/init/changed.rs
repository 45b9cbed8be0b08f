//! What the program has written: everything whose inode has changed since a moment.

use crate::program;
use crate::system::{self, Errno, Result, Status};
use crate::vmm::Vmm;

/// Seconds and nanoseconds since 1970.
pub(crate) type Time = [u64; 2];

/// Longest path, with the 0 at its end.
const LONGEST: usize = 4096;
const TOO_LONG: Errno = Errno(36);
/// Not looked at: none of it is a file system that keeps files.
const NOT_KEPT: [&[u8]; 3] = [b"/dev", b"/proc", b"/sys"];
/// Types of a mode.
const TYPE: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// A moment after which everything that changes has another time: the clock of files ticks only now and then.
pub(crate) fn mark() -> Result<Time> {
    /// Some ticks of the slowest kernel.
    const MILLISECONDS: isize = 30;
    system::poll(&mut [], MILLISECONDS)?;
    let now = system::coarse_clock()?;
    system::poll(&mut [], MILLISECONDS)?;
    Ok(now)
}

/// Tells the VMM of everything that has changed since then.
pub(crate) fn tell(vmm: &Vmm, since: Time) -> Result<()> {
    let mut path = Path { bytes: [0; LONGEST], len: 0 };
    walk(vmm, since, &mut path)
}

struct Path {
    /// A 0 follows.
    bytes: [u8; LONGEST],
    len: usize,
}

impl Path {
    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn with_end(&self) -> &[u8] {
        &self.bytes[..=self.len]
    }

    fn push(&mut self, name: &[u8]) -> Result<()> {
        let end = self.len + 1 + name.len();
        if end + 1 > LONGEST {
            return Err(TOO_LONG);
        }
        self.bytes[self.len] = b'/';
        self.bytes[self.len + 1..end].copy_from_slice(name);
        self.bytes[end] = 0;
        self.len = end;
        Ok(())
    }

    fn cut(&mut self, len: usize) {
        self.len = len;
        self.bytes[len] = 0;
    }
}

/// Everything in the directory at the path.
fn walk(vmm: &Vmm, since: Time, path: &mut Path) -> Result<()> {
    /// Offsets in `struct linux_dirent64`: the length of the entry, and its name, which ends in 0.
    const ENTRY_LEN: usize = 16;
    const NAME: usize = 19;
    let root: &[u8] = b"/\0";
    let named = if path.len == 0 { root } else { path.with_end() };
    let directory = system::open(named, system::READ_ONLY | system::LISTED, 0)?;
    let mut buffer = [0_u8; 2048];
    loop {
        let len = system::entries(directory, &mut buffer)?;
        // SAFETY: the kernel has written it.
        let read = unsafe { core::ptr::read_volatile(&raw const buffer) };
        let mut rest = read.get(..len).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
        while let Some(&[low, high]) = rest.get(ENTRY_LEN..ENTRY_LEN + 2) {
            let size = usize::from(u16::from_le_bytes([low, high]));
            let name = rest.get(NAME..size).unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            if ![&b"."[..], b"..", b""].contains(&name) {
                let before = path.len;
                path.push(name)?;
                if !NOT_KEPT.contains(&path.text()) {
                    entry(vmm, since, path)?;
                }
                path.cut(before);
            }
            rest = rest.get(size.max(NAME)..).unwrap_or_default();
        }
    }
    system::close(directory);
    Ok(())
}

fn entry(vmm: &Vmm, since: Time, path: &mut Path) -> Result<()> {
    // What has gone meanwhile, of a process that still runs, is left out.
    let Ok(status) = system::status(path.with_end()) else { return Ok(()) };
    let is_new = status.changed > since;
    match status.mode & TYPE {
        DIRECTORY => {
            if is_new {
                send(vmm, program::DIRECTORY, &status, path, |_| Ok(0))?;
            }
            walk(vmm, since, path)
        }
        REGULAR if is_new => file(vmm, &status, path),
        LINK if is_new => {
            send(vmm, program::LINK, &status, path, |to| system::read_link(path.with_end(), to)).map(|_| ())
        }
        _ => Ok(()),
    }
}

fn file(vmm: &Vmm, status: &Status, path: &Path) -> Result<()> {
    let file = system::open(path.with_end(), system::READ_ONLY, 0)?;
    let mut kind = program::FILE;
    loop {
        let len = send(vmm, kind, status, path, |to| system::read(file, to))?;
        if len == 0 {
            break;
        }
        kind = program::APPEND;
    }
    system::close(file);
    Ok(())
}

/// One record; returns the bytes of its content.
fn send(
    vmm: &Vmm,
    kind: u32,
    status: &Status,
    path: &Path,
    fill: impl FnOnce(&mut [u8]) -> Result<usize>,
) -> Result<usize> {
    let (window, path) = (vmm.window(), path.with_end());
    let content = program::HEADER + path.len();
    let len = fill(&mut window[content..content + program::MOST_DATA])?;
    let [seconds, nanoseconds] = status.modified;
    let [low, high] = [seconds as u32, (seconds >> 32) as u32];
    let numbers =
        [kind, status.mode & !TYPE, len as u32, path.len() as u32, low, high, nanoseconds as u32, 0];
    for (to, number) in window.chunks_exact_mut(4).zip(numbers) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    window[program::HEADER..content].copy_from_slice(path);
    vmm.changed(content + len);
    Ok(len)
}
