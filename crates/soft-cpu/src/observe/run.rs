//! The run loop with an observer: as that of the fast path, but it may have to stop after each instruction.

use super::block::{Ending, Observed, Special};
use super::watch::Logged;
use crate::block::{self, BlockId, Position};
use crate::bus::Bus;
use crate::cache::{Block, Cache, Path};
use crate::context::{BLOCK, CS, Core, RCX};
use crate::cpu::{Cpu, Left, Pace, fetch, stop_after};
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::{self, address_mask};
use crate::mmu::{Flushed, PAGE};
use core::ops::Range;
use retire::{Branch, BranchKind, CoreEvent, MemoryAccess, Observer};

/// Longest instruction.
const LONGEST: u64 = 15;

impl<B: Bus> Cpu<B> {
    /// Starts or stops observation, as the bus wants it.
    pub(crate) fn watch(&mut self, bus: &mut B) {
        let on = bus.observer().is_some();
        if on != self.core.watch.on {
            self.flush();
            self.core.mmu.tlb.flushed = None;
            self.core.watch.on = on;
        }
    }

    /// Defines a block that has just been decoded, from a page of so many bytes as log2, for the observer, if there is
    /// one.
    pub(crate) fn observe_block(&mut self, bus: &mut B, block: &Block<B>, page: u8) -> Option<Observed> {
        if !self.core.watch.on {
            return None;
        }
        let observer = bus.observer()?;
        self.cache.released().for_each(|block| observer.release(block));
        let mut bytes = vec![0; usize::from(block.end.start)];
        let in_page = bytes.len().min((PAGE - block.gpa % PAGE) as usize);
        let (first, rest) = bytes.split_at_mut(in_page);
        fetch(bus, block.gpa, first);
        if let Some(second) = block.second() {
            fetch(bus, second, rest);
        }
        // What is no instruction needs more bytes than it has.
        bytes.resize(bytes.len() + LONGEST as usize, 0);
        let count = block.insns.len();
        Some(Observed::new(bus.observer()?, &bytes, block.mode, count, page))
    }

    /// As [`run_known_blocks`](Self::run_known_blocks), and reports to the observer.
    pub(crate) fn run_observed_blocks(&mut self, bus: &mut B, left: &mut u64, pace: Pace) -> Option<Left> {
        self.core.watch.batched = true;
        let outcome = self.run_batches(bus, left, pace);
        self.core.watch.batched = false;
        outcome
    }

