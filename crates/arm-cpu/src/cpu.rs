//! The CPU as the embedder sees it, and the run loop.

use crate::block::{MAX_TOGETHER, Position};
use crate::bus::{Bus, Tracer};
use crate::cache::{Block, Cache};
use crate::context::{BLOCK, Core};
use crate::decode;
use crate::exception::{Cause, Class, Done, Exception, Fault};
use crate::exec::chain;
use crate::mmu::{Intent, OFFSET, PAGE, Status};
use crate::register::Identification;
use crate::state::State;
use crate::totals::Totals;
use core::fmt;
use soft_base::{DebugStop, DebugStops, Low};

/// How far a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// End after exactly this many retired instructions.
    pub instructions: u64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// [`Budget::instructions`] have retired.
    Budget,
    /// [`Bus::attention`] was true after an instruction.
    Attention,
    /// WFI; the CPU waits until [`Cpu::set_interrupt_lines`] raises one.
    WaitForInterrupt,
    /// WFE, or a storm of exceptions: a chance to look at timeouts. Run again to continue.
    Yield,
    /// What [`Cpu::set_debug_stops`] asked for.
    Debug(DebugStop),
}

/// An instruction that the guest executed and this crate does not implement; it was UNDEFINED.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unimplemented {
    /// As disarm64 names it (`FCVTZS_Vd_Vn`).
    pub name: String,
    /// Where it was executed first.
    pub pc: u64,
    /// How often.
    pub count: u64,
}

/// Different instructions that are remembered.
const MAX_UNIMPLEMENTED: usize = 64;
/// Exceptions taken in one run before it yields.
const MAX_EXCEPTIONS: u32 = 1 << 14;

/// One AArch64 CPU.
pub struct Cpu<B: Bus> {
    pub(crate) core: Core,
    pub(crate) cache: Cache<B>,
    unimplemented: Vec<Unimplemented>,
}

impl<B: Bus> fmt::Debug for Cpu<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpu").field("state", &self.core.state()).finish_non_exhaustive()
    }
}

/// How much is executed before the run loop looks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Instruction,
    Block,
    Free,
}

/// How a block was left.
pub(crate) enum Left {
    /// At its end, or at the deadline.
    Through,
    /// After an instruction that asked for it.
    Stopped,
    /// Before an instruction that did not complete.
    Faulted,
}

impl<B: Bus> Cpu<B> {
    /// A CPU in the given state. Totals are 0.
    #[must_use]
    pub fn new(state: &State) -> Self {
        Self { core: Core::new(state), cache: Cache::new(), unimplemented: Vec::new() }
    }

    /// A CPU that goes on where another one stopped.
    #[must_use]
    pub fn resume(state: &State, totals: &Totals, unimplemented: Vec<Unimplemented>) -> Self {
        let mut cpu = Self { unimplemented, ..Self::new(state) };
        cpu.core.totals = *totals;
        cpu
    }

    /// Whether a word is an instruction of such a CPU, at whichever exception level; otherwise it is UNDEFINED.
    #[must_use]
    pub fn is_defined(word: u32, identification: &Identification) -> bool {
        decode::is_defined::<B>(word, identification)
    }

    /// The architectural state between two instructions.
    #[must_use]
    pub fn state(&self) -> State {
        self.core.state()
    }

    /// Replaces the architectural state. Totals stay.
    pub fn set_state(&mut self, state: &State) {
        let totals = self.core.totals;
        self.core = Core::new(state);
        self.core.totals = totals;
        self.flush();
    }

    /// As [`set_state`](Self::set_state), but keeps decoded code, and translations if the registers that control them
    /// stay the same: for an embedder that starts many times in the same memory. It has told of what has changed in
    /// RAM by [`memory_changed`](Self::memory_changed), and nothing has in translation tables.
    pub fn set_registers(&mut self, state: &State) {
        self.core.set_state(state);
    }

