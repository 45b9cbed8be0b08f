//! Far branches: between segments and privilege levels.

use super::Insn;
use super::operand;
use crate::bus::Bus;
use crate::context::{CR0_PE, CS, Core, EFER_SCE, RCX, RDX, RSP, SS};
use crate::exception::{self, Done, EventKind, Exception, Fault};
use crate::flags::{AC, ARITHMETIC, DF, ID, IF, IOPL, NT, OF, RF, TF, VIF, VIP, VM};
use crate::low::Low;
use crate::mmu::is_canonical;
use crate::segment::Descriptor;
use crate::silicon::Rule;
use crate::state::Segment;

fn flat_code(selector: u16, dpl: u8, long: bool) -> Segment {
    let kind = if long { 0xA09B } else { 0xC09B };
    Segment { selector, base: 0, limit: u32::MAX, rights: kind | u16::from(dpl) << 5 }
}

fn flat_data(selector: u16, dpl: u8) -> Segment {
    Segment { selector, base: 0, limit: u32::MAX, rights: 0xC093 | u16::from(dpl) << 5 }
}

impl Core {
    /// A value of the operand size, `offset` bytes above the top of the stack.
    fn peek_sized<B: Bus>(&mut self, bus: &mut B, size: u8, offset: i64) -> Result<u64, Fault> {
        Ok(match size {
            2 => u64::from(self.peek::<u16, B>(bus, offset)?),
            4 => u64::from(self.peek::<u32, B>(bus, offset)?),
            _ => self.peek::<u64, B>(bus, offset)?,
        })
    }

    fn push_sized<B: Bus>(&mut self, bus: &mut B, size: u8, value: u64) -> Done {
        match size {
            2 => self.push(bus, value.low_u16()),
            4 => self.push(bus, value.low_u32()),
            _ => self.push(bus, value),
        }
    }

    fn code_descriptor<B: Bus>(&mut self, bus: &mut B, selector: u16) -> Result<Descriptor, Fault> {
        if selector & !3 == 0 {
            return Err(self.gp(0));
        }
        let descriptor = self.descriptor(bus, selector, exception::GP, false)?;
        let both = self.long_mode() && descriptor.long() && descriptor.big();
        if !descriptor.is_code() || both {
            if !descriptor.ordinary() && matches!(descriptor.kind(), 1 | 4 | 5 | 9 | 0xC) {
                log::warn!("guest uses call gate or task {selector:#x}, which is not implemented: #GP");
            }
            return Err(self.selector_fault(exception::GP, selector));
        }
        Ok(descriptor)
    }

    /// The code segment that IRET or RET returns to.
    fn return_code<B: Bus>(&mut self, bus: &mut B, selector: u16) -> Result<Segment, Fault> {
        let mut descriptor = self.code_descriptor(bus, selector)?;
        let (rpl, dpl) = (selector.low_u8() & 3, descriptor.dpl());
        let allowed = if descriptor.conforming() { dpl <= rpl } else { dpl == rpl };
        if rpl < self.cpl || !allowed {
            return Err(self.selector_fault(exception::GP, selector));
        }
        if !descriptor.present() {
            return Err(self.selector_fault(exception::NP, selector));
        }
        self.set_accessed(bus, &mut descriptor)?;
        Ok(descriptor.segment(selector))
    }

    /// The stack segment that goes with it.
    fn return_stack<B: Bus>(&mut self, bus: &mut B, selector: u16, code: &Segment) -> Result<Segment, Fault> {
        let cpl = code.selector.low_u8() & 3;
        if selector & !3 == 0 {
            if self.long_mode() && code.long() && cpl != 3 && selector.low_u8() & 3 == cpl {
                return Ok(flat_data(selector, cpl));
            }
            return Err(self.gp(0));
        }
        let mut descriptor = self.descriptor(bus, selector, exception::GP, false)?;
        let writable = descriptor.ordinary() && !descriptor.is_code() && descriptor.kind() & 2 != 0;
        if !writable || descriptor.dpl() != cpl || selector.low_u8() & 3 != cpl {
            return Err(self.selector_fault(exception::GP, selector));
        }
        if !descriptor.present() {
            return Err(self.selector_fault(exception::SS, selector));
        }
        self.set_accessed(bus, &mut descriptor)?;
        Ok(descriptor.segment(selector))
    }

