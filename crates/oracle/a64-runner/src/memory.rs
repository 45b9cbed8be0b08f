//! The pages of a case, and the bytes for the other side.

use crate::system::{self, EXECUTABLE, READABLE, WRITABLE};
use a64_runner::{
    BRK, CLOSED, CODE, CODE_LEN, CONSTANTS, DATA, DATA_LEN, IMAGE_LEN, MAX_BATCH, MAX_WORDS, PAGE, Request,
    STACK,
};
use core::ops::Range;
use core::ptr::with_exposed_provenance_mut;

/// What a case can write.
const WRITTEN: [(u64, u64); 2] = [(DATA, DATA_LEN), (STACK, PAGE)];

/// Maps all pages; false if that fails.
pub(crate) fn map() -> bool {
    let mapped = system::map(CODE, CODE_LEN, READABLE | WRITABLE)
        && system::map(CONSTANTS, PAGE, READABLE | WRITABLE)
        && system::map(DATA, DATA_LEN, READABLE | WRITABLE)
        && system::map(CLOSED, PAGE, 0)
        && system::map(STACK, PAGE, READABLE | WRITABLE);
    if mapped {
        words::<u32>(CODE, CODE_LEN).fill(BRK);
    }
    mapped
}

/// The contents of pages that have been mapped. The callers use it before they ask for another one.
fn words<T>(address: u64, len: u64) -> &'static mut [T] {
    let first = with_exposed_provenance_mut(address as usize);
    // SAFETY: the pages are mapped for as long as the program runs, are of integers, and no other reference to them is
    // in use.
    unsafe { core::slice::from_raw_parts_mut(first, len as usize / size_of::<T>()) }
}

/// The words of an image from an address on.
fn part(image: &[u64], address: u64, len: u64) -> &[u64] {
    let first = (address - CONSTANTS) as usize / 8;
    image.get(first..first + len as usize / 8).unwrap_or_default()
}

/// Fills the constants, once.
pub(crate) fn write_constants(image: &[u64]) -> bool {
    words(CONSTANTS, PAGE).copy_from_slice(part(image, CONSTANTS, PAGE));
    system::protect(CONSTANTS, PAGE, READABLE)
}

/// Puts a case into memory in place of the code of another one; false if it does not fit. Returns where its code is.
pub(crate) fn load(request: &Request, image: &[u64], old: &Range<usize>) -> Option<Range<usize>> {
    let first = request.state.pc.wrapping_sub(CODE) as usize / 4;
    let code = request.code.get(..request.words as usize)?;
    let new = first..first.checked_add(code.len())?;
    if new.end > CODE_LEN as usize / 4 || !system::protect(CODE, CODE_LEN, READABLE | WRITABLE) {
        return None;
    }
    let place = words::<u32>(CODE, CODE_LEN);
    place[old.clone()].fill(BRK);
    place[new.clone()].copy_from_slice(code);
    for (address, len) in WRITTEN {
        words(address, len).copy_from_slice(part(image, address, len));
    }
    system::protect(CODE, CODE_LEN, READABLE | EXECUTABLE).then_some(new)
}

/// Tells of each word that is not as in the image: its offset there, and what it holds.
pub(crate) fn differences(image: &[u64], mut tell: impl FnMut(u64, u64)) {
    for (address, len) in WRITTEN {
        let pieces =
            words::<u64>(address, len).chunks_exact(8).zip(part(image, address, len).chunks_exact(8));
        for (offset, (after, before)) in (address - CONSTANTS..).step_by(64).zip(pieces) {
            let different = after.iter().zip(before).fold(0, |all, (a, b)| all | (a ^ b));
            if different != 0 {
                let words = (offset..).step_by(8).zip(after.iter().zip(before));
                words.filter(|(_, (a, b))| a != b).for_each(|(at, (value, _))| tell(at, *value));
            }
        }
    }
}

/// Bytes that one case has to say at most.
const REPLY: usize = size_of::<a64_runner::Reply>() + 2 * IMAGE_LEN;
const _: () = assert!(MAX_WORDS as u64 * 4 <= CODE_LEN);

/// What is to be written.
pub(crate) struct Output {
    bytes: [u8; MAX_BATCH * REPLY],
    len: usize,
}

impl Output {
    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let place = self.reserve(bytes.len());
        self.put(place, bytes);
    }

    /// Leaves room for bytes that [`put`](Self::put) fills; returns where.
    pub(crate) fn reserve(&mut self, len: usize) -> usize {
        self.len += len;
        self.len - len
    }

    pub(crate) fn put(&mut self, place: usize, bytes: &[u8]) {
        self.bytes[place..place + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes everything; false if that fails.
    pub(crate) fn flush(&mut self) -> bool {
        let len = core::mem::take(&mut self.len);
        system::write(&self.bytes[..len])
    }
}
