//! System instructions: control and debug registers, descriptor tables, MSRs, CPUID, TSC, HLT.

use super::Insn;
use super::operand::{self, Get, Place, is_stack};
use crate::bus::Bus;
use crate::context::{
    CR0_AM, CR0_CD, CR0_EM, CR0_MP, CR0_NE, CR0_NW, CR0_PE, CR0_PG, CR0_TS, CR0_WP, CR4_DE, CR4_FSGSBASE,
    CR4_OSFXSR, CR4_OSXSAVE, CR4_PAE, CR4_PCE, CR4_PCIDE, CR4_PSE, CR4_SMAP, CR4_SMEP, CR4_TSD, CR4_UMIP, CS,
    Core, EFER_LMA, EFER_LME, RAX, RBX, RCX, RDX,
};
use crate::debug::breakpoints::{DR6_BD, DR7_GD};
use crate::exception::{self, Done, Exception};
use crate::flags::{RF, ZF};
use crate::low::Low;
use crate::mmu::Flushed;
use crate::state::DescriptorTable;
use crate::width::Width;
use iced_x86::CpuidFeature;
use retire::{CoreEvent, Observer};

const CR0_ET: u64 = 1 << 4;
const CR0_KNOWN: u64 =
    CR0_PE | CR0_MP | CR0_EM | CR0_TS | CR0_ET | CR0_NE | CR0_WP | CR0_AM | CR0_NW | CR0_CD | CR0_PG;
/// PGE, MCE, OSXMMEXCPT: bits without a name in `context`.
const CR4_OTHER: u64 = 1 << 7 | 1 << 6 | 1 << 10;
const CR4_KNOWN: u64 = CR4_TSD
    | CR4_DE
    | CR4_PSE
    | CR4_PAE
    | CR4_PCE
    | CR4_OSFXSR
    | CR4_UMIP
    | CR4_FSGSBASE
    | CR4_PCIDE
    | CR4_OSXSAVE
    | CR4_SMEP
    | CR4_SMAP
    | CR4_OTHER;
/// CR3 bits 11:0 with CR4.PCIDE.
const PCID: u64 = 0xFFF;
/// Bit 63 of a value for CR3 with CR4.PCIDE: translations of the PCID may stay.
const NO_FLUSH: u64 = 1 << 63;

/// MOV from CRn; `aux` is n.
pub(crate) fn mov_from_cr<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    let value = match i.aux {
        0 => c.cr0,
        2 => c.cr2,
        3 => c.cr3,
        4 => c.cr4,
        8 => u64::from(b.cr8()),
        _ => return Err(c.ud()),
    };
    let value = if c.in_64_bit_mode() { value } else { value & 0xFFFF_FFFF };
    c.regs[usize::from(i.dst)] = value;
    Ok(())
}

/// MOV to CRn.
pub(crate) fn mov_to_cr<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    let value = c.regs[usize::from(i.src)];
    let value = if c.in_64_bit_mode() { value } else { value & 0xFFFF_FFFF };
    match i.aux {
        0 => c.set_cr0(value),
        2 => {
            c.cr2 = value;
            Ok(())
        }
        3 => {
            let value = if c.cr4 & CR4_PCIDE != 0 { value & !NO_FLUSH } else { value };
            if c.long_mode() && value >> crate::cpuid::PHYSICAL_BITS != 0 {
                return Err(c.gp(0));
            }
            // What was counted up to here belongs to the address space before.
            c.sync(b);
            b.address_space(value, &c.access());
            c.after_bus(b);
            c.cr3 = value;
            // The TLB does not tell PCIDs apart, so that none of its entries may stay.
            c.flush_tlb();
            Ok(())
        }
        4 => c.set_cr4(value),
        8 => {
            if value > 15 {
                return Err(c.gp(0));
            }
            b.set_cr8(value.low_u8());
            c.after_bus(b);
            Ok(())
        }
        _ => Err(c.ud()),
    }
}

impl Core {
    /// #GP(0) for what CR4.UMIP keeps from user mode.
    fn require_umip(&mut self) -> Done {
        if self.cr4 & CR4_UMIP != 0 { self.require_cpl0() } else { Ok(()) }
    }

