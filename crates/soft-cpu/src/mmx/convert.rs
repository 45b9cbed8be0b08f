//! Conversions between MMX integers and SSE floats.

use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::Get;
use crate::sse::float::{self, Env, Float};
use crate::sse::lane::{Lane, get, set};

/// CVTPI2PS: two integers to the low half of an XMM register. From memory (not `REGISTER`) it leaves the x87 state
/// alone; so does hardware.
pub(crate) fn cvtpi2ps<B: Bus, const REGISTER: bool, S: Get<u64>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    if REGISTER {
        c.require_mmx()?;
    }
    let source = u128::from(S::get(c, b, i)?);
    let mut env = Env::new(c.mxcsr);
    let mut result = c.xmm[usize::from(i.dst & 15)];
    for n in 0..2 {
        result = set(result, n, float::f32_from_integer(&mut env, i64::from(get::<i32>(source, n))));
    }
    c.float_done(&env)?;
    c.xmm[usize::from(i.dst & 15)] = result;
    if REGISTER {
        c.enter_mmx();
    }
    Ok(())
}

/// CVTPI2PD: two integers to two doubles, exactly.
pub(crate) fn cvtpi2pd<B: Bus, const REGISTER: bool, S: Get<u64>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    if REGISTER {
        c.require_mmx()?;
    }
    let source = u128::from(S::get(c, b, i)?);
    let double = |n| f64::from(get::<i32>(source, n)).bits();
    c.xmm[usize::from(i.dst & 15)] = double(1) << 64 | double(0);
    if REGISTER {
        c.enter_mmx();
    }
    Ok(())
}

/// CVT(T)PS2PI and CVT(T)PD2PI.
pub(crate) fn to_integers<B: Bus, const TRUNCATE: bool, R: Float, S: Get<u128>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    c.require_mmx()?;
    let source = S::get(c, b, i)?;
    let mut env = Env::new(c.mxcsr);
    let mut integer = |n| float::to_integer::<R>(&mut env, get(source, n), 32, TRUNCATE) & 0xFFFF_FFFF;
    let result = integer(0) | integer(1) << 32;
    c.float_done(&env)?;
    c.set_mm(i.dst, result);
    Ok(())
}
