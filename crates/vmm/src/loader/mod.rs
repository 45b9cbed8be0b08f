//! See the module list in `lib.rs`.
