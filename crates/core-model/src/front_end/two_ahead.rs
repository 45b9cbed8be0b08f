//! Cycles of the predictor for taken branches.

use crate::core::BranchCycles;
use retire::BranchKind;

/// A predictor that takes two taken branches, or ends of lines of code, in a cycle where it can (two-ahead: Seznec,
/// Jourdan, Sainrat and Michaud, 1996): which of the last two were taken together. What is together was measured on
/// Zen 5 (docs/silicon.md, "Mechanisms").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TwoAhead {
    /// The last one was the second of two, or is taken with none.
    Full,
    /// The first of two was a direct jump.
    Jump,
    /// It was the end of a line.
    Line,
    /// It was a branch of another kind.
    Other,
    /// The second of two was the end of a line: a direct jump in the next one goes with them.
    Ended,
}

impl TwoAhead {
    const ALL: [Self; 5] = [Self::Full, Self::Jump, Self::Line, Self::Other, Self::Ended];

    /// Where prediction begins anew, the refill has a cycle of it.
    pub(super) const fn begun() -> Self {
        Self::Other
    }

    /// Cycles that a taken branch takes behind what was before it.
    pub(super) fn cycles(&mut self, core: &BranchCycles, kind: BranchKind, overridden: bool) -> u32 {
        let of_kind = core.of(kind, overridden);
        if !core.two_ahead {
            return of_kind;
        }
        let direct = matches!(kind, BranchKind::Conditional | BranchKind::DirectJump);
        let (cycles, now) = match *self {
            Self::Full if direct => (1, Self::Jump),
            _ if direct => (0, Self::Full),
            Self::Jump if overridden => (0, Self::Full),
            Self::Line if overridden => (of_kind.saturating_sub(1), Self::Full),
            _ if overridden => (of_kind, Self::Full),
            _ => (of_kind, Self::Other),
        };
        *self = now;
        cycles
    }

    /// Cycles for the next line of code, without a jump.
    pub(super) fn next_line(&mut self) -> u32 {
        let (cycles, now) = match *self {
            Self::Full | Self::Ended => (1, Self::Line),
            Self::Jump | Self::Line | Self::Other => (0, Self::Ended),
        };
        *self = now;
        cycles
    }

    pub(super) fn save(self) -> u64 {
        self as u64
    }

    pub(super) fn of(saved: u64) -> Self {
        Self::ALL.into_iter().find(|state| state.save() == saved).unwrap_or(Self::Full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ZEN5;
    use BranchKind::{DirectCall, DirectJump, IndirectJump, Return};

    /// A taken branch, overridden or not, or the end of a line.
    type Step = Option<(BranchKind, bool)>;

    const CALL: Step = Some((DirectCall, false));
    const JUMP: Step = Some((DirectJump, false));
    const TO_ONE: Step = Some((IndirectJump, false));
    const TO_MANY: Step = Some((IndirectJump, true));
    const RETURN: Step = Some((Return, false));
    const LINE: Step = None;

    /// Cycles of an iteration of a loop.
    fn looped(first: &[Step], middle: Step, times: usize, last: &[Step]) -> f64 {
        let core = &ZEN5.prediction.branch_cycles;
        let steps = [first, &vec![middle; times], last].concat();
        let mut before = TwoAhead::begun();
        let mut iterations = |count: usize| -> u32 {
            let all = steps.iter().copied().cycle().take(steps.len() * count);
            let cycles = all.map(|step| match step {
                Some((kind, overridden)) => before.cycles(core, kind, overridden),
                None => before.next_line(),
            });
            cycles.sum()
        };
        iterations(10);
        f64::from(iterations(60)) / 60.0
    }

    #[test]
    fn taken_branches_take_the_cycles_that_were_measured() {
        let jumps = |first: &[Step], times: &[usize], last: &[Step]| {
            times.iter().map(|&times| looped(first, JUMP, times, last)).collect::<Vec<_>>()
        };
        assert_eq!(jumps(&[], &[1, 2, 4], &[]), [0.5, 1.0, 2.0], "alone");
        assert_eq!(jumps(&[CALL], &[0, 1, 2, 3, 4], &[RETURN]), [4.0, 4.0, 5.0, 5.0, 6.0], "in a function");
        assert_eq!(jumps(&[CALL, RETURN], &[1, 2, 3, 4], &[]), [4.0, 5.0, 5.0, 6.0], "behind it");
        assert_eq!(jumps(&[CALL, TO_ONE], &[0, 1, 2, 3], &[RETURN]), [5.0, 5.0, 6.0, 6.0], "through a PLT");
        assert_eq!(jumps(&[TO_ONE], &[0, 1, 2, 3], &[]), [1.0, 1.0, 2.0, 2.0], "indirect, to one target");
        assert_eq!(jumps(&[TO_MANY], &[1, 2, 3, 4], &[]), [1.0, 4.0, 2.0, 5.0], "to targets in turn");
    }

    #[test]
    fn ends_of_lines_take_the_cycles_that_were_measured() {
        let lines = |first: &[Step], times: &[usize], last: &[Step]| {
            times.iter().map(|&times| looped(first, LINE, times, last)).collect::<Vec<_>>()
        };
        assert_eq!(lines(&[CALL], &[0, 1, 2, 3, 4], &[RETURN]), [4.0, 4.0, 5.0, 5.0, 6.0], "in a function");
        assert_eq!(lines(&[CALL], &[0, 1, 2, 3], &[JUMP, RETURN]), [4.0, 4.0, 5.0, 5.0], "before a jump");
        let two = [JUMP, JUMP, RETURN];
        assert_eq!(lines(&[CALL], &[0, 1, 2, 3], &two), [5.0, 5.0, 6.0, 6.0], "before two");
        let between = [JUMP, RETURN];
        assert_eq!(lines(&[CALL, JUMP], &[0, 1, 2, 3], &between), [5.0, 5.0, 5.0, 6.0], "between two");
        assert_eq!(lines(&[TO_MANY, JUMP], &[0, 1, 2, 3], &[]), [1.0, 4.0, 4.0, 5.0], "to targets in turn");
        assert_eq!(lines(&[TO_MANY, JUMP, JUMP], &[0, 1, 2], &[]), [4.0, 4.0, 5.0], "with another jump");
    }

    #[test]
    fn each_state_is_one_again() {
        assert_eq!(TwoAhead::ALL.map(|state| TwoAhead::of(state.save())), TwoAhead::ALL);
    }
}
