//! Loads, stores, exchanges and constants.

use super::bcd;
use super::compute::{POP, Source};
use super::float::{self, Env, F80, IE, OE, PE, Rounding, UE};
use super::stack::C1;
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::exec::Insn;
use crate::exec::operand::{self, Mem, Place, is_stack};
use crate::low::Low;
use crate::silicon::Rule;

/// Ten bytes from memory.
fn load_80<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<u128, Fault> {
    let linear = operand::linear(c, i, 10, false)?;
    let low: u64 = c.load(b, linear, is_stack(i))?;
    let high: u16 = c.load(b, linear.wrapping_add(8), is_stack(i))?;
    Ok(u128::from(high) << 64 | u128::from(low))
}

/// Ten bytes to memory, in two parts or all or none.
fn store_80<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, bits: u128) -> Done {
    let linear = operand::linear(c, i, 10, true)?;
    if c.holds(Rule::Store80InTwoParts) {
        c.store(b, linear, bits.low_u64(), is_stack(i))?;
        return c.store(b, linear.wrapping_add(8), (bits >> 64).low_u16(), is_stack(i));
    }
    let (_, low): (u64, _) = c.load_for_update(b, linear, is_stack(i))?;
    let (_, high): (u16, _) = c.load_for_update(b, linear.wrapping_add(8), is_stack(i))?;
    c.store_update(b, low, bits.low_u64());
    c.store_update(b, high, (bits >> 64).low_u16());
    Ok(())
}

/// FLD from single or double precision, FILD.
pub(crate) fn load<B: Bus, S: Source>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let raw = S::fetch(c, b, i)?;
    let mut env = Env::new(c.fcw);
    let value = S::value(&mut env, raw);
    let value = if value.signalling() { float::propagate(&mut env, value, value) } else { value };
    env.denormal(&[]);
    c.push_result(i, env, value);
    Ok(())
}

/// FLD from extended precision.
pub(crate) fn load_extended<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let bits = load_80(c, b, i)?;
    c.push_result(i, Env::new(c.fcw), F80::from_bits(bits));
    Ok(())
}

pub(crate) fn fbld<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let bits = load_80(c, b, i)?;
    c.push_result(i, Env::new(c.fcw), bcd::from_bcd(bits));
    Ok(())
}

/// FLD ST(i).
pub(crate) fn load_register<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let value = if c.underflow(&mut env, &[i.dst]) { F80::INDEFINITE } else { c.st(i.dst) };
    c.push_result(i, env, value);
    Ok(())
}

/// [`Insn::dst`] of the instructions that load a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Constant {
    One,
    Log2Ten,
    Log2E,
    Pi,
    Log10Two,
    LnTwo,
    Zero,
}

/// Sign and exponent, significand rounded down, and whether the nearest is the next one.
const CONSTANTS: [(u16, u64, bool); 7] = [
    (0x3FFF, 1 << 63, false),
    (0x4000, 0xD49A_784B_CD1B_8AFE, false),
    (0x3FFF, 0xB8AA_3B29_5C17_F0BB, true),
    (0x4000, 0xC90F_DAA2_2168_C234, true),
    (0x3FFD, 0x9A20_9A84_FBCF_F798, true),
    (0x3FFE, 0xB172_17F7_D1CF_79AB, true),
    (0, 0, false),
];

pub(crate) fn load_constant<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let env = Env::new(c.fcw);
    let (high, significand, nearest_up) = CONSTANTS[usize::from(i.dst).min(CONSTANTS.len() - 1)];
    let exact = significand << 1 == 0;
    let up = match env.rounding() {
        Rounding::Nearest | Rounding::NearestAway => nearest_up,
        Rounding::Up => !exact,
        Rounding::Down | Rounding::Zero => false,
    };
    c.push_result(i, env, F80 { high, significand: significand + u64::from(up) });
    Ok(())
}

/// A format in memory that results are stored in.
pub(crate) trait Target {
    type Raw;
    /// Bytes in memory.
    const SIZE: u64;
    /// What masked stack underflow stores.
    const INDEFINITE: Self::Raw;
    fn convert(env: &mut Env, value: F80) -> Self::Raw;
    fn store<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, raw: Self::Raw) -> Done;
}

macro_rules! target {
    ($($t:ty: $raw:ty = $indefinite:expr, |$env:ident, $value:ident| $convert:expr;)*) => { $(
        impl Target for $t {
            type Raw = $raw;
            const SIZE: u64 = size_of::<$raw>() as u64;
            const INDEFINITE: $raw = $indefinite;
            fn convert($env: &mut Env, $value: F80) -> $raw {
                $convert
            }
            fn store<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, raw: $raw) -> Done {
                Mem::set(c, b, i, raw)
            }
        }
    )* };
}

/// An integer that is truncated whatever the rounding mode: FISTTP.
pub(crate) struct Truncated<T>(core::marker::PhantomData<T>);

