//! What the random tests of `vpmu` (crate `properties`) and of `soft-cpu` (crate `oracle`) share.

#![forbid(unsafe_code)]

mod random;
mod shrink;

pub use random::Random;
pub use shrink::shrink;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `test`.
///
/// # Errors
/// The message of a panic.
pub fn caught<T>(test: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(test)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
    })
}