    fn set_cr0(&mut self, value: u64) -> Done {
        let high = value >> 32 != 0;
        let paging = value & CR0_PG != 0;
        let inconsistent = paging && value & CR0_PE == 0 || value & CR0_NW != 0 && value & CR0_CD == 0;
        if high || inconsistent {
            return Err(self.gp(0));
        }
        if value & CR0_PE == 0 {
            log::warn!(
                "guest enters real mode at {:#x}, which is not implemented: #GP",
                self.instruction_rip()
            );
            return Err(self.gp(0));
        }
        let was = self.cr0 & CR0_PG != 0;
        let mut efer = self.efer;
        if paging && !was && efer & EFER_LME != 0 {
            if self.cr4 & CR4_PAE == 0 || self.segs[CS].long() {
                return Err(self.gp(0));
            }
            efer |= EFER_LMA;
        }
        if !paging && was {
            if self.in_64_bit_mode() || self.cr4 & CR4_PCIDE != 0 {
                return Err(self.gp(0));
            }
            efer &= !EFER_LMA;
        }
        self.efer = efer;
        self.cr0 = value & CR0_KNOWN | CR0_ET;
        self.flush_tlb();
        self.update_mode();
        Ok(())
    }

    /// The bits of CR4 that CPUID announces. A CPU has PCIDs with INVPCID, or neither.
    fn known_cr4(&self) -> u64 {
        const NEED: [(CpuidFeature, u64); 4] = [
            (CpuidFeature::FSGSBASE, CR4_FSGSBASE),
            (CpuidFeature::XSAVE, CR4_OSXSAVE),
            (CpuidFeature::INVPCID, CR4_PCIDE),
            (CpuidFeature::SMAP, CR4_SMAP),
        ];
        let absent = NEED.iter().filter(|(feature, _)| !self.features.has(*feature));
        absent.fold(CR4_KNOWN, |known, (_, bit)| known & !bit)
    }

    fn set_cr4(&mut self, value: u64) -> Done {
        let known = self.known_cr4();
        let leaves_long = self.long_mode() && value & CR4_PAE == 0;
        let pcids = value & !self.cr4 & CR4_PCIDE != 0;
        if value & !known != 0 || leaves_long || pcids && (!self.long_mode() || self.cr3 & PCID != 0) {
            return Err(self.gp(0));
        }
        self.cr4 = value;
        self.user = self.view_at(self.cpl);
        self.update_breakpoints();
        self.flush_tlb();
        self.update_sse();
        Ok(())
    }

    fn debug_register(&mut self, number: u8) -> Result<u8, crate::exception::Fault> {
        self.require_cpl0()?;
        // DR4 and DR5 are DR6 and DR7 without CR4.DE.
        let number = match number {
            4 | 5 if self.cr4 & CR4_DE != 0 => return Err(self.ud()),
            4 | 5 => number + 2,
            n => n,
        };
        if self.dr7 & DR7_GD != 0 {
            self.report_debug(DR6_BD);
            self.dr7 &= !DR7_GD;
            // A fault: the instruction is executed again.
            self.rflags |= RF;
            return Err(self.raise(Exception::plain(exception::DB)));
        }
        Ok(number)
    }
}

pub(crate) fn mov_from_dr<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    let number = c.debug_register(i.aux)?;
    c.regs[usize::from(i.dst)] = match number {
        6 => c.dr6,
        7 => c.dr7,
        n => c.dr[usize::from(n & 3)],
    };
    Ok(())
}

pub(crate) fn mov_to_dr<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    let number = c.debug_register(i.aux)?;
    let value = c.regs[usize::from(i.src)];
    match number {
        6 | 7 if value >> 32 != 0 => return Err(c.gp(0)),
        6 => c.dr6 = value & 0xE00F | 0xFFFF_0FF0,
        7 => c.dr7 = value & 0xFFFF_23FF | 0x400,
        n => c.dr[usize::from(n & 3)] = value,
    }
    c.update_breakpoints();
    Ok(())
}

pub(crate) fn clts<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    c.cr0 &= !CR0_TS;
    c.update_sse();
    Ok(())
}

/// SMSW to a register of width `T` or 16 bits of memory.
pub(crate) fn smsw<B: Bus, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_umip()?;
    let value = T::low(c.cr0);
    D::set(c, b, i, value)
}

pub(crate) fn lmsw<B: Bus, S: Get<u16>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    let value = u64::from(S::get(c, b, i)?) & 0xF;
    // PE can be set, not cleared.
    let value = c.cr0 & !0xE | value;
    c.set_cr0(value)
}

