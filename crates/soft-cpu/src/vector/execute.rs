//! Fetches operands, applies the operation, masks, and writes back.

use super::description::{Masking, Shape, ones};
use super::encoded::{Class, Encoded, Rounding};
use super::memory;
use super::{Element, Operands, Vector};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::exec::Insn;
use crate::flags::Flags;
use crate::low::Low;
use crate::silicon::Rule;
use crate::sse::float::Env;

/// The exception masks and rounding control of MXCSR.
const MASKS: u32 = 0x3F << 7;
const ROUNDING: u32 = 3 << 13;

/// The registers and the encoding of an instruction: what does not depend on the bus.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    destination: u8,
    a: u8,
    b: u8,
    pub(crate) code: Encoded,
}

#[inline(always)]
pub(crate) fn parts<B>(i: &Insn<B>) -> Parts {
    Parts { destination: i.dst, a: i.aux, b: i.src, code: Encoded(i.imm) }
}

/// All operands in registers.
pub(crate) fn registers<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    let parts = parts(i);
    c.require_vector(parts.code.needed())?;
    c.compute(parts, None)
}

/// The last source in memory.
pub(crate) fn load<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let parts = parts(i);
    c.require_vector(parts.code.needed())?;
    let source = memory::load(c, b, i, parts.code)?;
    c.compute(parts, Some(&source))
}

/// The destination in memory.
pub(crate) fn store<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let parts = parts(i);
    c.require_vector(parts.code.needed())?;
    let (value, _) = c.evaluate(parts, None)?;
    memory::store(c, b, i, parts.code, &value)
}

impl Core {
    fn operand(&self, class: Class, number: u8) -> Vector {
        match class {
            Class::Vector => *self.xmm.get(number),
            Class::Mask => Vector::from_low(self.opmask[usize::from(number & 7)]),
            Class::General => Vector::from_low(self.regs[usize::from(number & 15)]),
            Class::None => Vector::ZERO,
        }
    }

    /// The elements that the write mask has, of `count`.
    #[inline(always)]
    pub(crate) fn active(&self, code: Encoded, count: usize) -> u64 {
        let mask = code.mask();
        if mask == 0 { ones(count) } else { self.opmask[mask & 7] & ones(count) }
    }

    /// The result before it is written, and flags.
    #[inline(never)]
    fn evaluate(&mut self, parts: Parts, source: Option<&Vector>) -> Result<(Vector, Option<u64>), Fault> {
        let code = parts.code;
        let Some(description) = self.descriptions.get(code.number()) else { return Err(self.ud()) };
        let description = *description;
        let class = code.destination_class();
        let a = self.operand(code.a_class(), parts.a);
        let b = match source {
            Some(source) => *source,
            None => self.operand(code.b_class(), parts.b),
        };
        let old = if class == Class::Vector { *self.xmm.get(parts.destination) } else { Vector::ZERO };
        let count = description.count(code.bytes());
        let active = self.active(code, count);
        let scalar = matches!(description.shape, Shape::Scalar | Shape::Merge);
        let mut result = old;
        if description.shape == Shape::Scalar && class == Class::Vector {
            let low = u128::MAX >> (128 - 8 * u32::from(description.element));
            result.0[0] = a.0[0] & !low | old.0[0] & low;
        }
        let mut env = Env::new(match code.rounding() {
            Rounding::Dynamic => self.mxcsr,
            Rounding::Quiet => self.mxcsr | MASKS,
            Rounding::Static(mode) => self.mxcsr & !ROUNDING | MASKS | u32::from(mode) << 13,
        });
        let mut operands = Operands {
            result: &mut result,
            a: &a,
            b: &b,
            third: self.xmm.get(code.third()),
            imm: code.imm(),
            bytes: if scalar { usize::from(description.element) } else { code.bytes() },
            active,
            env: &mut env,
            dot_product_nan_by_lane: self.holds(Rule::DotProductNanByLane),
            flags: None,
        };
        (description.operation)(&mut operands);
        let flags = operands.flags;
        if description.floats && code.rounding() == Rounding::Dynamic {
            self.float_done(&env)?;
        }
        if code.mask() != 0 {
            match class {
                Class::Vector if active != ones(count) => {
                    let old = match description.masking {
                        _ if code.zeroing() => Vector::ZERO,
                        Masking::Blend => a,
                        _ => old,
                    };
                    let written = match description.masking {
                        Masking::Compress => ones(active.count_ones() as usize),
                        _ => active,
                    };
                    let elements = (written, count);
                    match description.element {
                        1 => keep::<u8>(&mut result, &old, elements),
                        2 => keep::<u16>(&mut result, &old, elements),
                        4 => keep::<u32>(&mut result, &old, elements),
                        8 => keep::<u64>(&mut result, &old, elements),
                        _ => keep::<u128>(&mut result, &old, elements),
                    }
                }
                Class::Mask => result = Vector::from_low(result.low() & active),
                _ => {}
            }
        }
        Ok((result, flags))
    }

    fn compute(&mut self, parts: Parts, source: Option<&Vector>) -> Done {
        let (mut result, flags) = self.evaluate(parts, source)?;
        let code = parts.code;
        match code.destination_class() {
            Class::Vector => {
                result.zero_from(code.destination());
                *self.xmm.get_mut(parts.destination) = result;
            }
            Class::Mask => self.opmask[usize::from(parts.destination & 7)] = result.low(),
            Class::General => {
                let value = result.low();
                let value = if code.destination() == 8 { value } else { u64::from(value.low_u32()) };
                self.regs[usize::from(parts.destination & 15)] = value;
            }
            Class::None => {}
        }
        if let Some(flags) = flags {
            self.flags = Flags::from_bits(flags);
        }
        Ok(())
    }
}

/// Puts the old elements where the mask has none.
fn keep<E: Element>(result: &mut Vector, old: &Vector, (active, count): (u64, usize)) {
    let pairs = result.elements_mut::<E>().iter_mut().zip(old.elements::<E>());
    for (n, (new, old)) in pairs.take(count).enumerate() {
        if active >> n & 1 == 0 {
            *new = *old;
        }
    }
}
