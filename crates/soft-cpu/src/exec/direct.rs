//! Direct stores and whole lines: MOVDIRI, MOVDIR64B, and AMD's CLZERO.

use super::Insn;
use super::operand::{self, Get, Mem, Place, Src, is_stack};
use crate::bus::Bus;
use crate::context::{Core, ES, RAX, number};
use crate::exception::Done;
use crate::width::{Memory, Width};

const LINE: usize = 64;

/// MOVDIRI.
pub(crate) fn movdiri<B: Bus, T: Width + Memory>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = <Src as Get<T>>::get(c, b, i)?;
    Mem::set(c, b, i, value)
}

/// MOVDIR64B: 64 bytes to the address in the first operand, which must be aligned.
pub(crate) fn movdir64b<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let from = operand::linear(c, i, LINE, false)?;
    let bytes: [u8; LINE] = c.load(b, from, is_stack(i))?;
    let offset = c.regs[usize::from(i.dst)] & operand::address_mask(i.seg);
    let to = c.segmented(number(ES), offset, LINE, true)?;
    if to & (LINE as u64 - 1) != 0 {
        return Err(c.gp(0));
    }
    c.store(b, to, bytes, false)
}

/// CLZERO: zeros to the line that has the address in rAX; `aux` is the size of rAX.
pub(crate) fn clzero<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let address = c.regs[RAX] & (u64::MAX >> (64 - 8 * u32::from(i.aux)));
    let linear = c.segmented(i.seg & 7, address & !(LINE as u64 - 1), LINE, true)?;
    c.store(b, linear, [0_u8; LINE], is_stack(i))
}