    /// Everything that has retired.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.core.totals
    }

    /// Current exception level, 0 or 1.
    #[must_use]
    pub fn exception_level(&self) -> u8 {
        self.core.el
    }

    /// Instructions that the guest tried and that are not implemented; the first 64 different ones.
    #[must_use]
    pub fn unimplemented(&self) -> &[Unimplemented] {
        &self.unimplemented
    }

    /// From now on the CPU stops there for a debugger, and nowhere else; the instruction at the PC is executed whether
    /// or not it has a breakpoint. The guest sees nothing of it. [`set_state`](Self::set_state) forgets it.
    pub fn set_debug_stops(&mut self, stops: DebugStops) {
        self.core.arm_debugger(stops);
    }

    /// Forgets translations and decoded code: [`Ram::ram_page`](crate::Ram::ram_page) may answer differently from now
    /// on.
    pub fn flush(&mut self) {
        self.core.flush_translations();
        self.cache.clear(&mut self.core.mmu);
    }

    /// RAM has been written to, but not by this CPU: `len` bytes from a physical address, which may span pages.
    pub fn memory_changed(&mut self, address: u64, len: u64) {
        let last = address.saturating_add(len.max(1) - 1);
        for page in (address / PAGE)..=(last / PAGE) {
            self.cache.invalidate(page * PAGE, &mut self.core.mmu);
        }
        self.core.forget_code_addresses();
    }

    /// The levels of IRQ and FIQ. The CPU takes one at the first boundary where PSTATE allows it, FIQ first; one that
    /// is high ends WFI whether or not it is masked.
    pub fn set_interrupt_lines(&mut self, irq: bool, fiq: bool) {
        self.core.interrupts = [irq, fiq];
        self.core.waiting &= !(irq || fiq);
    }

    /// Executes until the budget is used up or something has to be looked at.
    pub fn run(&mut self, bus: &mut B, budget: Budget) -> Exit {
        let mut left = budget.instructions;
        let mut exceptions = 0;
        self.core.attention = false;
        self.core.yielded = false;
        self.watch(bus);
        loop {
            let core = &mut self.core;
            if core.debugger.armed
                && let Some(stop) = core.debugger.stop_after(core.totals.instructions())
            {
                return Exit::Debug(stop);
            }
            if core.attention {
                return Exit::Attention;
            }
            if core.waiting {
                return Exit::WaitForInterrupt;
            }
            // Nothing happens after the last instruction of the budget: an interrupt waits for the next run.
            if left == 0 {
                return Exit::Budget;
            }
            if core.yielded || exceptions > MAX_EXCEPTIONS {
                return Exit::Yield;
            }
            if let Some(cause) = core.pending_interrupt() {
                core.take(bus, cause);
                exceptions += 1;
            }
            if core.debugger.armed
                && let Some(stop) = core.debugger.stop_before(core.totals.instructions(), core.pc, core.pc)
            {
                return Exit::Debug(stop);
            }
            if let Some(exception) = core.exception_before_instruction() {
                core.take(bus, Cause::Synchronous(exception));
                exceptions += 1;
                continue;
            }
            let pace = core.pace();
            let single_step = core.single_steps();
            let outcome = self.run_blocks(bus, &mut left, pace);
            self.drop_stale_code();
            let core = &mut self.core;
            match outcome {
                Left::Through | Left::Stopped if single_step => core.finish_step(),
                Left::Through | Left::Stopped => {}
                Left::Faulted => {
                    core.pc = core.instruction_address();
                    // It will access its data again.
                    core.debugger.hit = None;
                    if std::mem::take(&mut core.unimplemented) {
                        self.note_unimplemented(bus);
                    }
                }
            }
            if let Some(raised) = self.core.raised.take() {
                exceptions += 1;
                self.core.take(bus, Cause::Synchronous(raised));
            }
        }
    }

    fn drop_stale_code(&mut self) {
        let mut changed = false;
        while let Some(page) = self.core.mmu.code.take_stale() {
            self.cache.invalidate(page, &mut self.core.mmu);
            changed = true;
        }
        if changed {
            self.core.forget_code_addresses();
        }
    }

    /// Runs blocks until the deadline, a stop or a fault, or for one block or instruction.
    fn run_blocks(&mut self, bus: &mut B, left: &mut u64, pace: Pace) -> Left {
        self.core.stop = false;
        self.core.between_blocks();
        let outcome = loop {
            let outcome = if B::OBSERVED && self.core.watch.on {
                self.run_observed_blocks(bus, left, pace)
            } else {
                match pace {
                    Pace::Free => self.run_known_blocks::<false>(bus, left),
                    Pace::Block => self.run_known_blocks::<true>(bus, left),
                    Pace::Instruction => self.run_known_instruction(bus, left),
                }
            };
            self.sync_blocks();
            if let Some(outcome) = outcome {
                break outcome;
            }
            // Translating may read page tables from devices. If it fails nothing of a block has run.
            self.core.between_blocks();
            if let Err(Fault) = self.find_block(bus) {
                self.core.between_blocks();
                break Left::Faulted;
            }
        };
        // From here on everything is in sync.
        match outcome {
            Left::Through => self.core.between_blocks(),
            Left::Stopped | Left::Faulted => self.core.synced = self.core.position,
        }
        outcome
    }

    /// Brings the totals up to date with all blocks.
    fn sync_blocks(&mut self) {
        let core = &mut self.core;
        let position = std::mem::replace(&mut core.position, core.synced);
        core.sync();
        core.position = position;
    }

    /// Runs an instruction of a block that has been looked up before, if there are instructions left.
    fn run_known_instruction(&mut self, bus: &mut B, left: &mut u64) -> Option<Left> {
        let before = (*left).min(1);
        let mut after = before;
        let outcome = self.run_known_blocks::<true>(bus, &mut after);
        *left -= before - after;
        outcome
    }

    /// Runs blocks that have been looked up before. `None`: the next one has not.
    // By itself it keeps in registers what it needs for each block.
    #[inline(never)]
    fn run_known_blocks<const ONE: bool>(&mut self, bus: &mut B, left: &mut u64) -> Option<Left> {
        let core = &mut self.core;
        let mut room = MAX_TOGETHER;
        loop {
            if *left == 0 {
                return Some(Left::Through);
            }
            let block = self.cache.jump(core.pc, core.code_tag)?;
            core.set_reg(BLOCK, core.pc);
            if *left < block.end.index() {
                return Some(run_some(core, bus, block, left));
            }
            core.pc = core.pc.wrapping_add(block.end.bytes());
            let done = (block.chain)(core, bus, block.insns.iter());
            if done.is_err() || core.stop {
                return Some(leave(core, block, done, left));
            }
            *left -= block.end.index();
            core.retire_block(block.end);
            if ONE {
                return Some(Left::Through);
            }
            room -= 1;
            if room == 0 {
                core.position = Position::default();
                core.sync();
                room = MAX_TOGETHER;
            }
        }
    }

    /// The block at the PC, decoded if need be.
    #[inline(never)]
    fn find_block(&mut self, bus: &mut B) -> Result<(), Fault> {
        let core = &mut self.core;
        let pc = core.pc;
        if pc & 3 != 0 {
            let exception = Exception { address: Some(pc), ..Exception::new(Class::PcAlignment, 0) };
            return Err(core.raise(exception));
        }
        let translation = core.translate(bus, pc, Intent::Fetch, core.view, true)?;
        core.mmu.note_code(pc, translation.size);
        let address = translation.address;
        let number = match self.cache.find(address) {
            Some(number) => number,
            None => {
                let mut block = self.decode_block(bus, address)?;
                block.observed = self.observe_block(bus, &block, translation.size);
                self.cache.insert(block, &mut self.core.mmu)
            }
        };
        self.cache.set_jump(pc, self.core.code_tag, number);
        Ok(())
    }

    fn decode_block(&mut self, bus: &mut B, address: u64) -> Result<Block<B>, Fault> {
        let Some(page) = bus.ram_page(address & !OFFSET) else {
            let pc = self.core.pc;
            log::warn!(
                "guest executes at {pc:#x}, physical {address:#x}, where there is no RAM: external abort"
            );
            return Err(self.core.abort(pc, Status::External, Intent::Fetch));
        };
        let first = address & OFFSET;
        let words = (first..PAGE).step_by(4).map(|offset| u32::from_le_bytes(bus.ram_read(page + offset)));
        let decoded = decode::block(words, &self.core.identification);
        Ok(Block {
            insns: decoded.insns,
            chain: decoded.chain,
            end: decoded.end,
            branch: decoded.branch,
            address,
            observed: None,
        })
    }

    #[cold]
    fn note_unimplemented(&mut self, bus: &mut B) {
        let pc = self.core.pc;
        let Ok(translation) = self.core.look_up(bus, pc, Intent::Fetch) else { return };
        let Some(page) = bus.ram_page(translation.address & !OFFSET) else { return };
        let name = decode::name(u32::from_le_bytes(bus.ram_read(page + (translation.address & OFFSET))));
        if let Some(known) = self.unimplemented.iter_mut().find(|known| known.name == name) {
            known.count += 1;
        } else if self.unimplemented.len() < MAX_UNIMPLEMENTED {
            log::info!("guest executed {name} at {pc:#x}, which is not implemented: UNDEFINED");
            if let Some(tracer) = bus.tracer() {
                tracer.unimplemented(&name, &self.core.access());
            }
            self.unimplemented.push(Unimplemented { name, pc, count: 1 });
        }
    }
}

