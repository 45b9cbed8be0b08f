//! The blocks that have just been executed. What has retired in them is added up, and the near branches between them
//! are worked out, when they are needed.
//!
//! The run loop notes where each block started and what was at its end, and nothing else, so that recording branches
//! costs no more than not recording them. A block was left by a taken branch if the next one does not follow it. Only
//! the jump to the next instruction cannot be told from the one not taken: it is recorded at once, as far branches,
//! exceptions and interrupts are.
//!
//! Of the branches only the newest matter to most ([`BranchRecorder::depth`](crate::BranchRecorder::depth)). So the
//! notes are a ring, and when half of it is full, the other half is free again if there were enough branches in this
//! one, by the totals.

use super::totals::ModeTotals;
use crate::block::{Ending, Position};
use crate::low::Low;
use retire::BranchKind;
use zerocopy::IntoBytes;

/// Notes in half of the ring: compiled code is left when so many are full. Sums of so many bytes fit 16 bits.
pub(crate) const HALF: u16 = 1 << 8;
/// Notes in the ring.
pub(crate) const NOTES: usize = 2 * HALF as usize;

/// The number of the note that is so many before another one.
#[inline(always)]
pub(super) fn before(note: u16, distance: u16) -> u16 {
    note.wrapping_sub(distance) & (2 * HALF - 1)
}

/// Near branches that may be taken.
pub(super) const NEAR: u8 = !BranchKind::Far.bit();

/// The branch that was taken at the end of a block, if the next block started at `next`.
#[inline(always)]
pub(super) fn taken(start: u64, end: Position, next: u64) -> Option<BranchKind> {
    let behind = start.wrapping_add(u64::from(end.start));
    // RIP may have run over the end of the 32-bit space. No jump is as long as that.
    let goes_on = || behind.low_u32() == next.low_u32();
    Ending::of(end).branch().filter(|kind| *kind != BranchKind::Conditional || !goes_on())
}

/// The ring of notes.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Notes {
    pub(crate) starts: [u64; NOTES],
    pub(crate) ends: [Position; NOTES],
}

impl Notes {
    /// Bytes from the address in a note to the end in it.
    pub const DISTANCE: usize = NOTES * size_of::<u64>();

    pub(crate) fn new() -> Self {
        Self { starts: [0; NOTES], ends: [Position::default(); NOTES] }
    }

    /// The address in the first note, with those of the others behind it.
    pub fn first(&mut self) -> *mut u64 {
        core::ptr::from_mut(self).cast()
    }

    /// The number of the note that has its address there.
    #[must_use]
    pub fn number_of(&self, note: *const u64) -> usize {
        note.addr().wrapping_sub(core::ptr::from_ref(self).addr()) / size_of::<u64>()
    }
}

/// The blocks since branches were recorded last.
#[derive(Debug)]
pub(crate) struct Trail {
    /// Where they started, and what was at their ends.
    pub(crate) notes: Notes,
    /// Where the next note goes.
    pub(crate) next: u16,
    /// The oldest note, unless there is none.
    pub(super) oldest: u16,
    /// The first note whose instructions the totals do not contain yet; in the half that is being filled.
    pub(super) uncounted: u16,
    /// Privilege level of all blocks.
    pub(super) cpl: u8,
    /// The branches that are recorded: a bit for each kind.
    pub(super) wanted: u8,
    /// [`BranchRecorder::depth`](crate::BranchRecorder::depth).
    pub(super) kept: u64,
    /// Branches of those kinds in the totals when they were recorded last.
    pub(super) recorded: u64,
    /// Of those kinds when half of the ring had been filled last.
    pub(super) half: u64,
}

impl Trail {
    pub(crate) fn new() -> Self {
        Self {
            notes: Notes::new(),
            next: 0,
            oldest: 0,
            uncounted: 0,
            cpl: 0,
            wanted: 0,
            kept: 0,
            recorded: 0,
            half: 0,
        }
    }

    /// The number of the note behind so many, as [`next`](Self::next) has it.
    pub(crate) fn note_at(behind: usize) -> u16 {
        (behind % NOTES).low_u16()
    }

    /// True if any branches are recorded.
    pub(crate) fn wants_any(&self) -> bool {
        self.wanted != 0
    }

    /// True if these branches are recorded.
    pub(crate) fn wants(&self, kind: BranchKind) -> bool {
        self.wanted & kind.bit() != 0
    }

    /// A block that started there has been executed. True if
    /// [`Core::trail_half_full`](crate::context::Core::trail_half_full) has to follow.
    #[inline(always)]
    pub(crate) fn note(&mut self, start: u64, end: Position) -> bool {
        let place = usize::from(self.next) & (NOTES - 1);
        (self.notes.starts[place], self.notes.ends[place]) = (start, end);
        self.next = (self.next + 1) & (2 * HALF - 1);
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
            let ends = &self.notes.ends[usize::from(self.uncounted)..=usize::from(before(self.next, 1))];
            // Four counts in a word: a half of 8 bits each has room in 16.
            const EVEN: u64 = 0x00FF_00FF_00FF_00FF;
            const _: () = assert!((HALF as u64) * 0xFF < 1 << 16 && HALF.is_power_of_two());
            let (mut even, mut odd, mut x87) = (0, 0, 0);
            // As bytes, of which words are read: of fields the compiler would put them together.
            for end in ends.as_bytes().as_chunks().0 {
                let bits = u64::from_le_bytes(*end);
                even += bits & EVEN;
                odd += bits >> 8 & EVEN;
                x87 += bits >> 40 & 0xF;
            }
            let count = |sums: u64, n: u32| sums >> (16 * n) & 0xFFFF;
            totals.loads += count(even, 1);
            totals.sse += count(even, 2);
            totals.instructions += count(even, 3);
            totals.stores += count(odd, 1);
            totals.x87 += x87;
            totals.mmx += (count(odd, 2) - x87) >> 4;
            self.uncounted = self.next;
        }
    }
}