target! {
    f32: u32 = 0xFFC0_0000, |env, value| float::to_single(env, value);
    f64: u64 = 0xFFF8 << 48, |env, value| float::to_double(env, value);
    i16: u16 = 1 << 15, |env, value| float::to_integer(env, value, 16, env.rounding()).low_u16();
    i32: u32 = 1 << 31, |env, value| float::to_integer(env, value, 32, env.rounding()).low_u32();
    i64: u64 = 1 << 63, |env, value| float::to_integer(env, value, 64, env.rounding()).cast_unsigned();
    Truncated<i16>: u16 = 1 << 15, |env, value| float::to_integer(env, value, 16, Rounding::Zero).low_u16();
    Truncated<i32>: u32 = 1 << 31, |env, value| float::to_integer(env, value, 32, Rounding::Zero).low_u32();
    Truncated<i64>: u64 = 1 << 63, |env, value| float::to_integer(env, value, 64, Rounding::Zero).cast_unsigned();
}

/// Extended precision in memory.
pub(crate) struct Extended;

impl Target for Extended {
    type Raw = u128;
    const SIZE: u64 = 10;
    const INDEFINITE: u128 = 0xFFFF_C000_0000_0000_0000;
    fn convert(_env: &mut Env, value: F80) -> u128 {
        value.bits()
    }
    fn store<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, raw: u128) -> Done {
        store_80(c, b, i, raw)
    }
}

/// Packed BCD in memory.
pub(crate) struct Bcd;

impl Target for Bcd {
    type Raw = u128;
    const SIZE: u64 = 10;
    const INDEFINITE: u128 = bcd::INDEFINITE;
    fn convert(env: &mut Env, value: F80) -> u128 {
        bcd::to_bcd(env, value)
    }
    fn store<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, raw: u128) -> Done {
        store_80(c, b, i, raw)
    }
}

/// FST, FIST, FISTTP, FBSTP to memory, and the popping forms.
pub(crate) fn store<B: Bus, T: Target>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let empty = c.underflow(&mut env, &[0]);
    let raw = if empty { T::INDEFINITE } else { T::convert(&mut env, c.st(0)) };
    // In memory there is no room for a wrapped exponent.
    let suppressed = env.raised & !c.fcw & (IE | OE | UE) != 0;
    if suppressed {
        if !c.holds(Rule::SuppressedStoreIgnoresMemory) {
            let linear = operand::linear(c, i, T::SIZE.low_usize(), true)?;
            operand::probe(c, b, i, linear, T::SIZE)?;
        }
        env.raised &= !PE;
        env.c1 = false;
    } else {
        T::store(c, b, i, raw)?;
    }
    c.commit(i, &env);
    if !suppressed && i.aux & POP != 0 {
        c.pop_st();
    }
    Ok(())
}

/// FST ST(i), FSTP ST(i).
pub(crate) fn store_register<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let value = if c.underflow(&mut env, &[0]) { F80::INDEFINITE } else { c.st(0) };
    if c.commit(i, &env) {
        c.set_st(i.dst, value);
        if i.aux & POP != 0 {
            c.pop_st();
        }
    }
    Ok(())
}

pub(crate) fn fxch<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    c.underflow(&mut env, &[0, i.src]);
    let content = |n| if c.is_empty(n) { F80::INDEFINITE } else { c.st(n) };
    let (first, second) = (content(0), content(i.src));
    if c.commit(i, &env) {
        c.set_st(0, second);
        c.set_st(i.src, first);
    }
    Ok(())
}

/// FCMOVcc: CF, ZF, CF or ZF, PF in the low bits of [`Insn::aux`]; bit 2 inverts.
pub(crate) fn fcmov<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let mut env = Env::new(c.fcw);
    let empty = c.underflow(&mut env, &[0, i.src]);
    // Only a stack fault changes C1.
    env.c1 = !empty && c.fsw & C1 != 0;
    let flags = c.flags;
    let condition = match i.aux & 3 {
        0 => flags.carry(),
        1 => flags.zero(),
        2 => flags.carry() || flags.zero(),
        _ => flags.parity(),
    };
    let value = if empty { F80::INDEFINITE } else { c.st(i.src) };
    if c.commit(i, &env) && (empty || condition != (i.aux & 4 != 0)) {
        c.set_st(0, value);
    }
    Ok(())
}

/// FFREE and FFREEP (pops).
pub(crate) fn ffree<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    c.commit(i, &Env::new(c.fcw));
    c.free(i.dst);
    if i.aux & POP != 0 {
        c.pop_st();
    }
    Ok(())
}

/// FINCSTP (`BY` 1) and FDECSTP (7).
pub(crate) fn rotate<B: Bus, const BY: u16>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    c.commit(i, &Env::new(c.fcw));
    c.rotate_stack(BY);
    Ok(())
}

pub(crate) fn fnop<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    c.x87_pointers.1 = c.instruction_rip();
    Ok(())
}
