//! What has retired: counts, and the taken branches.

pub(crate) mod totals;
pub(crate) mod trail;

use self::trail::{HALF, NEAR, NOTES, Notes, Trail, before, taken};
use crate::block::{Ending, Position};
use crate::bus::{BranchRecorder, Bus, TakenBranch};
use crate::context::{BLOCK, Core};
use crate::low::Low;
use retire::BranchKind;

impl Core {
    /// Brings the totals up to, and excluding, the current instruction.
    pub(crate) fn sync_totals(&mut self) {
        let (now, then) = (self.position, self.synced);
        let totals = &mut self.totals.current;
        self.trail.count(totals);
        totals.instructions += u64::from(now.index - then.index);
        totals.loads += u64::from(now.loads - then.loads);
        totals.stores += u64::from(now.stores - then.stores);
        totals.sse += u64::from(now.sse - then.sse);
        totals.x87 += u64::from((now.fpu & 0xF) - (then.fpu & 0xF));
        totals.mmx += u64::from((now.fpu >> 4) - (then.fpu >> 4));
        self.synced = now;
    }

    /// Before a call of the bus with [`access`](Self::access): brings everything that it may look at up to, and
    /// excluding, the current instruction.
    pub(crate) fn sync<B: Bus>(&mut self, bus: &mut B) {
        self.sync_totals();
        self.record_branches(bus);
    }

    /// Instructions retired before the current one.
    #[inline(always)]
    pub(crate) fn retired(&self) -> u64 {
        (self.totals.instructions() + u64::from(self.position.index))
            .wrapping_sub(u64::from(self.synced.index))
    }

    /// A whole block has retired. True if [`trail_half_full`](Self::trail_half_full) has to follow.
    #[inline(always)]
    pub(crate) fn retire_block(&mut self, end: Position) -> bool {
        if self.synced.index == 0 {
            // The totals were not needed in between.
            self.trail.note(self.regs[BLOCK], end)
        } else {
            self.retire_rest(end);
            self.trail.note_counted(self.regs[BLOCK], end)
        }
    }

    /// Counts what has retired of a block up to its end, or up to there.
    #[inline(never)]
    pub(crate) fn retire_rest(&mut self, end: Position) {
        self.position = end;
        self.sync_totals();
        self.synced = Position::default();
    }

    /// Counts an unconditional near branch. The run loop [records it](crate::account::trail).
    #[inline(always)]
    pub(crate) fn retire_branch(&mut self, kind: BranchKind) {
        self.totals.current.count_branch(kind, true);
    }

    /// Counts a conditional branch.
    #[inline(always)]
    pub(crate) fn retire_conditional(&mut self, taken: bool) {
        self.totals.current.count_branch(BranchKind::Conditional, taken);
    }

    /// A far branch that may have changed the privilege level: counts where it started.
    pub(crate) fn retire_far<B: Bus>(&mut self, bus: &mut B, from_cpl: u8) {
        // Interruptibility may have changed.
        self.stop = true;
        self.totals.current.count_branch(BranchKind::Far, true);
        self.record_far(bus, false, self.instruction_rip(), from_cpl);
    }
}

impl Core {
    /// From now on this is what the bus wants, until the privilege level changes.
    pub(crate) fn begin_trail<B: Bus>(&mut self, bus: &mut B) {
        (self.trail.wanted, self.trail.kept) = bus.branches().map_or((0, 0), |recorder| {
            let wanted = recorder.wanted(self.cpl) & NEAR;
            (wanted, if wanted == 0 { 0 } else { recorder.depth() })
        });
        self.trail.cpl = self.cpl;
        self.restart_trail();
    }

    fn restart_trail(&mut self) {
        (self.trail.next, self.trail.oldest, self.trail.uncounted) = (0, 0, 0);
        self.trail.recorded = self.wanted_so_far();
        self.trail.half = self.trail.recorded;
    }

    /// Branches of the kinds that are recorded, in the totals.
    fn wanted_so_far(&self) -> u64 {
        let wanted = self.trail.wanted;
        if wanted == 0 {
            return 0;
        }
        let kinds = BranchKind::ALL.into_iter();
        kinds.map(|kind| if wanted & kind.bit() == 0 { 0 } else { self.totals.current.taken(kind) }).sum()
    }

