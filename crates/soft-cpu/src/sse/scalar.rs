//! Scalar and packed floating-point instructions.

use super::XmmSrc;
use super::float::{self, Env, Float, Operation};
use super::lane::{build, get, set};
use crate::account::totals::{Arithmetic, Flop};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{self, Done, Exception, Fault};
use crate::exec::Insn;
use crate::exec::operand::{Get, Mem};
use crate::flags::{CF, Flags, PF, ZF};
use crate::low::Low;
use crate::width::Width;
use core::cmp::Ordering;
use retire::Assist;

const CR4_OSXMMEXCPT: u64 = 1 << 10;

/// A scalar source: the low lane of a register, or memory of its size.
pub(crate) trait GetReal<R>: Sized {
    fn real<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<R, Fault>;
    /// If it is at hand; see [`chain`](crate::exec::chain).
    fn quick_real<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Option<R>;
}

impl<R: Float> GetReal<R> for XmmSrc {
    #[inline(always)]
    fn real<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<R, Fault> {
        Ok(get(c.xmm[usize::from(i.src & 15)], 0))
    }
    #[inline(always)]
    fn quick_real<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Option<R> {
        Some(get(c.xmm[usize::from(i.src & 15)], 0))
    }
}

impl<R: Float> GetReal<R> for Mem {
    #[inline(always)]
    fn real<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<R, Fault> {
        let bits = if R::BITS == 32 {
            u128::from(<Mem as Get<u32>>::get(c, b, i)?)
        } else {
            u128::from(<Mem as Get<u64>>::get(c, b, i)?)
        };
        Ok(R::low(bits))
    }
    #[inline(always)]
    fn quick_real<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Option<R> {
        Some(R::low(if R::BITS == 32 {
            u128::from(<Mem as Get<u32>>::quick(c, b, i)?)
        } else {
            u128::from(<Mem as Get<u64>>::quick(c, b, i)?)
        }))
    }
}

impl Core {
    /// Puts the exceptions of an instruction into MXCSR; #XM if one of them is not masked.
    #[inline(always)]
    pub(crate) fn float_done(&mut self, env: &Env) -> Done {
        // Nothing happens if all are masked and noted already.
        let raised = env.raised | env.earlier;
        if raised & !(self.mxcsr & self.mxcsr >> 7) == 0 { Ok(()) } else { self.float_exceptions(env) }
    }

    #[inline(never)]
    fn float_exceptions(&mut self, env: &Env) -> Done {
        let unmasked = env.raised & !(env.mxcsr >> 7) & 0x3F;
        let raised = env.raised & !float::ASSIST;
        self.mxcsr |= env.earlier & !float::ASSIST;
        if unmasked == 0 {
            self.mxcsr |= raised;
            if (env.raised | env.earlier) & float::ASSIST != 0 {
                self.note_assist(Assist::FloatingPoint);
            }
            return Ok(());
        }
        // Before the operation (IE, DE, ZE) come before after it (OE, UE, PE).
        let first = raised & (float::IE | float::DE | float::ZE);
        self.mxcsr |= if unmasked & first != 0 { first } else { raised };
        if self.cr4 & CR4_OSXMMEXCPT == 0 {
            return Err(self.ud());
        }
        Err(self.raise(Exception::plain(exception::XM)))
    }

    /// Counts the floating-point operations of an instruction that retires.
    #[inline(always)]
    pub(crate) fn retire_flops(&mut self, kind: Flop, count: u32) {
        self.totals.current.flops[kind as usize] += u64::from(count);
    }

    /// Counts an instruction of floating-point arithmetic that retires.
    #[inline(always)]
    pub(crate) fn retire_arithmetic(&mut self, kind: Arithmetic) {
        self.totals.current.arithmetic[kind as usize] += 1;
    }

    fn set_xmm(&mut self, number: u8, value: u128) {
        self.xmm[usize::from(number & 15)] = value;
    }

    fn get_xmm(&self, number: u8) -> u128 {
        self.xmm[usize::from(number & 15)]
    }
}

fn all_ones_if<R: Float>(holds: bool) -> R {
    if holds { R::low(u128::MAX) } else { R::ZERO }
}

/// An operation on two elements.
pub(crate) trait FloatOp {
    /// What each element counts as.
    const FLOP: Option<Flop> = None;
    /// See [`Arithmetic`].
    const ARITHMETIC: bool = true;
    fn apply<R: Float>(env: &mut Env, a: R, b: R, i: u8) -> R;
}

