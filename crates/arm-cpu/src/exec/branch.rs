//! Branches. They set the PC, which is behind the block until then.

use super::Operands;
use crate::context::{BLOCK, Core, LINK};
use crate::exec::alu::narrow;
use retire::BranchKind;

impl Core {
    #[inline(always)]
    fn branch(&mut self, i: &Operands) {
        self.pc = self.reg(BLOCK).wrapping_add(i.imm);
    }

    #[inline(always)]
    fn count_branch(&mut self, kind: BranchKind, taken: bool) {
        self.totals.at(self.el).count_branch(kind, taken);
    }

    #[inline(always)]
    fn branch_if(&mut self, i: &Operands, taken: bool) {
        if taken {
            self.branch(i);
        }
        self.count_branch(BranchKind::Conditional, taken);
    }
}

/// B.
#[inline(always)]
pub(crate) fn jump(c: &mut Core, i: &Operands) {
    c.branch(i);
    c.count_branch(BranchKind::DirectJump, true);
}

/// BL. The PC is behind the block, which ends with the instruction.
#[inline(always)]
pub(crate) fn call(c: &mut Core, i: &Operands) {
    c.set_reg(LINK, c.pc);
    c.branch(i);
    c.count_branch(BranchKind::DirectCall, true);
}

/// B.cond.
#[inline(always)]
pub(crate) fn jump_if<const CONDITION: u8>(c: &mut Core, i: &Operands) {
    let taken = c.flags.hold(CONDITION);
    c.branch_if(i, taken);
}

/// CBZ and CBNZ.
#[inline(always)]
pub(crate) fn jump_if_zero<const X: bool, const NOT: bool>(c: &mut Core, i: &Operands) {
    let taken = (narrow::<X>(c.reg(i.rd)) == 0) != NOT;
    c.branch_if(i, taken);
}

/// TBZ and TBNZ; [`Operands::aux`] is the bit.
#[inline(always)]
pub(crate) fn jump_if_bit<const SET: bool>(c: &mut Core, i: &Operands) {
    let taken = (c.reg(i.rd) >> i.aux & 1 != 0) == SET;
    c.branch_if(i, taken);
}

/// BR.
#[inline(always)]
pub(crate) fn jump_to(c: &mut Core, i: &Operands) {
    c.pc = c.branch_target(c.reg(i.rn));
    c.count_branch(BranchKind::IndirectJump, true);
}

/// BLR.
#[inline(always)]
pub(crate) fn call_to(c: &mut Core, i: &Operands) {
    let target = c.branch_target(c.reg(i.rn));
    c.set_reg(LINK, c.pc);
    c.pc = target;
    c.count_branch(BranchKind::IndirectCall, true);
}

/// RET.
#[inline(always)]
pub(crate) fn ret(c: &mut Core, i: &Operands) {
    c.pc = c.branch_target(c.reg(i.rn));
    c.count_branch(BranchKind::Return, true);
}
