//! The part of a sequence that makes a difference.

use crate::compare::Verdict;
use std::ops::Range;

/// What is left of a case.
#[derive(Debug)]
pub(crate) enum Shrunk<C> {
    /// A shorter one that differs, because of the instruction with this number in the whole one.
    To { case: C, number: usize, lines: Vec<String> },
    /// What is masked makes the difference, before anything else does.
    Masked,
    /// No part of it differs.
    NotAtAll,
}

/// Shortens a case of so many instructions, of which `part` takes some that follow each other.
pub(crate) fn shrink<C>(
    count: usize,
    part: impl Fn(Range<usize>) -> C,
    mut verdict: impl FnMut(&C) -> Verdict,
) -> Shrunk<C> {
    // Each instruction alone, from the start state.
    for number in 0..count {
        let case = part(number..number + 1);
        if let Verdict::Different(lines) = verdict(&case) {
            return Shrunk::To { case, number, lines };
        }
    }
    // Ever more of the sequence.
    for number in 0..count {
        let case = part(0..number + 1);
        match verdict(&case) {
            Verdict::Same => {}
            Verdict::Undefined | Verdict::Emulated => return Shrunk::Masked,
            Verdict::Different(lines) => return Shrunk::To { case, number, lines },
        }
    }
    Shrunk::NotAtAll
}
