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

/// Executes an instruction and those behind it in its block, until one faults or stops.
pub(crate) type Chain<B> = fn(&mut Core, &mut B, &Insn<B>, &[Insn<B>]) -> Done;

#[inline(always)]
pub(crate) fn next<B: Bus>(c: &mut Core, b: &mut B, rest: &[Insn<B>]) -> Done {
    match rest.split_first() {
        Some((i, rest)) => (i.chain)(c, b, i, rest),
        None => Ok(()),
    }
}

/// The link of an instruction without a quick handler.
pub(crate) fn any<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, rest: &[Insn<B>]) -> Done {
    c.position = i.position;
    (i.run)(c, b, i)?;
    if c.stop { Ok(()) } else { next(c, b, rest) }
}

/// The link of one with `quick`.
#[inline(always)]
pub(crate) fn quick<B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
    rest: &[Insn<B>],
    quick: impl FnOnce(&mut Core, &mut B, &Insn<B>) -> bool,
) -> Done {
    if quick(c, b, i) { next(c, b, rest) } else { not_quick(c, b, i, rest) }
}

/// The link of one with `quick` that ends every block: with nothing behind it, it has nothing to keep.
#[inline(always)]
pub(crate) fn last<B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
    rest: &[Insn<B>],
    quick: impl FnOnce(&mut Core, &mut B, &Insn<B>) -> bool,
) -> Done {
    if quick(c, b, i) { Ok(()) } else { not_quick(c, b, i, rest) }
}

#[cold]
#[inline(never)]
fn not_quick<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, rest: &[Insn<B>]) -> Done {
    any(c, b, i, rest)
}