/// LGDT (`GDT`) and LIDT.
pub(crate) fn load_table<B: Bus, const GDT: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    let wide = c.in_64_bit_mode();
    let linear = operand::linear(c, i, if wide { 10 } else { 6 }, false)?;
    let limit: u16 = c.load(b, linear, is_stack(i))?;
    let at = linear.wrapping_add(2);
    let base = if wide {
        c.load::<u64, B>(b, at, is_stack(i))?
    } else {
        let base = u64::from(c.load::<u32, B>(b, at, is_stack(i))?);
        if i.aux == 2 { base & 0xFF_FFFF } else { base }
    };
    if !crate::mmu::is_canonical(base) {
        return Err(c.gp(0));
    }
    let table = DescriptorTable { base, limit };
    if GDT {
        c.gdtr = table;
    } else {
        c.idtr = table;
    }
    Ok(())
}

/// SGDT and SIDT.
pub(crate) fn store_table<B: Bus, const GDT: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_umip()?;
    let table = if GDT { c.gdtr } else { c.idtr };
    let wide = c.in_64_bit_mode();
    let linear = operand::linear(c, i, if wide { 10 } else { 6 }, true)?;
    c.store(b, linear, table.limit, is_stack(i))?;
    let at = linear.wrapping_add(2);
    if wide {
        c.store(b, at, table.base, is_stack(i))
    } else {
        c.store(b, at, table.base.low_u32(), is_stack(i))
    }
}

pub(crate) fn lldt<B: Bus, S: Get<u16>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    let selector = S::get(c, b, i)?;
    c.load_ldt(b, selector)
}

pub(crate) fn ltr<B: Bus, S: Get<u16>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    let selector = S::get(c, b, i)?;
    c.load_task(b, selector)
}

/// SLDT (`LDT`) and STR.
pub(crate) fn store_selector<B: Bus, const LDT: bool, T: Width, D: Place<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_umip()?;
    let selector = if LDT { c.ldtr.selector } else { c.tr.selector };
    D::set(c, b, i, T::low(u64::from(selector)))
}

/// MOV to a segment register; `aux` is its number.
pub(crate) fn mov_to_segment<B: Bus, S: Get<u16>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let selector = S::get(c, b, i)?;
    let number = usize::from(i.aux) % 6;
    c.load_segment(b, number, selector)?;
    if number == crate::context::SS {
        c.shadow = true;
        c.debug_shadow = true;
        c.stop = true;
    }
    Ok(())
}

/// LDS, LES, LFS, LGS, LSS.
pub(crate) fn load_far_pointer<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let linear = operand::linear(c, i, T::BYTES + 2, false)?;
    let offset: T = c.load(b, linear, is_stack(i))?;
    let selector: u16 = c.load(b, linear.wrapping_add(T::BYTES as u64), is_stack(i))?;
    c.load_segment(b, usize::from(i.aux) % 6, selector)?;
    offset.set_reg(c, i.dst);
    Ok(())
}

/// VERR (`WRITE` false) and VERW.
pub(crate) fn verify<B: Bus, const WRITE: bool, S: Get<u16>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let selector = S::get(c, b, i)?;
    let allowed = match c.probe(b, selector)? {
        Some(d) if d.ordinary() => {
            let conforming = d.is_code() && d.conforming();
            let level = conforming || c.cpl.max(selector.low_u8() & 3) <= d.dpl();
            let kind =
                if WRITE { !d.is_code() && d.kind() & 2 != 0 } else { !d.is_code() || d.kind() & 2 != 0 };
            level && kind
        }
        _ => false,
    };
    c.flags.set(ZF, if allowed { ZF } else { 0 });
    Ok(())
}

/// LAR (`RIGHTS`) and LSL.
pub(crate) fn inspect<B: Bus, const RIGHTS: bool, T: Width, S: Get<u16>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let selector = S::get(c, b, i)?;
    let found = match c.probe(b, selector)? {
        Some(d) => {
            let conforming = d.is_code() && d.conforming();
            let level = conforming || c.cpl.max(selector.low_u8() & 3) <= d.dpl();
            let long = c.long_mode();
            let kind = d.ordinary()
                || match d.kind() {
                    2 | 9 | 11 => true,
                    1 | 3 => !long,
                    4 | 5 => RIGHTS && !long,
                    12 => RIGHTS,
                    _ => false,
                };
            (level && kind).then(|| {
                if RIGHTS { d.low >> 32 & 0x00F0_FF00 } else { u64::from(d.segment(selector).limit) }
            })
        }
        None => None,
    };
    if let Some(value) = found {
        T::low(value).set_reg(c, i.dst);
    }
    c.flags.set(ZF, if found.is_some() { ZF } else { 0 });
    Ok(())
}

