//! Operations across elements of a lane of 128 bits: neighbours, alternating sums, dot products; reciprocals of SSE.

use super::{FloatElement, active, packed};
use crate::float::Operation;
use crate::silicon::Rule;
use crate::sse::reciprocal::{Approximation, Reciprocal, ReciprocalRoot};
use crate::vector::{Description, Operands, Vector};
use iced_x86::{Instruction, Mnemonic as M};

/// Subtracts even elements and adds odd ones.
fn alternate<E: FloatElement>(o: &mut Operands<'_>) {
    for n in active(o, o.bytes / E::BYTES) {
        let operation = if n & 1 == 0 { Operation::Sub } else { Operation::Add };
        o.result.set(n, E::arithmetic(o.env, operation, o.a.get(n), o.b.get(n)));
    }
}

/// Combines neighbours in each lane: those of `a` become its low half, those of `b` its high half.
#[inline(always)]
fn horizontal<E: FloatElement>(o: &mut Operands<'_>, operation: Operation) {
    let (lane, half) = (16 / E::BYTES, 8 / E::BYTES);
    for n in active(o, o.bytes / E::BYTES) {
        let (first, place) = (n / lane * lane, n % lane);
        let (from, place) = if place < half { (o.a, place) } else { (o.b, place - half) };
        let pair = [0, 1].map(|k| from.get::<E>(first + 2 * place + k));
        o.result.set(n, E::arithmetic(o.env, operation, pair[0], pair[1]));
    }
}

fn add_neighbours<E: FloatElement>(o: &mut Operands<'_>) {
    horizontal::<E>(o, Operation::Add);
}

fn sub_neighbours<E: FloatElement>(o: &mut Operands<'_>) {
    horizontal::<E>(o, Operation::Sub);
}

/// VDPPS, VDPPD in each lane. Exceptions of the products come before those of the sums.
fn dot_product<E: FloatElement>(o: &mut Operands<'_>) {
    let lane = 16 / E::BYTES;
    let mut products = Vector::ZERO;
    for n in active(o, o.bytes / E::BYTES).filter(|n| o.imm >> (4 + n % lane) & 1 != 0) {
        products.set(n, E::arithmetic(o.env, Operation::Mul, o.a.get(n), o.b.get(n)));
    }
    if !o.env.next_step() {
        return;
    }
    // The sums of pairs are a step of their own too.
    for n in (0..o.bytes / E::BYTES).step_by(2).filter(|_| lane == 4) {
        E::arithmetic(o.env, Operation::Add, products.get(n), products.get(n + 1));
    }
    if !o.env.next_step() {
        return;
    }
    for first in (0..o.bytes / E::BYTES).step_by(lane) {
        // From this product on; the order decides only which NaN the result is.
        let mut from = |n: usize| {
            let mut sum = |a: E, b: E| E::arithmetic(o.env, Operation::Add, a, b);
            let product = |n: usize| products.get::<E>(first + n);
            let pair = sum(product(n), product(n ^ 1));
            if lane == 2 {
                return pair;
            }
            let other = sum(product(n ^ 2), product(n ^ 3));
            sum(pair, other)
        };
        let total = from(0);
        let nan = E::FORMAT.unpack(total.raw()).is_nan();
        for n in 0..lane {
            let own = if nan && o.rules.holds(Rule::DotProductNanByLane) {
                from(if lane == 2 { n } else { n ^ 1 })
            } else {
                total
            };
            o.result.set(first + n, if o.imm >> n & 1 != 0 { own } else { E::of(0) });
        }
    }
}

fn approximate<A: Approximation>(o: &mut Operands<'_>) {
    for n in 0..o.bytes / 4 {
        o.result.set(n, A::apply(o.b.get(n)));
    }
}

pub(super) fn describe(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vaddsubps => packed(alternate::<f32>, 4),
        M::Vaddsubpd => packed(alternate::<f64>, 8),
        M::Vhaddps => packed(add_neighbours::<f32>, 4),
        M::Vhaddpd => packed(add_neighbours::<f64>, 8),
        M::Vhsubps => packed(sub_neighbours::<f32>, 4),
        M::Vhsubpd => packed(sub_neighbours::<f64>, 8),
        M::Vdpps => packed(dot_product::<f32>, 4),
        M::Vdppd => packed(dot_product::<f64>, 8),
        M::Vrcpps => Description::packed(approximate::<Reciprocal>, 4),
        M::Vrsqrtps => Description::packed(approximate::<ReciprocalRoot>, 4),
        M::Vrcpss => Description::scalar(approximate::<Reciprocal>, 4),
        M::Vrsqrtss => Description::scalar(approximate::<ReciprocalRoot>, 4),
        _ => return None,
    })
}
