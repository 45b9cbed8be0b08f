//! Sums, products, quotients and fused multiply-adds of whole vectors, for what nearly all of them are: rounded to
//! nearest with PE masked and set before, from normal numbers and zeros to normal numbers and zeros. Then nothing is
//! to be noted, and no mask, broadcast or exception comes in between. The description's operation does the rest, and
//! is what tests compare with.

use super::FloatElement;
use crate::float::Float;
use crate::float::arithmetic::ordinary;
use crate::vector::Vector;
use iced_x86::{Instruction, Mnemonic as M};

/// Of destination and sources, with a vector length in bytes; the result is zero before. False if an element is not
/// plain: then the result is of no use.
pub(crate) type Kernel = fn(&mut Vector, [&Vector; 3], usize) -> bool;

/// An operation on one element of each operand.
trait Ternary<R> {
    /// The result, and whether it is plain.
    fn apply(old: R, a: R, b: R) -> (R, bool);
}

/// Neither rounded up from tiny, nor infinite, nor a NaN.
#[inline(always)]
fn normal<R: Float>(value: R) -> bool {
    (value.magnitude() > R::MIN_NORMAL) & value.finite()
}

struct Sum;
struct Difference;
struct Product;
struct Quotient;
/// `FORM` is 132, 213 or 231; the product, or the addend, with the other sign.
struct Fused<const FORM: u16, const PRODUCT: bool, const ADDEND: bool>;

macro_rules! binary {
    ($($name:ident, $f:ident, |$a:ident, $b:ident| $zero:expr;)*) => { $(
        impl<R: Float> Ternary<R> for $name {
            #[inline(always)]
            fn apply(_old: R, $a: R, $b: R) -> (R, bool) {
                let value = $a.$f($b);
                let fine = normal(value) | (value == R::ZERO) & $zero;
                (value, ordinary($a) & ordinary($b) & fine)
            }
        }
    )* };
}
binary! {
    Sum, add, |a, b| true;
    Difference, sub, |a, b| true;
    Product, mul, |a, b| (a == R::ZERO) | (b == R::ZERO);
    Quotient, div, |a, b| a == R::ZERO;
}

impl<R: Float, const FORM: u16, const PRODUCT: bool, const ADDEND: bool> Ternary<R>
    for Fused<FORM, PRODUCT, ADDEND>
{
    #[inline(always)]
    fn apply(old: R, a: R, b: R) -> (R, bool) {
        let (x, y, z) = match FORM {
            132 => (old, b, a),
            213 => (a, old, b),
            _ => (a, b, old),
        };
        let plain = ordinary(x) & ordinary(y) & ordinary(z);
        let x = if PRODUCT { x.negate() } else { x };
        let z = if ADDEND { z.negate() } else { z };
        let value = x.fused(y, z);
        let zero = (x == R::ZERO) | (y == R::ZERO);
        (value, plain & (normal(value) | (value == R::ZERO) & zero))
    }
}

/// As many elements as `bytes` has, of which the compiler makes operations of the host.
#[inline(always)]
fn lanes<R: Float + FloatElement, O: Ternary<R>, const BYTES: usize>(
    result: &mut Vector,
    [old, a, b]: [&Vector; 3],
) -> bool {
    let sources = old.elements::<R>().iter().zip(a.elements::<R>()).zip(b.elements::<R>());
    let mut odd = 0_u32;
    for (to, ((old, a), b)) in result.elements_mut::<R>().iter_mut().zip(sources).take(BYTES / R::BYTES) {
        let (value, plain) = O::apply(*old, *a, *b);
        *to = value;
        odd |= u32::from(!plain);
    }
    odd == 0
}

#[inline(always)]
fn every<R: Float + FloatElement, O: Ternary<R>>(
    result: &mut Vector,
    sources: [&Vector; 3],
    bytes: usize,
) -> bool {
    match bytes {
        16 => lanes::<R, O, 16>(result, sources),
        32 => lanes::<R, O, 32>(result, sources),
        _ => lanes::<R, O, 64>(result, sources),
    }
}

/// The same by the host's registers of 256 bits and its fused multiply-add, which the compiler's baseline lacks.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn every_by_host<R: Float + FloatElement, O: Ternary<R>>(
    result: &mut Vector,
    sources: [&Vector; 3],
    bytes: usize,
) -> bool {
    every::<R, O>(result, sources, bytes)
}

