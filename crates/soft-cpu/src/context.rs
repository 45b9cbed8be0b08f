//! The CPU while it runs: the architectural state in the form that handlers want, and what is
//! derived from it.

use crate::account::totals::Totals;
use crate::account::trail::Trail;
use crate::block::Position;
use crate::bus::{Access, Bus};
use crate::debug::breakpoints::Breakpoints;
use crate::exception::{self, Exception, Fault};
use crate::features::Features;
use crate::flags::{self, Flags};
use crate::mmu::{Flushed, Mmu, view};
use crate::observe::Watch;
use crate::operations::Counting;
use crate::silicon::{Rule, Rules, Silicon};
use crate::state::{DescriptorTable, Segment, State};
use crate::vector::description::Descriptions;
use crate::vector::registers::Registers;
use soft_base::Debugger;

pub(crate) const RAX: usize = 0;
pub(crate) const RCX: usize = 1;
pub(crate) const RDX: usize = 2;
pub(crate) const RBX: usize = 3;
pub(crate) const RSP: usize = 4;
pub(crate) const RBP: usize = 5;
pub(crate) const RSI: usize = 6;
pub(crate) const RDI: usize = 7;
/// Register number that always reads as 0: an absent base or index.
pub(crate) const ZERO: usize = 16;
/// Register number of the address of the block's first instruction: RIP-relative operands.
pub(crate) const BLOCK: usize = 17;
/// A register as instructions number it.
pub(crate) const fn number(register: usize) -> u8 {
    assert!(register < REGS);
    register.to_le_bytes()[0]
}

/// As many as a register number can tell apart, so that none needs a check.
const REGS: usize = 1 << u8::BITS;

pub(crate) const ES: usize = 0;
pub(crate) const CS: usize = 1;
pub(crate) const SS: usize = 2;
pub(crate) const DS: usize = 3;
pub(crate) const FS: usize = 4;
pub(crate) const GS: usize = 5;

pub(crate) const CR0_PE: u64 = 1;
pub(crate) const CR0_MP: u64 = 1 << 1;
pub(crate) const CR0_EM: u64 = 1 << 2;
pub(crate) const CR0_TS: u64 = 1 << 3;
pub(crate) const CR0_NE: u64 = 1 << 5;
pub(crate) const CR0_WP: u64 = 1 << 16;
pub(crate) const CR0_AM: u64 = 1 << 18;
pub(crate) const CR0_NW: u64 = 1 << 29;
pub(crate) const CR0_CD: u64 = 1 << 30;
pub(crate) const CR0_PG: u64 = 1 << 31;
pub(crate) const CR4_TSD: u64 = 1 << 2;
pub(crate) const CR4_DE: u64 = 1 << 3;
pub(crate) const CR4_PSE: u64 = 1 << 4;
pub(crate) const CR4_PAE: u64 = 1 << 5;
pub(crate) const CR4_PCE: u64 = 1 << 8;
pub(crate) const CR4_OSFXSR: u64 = 1 << 9;
pub(crate) const CR4_UMIP: u64 = 1 << 11;
pub(crate) const CR4_FSGSBASE: u64 = 1 << 16;
pub(crate) const CR4_PCIDE: u64 = 1 << 17;
pub(crate) const CR4_OSXSAVE: u64 = 1 << 18;
pub(crate) const CR4_SMEP: u64 = 1 << 20;
pub(crate) const CR4_SMAP: u64 = 1 << 21;
pub(crate) const EFER_SCE: u64 = 1;
pub(crate) const EFER_LME: u64 = 1 << 8;
pub(crate) const EFER_LMA: u64 = 1 << 10;
pub(crate) const EFER_NXE: u64 = 1 << 11;

/// What decides how bytes decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    Bits16,
    Bits32,
    Bits64,
}

