//! The run loop with a compiler of blocks.

use crate::account::trail::HALF;
use crate::block::BlockId;
use crate::bus::Bus;
use crate::cache::{Block, Cache};
use crate::compiled::{Code, Compiled, Compiler, Exit, Frame, NotCompiled, Source};
use crate::context::{BLOCK, CS, Core, Mode};
use crate::cpu::{Cpu, FETCH, Left, fetch, leave, run_some};
use crate::decode::MAX_INSNS;
use crate::exec::chain;
use crate::flags::{ARITHMETIC, Flags};
use crate::low::Low;
use crate::mmu::view;

/// Times after which a block is not worth to be entered.
const FUTILE: u8 = 32;
/// Instructions that are worth to enter compiled code for.
const WORTH: u64 = 4;
/// [`Block::heat`] of a block that stays interpreted.
const NEVER: u32 = u32::MAX;

impl<B> Block<B> {
    /// Its code, if it is to be executed there.
    #[inline(always)]
    fn code_at(&self, rip: u64) -> Option<Code> {
        let compiled = self.compiled.get();
        if compiled.rip == rip { compiled.code } else { None }
    }

    pub(crate) fn forget_code(&self) {
        self.compiled.set(Compiled::default());
        self.heat.set(0);
    }

    /// It was entered for few blocks.
    fn note_futile(&self) {
        let mut compiled = self.compiled.get();
        compiled.futile += 1;
        if compiled.futile == FUTILE {
            compiled = Compiled::default();
            self.heat.set(NEVER);
        }
        self.compiled.set(compiled);
    }
}

impl<B: Bus> Cpu<B> {
    /// The same CPU, whose hot blocks are compiled, where nothing observes what retires.
    #[must_use]
    pub fn with_compiler(mut self, compiler: Box<dyn Compiler>) -> Self {
        self.compiler = (!B::OBSERVED).then_some(compiler);
        self
    }

    /// Instructions that compiled code has executed.
    #[must_use]
    pub fn compiled(&self) -> u64 {
        self.compiled
    }

    /// As [`run_known_blocks`](Self::run_known_blocks), with compiled code where there is some.
    #[inline(never)]
    pub(crate) fn run_compiled_blocks(&mut self, bus: &mut B, left: &mut u64) -> Option<Left> {
        let Self { core, cache, compiler, compiled, .. } = self;
        let compiler = compiler.as_deref_mut()?;
        let threshold = compiler.threshold();
        // No code is compiled for other modes, and alignment is checked by slow paths only.
        let suits = core.mode == Mode::Bits64
            && core.bases[CS] == 0
            && core.user != view::ALIGNED
            && !core.counting.as_ref().is_some_and(|counting| counting.on);
        loop {
            if *left == 0 {
                return Some(Left::Through);
            }
            let id = cache.jump_id(core.block_key())?;
            let block = cache.block(id)?;
            if suits
                && *left >= MAX_INSNS as u64
                && let Some(code) = block.code_at(core.rip)
            {
                let before = *left;
                let exit = enter(core, bus, compiler, cache, code, left);
                *compiled += before - *left;
                let Exit::Inside { block: inside, instruction } = exit else { continue };
                *compiled += u64::from(instruction);
                let inside = cache.block(BlockId(inside))?;
                if before - *left < WORTH {
                    block.note_futile();
                }
                if let Some(left) = finish(core, bus, inside, instruction as usize, left) {
                    return Some(left);
                }
                continue;
            }
            if suits && block.code_at(core.rip).is_none() && warm(block, threshold) {
                compile(core, bus, compiler, cache, id);
                continue;
            }
            core.regs[BLOCK] = core.rip;
            if *left < u64::from(block.end.index) {
                return Some(run_some(core, bus, block, left));
            }
            if let Some(left) = finish(core, bus, block, 0, left) {
                return Some(left);
            }
        }
    }
}

/// Counts an execution. True if the block is to be compiled now.
fn warm<B>(block: &Block<B>, threshold: u32) -> bool {
    let heat = block.heat.get();
    if heat == NEVER {
        return false;
    }
    block.heat.set(heat + 1);
    heat >= threshold
}

/// Executes compiled code. What it has done is counted.
fn enter<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    compiler: &mut dyn Compiler,
    cache: &Cache<B>,
    code: Code,
    left: &mut u64,
) -> Exit {
    let totals = &mut core.totals.current;
    core.trail.count(totals);
    let before = totals.instructions;
    let next = usize::from(core.trail.next);
    let room = usize::from(HALF - core.trail.next % HALF);
    let most = usize::try_from(*left / MAX_INSNS as u64).unwrap_or(usize::MAX);
    let mut frame = Frame {
        registers: &mut core.regs,
        tlb: core.mmu.tlb.view(core.user),
        notes: &mut core.trail.notes,
        bases: &core.bases,
        next,
        limit: next + room.min(most),
        flags: core.flags.bits(),
        rip: core.rip,
        epoch: cache.epoch() << 2 | core.user as u64,
        branches: [0; 8],
    };
    let exit = compiler.run(code, &mut frame);
    let Frame { next: now, flags, rip, branches, .. } = frame;
    core.flags = Flags::from_bits(flags & ARITHMETIC);
    core.rip = rip;
    core.trail.next = now.low_u8();
    let totals = &mut core.totals.current;
    core.trail.count(totals);
    totals.add_branches(&branches);
    *left -= totals.instructions - before;
    if now != next && core.trail.next.is_multiple_of(HALF) {
        core.trail_half_full(bus);
    }
    exit
}

/// Interprets a block, which is at RIP, from an instruction on. Nothing: it has retired, and the run goes on.
#[inline(always)]
fn finish<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    block: &Block<B>,
    from: usize,
    left: &mut u64,
) -> Option<Left> {
    core.regs[BLOCK] = core.rip;
    core.rip = core.rip.wrapping_add(u64::from(block.end.start));
    let done = match from {
        0 => (block.chain)(core, bus, block.insns.iter()),
        _ => chain::some(core, bus, block.insns.get(from..).unwrap_or_default()),
    };
    if done.is_err() || core.stop {
        return Some(leave(core, bus, block, done, left));
    }
    *left -= u64::from(block.end.index);
    if core.retire_block(block.end) {
        core.trail_half_full(bus);
    }
    None
}

#[cold]
fn compile<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    compiler: &mut dyn Compiler,
    cache: &mut Cache<B>,
    id: BlockId,
) {
    let Some(block) = cache.block(id) else { return };
    block.heat.set(NEVER);
    let mut bytes = [0; FETCH];
    let len = usize::from(block.end.start).min(FETCH);
    // Two pages may go different ways.
    if block.second.is_some() || !fetch(bus, block.gpa, &mut bytes[..len]) {
        return;
    }
    let source = Source { rip: core.rip, bytes: &bytes[..len], block: id.0, end: block.end.bits() };
    match compiler.compile(&source) {
        Ok(code) => {
            block.compiled.set(Compiled { code: Some(code), rip: core.rip, futile: 0 });
            // It may become hot at another address.
            block.heat.set(0);
        }
        Err(NotCompiled::Unsuitable) => {}
        Err(NotCompiled::Full) => {
            cache.forget_code();
            compiler.clear();
        }
    }
}
