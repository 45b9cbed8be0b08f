//! Mutable statics of a program that has one CPU and no threads.

use core::cell::UnsafeCell;

/// A static that its module reads and writes through raw pointers. Code that dereferences them
/// answers for aliasing, also with handlers, which may run between any two instructions.
#[derive(Debug)]
pub(crate) struct Global<T>(UnsafeCell<T>);

// SAFETY: there is one CPU and no threads; aliasing is left to the unsafe code that dereferences.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    pub(crate) const fn get(&self) -> *mut T {
        self.0.get()
    }
}
