//! Branches (Arm ARM C4.1.87).

use super::fields::{bit, bits, signed, source};
use crate::bus::Bus;
use crate::exec::{Code, Operands, branch, plain, system};
use retire::BranchKind;
use soft_base::Low;

/// The distance of a target from the start of the block.
fn distance(word: u32, from: u32, count: u32, offset: u8) -> u64 {
    signed(word, from, count, 2).wrapping_add(u64::from(offset))
}

pub(super) fn immediate<B: Bus>(word: u32, offset: u8, o: &mut Operands) -> Option<Code<B>> {
    o.imm = distance(word, 0, 26, offset);
    Some(if bit(word, 31) {
        plain!(branch::call).branches(BranchKind::DirectCall)
    } else {
        plain!(branch::jump).branches(BranchKind::DirectJump)
    })
}

pub(super) fn conditional<B: Bus>(word: u32, offset: u8, o: &mut Operands) -> Option<Code<B>> {
    // BC.cond is later.
    if bit(word, 4) || bit(word, 24) {
        return None;
    }
    o.imm = distance(word, 5, 19, offset);
    macro_rules! code {
        ($($condition:literal)*) => {
            match bits(word, 0, 4) {
                $( $condition => plain!(branch::jump_if::<$condition>), )*
                _ => plain!(branch::jump_if::<14>),
            }
        };
    }
    Some(code!(0 1 2 3 4 5 6 7 8 9 10 11 12 13).branches(BranchKind::Conditional))
}

pub(super) fn compare<B: Bus>(word: u32, offset: u8, o: &mut Operands) -> Option<Code<B>> {
    o.imm = distance(word, 5, 19, offset);
    o.rd = source(word, 0);
    let code = match (bit(word, 31), bit(word, 24)) {
        (false, false) => plain!(branch::jump_if_zero::<false, false>),
        (false, true) => plain!(branch::jump_if_zero::<false, true>),
        (true, false) => plain!(branch::jump_if_zero::<true, false>),
        (true, true) => plain!(branch::jump_if_zero::<true, true>),
    };
    Some(code.branches(BranchKind::Conditional))
}

pub(super) fn test<B: Bus>(word: u32, offset: u8, o: &mut Operands) -> Option<Code<B>> {
    o.imm = distance(word, 5, 14, offset);
    o.rd = source(word, 0);
    o.aux = (bits(word, 31, 1) << 5 | bits(word, 19, 5)).low_u8();
    let code = if bit(word, 24) {
        plain!(branch::jump_if_bit::<true>)
    } else {
        plain!(branch::jump_if_bit::<false>)
    };
    Some(code.branches(BranchKind::Conditional))
}

/// BR, BLR, RET and ERET; DRPS is UNDEFINED outside of Debug state.
pub(super) fn register<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    // op2, op3 and op4: pointer authentication has others.
    if bits(word, 16, 5) != 31 || bits(word, 10, 6) != 0 || bits(word, 0, 5) != 0 {
        return None;
    }
    o.rn = source(word, 5);
    Some(match bits(word, 21, 4) {
        0 => plain!(branch::jump_to).branches(BranchKind::IndirectJump),
        1 => plain!(branch::call_to).branches(BranchKind::IndirectCall),
        2 => plain!(branch::ret).branches(BranchKind::Return),
        4 if bits(word, 5, 5) == 31 => Code::rare(system::exception_return).branches(BranchKind::Far),
        _ => return None,
    })
}
