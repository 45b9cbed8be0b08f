//! PUSH, POP and their relatives.

use super::Insn;
use super::operand::{self, Get, is_stack};
use crate::bus::Bus;
use crate::context::{Core, RBP, RSP, SS, number};
use crate::exception::{Done, Fault};
use crate::flags::{AC, ARITHMETIC, DF, ID, IF, IOPL, NT, RF, TF, VIF, VIP, VM};
use crate::low::Low;
use crate::width::{Memory, Width};

impl Core {
    /// Bits of RSP that address the stack.
    pub(crate) fn stack_mask(&self) -> u64 {
        if self.in_64_bit_mode() {
            u64::MAX
        } else if self.segs[SS].big() {
            0xFFFF_FFFF
        } else {
            0xFFFF
        }
    }

    /// RSP changed by `delta` within the stack's address size.
    #[inline(always)]
    pub(crate) fn stack_pointer(&self, delta: i64) -> u64 {
        let sp = self.regs[RSP].wrapping_add(delta.cast_unsigned());
        if self.in_64_bit_mode() { sp } else { self.narrow_stack_pointer(sp) }
    }

    #[inline(never)]
    fn narrow_stack_pointer(&self, sp: u64) -> u64 {
        let mask = self.stack_mask();
        // Outside 64-bit mode the upper half of RSP is gone.
        self.regs[RSP] & !mask & 0xFFFF_FFFF | sp & mask
    }

    #[inline(always)]
    fn stack_linear(&mut self, sp: u64, size: usize, write: bool) -> Result<u64, Fault> {
        if self.in_64_bit_mode() {
            return Ok(sp);
        }
        let offset = sp & self.stack_mask();
        self.segmented(number(SS), offset, size, write)
    }

    /// [`push`](Self::push) where it needs neither a page walk nor a check; false, and nothing happens, elsewhere.
    #[inline(always)]
    pub(crate) fn quick_push<T: Memory, B: Bus>(&mut self, bus: &mut B, i: &Insn<B>, value: T) -> bool {
        let sp = self.regs[RSP].wrapping_sub(T::BYTES as u64);
        if !self.in_64_bit_mode() {
            return false;
        }
        let done = self.quick_store(bus, i, sp, value);
        if done {
            self.regs[RSP] = sp;
        }
        done
    }

    /// The top of the stack, if reading it needs neither a page walk nor a check.
    #[inline(always)]
    pub(crate) fn quick_top<T: Memory, B: Bus>(&mut self, bus: &mut B, i: &Insn<B>) -> Option<T> {
        let sp = self.regs[RSP];
        if self.in_64_bit_mode() { self.quick_load(bus, i, sp) } else { None }
    }

    #[inline(never)]
    pub(crate) fn push<T: Memory, B: Bus>(&mut self, bus: &mut B, value: T) -> Done {
        let sp = self.stack_pointer(-T::BYTES.low_u64().cast_signed());
        let linear = self.stack_linear(sp, T::BYTES, true)?;
        self.store(bus, linear, value, true)?;
        self.regs[RSP] = sp;
        Ok(())
    }

    /// Raises what [`push`](Self::push) would raise, and writes nothing.
    #[cold]
    pub(crate) fn require_push<T: Memory, B: Bus>(&mut self, bus: &mut B) -> Done {
        let sp = self.stack_pointer(-T::BYTES.low_u64().cast_signed());
        let linear = self.stack_linear(sp, T::BYTES, true)?;
        self.load_for_update::<T, B>(bus, linear, true)?;
        Ok(())
    }

    #[inline(never)]
    pub(crate) fn pop<T: Memory, B: Bus>(&mut self, bus: &mut B) -> Result<T, Fault> {
        let value = self.peek(bus, 0)?;
        self.regs[RSP] = self.stack_pointer(T::BYTES.low_u64().cast_signed());
        Ok(value)
    }

    /// Reads `offset` bytes above the top of the stack.
    #[inline(always)]
    pub(crate) fn peek<T: Memory, B: Bus>(&mut self, bus: &mut B, offset: i64) -> Result<T, Fault> {
        let linear = self.stack_linear(self.stack_pointer(offset), T::BYTES, false)?;
        self.load(bus, linear, true)
    }
}

pub(crate) fn push<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = S::get(c, b, i)?;
    c.push(b, value)
}

/// PUSH of a segment register; `aux` is its number.
pub(crate) fn push_segment<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let selector = c.segs[usize::from(i.aux) % 6].selector;
    c.push(b, T::low(u64::from(selector)))
}

pub(crate) fn pop<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value: T = c.pop(b)?;
    value.set_reg(c, i.dst);
    Ok(())
}

/// POP to memory: an address with RSP uses its new value.
pub(crate) fn pop_memory<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let old = c.regs[RSP];
    let value: T = c.pop(b)?;
    let stored = match operand::linear(c, i, T::BYTES, true) {
        Ok(linear) => c.store(b, linear, value, is_stack(i)),
        Err(fault) => Err(fault),
    };
    if stored.is_err() {
        c.regs[RSP] = old;
    }
    stored
}

