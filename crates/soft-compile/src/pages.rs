//! Operands by the same register: where their page is in the host's memory is looked up once in a block.
//!
//! The first access of such a group looks up all that the group may touch, and keeps where the register points to in
//! the host's memory. That is 0 if not all of it is in one page, or where code goes on behind the interpreter, which
//! may have changed the TLB: then each access looks for itself.

use crate::frame::{GROUP_END, T0, at, group_slot};
use crate::plan::{Access, Alone, Member, Which};
use crate::translate::{Left, Translation};
use iced_x86::{Code, MemoryOperand};

impl Translation<'_> {
    /// Where an operand of a group is, `distance` bytes from its register. AX has the flags. Nothing: it belongs to
    /// none.
    pub(crate) fn in_group(
        &mut self,
        which: Which,
        distance: i64,
        bytes: usize,
        access: Access,
    ) -> Option<MemoryOperand> {
        let member = self.plan.member((self.index, which), distance, bytes, access)?;
        let Member { group, register, offset, .. } = member;
        let (miss, back, slow) = (self.e.label(), self.e.label(), self.slow());
        let slot = group_slot(group);
        let first = self.groups >> group & 1 == 0;
        if first {
            let base = self.read_all(register, T0);
            self.e.rm(Code::Lea_r64_m, T0, at(base, member.from));
            self.probe(member.bytes, member.access, GROUP_END, miss);
            if member.first != 0 {
                self.e.rm(Code::Lea_r64_m, T0, at(T0, -member.first));
            }
            self.e.mr(Code::Mov_rm64_r64, slot, T0);
            self.groups |= 1 << group;
        } else {
            self.e.rm(Code::Mov_r64_rm64, T0, slot);
            self.e.rr(Code::Test_rm64_r64, T0, T0);
            self.e.jump_if(4, miss);
        }
        self.e.place(back);
        self.alone.push(Alone { miss, back, slow, member, distance, bytes, access, first });
        Some(at(T0, offset))
    }

    /// The accesses that look for themselves.
    pub(crate) fn look_alone(&mut self) -> Result<(), Left> {
        for alone in std::mem::take(&mut self.alone) {
            let Alone { miss, back, slow, member, distance, bytes, access, first } = alone;
            self.e.place(miss);
            if first {
                self.e.mi(Code::Mov_rm64_imm32, group_slot(member.group), 0);
            }
            let base = self.read_all(member.register, T0);
            self.e.rm(Code::Lea_r64_m, T0, at(base, distance));
            self.look_up_or(bytes, access, slow)?;
            self.e.rm(Code::Lea_r64_m, T0, at(T0, -member.offset));
            self.e.jump(back);
        }
        Ok(())
    }
}