macro_rules! float_op {
    ($(
        $name:ident $(counts $flop:ident)? $(arithmetic $arithmetic:literal)? =
            |$env:ident, $a:ident, $b:ident, $imm:ident| $body:expr;
    )*) => { $(
        pub(crate) struct $name;
        impl FloatOp for $name {
            $(const FLOP: Option<Flop> = Some(Flop::$flop);)?
            $(const ARITHMETIC: bool = $arithmetic;)?
            #[inline(always)]
            fn apply<R: Float>($env: &mut Env, $a: R, $b: R, $imm: u8) -> R {
                $body
            }
        }
    )* };
}
float_op! {
    Add counts AddSub = |env, a, b, _i| float::arithmetic(env, Operation::Add, a, b);
    Sub counts AddSub = |env, a, b, _i| float::arithmetic(env, Operation::Sub, a, b);
    Mul counts Mul = |env, a, b, _i| float::arithmetic(env, Operation::Mul, a, b);
    Div counts DivSqrt = |env, a, b, _i| float::arithmetic(env, Operation::Div, a, b);
    Min = |env, a, b, _i| float::extreme(env, true, a, b);
    Max = |env, a, b, _i| float::extreme(env, false, a, b);
    Sqrt counts DivSqrt = |env, _a, b, _i| float::square_root(env, b);
    Cmp arithmetic false = |env, a, b, imm| all_ones_if(float::compare(env, imm & 7, a, b));
}

pub(crate) fn scalar<B: Bus, O: FloatOp, R: Float, S: GetReal<R>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let right = S::real(c, b, i)?;
    let old = c.get_xmm(i.dst);
    let mut env = Env::new(c.mxcsr);
    let result = O::apply::<R>(&mut env, get(old, 0), right, i.imm.low_u8());
    c.float_done(&env)?;
    c.set_xmm(i.dst, set(old, 0, result));
    if let Some(kind) = O::FLOP {
        c.retire_flops(kind, 1);
    }
    if O::ARITHMETIC {
        c.retire_arithmetic(Arithmetic::of(false, R::BITS));
    }
    Ok(())
}

pub(crate) fn packed<B: Bus, O: FloatOp, R: Float, S: Get<u128>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let right = S::get(c, b, i)?;
    let old = c.get_xmm(i.dst);
    let mut env = Env::new(c.mxcsr);
    let imm = i.imm.low_u8();
    let result = build::<R>(|n| O::apply(&mut env, get(old, n), get(right, n), imm));
    c.float_done(&env)?;
    c.set_xmm(i.dst, result);
    if let Some(kind) = O::FLOP {
        c.retire_flops(kind, 128 / R::BITS);
    }
    if O::ARITHMETIC {
        c.retire_arithmetic(Arithmetic::of(true, R::BITS));
    }
    Ok(())
}

/// COMISx (`SIGNALS`) and UCOMISx.
pub(crate) fn comi<B: Bus, const SIGNALS: bool, R: Float, S: GetReal<R>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let right = S::real(c, b, i)?;
    let mut env = Env::new(c.mxcsr);
    let order = float::order::<R>(&mut env, SIGNALS, get(c.get_xmm(i.dst), 0), right);
    c.float_done(&env)?;
    c.flags = Flags::from_bits(match order {
        Some(Ordering::Greater) => 0,
        Some(Ordering::Less) => CF,
        Some(Ordering::Equal) => ZF,
        None => ZF | PF | CF,
    });
    Ok(())
}

/// CVT(T)SS2SI, CVT(T)SD2SI to a register of width `T`.
pub(crate) fn to_integer<B: Bus, const TRUNCATE: bool, R: Float, T: Width, S: GetReal<R>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let value = S::real(c, b, i)?;
    let mut env = Env::new(c.mxcsr);
    let result = float::to_integer::<R>(&mut env, value, T::BITS, TRUNCATE);
    c.float_done(&env)?;
    T::low(result).set_reg(c, i.dst);
    Ok(())
}

/// CVTSI2SS (`DOUBLE` false) and CVTSI2SD.
pub(crate) fn from_integer<B: Bus, const DOUBLE: bool, T: Width, S: Get<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let value = S::get(c, b, i)?.sext().cast_signed();
    let old = c.get_xmm(i.dst);
    let mut env = Env::new(c.mxcsr);
    let result = if DOUBLE {
        set(old, 0, float::f64_from_integer(&mut env, value))
    } else {
        set(old, 0, float::f32_from_integer(&mut env, value))
    };
    c.float_done(&env)?;
    c.set_xmm(i.dst, result);
    Ok(())
}

pub(crate) fn cvtss2sd<B: Bus, S: GetReal<f32>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value = S::real(c, b, i)?;
    let mut env = Env::new(c.mxcsr);
    let result = float::widen(&mut env, value);
    c.float_done(&env)?;
    c.set_xmm(i.dst, set(c.get_xmm(i.dst), 0, result));
    Ok(())
}

pub(crate) fn cvtsd2ss<B: Bus, S: GetReal<f64>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value = S::real(c, b, i)?;
    let mut env = Env::new(c.mxcsr);
    let result = float::narrow(&mut env, value);
    c.float_done(&env)?;
    c.set_xmm(i.dst, set(c.get_xmm(i.dst), 0, result));
    Ok(())
}