pub(crate) fn pop_segment<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let selector: u16 = c.peek(b, 0)?;
    let number = usize::from(i.aux) % 6;
    c.load_segment(b, number, selector)?;
    c.regs[RSP] = c.stack_pointer(T::BYTES.low_u64().cast_signed());
    if number == SS {
        c.shadow = true;
        c.debug_shadow = true;
        c.stop = true;
    }
    Ok(())
}

pub(crate) fn pushf<B: Bus, T: Width>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    let flags = c.rflags() & !(RF | VM);
    c.push(b, T::low(flags))
}

/// Bits that POPF changes in any case.
const POPF: u64 = ARITHMETIC | TF | DF | NT | AC | ID;

pub(crate) fn popf<B: Bus, T: Width>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    let value: T = c.pop(b)?;
    let mut mask = POPF;
    if c.cpl == 0 {
        mask |= IOPL;
    }
    if c.cpl <= c.iopl() {
        mask |= IF;
    }
    let mut cleared = RF;
    if T::BITS == 16 {
        mask &= 0xFFFF;
        cleared = 0;
    } else if c.cpl == 0 {
        cleared |= VIF | VIP;
    }
    c.set_rflags(mask | cleared, value.zext() & !cleared);
    // IF and TF may have changed.
    c.stop = true;
    Ok(())
}

pub(crate) fn leave<B: Bus, T: Width>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    let old = c.regs[RSP];
    let mask = c.stack_mask();
    c.regs[RSP] = old & !mask | c.regs[RBP] & mask;
    match c.pop::<T, B>(b) {
        Ok(value) => {
            value.set_reg(c, number(RBP));
            Ok(())
        }
        Err(fault) => {
            c.regs[RSP] = old;
            Err(fault)
        }
    }
}

/// ENTER; `imm` is the frame size, `aux` the nesting level.
pub(crate) fn enter<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let old = c.regs[RSP];
    let result = enter_frame::<B, T>(c, b, i);
    if result.is_err() {
        c.regs[RSP] = old;
    }
    result
}

fn enter_frame<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let level = i.aux % 32;
    c.push(b, T::reg(c, number(RBP)))?;
    let frame = c.regs[RSP];
    let mask = c.stack_mask();
    let size = T::BYTES as u64;
    for n in 1..u64::from(level) {
        let from = c.regs[RBP].wrapping_sub(n * size) & mask;
        let linear = c.stack_linear(from, T::BYTES, false)?;
        let value: T = c.load(b, linear, true)?;
        c.push(b, value)?;
    }
    if level > 0 {
        c.push(b, T::low(frame))?;
    }
    let sp = c.stack_pointer(-(i.imm.cast_signed() & 0xFFFF));
    // The new top has to be writable (SDM, ENTER).
    let linear = c.stack_linear(sp, 1, true)?;
    c.load_for_update::<u8, B>(b, linear, true)?;
    c.regs[RSP] = sp;
    T::low(frame).set_reg(c, number(RBP));
    Ok(())
}

/// PUSHA.
pub(crate) fn push_all<B: Bus, T: Width>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    let old = c.regs[RSP];
    for number in 0..8 {
        let value = if number == RSP { T::low(old) } else { T::reg(c, number.low_u8()) };
        if let Err(fault) = c.push(b, value) {
            c.regs[RSP] = old;
            return Err(fault);
        }
    }
    Ok(())
}

/// POPA.
pub(crate) fn pop_all<B: Bus, T: Width>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    let mut values = [T::low(0); 8];
    for (n, value) in values.iter_mut().enumerate() {
        *value = c.peek(b, (n * T::BYTES).low_u64().cast_signed())?;
    }
    for (n, value) in values.into_iter().enumerate() {
        let number = 7 - n;
        if number != RSP {
            value.set_reg(c, number.low_u8());
        }
    }
    c.regs[RSP] = c.stack_pointer(8 * T::BYTES.low_u64().cast_signed());
    Ok(())
}

/// See [`chain`](super::chain).
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn push<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        S::quick(c, b, i).is_some_and(|value| c.quick_push(b, i, value))
    }

    #[inline(always)]
    pub(crate) fn pop<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(value) = c.quick_top::<T, B>(b, i) else { return false };
        c.regs[RSP] = c.regs[RSP].wrapping_add(T::BYTES as u64);
        value.set_reg(c, i.dst);
        true
    }

    #[inline(always)]
    pub(crate) fn leave<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let sp = c.regs[RBP];
        let Some(value) = c.in_64_bit_mode().then(|| c.quick_load::<T, B>(b, i, sp)).flatten() else {
            return false;
        };
        c.regs[RSP] = sp.wrapping_add(T::BYTES as u64);
        value.set_reg(c, number(RBP));
        true
    }
}
