//! Which taken branches, and ends of lines of code, are predicted in one cycle.

use super::two_ahead::TwoAhead;
use crate::core::{BranchCycles, Pairing};
use retire::BranchKind;

/// What was predicted last, as far as it matters to what is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairs {
    AsFetched,
    TwoAhead(TwoAhead),
    InRow(Row),
}

impl Pairs {
    /// Where prediction begins anew.
    pub(super) const fn begun(pairing: Pairing) -> Self {
        match pairing {
            Pairing::AsFetched => Self::AsFetched,
            Pairing::TwoAhead => Self::TwoAhead(TwoAhead::begun()),
            Pairing::InRow { alone, lines_apart } => Self::InRow(Row { alone, lines_apart, count: 0 }),
        }
    }

    /// A branch that a buffer of targets has is not taken.
    pub(super) fn pass(&mut self) {
        if let Self::TwoAhead(two_ahead) = self {
            two_ahead.pass();
        }
    }

    /// Cycles that a taken branch takes behind what was before it; `within` its own line of code.
    pub(super) fn cycles(
        &mut self,
        core: &BranchCycles,
        kind: BranchKind,
        overridden: bool,
        within: bool,
    ) -> u32 {
        match self {
            Self::AsFetched => core.of(kind, overridden),
            Self::TwoAhead(two_ahead) => two_ahead.cycles(core, kind, overridden),
            Self::InRow(row) => match kind {
                BranchKind::Conditional | BranchKind::DirectJump if within => row.within(),
                BranchKind::Conditional | BranchKind::DirectJump | BranchKind::DirectCall => row.next(),
                _ => {
                    row.count = 0;
                    core.of(kind, overridden)
                }
            },
        }
    }

    /// Cycles for the next line of code, without a jump.
    pub(super) fn next_line(&mut self) -> u32 {
        match self {
            Self::AsFetched => 0,
            Self::TwoAhead(two_ahead) => two_ahead.next_line(),
            Self::InRow(row) => row.next(),
        }
    }

    /// Cycles for the end of a line in a taken branch.
    pub(super) fn crosses(&mut self) -> u32 {
        match self {
            Self::AsFetched | Self::TwoAhead(_) => 0,
            Self::InRow(row) => row.next(),
        }
    }

    pub(super) fn save(self) -> u64 {
        match self {
            Self::AsFetched => 0,
            Self::TwoAhead(two_ahead) => two_ahead.save(),
            Self::InRow(row) => row.count.into(),
        }
    }

    /// What was saved, in a byte, of one with the same pairing.
    pub(super) fn restore(&mut self, saved: u8) {
        match self {
            Self::AsFetched => {}
            Self::TwoAhead(two_ahead) => *two_ahead = TwoAhead::of(saved.into()),
            Self::InRow(row) => row.count = saved,
        }
    }
}

/// Direct branches and ends of lines that follow each other: measured on Raptor Cove (docs/silicon.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// The first ones take a cycle each.
    alone: u8,
    /// A jump within its line takes one too.
    lines_apart: bool,
    /// How many there were; of later ones, whether it was the second of two.
    count: u8,
}

impl Row {
    /// A jump within its line.
    fn within(&mut self) -> u32 {
        if !self.lines_apart {
            return self.next();
        }
        self.count = if self.count < self.alone { self.count + 1 } else { self.alone + 1 };
        1
    }

    fn next(&mut self) -> u32 {
        let second = self.count == self.alone;
        self.count = if self.count > self.alone { self.alone } else { self.count + 1 };
        (!second).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RAPTOR_COVE;
    use BranchKind::{Conditional, DirectCall, DirectJump, IndirectCall, IndirectJump, Return};

    /// Cycles of the predictor in a loop.
    fn cycles(kinds: &[BranchKind], lines: usize) -> f64 {
        const ROUNDS: u32 = 64;
        let branches = &RAPTOR_COVE.prediction.branch_cycles;
        let mut pairs = Pairs::begun(branches.pairing);
        let mut all = 0;
        for _ in 0..ROUNDS {
            all += kinds.iter().map(|&kind| pairs.cycles(branches, kind, false, false)).sum::<u32>();
            all += (0..lines).map(|_| pairs.next_line()).sum::<u32>();
        }
        f64::from(all) / f64::from(ROUNDS)
    }

    /// Measured on Emerald Rapids, eight of each in a loop.
    #[test]
    fn branches_take_what_was_measured() {
        let measured: &[(&[BranchKind], f64)] = &[
            (&[IndirectJump], 2.1),
            (&[IndirectJump, DirectJump], 3.1),
            (&[IndirectJump, Conditional], 3.1),
            (&[IndirectJump, DirectJump, DirectJump], 4.1),
            (&[IndirectJump, DirectJump, DirectJump, DirectJump], 5.0),
            (&[IndirectJump, DirectJump, DirectJump, DirectJump, DirectJump], 5.3),
            (&[DirectCall, Return], 3.1),
            (&[DirectCall, Return, DirectJump], 4.3),
            (&[DirectCall, Return, Conditional, Conditional], 5.4),
            (&[DirectCall, IndirectJump, Return], 5.0),
            (&[IndirectCall, Return], 4.1),
            (&[IndirectCall, Return, DirectJump], 5.1),
            (&[DirectJump; 8], 8.0 * 0.62),
            (&[Conditional; 16], 16.0 * 0.62),
        ];
        for (kinds, measured) in measured {
            let cycles = cycles(kinds, 0);
            assert!((cycles - measured).abs() <= measured * 0.2, "{kinds:?}: {cycles}");
        }
        for (lines, measured) in [(0, 2.1), (1, 3.8), (2, 5.1), (3, 5.3)] {
            let cycles = cycles(&[IndirectJump], lines);
            assert!((cycles - measured).abs() <= 1.1, "{lines} lines: {cycles}");
        }
    }
}
