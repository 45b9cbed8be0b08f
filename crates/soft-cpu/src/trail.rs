//! The blocks that have just been executed. What has retired in them is added up, and the near branches between them
//! are worked out, when somebody may look.
//!
//! The run loop notes where each block started and what was at its end, and nothing else, so that recording branches
//! costs no more than not recording them. A block was left by a taken branch if the next one does not follow it. Only the
//! jump to the next instruction cannot be told from the one not taken: the bus is told of it at once, as of far
//! branches, exceptions and interrupts.
//!
//! Of the branches only the newest matter to most ([`BranchRecorder::depth`]). So the notes are a ring, and when half of
//! it is full, the other half is free again if there were enough branches in this one, which the totals tell.

use crate::bus::{Branch, BranchKind, BranchRecorder, Bus};
use crate::context::{BLOCK, Core, Position};
use crate::totals::ModeTotals;

/// Notes in the ring, as an index of eight bits has it.
const NOTES: usize = 1 << u8::BITS;
/// Notes in half of it.
const HALF: u8 = 1 << (u8::BITS - 1);

/// Near branches that may be taken.
const NEAR: u8 = !(BranchKind::ConditionalNotTaken.bit() | BranchKind::Far.bit());

/// How a block ends: the length of its last instruction, and the near branch that it is, if that is worked out later.
/// It is kept in [`Position::len`] of the block's end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending(u8);

impl Ending {
    pub(crate) fn new(last: u8, branch: Option<BranchKind>) -> Self {
        Self(last | branch.map_or(0, |kind| kind as u8 + 1) << 4)
    }

    pub(crate) fn of(end: Position) -> Self {
        Self(end.len)
    }

    pub(crate) fn raw(self) -> u8 {
        self.0
    }

    fn last(self) -> u8 {
        self.0 & 0xF
    }

    pub(crate) fn branch(self) -> Option<BranchKind> {
        BranchKind::ALL.get(usize::from(self.0 >> 4).wrapping_sub(1)).copied()
    }
}

/// The branch that was taken at the end of a block, if the next block started at `next`.
#[inline(always)]
fn taken(start: u64, end: Position, next: u64) -> Option<BranchKind> {
    let behind = start.wrapping_add(u64::from(end.start));
    // RIP may have run over the end of the 32-bit space. No jump is as long as that.
    let goes_on = || behind as u32 == next as u32;
    Ending::of(end).branch().filter(|kind| *kind != BranchKind::ConditionalTaken || !goes_on())
}

/// The blocks since the bus was told of branches.
#[derive(Debug)]
pub(crate) struct Trail {
    /// Where they started.
    starts: [u64; NOTES],
    /// What was at their ends.
    ends: [Position; NOTES],
    /// Where the next note goes.
    next: u8,
    /// The oldest note, unless there is none.
    oldest: u8,
    /// The first note whose instructions the totals do not contain yet; in the half that is being filled.
    uncounted: u8,
    /// Privilege level of all blocks.
    cpl: u8,
    /// The branches that are told of: a bit for each kind.
    wanted: u8,
    /// [`BranchRecorder::depth`].
    kept: u64,
    /// Branches of those kinds in the totals when the bus was told last.
    told: u64,
    /// Of those kinds when half of the ring had been filled last.
    half: u64,
}

impl Trail {
    pub(crate) fn new() -> Self {
        Self {
            starts: [0; NOTES],
            ends: [Position::default(); NOTES],
            next: 0,
            oldest: 0,
            uncounted: 0,
            cpl: 0,
            wanted: 0,
            kept: 0,
            told: 0,
            half: 0,
        }
    }

    /// True if any branches are told of.
    pub(crate) fn wants_any(&self) -> bool {
        self.wanted != 0
    }

    /// True if these branches are told of.
    pub(crate) fn wants(&self, kind: BranchKind) -> bool {
        self.wanted & kind.bit() != 0
    }

    /// A block that started there has been executed. True if [`Core::trail_half_full`] has to follow.
    #[inline(always)]
    pub(crate) fn note(&mut self, start: u64, end: Position) -> bool {
        let place = usize::from(self.next);
        (self.starts[place], self.ends[place]) = (start, end);
        self.next = self.next.wrapping_add(1);
        self.next.is_multiple_of(HALF)
    }

    /// The same of one that the totals contain.
    pub(crate) fn note_counted(&mut self, start: u64, end: Position) -> bool {
        let full = self.note(start, end);
        self.uncounted = self.next;
        full
    }

