//! The XSAVE feature set: XCR0, IA32_XSS, and the instructions that save and restore state components (SDM volume 1,
//! "Managing State Using the XSAVE Feature Set").

use super::Insn;
use super::operand::{self, is_stack};
use super::x87::X87State;
use crate::bus::{Bus, LBR_COMPONENT_WORDS, LbrState};
use crate::context::{CR0_TS, CR4_OSXSAVE, Core, RAX, RCX, RDX};
use crate::cpuid::{CpuidLeaf, SSE_STATE, USER_STATE, X87_STATE};
use crate::exception::{self, Done, Exception, Fault};
use crate::low::Low;

/// Last branch records, of IA32_XSS: a supervisor component.
const LBR: u64 = 1 << 15;
/// XCOMP_BV: the area has the compacted format.
const COMPACTED: u64 = 1 << 63;
/// Legacy region and header.
const BASE_SIZE: u32 = 576;
/// Where the header is.
const HEADER: u64 = 512;
/// MXCSR as after RESET.
const MXCSR_INIT: u32 = 0x1F80;

impl Core {
    /// #UD without CR4.OSXSAVE as on any CPU, and where the feature set is the embedder's.
    fn require_xsave(&mut self) -> Done {
        if self.cr4 & CR4_OSXSAVE == 0 {
            return Err(self.ud());
        }
        if !self.xsave {
            self.unimplemented = true;
            return Err(self.ud());
        }
        Ok(())
    }

    /// WRMSR to IA32_XSS.
    pub(crate) fn set_xss<B: Bus>(&mut self, bus: &mut B, value: u64) -> Done {
        let supervisor = if bus.lbr_state().is_some() { LBR } else { 0 };
        if value & !supervisor != 0 {
            return Err(self.gp(0));
        }
        self.xss = value;
        Ok(())
    }

    /// The components in use (XINUSE): those that are not as after RESET.
    fn in_use(&self) -> u64 {
        let x87 = (self.fcw, self.fsw, self.ftw) != (0x37F, 0, 0)
            || self.x87_pointers != (0, 0, 0)
            || self.st != [0; 8];
        let sse = self.xmm.low() != [0; 16];
        (if x87 { X87_STATE } else { 0 }) | if sse { SSE_STATE } else { 0 }
    }

    /// What CPUID says that depends on control registers. `leaf` is the answer without it.
    pub(crate) fn adjust_cpuid<B: Bus>(&self, bus: &mut B, number: u32, subleaf: u32, leaf: &mut CpuidLeaf) {
        const OSXSAVE: u32 = 1 << 27;
        if number == 1 && self.cr4 & CR4_OSXSAVE != 0 {
            leaf.ecx |= OSXSAVE;
        }
        if number != 0xD || !self.xsave {
            return;
        }
        // Bytes of the records' component.
        let Some(size) = bus.lbr_state().map(|state| (words(state) * 8).low_u32()) else { return };
        match subleaf {
            1 => {
                leaf.ebx = BASE_SIZE + if self.xss & LBR != 0 { size } else { 0 };
                leaf.ecx |= LBR.low_u32();
            }
            15 => {
                const SUPERVISOR: u32 = 1;
                *leaf = CpuidLeaf { eax: size, ecx: SUPERVISOR, ..CpuidLeaf::default() };
            }
            _ => {}
        }
    }
}

/// Words of the records' component.
fn words(state: &impl LbrState) -> usize {
    state.words().min(LBR_COMPONENT_WORDS)
}

fn edx_eax(c: &Core) -> u64 {
    c.regs[RDX] << 32 | c.regs[RAX] & 0xFFFF_FFFF
}

pub(crate) fn xgetbv<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_xsave()?;
    let value = match c.regs[RCX].low_u32() {
        0 => c.xcr0,
        // As XSAVEC and XSAVES see it.
        1 => c.xcr0 & c.in_use_compacted(),
        _ => return Err(c.gp(0)),
    };
    c.regs[RAX] = value & 0xFFFF_FFFF;
    c.regs[RDX] = value >> 32;
    Ok(())
}

pub(crate) fn xsetbv<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_xsave()?;
    c.require_cpl0()?;
    let value = edx_eax(c);
    if c.regs[RCX].low_u32() != 0 || value & X87_STATE == 0 || value & !USER_STATE != 0 {
        return Err(c.gp(0));
    }
    c.xcr0 = value;
    c.update_sse();
    Ok(())
}

/// How an instruction saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Saving {
    /// XSAVE.
    All,
    /// XSAVEOPT: nothing that is as after RESET.
    InUse,
    /// XSAVEC and XSAVES.
    Compacted,
}

/// XSAVE and XSAVEOPT (`OPT`); `WIDE` with 64-bit pointers.
pub(crate) fn xsave<B: Bus, const OPT: bool, const WIDE: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_xsave()?;
    save(c, b, i, c.xcr0, if OPT { Saving::InUse } else { Saving::All }, WIDE)
}

/// XSAVEC and XSAVES (`SUPERVISOR`).
pub(crate) fn xsave_compacted<B: Bus, const SUPERVISOR: bool, const WIDE: bool>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_xsave()?;
    if SUPERVISOR {
        c.require_cpl0()?;
    }
    let enabled = c.xcr0 | if SUPERVISOR { c.xss } else { 0 };
    save(c, b, i, enabled, Saving::Compacted, WIDE)
}

