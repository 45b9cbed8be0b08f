//! The CPU while it runs: the architectural state in the form that handlers want, and what is derived from it.

use crate::block::Position;
use crate::bus::{Access, Bus};
use crate::exception::{Class, Done, Exception, Fault};
use crate::flags::Flags;
use crate::fp::Env;
use crate::mmu::Mmu;
use crate::observe::Watch;
use crate::register::{FPCR, FPSR, Identification, Own, SPSR};
use crate::state::{State, SystemState};
use crate::totals::Totals;
use soft_base::{Debugger, Low};

/// Register number of the current stack pointer.
pub(crate) const SP: u8 = 31;
/// Register number that always reads as 0: XZR as a source.
pub(crate) const ZERO: u8 = 32;
/// Register number that is never read: XZR as a destination.
pub(crate) const SINK: u8 = 33;
/// Register number of the address of the block's first instruction.
pub(crate) const BLOCK: u8 = 34;
/// X30, the link register.
pub(crate) const LINK: u8 = 30;

/// As many as a register number can tell apart, so that none needs a check.
const REGS: usize = 1 << u8::BITS;

/// SCTLR_EL1 bits.
pub(crate) const SCTLR_A: u64 = 1 << 1;
pub(crate) const SCTLR_SA: u64 = 1 << 3;
pub(crate) const SCTLR_SA0: u64 = 1 << 4;
pub(crate) const SCTLR_UMA: u64 = 1 << 9;
pub(crate) const SCTLR_DZE: u64 = 1 << 14;
pub(crate) const SCTLR_UCT: u64 = 1 << 15;
pub(crate) const SCTLR_NTWI: u64 = 1 << 16;
pub(crate) const SCTLR_NTWE: u64 = 1 << 18;
pub(crate) const SCTLR_UCI: u64 = 1 << 26;

/// PSTATE.DAIF, where SPSR has them.
pub(crate) const DAIF: u64 = 0xF << 6;
pub(crate) const PSTATE_D: u64 = 1 << 9;
pub(crate) const PSTATE_I: u64 = 1 << 7;
pub(crate) const PSTATE_F: u64 = 1 << 6;
pub(crate) const PSTATE_IL: u64 = 1 << 20;
pub(crate) const PSTATE_SS: u64 = 1 << 21;

#[derive(Debug)]
pub(crate) struct Core {
    // Hot.
    /// X0 to X30, then [`SP`], [`ZERO`], [`SINK`] and [`BLOCK`].
    pub(crate) regs: [u64; REGS],
    pub(crate) flags: Flags,
    /// Next instruction; while a block runs, the one after the block unless a branch has set it.
    pub(crate) pc: u64,
    /// Current exception level, 0 or 1.
    pub(crate) el: u8,
    /// Part of the TLB for accesses at this level, a [`view`](crate::mmu::view).
    pub(crate) view: usize,
    /// Which translations of code hold.
    pub(crate) code_tag: u64,
    // What the run loop and handlers tell each other.
    pub(crate) position: Position,
    /// What of the current block the totals already contain.
    pub(crate) synced: Position,
    /// What has retired in whole blocks and is not in the totals.
    pub(crate) unsynced: Position,
    /// Leave the block after this instruction.
    pub(crate) stop: bool,
    /// A bus call wants the embedder to look.
    pub(crate) attention: bool,
    /// Why the instruction did not complete.
    pub(crate) raised: Option<Exception>,
    pub(crate) unimplemented: bool,
    /// The instruction was a hint that yields.
    pub(crate) yielded: bool,
    /// FP and Advanced SIMD instructions do not trap at this level.
    pub(crate) fp_enabled: bool,
    /// SCTLR_EL1.A: all accesses have to be aligned, whatever memory they are to.
    pub(crate) aligned: bool,
    pub(crate) mmu: Mmu,
    pub(crate) watch: Watch,
    pub(crate) totals: Totals,
    // Registers.
    pub(crate) v: [u128; 32],
    /// FPCR and FPSR.
    pub(crate) fp: Env,
    /// The stack pointers; the current one is in `regs`.
    banked_sp: [u64; 2],
    /// PSTATE.SP.
    sp_select: bool,
    /// DAIF, IL and SS as SPSR has them.
    pub(crate) pstate: u64,
    pub(crate) system: SystemState,
    pub(crate) identification: Identification,
    /// Physical address and bytes that are marked for exclusive access.
    pub(crate) exclusive: Option<(u64, u8)>,
    pub(crate) waiting: bool,
    /// IRQ and FIQ, as levels.
    pub(crate) interrupts: [bool; 2],
    // Debugging.
    /// There are enabled hardware breakpoints, and watchpoints.
    pub(crate) breakpoints: bool,
    pub(crate) watchpoints: bool,
    /// The last instruction was a software step.
    pub(crate) stepped: bool,
    /// That of a debugger outside the guest.
    pub(crate) debugger: Debugger,
}

