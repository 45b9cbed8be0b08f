//! Fetches operands, applies the operation, masks, and writes back.

use super::description::{Masking, Shape, ones};
use super::encoded::{Class, Encoded, Rounding};
use super::memory;
use super::{Element, Operands, Vector};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{self, Done, Fault};
use crate::exec::Insn;
use crate::flags::Flags;
use crate::low::Low;
use crate::silicon::Rule;
use crate::sse::float::Env;

/// The exception masks and rounding control of MXCSR.
const MASKS: u32 = 0x3F << 7;
const ROUNDING: u32 = 3 << 13;

/// Of MXCSR: PE is masked and set, and the rounding to nearest. No operation on plain numbers leaves a trace then.
const EXACTNESS_KNOWN: (u32, u32) = (ROUNDING | 1 << 12 | 1 << 5, 1 << 12 | 1 << 5);

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
    let before = c.mxcsr;
    let done = c.stored(parts).and_then(|value| memory::store(c, b, i, parts.code, &value));
    if done.is_err() && !c.holds(Rule::HalfStoreRaisesFirst) {
        return of_memory_first(c, b, i, parts.code, before);
    }
    done
}

/// The fault of a store, or of computing what goes there, where that of memory comes first.
#[cold]
fn of_memory_first<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, code: Encoded, before: u32) -> Done {
    let (mxcsr, raised) = (c.mxcsr, c.raised);
    c.mxcsr = before;
    if raised.is_some_and(|raised| raised.vector == exception::XM) {
        memory::probe_destination(c, b, i, code)?;
        c.mxcsr = mxcsr;
    }
    c.raised = raised;
    Err(Fault)
}

/// What an instruction leaves beside its result.
struct Evaluated {
    env: Env,
    /// The exceptions in `env` count.
    counts: bool,
    /// What it counts as.
    arithmetic: Option<retire::Arithmetic>,
    flags: Option<u64>,
}

impl Evaluated {
    /// No exception is raised that MXCSR does not have yet.
    #[inline(always)]
    fn is_quiet(&self, mxcsr: u32) -> bool {
        !self.counts || (self.env.raised | self.env.earlier) & !(mxcsr & mxcsr >> 7) == 0
    }
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

    /// The result before it is written, in a place of the caller's, which saves copies; `None` for what has not been
    /// decoded.
    #[inline(always)]
    fn evaluate(&self, parts: Parts, source: Option<&Vector>, result: &mut Vector) -> Option<Evaluated> {
        let code = parts.code;
        let description = self.descriptions.get(code.number())?;
        let class = code.destination_class();
        let (other_a, other_b);
        let a = match code.a_class() {
            Class::Vector => self.xmm.get(parts.a),
            class => {
                other_a = self.operand(class, parts.a);
                &other_a
            }
        };
        let b = match (source, code.b_class()) {
            (Some(source), _) => source,
            (None, Class::Vector) => self.xmm.get(parts.b),
            (None, class) => {
                other_b = self.operand(class, parts.b);
                &other_b
            }
        };
        let old = self.xmm.get(parts.destination);
        if class == Class::Vector {
            *result = *old;
        }
        let mut bytes = code.bytes();
        if description.shape != Shape::Packed {
            bytes = match description.shape {
                Shape::Scalar | Shape::Merge => usize::from(description.element),
                Shape::Packed | Shape::Sources => bytes,
            };
            if description.shape == Shape::Scalar && class == Class::Vector {
                let low = u128::MAX >> (128 - 8 * u32::from(description.element));
                result.0[0] = a.0[0] & !low | old.0[0] & low;
            }
        }
        let count = description.count(code.bytes());
        let active = self.active(code, count);
        let mut env = Env::new(match code.rounding() {
            Rounding::Dynamic => self.mxcsr,
            Rounding::Quiet => self.mxcsr | MASKS,
            Rounding::Static(mode) => self.mxcsr & !ROUNDING | MASKS | u32::from(mode) << 13,
        });
        let counts = description.floats && code.rounding() == Rounding::Dynamic;
        let mut operands = Operands {
            result,
            a,
            b,
            third: self.xmm.get(code.third()),
            imm: code.imm(),
            bytes,
            active,
            env: &mut env,
            rules: self.rules,
            flags: None,
        };
        (description.operation)(&mut operands);
        let flags = operands.flags;
        if code.mask() != 0 {
            match class {
                Class::Vector if active != ones(count) => {
                    let kept = match description.masking {
                        _ if code.zeroing() => &Vector::ZERO,
                        Masking::Blend => a,
                        _ => old,
                    };
                    let written = match description.masking {
                        Masking::Compress => ones(active.count_ones() as usize),
                        _ => active,
                    };
                    keep_elements(result, kept, description.element, (written, count));
                }
                Class::Mask => *result = Vector::from_low(result.low() & active),
                _ => {}
            }
        }
        Some(Evaluated { env, counts, arithmetic: description.arithmetic, flags })
    }

