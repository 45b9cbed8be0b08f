//! Instructions on single flags.

use super::Insn;
use crate::bus::Bus;
use crate::context::{Core, RAX};
use crate::exception::Done;
use crate::flags::{AF, CF, DF, FIXED, IF, IOPL, PF, SF, ZF};

pub(crate) fn clc<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.flags.set_carry(false);
    Ok(())
}

pub(crate) fn stc<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.flags.set_carry(true);
    Ok(())
}

pub(crate) fn cmc<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    let carry = c.flags.carry();
    c.flags.set_carry(!carry);
    Ok(())
}

pub(crate) fn cld<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.rflags &= !DF;
    Ok(())
}

pub(crate) fn std<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.rflags |= DF;
    Ok(())
}

pub(crate) fn cli<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_iopl()?;
    c.rflags &= !IF;
    Ok(())
}

pub(crate) fn sti<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_iopl()?;
    if c.rflags & IF == 0 {
        c.rflags |= IF;
        c.shadow = true;
        c.stop = true;
    }
    Ok(())
}

pub(crate) fn lahf<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    let flags = c.flags.bits() & 0xFF | FIXED;
    c.regs[RAX] = c.regs[RAX] & !0xFF00 | flags << 8;
    Ok(())
}

pub(crate) fn sahf<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    let flags = c.regs[RAX] >> 8;
    c.flags.set(CF | PF | AF | ZF | SF, flags);
    Ok(())
}

impl Core {
    pub(crate) fn iopl(&self) -> u8 {
        ((self.rflags & IOPL) >> 12) as u8
    }

    /// #GP(0) unless the privilege level may change the interrupt flag.
    pub(crate) fn require_iopl(&mut self) -> Done {
        if self.cpl <= self.iopl() { Ok(()) } else { Err(self.gp(0)) }
    }
}