#[derive(Debug)]
pub(crate) struct Core {
    // Guest-visible, hot.
    /// General-purpose registers, then [`ZERO`] and [`BLOCK`].
    pub(crate) regs: [u64; REGS],
    pub(crate) flags: Flags,
    /// Linear bases by segment number as the current mode adds them; entries above GS are 0.
    pub(crate) bases: [u64; 8],
    /// Next instruction; while a block runs, the one after the block unless a branch has set it.
    pub(crate) rip: u64,
    /// RFLAGS without [`flags::ARITHMETIC`].
    pub(crate) rflags: u64,
    // What the run loop and handlers pass to each other.
    pub(crate) position: Position,
    /// What of the current block the totals already contain.
    pub(crate) synced: Position,
    /// Leave the block after this instruction.
    pub(crate) stop: bool,
    /// Iterations of REP until the run ends; at least 1 when it begins.
    pub(crate) repetitions_left: u64,
    /// A bus call wants the embedder to look.
    pub(crate) attention: bool,
    /// Why the instruction did not complete; none: it wants to be resumed (REP).
    pub(crate) raised: Option<Exception>,
    /// Translations that are gone: decoded code may no longer match memory or mode.
    pub(crate) remap: Option<Flushed>,
    pub(crate) unimplemented: bool,
    pub(crate) mode: Mode,
    pub(crate) cpl: u8,
    /// Page protection and part of the TLB, a [`view`](crate::mmu::view).
    pub(crate) user: usize,
    /// SSE instructions neither raise #UD nor #NM.
    pub(crate) sse: bool,
    /// Which vector instructions raise neither #UD nor #NM: [`vector::AVX`](crate::vector::AVX), and `AVX512` there.
    pub(crate) vector: u8,
    pub(crate) mmu: Mmu,
    pub(crate) watch: Watch,
    pub(crate) totals: Totals,
    pub(crate) trail: Trail,
    /// A bit for each [`Rule`] that holds.
    pub(crate) rules: Rules,
    /// The XSAVE feature set is this CPU's, not the embedder's.
    pub(crate) xsave: bool,
    pub(crate) features: Features,
    /// Where operations are counted, if they can be.
    pub(crate) counting: Option<Counting>,
    /// Of the vector instructions that have been decoded.
    pub(crate) descriptions: Descriptions,
    // Guest-visible, cold.
    pub(crate) segs: [Segment; 6],
    pub(crate) ldtr: Segment,
    pub(crate) tr: Segment,
    pub(crate) gdtr: DescriptorTable,
    pub(crate) idtr: DescriptorTable,
    pub(crate) cr0: u64,
    pub(crate) cr2: u64,
    pub(crate) cr3: u64,
    pub(crate) cr4: u64,
    pub(crate) dr: [u64; 4],
    pub(crate) dr6: u64,
    pub(crate) dr7: u64,
    pub(crate) efer: u64,
    pub(crate) star: u64,
    pub(crate) lstar: u64,
    pub(crate) cstar: u64,
    pub(crate) fmask: u64,
    pub(crate) kernel_gs_base: u64,
    pub(crate) sysenter: [u64; 3],
    pub(crate) tsc_aux: u32,
    /// What RDRAND and RDSEED go on from.
    pub(crate) random: u64,
    pub(crate) pat: u64,
    pub(crate) xcr0: u64,
    pub(crate) xss: u64,
    /// All vector registers; indexed, their low 128 bits, as SSE sees them.
    pub(crate) xmm: Registers,
    /// k0 to k7.
    pub(crate) opmask: [u64; 8],
    pub(crate) mxcsr: u32,
    pub(crate) fcw: u16,
    pub(crate) fsw: u16,
    pub(crate) ftw: u8,
    pub(crate) x87_pointers: (u16, u64, u64),
    /// By physical register; 80 bits each.
    pub(crate) st: [u128; 8],
    pub(crate) nmi_blocked: bool,
    pub(crate) nmi_pending: bool,
    pub(crate) shadow: bool,
    pub(crate) halted: bool,
    // Debugging.
    pub(crate) breakpoints: Breakpoints,
    /// RFLAGS.TF stands for single-stepping on branches.
    pub(crate) steps_on_branches: bool,
    /// That of a debugger outside the guest.
    pub(crate) debugger: Debugger,
    /// DR6 bits that #DB reports after the instruction.
    pub(crate) debug_pending: u64,
    /// The last instruction loaded SS: debug traps wait for the next one.
    pub(crate) debug_shadow: bool,
    /// The instruction was SYSCALL or SYSRET.
    pub(crate) system_call: bool,
    /// The instruction has entered a handler, which takes its single step with it.
    pub(crate) entered: bool,
}

