//! What images that execute AVX ask for first.

use guest_runtime::{has, protocol::Needs, skip, vector};

use crate::faulting::Raised;

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

/// Leaves XCR0 with x87 and SSE, or skips the test where ring 3 executes with another XCR0: on a para-virtual KVM it
/// may be that of the host.
pub fn use_own_xcr0() {
    if let Err(exception) = vector::enable(0) {
        skip!("this machine does not execute XSETBV: {exception:?}");
    }
    if vector::xcr0() != vector::SSE && !has(Needs::EXACT) {
        skip!("XCR0 does not reach ring 3 on this machine");
    }
}

/// Skips the test if an instruction was to raise something and did not, on a machine where control registers do not
/// reach ring 3: `what` was written.
pub fn reaches_ring_3(raised: Option<Raised>, what: &str) {
    if raised.is_none() && !has(Needs::EXACT) {
        skip!("{what} does not reach ring 3 on this machine");
    }
}