/// All elements. What it gives does not depend on the host: each is rounded once everywhere.
#[allow(unsafe_code, reason = "calls a function for CPUs with AVX2 and FMA after a check of the host")]
fn packed<R: Float + FloatElement, O: Ternary<R>>(
    result: &mut Vector,
    sources: [&Vector; 3],
    bytes: usize,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host has both features.
        return unsafe { every_by_host::<R, O>(result, sources, bytes) };
    }
    every::<R, O>(result, sources, bytes)
}

/// The lowest element; the rest of the quarter is the first source's.
fn scalar<R: Float + FloatElement, O: Ternary<R>>(
    result: &mut Vector,
    [old, a, b]: [&Vector; 3],
    _bytes: usize,
) -> bool {
    result.0[0] = a.0[0];
    lowest::<R, O>(result, [old, a, b])
}

/// The lowest element; the rest of the quarter is the destination's.
fn merge<R: Float + FloatElement, O: Ternary<R>>(
    result: &mut Vector,
    [old, a, b]: [&Vector; 3],
    _bytes: usize,
) -> bool {
    result.0[0] = old.0[0];
    lowest::<R, O>(result, [old, a, b])
}

#[inline(always)]
fn lowest<R: Float + FloatElement, O: Ternary<R>>(result: &mut Vector, [old, a, b]: [&Vector; 3]) -> bool {
    let (value, plain) = O::apply(old.get(0), a.get(0), b.get(0));
    result.set(0, value);
    plain
}

macro_rules! single_and_double {
    ($ins:expr, $shape:ident; $($ps:ident $pd:ident $ss:ident $sd:ident = $op:ty;)*) => {
        match $ins.mnemonic() {
            $(
                M::$ps => packed::<f32, $op>,
                M::$pd => packed::<f64, $op>,
                M::$ss => $shape::<f32, $op>,
                M::$sd => $shape::<f64, $op>,
            )*
            _ => return None,
        }
    };
}

/// The kernel of an instruction, if there is one.
pub(crate) fn of(ins: &Instruction) -> Option<Kernel> {
    simple(ins).or_else(|| fused(ins))
}

fn simple(ins: &Instruction) -> Option<Kernel> {
    Some(single_and_double! { ins, scalar;
        Vaddps Vaddpd Vaddss Vaddsd = Sum;
        Vsubps Vsubpd Vsubss Vsubsd = Difference;
        Vmulps Vmulpd Vmulss Vmulsd = Product;
        Vdivps Vdivpd Vdivss Vdivsd = Quotient;
    })
}

