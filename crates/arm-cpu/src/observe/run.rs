//! The run loop with an observer: as that of the fast path, but it may have to stop after each instruction.

use crate::bus::Bus;
use crate::cache::Block;
use crate::context::{BLOCK, Core};
use crate::cpu::{Cpu, Left, Pace, stop_after};
use crate::describe;
use crate::exec::chain;
use core::ops::Range;
use retire::{BlockId, Branch, BranchKind, CoreEvent, Observer};
use soft_base::{Flushed, Low};

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
    pub(crate) fn observe_block(&mut self, bus: &mut B, block: &Block<B>, page: u8) -> Option<(BlockId, u8)> {
        if !self.core.watch.on {
            return None;
        }
        let observer = bus.observer()?;
        self.cache.released().for_each(|block| observer.release(block));
        let words = block.insns.iter().map(|insn| insn.operands.word);
        Some((observer.define(&describe::block(words)), page))
    }

    /// As [`run_known_blocks`](Self::run_known_blocks), and reports to the observer.
    pub(crate) fn run_observed_blocks(&mut self, bus: &mut B, left: &mut u64, pace: Pace) -> Option<Left> {
        let core = &mut self.core;
        loop {
            if *left == 0 {
                return Some(Left::Through);
            }
            let block = self.cache.jump(core.pc, core.code_tag)?;
            core.set_reg(BLOCK, core.pc);
            let limit = if pace == Pace::Instruction { 1 } else { *left };
            let quiet = bus.observer().map_or(0, Observer::quiet_horizon);
            let outcome = if block.end.index() <= limit.min(quiet) {
                run_part(core, bus, block, 0..block.insns.len(), left)
            } else {
                run_each(core, bus, block, limit, left)
            };
            core.sync();
            core.synced = core.position;
            if outcome.is_some() {
                return outcome;
            }
            core.position = crate::block::Position::default();
            core.synced = core.position;
            if core.mmu.tlb.flushed.is_some() {
                report_flushes(core, bus);
            }
            if pace != Pace::Free {
                return Some(Left::Through);
            }
        }
    }
}

/// Executes instructions of a block one by one, at most so many, and reports each.
fn run_each<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    block: &Block<B>,
    limit: u64,
    left: &mut u64,
) -> Option<Left> {
    let count = limit.min(block.insns.len() as u64).low_usize();
    (0..count).find_map(|index| run_part(core, bus, block, index..index + 1, left))
}

/// Executes some instructions of a block, and reports those that retire. `None` if execution goes on.
fn run_part<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    block: &Block<B>,
    range: Range<usize>,
    left: &mut u64,
) -> Option<Left> {
    let end = block.insns.get(range.end).map_or(block.end, |next| next.position);
    core.pc = core.reg(BLOCK).wrapping_add(end.bytes());
    let el = core.el;
    let taken = core.totals.at(el).taken(BranchKind::Conditional);
    let done = chain::some(core, bus, block.insns.get(range.clone()).unwrap_or_default());
    let retired = match done {
        Ok(()) if core.stop => core.position.index().low_usize() + 1,
        Ok(()) => range.end,
        Err(_) => core.position.index().low_usize(),
    };
    if done.is_err() {
        core.watch.forget(retired.low_u8());
    }
    let branch = block.branch.filter(|_| retired == block.insns.len()).map(|kind| {
        let taken = kind != BranchKind::Conditional || core.totals.at(el).taken(kind) != taken;
        Branch { kind, taken, target: core.pc }
    });
    let ends = report(core, bus, block, range.start..retired, el == 0, branch);
    if done.is_err() {
        core.sync();
        *left -= core.position.index() - range.start as u64;
        return Some(Left::Faulted);
    }
    if ends {
        core.attention = true;
    }
    if core.stop || ends {
        *left += range.start as u64;
        let stopped = stop_after(core, block, retired, left);
        report_flushes(core, bus);
        return Some(stopped);
    }
    core.position = end;
    core.sync();
    *left -= range.len() as u64;
    None
}

/// Tells the observer of instructions that have retired. True if it ends the run.
fn report<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    block: &Block<B>,
    range: Range<usize>,
    user: bool,
    branch: Option<Branch>,
) -> bool {
    let (Some((id, fetch_page)), Some(observer)) = (block.observed, bus.observer()) else { return false };
    if range.is_empty() {
        return false;
    }
    let whole = range.len() == block.insns.len();
    let ends = observer.retire(&retire::Block {
        id,
        first: range.start.low_u8(),
        count: range.len().low_u8(),
        whole,
        user,
        fetch_page,
        rip: core.reg(BLOCK),
        fetch_pa: block.address,
        memory: &core.watch.accesses,
        branch,
        last: (4 * (range.end - 1)).low_u16(),
        end: (4 * range.end).low_u16(),
        repetitions: 1,
    });
    core.watch.accesses.clear();
    ends
}

/// Reports what the last instructions have done to translations.
#[cold]
fn report_flushes<B: Bus>(core: &mut Core, bus: &mut B) {
    let Some(observer) = bus.observer() else { return };
    match core.mmu.tlb.flushed.take() {
        Some(Flushed::All) => observer.event(CoreEvent::TlbFlush),
        Some(Flushed::Page(linear)) => observer.event(CoreEvent::InvalidatePage(linear)),
        None => {}
    }
}