    /// Makes room for the next half of the ring, after one has been filled.
    #[cold]
    #[inline(never)]
    pub(crate) fn trail_half_full<B: Bus>(&mut self, bus: &mut B) {
        self.trail.count(&mut self.totals.current);
        let now = self.wanted_so_far();
        let enough = now - self.trail.half >= self.trail.kept;
        self.trail.half = now;
        if enough {
            self.trail.oldest = before(self.trail.next, HALF);
        } else if self.trail.oldest == self.trail.next {
            self.between_blocks();
            self.record_newest(bus, NOTES);
        }
    }

    /// Brings the totals up to date with all blocks, and records the branches so far. Those do not include the
    /// current instruction.
    #[inline(always)]
    pub(crate) fn record_branches<B: Bus>(&mut self, bus: &mut B) {
        let count = before(self.trail.next, self.trail.oldest);
        if count != 0 {
            self.record_newest(bus, usize::from(count));
        }
    }

    /// Records the branches in the newest `count` notes, which are all.
    #[inline(never)]
    fn record_newest<B: Bus>(&mut self, bus: &mut B, count: usize) {
        self.trail.count(&mut self.totals.current);
        if self.trail.wanted != 0 {
            self.record_wanted(bus, count);
        }
        self.restart_trail();
    }

    fn record_wanted<B: Bus>(&mut self, bus: &mut B, count: usize) {
        let Some(recorder) = bus.branches() else { return };
        let Trail {
            notes: Notes { ref starts, ref ends }, next: behind, wanted, kept, cpl, recorded, ..
        } = self.trail;
        let note = |age: usize| {
            let place = usize::from(before(behind, age.low_u16()));
            (starts[place], ends[place])
        };
        let current = self.regs[BLOCK];
        let taken = |age: usize| {
            let (start, end) = note(age);
            let next = if age == 1 { current } else { note(age - 1).0 };
            taken(start, end, next).filter(|kind| wanted & kind.bit() != 0).map(|kind| (kind, next))
        };
        // Backwards, until there are enough.
        let mut retired = self.totals.instructions() - u64::from(self.synced.index);
        let (mut age, mut found) = (0, 0);
        while age < count && found < kept {
            age += 1;
            found += u64::from(taken(age).is_some());
            retired -= u64::from(note(age).1.index);
        }
        let skipped = self.wanted_so_far() - recorded - found;
        if skipped != 0 {
            recorder.skip(skipped);
        }
        for age in (1..=age).rev() {
            let (start, end) = note(age);
            retired += u64::from(end.index);
            if let Some((kind, to)) = taken(age) {
                let last = end.start - u16::from(Ending::of(end).last());
                recorder.record(TakenBranch {
                    from: start.wrapping_add(u64::from(last)),
                    to,
                    kind,
                    event: false,
                    from_cpl: cpl,
                    to_cpl: cpl,
                    retired: retired - 1,
                });
            }
        }
    }

    /// Records a jump to the next instruction that is taken. It has not been counted yet.
    #[cold]
    pub(crate) fn record_jump_to_next<B: Bus>(&mut self, bus: &mut B) {
        if B::OBSERVED {
            self.watch.jump_to_next();
        }
        let kind = BranchKind::Conditional;
        if self.trail.wants(kind) {
            self.record_now(bus, kind, false, self.instruction_rip(), self.cpl);
            // Once it is counted.
            self.trail.recorded += 1;
        }
    }

    /// Records a branch of, or instead of, the current instruction.
    pub(crate) fn record_now<B: Bus>(
        &mut self,
        bus: &mut B,
        kind: BranchKind,
        event: bool,
        from: u64,
        from_cpl: u8,
    ) {
        self.record_branches(bus);
        if let Some(recorder) = bus.branches() {
            let (to, to_cpl, retired) = (self.rip, self.cpl, self.retired());
            recorder.record(TakenBranch { from, to, kind, event, from_cpl, to_cpl, retired });
        }
    }

    /// Records a far branch, or an exception or interrupt (`event`), that has been taken, if it is wanted.
    pub(crate) fn record_far<B: Bus>(&mut self, bus: &mut B, event: bool, from: u64, from_cpl: u8) {
        let kind = BranchKind::Far;
        if bus.branches().is_some_and(|recorder| recorder.wanted(self.cpl) & kind.bit() != 0) {
            self.record_now(bus, kind, event, from, from_cpl);
        }
    }
}
