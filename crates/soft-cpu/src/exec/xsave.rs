//! The XSAVE feature set: XCR0, IA32_XSS, and the instructions that save and restore state components (SDM volume 1,
//! "Managing State Using the XSAVE Feature Set").

use super::Insn;
use super::operand::{self, is_stack};
use super::x87::X87State;
use crate::bus::{Bus, LBR_COMPONENT_WORDS, LbrState};
use crate::context::{CR0_TS, CR4_OSXSAVE, Core, RAX, RCX, RDX};
use crate::cpuid::{AVX_STATE, AVX512_STATE, CpuidLeaf, SSE_STATE, X87_STATE};
use crate::exception::{self, Done, Exception, Fault};
use crate::low::Low;
use crate::silicon::Rule;
use crate::vector::registers::Registers;
use iced_x86::CpuidFeature;

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

/// A user component behind the header.
#[derive(Debug, Clone, Copy)]
struct Component {
    /// Its number in XCR0.
    number: u32,
    /// Bytes.
    size: u32,
    /// Where the standard format has it, by Intel and by AMD.
    offset: [u32; 2],
    /// What CPUID announces it with.
    feature: CpuidFeature,
}

/// Upper halves of YMM0 to YMM15, k0 to k7, upper halves of ZMM0 to ZMM15, ZMM16 to ZMM31.
const COMPONENTS: [Component; 4] = [
    Component { number: 2, size: 256, offset: [576, 576], feature: CpuidFeature::AVX },
    Component { number: 5, size: 64, offset: [1088, 832], feature: CpuidFeature::AVX512F },
    Component { number: 6, size: 512, offset: [1152, 896], feature: CpuidFeature::AVX512F },
    Component { number: 7, size: 1024, offset: [1664, 1408], feature: CpuidFeature::AVX512F },
];

impl Component {
    const fn bit(self) -> u64 {
        1 << self.number
    }

    /// Where it is in the area, of which the compacted format has the components `compacted`.
    fn place(self, c: &Core, compacted: Option<u64>) -> u32 {
        let Some(all) = compacted else { return self.offset[usize::from(c.holds(Rule::XsaveWithoutGap))] };
        compacted_size(all & (self.bit() - 1))
    }
}