    /// Adds to the totals what they do not contain yet.
    #[inline]
    pub(crate) fn count(&mut self, totals: &mut ModeTotals) {
        if self.uncounted != self.next {
            // In the half before the next note, unless that one begins another.
            let ends = &self.ends[usize::from(self.uncounted)..=usize::from(self.next.wrapping_sub(1))];
            let (mut one, mut two, mut three) = (0, 0, 0);
            for end in ends {
                // Two counts in a word: they have 8 bits, and there are not many.
                one += u64::from(end.loads) | u64::from(end.index) << 32;
                two += u64::from(end.stores) | u64::from(end.sse) << 32;
                three += u64::from(end.fpu & 0xF) | u64::from(end.fpu >> 4) << 32;
            }
            const LOW: u64 = 0xFFFF_FFFF;
            totals.instructions += one >> 32;
            totals.loads += one & LOW;
            totals.stores += two & LOW;
            totals.sse += two >> 32;
            totals.x87 += three & LOW;
            totals.mmx += three >> 32;
            self.uncounted = self.next;
        }
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
        self.trail.told = self.wanted_so_far();
        self.trail.half = self.trail.told;
    }

    /// Branches of the kinds that are told of, in the totals.
    fn wanted_so_far(&self) -> u64 {
        let wanted = self.trail.wanted;
        let branches = BranchKind::ALL.into_iter().zip(&self.totals.current.branches);
        branches.map(|(kind, count)| if wanted & kind.bit() == 0 { 0 } else { *count }).sum()
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
            self.trail.oldest = self.trail.next.wrapping_sub(HALF);
        } else if self.trail.oldest == self.trail.next {
            self.between_blocks();
            self.tell_of(bus, NOTES);
        }
    }

    /// Brings the totals up to date with all blocks, and tells the bus of the branches so far. Those do not include
    /// the current instruction.
    #[inline(always)]
    pub(crate) fn tell_branches<B: Bus>(&mut self, bus: &mut B) {
        let count = self.trail.next.wrapping_sub(self.trail.oldest);
        if count != 0 {
            self.tell_of(bus, usize::from(count));
        }
    }

    /// Tells the bus of the branches in the newest `count` notes, which are all.
    #[inline(never)]
    fn tell_of<B: Bus>(&mut self, bus: &mut B, count: usize) {
        self.trail.count(&mut self.totals.current);
        if self.trail.wanted != 0 {
            self.tell_wanted(bus, count);
        }
        self.restart_trail();
    }

    fn tell_wanted<B: Bus>(&mut self, bus: &mut B, count: usize) {
        let Some(recorder) = bus.branches() else { return };
        let Trail { ref starts, ref ends, next: behind, wanted, kept, cpl, told, .. } = self.trail;
        let note = |age: usize| {
            let place = usize::from(behind.wrapping_sub(age as u8));
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
        let skipped = self.wanted_so_far() - told - found;
        if skipped != 0 {
            recorder.skip(skipped);
        }
        for age in (1..=age).rev() {
            let (start, end) = note(age);
            retired += u64::from(end.index);
            if let Some((kind, to)) = taken(age) {
                let last = end.start - u16::from(Ending::of(end).last());
                recorder.record(Branch {
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

    /// Tells of a jump to the next instruction that is taken. It has not been counted yet.
    #[cold]
    pub(crate) fn tell_jump_to_next<B: Bus>(&mut self, bus: &mut B) {
        if B::OBSERVED {
            self.watch.jump_to_next();
        }
        let kind = BranchKind::ConditionalTaken;
        if self.trail.wants(kind) {
            self.tell_now(bus, kind, false, self.instruction_rip(), self.cpl);
            // Once it is counted.
            self.trail.told += 1;
        }
    }

    /// Tells of a branch of, or instead of, the current instruction.
    pub(crate) fn tell_now<B: Bus>(
        &mut self,
        bus: &mut B,
        kind: BranchKind,
        event: bool,
        from: u64,
        from_cpl: u8,
    ) {
        self.tell_branches(bus);
        if let Some(recorder) = bus.branches() {
            let (to, to_cpl, retired) = (self.rip, self.cpl, self.retired());
            recorder.record(Branch { from, to, kind, event, from_cpl, to_cpl, retired });
        }
    }

    /// Tells of a far branch, or of an exception or interrupt (`event`), that has been taken, if it is wanted.
    pub(crate) fn tell_far<B: Bus>(&mut self, bus: &mut B, event: bool, from: u64, from_cpl: u8) {
        let kind = BranchKind::Far;
        if bus.branches().is_some_and(|recorder| recorder.wanted(self.cpl) & kind.bit() != 0) {
            self.tell_now(bus, kind, event, from, from_cpl);
        }
    }
}
