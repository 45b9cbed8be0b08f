//! What an operation is, and makes of its results, on cores that keep where values were made.

use crate::instruction::Prepared;
use retire::{Domain, Instruction, Operation, RegisterFile, RegisterSet};

/// Cycles of an operation on floating-point numbers below which it is logic, with which the unit of products has
/// nothing to do.
const PRODUCT: u16 = 3;
/// The operation makes flags.
const FLAGS: u8 = 1 << 7;
/// Some sources may take longer to it.
const LATE: u8 = 1 << 6;
/// Where its results are made is to be noted, whatever that was before.
const NOTED: u8 = 1 << 5;

/// Kinds of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// None of the others.
    Other,
    /// On vectors: a sum of floating-point numbers.
    Sum,
    /// On vectors: other arithmetic with these.
    Float,
    /// On vectors: arithmetic with integers, and logic.
    Integer,
    /// On vectors: moves elements, or is logic with floating-point numbers.
    Element,
    /// Logic that makes flags.
    Logic,
    /// Has one of two values by the flags.
    Select,
    /// A shift or rotation.
    Shift,
    /// Renaming adds a constant.
    Constant,
    /// Renaming moves a register.
    Move,
}

const KINDS: [Kind; 10] = [
    Kind::Other,
    Kind::Sum,
    Kind::Float,
    Kind::Integer,
    Kind::Element,
    Kind::Logic,
    Kind::Select,
    Kind::Shift,
    Kind::Constant,
    Kind::Move,
];

impl Kind {
    /// As the instruction was [classified](Self::classify).
    #[inline(always)]
    pub(crate) fn of(prepared: &Prepared) -> Self {
        KINDS.get(usize::from(prepared.operation & !(FLAGS | LATE | NOTED))).copied().unwrap_or(Self::Other)
    }

    /// True if some sources may take longer to the operation.
    #[inline(always)]
    pub(crate) fn may_be_late(prepared: &Prepared) -> bool {
        prepared.operation & LATE != 0
    }

    /// True if it is to be noted where the results are made, apart from flags: of vectors, or by a constant that
    /// renaming adds.
    #[inline(always)]
    pub(crate) fn is_noted(prepared: &Prepared) -> bool {
        prepared.operation & NOTED != 0
    }

    #[inline(always)]
    pub(crate) fn makes_flags(prepared: &Prepared) -> bool {
        prepared.operation & FLAGS != 0
    }

    /// What an instruction that is prepared otherwise is, as a number that is 0 if it makes no difference.
    /// `integer_units`: where operations on integers can go that do not only move elements.
    pub(crate) fn classify(
        instruction: &Instruction,
        prepared: &Prepared,
        integer_units: u32,
        flags: RegisterSet,
    ) -> u8 {
        let kind = match instruction.register_file {
            RegisterFile::Vector if !prepared.has_groups() => Self::Move,
            RegisterFile::Vector => Self::of_vectors(instruction.domain, prepared, integer_units),
            _ if !prepared.has_groups() && instruction.results & !flags != 0 => match instruction.renaming {
                retire::Renaming::Offset => Self::Constant,
                retire::Renaming::Move => Self::Move,
                _ => Self::of_operation(instruction.encoding.operation),
            },
            _ if prepared.compute > 1 && instruction.encoding.operation == Operation::Select => Self::Other,
            _ => Self::of_operation(instruction.encoding.operation),
        };
        let late = matches!(kind, Self::Float | Self::Integer | Self::Element | Self::Shift | Self::Select);
        let noted = instruction.register_file == RegisterFile::Vector || kind == Self::Constant;
        let makes_flags = instruction.results & flags != 0;
        let bits = [(makes_flags, FLAGS), (late, LATE), (noted, NOTED)];
        bits.iter().filter(|(set, _)| *set).fold(kind as u8, |operation, (_, bit)| operation | bit)
    }

    fn of_vectors(domain: Domain, prepared: &Prepared, integer_units: u32) -> Self {
        let (.., operation) = prepared.split_groups();
        match domain {
            Domain::Sum => Self::Sum,
            Domain::Float if prepared.compute >= PRODUCT => Self::Float,
            Domain::Integer if operation.iter().any(|uops| uops.units & integer_units != 0) => Self::Integer,
            Domain::None | Domain::Integer | Domain::Float => Self::Element,
        }
    }

    fn of_operation(operation: Operation) -> Self {
        match operation {
            Operation::Other => Self::Other,
            Operation::Logic => Self::Logic,
            Operation::Select => Self::Select,
            Operation::Shift => Self::Shift,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_the_order_of_their_numbers() {
        assert!((0..).zip(KINDS).all(|(number, kind)| kind as u8 == number));
    }
}
