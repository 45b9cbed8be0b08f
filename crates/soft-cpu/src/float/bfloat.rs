//! bfloat16 (SDM volume 2, VCVTNE2PS2BF16 and VDPBF16PS): rounding to nearest, subnormal numbers are zero on both
//! sides, and nothing of MXCSR has a say.

use super::arithmetic::{Signs, fused};
use super::environment::{DAZ, Env, FTZ};
use crate::low::Low;

/// From single precision.
pub(crate) fn narrow(a: f32) -> u16 {
    let bits = a.to_bits();
    let high = (bits >> 16).low_u16();
    if a.is_nan() {
        return high | 0x40;
    }
    if a.is_subnormal() {
        return high & 0x8000;
    }
    // To nearest, ties to even; the largest numbers become infinite.
    ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).low_u16()
}

/// The environment of dot products.
pub(crate) fn environment() -> Env {
    Env::new(0x1F80 | DAZ | FTZ | 0x20)
}

/// `sum` and the product of two bfloat16.
pub(crate) fn accumulate(env: &mut Env, sum: f32, a: u16, b: u16) -> f32 {
    let wide = |x: u16| f32::from_bits(u32::from(x) << 16);
    fused(env, Signs { product: false, addend: false }, [wide(a), wide(b), sum], [0, 1, 2])
}
