//! The run loop with an observer: as that of the fast path, but it may have to stop after each instruction.

use super::Observer;
use super::block::{Ending, Observed, Special};
use super::watch::Logged;
use crate::block::{self, BlockId};
use crate::bus::Bus;
use crate::cache::{Block, Cache, Path};
use crate::context::{BLOCK, CS, Core, RCX};
use crate::cpu::{Cpu, Left, Pace, fetch, stop_after};
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::{self, address_mask};
use crate::mmu::{Flushed, PAGE};
use core::ops::Range;
use core_model::{BlockStep, Prepared, Step};
use retire::{Branch, BranchKind, CoreEvent, MemoryAccess};

/// Longest instruction.
const LONGEST: u64 = 15;

impl<B: Bus> Cpu<B> {
    /// Starts or stops watching, as the bus wants it.
    pub(crate) fn watch(&mut self, bus: &mut B) {
        let on = bus.observer().is_some();
        if on != self.core.watch.on {
            self.flush();
            self.core.mmu.tlb.flushed = None;
            self.core.watch.on = on;
        }
    }

    /// What the observer makes of a block that has just been decoded, from a page of so many bytes as log2; nothing
    /// without one.
    pub(crate) fn observe_block(&self, bus: &mut B, block: &Block<B>, page: u8) -> Option<Observed> {
        if !self.core.watch.on {
            return None;
        }
        let mut bytes = vec![0; usize::from(block.end.start)];
        let in_page = bytes.len().min((PAGE - block.gpa % PAGE) as usize);
        let (first, rest) = bytes.split_at_mut(in_page);
        fetch(bus, block.gpa, first);
        if let Some(second) = block.second {
            fetch(bus, second, rest);
        }
        // What is no instruction needs more bytes than it has.
        bytes.resize(bytes.len() + LONGEST as usize, 0);
        let count = block.insns.len();
        Some(Observed::new(bus.observer()?, &bytes, block.mode, count, page))
    }

    /// As [`run_known_blocks`](Self::run_known_blocks), telling the observer.
    pub(crate) fn run_observed_blocks(&mut self, bus: &mut B, left: &mut u64, pace: Pace) -> Option<Left> {
        self.core.watch.together = true;
        let outcome = self.run_together(bus, left, pace);
        self.core.watch.together = false;
        outcome
    }

    #[inline(never)]
    fn run_together(&mut self, bus: &mut B, left: &mut u64, pace: Pace) -> Option<Left> {
        let core = &mut self.core;
        let mut path = Path::START;
        // Branches are told of before their instructions.
        let together = pace == Pace::Free && !core.trail.wants_any();
        // Instructions that may be executed before the observer is asked again, and those of which he has not been told.
        let mut allowed = 0;
        let mut untold = 0;
        loop {
            let fits = |block: &Block<B>, allowed| {
                u64::from(block.end.index) <= allowed
                    && block.observed.as_ref().is_some_and(|seen| seen.together)
            };
            let block = match self.cache.follow(&mut path, core.block_key()) {
                Some(block) if fits(block, allowed) => block,
                found => {
                    let known = found.is_some();
                    *left -= std::mem::take(&mut untold);
                    tell_all(&self.cache, core, bus);
                    if *left == 0 {
                        return Some(Left::Through);
                    }
                    let block = if known { self.cache.block(path.here()) } else { None }?;
                    let observed = block.observed.as_ref()?;
                    allowed =
                        if together { bus.observer().map_or(0, Observer::patience).min(*left) } else { 0 };
                    if !fits(block, allowed) {
                        core.regs[BLOCK] = core.rip;
                        core.watch.together = false;
                        if let Some(left) = run_one_by_one(core, bus, block, observed, left, pace) {
                            return Some(left);
                        }
                        core.watch.together = true;
                        allowed = 0;
                        continue;
                    }
                    block
                }
            };
            core.regs[BLOCK] = core.rip;
            core.watch.begin_block(core.rip, path.here());
            core.rip = core.rip.wrapping_add(u64::from(block.end.start));
            let done = (block.chain)(core, bus, block.insns.iter());
            if done.is_err() || core.stop {
                *left -= std::mem::take(&mut untold);
                if let Some(left) = leave(&self.cache, core, bus, done, left) {
                    return Some(left);
                }
                allowed = 0;
                continue;
            }
            allowed -= u64::from(block.end.index);
            untold += u64::from(block.end.index);
            let full = core.watch.end_block();
            if core.retire_block(block.end) {
                core.trail_half_full(bus);
            }
            if full || !core.watch.assists.is_empty() {
                *left -= std::mem::take(&mut untold);
                tell_all(&self.cache, core, bus);
            }
        }
    }
}