/// Runs as much of a block as there are instructions left, which is not all.
#[cold]
#[inline(never)]
fn run_some<B: Bus>(core: &mut Core, bus: &mut B, block: &Block<B>, left: &mut u64) -> Left {
    let (insns, end) = match block.insns.split_at_checked((*left).low_usize()) {
        Some((insns, [next, ..])) => (insns, next.position),
        _ => (&*block.insns, block.end),
    };
    core.pc = core.pc.wrapping_add(end.bytes());
    let done = chain::some(core, bus, insns);
    if done.is_err() || core.stop {
        return leave(core, block, done, left);
    }
    core.retire_block(end);
    *left -= end.index();
    Left::Through
}

/// After an instruction that did not complete, or that stops the run.
#[cold]
#[inline(never)]
fn leave<B: Bus>(core: &mut Core, block: &Block<B>, done: Done, left: &mut u64) -> Left {
    if done.is_err() {
        core.sync();
        *left -= core.position.index();
        return Left::Faulted;
    }
    stop_after(core, block, core.position.index().low_usize() + 1, left)
}

/// Leaves a block after some of its instructions.
pub(crate) fn stop_after<B: Bus>(core: &mut Core, block: &Block<B>, count: usize, left: &mut u64) -> Left {
    core.position = block.insns.get(count).map_or(block.end, |next| next.position);
    core.sync();
    if count < block.insns.len() {
        core.pc = core.instruction_address();
    }
    *left -= count as u64;
    Left::Stopped
}