    fn check_rip(&mut self, rip: u64, code: &Segment) -> Done {
        let valid =
            if self.long_mode() && code.long() { is_canonical(rip) } else { rip <= u64::from(code.limit) };
        if valid { Ok(()) } else { Err(self.gp(0)) }
    }

    /// Continues at `rip` in `code`; with a stack when the privilege level changes or IRET says so.
    fn return_to(&mut self, rip: u64, code: Segment, stack: Option<(Segment, u64)>) {
        let outer = code.selector.low_u8() & 3 > self.cpl;
        self.cpl = code.selector.low_u8() & 3;
        self.segs[CS] = code;
        self.rip = rip;
        if let Some((segment, sp)) = stack {
            self.segs[SS] = segment;
            self.update_mode();
            let mask = self.stack_mask();
            self.regs[RSP] = if mask == 0xFFFF { self.regs[RSP] & !mask | sp & mask } else { sp & mask };
        }
        self.update_mode();
        if outer {
            self.drop_inner_segments();
        }
    }
}

/// IRET; `aux` is the operand size.
pub(crate) fn iret<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let from_cpl = c.cpl;
    let size = i.aux;
    let step = i64::from(size);
    if !c.long_mode() && c.rflags & NT != 0 {
        log::warn!("guest returns to a task with IRET, which is not implemented: #GP");
        return Err(c.gp(0));
    }
    if c.long_mode() && c.rflags & NT != 0 {
        return Err(c.gp(0));
    }
    let rip = c.peek_sized(b, size, 0)?;
    let selector = c.peek_sized(b, size, step)?.low_u16();
    let rflags = c.peek_sized(b, size, 2 * step)?;
    if !c.long_mode() && size == 4 && c.cpl == 0 && rflags & VM != 0 {
        log::warn!("guest enters virtual-8086 mode, which is not implemented: #GP");
        return Err(c.gp(0));
    }
    let code = c.return_code(b, selector)?;
    let outer = selector.low_u8() & 3 > c.cpl;
    let stack = if outer || c.in_64_bit_mode() {
        let sp = c.peek_sized(b, size, 3 * step)?;
        let ss = c.peek_sized(b, size, 4 * step)?.low_u16();
        Some((c.return_stack(b, ss, &code)?, sp))
    } else {
        None
    };
    c.check_rip(rip, &code)?;
    let mut mask = ARITHMETIC | TF | DF | NT | RF | AC | ID;
    if c.cpl <= c.iopl() {
        mask |= IF;
    }
    if c.cpl == 0 {
        mask |= IOPL | VIF | VIP;
    }
    if size == 2 {
        mask &= 0xFFFF;
    }
    if stack.is_none() {
        c.regs[RSP] = c.stack_pointer(3 * step);
    }
    c.return_to(rip, code, stack);
    c.set_rflags(mask, rflags);
    c.nmi_blocked = false;
    c.retire_far(b, from_cpl);
    Ok(())
}

/// Far RET, releasing `imm` bytes.
pub(crate) fn ret<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let from_cpl = c.cpl;
    let step = i64::from(i.aux);
    let release = i.imm.cast_signed() & 0xFFFF;
    let rip = c.peek_sized(b, i.aux, 0)?;
    let selector = c.peek_sized(b, i.aux, step)?.low_u16();
    let code = c.return_code(b, selector)?;
    let stack = if selector.low_u8() & 3 > c.cpl {
        let sp = c.peek_sized(b, i.aux, 2 * step + release)?;
        let ss = c.peek_sized(b, i.aux, 3 * step + release)?.low_u16();
        Some((c.return_stack(b, ss, &code)?, sp.wrapping_add(release.cast_unsigned())))
    } else {
        None
    };
    c.check_rip(rip, &code)?;
    if stack.is_none() {
        c.regs[RSP] = c.stack_pointer(2 * step + release);
    }
    c.return_to(rip, code, stack);
    c.retire_far(b, from_cpl);
    Ok(())
}