impl Core {
    pub(crate) fn new(state: &State) -> Self {
        let mut regs = [0; REGS];
        regs[..16].copy_from_slice(&state.gpr);
        let mut core = Self {
            regs,
            flags: Flags::from_bits(state.rflags),
            bases: [0; 8],
            rip: state.rip,
            rflags: state.rflags & !flags::ARITHMETIC | flags::FIXED,
            position: Position::default(),
            synced: Position::default(),
            stop: false,
            repetitions_left: u64::MAX,
            attention: false,
            raised: None,
            remap: None,
            unimplemented: false,
            mode: Mode::Bits32,
            cpl: state.segments[SS].dpl(),
            user: 0,
            sse: false,
            vector: 0,
            mmu: Mmu::default(),
            watch: Watch::new(),
            totals: Totals::default(),
            trail: Trail::new(),
            rules: Silicon::Intel.rules(),
            xsave: true,
            features: Features::ALL,
            counting: None,
            descriptions: Descriptions::default(),
            segs: state.segments,
            ldtr: state.ldtr,
            tr: state.tr,
            gdtr: state.gdtr,
            idtr: state.idtr,
            cr0: state.cr0,
            cr2: state.cr2,
            cr3: state.cr3,
            cr4: state.cr4,
            dr: state.dr,
            dr6: state.dr6,
            dr7: state.dr7,
            efer: state.efer,
            star: state.star,
            lstar: state.lstar,
            cstar: state.cstar,
            fmask: state.fmask,
            kernel_gs_base: state.kernel_gs_base,
            sysenter: state.sysenter,
            tsc_aux: state.tsc_aux,
            random: state.random,
            pat: state.pat,
            xcr0: state.xcr0,
            xss: state.xss,
            xmm: Registers::of(state),
            opmask: state.opmask,
            mxcsr: state.mxcsr,
            fcw: state.fcw,
            fsw: state.fsw,
            ftw: state.ftw,
            x87_pointers: state.x87_pointers,
            st: state.st,
            nmi_blocked: state.nmi_blocked,
            nmi_pending: state.nmi_pending,
            shadow: state.interrupt_shadow,
            halted: state.halted,
            breakpoints: Breakpoints::default(),
            steps_on_branches: false,
            debugger: Debugger::default(),
            debug_pending: 0,
            debug_shadow: false,
            system_call: false,
            entered: false,
        };
        core.set_x87_stack(state.st);
        core.update_breakpoints();
        core.update_mode();
        core
    }

    pub(crate) fn state(&self) -> State {
        let mut gpr = [0; 16];
        gpr.copy_from_slice(&self.regs[..16]);
        State {
            gpr,
            rip: self.rip,
            rflags: self.rflags(),
            segments: self.segs,
            ldtr: self.ldtr,
            tr: self.tr,
            gdtr: self.gdtr,
            idtr: self.idtr,
            cr0: self.cr0,
            cr2: self.cr2,
            cr3: self.cr3,
            cr4: self.cr4,
            dr: self.dr,
            dr6: self.dr6,
            dr7: self.dr7,
            efer: self.efer,
            star: self.star,
            lstar: self.lstar,
            cstar: self.cstar,
            fmask: self.fmask,
            kernel_gs_base: self.kernel_gs_base,
            sysenter: self.sysenter,
            tsc_aux: self.tsc_aux,
            random: self.random,
            pat: self.pat,
            xcr0: self.xcr0,
            xss: self.xss,
            xmm: self.xmm.low(),
            ymm_high: self.xmm.ymm_high(),
            zmm_high: self.xmm.zmm_high(),
            zmm_16_to_31: self.xmm.upper(),
            opmask: self.opmask,
            mxcsr: self.mxcsr,
            fcw: self.fcw,
            fsw: self.fsw,
            ftw: self.ftw,
            x87_pointers: self.x87_pointers,
            st: self.x87_stack(),
            nmi_blocked: self.nmi_blocked,
            nmi_pending: self.nmi_pending,
            interrupt: None,
            interrupt_shadow: self.shadow,
            halted: self.halted,
        }
    }

    pub(crate) fn rflags(&self) -> u64 {
        self.rflags | self.flags.bits()
    }

