//! String instructions, with and without REP.

use super::Insn;
use super::alu::{Binary, Sub};
use super::control::set_count;
use super::operand::address_mask;
use crate::bus::Bus;
use crate::context::{Core, ES, RAX, RCX, RDI, RDX, RSI, number};
use crate::debug::breakpoints::DR6_BS;
use crate::exception::{Done, Fault};
use crate::flags::{DF, TF};
use crate::low::Low;
use crate::silicon::Rule;
use crate::width::Width;

/// [`Insn::aux`]: no prefix.
pub(crate) const REP_NONE: u8 = 0;
/// REP or REPE.
pub(crate) const REP_EQUAL: u8 = 1;
/// REPNE.
pub(crate) const REP_NOT_EQUAL: u8 = 2;

/// Iterations after which a REP instruction gives the run loop a chance to look around.
const SLICE: u32 = 1 << 16;

/// One iteration of a string instruction.
pub(crate) trait StringOp<B: Bus> {
    /// True if ZF ends REPE and REPNE.
    const COMPARES: bool = false;
    const LOADS: u64;
    const STORES: u64;
    /// Does one element; registers change only if it succeeds.
    fn step<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done;
    /// Does up to `limit` elements that cannot fault at once, if there are such, without touching registers;
    /// how many.
    #[inline(always)]
    fn bulk<T: Width>(_c: &mut Core, _b: &mut B, _i: &Insn<B>, _limit: u64) -> u64 {
        0
    }
    /// The registers that [`bulk`](Self::bulk) elements move.
    const MOVES_RSI: bool = false;
    /// The registers that [`Rule::RepZeroExtendsFirst`] is about.
    const ZERO_EXTENDED: &'static [usize] = &[];
}

pub(crate) struct Movs;
pub(crate) struct Stos;
pub(crate) struct Lods;
pub(crate) struct Scas;
pub(crate) struct Cmps;
pub(crate) struct Ins;
pub(crate) struct Outs;

#[inline(always)]
fn address<B>(
    c: &mut Core,
    i: &Insn<B>,
    seg: u8,
    register: usize,
    size: usize,
    write: bool,
) -> Result<u64, Fault> {
    let offset = c.regs[register] & address_mask(i.seg);
    if i.seg & super::SEG_SLOW == 0 {
        return Ok(offset.wrapping_add(c.bases[usize::from(seg & 7)]));
    }
    c.segmented(seg, offset, size, write)
}

#[inline(always)]
fn advance<B>(c: &mut Core, i: &Insn<B>, register: usize, size: usize) {
    let delta = if c.rflags & DF == 0 { size as u64 } else { (size as u64).wrapping_neg() };
    let value = c.regs[register].wrapping_add(delta);
    c.regs[register] = match address_mask(i.seg) {
        0xFFFF => c.regs[register] & !0xFFFF | value & 0xFFFF,
        mask => value & mask,
    };
}

impl<B: Bus> StringOp<B> for Movs {
    const ZERO_EXTENDED: &'static [usize] = &[RCX, RSI, RDI];
    const LOADS: u64 = 1;
    const STORES: u64 = 1;
    #[inline(always)]
    fn step<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
        let from = address(c, i, i.seg, RSI, T::BYTES, false)?;
        let value: T = c.load(b, from, super::operand::is_stack(i))?;
        let to = address(c, i, number(ES), RDI, T::BYTES, true)?;
        c.store(b, to, value, false)?;
        advance(c, i, RSI, T::BYTES);
        advance(c, i, RDI, T::BYTES);
        Ok(())
    }

    const MOVES_RSI: bool = true;
    fn bulk<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>, limit: u64) -> u64 {
        let from = c.regs[RSI].wrapping_add(c.bases[usize::from(i.seg & 7)]);
        let to = c.regs[RDI].wrapping_add(c.bases[ES]);
        let (Some(from), Some(to)) = (c.readable(from), c.writable(to)) else { return 0 };
        let count = (from.1.min(to.1) / T::BYTES as u64).min(limit);
        // Eight bytes at a time read nothing that a byte before them has written.
        if to.0.wrapping_sub(from.0) < 8 {
            return 0;
        }
        let bytes = count * T::BYTES as u64;
        let words = bytes / 8 * 8;
        for at in (0..words).step_by(8) {
            let word: [u8; 8] = b.ram_read(from.0 + at);
            b.ram_write(to.0 + at, word);
        }
        for at in words..bytes {
            let byte: [u8; 1] = b.ram_read(from.0 + at);
            b.ram_write(to.0 + at, byte);
        }
        count
    }
}

