//! Multiplications that add to the destination: dot products of VNNI, and IFMA's products of 52 bits.

use super::{Description, Element, Operands};
use iced_x86::{Instruction, Mnemonic as M};

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    macro_rules! bytes {
        ($a:ty, $b:ty, $sum:expr) => {
            Description::packed(|o| dot::<$a, $b>(o, $sum), 4)
        };
    }
    Some(match ins.mnemonic() {
        M::Vpdpbusd => bytes!(u8, i8, Sum::Wraps),
        M::Vpdpbusds => bytes!(u8, i8, Sum::Signed),
        M::Vpdpbssd => bytes!(i8, i8, Sum::Wraps),
        M::Vpdpbssds => bytes!(i8, i8, Sum::Signed),
        M::Vpdpbsud => bytes!(i8, u8, Sum::Wraps),
        M::Vpdpbsuds => bytes!(i8, u8, Sum::Signed),
        M::Vpdpbuud => bytes!(u8, u8, Sum::Wraps),
        M::Vpdpbuuds => bytes!(u8, u8, Sum::Unsigned),
        M::Vpdpwssd => bytes!(i16, i16, Sum::Wraps),
        M::Vpdpwssds => bytes!(i16, i16, Sum::Signed),
        M::Vpdpwsud => bytes!(i16, u16, Sum::Wraps),
        M::Vpdpwsuds => bytes!(i16, u16, Sum::Signed),
        M::Vpdpwusd => bytes!(u16, i16, Sum::Wraps),
        M::Vpdpwusds => bytes!(u16, i16, Sum::Signed),
        M::Vpdpwuud => bytes!(u16, u16, Sum::Wraps),
        M::Vpdpwuuds => bytes!(u16, u16, Sum::Unsigned),
        M::Vpmadd52luq => Description::packed(|o| multiply_52(o, |product| product), 8),
        M::Vpmadd52huq => Description::packed(|o| multiply_52(o, |product| product >> 52), 8),
        _ => return None,
    })
}

/// What becomes of a sum that 32 bits cannot hold.
#[derive(Clone, Copy)]
enum Sum {
    /// Its low bits.
    Wraps,
    /// The nearest signed number.
    Signed,
    /// The nearest unsigned number.
    Unsigned,
}

/// Adds to each 32 bits of the destination the products of the elements within.
#[inline(always)]
fn dot<A: Element + Into<i64>, B: Element + Into<i64>>(o: &mut Operands<'_>, sum: Sum) {
    let of_each = 4 / A::BYTES;
    let (a, b) = (o.a.elements::<A>(), o.b.elements::<B>());
    let pairs = a.chunks_exact(of_each).zip(b.chunks_exact(of_each));
    let results = o.result.elements_mut::<u32>().iter_mut().take(o.bytes / 4);
    for (result, (a, b)) in results.zip(pairs) {
        let products = a.iter().zip(b).map(|(a, b)| -> i64 { (*a).into() * (*b).into() }).sum::<i64>();
        *result = match sum {
            Sum::Wraps => (i64::from(*result) + products) as u32,
            Sum::Signed => {
                (i64::from(*result as i32) + products).clamp(i32::MIN.into(), i32::MAX.into()) as u32
            }
            Sum::Unsigned => (i64::from(*result) + products).min(u32::MAX.into()) as u32,
        };
    }
}

/// Adds 52 bits of the products of 52 bits, those that `part` shifts down.
#[inline(always)]
fn multiply_52(o: &mut Operands<'_>, part: impl Fn(u128) -> u128) {
    const LOW: u64 = (1 << 52) - 1;
    let sources = o.a.elements::<u64>().iter().zip(o.b.elements::<u64>());
    let results = o.result.elements_mut::<u64>().iter_mut().take(o.bytes / 8);
    for (result, (a, b)) in results.zip(sources) {
        let product = u128::from(a & LOW) * u128::from(b & LOW);
        *result = result.wrapping_add(part(product) as u64 & LOW);
    }
}
