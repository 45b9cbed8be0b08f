//! Cycles of the predictor for taken branches.

use crate::core::BranchCycles;
use retire::BranchKind;

/// More branches that were not taken make no difference.
const MOST: u8 = 2;

/// What was predicted last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
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

impl Last {
    const ALL: [Self; 5] = [Self::Full, Self::Jump, Self::Line, Self::Other, Self::Ended];
}

/// A predictor that takes two taken branches, or ends of lines of code, in a cycle where it can (two-ahead: Seznec,
/// Jourdan, Sainrat and Michaud, 1996). What is together was measured on Zen 5 (docs/silicon.md, "Mechanisms").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TwoAhead {
    last: Last,
    /// Branches since then that the buffers of targets have, and that were not taken, up to [`MOST`].
    passed: u8,
}

impl TwoAhead {
    /// Where prediction begins anew, the refill has a cycle of it.
    pub(super) const fn begun() -> Self {
        Self { last: Last::Other, passed: 0 }
    }

    /// A branch that a buffer of targets has is not taken.
    pub(super) fn pass(&mut self) {
        self.passed = (self.passed + 1).min(MOST);
    }

    /// Cycles that a taken branch takes behind what was before it.
    pub(super) fn cycles(&mut self, core: &BranchCycles, kind: BranchKind, overridden: bool) -> u32 {
        let of_kind = core.of(kind, overridden);
        let direct = matches!(kind, BranchKind::Conditional | BranchKind::DirectJump);
        let passed = u32::from(self.passed);
        let (cycles, last) = match self.last {
            last if direct && (last == Last::Full || passed > 0) => (1, Last::Jump),
            _ if direct => (0, Last::Full),
            Last::Jump if overridden => (0, Last::Full),
            Last::Line if overridden => (of_kind.saturating_sub(1), Last::Full),
            _ if overridden => (of_kind, Last::Full),
            Last::Full => (of_kind + passed, Last::Other),
            Last::Line => (of_kind + passed.min(1), Last::Other),
            _ => (of_kind, Last::Other),
        };
        *self = Self { last, passed: 0 };
        cycles
    }

    /// Cycles for the next line of code, without a jump.
    pub(super) fn next_line(&mut self) -> u32 {
        let first = matches!(self.last, Last::Full | Last::Ended) || self.passed > 0;
        let (cycles, last) = if first { (1, Last::Line) } else { (0, Last::Ended) };
        *self = Self { last, passed: 0 };
        cycles
    }

    pub(super) fn save(self) -> u64 {
        u64::from(self.passed) << 4 | self.last as u64
    }

    pub(super) fn of(saved: u64) -> Self {
        let last = Last::ALL.into_iter().find(|&last| last as u64 == saved & 15).unwrap_or(Last::Full);
        Self { last, passed: (saved >> 4) as u8 & 3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ZEN5;
    use BranchKind::{DirectCall, DirectJump, IndirectJump, Return};

    #[derive(Debug, Clone, Copy)]
    enum Step {
        /// A taken branch, overridden or not.
        Taken(BranchKind, bool),
        /// The end of a line.
        Line,
        /// A conditional branch that is known and is not taken.
        Passed,
    }

    const CALL: Step = Step::Taken(DirectCall, false);
    const JUMP: Step = Step::Taken(DirectJump, false);
    const TO_ONE: Step = Step::Taken(IndirectJump, false);
    const TO_MANY: Step = Step::Taken(IndirectJump, true);
    const RETURN: Step = Step::Taken(Return, false);
    const LINE: Step = Step::Line;

    /// Cycles of an iteration of a loop of these.
    fn iteration(steps: &[Step]) -> f64 {
        let core = &ZEN5.prediction.branch_cycles;
        let mut before = TwoAhead::begun();
        let mut iterations = |count: usize| -> u32 {
            let all = steps.iter().cycle().take(steps.len() * count);
            let cycles = all.map(|step| match *step {
                Step::Taken(kind, overridden) => before.cycles(core, kind, overridden),
                Step::Line => before.next_line(),
                Step::Passed => {
                    before.pass();
                    0
                }
            });
            cycles.sum()
        };
        iterations(10);
        f64::from(iterations(60)) / 60.0
    }

    fn looped(first: &[Step], middle: Step, times: usize, last: &[Step]) -> f64 {
        iteration(&[first, &vec![middle; times], last].concat())
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

    /// Per function and its call. `M`: conditional branches that are known and were not taken.
    #[test]
    fn branches_that_were_not_taken_take_the_cycles_that_were_measured() {
        let step = |letter| match letter {
            'C' => CALL,
            'R' => RETURN,
            'J' => JUMP,
            'L' => LINE,
            _ => Step::Passed,
        };
        let measured = [
            ("CRL", 4.0),
            ("CMRL", 4.0),
            ("CMMMRL", 4.0),
            ("MCRL", 4.0),
            ("MMMCRL", 4.0),
            ("CLMMRL", 4.0),
            ("CRML", 5.0),
            ("CRMMML", 5.0),
            ("CMJRL", 5.0),
            ("CMMMJRL", 5.0),
            ("CJMRL", 5.0),
            ("CJMMRL", 6.0),
            ("CJMMMRL", 6.0),
            ("CMLRL", 5.0),
            ("CMLMLRL", 6.0),
            ("CMLMLMLRL", 7.0),
            ("CRMJ", 5.0),
            ("CRMMMJ", 5.0),
            ("MCRJ", 5.0),
            ("MMCRJ", 6.0),
            ("MMMCRJ", 6.0),
            ("MCRML", 6.0),
            ("CRMLJ", 5.0),
            ("CRLMJ", 5.0),
            ("MCRLJ", 5.0),
            ("MCRMLMJ", 6.0),
        ];
        for (text, expected) in measured {
            let steps: Vec<Step> = text.chars().map(step).collect();
            assert_eq!(iteration(&steps), expected, "{text}");
        }
    }

    #[test]
    fn each_state_is_one_again() {
        for last in Last::ALL {
            for passed in 0..=MOST {
                let state = TwoAhead { last, passed };
                assert_eq!(TwoAhead::of(state.save()), state);
            }
        }
    }
}