/// Tells the observer of all blocks in the log.
fn tell_all<B: Bus>(cache: &Cache<B>, core: &mut Core, bus: &mut B) {
    let count = core.watch.block_count();
    if count == 0 {
        return;
    }
    // Behind the last one.
    core.watch.begin_block(core.rip, BlockId::NONE);
    if core.watch.assists.is_empty() {
        tell(cache, core, bus, 0..count);
    } else {
        // The last one needed them.
        tell(cache, core, bus, 0..count - 1);
        tell_some_assists(core, bus);
        tell(cache, core, bus, count - 1..count);
    }
    core.watch.clear_log();
}

/// Tells the observer of some blocks in the log.
#[inline(never)]
fn tell<B: Bus>(cache: &Cache<B>, core: &mut Core, bus: &mut B, range: Range<u8>) {
    let watch = &core.watch;
    let context = (core.bases[CS], core.totals.bills_user());
    let steps = watch.blocks(range).windows(2).filter_map(move |pair| {
        let &[logged, next] = pair else { return None };
        let block = cache.block(logged.block)?;
        let observed = block.observed.as_ref()?;
        let memory = watch.accesses(logged, next.first)?;
        Some(step_of(block, observed, logged, context, memory, next.start))
    });
    if let Some(observer) = bus.observer() {
        observer.retire_blocks(steps);
    }
}

/// A block behind which execution went on at an address; `base` is that of CS, and it ran at CPL 3 if `user`.
#[inline(always)]
fn step_of<'a, B>(
    block: &Block<B>,
    observed: &'a Observed,
    logged: Logged,
    (base, user): (u64, bool),
    memory: &'a [MemoryAccess],
    target: u64,
) -> BlockStep<'a> {
    BlockStep {
        id: observed.id,
        rip: logged.start.wrapping_add(base),
        fetch_pa: block.gpa,
        fetch_page: observed.page,
        user,
        instructions: &observed.ops,
        memory,
        branch: branch_to(block, observed, logged, target),
        last: observed.last,
        length: block.end.start,
    }
}

/// The branch at the end of a block behind which execution went on there, if it is one that may be told of with others.
#[inline(always)]
fn branch_to<B>(block: &Block<B>, observed: &Observed, logged: Logged, target: u64) -> Option<Branch> {
    let behind = logged.start.wrapping_add(u64::from(block.end.start));
    observed.branch.map(|kind| Branch {
        kind,
        taken: kind != BranchKind::Conditional || target != behind || logged.jumped_to_next,
        target,
    })
}

