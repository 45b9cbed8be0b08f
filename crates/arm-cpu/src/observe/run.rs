//! The run loop with an observer: as that of the fast path, but it may have to stop after each instruction.

use super::watch::Current;
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
    let len = block.insns.len();
    let end = block.insns.get(range.end).map_or(block.end, |next| next.position);
    core.pc = core.reg(BLOCK).wrapping_add(end.bytes());
    let el = core.el;
    let taken = core.totals.at(el).taken(BranchKind::Conditional);
    core.watch.current = block.observed.map(|(id, page)| Current {
        id,
        page,
        address: block.address,
        len,
        user: el == 0,
        next: range.start,
    });
    let done = if range.len() == len {
        (block.chain)(core, bus, block.insns.iter())
    } else {
        chain::some(core, bus, block.insns.get(range.clone()).unwrap_or_default())
    };
    let retired = match done {
        Ok(()) if core.stop => core.position.index().low_usize() + 1,
        Ok(()) => range.end,
        Err(_) => core.position.index().low_usize(),
    };
    if done.is_err() {
        core.watch.forget(retired.low_u8());
    }
    let branch = block.branch.filter(|_| retired == len).map(|kind| {
        let taken = kind != BranchKind::Conditional || core.totals.at(el).taken(kind) != taken;
        Branch { kind, taken, target: core.pc }
    });
    let ends = core.report_to(bus, retired, branch);
    core.watch.accesses.clear();
    core.watch.current = None;
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

impl Core {
    /// Brings the totals and the observer up to, and excluding, the current instruction: the bus may look at both.
    pub(crate) fn before_bus<B: Bus>(&mut self, bus: &mut B) {
        self.sync();
        self.report_past(bus);
    }

    /// Tells the observer of the instructions before the current one.
    pub(crate) fn report_past<B: Bus>(&mut self, bus: &mut B) {
        if B::OBSERVED && self.watch.current.is_some() {
            let ends = self.report_to(bus, self.position.index().low_usize(), None);
            debug_assert!(!ends, "the observer's horizon was further away");
        }
    }

    /// Tells the observer of the instructions of the current block before one, from the first that it does not know.
    /// True if it ends the run.
    fn report_to<B: Bus>(&mut self, bus: &mut B, end: usize, branch: Option<Branch>) -> bool {
        let rip = self.reg(BLOCK);
        let watch = &mut self.watch;
        let (Some(current), Some(observer)) = (&mut watch.current, bus.observer()) else { return false };
        let start = std::mem::replace(&mut current.next, end);
        if start >= end {
            return false;
        }
        let known = watch.accesses.partition_point(|access| usize::from(access.owner) < end);
        let ends = observer.retire(&retire::Block {
            id: current.id,
            first: start.low_u8(),
            count: (end - start).low_u8(),
            whole: end - start == current.len,
            user: current.user,
            fetch_page: current.page,
            rip,
            fetch_pa: current.address,
            memory: &watch.accesses[..known],
            branch,
            last: (4 * (end - 1)).low_u16(),
            end: (4 * end).low_u16(),
            repetitions: 1,
        });
        watch.accesses.drain(..known);
        ends
    }
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
