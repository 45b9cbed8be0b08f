//! In which way an operation on elements is applied to vectors.
//!
//! Of [`Operands`], `aux` is the number of elements of the result where that varies, and `more` is not 0 for vectors
//! of 128 bits, and for what works on the upper half of a register (instructions with a 2 in their names).

use crate::context::Core;
use crate::exec::Operands;
use crate::fp::Env;
use soft_arithmetic::lane::{Element, Lane, Widen};
use soft_base::Low;

/// An operation on elements: an element of the result from the destination's, the first and the second source's.
pub(crate) trait Op<D, A = D, B = A> {
    /// It depends on nothing but the elements, and changes nothing: it may be applied to elements that are not wanted.
    const PURE: bool = true;
    fn apply(env: &mut Env, d: D, a: A, b: B) -> D;
}

/// Where elements of the second source come from.
pub(crate) trait Source {
    fn all<B: Element>(c: &Core, i: &Operands) -> B::All;
    fn first<B: Element>(c: &Core, i: &Operands) -> B;
}

/// Register Rm.
pub(crate) enum Register {}
/// Element `imm` of register Rm.
pub(crate) enum Indexed {}
/// The immediate operand, or 0.
pub(crate) enum Immediate {}

impl Source for Register {
    #[inline(always)]
    fn all<B: Element>(c: &Core, i: &Operands) -> B::All {
        B::elements(&c.v[number(i.rm)])
    }
    #[inline(always)]
    fn first<B: Element>(c: &Core, i: &Operands) -> B {
        B::low(c.v[number(i.rm)])
    }
}

impl Source for Indexed {
    #[inline(always)]
    fn all<B: Element>(c: &Core, i: &Operands) -> B::All {
        Self::first::<B>(c, i).broadcast()
    }
    #[inline(always)]
    fn first<B: Element>(c: &Core, i: &Operands) -> B {
        B::elements(&c.v[number(i.rm)]).as_ref()[i.imm.low_usize() % B::COUNT]
    }
}

impl Source for Immediate {
    #[inline(always)]
    fn all<B: Element>(_c: &Core, i: &Operands) -> B::All {
        B::low(i.imm.into()).broadcast()
    }
    #[inline(always)]
    fn first<B: Element>(_c: &Core, i: &Operands) -> B {
        B::low(i.imm.into())
    }
}

/// A vector register's number as an index that needs no check.
#[inline(always)]
pub(crate) fn number(register: u8) -> usize {
    usize::from(register & 31)
}

/// Clears the upper half of the destination of an operation on vectors of 64 bits.
#[inline(always)]
pub(crate) fn end(c: &mut Core, i: &Operands) {
    if i.more == 0 {
        let register = &mut c.v[number(i.rd)];
        *register = u128::from(register.low_u64());
    }
}

/// Element by element.
#[inline(always)]
pub(crate) fn same<O, D, A, B, S>(c: &mut Core, i: &Operands)
where
    (D, A, B): Equal,
    D: Element,
    A: Element,
    B: Element,
    S: Source,
    O: Op<D, A, B>,
{
    let (a, b) = (A::elements(&c.v[number(i.rn)]), S::all::<B>(c, i));
    let (a, b) = (a.as_ref(), b.as_ref());
    let d = D::elements_mut(&mut c.v[number(i.rd)]).as_mut();
    let count = if O::PURE { D::COUNT } else { usize::from(i.aux).min(D::COUNT) };
    for n in 0..count {
        d[n] = O::apply(&mut c.fp, d[n], a[n], b[n]);
    }
    end(c, i);
}

/// Elements of the same width, which a vector has the same number of.
pub(crate) trait Equal {}
macro_rules! equal {
    ($($bits:literal: $($t:ty)*;)*) => { $( equal!(@ $($t)*, ($($t)*)); )* };
    (@ $($d:ty)*, $all:tt) => { $( equal!(@@ $d, $all, $all); )* };
    (@@ $d:ty, ($($a:ty)*), $all:tt) => { $( equal!(@@@ $d, $a, $all); )* };
    (@@@ $d:ty, $a:ty, ($($b:ty)*)) => { $( impl Equal for ($d, $a, $b) {} )* };
}
equal!(8: u8 i8; 16: u16 i16; 32: u32 i32 f32; 64: u64 i64 f64;);

/// The lowest elements alone.
#[inline(always)]
pub(crate) fn scalar<O: Op<D, A, B>, D: Lane, A: Lane, B: Element, S: Source>(c: &mut Core, i: &Operands) {
    let (a, b) = (A::low(c.v[number(i.rn)]), S::first::<B>(c, i));
    let d = D::low(c.v[number(i.rd)]);
    c.v[number(i.rd)] = O::apply(&mut c.fp, d, a, b).bits();
}

/// Neighbours in the first source and, behind it, the second.
#[inline(always)]
pub(crate) fn pairwise<O: Op<T>, T: Element>(c: &mut Core, i: &Operands) {
    let (a, b) = (T::elements(&c.v[number(i.rn)]), T::elements(&c.v[number(i.rm)]));
    let (a, b) = (a.as_ref(), b.as_ref());
    let d = T::elements_mut(&mut c.v[number(i.rd)]).as_mut();
    let count = usize::from(i.aux).min(T::COUNT);
    let half = count / 2;
    for n in 0..half {
        d[n] = O::apply(&mut c.fp, d[n], a[2 * n], a[2 * n + 1]);
    }
    for n in 0..half {
        d[n + half] = O::apply(&mut c.fp, d[n + half], b[2 * n], b[2 * n + 1]);
    }
    end(c, i);
}

