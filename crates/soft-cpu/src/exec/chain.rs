//! Threaded code: the handler of an instruction ends in a call of the next one's, so that the processor predicts each
//! indirect branch by itself and nothing stands between two instructions.
//!
//! The compiler makes these calls jumps where nothing is left to do behind them. Where it does not, as in a
//! build without optimisation, the stack grows by a few frames for each instruction of the block, of which there are
//! few.
//!
//! A handler in a `quick` module does what the one of its name does where that takes neither a page walk nor an
//! exception nor a call of the bus. It returns true, or false if it has done nothing because the other
//! one is needed. It does not look at [`Core::position`] and does not set [`Core::stop`].

use super::Insn;
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

/// The chain of an instruction without a quick handler.
pub(crate) fn any<B: Bus>(c: &mut Core, b: &mut B, mut rest: Iter<'_, Insn<B>>) -> Done {
    let Some(i) = rest.next() else { return Ok(()) };
    c.position = i.position;
    (i.run)(c, b, i)?;
    if c.stop { Ok(()) } else { (i.next)(c, b, rest) }
}

/// The chain of one whose operation is counted.
pub(crate) fn counted<B: Bus>(c: &mut Core, b: &mut B, mut rest: Iter<'_, Insn<B>>) -> Done {
    let Some(i) = rest.next() else { return Ok(()) };
    c.position = i.position;
    (i.run)(c, b, i)?;
    c.count_operation(i);
    if c.stop { Ok(()) } else { (i.next)(c, b, rest) }
}

/// The chain of one with `quick`.
#[inline(always)]
pub(crate) fn quick<B: Bus>(
    c: &mut Core,
    b: &mut B,
    mut rest: Iter<'_, Insn<B>>,
    quick: impl FnOnce(&mut Core, &mut B, &Insn<B>) -> bool,
) -> Done {
    let all = rest.clone();
    let Some(i) = rest.next() else { return Ok(()) };
    if quick(c, b, i) { (i.next)(c, b, rest) } else { not_quick(c, b, all) }
}

/// The chain of one with `quick` that ends every block: with nothing behind it, it has nothing to keep.
#[inline(always)]
pub(crate) fn last<B: Bus>(
    c: &mut Core,
    b: &mut B,
    rest: Iter<'_, Insn<B>>,
    quick: impl FnOnce(&mut Core, &mut B, &Insn<B>) -> bool,
) -> Done {
    let Some(i) = rest.clone().next() else { return Ok(()) };
    if quick(c, b, i) { Ok(()) } else { not_quick(c, b, rest) }
}

/// The first of these instructions was not quick.
#[cold]
#[inline(never)]
pub(crate) fn not_quick<B: Bus>(c: &mut Core, b: &mut B, rest: Iter<'_, Insn<B>>) -> Done {
    if B::OBSERVED
        && let Some(i) = rest.clone().next()
    {
        c.watch.forget(i.position.index);
    }
    any(c, b, rest)
}

/// Executes instructions of which not all of their block follow: each leaves the flags as it should.
#[cold]
#[inline(never)]
pub(crate) fn some<B: Bus>(c: &mut Core, b: &mut B, insns: &[Insn<B>]) -> Done {
    for i in insns {
        c.position = i.position;
        (i.run)(c, b, i)?;
        c.count_operation(i);
        if c.stop {
            break;
        }
    }
    Ok(())
}
