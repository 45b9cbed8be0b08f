//! Operations on all elements alike, in loops over 16 bytes of which the compiler makes operations of the host.

use super::{Element, Operands, Vector};

/// result = f(b).
#[inline(always)]
pub(crate) fn map<E: Element>(o: &mut Operands<'_>, f: impl Fn(E) -> E) {
    let quarters = E::quarters_mut(o.result).iter_mut().zip(E::quarters(o.b));
    for (result, b) in quarters.take(o.bytes.div_ceil(16)) {
        for (result, b) in result.as_mut().iter_mut().zip(b.as_ref()) {
            *result = f(*b);
        }
    }
}

/// result = f(a, b).
#[inline(always)]
pub(crate) fn zip<E: Element>(o: &mut Operands<'_>, f: impl Fn(E, E) -> E) {
    let sources = E::quarters(o.a).iter().zip(E::quarters(o.b));
    for (result, (a, b)) in E::quarters_mut(o.result).iter_mut().zip(sources).take(o.bytes.div_ceil(16)) {
        for (result, (a, b)) in result.as_mut().iter_mut().zip(a.as_ref().iter().zip(b.as_ref())) {
            *result = f(*a, *b);
        }
    }
}

/// result = f(a, b), 128 bits at a time: what AVX defines lane by lane as SSE does.
#[inline(always)]
pub(crate) fn by_lane(o: &mut Operands<'_>, f: impl Fn(u128, u128) -> u128) {
    let sources = o.a.0.iter().zip(&o.b.0);
    for (result, (a, b)) in o.result.0.iter_mut().zip(sources).take(o.bytes.div_ceil(16)) {
        *result = f(*a, *b);
    }
}

/// Elements as `f` of their number says, up to the vector length.
#[inline(always)]
pub(crate) fn build<E: Element>(bytes: usize, mut f: impl FnMut(usize) -> E) -> Vector {
    let mut all = Vector::ZERO;
    for (n, element) in all.elements_mut::<E>().iter_mut().take(bytes / E::BYTES).enumerate() {
        *element = f(n);
    }
    all
}

/// A mask: the bits for whose elements `f` of their number holds.
#[inline(always)]
pub(crate) fn mask(count: usize, f: impl Fn(usize) -> bool) -> Vector {
    let mut flags = [0; 64];
    for (n, flag) in flags.iter_mut().enumerate().take(count) {
        *flag = f(n).into();
    }
    Vector::from_low(pack(&flags))
}

/// The same with `f` of the elements of two vectors.
#[inline(always)]
pub(crate) fn mask_of<E: Element>(bytes: usize, a: &Vector, b: &Vector, f: impl Fn(E, E) -> bool) -> Vector {
    let mut flags = [0; 64];
    let pairs = a.elements::<E>().iter().zip(b.elements::<E>());
    for (flag, (a, b)) in flags.iter_mut().zip(pairs).take(bytes / E::BYTES) {
        *flag = f(*a, *b).into();
    }
    Vector::from_low(pack(&flags))
}

/// The lowest bit of each byte.
#[inline(always)]
fn pack(flags: &[u8; 64]) -> u64 {
    // A product brings the bits of eight bytes together in the highest one.
    let (words, _) = flags.as_chunks::<8>();
    let bits = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    words.iter().rev().fold(0, |all, word| all << 8 | bits(word))
}