/// A packed conversion: the whole result from the whole source.
pub(crate) trait Convert {
    fn apply(env: &mut Env, source: u128) -> u128;
}

/// Doubleword `n` of two doubles as integers; the upper half of the result is 0.
#[inline(always)]
fn doubleword_of_double(env: &mut Env, source: u128, n: u32, truncate: bool) -> u32 {
    if n < 2 { float::to_integer::<f64>(env, get(source, n), 32, truncate).low_u32() } else { 0 }
}

macro_rules! convert {
    ($($name:ident, |$env:ident, $s:ident| $body:expr;)*) => { $(
        pub(crate) struct $name;
        impl Convert for $name {
            fn apply($env: &mut Env, $s: u128) -> u128 {
                $body
            }
        }
    )* };
}
convert! {
    Ps2pd, |env, s| build::<f64>(|n| float::widen(env, get(s, n)));
    Dq2pd, |env, s| build::<f64>(|n| float::f64_from_integer(env, i64::from(get::<i32>(s, n))));
    Pd2ps, |env, s| build::<f32>(|n| if n < 2 { float::narrow(env, get(s, n)) } else { 0.0 });
    Dq2ps, |env, s| build::<f32>(|n| float::f32_from_integer(env, i64::from(get::<i32>(s, n))));
    Ps2dq, |env, s| build::<u32>(|n| float::to_integer::<f32>(env, get(s, n), 32, false).low_u32());
    Tps2dq, |env, s| build::<u32>(|n| float::to_integer::<f32>(env, get(s, n), 32, true).low_u32());
    Pd2dq, |env, s| build::<u32>(|n| doubleword_of_double(env, s, n, false));
    Tpd2dq, |env, s| build::<u32>(|n| doubleword_of_double(env, s, n, true));
}

pub(crate) fn convert<B: Bus, O: Convert, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let source = S::get(c, b, i)?;
    let mut env = Env::new(c.mxcsr);
    let result = O::apply(&mut env, source);
    c.float_done(&env)?;
    c.set_xmm(i.dst, result);
    Ok(())
}

/// An 8-byte memory operand as a vector.
pub(crate) struct Half;

impl Get<u128> for Half {
    fn get<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<u128, Fault> {
        Ok(u128::from(<Mem as Get<u64>>::get(c, b, i)?))
    }
}

/// See [`chain`](crate::exec::chain). What raises an exception that is not in MXCSR yet is left to the others.
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn scalar<B: Bus, O: FloatOp, R: Float, S: GetReal<R>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let Some(right) = S::quick_real(c, b, i).filter(|_| c.sse) else { return false };
        let register = &mut c.xmm[usize::from(i.dst & 15)];
        let mut env = Env::new(c.mxcsr);
        let result = O::apply::<R>(&mut env, get(*register, 0), right, i.imm.low_u8());
        let quiet = env.raised & !(c.mxcsr & c.mxcsr >> 7) == 0;
        if quiet {
            *register = set(*register, 0, result);
            if let Some(kind) = O::FLOP {
                c.retire_flops(kind, 1);
            }
            if O::ARITHMETIC {
                c.retire_arithmetic(Arithmetic::of(false, R::BITS));
            }
        }
        quiet
    }

    #[inline(always)]
    pub(crate) fn packed<B: Bus, O: FloatOp, R: Float, S: Get<u128>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let Some(right) = S::quick(c, b, i).filter(|_| c.sse) else { return false };
        let register = &mut c.xmm[usize::from(i.dst & 15)];
        let old = *register;
        let mut env = Env::new(c.mxcsr);
        let imm = i.imm.low_u8();
        let result = build::<R>(|n| O::apply(&mut env, get(old, n), get(right, n), imm));
        let quiet = env.raised & !(c.mxcsr & c.mxcsr >> 7) == 0;
        if quiet {
            *register = result;
            if let Some(kind) = O::FLOP {
                c.retire_flops(kind, 128 / R::BITS);
            }
            if O::ARITHMETIC {
                c.retire_arithmetic(Arithmetic::of(true, R::BITS));
            }
        }
        quiet
    }

    #[inline(always)]
    pub(crate) fn from_integer<B: Bus, const DOUBLE: bool, T: Width, S: Get<T>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let Some(value) = S::quick(c, b, i).filter(|_| c.sse) else { return false };
        let value = value.sext().cast_signed();
        let register = &mut c.xmm[usize::from(i.dst & 15)];
        let mut env = Env::new(c.mxcsr);
        let result = if DOUBLE {
            set(*register, 0, float::f64_from_integer(&mut env, value))
        } else {
            set(*register, 0, float::f32_from_integer(&mut env, value))
        };
        let quiet = env.raised & !(c.mxcsr & c.mxcsr >> 7) == 0;
        if quiet {
            *register = result;
        }
        quiet
    }
}