    #[inline(never)]
    fn run_batches(&mut self, bus: &mut B, left: &mut u64, pace: Pace) -> Option<Left> {
        let core = &mut self.core;
        let mut path = Path::START;
        // The bus gets a branch before its instruction is reported.
        let batches = pace == Pace::Free && !core.trail.wants_any();
        // Instructions that may be executed before the next report, and those that have been since the last one.
        let mut allowed = 0;
        let mut unreported = 0;
        loop {
            let fits = |block: &Block<B>, allowed| {
                u64::from(block.end.index) <= allowed
                    && block.observed.as_ref().is_some_and(|seen| seen.batched)
            };
            let block = match self.cache.follow(&mut path, core.block_key()) {
                Some(block) if fits(block, allowed) => block,
                found => {
                    let known = found.is_some();
                    *left -= std::mem::take(&mut unreported);
                    report_all(&self.cache, core, bus);
                    if *left == 0 {
                        return Some(Left::Through);
                    }
                    let block = if known { self.cache.block(path.here()) } else { None }?;
                    let observed = block.observed.as_ref()?;
                    allowed = if batches {
                        bus.observer().map_or(0, Observer::quiet_horizon).min(*left)
                    } else {
                        0
                    };
                    if !fits(block, allowed) {
                        core.regs[BLOCK] = core.rip;
                        core.watch.batched = false;
                        if let Some(left) = run_one_by_one(core, bus, block, observed, left, pace) {
                            return Some(left);
                        }
                        core.watch.batched = true;
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
                *left -= std::mem::take(&mut unreported);
                if let Some(left) = leave(&self.cache, core, bus, done, left) {
                    return Some(left);
                }
                allowed = 0;
                continue;
            }
            allowed -= u64::from(block.end.index);
            unreported += u64::from(block.end.index);
            let full = core.watch.end_block();
            if core.retire_block(block.end) {
                core.trail_half_full(bus);
            }
            if full || !core.watch.assists.is_empty() {
                *left -= std::mem::take(&mut unreported);
                report_all(&self.cache, core, bus);
            }
        }
    }
}

/// Reports all blocks in the log.
fn report_all<B: Bus>(cache: &Cache<B>, core: &mut Core, bus: &mut B) {
    let count = core.watch.block_count();
    if count == 0 {
        return;
    }
    // Behind the last one.
    core.watch.begin_block(core.rip, BlockId::NONE);
    if core.watch.assists.is_empty() {
        report(cache, core, bus, 0..count);
    } else {
        // The last one needed them.
        report(cache, core, bus, 0..count - 1);
        report_some_assists(core, bus);
        report(cache, core, bus, count - 1..count);
    }
    core.watch.clear_log();
}

/// Reports some blocks in the log.
#[inline(never)]
fn report<B: Bus>(cache: &Cache<B>, core: &mut Core, bus: &mut B, range: Range<u8>) {
    let Some(observer) = bus.observer() else { return };
    let watch = &core.watch;
    let context = (core.bases[CS], core.totals.bills_user());
    for pair in watch.blocks(range).windows(2) {
        let &[logged, next] = pair else { continue };
        let Some(block) = cache.block(logged.block) else { continue };
        let Some(observed) = &block.observed else { continue };
        let Some(memory) = watch.accesses(logged, next.first) else { continue };
        let ends = observer.retire(&retired(block, observed, logged, context, memory, next.start));
        debug_assert!(!ends, "the observer's horizon was further away");
    }
}

/// A block behind which execution went on at an address; `base` is that of CS, and it ran at CPL 3 if `user`.
#[inline(always)]
fn retired<'a, B>(
    block: &Block<B>,
    observed: &Observed,
    logged: Logged,
    (base, user): (u64, bool),
    memory: &'a [MemoryAccess],
    target: u64,
) -> retire::Block<'a> {
    retire::Block {
        id: observed.id,
        first: 0,
        count: block.end.index,
        whole: true,
        user,
        fetch_page: observed.page,
        rip: logged.start.wrapping_add(base),
        fetch_pa: block.gpa,
        memory,
        branch: branch_to(block, observed, logged, target),
        last: observed.last,
        end: block.end.start,
        repetitions: 1,
    }
}

/// The branch at the end of a block behind which execution went on there, if it is one that may be part of a batch.
#[inline(always)]
fn branch_to<B>(block: &Block<B>, observed: &Observed, logged: Logged, target: u64) -> Option<Branch> {
    let behind = logged.start.wrapping_add(u64::from(block.end.start));
    observed.branch.map(|kind| Branch {
        kind,
        taken: kind != BranchKind::Conditional || target != behind || logged.jumped_to_next,
        target,
    })
}

/// After an instruction of a batch that did not complete, or that stops the run.
#[cold]
#[inline(never)]
fn leave<B: Bus>(
    cache: &Cache<B>,
    core: &mut Core,
    bus: &mut B,
    outcome: Done,
    left: &mut u64,
) -> Option<Left> {
    core.watch.batched = false;
    let fault = outcome.is_err();
    if fault {
        core.watch.forget(core.position.index);
    }
    report(cache, core, bus, 0..core.watch.block_count());
    report_assists(core, bus);
    let logged = core.watch.current();
    let block = cache.block(logged.block)?;
    let observed = block.observed.as_ref()?;
    let done = usize::from(core.position.index) + usize::from(!fault);
    if done > 0 {
        let memory = core.watch.accesses(logged, core.watch.count())?;
        let context = (core.bases[CS], core.totals.bills_user());
        let mut part = retired(block, observed, logged, context, memory, core.rip);
        if done < block.insns.len() {
            part = retire::Block { count: done as u8, whole: false, branch: None, ..part };
        }
        if let Some(observer) = bus.observer() {
            observer.retire(&part);
        }
    }
    core.watch.clear_log();
    if fault && !std::mem::take(&mut core.watch.single) {
        core.sync_totals();
        *left -= u64::from(core.position.index);
        return Some(Left::Faulted);
    }
    if core.stop {
        return Some(stop_behind(core, bus, block, done, left));
    }
    let outcome = run_each(core, bus, block, observed, done..block.insns.len(), left);
    core.watch.batched = true;
    outcome
}