/// After an instruction that did not complete, or that stops the run, among those that are told of together.
#[cold]
#[inline(never)]
fn leave<B: Bus>(
    cache: &Cache<B>,
    core: &mut Core,
    bus: &mut B,
    outcome: Done,
    left: &mut u64,
) -> Option<Left> {
    core.watch.together = false;
    let fault = outcome.is_err();
    if fault {
        core.watch.forget(core.position.index);
    }
    tell(cache, core, bus, 0..core.watch.block_count());
    tell_assists(core, bus);
    let logged = core.watch.current();
    let block = cache.block(logged.block)?;
    let observed = block.observed.as_ref()?;
    let done = usize::from(core.position.index) + usize::from(!fault);
    if done > 0 {
        let memory = core.watch.accesses(logged, core.watch.count())?;
        let context = (core.bases[CS], core.totals.bills_user());
        let mut step = step_of(block, observed, logged, context, memory, core.rip);
        if done < block.insns.len() {
            let instructions = observed.ops.get(..done).unwrap_or_default();
            step = BlockStep { id: None, instructions, branch: None, ..step };
        }
        if let Some(observer) = bus.observer() {
            observer.retire_blocks(core::iter::once(step));
        }
    }
    core.watch.clear_log();
    if fault && !std::mem::take(&mut core.watch.alone) {
        core.sync_totals();
        *left -= u64::from(core.position.index);
        return Some(Left::Faulted);
    }
    if core.stop {
        return Some(stop_behind(core, bus, block, done, left));
    }
    let outcome = run_each(core, bus, block, observed, done..block.insns.len(), left);
    core.watch.together = true;
    outcome
}

/// Executes a block, or as much of it as there are instructions left, and tells the observer of each instruction.
#[inline(never)]
fn run_one_by_one<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    block: &Block<B>,
    observed: &Observed,
    left: &mut u64,
    pace: Pace,
) -> Option<Left> {
    let limit = if pace == Pace::Instruction { 1 } else { *left };
    let count = limit.min(block.insns.len() as u64) as usize;
    let end = block.insns.get(count).map_or(block.end, |next| next.position);
    core.rip = core.rip.wrapping_add(u64::from(end.start));
    run_each(core, bus, block, observed, 0..count, left)
        .or_else(|| (pace != Pace::Free).then_some(Left::Through))
}

/// Executes some instructions of a block up to the last one that retires in it, and tells the observer of each.
#[inline(never)]
fn run_each<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    block: &Block<B>,
    observed: &Observed,
    numbers: Range<usize>,
    left: &mut u64,
) -> Option<Left> {
    let linear = core.regs[BLOCK].wrapping_add(core.bases[CS]);
    let start = Start { linear, physical: block.gpa, page: observed.page };
    let last = block.insns.len() - 1;
    let end = block.insns.get(numbers.end).map_or(block.end, |next| next.position);
    let told = observed.ops.iter().zip(&observed.specials);
    let insns = block.insns.iter().zip(told).enumerate().take(numbers.end).skip(numbers.start);
    for (index, (insn, (prepared, &special))) in insns {
        core.position = insn.position;
        let ending = if index == last { observed.ending } else { Ending::Next };
        let near = if index == last { block::Ending::of(block.end).branch() } else { None };
        if execute(core, bus, insn, prepared, special, (ending, near), start).is_err() {
            core.sync_totals();
            *left -= u64::from(core.position.index);
            return Some(Left::Faulted);
        }
        if core.stop {
            return Some(stop_behind(core, bus, block, index + 1, left));
        }
    }
    core.retire_rest(end);
    *left -= u64::from(end.index);
    if core.mmu.tlb.flushed.is_some() {
        tell_changes(core, bus);
    }
    None
}

/// As [`stop_after`], telling the observer.
fn stop_behind<B: Bus>(core: &mut Core, bus: &mut B, block: &Block<B>, count: usize, left: &mut u64) -> Left {
    let stopped = stop_after(core, block, count, left);
    tell_changes(core, bus);
    stopped
}

/// Where a block starts.
#[derive(Debug, Clone, Copy)]
struct Start {
    linear: u64,
    physical: u64,
    page: u8,
}

/// How a block's last instruction has ended; `before` is what [`branches`] was.
#[inline(always)]
fn branch(core: &Core, ending: Ending, before: u64) -> Option<Branch> {
    let taken = |kind, taken| Some(Branch { kind, taken, target: core.rip });
    match ending {
        Ending::Next => None,
        Ending::Near(kind) => taken(kind, true),
        Ending::Conditional => taken(BranchKind::Conditional, branches(core, ending) != before),
        Ending::Far if branches(core, ending) == before => None,
        Ending::Far => taken(BranchKind::Far, true),
    }
}

