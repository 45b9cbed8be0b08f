//! Instructions on what protects processes from each other: SMAP, address space tags, thread bases.

use super::Insn;
use super::operand::{self, is_stack};
use crate::bus::Bus;
use crate::context::{CR4_FSGSBASE, CR4_PCIDE, Core, FS, GS};
use crate::exception::Done;
use crate::flags::AC;
use crate::low::Low;
use crate::mmu::is_canonical;
use crate::width::Width;

/// STAC (`SET`) and CLAC.
pub(crate) fn access_control<B: Bus, const SET: bool>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    if c.cpl != 0 {
        return Err(c.ud());
    }
    c.set_rflags(AC, if SET { AC } else { 0 });
    Ok(())
}

/// INVPCID. The TLB does not tell PCIDs apart: whatever is to be invalidated, all of it is.
pub(crate) fn invpcid<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    /// Types: one address of a PCID, one PCID, everything, everything but global translations.
    const ADDRESS: u64 = 0;
    const CONTEXT: u64 = 1;
    const LAST: u64 = 3;
    c.require_cpl0()?;
    let wide = c.in_64_bit_mode();
    let kind = c.regs[usize::from(i.dst)] & if wide { u64::MAX } else { 0xFFFF_FFFF };
    let at = operand::linear(c, i, 16, false)?;
    let descriptor: u128 = c.load(b, at, is_stack(i))?;
    let (pcid, linear) = (descriptor.low_u64(), (descriptor >> 64) as u64);
    let of_pcid = matches!(kind, ADDRESS | CONTEXT);
    let wrong = kind > LAST
        || pcid >> 12 != 0
        || of_pcid && c.cr4 & CR4_PCIDE == 0 && pcid != 0
        || kind == ADDRESS && !is_canonical(linear);
    if wrong {
        return Err(c.gp(0));
    }
    c.flush_tlb();
    Ok(())
}

/// RDFSBASE and RDGSBASE (`GS_REGISTER`).
pub(crate) fn read_base<B: Bus, T: Width, const GS_REGISTER: bool>(
    c: &mut Core,
    _b: &mut B,
    i: &Insn<B>,
) -> Done {
    let segment = thread_segment::<GS_REGISTER>(c)?;
    T::low(c.segs[segment].base).set_reg(c, i.dst);
    Ok(())
}

/// WRFSBASE and WRGSBASE (`GS_REGISTER`).
pub(crate) fn write_base<B: Bus, T: Width, const GS_REGISTER: bool>(
    c: &mut Core,
    _b: &mut B,
    i: &Insn<B>,
) -> Done {
    let segment = thread_segment::<GS_REGISTER>(c)?;
    let base = T::reg(c, i.dst).zext();
    if !is_canonical(base) {
        return Err(c.gp(0));
    }
    c.segs[segment].base = base;
    c.update_bases();
    Ok(())
}

fn thread_segment<const GS_REGISTER: bool>(c: &mut Core) -> Result<usize, crate::exception::Fault> {
    if c.cr4 & CR4_FSGSBASE == 0 || !c.in_64_bit_mode() {
        return Err(c.ud());
    }
    Ok(if GS_REGISTER { GS } else { FS })
}