    #[inline(always)]
    fn write(&mut self, parts: Parts, result: &Vector, done: &Evaluated) {
        let code = parts.code;
        match code.destination_class() {
            Class::Vector => {
                let [first, second, third, fourth] = result.0;
                self.xmm.get_mut(parts.destination).0 = match code.destination() {
                    16 => [first, 0, 0, 0],
                    32 => [first, second, 0, 0],
                    _ => [first, second, third, fourth],
                };
            }
            Class::Mask => self.opmask[usize::from(parts.destination & 7)] = result.low(),
            Class::General => {
                let value = result.low();
                let value = if code.destination() == 8 { value } else { u64::from(value.low_u32()) };
                self.regs[usize::from(parts.destination & 15)] = value;
            }
            Class::None => {}
        }
        if let Some(flags) = done.flags {
            self.flags = Flags::from_bits(flags);
        }
        if let Some(arithmetic) = &done.arithmetic {
            self.totals.current.count_arithmetic(arithmetic, code.imm());
        }
    }

    #[inline(never)]
    fn compute(&mut self, parts: Parts, source: Option<&Vector>) -> Done {
        let mut result = Vector::ZERO;
        let Some(done) = self.evaluate(parts, source, &mut result) else { return Err(self.ud()) };
        if done.counts {
            self.float_done(&done.env)?;
        }
        self.write(parts, &result, &done);
        Ok(())
    }

    /// The same if it raises no exception that is not in MXCSR yet; false, and nothing happens, if it does.
    #[inline(never)]
    pub(super) fn compute_quickly(&mut self, parts: Parts, source: Option<&Vector>) -> bool {
        let mut result = Vector::ZERO;
        let Some(done) = self.evaluate(parts, source, &mut result) else { return false };
        let quiet = done.is_quiet(self.mxcsr);
        if quiet {
            self.write(parts, &result, &done);
        }
        quiet
    }

    /// The same of an instruction with a kernel, and neither mask, broadcast nor rounding of its own.
    #[inline(always)]
    pub(super) fn compute_plainly(&mut self, parts: Parts, source: Option<&Vector>) -> bool {
        let code = parts.code;
        if self.mxcsr & EXACTNESS_KNOWN.0 == EXACTNESS_KNOWN.1
            && let Some(description) = self.descriptions.get(code.number())
            && let Some(kernel) = description.kernel
        {
            let mut result = Vector::ZERO;
            let b = source.unwrap_or(self.xmm.get(parts.b));
            let operands = [self.xmm.get(parts.destination), self.xmm.get(parts.a), b];
            if kernel(&mut result, operands, code.bytes()) {
                if let Some(arithmetic) = &description.arithmetic {
                    self.totals.current.count_arithmetic(arithmetic, 0);
                }
                *self.xmm.get_mut(parts.destination) = result;
                return true;
            }
        }
        self.compute_quickly(parts, source)
    }

    /// What goes to memory.
    #[inline(never)]
    fn stored(&mut self, parts: Parts) -> Result<Vector, Fault> {
        let mut result = Vector::ZERO;
        let Some(done) = self.evaluate(parts, None, &mut result) else { return Err(self.ud()) };
        if done.counts {
            self.float_done(&done.env)?;
        }
        Ok(result)
    }

    /// The same as for [`compute_quickly`](Self::compute_quickly).
    #[inline(never)]
    pub(super) fn stored_quickly(&self, parts: Parts, result: &mut Vector) -> bool {
        self.evaluate(parts, None, result).is_some_and(|done| done.is_quiet(self.mxcsr))
    }
}

/// Of elements of `size` bytes.
#[inline(never)]
fn keep_elements(result: &mut Vector, old: &Vector, size: u8, elements: (u64, usize)) {
    match size {
        1 => keep::<u8>(result, old, elements),
        2 => keep::<u16>(result, old, elements),
        4 => keep::<u32>(result, old, elements),
        8 => keep::<u64>(result, old, elements),
        _ => keep::<u128>(result, old, elements),
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
