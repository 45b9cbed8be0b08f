//! Threaded code: the handler of an instruction ends in a call of the next one's, so that the processor predicts each
//! indirect branch by itself and nothing stands between two instructions.
//!
//! The compiler makes these calls jumps where nothing is left to do behind them. Where it does not, as in a
//! build without optimisation, the stack grows by a few frames for each instruction of the block, of which there are
//! few.

use super::{Insn, Operands};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use core::slice::Iter;

/// Executes the first of these instructions and those behind it, until one faults or stops.
pub(crate) type Chain<B> = fn(&mut Core, &mut B, Iter<'_, Insn<B>>) -> Done;

/// The chain behind the last instruction of a block.
pub(crate) fn end<B: Bus>(_c: &mut Core, _b: &mut B, _rest: Iter<'_, Insn<B>>) -> Done {
    Ok(())
}

/// The chain of an instruction that has none of its own.
pub(crate) fn any<B: Bus>(c: &mut Core, b: &mut B, mut rest: Iter<'_, Insn<B>>) -> Done {
    let Some(i) = rest.next() else { return Ok(()) };
    c.position = i.position;
    (i.run)(c, b, &i.operands)?;
    if c.stop { Ok(()) } else { (i.next)(c, b, rest) }
}

/// The chain of one that works on general-purpose registers and flags only.
#[inline(always)]
pub(crate) fn plain<B: Bus>(
    c: &mut Core,
    b: &mut B,
    mut rest: Iter<'_, Insn<B>>,
    f: impl FnOnce(&mut Core, &Operands),
) -> Done {
    let Some(i) = rest.next() else { return Ok(()) };
    f(c, &i.operands);
    (i.next)(c, b, rest)
}

/// The chain of one that works on vector registers.
#[allow(dead_code, reason = "for the decoders of FP and Advanced SIMD")]
#[inline(always)]
pub(crate) fn vector<B: Bus>(
    c: &mut Core,
    b: &mut B,
    mut rest: Iter<'_, Insn<B>>,
    f: impl FnOnce(&mut Core, &Operands),
) -> Done {
    let Some(i) = rest.next() else { return Ok(()) };
    if !c.fp_enabled {
        c.position = i.position;
        return c.require_fp();
    }
    f(c, &i.operands);
    (i.next)(c, b, rest)
}

/// The chain of one that may access memory, fault and stop.
#[inline(always)]
pub(crate) fn full<B: Bus>(
    c: &mut Core,
    b: &mut B,
    mut rest: Iter<'_, Insn<B>>,
    f: impl FnOnce(&mut Core, &mut B, &Operands) -> Done,
) -> Done {
    let Some(i) = rest.next() else { return Ok(()) };
    c.position = i.position;
    f(c, b, &i.operands)?;
    if c.stop { Ok(()) } else { (i.next)(c, b, rest) }
}

/// The chain of one whose `quick` does all of it where that takes neither a page walk nor an exception nor a call of
/// the bus, and otherwise returns false, as if nothing had happened. Without a call in it, nothing has to be kept for
/// what follows.
#[inline(always)]
pub(crate) fn quick<B: Bus>(
    c: &mut Core,
    b: &mut B,
    mut rest: Iter<'_, Insn<B>>,
    quick: impl FnOnce(&mut Core, &mut B, &Operands) -> bool,
) -> Done {
    let all = rest.clone();
    let Some(i) = rest.next() else { return Ok(()) };
    if quick(c, b, &i.operands) { (i.next)(c, b, rest) } else { not_quick(c, b, all) }
}

/// The first of these instructions was not quick.
#[cold]
#[inline(never)]
fn not_quick<B: Bus>(c: &mut Core, b: &mut B, rest: Iter<'_, Insn<B>>) -> Done {
    any(c, b, rest)
}

/// Executes instructions of which not all of their block follow.
#[cold]
#[inline(never)]
pub(crate) fn some<B: Bus>(c: &mut Core, b: &mut B, insns: &[Insn<B>]) -> Done {
    for i in insns {
        c.position = i.position;
        (i.run)(c, b, &i.operands)?;
        if c.stop {
            break;
        }
    }
    Ok(())
}
