//! The run loop with a compiler of blocks.

use crate::account::trail::{HALF, Trail};
use crate::block::BlockId;
use crate::bus::Bus;
use crate::cache::{Block, Cache};
use crate::compiled::{
    Code, Compiled, Compiler, Entry, Exit, Frame, NotCompiled, OPERATIONS, Source, VECTOR,
};
use crate::context::{BLOCK, CS, Core, Mode};
use crate::cpu::{Cpu, FETCH, Left, fetch, leave, run_some};
use crate::decode::MAX_INSNS;
use crate::exec::chain;
use crate::flags::{ARITHMETIC, Flags};
use crate::mmu::view;
use crate::vector::{AVX, AVX512};
use core::ptr::from_mut;

const _: () = assert!(size_of::<crate::vector::registers::Vector>() == VECTOR);

/// Times after which a block is not worth to be entered.
const FUTILE: u8 = 200;
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

    /// It was entered, and code has done something or nothing.
    fn note_worth(&self, something: bool) {
        let mut compiled = self.compiled.get();
        compiled.futile = if something { 0 } else { compiled.futile + 1 };
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
        // Compiled code does not count operations by type.
        let counts = core.counting.as_ref().is_some_and(|counting| counting.on);
        loop {
            if *left == 0 {
                return Some(Left::Through);
            }
            // No code is compiled for other modes, and alignment is checked by slow paths only.
            let suits =
                core.mode == Mode::Bits64 && core.bases[CS] == 0 && core.user != view::ALIGNED && !counts;
            let id = cache.jump_id(core.block_key())?;
            let block = cache.block(id)?;
            if suits
                && *left >= MAX_INSNS as u64
                && let Some(code) = block.code_at(core.rip)
            {
                match execute(core, bus, compiler, cache, (block, code), left, compiled) {
                    Some(left) => return Some(left),
                    None => continue,
                }
            }
            if suits && block.code_at(core.rip).is_none() && warm(block, threshold) {
                compile(core, bus, compiler, cache, id);
                continue;
            }
            core.regs[BLOCK] = core.rip;
            if *left < u64::from(block.end.index) {
                return Some(run_some(core, bus, block, left));
            }
            if let Some(left) = finish(core, bus, block, left) {
                return Some(left);
            }
        }
    }
}

/// Executes compiled code from a block on, and what that leaves to the interpreter. Nothing: the run goes on.
fn execute<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    compiler: &mut dyn Compiler,
    cache: &Cache<B>,
    (first, code): (&Block<B>, Code),
    left: &mut u64,
    compiled: &mut u64,
) -> Option<Left> {
    let mut entry = Entry::Block(code);
    loop {
        let before = *left;
        let exit = enter(core, bus, compiler, cache, entry, left);
        let skipped = match entry {
            Entry::Block(_) => 0,
            Entry::Inside(resume) => u64::from(resume.instruction),
        };
        let blocks = before - *left;
        let Exit::Inside { block, instruction, resume } = exit else {
            *compiled += blocks.wrapping_sub(skipped);
            return None;
        };
        let done = (blocks + u64::from(instruction)).wrapping_sub(skipped);
        *compiled += done;
        first.note_worth(done != 0 || resume.is_some());
        // It was compiled, so it is there.
        let block = cache.block(BlockId(block))?;
        let from = instruction as usize;
        core.regs[BLOCK] = core.rip;
        core.rip = core.rip.wrapping_add(u64::from(block.end.start));
        let until = resume.map_or(block.insns.len(), |resume| resume.instruction as usize);
        let done = chain::some(core, bus, block.insns.get(from..until).unwrap_or_default());
        if done.is_err() || core.stop {
            return Some(leave(core, bus, block, done, left));
        }
        if let Some(resume) = resume {
            // What the totals have of a block already must not be counted with it.
            if core.synced.index == 0 && core.remap.is_none() {
                core.rip = core.regs[BLOCK];
                entry = Entry::Inside(resume);
                continue;
            }
            let done = chain::some(core, bus, block.insns.get(until..).unwrap_or_default());
            if done.is_err() || core.stop {
                return Some(leave(core, bus, block, done, left));
            }
        }
        retire(core, bus, block, left);
        return None;
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
    entry: Entry,
    left: &mut u64,
) -> Exit {
    let totals = &mut core.totals.current;
    core.trail.count(totals);
    let before = totals.instructions;
    let next = usize::from(core.trail.next);
    let room = usize::from(HALF - core.trail.next % HALF);
    // The first block fits.
    let most = usize::try_from(*left / MAX_INSNS as u64).unwrap_or(usize::MAX).max(1);
    let mut frame = Frame {
        registers: &mut core.regs,
        tlb: core.mmu.tlb.view(core.user),
        notes: &mut core.trail.notes,
        bases: &core.bases,
        next,
        limit: next + room.min(most),
        room: next + room,
        left: *left,
        flags: core.flags.bits(),
        rip: core.rip,
        epoch: cache.epoch() << 2 | core.user as u64,
        branches: [0; 8],
        operations: [0; OPERATIONS],
        vectors: from_mut(&mut core.xmm).cast(),
        mxcsr: core.mxcsr,
        masks: &mut core.opmask,
        sse: core.sse,
        avx: core.vector & AVX != 0,
        avx512: core.vector & AVX512 != 0,
    };
    let exit = compiler.run(entry, &mut frame);
    let Frame { next: now, flags, rip, branches, operations, mxcsr, .. } = frame;
    core.mxcsr = mxcsr;
    core.flags = Flags::from_bits(flags & ARITHMETIC);
    core.rip = rip;
    core.trail.next = Trail::note_at(now);
    let totals = &mut core.totals.current;
    core.trail.count(totals);
    totals.add_branches(&branches);
    if operations != [0; OPERATIONS] {
        totals.add_operations(&operations);
    }
    *left -= totals.instructions - before;
    if now != next && core.trail.next.is_multiple_of(HALF) {
        core.trail_half_full(bus);
    }
    exit
}

/// Interprets a block, which is at RIP. Nothing: it has retired, and the run goes on.
#[inline(always)]
fn finish<B: Bus>(core: &mut Core, bus: &mut B, block: &Block<B>, left: &mut u64) -> Option<Left> {
    core.rip = core.rip.wrapping_add(u64::from(block.end.start));
    let done = (block.chain)(core, bus, block.insns.iter());
    if done.is_err() || core.stop {
        return Some(leave(core, bus, block, done, left));
    }
    retire(core, bus, block, left);
    None
}

/// A block has been executed as a whole.
#[inline(always)]
fn retire<B: Bus>(core: &mut Core, bus: &mut B, block: &Block<B>, left: &mut u64) {
    *left -= u64::from(block.end.index);
    if core.retire_block(block.end) {
        core.trail_half_full(bus);
    }
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
    let source = Source {
        rip: core.rip,
        bytes: &bytes[..len],
        block: id.0,
        end: block.end.bits(),
        features: core.features,
    };
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
