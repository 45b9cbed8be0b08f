//! A heap that only grows; the runner rewinds it between tests.

use core::{
    alloc::{GlobalAlloc, Layout},
    ptr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::global::Global;

/// Size of the heap in bytes.
const SIZE: usize = 1 << 20;

#[repr(C, align(64))]
struct Space([u8; SIZE]);

static SPACE: Global<Space> = Global::new(Space([0; SIZE]));
static USED: AtomicUsize = AtomicUsize::new(0);

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: pieces do not overlap, because `USED` only grows until `rewind`, whose caller answers for
// what was allocated since. Plain load and store are enough: an upcall that allocates in between
// and returns would be overwritten, which the compare-exchange below catches.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = SPACE.get() as usize;
        let mut used = USED.load(Relaxed);
        loop {
            let start = (base + used).next_multiple_of(layout.align()) - base;
            let Some(end) = start.checked_add(layout.size()).filter(|end| *end <= SIZE) else {
                return ptr::null_mut();
            };
            match USED.compare_exchange(used, end, Relaxed, Relaxed) {
                Ok(_) => return SPACE.get().cast::<u8>().wrapping_add(start),
                Err(now) => used = now,
            }
        }
    }

    unsafe fn dealloc(&self, _pointer: *mut u8, _layout: Layout) {}
}

/// Bytes in use, for [`rewind`].
pub(crate) fn mark() -> usize {
    USED.load(Relaxed)
}

/// Frees everything allocated since `mark`.
///
/// # Safety
/// Nothing allocated since then may be used any more.
pub(crate) unsafe fn rewind(mark: usize) {
    USED.store(mark, Relaxed);
}
