//! The CPU as the embedder sees it, and the run loop.

use crate::account::totals::Totals;
use crate::block::BlockId;
use crate::bus::{BranchRecorder, Bus, Tracer};
use crate::cache::{Block, Cache, PageAddress};
use crate::compiled::Compiler;
use crate::context::{BLOCK, CS, Core, Mode};
use crate::debug::breakpoints::DR6_BS;
use crate::decode;
use crate::exception::{self, Done, EventKind, Exception, Fault};
use crate::exec::chain;
use crate::exec::event::TripleFault;
use crate::features::Features;
use crate::flags::{IF, RF, TF};
use crate::low::Low;
use crate::mmu::{Flushed, Intent, PAGE, is_canonical};
use crate::operations::{Counting, OperationTypes, Operations};
use crate::sampled::{Sampled, Sampling};
use crate::silicon::{Rule, Silicon};
use crate::state::State;
use core::cell::Cell;
use core::fmt;
use core::mem::take;
use soft_base::{DebugStop, DebugStops};
use std::sync::Arc;

/// How far a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// End after exactly this many retired instructions.
    pub instructions: u64,
    /// End as soon as [`Cpu::can_take_interrupt`] holds.
    pub interrupt_window: bool,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// [`Budget::instructions`] have retired.
    Budget,
    /// HLT; the CPU waits for an interrupt or NMI.
    Halted,
    /// Triple fault. The state is that of the instruction whose exception could not be delivered.
    Shutdown,
    /// [`Bus::attention`] was true after an instruction.
    Attention,
    /// [`Budget::interrupt_window`] was asked for, and an interrupt can be taken.
    InterruptWindow,
    /// Much has happened without an instruction that retired (a long REP, a storm of exceptions): a chance to
    /// look at timeouts. Run again to continue.
    Yield,
    /// What [`Cpu::set_debug_stops`] asked for.
    Debug(DebugStop),
}

/// An instruction that the guest executed and this crate does not implement; it raised #UD.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unimplemented {
    /// Mnemonic and operand types, as iced-x86 names them (`Vaddpd_xmm_xmm_xmmm128`).
    pub code: String,
    /// Where it was executed first.
    pub rip: u64,
    /// How often.
    pub count: u64,
}

/// Different instructions that are remembered.
const MAX_UNIMPLEMENTED: usize = 64;
/// Exceptions delivered in one run before it yields.
const MAX_EXCEPTIONS: u32 = 1 << 14;
/// Bytes of a block at most; also what is fetched to decode one.
pub(crate) const FETCH: usize = 512;

/// One x86-64 CPU.
pub struct Cpu<B: Bus> {
    pub(crate) core: Core,
    pub(crate) cache: Cache<B>,
    interrupt: Option<u8>,
    unimplemented: Vec<Unimplemented>,
    pub(crate) sampling: Sampling,
    pub(crate) sampled: Option<Sampled>,
    pub(crate) compiler: Option<Box<dyn Compiler>>,
    /// Instructions executed by its code.
    pub(crate) compiled: u64,
}

impl<B: Bus> fmt::Debug for Cpu<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cpu").field("state", &self.core.state()).finish_non_exhaustive()
    }
}

impl<B: Bus> Default for Cpu<B> {
    fn default() -> Self {
        Self::new(&State::default())
    }
}

