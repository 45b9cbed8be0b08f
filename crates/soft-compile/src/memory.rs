//! Memory for code: one mapping to write it, another one to execute it, and beside that what code reads and the
//! compiler changes. All other unsafe code of the crate is the call of what was written.
#![expect(unsafe_code, reason = "mappings, and words in them that compiled code reads")]

use crate::frame::Passed;
use core::ffi::c_void;
use core::ptr;
use std::io;

/// Bytes of code at most.
pub(crate) const CODE: usize = 64 << 20;
/// Words of 64 bits beside it.
pub(crate) const WORDS: usize = (8 << 20) / 8;
/// Nothing is mapped there: code that runs over an end faults.
const GUARD: usize = 1 << 16;
const DATA: usize = WORDS * 8;

/// Guard, code, guard, words, guard; and the code once more, to be written.
#[derive(Debug)]
pub(crate) struct Memory {
    reserved: *mut u8,
    writable: *mut u8,
}

const RESERVED: usize = GUARD + CODE + GUARD + DATA + GUARD;

impl Memory {
    /// # Errors
    /// As the system says: no address space, or no memory that may be executed.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the name is a string with an end.
        let file = unsafe { libc::memfd_create(c"soft-compile".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let memory = Self::map(file);
        // SAFETY: the descriptor is ours, and mappings stay without it.
        unsafe { libc::close(file) };
        memory
    }

    fn map(file: i32) -> io::Result<Self> {
        // SAFETY: a new descriptor that no one else has.
        if unsafe { libc::ftruncate(file, CODE as i64) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let none = libc::PROT_NONE;
        let reserved = map(ptr::null_mut(), RESERVED, none, anonymous | libc::MAP_NORESERVE, -1)?;
        let mut memory = Self { reserved, writable: ptr::null_mut() };
        let read_write = libc::PROT_READ | libc::PROT_WRITE;
        let fixed = libc::MAP_FIXED;
        map(
            memory.code().cast_mut(),
            CODE,
            libc::PROT_READ | libc::PROT_EXEC,
            libc::MAP_SHARED | fixed,
            file,
        )?;
        map(memory.data(), DATA, read_write, anonymous | fixed, -1)?;
        memory.writable = map(ptr::null_mut(), CODE, read_write, libc::MAP_SHARED, file)?;
        Ok(memory)
    }

    /// The code, to be executed.
    pub(crate) fn code(&self) -> *const u8 {
        self.reserved.wrapping_add(GUARD)
    }

    fn data(&self) -> *mut u8 {
        self.reserved.wrapping_add(GUARD + CODE + GUARD)
    }

    /// Address of a word.
    pub(crate) fn word_address(&self, index: usize) -> u64 {
        self.data().wrapping_add(index * 8) as u64
    }

    /// Writes code; false if it has no room there.
    pub(crate) fn write_code(&mut self, at: usize, bytes: &[u8]) -> bool {
        if at.checked_add(bytes.len()).is_none_or(|end| end > CODE) {
            return false;
        }
        // SAFETY: the range is in the mapping, which is ours, and nothing is executed meanwhile.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.writable.wrapping_add(at), bytes.len()) };
        true
    }

    /// Changes a word; nothing happens behind the last one.
    pub(crate) fn set_word(&mut self, index: usize, value: u64) {
        if index < WORDS {
            // SAFETY: the word is in the mapping, which is ours and aligned, and no code runs meanwhile.
            unsafe { self.data().cast::<u64>().wrapping_add(index).write(value) };
        }
    }

    /// All words from there on are 0.
    pub(crate) fn clear_words(&mut self, end: usize) {
        let len = end.min(WORDS);
        // SAFETY: as in `set_word`.
        unsafe { ptr::write_bytes(self.data().cast::<u64>(), 0, len) };
    }
}

/// As code is entered.
type Entry = extern "sysv64" fn(*mut Passed, *const u8);

impl Memory {
    /// Executes the code at an address, which is that of a block.
    pub(crate) fn enter(&mut self, block: u64, passed: &mut Passed) {
        // SAFETY: the first code is what `frame::entry` wrote: a function of this type.
        let entry: Entry = unsafe { core::mem::transmute(self.code()) };
        entry(passed, block as *const u8);
    }
}

// SAFETY: the mappings are this value's own.
unsafe impl Send for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mappings are ours, and no code runs in them: that takes a reference to us.
        unsafe {
            libc::munmap(self.reserved.cast::<c_void>(), RESERVED);
            if !self.writable.is_null() {
                libc::munmap(self.writable.cast::<c_void>(), CODE);
            }
        }
    }
}

fn map(at: *mut u8, len: usize, protection: i32, flags: i32, file: i32) -> io::Result<*mut u8> {
    // SAFETY: without MAP_FIXED the system chooses where nothing is; with it the range is one that was reserved here.
    let mapped = unsafe { libc::mmap(at.cast::<c_void>(), len, protection, flags, file, 0) };
    if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mapped.cast::<u8>()) }
}