/// Executes a block, or as much of it as there are instructions left, and reports each instruction.
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

/// Executes some instructions of a block up to the last one that retires in it, and reports each.
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
    let start = Start { id: observed.id, linear, physical: block.gpa, page: observed.page };
    let last = block.insns.len() - 1;
    let end = block.insns.get(numbers.end).map_or(block.end, |next| next.position);
    let insns = block.insns.iter().zip(&observed.specials);
    for (index, (insn, &special)) in insns.enumerate().take(numbers.end).skip(numbers.start) {
        core.position = insn.position;
        let ending = if index == last { observed.ending } else { Ending::Next };
        let near = if index == last { block::Ending::of(block.end).branch() } else { None };
        if execute(core, bus, insn, special, (ending, near), start).is_err() {
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
        report_changes(core, bus);
    }
    None
}

/// As [`stop_after`], and reports to the observer.
fn stop_behind<B: Bus>(core: &mut Core, bus: &mut B, block: &Block<B>, count: usize, left: &mut u64) -> Left {
    let stopped = stop_after(core, block, count, left);
    report_changes(core, bus);
    stopped
}

/// A block, and where it starts.
#[derive(Debug, Clone, Copy)]
struct Start {
    id: retire::BlockId,
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

/// Executes an instruction and reports that it has retired.
#[inline(always)]
fn execute<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    insn: &Insn<B>,
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
    record_branch(core, bus, near, branch);
    let repetitions = match special {
        Special::Repeats => core.watch.repetitions + iterations(core, insn, count),
        Special::No | Special::Prefetch => 1 + u64::from(core.watch.long),
    };
    report_assists(core, bus);
    let Position { start: last, len, index, .. } = core.position;
    // A repeated instruction that was interrupted may have begun at another position, in another block.
    core.watch.accesses.iter_mut().for_each(|access| access.owner = index);
    let retired = retire::Block {
        id: start.id,
        first: index,
        count: 1,
        whole: false,
        user: core.totals.bills_user(),
        fetch_page: start.page,
        rip: start.linear,
        fetch_pa: start.physical,
        memory: &core.watch.accesses,
        branch,
        last,
        end: last + u16::from(len),
        repetitions,
    };
    if let Some(observer) = bus.observer()
        && observer.retire(&retired)
    {
        core.attention = true;
        core.stop = true;
    }
    core.watch.clear();
    Ok(())
}

/// Gives the bus the near branch of the current instruction, if it is taken.
#[inline(always)]
fn record_branch<B: Bus>(core: &mut Core, bus: &mut B, near: Option<BranchKind>, branch: Option<Branch>) {
    if let Some(kind) = near
        && core.trail.wants(kind)
        && branch.is_some_and(|branch| branch.taken)
    {
        core.record_now(bus, kind, false, core.instruction_rip(), core.cpl);
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

/// Reports what needed help.
#[inline(always)]
fn report_assists<B: Bus>(core: &mut Core, bus: &mut B) {
    if !core.watch.assists.is_empty() {
        report_some_assists(core, bus);
    }
}

#[cold]
#[inline(never)]
fn report_some_assists<B: Bus>(core: &mut Core, bus: &mut B) {
    let Some(observer) = bus.observer() else { return };
    for (kind, user) in core.watch.assists.drain(..) {
        observer.event(CoreEvent::Assist { kind, user });
    }
}

/// Reports what the last instruction has done to translations.
#[cold]
fn report_changes<B: Bus>(core: &mut Core, bus: &mut B) {
    let Some(observer) = bus.observer() else { return };
    match core.mmu.tlb.flushed.take() {
        Some(Flushed::All) => observer.event(CoreEvent::TlbFlush),
        Some(Flushed::Page(linear)) => observer.event(CoreEvent::InvalidatePage(linear)),
        None => {}
    }
}