/// The target of a far JMP or CALL: from the instruction, or from memory.
fn far_target<B: Bus, const DIRECT: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<(u16, u64), Fault> {
    if DIRECT {
        return Ok((i.disp.low_u16(), i.imm));
    }
    let size = usize::from(i.aux);
    let linear = operand::linear(c, i, size + 2, false)?;
    let stack = operand::is_stack(i);
    let offset = match size {
        2 => u64::from(c.load::<u16, B>(b, linear, stack)?),
        4 => u64::from(c.load::<u32, B>(b, linear, stack)?),
        _ => c.load::<u64, B>(b, linear, stack)?,
    };
    let selector = c.load::<u16, B>(b, linear.wrapping_add(size as u64), stack)?;
    Ok((selector, offset))
}

/// Far JMP (`CALL` false) and CALL within a privilege level.
pub(crate) fn branch<B: Bus, const DIRECT: bool, const CALL: bool>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let (selector, rip) = far_target::<B, DIRECT>(c, b, i)?;
    let mut descriptor = c.code_descriptor(b, selector)?;
    let (rpl, dpl) = (selector.low_u8() & 3, descriptor.dpl());
    let allowed = if descriptor.conforming() { dpl <= c.cpl } else { rpl <= c.cpl && dpl == c.cpl };
    if !allowed {
        return Err(c.selector_fault(exception::GP, selector));
    }
    if !descriptor.present() {
        return Err(c.selector_fault(exception::NP, selector));
    }
    let code = descriptor.segment(selector & !3 | u16::from(c.cpl));
    c.check_rip(rip, &code)?;
    c.set_accessed(b, &mut descriptor)?;
    if CALL {
        let (old, back) = (c.regs[RSP], c.next_rip());
        let cs = u64::from(c.segs[CS].selector);
        c.push_sized(b, i.aux, cs)?;
        if let Err(fault) = c.push_sized(b, i.aux, back) {
            c.regs[RSP] = old;
            return Err(fault);
        }
    }
    c.segs[CS] = code;
    c.rip = rip;
    c.update_mode();
    let cpl = c.cpl;
    c.retire_far(b, cpl);
    Ok(())
}

/// INT n, INT3: the vector is in `imm`.
pub(crate) fn int<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let from_cpl = c.cpl;
    c.rip = c.next_rip();
    c.interrupt_itself(b, i.imm.low_u8(), EventKind::Software)?;
    c.retire_far(b, from_cpl);
    Ok(())
}

/// INTO.
pub(crate) fn into<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    if c.flags.bits() & OF == 0 {
        return Ok(());
    }
    let from_cpl = c.cpl;
    c.rip = c.next_rip();
    c.interrupt_itself(b, exception::OF, EventKind::Software)?;
    c.retire_far(b, from_cpl);
    Ok(())
}

pub(crate) fn syscall<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    let outside_64_bit_mode = c.holds(Rule::LegacySyscall) && c.cr0 & CR0_PE != 0;
    if c.efer & EFER_SCE == 0 || !(c.in_64_bit_mode() || outside_64_bit_mode) {
        return Err(c.ud());
    }
    let from_cpl = c.cpl;
    let long = c.long_mode();
    let target = if c.in_64_bit_mode() { c.lstar } else { c.cstar };
    c.regs[RCX] = c.next_rip();
    let selector = (c.star >> 32).low_u16() & !3;
    c.segs[CS] = flat_code(selector, 0, long);
    c.segs[SS] = flat_data(selector.wrapping_add(8), 0);
    c.cpl = 0;
    if long {
        c.regs[11] = c.rflags() & !RF;
        let mask = c.fmask | RF;
        c.set_rflags(mask, 0);
        c.rip = target;
    } else {
        c.rflags &= !(VM | IF | RF);
        c.rip = c.star & 0xFFFF_FFFF;
    }
    c.system_call = true;
    c.update_mode();
    c.retire_far(b, from_cpl);
    Ok(())
}