    /// Does `f`, but for the flags. The compiler leaves out what only they would need.
    #[inline(always)]
    pub(crate) fn without_flags<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let flags = self.flags;
        let result = f(self);
        self.flags = flags;
        result
    }

    /// Replaces the bits of RFLAGS in `mask`.
    pub(crate) fn set_rflags(&mut self, mask: u64, value: u64) {
        self.flags.set(mask & flags::ARITHMETIC, value);
        let mask = mask & !flags::ARITHMETIC;
        self.rflags = self.rflags & !mask | value & mask | flags::FIXED;
        if mask & flags::AC != 0 {
            self.user = self.view_at(self.cpl);
        }
    }

    /// Whether a rule of the table holds for this CPU.
    #[inline(always)]
    pub(crate) fn holds(&self, rule: Rule) -> bool {
        self.rules.holds(rule)
    }

    /// In long mode, compatibility mode included.
    pub(crate) fn long_mode(&self) -> bool {
        self.efer & EFER_LMA != 0
    }

    pub(crate) fn in_64_bit_mode(&self) -> bool {
        self.mode == Mode::Bits64
    }

    /// Derives mode, privilege and segment bases after a change of CS, CPL or EFER.
    pub(crate) fn update_mode(&mut self) {
        let cs = &self.segs[CS];
        let mode = if self.long_mode() && cs.long() {
            Mode::Bits64
        } else if cs.big() {
            Mode::Bits32
        } else {
            Mode::Bits16
        };
        if mode != self.mode {
            self.mode = mode;
            self.remap = Some(Flushed::All);
        }
        self.user = self.view_at(self.cpl);
        self.update_sse();
        self.update_bases();
    }

    /// After a change of CR0, CR4 or XCR0.
    pub(crate) fn update_sse(&mut self) {
        self.sse = self.cr0 & (CR0_EM | CR0_TS) == 0 && self.cr4 & CR4_OSFXSR != 0;
        self.update_vector();
    }

    pub(crate) fn update_bases(&mut self) {
        for (number, segment) in self.segs.iter().enumerate() {
            self.bases[number] = if self.mode == Mode::Bits64 && number < FS { 0 } else { segment.base };
        }
    }

    /// Address of the current instruction.
    pub(crate) fn instruction_rip(&self) -> u64 {
        self.regs[BLOCK].wrapping_add(u64::from(self.position.start))
    }

    /// Address of the instruction behind the current one.
    pub(crate) fn next_rip(&self) -> u64 {
        self.instruction_rip().wrapping_add(u64::from(self.position.len))
    }

    /// The current instruction is the first one of a block, at RIP; everything is in sync.
    #[inline(always)]
    pub(crate) fn between_blocks(&mut self) {
        self.regs[BLOCK] = self.rip;
        self.position = Position::default();
        self.synced = Position::default();
    }

    /// Where the code at RIP is known by: its linear address, and user or supervisor.
    #[inline(always)]
    pub(crate) fn block_key(&self) -> u64 {
        self.rip.wrapping_add(self.bases[CS]) ^ (self.user as u64 & view::USER as u64) << 62
    }

    /// What the bus gets to know about the current instruction, after [`sync`](Self::sync).
    pub(crate) fn access(&self) -> Access<'_> {
        Access { rip: self.instruction_rip(), cpl: self.cpl, totals: &self.totals }
    }

    /// After a bus call.
    #[inline(always)]
    pub(crate) fn after_bus<B: Bus>(&mut self, bus: &B) {
        if bus.attention() {
            self.attention = true;
            self.stop = true;
        }
    }

    #[cold]
    pub(crate) fn raise(&mut self, exception: Exception) -> Fault {
        self.raised = Some(exception);
        Fault
    }

    #[cold]
    pub(crate) fn gp(&mut self, error: u32) -> Fault {
        self.raise(Exception::with_error(exception::GP, error))
    }

    #[cold]
    pub(crate) fn ud(&mut self) -> Fault {
        self.raise(Exception::plain(exception::UD))
    }

    pub(crate) fn require_cpl0(&mut self) -> Result<(), Fault> {
        if self.cpl == 0 { Ok(()) } else { Err(self.gp(0)) }
    }
}
