//! What vector code does most: additions, logic and comparisons of whole registers, each with a handler of its own.

use super::Vector;
use super::execute::parts;
use super::quick::Block;
use crate::bus::Bus;
use crate::context::Core;
use crate::exec::Insn;
use crate::exec::operand;
use crate::sse::lane::Element;

/// An operation on 128 bits of two sources.
pub(crate) trait Binary {
    fn apply(a: &u128, b: &u128) -> u128;
}

macro_rules! binary {
    ($($name:ident = $t:ty, |$a:ident, $b:ident| $body:expr;)*) => { $(
        pub(crate) struct $name;
        impl Binary for $name {
            #[inline(always)]
            fn apply(a: &u128, b: &u128) -> u128 {
                let mut result = *a;
                let pairs = <$t>::elements_mut(&mut result).iter_mut().zip(<$t>::elements(b));
                for (to, $b) in pairs {
                    let $a = *to;
                    *to = $body;
                }
                result
            }
        }
    )* };
}
binary! {
    Paddb = u8, |a, b| a.wrapping_add(b);
    Paddw = u16, |a, b| a.wrapping_add(b);
    Paddd = u32, |a, b| a.wrapping_add(b);
    Paddq = u64, |a, b| a.wrapping_add(b);
    Psubb = u8, |a, b| a.wrapping_sub(b);
    Psubw = u16, |a, b| a.wrapping_sub(b);
    Psubd = u32, |a, b| a.wrapping_sub(b);
    Psubq = u64, |a, b| a.wrapping_sub(b);
    Pand = u64, |a, b| a & b;
    Pandn = u64, |a, b| !a & b;
    Por = u64, |a, b| a | b;
    Pxor = u64, |a, b| a ^ b;
    Pcmpeqb = u8, |a, b| if a == b { !0 } else { 0 };
    Pcmpeqw = u16, |a, b| if a == b { !0 } else { 0 };
    Pcmpeqd = u32, |a, b| if a == b { !0 } else { 0 };
    Pcmpgtb = i8, |a, b| if a > b { !0 } else { 0 };
    Pcmpgtd = i32, |a, b| if a > b { !0 } else { 0 };
    Pminub = u8, |a, b| a.min(b);
    Pmaxub = u8, |a, b| a.max(b);
    Copy = u64, |_a, b| b;
    Pmulld = u32, |a, b| a.wrapping_mul(b);
}

/// On the lowest quarters of the registers; what is above becomes 0.
#[inline(always)]
fn apply<O: Binary, const QUARTERS: usize>(a: &Vector, b: &Vector) -> Vector {
    let mut result = Vector::ZERO;
    let sources = a.0.iter().zip(&b.0);
    for (result, (a, b)) in result.0.iter_mut().zip(sources).take(QUARTERS) {
        *result = O::apply(a, b);
    }
    result
}

#[inline(always)]
pub(crate) fn registers<B: Bus, O: Binary, const QUARTERS: usize>(
    c: &mut Core,
    _b: &mut B,
    i: &Insn<B>,
) -> bool {
    if c.vector & parts(i).code.needed() == 0 {
        return false;
    }
    *c.xmm.get_mut(i.dst) = apply::<O, QUARTERS>(c.xmm.get(i.aux), c.xmm.get(i.src));
    true
}

/// The last source in memory, of the length that the type has.
#[inline(always)]
pub(crate) fn load<B: Bus, O: Binary, T: Block>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
    if c.vector & parts(i).code.needed() == 0 {
        return false;
    }
    let Some(linear) = operand::quick_linear(c, i) else { return false };
    let Some(source) = c.quick_load::<T, B>(b, i, linear) else { return false };
    let (a, source) = (c.xmm.get(i.aux), source.vector());
    let result = match T::BYTES {
        16 => apply::<O, 1>(a, &source),
        32 => apply::<O, 2>(a, &source),
        _ => apply::<O, 4>(a, &source),
    };
    *c.xmm.get_mut(i.dst) = result;
    true
}

/// VPMOVMSKB: the sign bits of the bytes of so many quarters.
#[inline(always)]
pub(crate) fn byte_signs<B: Bus, const QUARTERS: usize>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> bool {
    if c.vector & parts(i).code.needed() == 0 {
        return false;
    }
    // A product brings the bits of eight bytes together in the highest one.
    let signs = |word: u64| ((word >> 7) & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let words = c.xmm.get(i.src).elements::<u64>().iter().take(2 * QUARTERS);
    let all = words.rev().fold(0, |all, word| all << 8 | signs(*word));
    c.regs[usize::from(i.dst & 15)] = all;
    true
}
