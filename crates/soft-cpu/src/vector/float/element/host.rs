//! Whole vectors by the host's arithmetic, where every element is plain: rounded to nearest, from normal numbers and
//! zeros to normal numbers and zeros, and nothing to note. Loops over 16 bytes, of which the compiler makes operations
//! of the host.

use super::FloatElement;
use crate::float::arithmetic::{Signs, is_exact_fused, ordinary};
use crate::float::{Float, Operation};
use crate::vector::{Operands, Vector};
use soft_arithmetic::real::{plainly_exact, two_sum};
use soft_arithmetic::rounding::Rounding;

/// Neither rounded up from tiny, nor infinite, nor a NaN.
#[inline(always)]
fn normal<R: Float>(value: R) -> bool {
    (value.magnitude() > R::MIN_NORMAL) & value.finite()
}

/// result = f(a, b) if `fine` holds of all operands and results.
#[inline(always)]
fn zip<R: Float + FloatElement>(
    o: &mut Operands<'_>,
    f: impl Fn(R, R) -> R,
    fine: impl Fn(R, R, R) -> bool,
) -> bool {
    let mut all = Vector::ZERO;
    let mut odd = 0_u32;
    let sources = R::quarters(o.a).iter().zip(R::quarters(o.b));
    for (results, (a, b)) in R::quarters_mut(&mut all).iter_mut().zip(sources).take(o.bytes / 16) {
        for (result, (a, b)) in results.as_mut().iter_mut().zip(a.as_ref().iter().zip(b.as_ref())) {
            let value = f(*a, *b);
            *result = value;
            odd |= u32::from(!(ordinary(*a) & ordinary(*b) & fine(*a, *b, value)));
        }
    }
    if odd == 0 {
        *o.result = all;
    }
    odd == 0
}

/// True if it was done.
#[inline(always)]
pub(super) fn arithmetic<R: Float + FloatElement>(o: &mut Operands<'_>, operation: Operation) -> bool {
    // The elements of scalars have others beside them that do not count.
    if o.bytes < 16 || o.env.rounding() != Rounding::Nearest {
        return false;
    }
    let known = o.env.exactness_known();
    match operation {
        Operation::Add if known => zip::<R>(o, R::add, |_, _, value| normal(value) | (value == R::ZERO)),
        Operation::Add => zip::<R>(o, R::add, |a, b, value| {
            (normal(value) | (value == R::ZERO)) & (two_sum(a, b, value) == R::ZERO)
        }),
        Operation::Sub if known => zip::<R>(o, R::sub, |_, _, value| normal(value) | (value == R::ZERO)),
        Operation::Sub => zip::<R>(o, R::sub, |a, b, value| {
            (normal(value) | (value == R::ZERO)) & (two_sum(a, b.negate(), value) == R::ZERO)
        }),
        Operation::Mul if known => zip::<R>(o, R::mul, |a, b, value| {
            normal(value) | (value == R::ZERO) & ((a == R::ZERO) | (b == R::ZERO))
        }),
        Operation::Mul => zip::<R>(o, R::mul, |a, b, value| {
            (value == R::ZERO) & ((a == R::ZERO) | (b == R::ZERO))
                || normal(value) && plainly_exact(Operation::Mul, a, b, value)
        }),
        Operation::Div if known => {
            zip::<R>(o, R::div, |a, _, value| normal(value) | (value == R::ZERO) & (a == R::ZERO))
        }
        Operation::Div => false,
    }
}

/// Element by element: first factor, second factor, addend.
#[inline(always)]
fn fuse<R: Float + FloatElement>(o: &mut Operands<'_>, signs: Signs, [x, y, z]: [&Vector; 3]) -> bool {
    let known = o.env.exactness_known();
    let mut all = Vector::ZERO;
    let mut odd = 0_u32;
    let sources = R::quarters(x).iter().zip(R::quarters(y)).zip(R::quarters(z));
    for (results, ((x, y), z)) in R::quarters_mut(&mut all).iter_mut().zip(sources).take(o.bytes / 16) {
        let sources = x.as_ref().iter().zip(y.as_ref()).zip(z.as_ref());
        for (result, ((x, y), z)) in results.as_mut().iter_mut().zip(sources) {
            let plain = ordinary(*x) & ordinary(*y) & ordinary(*z);
            let x = if signs.product { x.negate() } else { *x };
            let z = if signs.addend { z.negate() } else { *z };
            let value = x.fused(*y, z);
            *result = value;
            let zero = (x == R::ZERO) | (*y == R::ZERO);
            let fine = normal(value) | (value == R::ZERO) & zero;
            odd |= u32::from(!(plain & fine));
        }
    }
    if odd == 0 && !known {
        let sources = R::quarters(x).iter().zip(R::quarters(y)).zip(R::quarters(z));
        for (results, ((x, y), z)) in R::quarters(&all).iter().zip(sources).take(o.bytes / 16) {
            let sources = x.as_ref().iter().zip(y.as_ref()).zip(z.as_ref());
            for (value, ((x, y), z)) in results.as_ref().iter().zip(sources) {
                let x = if signs.product { x.negate() } else { *x };
                let z = if signs.addend { z.negate() } else { *z };
                let zero = *value == R::ZERO;
                odd |= u32::from(!(zero || is_exact_fused(x, *y, z, *value)));
            }
        }
    }
    if odd == 0 {
        *o.result = all;
    }
    odd == 0
}

/// The same with the host's own fused multiply-add, which the compiler's baseline lacks.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fuse_by_host<R: Float + FloatElement>(o: &mut Operands<'_>, signs: Signs, sources: [&Vector; 3]) -> bool {
    fuse::<R>(o, signs, sources)
}

/// True if it was done. What it gives does not depend on the host: a fused multiply-add is rounded once everywhere.
#[allow(unsafe_code, reason = "calls a function for CPUs with AVX2 and FMA after a check of the host")]
pub(super) fn fused<R: Float + FloatElement>(
    o: &mut Operands<'_>,
    signs: Signs,
    sources: [&Vector; 3],
) -> bool {
    if o.bytes < 16 || o.env.rounding() != Rounding::Nearest {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host has both features.
        return unsafe { fuse_by_host::<R>(o, signs, sources) };
    }
    fuse::<R>(o, signs, sources)
}