/// All elements of the source, of which there are 2, 4, 8 or 16: first neighbours, then what they give.
#[inline(always)]
pub(crate) fn across<O: Op<T>, T: Element>(c: &mut Core, i: &Operands) {
    let all = T::elements(&c.v[number(i.rn)]);
    c.v[number(i.rd)] = fold::<O, T>(&mut c.fp, all, i).bits();
}

#[inline(always)]
fn fold<O: Op<T>, T: Element>(env: &mut Env, mut all: T::All, i: &Operands) -> T {
    let all = all.as_mut();
    let mut count = usize::from(i.aux).min(T::COUNT);
    while count > 1 {
        count /= 2;
        for n in 0..count {
            all[n] = O::apply(env, all[n], all[2 * n], all[2 * n + 1]);
        }
    }
    all[0]
}

/// The same on elements twice as wide.
#[inline(always)]
pub(crate) fn across_long<O: Op<T::Wide>, T: Widen>(c: &mut Core, i: &Operands) {
    let all = T::elements(&c.v[number(i.rn)]);
    let all = all.as_ref().iter().take(i.aux.into()).map(|element| element.widen());
    let zero = T::Wide::low(0);
    c.v[number(i.rd)] = all.fold(zero, |sum, element| O::apply(&mut c.fp, sum, sum, element)).bits();
}

/// Where the narrow elements of a register begin that are meant: in its lower or its upper half.
#[inline(always)]
fn half<W: Element>(i: &Operands) -> usize {
    if i.more == 0 { 0 } else { W::COUNT }
}

/// Narrow sources, which are widened; a wide result.
#[inline(always)]
pub(crate) fn long<O: Op<N::Wide>, N: Widen, S: Source>(c: &mut Core, i: &Operands) {
    let (a, b) = (N::elements(&c.v[number(i.rn)]), S::all::<N>(c, i));
    let from = half::<N::Wide>(i);
    let (a, b) = (a.as_ref()[from..].iter(), b.as_ref()[from..].iter());
    let d = N::Wide::elements_mut(&mut c.v[number(i.rd)]).as_mut();
    for (d, (a, b)) in d.iter_mut().zip(a.zip(b)) {
        *d = O::apply(&mut c.fp, *d, a.widen(), b.widen());
    }
}

/// The lowest elements alone.
#[inline(always)]
pub(crate) fn scalar_long<O: Op<N::Wide>, N: Widen, S: Source>(c: &mut Core, i: &Operands) {
    let (a, b) = (N::low(c.v[number(i.rn)]).widen(), S::first::<N>(c, i).widen());
    let d = N::Wide::low(c.v[number(i.rd)]);
    c.v[number(i.rd)] = O::apply(&mut c.fp, d, a, b).bits();
}

/// A wide source and a narrow one, which is widened.
#[inline(always)]
pub(crate) fn wide<O: Op<N::Wide>, N: Widen>(c: &mut Core, i: &Operands) {
    let a = N::Wide::elements(&c.v[number(i.rn)]);
    let b = N::elements(&c.v[number(i.rm)]);
    let b = b.as_ref()[half::<N::Wide>(i)..].iter();
    let d = N::Wide::elements_mut(&mut c.v[number(i.rd)]).as_mut();
    for (d, (a, b)) in d.iter_mut().zip(a.as_ref().iter().zip(b)) {
        *d = O::apply(&mut c.fp, *d, *a, b.widen());
    }
}

/// Neighbours, which are widened.
#[inline(always)]
pub(crate) fn pairwise_long<O: Op<N::Wide>, N: Widen>(c: &mut Core, i: &Operands) {
    let a = N::elements(&c.v[number(i.rn)]);
    let d = N::Wide::elements_mut(&mut c.v[number(i.rd)]).as_mut();
    for (d, a) in d.iter_mut().zip(a.as_ref().chunks_exact(2)) {
        *d = O::apply(&mut c.fp, *d, a[0].widen(), a[1].widen());
    }
    end(c, i);
}

/// Narrow elements, each of which makes a wide one.
#[inline(always)]
pub(crate) fn lengthen<O: Op<W, N, N>, W: Element, N: Element>(c: &mut Core, i: &Operands) {
    let a = N::elements(&c.v[number(i.rn)]);
    let a = a.as_ref()[half::<W>(i)..].iter();
    let d = W::elements_mut(&mut c.v[number(i.rd)]).as_mut();
    for (d, a) in d.iter_mut().zip(a) {
        *d = O::apply(&mut c.fp, *d, *a, *a);
    }
}

/// Wide sources, a narrow result: in the lower half, above which is 0, or in the upper half, below which all stays.
#[inline(always)]
pub(crate) fn narrow<O: Op<N, W, W>, N: Element, W: Element, S: Source>(c: &mut Core, i: &Operands) {
    let (a, b) = (W::elements(&c.v[number(i.rn)]), S::all::<W>(c, i));
    let (a, b) = (a.as_ref().iter(), b.as_ref().iter());
    let d = N::elements_mut(&mut c.v[number(i.rd)]).as_mut();
    let d = d[half::<W>(i)..].iter_mut();
    for (d, (a, b)) in d.zip(a.zip(b)) {
        *d = O::apply(&mut c.fp, *d, *a, *b);
    }
    end(c, i);
}
