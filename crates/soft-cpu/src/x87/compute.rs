//! Arithmetic and comparison instructions.

use super::arith::{self, Quotient};
use super::float::{self, Env, F80, from_integer};
use super::stack::{C0, C1, C2, C3};
use super::transcendental::{self, Reduced};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::exec::Insn;
use crate::exec::operand::{Get, Mem};
use crate::flags::{CF, Flags, PF, ZF};
use crate::silicon::Rule;
use core::cmp::Ordering;

/// [`Insn::aux`] of arithmetic instructions: what to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Operation {
    Add,
    Mul,
    Sub,
    SubReverse,
    Div,
    DivReverse,
}

/// [`Insn::aux`]: one register is popped.
pub(crate) const POP: u8 = 1 << 4;
/// [`Insn::aux`]: two registers are popped.
pub(crate) const POP_TWICE: u8 = 1 << 5;
/// [`Insn::aux`] of comparisons: quiet NaNs raise nothing.
pub(crate) const QUIET: u8 = 1;

/// The second operand.
pub(crate) trait Source {
    /// It is a register that may be empty.
    const REGISTER: bool;
    type Raw: Copy;
    fn fetch<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<Self::Raw, Fault>;
    fn value(env: &mut Env, raw: Self::Raw) -> F80;
}

/// The register [`Insn::src`].
pub(crate) struct Register;

impl Source for Register {
    const REGISTER: bool = true;
    type Raw = F80;
    fn fetch<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<F80, Fault> {
        Ok(c.st(i.src))
    }
    fn value(_env: &mut Env, raw: F80) -> F80 {
        raw
    }
}

/// The constant 0 of FTST.
pub(crate) struct Zero;

impl Source for Zero {
    const REGISTER: bool = false;
    type Raw = ();
    fn fetch<B: Bus>(_c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Result<(), Fault> {
        Ok(())
    }
    fn value(_env: &mut Env, (): ()) -> F80 {
        F80::zero(false)
    }
}

macro_rules! memory_source {
    ($($t:ty: $raw:ty, |$env:ident, $bits:ident| $value:expr;)*) => { $(
        impl Source for $t {
            const REGISTER: bool = false;
            type Raw = $raw;
            fn fetch<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<$raw, Fault> {
                Mem::get(c, b, i)
            }
            fn value($env: &mut Env, $bits: $raw) -> F80 {
                $value
            }
        }
    )* };
}
memory_source! {
    f32: u32, |env, bits| float::from_single(env, bits);
    f64: u64, |env, bits| float::from_double(env, bits);
    i16: u16, |_env, bits| from_integer(i64::from(bits.cast_signed()));
    i32: u32, |_env, bits| from_integer(i64::from(bits.cast_signed()));
    i64: u64, |_env, bits| from_integer(bits.cast_signed());
}

/// FADD, FMUL, FSUB, FSUBR, FDIV, FDIVR, with P and with I.
pub(crate) fn arithmetic<B: Bus, S: Source>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let raw = S::fetch(c, b, i)?;
    let mut env = Env::new(c.fcw);
    let empty =
        if S::REGISTER { c.underflow(&mut env, &[i.dst, i.src]) } else { c.underflow(&mut env, &[i.dst]) };
    let value = if empty {
        F80::INDEFINITE
    } else {
        let (left, right) = (c.st(i.dst), S::value(&mut env, raw));
        match i.aux & 15 {
            op if op == Operation::Add as u8 => arith::add(&mut env, left, right),
            op if op == Operation::Mul as u8 => arith::mul(&mut env, left, right),
            op if op == Operation::Sub as u8 => arith::sub(&mut env, left, right),
            op if op == Operation::SubReverse as u8 => arith::sub(&mut env, right, left),
            op if op == Operation::Div as u8 => arith::div(&mut env, left, right),
            _ => arith::div(&mut env, right, left),
        }
    };
    if c.commit(i, &env) {
        c.set_st(i.dst, value);
        if i.aux & POP != 0 {
            c.pop_st();
        }
    }
    Ok(())
}