impl Core {
    pub(crate) fn new(state: &State) -> Self {
        let mut core = Self {
            regs: [0; REGS],
            flags: Flags::from_bits(0),
            pc: 0,
            el: 1,
            view: 0,
            code_tag: 0,
            position: Position::default(),
            synced: Position::default(),
            unsynced: Position::default(),
            stop: false,
            attention: false,
            raised: None,
            unimplemented: false,
            yielded: false,
            fp_enabled: false,
            aligned: false,
            mmu: Mmu::default(),
            watch: Watch::default(),
            totals: Totals::default(),
            v: state.v,
            fp: Env { fpcr: 0, fpsr: 0 },
            banked_sp: state.sp,
            sp_select: true,
            pstate: 0,
            system: state.system.clone(),
            identification: state.identification,
            exclusive: None,
            waiting: false,
            interrupts: [false; 2],
            breakpoints: false,
            watchpoints: false,
            stepped: false,
            debugger: Debugger::default(),
        };
        core.set_state(state);
        core
    }

    /// Replaces the architectural state between two runs. Translations stay, unless a register that controls them
    /// changes.
    pub(crate) fn set_state(&mut self, state: &State) {
        self.regs[..31].copy_from_slice(&state.x);
        self.pc = state.pc;
        self.stop = false;
        self.attention = false;
        self.raised = None;
        self.unimplemented = false;
        self.yielded = false;
        self.v = state.v;
        self.fp = Env { fpcr: (state.fpcr & FPCR).low_u32(), fpsr: (state.fpsr & FPSR).low_u32() };
        self.banked_sp = state.sp;
        self.sp_select = true;
        self.regs[usize::from(SP)] = state.sp[1];
        self.system = state.system.clone();
        self.identification = state.identification;
        self.exclusive = state.exclusive;
        self.waiting = state.waiting;
        self.interrupts = state.interrupts;
        self.stepped = false;
        self.debugger = Debugger::default();
        self.set_pstate(state.pstate);
        self.update_debug();
    }

    pub(crate) fn state(&self) -> State {
        let mut x = [0; 31];
        x.copy_from_slice(&self.regs[..31]);
        State {
            x,
            sp: [self.stack_pointer(0), self.stack_pointer(1)],
            pc: self.pc,
            pstate: self.spsr(),
            v: self.v,
            fpcr: self.fp.fpcr.into(),
            fpsr: self.fp.fpsr.into(),
            system: self.system.clone(),
            identification: self.identification,
            exclusive: self.exclusive,
            waiting: self.waiting,
            interrupts: self.interrupts,
        }
    }

    /// PSTATE in the form of an SPSR.
    pub(crate) fn spsr(&self) -> u64 {
        self.flags.bits() | self.pstate | u64::from(self.el) << 2 | u64::from(self.sp_select)
    }

    /// Replaces PSTATE. EL0 has SP_EL0.
    pub(crate) fn set_pstate(&mut self, spsr: u64) {
        let spsr = spsr & SPSR;
        self.flags = Flags::from_bits(spsr);
        self.pstate = spsr & (DAIF | PSTATE_IL | PSTATE_SS);
        self.el = u8::from(spsr & 1 << 2 != 0);
        self.select_stack_pointer(spsr & 1 != 0 && self.el == 1);
        self.update_controls();
    }