impl<B: Bus> StringOp<B> for Stos {
    const ZERO_EXTENDED: &'static [usize] = &[RCX, RDI];
    const LOADS: u64 = 0;
    const STORES: u64 = 1;
    #[inline(always)]
    fn step<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
        let to = address(c, i, number(ES), RDI, T::BYTES, true)?;
        c.store(b, to, T::reg(c, number(RAX)), false)?;
        advance(c, i, RDI, T::BYTES);
        Ok(())
    }

    fn bulk<T: Width>(c: &mut Core, b: &mut B, _i: &Insn<B>, limit: u64) -> u64 {
        let Some(to) = c.writable(c.regs[RDI].wrapping_add(c.bases[ES])) else { return 0 };
        let count = (to.1 / T::BYTES as u64).min(limit);
        let mut pattern = T::reg(c, number(RAX)).zext();
        let mut bits = T::BITS;
        while bits < 64 {
            pattern |= pattern << bits;
            bits *= 2;
        }
        let pattern = pattern.to_le_bytes();
        let bytes = count * T::BYTES as u64;
        let words = bytes / 8 * 8;
        for at in (0..words).step_by(8) {
            b.ram_write(to.0 + at, pattern);
        }
        for (at, byte) in (words..bytes).zip(pattern) {
            b.ram_write(to.0 + at, [byte]);
        }
        count
    }
}

impl<B: Bus> StringOp<B> for Lods {
    const ZERO_EXTENDED: &'static [usize] = &[RCX];
    const LOADS: u64 = 1;
    const STORES: u64 = 0;
    #[inline(always)]
    fn step<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
        let from = address(c, i, i.seg, RSI, T::BYTES, false)?;
        c.load::<T, B>(b, from, super::operand::is_stack(i))?.set_reg(c, number(RAX));
        advance(c, i, RSI, T::BYTES);
        Ok(())
    }
}

impl<B: Bus> StringOp<B> for Scas {
    const ZERO_EXTENDED: &'static [usize] = &[RCX];
    const COMPARES: bool = true;
    const LOADS: u64 = 1;
    const STORES: u64 = 0;
    #[inline(always)]
    fn step<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
        let at = address(c, i, number(ES), RDI, T::BYTES, false)?;
        let value: T = c.load(b, at, false)?;
        Sub::apply(c, T::reg(c, number(RAX)), value);
        advance(c, i, RDI, T::BYTES);
        Ok(())
    }
}

impl<B: Bus> StringOp<B> for Cmps {
    const ZERO_EXTENDED: &'static [usize] = &[RCX];
    const COMPARES: bool = true;
    const LOADS: u64 = 2;
    const STORES: u64 = 0;
    #[inline(always)]
    fn step<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
        let repe_cmpsb = T::BYTES == 1 && i.aux == REP_EQUAL;
        let rule = if repe_cmpsb { Rule::RepeCmpsbReadsRdiFirst } else { Rule::CmpsReadsRdiFirst };
        if c.holds(rule) {
            // Its fault comes first.
            let right = address(c, i, number(ES), RDI, T::BYTES, false)?;
            let right: T = c.load(b, right, false)?;
            let left = address(c, i, i.seg, RSI, T::BYTES, false)?;
            let left: T = c.load(b, left, super::operand::is_stack(i))?;
            Sub::apply(c, left, right);
        } else {
            let left = address(c, i, i.seg, RSI, T::BYTES, false)?;
            let left: T = c.load(b, left, super::operand::is_stack(i))?;
            let right = address(c, i, number(ES), RDI, T::BYTES, false)?;
            let right: T = c.load(b, right, false)?;
            Sub::apply(c, left, right);
        }
        advance(c, i, RSI, T::BYTES);
        advance(c, i, RDI, T::BYTES);
        Ok(())
    }
}

impl<B: Bus> StringOp<B> for Ins {
    const LOADS: u64 = 0;
    const STORES: u64 = 1;
    fn step<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
        let port = c.regs[RDX].low_u16();
        c.require_port::<B>(b, port, T::BYTES)?;
        let to = address(c, i, number(ES), RDI, T::BYTES, true)?;
        // The store must not fail after the device has been read.
        let (_, target) = c.load_for_update::<T, B>(b, to, false)?;
        let value = T::low(u64::from(c.port_in(b, port, T::BYTES)));
        c.store_update(b, target, value);
        advance(c, i, RDI, T::BYTES);
        Ok(())
    }
}

