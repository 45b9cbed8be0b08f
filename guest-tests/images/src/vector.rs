//! What images that execute AVX ask for first.

use guest_runtime::{has, protocol::Needs, skip, vector};

/// Allows AVX, AVX2 and FMA, or skips the test.
pub fn use_avx2() {
    if !vector::has_avx2() {
        skip!("there is no AVX2");
    }
    if let Err(exception) = vector::enable(vector::AVX) {
        skip!("this machine does not enable AVX: {exception:?}");
    }
}

/// Allows AVX-512 of x86-64-v4, or skips the test.
pub fn use_avx512() {
    if !vector::has_avx512() {
        skip!("there is no AVX-512");
    }
    if let Err(exception) = vector::enable(vector::AVX | vector::AVX512) {
        skip!("this machine does not enable AVX-512: {exception:?}");
    }
}

/// Skips the test if ring 3 shows nothing of `what`, which has been written: a para-virtual KVM may execute ring 3 with
/// its host's control registers. Where counts are exact, the test goes on, and fails.
pub fn reaches_ring_3(seen: bool, what: &str) {
    if !seen && !has(Needs::EXACT) {
        skip!("{what} does not reach ring 3 on this machine");
    }
}