    /// PSTATE.SP.
    pub(crate) fn select_stack_pointer(&mut self, el1: bool) {
        if self.sp_select != el1 {
            self.banked_sp[usize::from(self.sp_select)] = self.regs[usize::from(SP)];
            self.sp_select = el1;
            self.regs[usize::from(SP)] = self.banked_sp[usize::from(el1)];
        }
    }

    /// PSTATE.SP is 1.
    pub(crate) fn has_own_stack_pointer(&self) -> bool {
        self.sp_select
    }

    /// SP_EL0 or SP_EL1.
    pub(crate) fn stack_pointer(&self, el: usize) -> u64 {
        if usize::from(self.sp_select) == el { self.regs[usize::from(SP)] } else { self.banked_sp[el & 1] }
    }

    pub(crate) fn set_stack_pointer(&mut self, el: usize, value: u64) {
        if usize::from(self.sp_select) == el {
            self.regs[usize::from(SP)] = value;
        } else {
            self.banked_sp[el & 1] = value;
        }
    }

    /// A stored system register.
    #[inline(always)]
    pub(crate) fn own(&self, register: Own) -> u64 {
        self.system.own[register as usize]
    }

    pub(crate) fn own_mut(&mut self, register: Own) -> &mut u64 {
        &mut self.system.own[register as usize]
    }

    /// Derives what depends on the exception level, CPACR_EL1, SCTLR_EL1 and the translation regime.
    pub(crate) fn update_controls(&mut self) {
        // FPEN: 3 traps nothing, 1 traps EL0 only (Arm ARM D17.2.30).
        let fpen = self.own(Own::Cpacr) >> 20 & 3;
        self.fp_enabled = fpen == 3 || fpen == 1 && self.el == 1;
        let sctlr = self.own(Own::Sctlr);
        self.aligned = sctlr & SCTLR_A != 0;
        self.select_translations();
    }

    #[inline(always)]
    pub(crate) fn reg(&self, number: u8) -> u64 {
        self.regs[usize::from(number)]
    }

    #[inline(always)]
    pub(crate) fn set_reg(&mut self, number: u8, value: u64) {
        self.regs[usize::from(number)] = value;
    }

    /// Address of the current instruction.
    pub(crate) fn instruction_address(&self) -> u64 {
        self.reg(BLOCK).wrapping_add(self.position.bytes())
    }

    /// The current instruction is the first one of a block, at the PC; everything is in sync.
    #[inline(always)]
    pub(crate) fn between_blocks(&mut self) {
        self.set_reg(BLOCK, self.pc);
        self.position = Position::default();
        self.synced = Position::default();
    }

    /// Brings the totals up to, and excluding, the current instruction.
    pub(crate) fn sync(&mut self) {
        let new = self.unsynced.and(self.position).without(self.synced);
        let totals = self.totals.at(self.el);
        totals.instructions += new.index();
        totals.loads += new.loads();
        totals.stores += new.stores();
        totals.vector += new.vector();
        self.unsynced = Position::default();
        self.synced = self.position;
    }

    /// A whole block has retired.
    #[inline(always)]
    pub(crate) fn retire_block(&mut self, end: Position) {
        self.unsynced = self.unsynced.and(end).without(self.synced);
        self.synced = Position::default();
    }

    /// What the bus is told about the current instruction, after [`sync`](Self::sync).
    pub(crate) fn access(&self) -> Access<'_> {
        Access { pc: self.instruction_address(), el: self.el, totals: &self.totals }
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
    pub(crate) fn undefined(&mut self) -> Fault {
        self.raise(Exception::undefined())
    }

    /// Traps an FP or Advanced SIMD instruction unless they are enabled.
    #[inline(always)]
    pub(crate) fn require_fp(&mut self) -> Done {
        if self.fp_enabled {
            return Ok(());
        }
        // COND is 0b1110 with CV set (Arm ARM D17.2.37).
        Err(self.raise(Exception::new(Class::FpAccess, 1 << 24 | 0xE << 20)))
    }
}