impl<B: Bus> StringOp<B> for Outs {
    const LOADS: u64 = 1;
    const STORES: u64 = 0;
    fn step<T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
        let port = c.regs[RDX].low_u16();
        c.require_port::<B>(b, port, T::BYTES)?;
        let from = address(c, i, i.seg, RSI, T::BYTES, false)?;
        let value: T = c.load(b, from, super::operand::is_stack(i))?;
        c.port_out(b, port, value.zext().low_u32(), T::BYTES);
        advance(c, i, RSI, T::BYTES);
        Ok(())
    }
}

pub(crate) fn string<B: Bus, O: StringOp<B>, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    if i.aux == REP_NONE {
        O::step::<T>(c, b, i)?;
        count_operands::<B, O>(c, 1);
        return Ok(());
    }
    let mask = address_mask(i.seg);
    if mask == 0xFFFF_FFFF && c.in_64_bit_mode() && c.holds(Rule::RepZeroExtendsFirst) {
        for register in O::ZERO_EXTENDED {
            c.regs[*register] &= mask;
        }
    }
    let flags = c.flags;
    let mut left = u64::from(SLICE).min(c.repetitions_left).low_u32();
    let bulk = i.seg & super::SEG_SLOW == 0 && c.rflags & (DF | TF) == 0;
    while c.regs[RCX] & mask != 0 {
        if bulk {
            let done = O::bulk::<T>(c, b, i, c.regs[RCX].min(u64::from(left)));
            let bytes = done * T::BYTES as u64;
            if done != 0 {
                if B::OBSERVED && c.watch.on {
                    watch_bulk::<B, O>(c, i, bytes);
                }
                c.regs[RDI] = c.regs[RDI].wrapping_add(bytes);
                if O::MOVES_RSI {
                    c.regs[RSI] = c.regs[RSI].wrapping_add(bytes);
                }
                c.regs[RCX] -= done;
                left -= done.low_u32();
                count_iterations::<B, O>(c, done);
                continue;
            }
        }
        if left == 0 {
            // Not finished: without an exception the run loop comes back to this instruction.
            return Err(Fault);
        }
        left -= 1;
        // The registers are right at every fault: what is done is done.
        if let Err(fault) = O::step::<T>(c, b, i) {
            if O::COMPARES && c.holds(Rule::RepCompareFaultKeepsFlags) {
                c.flags = flags;
            }
            return Err(fault);
        }
        count_iterations::<B, O>(c, 1);
        set_count(c, (c.regs[RCX] & mask).wrapping_sub(1) & mask, mask);
        if O::COMPARES && c.flags.zero() != (i.aux == REP_EQUAL) {
            break;
        }
        if c.rflags & TF != 0 && !c.steps_on_branches && c.regs[RCX] & mask != 0 {
            // Single steps are those of the iterations; the last one ends the instruction, which traps by itself.
            c.debug_pending |= DR6_BS;
            return Err(Fault);
        }
        // A bus call or a write to code wants the run loop's attention between two iterations.
        if c.stop && c.regs[RCX] & mask != 0 {
            return Err(Fault);
        }
    }
    if c.repetitions_left == 0 {
        c.stop = true;
    }
    Ok(())
}

/// Counts iterations of REP, which take time.
#[inline(always)]
fn count_iterations<B: Bus, O: StringOp<B>>(c: &mut Core, iterations: u64) {
    count_operands::<B, O>(c, iterations);
    c.totals.current.repetitions += iterations;
    c.repetitions_left = c.repetitions_left.saturating_sub(iterations);
}

/// Tells an observer what [`StringOp::bulk`] has accessed.
fn watch_bulk<B: Bus, O: StringOp<B>>(c: &mut Core, i: &Insn<B>, bytes: u64) {
    if O::MOVES_RSI {
        c.watch_bulk(c.regs[RSI].wrapping_add(c.bases[usize::from(i.seg & 7)]), bytes, false);
    }
    c.watch_bulk(c.regs[RDI].wrapping_add(c.bases[ES]), bytes, true);
}

/// Operands count when they are accessed, because silicon retires them so too.
#[inline(always)]
fn count_operands<B: Bus, O: StringOp<B>>(c: &mut Core, iterations: u64) {
    let totals = &mut c.totals.current;
    totals.loads += O::LOADS * iterations;
    totals.stores += O::STORES * iterations;
}