/// SYSRET; `aux` is the operand size.
pub(crate) fn sysret<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let legacy = c.holds(Rule::LegacySyscall) && c.cr0 & CR0_PE != 0 && !c.long_mode();
    if c.efer & EFER_SCE == 0 || !(c.in_64_bit_mode() || legacy) {
        return Err(c.ud());
    }
    c.require_cpl0()?;
    let long = i.aux == 8;
    let rip = if long { c.regs[RCX] } else { c.regs[RCX] & 0xFFFF_FFFF };
    if !is_canonical(rip) {
        return Err(c.gp(0));
    }
    let selector = (c.star >> 48) as u16;
    let code = selector.wrapping_add(if long { 16 } else { 0 }) | 3;
    let rflags = c.regs[11];
    c.segs[CS] = flat_code(code, 3, long);
    c.segs[SS] = flat_data(selector.wrapping_add(8) | 3, 3);
    c.cpl = 3;
    c.rip = rip;
    if legacy {
        c.rflags |= IF;
    } else {
        c.set_rflags(!(RF | VM) & 0x003F_7FD5, rflags);
        c.rflags &= !RF;
    }
    c.system_call = true;
    c.update_mode();
    c.retire_far(b, 0);
    Ok(())
}

pub(crate) fn sysenter<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    if c.holds(Rule::LegacySyscall) && c.long_mode() {
        return Err(c.ud());
    }
    let [selector, sp, rip] = c.sysenter;
    if c.cr0 & CR0_PE == 0 || selector & !3 == 0 {
        return Err(c.gp(0));
    }
    let from_cpl = c.cpl;
    let long = c.long_mode();
    let selector = selector.low_u16() & !3;
    c.rflags &= !(VM | IF | RF);
    c.segs[CS] = flat_code(selector, 0, long);
    c.segs[SS] = flat_data(selector.wrapping_add(8), 0);
    c.cpl = 0;
    let mask = if long { u64::MAX } else { 0xFFFF_FFFF };
    c.regs[RSP] = sp & mask;
    c.rip = rip & mask;
    c.update_mode();
    c.retire_far(b, from_cpl);
    Ok(())
}

/// SYSEXIT; `aux` is the operand size.
pub(crate) fn sysexit<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    if c.holds(Rule::LegacySyscall) && c.long_mode() {
        return Err(c.ud());
    }
    let selector = c.sysenter[0];
    if selector & !3 == 0 {
        return Err(c.gp(0));
    }
    c.require_cpl0()?;
    let long = i.aux == 8;
    let (rip, sp) = (c.regs[RDX], c.regs[RCX]);
    if long && !(is_canonical(rip) && is_canonical(sp)) {
        return Err(c.gp(0));
    }
    let mask = if long { u64::MAX } else { 0xFFFF_FFFF };
    let selector = selector.low_u16();
    let code = selector.wrapping_add(if long { 32 } else { 16 }) | 3;
    c.segs[CS] = flat_code(code, 3, long);
    c.segs[SS] = flat_data((code & !3).wrapping_add(8) | 3, 3);
    c.cpl = 3;
    c.regs[RSP] = sp & mask;
    c.rip = rip & mask;
    c.update_mode();
    c.retire_far(b, 0);
    Ok(())
}

/// INT1: #DB as a trap, whatever the gate's DPL. It takes traps that MOV SS has delayed with it.
pub(crate) fn int1<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    c.rip = c.next_rip();
    let from_cpl = c.cpl;
    c.interrupt_itself(b, exception::DB, EventKind::Exception)?;
    let conditions = std::mem::take(&mut c.debug_pending);
    c.report_debug(conditions);
    c.retire_far(b, from_cpl);
    Ok(())
}

/// #BR, #OF and friends in 64-bit mode do not exist; BOUND neither.
pub(crate) fn bound<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let size = usize::from(i.aux);
    let linear = operand::linear(c, i, 2 * size, false)?;
    let (value, low, high) = if size == 2 {
        let low: u16 = c.load(b, linear, false)?;
        let high: u16 = c.load(b, linear.wrapping_add(2), false)?;
        (
            c.regs[usize::from(i.dst)].low_u16().cast_signed() as i64,
            low.cast_signed() as i64,
            high.cast_signed() as i64,
        )
    } else {
        let low: u32 = c.load(b, linear, false)?;
        let high: u32 = c.load(b, linear.wrapping_add(4), false)?;
        (
            c.regs[usize::from(i.dst)].low_u32().cast_signed() as i64,
            low.cast_signed() as i64,
            high.cast_signed() as i64,
        )
    };
    if value < low || value > high {
        return Err(c.raise(Exception::plain(5)));
    }
    Ok(())
}