/// Bytes of an area that has these user components in the compacted format. None wants to be aligned.
fn compacted_size(components: u64) -> u32 {
    let in_area = COMPONENTS.iter().filter(|component| components & component.bit() != 0);
    BASE_SIZE + in_area.map(|component| component.size).sum::<u32>()
}

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
        let bit = |used: bool, bit: u64| if used { bit } else { 0 };
        let quarter = |n: usize| self.xmm.0[..16].iter().any(|register| register.0[n] != 0);
        let upper = self.xmm.0[16..].iter().any(|register| register.0 != [0; 4]);
        bit(x87, X87_STATE)
            | bit(quarter(0), SSE_STATE)
            | bit(quarter(1), AVX_STATE)
            | bit(self.opmask != [0; 8], 1 << 5)
            | bit(quarter(2) || quarter(3), 1 << 6)
            | bit(upper, 1 << 7)
    }

    /// The components that XCR0 can have.
    fn user_state(&self) -> u64 {
        let components = COMPONENTS.iter().filter(|component| self.features.has(component.feature));
        components.fold(X87_STATE | SSE_STATE, |all, component| all | component.bit())
    }

    /// Bytes of an area with these components in the standard format.
    fn standard_size(&self, components: u64) -> u32 {
        self.area_size(components, None)
    }

    /// Bytes up to the last of these components, in an area that has those of `compacted`.
    fn area_size(&self, components: u64, compacted: Option<u64>) -> u32 {
        let in_area = COMPONENTS.iter().filter(|component| components & component.bit() != 0);
        in_area.map(|component| component.place(self, compacted) + component.size).max().unwrap_or(BASE_SIZE)
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
        let user = self.user_state();
        // Bytes of the records' component.
        let records = bus.lbr_state().map(|state| (words(state) * 8).low_u32());
        match subleaf {
            0 => {
                leaf.eax = user.low_u32();
                leaf.ebx = self.standard_size(self.xcr0);
                leaf.ecx = self.standard_size(user);
                leaf.edx = 0;
            }
            1 => {
                let enabled = records.filter(|_| self.xss & LBR != 0).unwrap_or(0);
                leaf.ebx = compacted_size(self.xcr0) + enabled;
                leaf.ecx = if records.is_some() { LBR.low_u32() } else { 0 };
                leaf.edx = 0;
            }
            15 => {
                const SUPERVISOR: u32 = 1;
                let size = |size| CpuidLeaf { eax: size, ecx: SUPERVISOR, ..CpuidLeaf::default() };
                *leaf = records.map_or(CpuidLeaf::default(), size);
            }
            _ => {
                let shown =
                    |component: &&Component| component.number == subleaf && user & component.bit() != 0;
                let place = |component: &Component| CpuidLeaf {
                    eax: component.size,
                    ebx: component.place(self, None),
                    ..CpuidLeaf::default()
                };
                *leaf = COMPONENTS.iter().find(shown).map_or(CpuidLeaf::default(), place);
            }
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
    let needs = |upper: u64, lower: u64| value & upper == 0 || value & lower == lower;
    let consistent = needs(AVX_STATE, SSE_STATE) && needs(AVX512_STATE, AVX512_STATE | AVX_STATE);
    let wrong = value & X87_STATE == 0 || value & !c.user_state() != 0 || !consistent;
    if c.regs[RCX].low_u32() != 0 || wrong {
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
    if linear & 63 != 0 { Err(crate::sse::misaligned(c, i, linear)) } else { Ok(linear) }
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
    let format = (how == Saving::Compacted).then_some(requested);
    // Seen on Granite Rapids: a #PF comes before anything is written, and of components that would not be too.
    operand::probe(c, b, i, linear, c.area_size(requested, format).into())?;
    if saved & X87_STATE != 0 {
        c.store_x87(b, linear, wide, stack)?;
    }
    if saved & SSE_STATE != 0 {
        c.store_xmm(b, linear, stack)?;
    }
    // The standard format has MXCSR even if all XMM registers are 0, and with the state of AVX alone.
    if saved & SSE_STATE != 0 || how != Saving::Compacted && requested & (SSE_STATE | AVX_STATE) != 0 {
        c.store_mxcsr(b, linear, stack)?;
    }
    for component in COMPONENTS.into_iter().filter(|component| saved & component.bit() != 0) {
        let at = linear + u64::from(component.place(c, format));
        c.store_component(b, component.number, at, stack)?;
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
            // Behind the user components, whether or not they are written.
            let start = linear + u64::from(compacted_size(requested));
            for (at, word) in (start..).step_by(8).zip(&words[..count]) {
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
    /// Writes a component of [`COMPONENTS`]: the registers that the mode has.
    fn store_component<B: Bus>(&mut self, b: &mut B, number: u32, linear: u64, stack: bool) -> Done {
        let registers = self.xmm_registers();
        match number {
            2 => {
                for (n, at) in (0..registers).zip((linear..).step_by(16)) {
                    self.store(b, at, self.xmm.0[n].0[1], stack)?;
                }
            }
            5 => {
                for (mask, at) in self.opmask.into_iter().zip((linear..).step_by(8)) {
                    self.store(b, at, mask, stack)?;
                }
            }
            6 => {
                for (n, at) in (0..registers).zip((linear..).step_by(32)) {
                    self.store(b, at, self.xmm.0[n].0[2], stack)?;
                    self.store(b, at + 16, self.xmm.0[n].0[3], stack)?;
                }
            }
            _ if self.in_64_bit_mode() => {
                for n in 0..64 {
                    let quarter = self.xmm.0[16 + n / 4].0[n % 4];
                    self.store(b, linear + 16 * n as u64, quarter, stack)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a component into `to`; without a place in memory the component becomes as after RESET.
    fn load_component<B: Bus>(
        &mut self,
        b: &mut B,
        number: u32,
        place: Option<u64>,
        to: (&mut Registers, &mut [u64; 8]),
        stack: bool,
    ) -> Done {
        let registers = self.xmm_registers();
        let (vectors, masks) = to;
        let mut quarter = |c: &mut Self, n: u64| match place {
            Some(linear) => c.load::<u128, B>(b, linear + 16 * n, stack),
            None => Ok(0),
        };
        match number {
            2 => {
                for (n, register) in (0..).zip(&mut vectors.0[..registers]) {
                    register.0[1] = quarter(self, n)?;
                }
            }
            5 => {
                for (n, pair) in (0..).zip(masks.chunks_exact_mut(2)) {
                    let both = quarter(self, n)?;
                    (pair[0], pair[1]) = (both.low_u64(), (both >> 64).low_u64());
                }
            }
            6 => {
                for (n, register) in (0..).zip(&mut vectors.0[..registers]) {
                    register.0[2] = quarter(self, 2 * n)?;
                    register.0[3] = quarter(self, 2 * n + 1)?;
                }
            }
            _ if self.in_64_bit_mode() => {
                for (n, register) in (0..).zip(&mut vectors.0[16..]) {
                    for (k, part) in (0..).zip(&mut register.0) {
                        *part = quarter(self, 4 * n + k)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

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
    let faults_first = c.holds(Rule::XrstorFaultsBeforeHeader);
    if !faults_first {
        operand::probe_read(c, b, i, linear, BASE_SIZE.into())?;
    }
    let present: u64 = c.load(b, header, stack)?;
    let format: u64 = c.load(b, header + 8, stack)?;
    let compacted = format & COMPACTED != 0;
    let requested = enabled & edx_eax(c);
    let possible = if compacted { format & !COMPACTED } else { enabled };
    if possible & !enabled != 0 {
        return Err(c.gp(0));
    }
    // In both formats, and of components that are not in the header too.
    let size = c.area_size(requested & possible, compacted.then_some(possible)).into();
    if faults_first {
        operand::probe_read(c, b, i, linear, size)?;
    }
    let mut rest = 0;
    for at in (16..64).step_by(8) {
        let word: u64 = c.load(b, header + at, stack)?;
        // The standard format leaves the last 40 bytes to software.
        if compacted || at == 16 {
            rest |= word;
        }
    }
    let wrong = present & !possible != 0 || rest != 0 || !compacted && (SUPERVISOR || format != 0);
    if wrong {
        return Err(c.gp(0));
    }
    if !faults_first {
        operand::probe_read(c, b, i, linear, size)?;
    }
    let restored = requested & present;
    // MXCSR has reserved bits, which is found when the legacy region has been loaded.
    let mut refused = false;
    let mxcsr = match compacted {
        true if restored & SSE_STATE != 0 && c.holds(Rule::CompactedMxcsrLast) => {
            let mxcsr = c.peek_mxcsr(b, linear, stack)?;
            refused = mxcsr.is_none();
            mxcsr.unwrap_or(c.mxcsr)
        }
        true if restored & SSE_STATE != 0 => c.load_mxcsr(b, linear, stack)?,
        true if requested & SSE_STATE != 0 => MXCSR_INIT,
        false if requested & (SSE_STATE | AVX_STATE) != 0 => c.load_mxcsr(b, linear, stack)?,
        _ => c.mxcsr,
    };
    let x87 = if restored & X87_STATE != 0 { c.load_x87(b, linear, WIDE, stack)? } else { X87State::INIT };
    let (mut vectors, mut masks) = (c.xmm, c.opmask);
    if restored & SSE_STATE != 0 {
        vectors.set_low(&c.load_xmm(b, linear, stack)?);
    } else if requested & SSE_STATE != 0 {
        let registers = c.xmm_registers();
        vectors.0.iter_mut().take(registers).for_each(|register| register.0[0] = 0);
    }
    for component in COMPONENTS.into_iter().filter(|component| requested & component.bit() != 0) {
        let place = linear + u64::from(component.place(c, compacted.then_some(possible)));
        let place = (restored & component.bit() != 0).then_some(place);
        if refused && place.is_some() {
            continue;
        }
        c.load_component(b, component.number, place, (&mut vectors, &mut masks), stack)?;
    }
    if requested & LBR != 0 && !refused {
        let at = linear + u64::from(compacted_size(possible));
        restore_lbr(c, b, at, restored & LBR != 0, stack)?;
    }
    if requested & X87_STATE != 0 {
        c.set_x87(&x87);
    }
    (c.mxcsr, c.xmm, c.opmask) = (mxcsr, vectors, masks);
    if refused { Err(c.gp(0)) } else { Ok(()) }
}

/// Restores component 15 from memory at `linear`, or initialises it.
fn restore_lbr<B: Bus>(c: &mut Core, b: &mut B, linear: u64, present: bool, stack: bool) -> Done {
    let mut words = [0; LBR_COMPONENT_WORDS];
    if present {
        let count = b.lbr_state().map_or(0, |state| self::words(state));
        for (at, word) in (linear..).step_by(8).zip(&mut words[..count]) {
            *word = c.load(b, at, stack)?;
        }
    }
    c.sync(b);
    let words = present.then_some(&words);
    let restored = b.lbr_state().map_or(Ok(()), |state| state.restore(words, &c.access()));
    c.after_bus(b);
    restored.map_err(|_| c.gp(0))
}