/// Physical address of code, and log2 of its page's size.
type CodeAddress = (u64, u8);

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
        Self {
            core: Core::new(state),
            cache: Cache::new(),
            interrupt: state.interrupt,
            unimplemented: Vec::new(),
            sampling: Sampling::Off,
            sampled: None,
            compiler: None,
            compiled: 0,
        }
    }

    /// A CPU that goes on where another one stopped.
    #[must_use]
    pub fn resume(state: &State, totals: &Totals, unimplemented: Vec<Unimplemented>) -> Self {
        let mut cpu = Self { unimplemented, ..Self::new(state) };
        cpu.core.totals = *totals;
        cpu
    }

    /// The same CPU, on the side of that silicon in what [`RULES`](crate::silicon::RULES) lists; without it on
    /// Intel's.
    #[must_use]
    pub fn with_silicon(mut self, silicon: Silicon) -> Self {
        self.core.rules = silicon.rules();
        self
    }

    /// The same CPU, which leaves the instructions and registers of the XSAVE feature set to the embedder as
    /// unimplemented: that one's CPUID has state components that this CPU does not know.
    #[must_use]
    pub fn without_xsave(mut self) -> Self {
        self.core.xsave = false;
        self
    }

    /// The same CPU, on which vector instructions of other features than these raise #UD.
    #[must_use]
    pub fn with_features(mut self, features: Features) -> Self {
        self.core.features = features;
        self
    }

    /// The same CPU, which counts operations there by these types, from when they are wanted. Nothing else depends on
    /// it but how fast vector instructions are executed.
    #[must_use]
    pub fn with_operations(mut self, operations: Arc<Operations>, types: OperationTypes) -> Self {
        self.core.counting = Some(Counting { types, operations, on: false });
        self
    }

    /// Blocks that have been decoded before do not count operations.
    fn follow_operations(&mut self) {
        if let Some(counting) = &mut self.core.counting
            && counting.on != counting.operations.are_wanted()
        {
            counting.on = !counting.on;
            self.cache.clear(&mut self.core.mmu);
        }
    }

    /// The architectural state between two instructions.
    #[must_use]
    pub fn state(&self) -> State {
        State { interrupt: self.interrupt, ..self.core.state() }
    }

    /// Replaces the architectural state. Totals stay.
    pub fn set_state(&mut self, state: &State) {
        let Core { totals, rules, xsave, features, .. } = self.core;
        let counting = self.core.counting.take();
        self.core = Core { totals, rules, xsave, features, counting, ..Core::new(state) };
        self.interrupt = state.interrupt;
        self.flush();
    }

    /// Replaces the architectural state by one in which addresses lead where they lead now: what is known of them, and
    /// code that has been decoded and compiled, is not forgotten. Totals stay.
    pub fn rewind(&mut self, state: &State) {
        let Core { totals, rules, xsave, features, .. } = self.core;
        let (mmu, descriptions) = (take(&mut self.core.mmu), take(&mut self.core.descriptions));
        let counting = self.core.counting.take();
        self.core = Core { totals, rules, xsave, features, counting, mmu, descriptions, ..Core::new(state) };
        self.interrupt = state.interrupt;
    }

    /// Everything that has retired.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.core.totals
    }

    /// Current privilege level, 0 to 3.
    #[must_use]
    pub fn cpl(&self) -> u8 {
        self.core.cpl
    }

    /// Instructions that the guest tried and that are not implemented; the first 64 different ones.
    #[must_use]
    pub fn unimplemented(&self) -> &[Unimplemented] {
        &self.unimplemented
    }

    /// From now on the CPU stops there for a debugger, and nowhere else; the instruction at RIP is executed whether or
    /// not it has a breakpoint. The guest sees nothing of it. [`set_state`](Self::set_state) forgets it.
    pub fn set_debug_stops(&mut self, stops: DebugStops) {
        self.core.arm_debugger(stops);
    }

    /// Forgets translations and decoded code: [`Ram::ram_page`](crate::Ram::ram_page) may answer differently from
    /// now on.
    pub fn flush(&mut self) {
        self.core.flush_tlb();
        self.cache.clear(&mut self.core.mmu);
    }

    /// RAM has been written to, but not by this CPU: `len` bytes from `gpa`, which may span pages.
    pub fn memory_changed(&mut self, gpa: u64, len: u64) {
        let last = gpa.saturating_add(len.max(1) - 1);
        // Data leaves what is remembered of code alone: a debug store is written with each record.
        for page in ((gpa / PAGE)..=(last / PAGE)).map(|page| page * PAGE) {
            if self.cache.has_code(page) {
                self.cache.invalidate(page, &mut self.core.mmu);
            }
        }
    }

    /// An NMI. It is delivered when the CPU runs and NMIs are not blocked; further ones merge with it.
    pub fn inject_nmi(&mut self) {
        self.core.nmi_pending = true;
    }

    /// True if a maskable interrupt would be delivered before the next instruction.
    #[must_use]
    pub fn can_take_interrupt(&self) -> bool {
        self.core.rflags & IF != 0 && !self.core.shadow && self.interrupt.is_none()
    }

    /// A maskable interrupt, to be delivered before the next instruction. False, and nothing happens, unless
    /// [`can_take_interrupt`](Self::can_take_interrupt).
    pub fn inject_interrupt(&mut self, vector: u8) -> bool {
        let accepted = self.can_take_interrupt();
        if accepted {
            self.interrupt = Some(vector);
        }
        accepted
    }

    /// Runs end, besides their budget, when so many iterations of REP have been executed since this call, if need be
    /// between two iterations ([`Exit::Yield`]). Without a call there is no limit; 0 is taken as 1.
    pub fn limit_repetitions(&mut self, iterations: u64) {
        self.core.repetitions_left = iterations.max(1);
    }

    /// Executes until the budget is used up or something has to be looked at.
    pub fn run(&mut self, bus: &mut B, budget: Budget) -> Exit {
        let mut left = budget.instructions;
        let mut exceptions = 0;
        self.core.attention = false;
        self.sampled = None;
        self.follow_operations();
        self.watch(bus);
        loop {
            if self.core.debugger.armed
                && let Some(stop) = self.core.debugger.stop_after(self.core.totals.instructions())
            {
                return Exit::Debug(stop);
            }
            if self.core.attention {
                return Exit::Attention;
            }
            // Nothing happens after the last instruction of the budget: an event waits for the next run.
            if (left == 0 || self.core.repetitions_left == 0) && !self.core.halted {
                return Exit::Budget;
            }
            match self.deliver_events(bus) {
                Ok(delivered) => exceptions += u32::from(delivered),
                Err(TripleFault) => return Exit::Shutdown,
            }
            if self.core.halted {
                return Exit::Halted;
            }
            if budget.interrupt_window && self.can_take_interrupt() {
                return Exit::InterruptWindow;
            }
            if left == 0 {
                return Exit::Budget;
            }
            if self.core.debugger.armed
                && let Some(stop) = self.core.debug_stop_before()
            {
                return Exit::Debug(stop);
            }
            if exceptions > MAX_EXCEPTIONS {
                return Exit::Yield;
            }
            let Some(pace) = self.pace() else {
                exceptions += 1;
                if self.debug_exception(bus).is_err() {
                    return Exit::Shutdown;
                }
                continue;
            };
            let core = &mut self.core;
            let single_step = core.rflags & TF != 0;
            core.steps_on_branches =
                single_step && bus.branches().is_some_and(|recorder| recorder.steps_on_branches());
            let branches = if core.steps_on_branches { core.totals.taken_branches() } else { 0 };
            // RF is for one instruction.
            core.rflags &= !RF;
            (core.shadow, core.debug_shadow, core.entered) = (false, false, false);
            core.system_call = false;
            let sampling = self.sampling != Sampling::Off;
            let sample = (sampling && left == 1).then(|| self.next_sample(bus));
            // The last one is looked at by itself.
            let last = u64::from(sampling && left > 1);
            left -= last;
            let outcome = self.run_blocks(bus, &mut left, pace);
            left += last;
            if sample.is_some() {
                self.sampled = sample.filter(|_| left == 0);
            }
            self.drop_stale_code();
            match outcome {
                Left::Through | Left::Stopped => {
                    let core = &mut self.core;
                    if core.debug_shadow {
                        continue;
                    }
                    // SYSCALL and SYSRET trap if TF is set behind them, so that FMASK can keep it away.
                    let traps = if core.system_call { core.rflags & TF != 0 } else { single_step };
                    let passed = core.steps_on_branches && core.totals.taken_branches() == branches;
                    if traps && !passed && !core.entered {
                        core.debug_pending |= DR6_BS;
                    }
                    if core.debug_pending != 0 && self.debug_exception(bus).is_err() {
                        return Exit::Shutdown;
                    }
                }
                Left::Faulted => {
                    self.core.rip = self.core.instruction_rip();
                    if self.core.raised.is_some() {
                        // It will access its data again.
                        self.core.debugger.hit = None;
                    }
                    let pending = std::mem::take(&mut self.core.debug_pending);
                    if self.core.raised.is_none() && self.core.breakpoints.execute {
                        // Its instruction breakpoint has been reported, or never was there.
                        self.core.rflags |= RF;
                    }
                    if std::mem::take(&mut self.core.unimplemented) {
                        self.note_unimplemented(bus);
                    }
                    exceptions += 1;
                    match self.core.raised.take() {
                        Some(raised) => {
                            if self.core.deliver(bus, raised, EventKind::Exception).is_err() {
                                self.core.rip = self.core.instruction_rip();
                                return Exit::Shutdown;
                            }
                        }
                        // A REP instruction between two iterations: what it has done so far counts.
                        None if pending != 0 => {
                            self.core.debug_pending = pending;
                            if self.debug_exception(bus).is_err() {
                                return Exit::Shutdown;
                            }
                        }
                        None if self.core.attention => return Exit::Attention,
                        None => return Exit::Yield,
                    }
                }
            }
        }
    }

    /// How far to go before looking for the next debug exception; `None` if it is now, before the instruction.
    fn pace(&mut self) -> Option<Pace> {
        let core = &mut self.core;
        if core.rflags & (TF | RF) != 0 || core.shadow {
            return if self.instruction_breakpoint() { None } else { Some(Pace::Instruction) };
        }
        if !core.breakpoints.execute && !core.debugger.armed {
            return Some(Pace::Free);
        }
        if self.instruction_breakpoint() {
            return None;
        }
        let core = &self.core;
        if core.debugger.steps() {
            return Some(Pace::Instruction);
        }
        if !core.breakpoints.execute && !core.debugger.breaks() {
            return Some(Pace::Free);
        }
        let linear = core.rip.wrapping_add(core.bases[CS]);
        let len = FETCH as u64;
        let near = core.breakpoint_within(linear, len) || core.debugger.breaks_within(linear, len);
        Some(if near { Pace::Instruction } else { Pace::Block })
    }

    /// Whether an instruction breakpoint stops the next instruction; it is then pending.
    fn instruction_breakpoint(&mut self) -> bool {
        let core = &mut self.core;
        if !core.breakpoints.execute || core.rflags & RF != 0 {
            return false;
        }
        if core.debug_shadow && core.holds(Rule::MovSsHoldsCodeBreakpoint) {
            return false;
        }
        let hits = core.instruction_breakpoints(core.rip.wrapping_add(core.bases[CS]));
        core.debug_pending |= hits;
        if hits != 0 {
            // A fault: the instruction is executed when the handler returns.
            core.rflags |= RF;
        }
        hits != 0
    }

    /// #DB for what is pending.
    fn debug_exception(&mut self, bus: &mut B) -> Result<(), TripleFault> {
        let conditions = std::mem::take(&mut self.core.debug_pending);
        self.core.report_debug(conditions);
        self.core.deliver(bus, Exception::plain(exception::DB), EventKind::Exception)
    }

    /// NMIs and interrupts that wait.
    fn deliver_events(&mut self, bus: &mut B) -> Result<bool, TripleFault> {
        let core = &mut self.core;
        if core.nmi_pending && !core.nmi_blocked && !core.shadow {
            core.nmi_pending = false;
            core.nmi_blocked = true;
            core.halted = false;
            core.deliver(bus, Exception::plain(exception::NMI), EventKind::Interrupt)?;
            return Ok(true);
        }
        if let Some(vector) = self.interrupt.take() {
            core.halted = false;
            core.deliver(bus, Exception::plain(vector), EventKind::Interrupt)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn drop_stale_code(&mut self) {
        while let Some(page) = self.core.mmu.code.take_stale() {
            self.cache.invalidate(page, &mut self.core.mmu);
        }
        match self.core.remap.take() {
            Some(Flushed::All) => self.cache.forget_jumps(),
            Some(Flushed::Page(linear)) => self.cache.forget_page(linear),
            None => {}
        }
    }

    /// Runs blocks until the deadline, a stop or a fault, or for one block or instruction.
    fn run_blocks(&mut self, bus: &mut B, left: &mut u64, pace: Pace) -> Left {
        self.core.stop = false;
        self.core.between_blocks();
        // What changes it stops the run.
        self.core.totals.bill(self.core.cpl != 0);
        self.core.begin_trail(bus);
        self.drop_stale_code();
        // The cache knows canonical addresses only.
        let known = !self.core.in_64_bit_mode() || is_canonical(self.core.rip);
        let outcome = loop {
            let outcome = if !known {
                None
            } else if B::OBSERVED && self.core.watch.on {
                self.run_observed_blocks(bus, left, pace)
            } else {
                match pace {
                    Pace::Free if self.compiler.is_some() => self.run_compiled_blocks(bus, left),
                    Pace::Free => self.run_known_blocks::<false>(bus, left),
                    Pace::Block => self.run_known_blocks::<true>(bus, left),
                    Pace::Instruction => self.run_known_instruction(bus, left),
                }
            };
            if let Some(outcome) = outcome {
                break outcome;
            }
            // Translating may read page tables from devices. If it fails nothing of a block has run.
            self.core.between_blocks();
            if let Err(Fault) = self.find_block(bus, self.core.block_key()) {
                self.core.between_blocks();
                break Left::Faulted;
            }
        };
        // From here on everything is in sync.
        match outcome {
            Left::Through => self.core.between_blocks(),
            Left::Stopped | Left::Faulted => self.core.synced = self.core.position,
        }
        self.core.record_branches(bus);
        outcome
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
        loop {
            if *left == 0 {
                return Some(Left::Through);
            }
            let block = self.cache.jump(core.block_key())?;
            core.regs[BLOCK] = core.rip;
            if *left < u64::from(block.end.index) {
                return Some(run_some(core, bus, block, left));
            }
            core.rip = core.rip.wrapping_add(u64::from(block.end.start));
            let done = (block.chain)(core, bus, block.insns.iter());
            if done.is_err() || core.stop {
                return Some(leave(core, bus, block, done, left));
            }
            *left -= u64::from(block.end.index);
            if core.retire_block(block.end) {
                core.trail_half_full(bus);
            }
            if ONE {
                return Some(Left::Through);
            }
        }
    }

    /// The block at RIP, decoded if need be.
    #[inline(never)]
    fn find_block(&mut self, bus: &mut B, key: u64) -> Result<(), Fault> {
        let core = &mut self.core;
        let linear = match core.mode {
            Mode::Bits64 => core.rip,
            // RIP may have run over the end of the 32-bit space.
            _ => {
                core.rip &= 0xFFFF_FFFF;
                if core.rip > u64::from(core.segs[CS].limit) {
                    return Err(core.gp(0));
                }
                core.rip.wrapping_add(core.segs[CS].base) & 0xFFFF_FFFF
            }
        };
        if core.in_64_bit_mode() && !is_canonical(linear) {
            return Err(core.gp(0));
        }
        let fetched = self.fetch_address(bus, linear, key)?;
        let (gpa, page) = fetched;
        let mut found = self.cache.find(gpa, self.core.mode);
        // Of the page into which its only instruction continues.
        let mut rest = None;
        if let Some(second) = found.and_then(|id| self.cache.block(id)?.second()) {
            let (address, size) = self.fetch_address(bus, next_page(linear), next_page(key))?;
            rest = Some((address, size));
            if address != second {
                found = None;
            }
        }
        let block = match found {
            Some(block) => block,
            None => {
                let (mut block, continued) = self.decode_block(bus, linear, key, gpa)?;
                rest = continued;
                block.observed = self.observe_block(bus, &block, page);
                self.cache.insert(block, &mut self.core.mmu)
            }
        };
        // What began a new generation has happened by now.
        if let Some(rest) = rest {
            self.cache.set_code_address(next_page(key), rest);
        }
        self.cache.set_code_address(key, fetched);
        self.cache.set_jump(key, block);
        Ok(())
    }

    /// Where the code at a linear address is, and log2 of its page's size; `key` as for [`Cache::jump`].
    fn fetch_address(&mut self, bus: &mut B, linear: u64, key: u64) -> Result<CodeAddress, Fault> {
        match self.cache.code_address(key) {
            Some(known) => Ok(known),
            None => {
                let gpa = self.core.translate(bus, linear, Intent::Fetch, self.core.user)?;
                Ok((gpa, self.core.watch.page))
            }
        }
    }

    /// The block, and where the second of its pages is if there is one.
    fn decode_block(
        &mut self,
        bus: &mut B,
        linear: u64,
        key: u64,
        gpa: u64,
    ) -> Result<(Block<B>, Option<CodeAddress>), Fault> {
        let core = &mut self.core;
        let mut bytes = [0; FETCH];
        let in_page = (PAGE - gpa % PAGE).low_usize().min(FETCH);
        if !fetch(bus, gpa, &mut bytes[..in_page]) {
            log::warn!("guest executes at {linear:#x}, physical {gpa:#x}, where there is no RAM: #UD");
            return Err(core.ud());
        }
        let mode = core.mode;
        if let Some(decoded) = decode::block(core, &bytes[..in_page]) {
            return Ok((block_of(decoded, mode, gpa, None), None));
        }
        // The first instruction continues in the next page.
        let (second, page) = self.fetch_address(bus, next_page(linear), next_page(key))?;
        let core = &mut self.core;
        let rest = &mut bytes[in_page..in_page + 15];
        if !fetch(bus, second, rest) {
            return Err(core.ud());
        }
        let decoded = decode::single(core, &bytes[..in_page + 15]);
        Ok((block_of(decoded, mode, gpa, Some(second)), Some((second, page))))
    }

    #[cold]
    fn note_unimplemented(&mut self, bus: &mut B) {
        let rip = self.core.rip;
        let mut bytes = [0; 15];
        let linear = rip.wrapping_add(self.core.bases[CS]);
        let mut len = 0;
        for (n, byte) in bytes.iter_mut().enumerate() {
            let user = self.core.user;
            let Ok(gpa) = self.core.translate(bus, linear.wrapping_add(n as u64), Intent::Fetch, user) else {
                break;
            };
            let mut one = [0];
            if !fetch(bus, gpa, &mut one) {
                break;
            }
            [*byte] = one;
            len = n + 1;
        }
        self.core.raised = Some(Exception::plain(exception::UD));
        let code = decode::name(&bytes[..len], self.core.mode);
        if let Some(known) = self.unimplemented.iter_mut().find(|known| known.code == code) {
            known.count += 1;
        } else if self.unimplemented.len() < MAX_UNIMPLEMENTED {
            log::info!("guest executed {code} at {rip:#x}, which is not implemented: #UD");
            if let Some(tracer) = bus.tracer() {
                tracer.unimplemented(&code, &self.core.access());
            }
            self.unimplemented.push(Unimplemented { code, rip, count: 1 });
        }
    }
}

/// Where the page behind that of an address begins.
fn next_page(address: u64) -> u64 {
    address.wrapping_add(PAGE) & !(PAGE - 1)
}

fn block_of<B>(decoded: decode::Decoded<B>, mode: Mode, gpa: u64, second: Option<u64>) -> Block<B> {
    let decode::Decoded { insns, chain, end } = decoded;
    Block {
        insns,
        chain,
        end,
        mode,
        tag: 0,
        next: BlockId::NONE,
        heat: Cell::default(),
        gpa,
        second: second.map(PageAddress::of),
        observed: None,
        compiled: Cell::default(),
    }
}

/// Runs as much of a block as there are instructions left, which is not all.
#[cold]
#[inline(never)]
pub(crate) fn run_some<B: Bus>(core: &mut Core, bus: &mut B, block: &Block<B>, left: &mut u64) -> Left {
    // What follows is no whole block, which would show how the last branch went.
    core.record_branches(bus);
    let (insns, end) = match block.insns.split_at_checked((*left).low_usize()) {
        Some((insns, [next, ..])) => (insns, next.position),
        _ => (&*block.insns, block.end),
    };
    core.rip = core.rip.wrapping_add(u64::from(end.start));
    let done = chain::some(core, bus, insns);
    if done.is_err() || core.stop {
        return leave(core, bus, block, done, left);
    }
    core.retire_rest(end);
    *left -= u64::from(end.index);
    Left::Through
}

/// After an instruction that did not complete, or that stops the run.
#[cold]
#[inline(never)]
pub(crate) fn leave<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    block: &Block<B>,
    done: Done,
    left: &mut u64,
) -> Left {
    if done.is_err() {
        core.sync_totals();
        *left -= u64::from(core.position.index);
        return Left::Faulted;
    }
    let (start, count) = (core.regs[BLOCK], usize::from(core.position.index) + 1);
    let stopped = stop_after(core, block, count, left);
    if count == block.insns.len() && core.trail.note_counted(start, block.end) {
        core.trail_half_full(bus);
    }
    stopped
}

/// Leaves a block after some of its instructions.
pub(crate) fn stop_after<B: Bus>(core: &mut Core, block: &Block<B>, count: usize, left: &mut u64) -> Left {
    core.position = block.insns.get(count).map_or(block.end, |next| next.position);
    core.sync_totals();
    if count < block.insns.len() {
        core.rip = core.instruction_rip();
    } else {
        core.between_blocks();
    }
    *left -= count as u64;
    Left::Stopped
}

/// Reads code within a page; false if it is not RAM.
pub(crate) fn fetch<B: Bus>(bus: &mut B, gpa: u64, bytes: &mut [u8]) -> bool {
    let Some(page) = bus.ram_page(gpa & !(PAGE - 1)) else { return false };
    let position = page + gpa % PAGE;
    for (byte, at) in bytes.iter_mut().zip(position..) {
        [*byte] = bus.ram_read(at);
    }
    true
}