impl Core {
    /// The descriptor of a selector, or `None` when there is none.
    fn probe<B: Bus>(
        &mut self,
        bus: &mut B,
        selector: u16,
    ) -> Result<Option<crate::segment::Descriptor>, crate::exception::Fault> {
        if selector & !3 == 0 {
            return Ok(None);
        }
        match self.descriptor(bus, selector, exception::GP, false) {
            Ok(descriptor) => Ok(Some(descriptor)),
            Err(_) if self.raised.is_some_and(|e| e.vector == exception::GP) => {
                self.raised = None;
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }
}

pub(crate) fn invlpg<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    let linear = operand::effective_address(c, i).wrapping_add(c.bases[usize::from(i.seg & 7)]);
    c.mmu.tlb.flush_page(linear);
    if c.cr4 & CR4_PAE == 0 {
        // A page may have 4 MiB, which is recorded as the 2 MiB that it has with PAE.
        c.mmu.tlb.flush_page(linear ^ 1 << 21);
    }
    c.remap = Some(match c.remap {
        None if c.cr4 & CR4_PAE != 0 => Flushed::Page(linear),
        _ => Flushed::All,
    });
    c.stop = true;
    Ok(())
}

/// WBINVD, INVD: there are no caches to write back, but the privilege counts, and an observer may have some.
pub(crate) fn cache_control<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    if let Some(observer) = b.observer() {
        observer.event(CoreEvent::CachesFlushed);
    }
    Ok(())
}

/// CLFLUSH, CLFLUSHOPT, CLWB: fault as a load.
pub(crate) fn clflush<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let linear = operand::linear(c, i, 1, false)?;
    if c.canonical(linear) {
        let physical = c.translate(b, linear, crate::mmu::Intent::Read, c.user)?;
        if let Some(observer) = b.observer() {
            observer.event(CoreEvent::LineFlushed(physical));
        }
        Ok(())
    } else if operand::is_stack(i) {
        Err(c.raise(Exception::with_error(exception::SS, 0)))
    } else {
        Err(c.gp(0))
    }
}

pub(crate) fn swapgs<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    if !c.in_64_bit_mode() {
        return Err(c.ud());
    }
    c.require_cpl0()?;
    std::mem::swap(&mut c.segs[crate::context::GS].base, &mut c.kernel_gs_base);
    c.update_bases();
    Ok(())
}

pub(crate) fn hlt<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    c.halted = true;
    c.stop = true;
    Ok(())
}

fn edx_eax(c: &Core) -> u64 {
    c.regs[RDX] << 32 | c.regs[RAX] & 0xFFFF_FFFF
}

fn set_edx_eax(c: &mut Core, value: u64) {
    c.regs[RAX] = value & 0xFFFF_FFFF;
    c.regs[RDX] = value >> 32;
}

pub(crate) fn rdmsr<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    let value = c.read_msr(b, c.regs[RCX].low_u32())?;
    set_edx_eax(c, value);
    Ok(())
}

pub(crate) fn wrmsr<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    c.require_cpl0()?;
    c.write_msr(b, c.regs[RCX].low_u32(), edx_eax(c))
}

pub(crate) fn rdpmc<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    c.sync(b);
    let answer = b.rdpmc(c.regs[RCX].low_u32(), c.cr4 & CR4_PCE != 0, &c.access());
    c.after_bus(b);
    match answer {
        Ok(value) => {
            set_edx_eax(c, value);
            Ok(())
        }
        Err(_) => Err(c.gp(0)),
    }
}

pub(crate) fn rdtsc<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    if c.cr4 & CR4_TSD != 0 && c.cpl != 0 {
        return Err(c.gp(0));
    }
    c.sync(b);
    let tsc = b.tsc(&c.access());
    set_edx_eax(c, tsc);
    Ok(())
}

pub(crate) fn cpuid<B: Bus>(c: &mut Core, b: &mut B, _i: &Insn<B>) -> Done {
    c.sync(b);
    let (number, subleaf) = (c.regs[RAX].low_u32(), c.regs[RCX].low_u32());
    let mut leaf = b.cpuid(number, subleaf, &c.access());
    c.adjust_cpuid(b, number, subleaf, &mut leaf);
    c.regs[RAX] = u64::from(leaf.eax);
    c.regs[RBX] = u64::from(leaf.ebx);
    c.regs[RCX] = u64::from(leaf.ecx);
    c.regs[RDX] = u64::from(leaf.edx);
    Ok(())
}