/// The comparison that FCOM and FCOMI share; what it found, if it may be written.
fn compared<B: Bus, S: Source>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Result<Option<Option<Ordering>>, Fault> {
    c.require_x87_settled()?;
    let raw = S::fetch(c, b, i)?;
    let mut env = Env::new(c.fcw);
    let empty = if S::REGISTER { c.underflow(&mut env, &[0, i.src]) } else { c.underflow(&mut env, &[0]) };
    let order = if empty {
        None
    } else {
        let right = S::value(&mut env, raw);
        arith::compare(&mut env, c.st(0), right, i.aux & QUIET != 0)
    };
    Ok(c.commit(i, &env).then_some(order))
}

fn pop_compared<B>(c: &mut Core, i: &Insn<B>) {
    if i.aux & (POP | POP_TWICE) != 0 {
        c.pop_st();
    }
    if i.aux & POP_TWICE != 0 {
        c.pop_st();
    }
}

/// FCOM, FUCOM, FICOM, FTST and the popping forms: into C0, C2, C3.
pub(crate) fn compare<B: Bus, S: Source>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    if let Some(order) = compared::<B, S>(c, b, i)? {
        let codes = match order {
            Some(Ordering::Greater) => 0,
            Some(Ordering::Less) => C0,
            Some(Ordering::Equal) => C3,
            None => C0 | C2 | C3,
        };
        c.fsw = c.fsw & !(C0 | C2 | C3) | codes;
        pop_compared(c, i);
    }
    Ok(())
}

/// FCOMI, FUCOMI and the popping forms: into ZF, PF, CF.
pub(crate) fn compare_flags<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    if let Some(order) = compared::<B, Register>(c, b, i)? {
        c.flags = Flags::from_bits(match order {
            Some(Ordering::Greater) => 0,
            Some(Ordering::Less) => CF,
            Some(Ordering::Equal) => ZF,
            None => ZF | PF | CF,
        });
        pop_compared(c, i);
    }
    Ok(())
}

/// An operation on ST(0).
pub(crate) trait Unary {
    fn apply(env: &mut Env, a: F80) -> F80;
}

macro_rules! unary {
    ($($name:ident = |$env:ident, $a:ident| $value:expr;)*) => { $(
        pub(crate) struct $name;
        impl Unary for $name {
            fn apply($env: &mut Env, $a: F80) -> F80 {
                $value
            }
        }
    )* };
}
unary! {
    Fabs = |_env, a| a.magnitude();
    Fchs = |_env, a| a.negate();
    Fsqrt = |env, a| arith::sqrt(env, a);
    Frndint = |env, a| arith::round_to_integer(env, a);
    F2xm1 = |env, a| transcendental::exponential(env, a);
}

pub(crate) fn unary<B: Bus, O: Unary>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let empty = c.underflow(&mut env, &[0]);
    let value = if empty { F80::INDEFINITE } else { O::apply(&mut env, c.st(0)) };
    if c.commit(i, &env) {
        c.set_st(0, value);
    }
    Ok(())
}

/// FYL2X, FYL2XP1, FPATAN: of ST(0) and ST(1) into ST(1), which becomes the top.
pub(crate) trait Binary {
    fn apply(env: &mut Env, a: F80, b: F80) -> F80;
}

macro_rules! binary {
    ($($name:ident = $function:path;)*) => { $(
        pub(crate) struct $name;
        impl Binary for $name {
            fn apply(env: &mut Env, a: F80, b: F80) -> F80 {
                $function(env, a, b)
            }
        }
    )* };
}
binary! {
    Fyl2x = transcendental::logarithm;
    Fyl2xp1 = transcendental::logarithm_plus_1;
    Fpatan = transcendental::arctangent;
}

pub(crate) fn binary<B: Bus, O: Binary>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let empty = c.underflow(&mut env, &[0, 1]);
    let value = if empty { F80::INDEFINITE } else { O::apply(&mut env, c.st(0), c.st(1)) };
    if c.commit(i, &env) {
        c.set_st(1, value);
        c.pop_st();
    }
    Ok(())
}

/// A trigonometric function, and what it pushes.
pub(crate) trait Trigonometric {
    const PUSHES: bool;
    fn apply(env: &mut Env, a: F80) -> Reduced<(F80, F80)>;
}

