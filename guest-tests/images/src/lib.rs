//! The guest test images are the binaries of this package; there is nothing to link against.
#![no_std]
