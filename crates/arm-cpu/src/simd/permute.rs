//! Elements in other places: ZIP, UZP, TRN, EXT, TBL, TBX, DUP and INS.

use super::form::{end, number};
use crate::context::Core;
use crate::exec::Operands;
use soft_arithmetic::lane::Element;
use soft_base::Low;

/// Which element of the sources each of the result's is.
pub(crate) trait Permutation {
    /// Element `n` of `count`: from the second source, and which one.
    fn source(n: usize, count: usize) -> (bool, usize);
}

/// ZIP1, and with `SECOND` ZIP2.
pub(crate) struct Zip<const SECOND: bool>;
/// UZP1 and UZP2.
pub(crate) struct Unzip<const SECOND: bool>;
/// TRN1 and TRN2.
pub(crate) struct Transpose<const SECOND: bool>;

impl<const SECOND: bool> Permutation for Zip<SECOND> {
    #[inline(always)]
    fn source(n: usize, count: usize) -> (bool, usize) {
        (!n.is_multiple_of(2), n / 2 + if SECOND { count / 2 } else { 0 })
    }
}

impl<const SECOND: bool> Permutation for Unzip<SECOND> {
    #[inline(always)]
    fn source(n: usize, count: usize) -> (bool, usize) {
        let at = 2 * n + usize::from(SECOND);
        (at >= count, at % count)
    }
}

impl<const SECOND: bool> Permutation for Transpose<SECOND> {
    #[inline(always)]
    fn source(n: usize, _count: usize) -> (bool, usize) {
        (!n.is_multiple_of(2), n / 2 * 2 + usize::from(SECOND))
    }
}

/// A permutation of two vectors with as many elements as all of a register, or half of it.
#[inline(always)]
pub(crate) fn permute<P: Permutation, T: Element>(c: &mut Core, i: &Operands) {
    let (a, b) = (T::elements(&c.v[number(i.rn)]), T::elements(&c.v[number(i.rm)]));
    let count = if i.more == 0 { T::COUNT / 2 } else { T::COUNT };
    let d = T::elements_mut(&mut c.v[number(i.rd)]).as_mut();
    for (n, d) in d.iter_mut().enumerate().take(count) {
        let (second, at) = P::source(n, count);
        *d = if second { b.as_ref()[at] } else { a.as_ref()[at] };
    }
    end(c, i);
}

/// EXT: bytes from number `imm` on.
#[inline(always)]
pub(crate) fn ext(c: &mut Core, i: &Operands) {
    let (a, b) = (c.v[number(i.rn)], c.v[number(i.rm)]);
    let shift = 8 * i.imm.low_u32();
    c.v[number(i.rd)] = match (i.more, shift) {
        (_, 0) => a,
        (0, _) => u128::from(
            (u128::from(a.low_u64()) | u128::from(b.low_u64()) << 64).wrapping_shr(shift).low_u64(),
        ),
        _ => a >> (shift & 127) | b << ((128 - shift) & 127),
    };
    end(c, i);
}

/// TBL, and with `KEEP` TBX: bytes of `aux` registers; what is beyond them is 0 or stays.
#[inline(always)]
pub(crate) fn table<const KEEP: bool>(c: &mut Core, i: &Operands) {
    let mut bytes = [0; 64];
    for (n, chunk) in (0..i.aux).zip(bytes.chunks_exact_mut(16)) {
        chunk.copy_from_slice(&c.v[number(i.rn.wrapping_add(n))].to_le_bytes());
    }
    let bytes = &bytes[..16 * usize::from(i.aux.min(4))];
    let indices = u8::elements(&c.v[number(i.rm)]);
    let d = u8::elements_mut(&mut c.v[number(i.rd)]);
    for (d, index) in d.iter_mut().zip(indices) {
        *d = match bytes.get(usize::from(index)) {
            Some(byte) => *byte,
            None if KEEP => *d,
            None => 0,
        };
    }
    end(c, i);
}

/// DUP of element `imm`; all of the register, or half of it.
#[inline(always)]
pub(crate) fn dup<T: Element>(c: &mut Core, i: &Operands) {
    let element = T::elements(&c.v[number(i.rn)]).as_ref()[i.imm.low_usize() % T::COUNT];
    T::elements_mut(&mut c.v[number(i.rd)]).as_mut().fill(element);
    end(c, i);
}

/// DUP of element `imm` to a scalar.
#[inline(always)]
pub(crate) fn dup_scalar<T: Element>(c: &mut Core, i: &Operands) {
    let element = T::elements(&c.v[number(i.rn)]).as_ref()[i.imm.low_usize() % T::COUNT];
    c.v[number(i.rd)] = element.bits();
}

/// INS of element `imm` of the source to element `aux`.
#[inline(always)]
pub(crate) fn ins<T: Element>(c: &mut Core, i: &Operands) {
    let element = T::elements(&c.v[number(i.rn)]).as_ref()[i.imm.low_usize() % T::COUNT];
    T::elements_mut(&mut c.v[number(i.rd)]).as_mut()[usize::from(i.aux) % T::COUNT] = element;
}