macro_rules! trigonometric {
    ($($name:ident, $pushes:literal, |$env:ident, $a:ident| $value:expr;)*) => { $(
        pub(crate) struct $name;
        impl Trigonometric for $name {
            const PUSHES: bool = $pushes;
            fn apply($env: &mut Env, $a: F80) -> Reduced<(F80, F80)> {
                $value
            }
        }
    )* };
}
trigonometric! {
    Fsin, false, |env, a| transcendental::sine(env, a).map(|value| (value, value));
    Fcos, false, |env, a| transcendental::cosine(env, a).map(|value| (value, value));
    // C1 is that of the cosine.
    Fsincos, true, |env, a| match transcendental::sine(env, a) {
        Reduced::Value(sine) => transcendental::cosine(env, a).map(|cosine| (sine, cosine)),
        Reduced::OutOfRange => Reduced::OutOfRange,
    };
    // What is no number comes out twice.
    Fptan, true, |env, a| {
        transcendental::tangent(env, a).map(|value| {
            let number = value.class() != float::Class::Nan;
            (value, if number { F80::ONE } else { value })
        })
    };
}

pub(crate) fn trigonometric<B: Bus, O: Trigonometric>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env { unrounded_tiny: c.holds(Rule::TinySineAndCosineUnrounded), ..Env::new(c.fcw) };
    const INVALID: (F80, F80) = (F80::INDEFINITE, F80::INDEFINITE);
    let (value, pushed) = if c.underflow(&mut env, &[0]) {
        INVALID
    } else if O::PUSHES && !c.is_empty(7) {
        env.raise(float::IE | float::SF);
        env.c1 = true;
        INVALID
    } else {
        match O::apply(&mut env, c.st(0)) {
            Reduced::Value(values) => values,
            Reduced::OutOfRange => {
                c.commit(i, &env);
                c.fsw |= C2;
                return Ok(());
            }
        }
    };
    let write = c.commit(i, &env);
    c.fsw &= !C2;
    if write {
        c.set_st(0, value);
        if O::PUSHES {
            c.push_st(pushed);
        }
    }
    Ok(())
}

pub(crate) fn fscale<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let empty = c.underflow(&mut env, &[0, 1]);
    let value = if empty { F80::INDEFINITE } else { arith::scale(&mut env, c.st(0), c.st(1)) };
    if c.commit(i, &env) {
        c.set_st(0, value);
    }
    Ok(())
}

/// FPREM and FPREM1 (`NEAREST`).
pub(crate) fn fprem<B: Bus, const NEAREST: bool>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let empty = c.underflow(&mut env, &[0, 1]);
    let rest = if empty {
        arith::Remainder { value: F80::INDEFINITE, quotient: Quotient::Absent }
    } else {
        arith::remainder(&mut env, c.st(0), c.st(1), NEAREST)
    };
    let write = c.commit(i, &env);
    c.fsw &= !C2;
    if write {
        let codes = match rest.quotient {
            Quotient::Absent => c.fsw & (C0 | C1 | C3),
            Quotient::Incomplete => C2,
            Quotient::Low(quotient) => {
                let bit = |n: u8, code| if quotient >> n & 1 != 0 { code } else { 0 };
                bit(0, C1) | bit(1, C3) | bit(2, C0)
            }
        };
        c.fsw = c.fsw & !(C0 | C1 | C3) | codes;
        c.set_st(0, rest.value);
    }
    Ok(())
}

pub(crate) fn fxtract<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let (exponent, significand) = if c.underflow(&mut env, &[0]) {
        (F80::INDEFINITE, F80::INDEFINITE)
    } else if !c.is_empty(7) {
        env.raise(float::IE | float::SF);
        env.c1 = true;
        (F80::INDEFINITE, F80::INDEFINITE)
    } else {
        arith::extract(&mut env, c.st(0))
    };
    if c.commit(i, &env) {
        c.set_st(0, exponent);
        c.push_st(significand);
    }
    Ok(())
}

/// FXAM: the class in C0, C2, C3, the sign in C1.
pub(crate) fn fxam<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    c.commit(i, &Env::new(c.fcw));
    let value = c.st(0);
    let number = value.number();
    let codes = match number.class {
        _ if c.is_empty(0) => C3 | C0,
        float::Class::Unsupported => 0,
        float::Class::Nan => C0,
        float::Class::Infinity => C2 | C0,
        float::Class::Zero => C3,
        float::Class::Finite if number.denormal => C3 | C2,
        float::Class::Finite => C2,
    };
    let sign = if value.negative() { C1 } else { 0 };
    c.fsw = c.fsw & !(C0 | C1 | C2 | C3) | codes | sign;
    Ok(())
}
