//! Workloads of floating-point arithmetic.

use core::hint::black_box;

/// Four multiplications and four additions, each waiting for the one before it.
#[inline(never)]
pub(crate) fn multiply(_: &mut [u64], iterations: u64) -> u64 {
    // A fixed point at 1 that pulls: the values stay normal numbers for ever.
    let (factor, rest) = (black_box(0.75_f64), black_box(0.25_f64));
    let mut x = 2.0 + iterations as f64;
    let mut steps = 0.0_f64;
    for _ in 0..iterations {
        for _ in 0..4 {
            x = x * factor + rest;
        }
        steps += 1.0;
    }
    x.to_bits() ^ steps.to_bits()
}

/// Bit patterns of small numbers: four lines of eight words, two lines for each precision.
pub(crate) fn prepare_flops(memory: &mut [u64]) {
    for (index, word) in memory.iter_mut().enumerate() {
        let small = 1.0 + (index % 8) as f64 / 16.0;
        *word = if index < 32 {
            small.to_bits()
        } else {
            let half = u64::from((small as f32).to_bits());
            half << 32 | half
        };
    }
}

/// Eight chains of multiplications and additions: four of two doubles, four of four singles. The compiler
/// makes packed instructions of the inner loops.
#[inline(never)]
pub(crate) fn flops(memory: &mut [u64], iterations: u64) -> u64 {
    let mut doubles: [f64; 8] = core::array::from_fn(|i| f64::from_bits(memory[i]));
    let mut singles: [f32; 16] = core::array::from_fn(|i| f32::from_bits(memory[32 + i / 2] as u32));
    let (factor, rest) = (black_box(0.75_f64), black_box(0.25_f64));
    let (narrow_factor, narrow_rest) = (black_box(0.75_f32), black_box(0.25_f32));
    let mut steps = 0_u64;
    for _ in 0..iterations {
        for x in &mut doubles {
            *x = *x * factor + rest;
        }
        for x in &mut singles {
            *x = *x * narrow_factor + narrow_rest;
        }
        steps = steps.wrapping_add(1);
    }
    let wide = doubles.iter().fold(steps, |sum, x| sum.rotate_left(3) ^ x.to_bits());
    singles.iter().fold(wide, |sum, x| sum.rotate_left(3) ^ u64::from(x.to_bits()))
}
