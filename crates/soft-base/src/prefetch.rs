//! Hints to the host's caches.

/// Brings cache lines from the start of a value on into the host's caches, if its processor can; so many, even if the
/// value has fewer.
#[inline(always)]
#[expect(unsafe_code, reason = "there is no safe function for it")]
pub fn prefetch<T: ?Sized, const LINES: usize>(soon: &T) {
    let start = core::ptr::from_ref(soon).cast::<i8>();
    for line in 0..LINES {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch has no effect but on caches, wherever it points to, and every x86-64 processor has
            // it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(64 * line)) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (start, line);
    }
}