/// The area of the memory operand.
fn area<B: Bus>(c: &mut Core, i: &Insn<B>, write: bool) -> Result<u64, Fault> {
    if c.cr0 & CR0_TS != 0 {
        return Err(c.raise(Exception::plain(exception::NM)));
    }
    let linear = operand::linear(c, i, BASE_SIZE as usize, write)?;
    if linear & 63 != 0 { Err(c.gp(0)) } else { Ok(linear) }
}

fn save<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, enabled: u64, how: Saving, wide: bool) -> Done {
    let linear = area(c, i, true)?;
    let stack = is_stack(i);
    let requested = enabled & edx_eax(c);
    let mut in_use = match how {
        Saving::Compacted => c.in_use_compacted(),
        Saving::All | Saving::InUse => c.in_use(),
    };
    let saved = if how == Saving::All { requested } else { requested & in_use };
    if saved & X87_STATE != 0 {
        c.store_x87(b, linear, wide, stack)?;
    }
    if saved & SSE_STATE != 0 {
        c.store_xmm(b, linear, stack)?;
    }
    // The standard format has MXCSR even if all XMM registers are 0.
    if saved & SSE_STATE != 0 || how != Saving::Compacted && requested & SSE_STATE != 0 {
        c.store_mxcsr(b, linear, stack)?;
    }
    if requested & LBR != 0 {
        let mut words = [0; LBR_COMPONENT_WORDS];
        c.sync(b);
        let mut count = 0;
        if let Some(state) = b.lbr_state() {
            state.save(&mut words, &c.access());
            count = self::words(state);
        }
        c.after_bus(b);
        // IA32_LBR_DEPTH, the second word, is never 0.
        let used = words.iter().enumerate().any(|(at, word)| at != 1 && *word != 0);
        if used {
            in_use |= LBR;
            for (at, word) in (linear + u64::from(BASE_SIZE)..).step_by(8).zip(&words[..count]) {
                c.store(b, at, *word, stack)?;
            }
        }
    }
    let header = linear + HEADER;
    if how == Saving::Compacted {
        c.store(b, header, requested & in_use, stack)?;
        return c.store(b, header + 8, requested | COMPACTED, stack);
    }
    let old: u64 = c.load(b, header, stack)?;
    c.store(b, header, old & !requested | requested & in_use, stack)
}

impl Core {
    /// XINUSE where MXCSR counts as SSE state.
    fn in_use_compacted(&self) -> u64 {
        self.in_use() | if self.mxcsr == MXCSR_INIT { 0 } else { SSE_STATE }
    }
}

/// XRSTOR and XRSTORS (`SUPERVISOR`); `WIDE` with 64-bit pointers.
pub(crate) fn xrstor<B: Bus, const SUPERVISOR: bool, const WIDE: bool>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_xsave()?;
    if SUPERVISOR {
        c.require_cpl0()?;
    }
    let enabled = c.xcr0 | if SUPERVISOR { c.xss } else { 0 };
    let linear = area(c, i, false)?;
    let stack = is_stack(i);
    let header = linear + HEADER;
    let present: u64 = c.load(b, header, stack)?;
    let format: u64 = c.load(b, header + 8, stack)?;
    let compacted = format & COMPACTED != 0;
    let mut rest = 0;
    for at in (16..64).step_by(8) {
        let word: u64 = c.load(b, header + at, stack)?;
        // The standard format leaves the last 40 bytes to software.
        if compacted || at == 16 {
            rest |= word;
        }
    }
    let possible = if compacted { format & !COMPACTED } else { enabled };
    let wrong = present & !possible != 0
        || possible & !enabled != 0
        || rest != 0
        || !compacted && (SUPERVISOR || format != 0);
    if wrong {
        return Err(c.gp(0));
    }
    let requested = enabled & edx_eax(c);
    let restored = requested & present;
    let mxcsr = match compacted {
        true if restored & SSE_STATE != 0 => c.load_mxcsr(b, linear, stack)?,
        true if requested & SSE_STATE != 0 => MXCSR_INIT,
        false if requested & SSE_STATE != 0 => c.load_mxcsr(b, linear, stack)?,
        _ => c.mxcsr,
    };
    let x87 = if restored & X87_STATE != 0 { c.load_x87(b, linear, WIDE, stack)? } else { X87State::INIT };
    let mut xmm = c.xmm.low();
    if restored & SSE_STATE != 0 {
        xmm = c.load_xmm(b, linear, stack)?;
    } else if requested & SSE_STATE != 0 {
        let registers = c.xmm_registers();
        xmm.iter_mut().take(registers).for_each(|register| *register = 0);
    }
    if requested & LBR != 0 {
        restore_lbr(c, b, linear, restored & LBR != 0, stack)?;
    }
    if requested & X87_STATE != 0 {
        c.set_x87(&x87);
    }
    c.mxcsr = mxcsr;
    c.xmm.set_low(&xmm);
    Ok(())
}

/// Restores component 15 from the compacted area at `linear`, or initialises it.
fn restore_lbr<B: Bus>(c: &mut Core, b: &mut B, linear: u64, present: bool, stack: bool) -> Done {
    let mut words = [0; LBR_COMPONENT_WORDS];
    if present {
        let count = b.lbr_state().map_or(0, |state| self::words(state));
        for (at, word) in (linear + u64::from(BASE_SIZE)..).step_by(8).zip(&mut words[..count]) {
            *word = c.load(b, at, stack)?;
        }
    }
    c.sync(b);
    let words = present.then_some(&words);
    let restored = b.lbr_state().map_or(Ok(()), |state| state.restore(words, &c.access()));
    c.after_bus(b);
    restored.map_err(|_| c.gp(0))
}
