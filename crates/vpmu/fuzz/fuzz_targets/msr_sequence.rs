//! MSR accesses, counts, PMIs, branches, and saving and restoring in the middle: see the crate `properties`, whose
//! `check` this drives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::{Report, check};

fuzz_target!(|bytes: &[u8]| {
    if let Err(violation) = check(bytes, &mut Report::default()) {
        panic!("{violation}");
    }
});