fn fused(ins: &Instruction) -> Option<Kernel> {
    Some(single_and_double! { ins, merge;
        Vfmadd132ps Vfmadd132pd Vfmadd132ss Vfmadd132sd = Fused<132, false, false>;
        Vfmadd213ps Vfmadd213pd Vfmadd213ss Vfmadd213sd = Fused<213, false, false>;
        Vfmadd231ps Vfmadd231pd Vfmadd231ss Vfmadd231sd = Fused<231, false, false>;
        Vfmsub132ps Vfmsub132pd Vfmsub132ss Vfmsub132sd = Fused<132, false, true>;
        Vfmsub213ps Vfmsub213pd Vfmsub213ss Vfmsub213sd = Fused<213, false, true>;
        Vfmsub231ps Vfmsub231pd Vfmsub231ss Vfmsub231sd = Fused<231, false, true>;
        Vfnmadd132ps Vfnmadd132pd Vfnmadd132ss Vfnmadd132sd = Fused<132, true, false>;
        Vfnmadd213ps Vfnmadd213pd Vfnmadd213ss Vfnmadd213sd = Fused<213, true, false>;
        Vfnmadd231ps Vfnmadd231pd Vfnmadd231ss Vfnmadd231sd = Fused<231, true, false>;
        Vfnmsub132ps Vfnmsub132pd Vfnmsub132ss Vfnmsub132sd = Fused<132, true, true>;
        Vfnmsub213ps Vfnmsub213pd Vfnmsub213ss Vfnmsub213sd = Fused<213, true, true>;
        Vfnmsub231ps Vfnmsub231pd Vfnmsub231ss Vfnmsub231sd = Fused<231, true, true>;
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::float::Env;
    use crate::vector::Operands;
    use crate::vector::description::Shape;
    use iced_x86::Code;
    use proptest::prelude::*;

    /// PE masked and set, the other exceptions masked.
    const MXCSR: u32 = 0x1FA0;

    /// Every instruction with a kernel, VEX and EVEX.
    fn instructions() -> Vec<Instruction> {
        let mut instruction = Instruction::default();
        let mut all = Vec::new();
        for code in Code::values() {
            instruction.set_code(code);
            if of(&instruction).is_some() {
                all.push(instruction);
            }
        }
        all
    }

    /// Mostly numbers whose sums and products are plain, singles or doubles; now and then anything.
    fn vector(mut seed: u64, double: bool) -> Vector {
        let mut next = || {
            // Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators.
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (seed ^ seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ mixed >> 31
        };
        let special = [0, 1 << 63, 0x8000_0000, 0x0080_0000, 0x7F80_0000, 0x7FF << 52, 1 << 52, 1];
        let mut vector = Vector::ZERO;
        for word in vector.elements_mut::<u64>() {
            let (bits, choice) = (next(), next());
            *word = match choice % 40 {
                0 => special[(choice >> 32) as usize % special.len()],
                1 => bits,
                // Exponents near the bias.
                _ if double => bits & !(0x7F0 << 52) | 0x400 << 52,
                _ => bits & !0x7800_0000_7800_0000 | 0x3C00_0000_3C00_0000,
            };
        }
        vector
    }

    proptest! {
        #[test]
        fn kernels_do_what_the_operation_does(seed in any::<u64>()) {
            for instruction in instructions() {
                let double = format!("{:?}", instruction.mnemonic()).ends_with('d');
                let [old, a, b] = [0, 1, 2].map(|n| vector(seed.wrapping_add(n << 32), double));
                let description = super::super::describe(&instruction).unwrap();
                let kernel = description.kernel.unwrap();
                for bytes in [16, 32, 64] {
                    let mut quick = Vector::ZERO;
                    if !kernel(&mut quick, [&old, &a, &b], bytes) {
                        continue;
                    }
                    let (packed, element) = (description.shape == Shape::Packed, usize::from(description.element));
                    let bytes = if packed { bytes } else { element };
                    let (mut slow, mut env) = (old, Env::new(MXCSR));
                    if description.shape == Shape::Scalar {
                        slow.0[0] = a.0[0];
                    }
                    (description.operation)(&mut Operands {
                        result: &mut slow,
                        a: &a,
                        b: &b,
                        third: &Vector::ZERO,
                        imm: 0,
                        bytes,
                        active: u64::MAX,
                        env: &mut env,
                        rules: crate::silicon::Silicon::Intel.rules(),
                        flags: None,
                    });
                    slow.zero_from(bytes.max(16));
                    prop_assert_eq!(quick, slow, "{:?} of {} bytes", instruction.code(), bytes);
                    prop_assert_eq!(env.raised & !0x20, 0, "{:?}", instruction.code());
                }
            }
        }
    }

    /// Else the test above would compare nothing.
    #[test]
    fn plain_numbers_are_computed_and_others_are_not() {
        let instructions = instructions();
        assert!(instructions.len() > 100, "{}", instructions.len());
        for instruction in instructions {
            let double = format!("{:?}", instruction.mnemonic()).ends_with('d');
            let all = |single: f32, wide: f64| {
                if double { Vector::broadcast(wide.to_bits()) } else { Vector::broadcast(single.to_bits()) }
            };
            let kernel = of(&instruction).unwrap();
            let plain = [&all(1.5, 1.5), &all(3.0, 3.0), &all(1.25, 1.25)];
            assert!(kernel(&mut Vector::ZERO.clone(), plain, 32), "{:?}", instruction.code());
            let infinite = all(f32::INFINITY, f64::INFINITY);
            let operands = [plain[0], plain[1], &infinite];
            assert!(!kernel(&mut Vector::ZERO.clone(), operands, 32), "{:?}", instruction.code());
        }
    }
}