/// Executes an instruction and tells the observer that it has retired.
#[inline(always)]
fn execute<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    insn: &Insn<B>,
    prepared: &Prepared,
    special: Special,
    (ending, near): (Ending, Option<BranchKind>),
    start: Start,
) -> Done {
    let count = core.regs[RCX];
    let before = branches(core, ending);
    if special == Special::Prefetch {
        prefetch(core, insn);
    }
    if let Err(fault) = (insn.run)(core, bus, insn) {
        if special == Special::Repeats && core.raised.is_none() {
            // It goes on where it was.
            core.watch.repetitions += iterations(core, insn, count);
        } else {
            core.watch.clear();
        }
        return Err(fault);
    }
    let branch = branch(core, ending, before);
    tell_branch(core, bus, near, branch);
    let repetitions = match special {
        Special::Repeats => core.watch.repetitions + iterations(core, insn, count),
        Special::No | Special::Prefetch => 1,
    };
    tell_assists(core, bus);
    let offset = u64::from(core.position.start);
    let step = Step {
        rip: start.linear.wrapping_add(offset),
        fetch_pa: start.physical + offset,
        fetch_page: start.page,
        length: core.position.len,
        user: core.totals.bills_user(),
        memory: &core.watch.accesses,
        branch,
        repetitions,
    };
    if let Some(observer) = bus.observer()
        && observer.retire(prepared, &step)
    {
        core.attention = true;
        core.stop = true;
    }
    core.watch.clear();
    Ok(())
}

/// Tells the bus of the near branch of the current instruction, if it is taken.
#[inline(always)]
fn tell_branch<B: Bus>(core: &mut Core, bus: &mut B, near: Option<BranchKind>, branch: Option<Branch>) {
    if let Some(kind) = near
        && core.trail.wants(kind)
        && branch.is_some_and(|branch| branch.taken)
    {
        core.tell_now(bus, kind, false, core.instruction_rip(), core.cpl);
    }
}

/// How many branches have retired of those that this ending may be or not.
#[inline(always)]
fn branches(core: &Core, ending: Ending) -> u64 {
    let totals = &core.totals.current;
    match ending {
        Ending::Conditional => totals.taken(BranchKind::Conditional),
        Ending::Far => totals.taken(BranchKind::Far),
        Ending::Next | Ending::Near(_) => 0,
    }
}

fn iterations<B>(core: &Core, insn: &Insn<B>, count: u64) -> u64 {
    count.wrapping_sub(core.regs[RCX]) & address_mask(insn.seg)
}

#[cold]
fn prefetch<B: Bus>(core: &mut Core, insn: &Insn<B>) {
    let linear = operand::offset(core, insn) & address_mask(insn.seg);
    core.watch_prefetch(linear.wrapping_add(core.bases[usize::from(insn.seg & 7)]));
}

/// Tells the observer what needed help.
#[inline(always)]
fn tell_assists<B: Bus>(core: &mut Core, bus: &mut B) {
    if !core.watch.assists.is_empty() {
        tell_some_assists(core, bus);
    }
}

#[cold]
#[inline(never)]
fn tell_some_assists<B: Bus>(core: &mut Core, bus: &mut B) {
    let Some(observer) = bus.observer() else { return };
    for (kind, user) in core.watch.assists.drain(..) {
        observer.event(CoreEvent::Assist { kind, user });
    }
}

/// Tells the observer what the last instruction has done to translations.
#[cold]
fn tell_changes<B: Bus>(core: &mut Core, bus: &mut B) {
    let Some(observer) = bus.observer() else { return };
    match core.mmu.tlb.flushed.take() {
        Some(Flushed::All) => observer.event(CoreEvent::TlbFlush),
        Some(Flushed::Page(linear)) => observer.event(CoreEvent::InvalidatePage(linear)),
        None => {}
    }
}
