//! The ends of blocks: what is noted, and where it goes on.

use crate::emit::Label;
use crate::frame::{
    BRANCHES, EPOCH, INSTRUCTIONS, NOTE, T0, T1, T2, TEMPORARY, WITHOUT_BRANCH, at, home, local,
};
use crate::plan::Access;
use crate::translate::{Done, Left, Link, Translation};
use iced_x86::{Code, ConditionCode, Instruction, OpKind, Register};
use retire::BranchKind;
use soft_cpu::compiled::{Notes, place};

/// Entries of the table of blocks by address.
pub(crate) const TABLE: usize = 1 << 15;
/// Words of an entry: address, epoch, code, and one to round it up.
pub(crate) const TABLE_ENTRY: usize = 4;

/// Bits of an address that do not matter to which entry it has: few blocks begin beside others, but returns of short
/// functions do so nearly.
const NEAR: u32 = 1;

/// The number of a block's entry.
pub(crate) fn table_entry(rip: u64) -> usize {
    usize::try_from(rip >> NEAR & (TABLE as u64 - 1)).unwrap_or(0)
}

/// Conditions whose flag is a bit of AX, by number without the lowest bit.
fn bits_of_ax(condition: u8) -> Option<(Register, i32)> {
    Some(match condition >> 1 {
        0 => (Register::AL, 1),
        1 => (Register::AH, 1),
        2 => (Register::AH, 0x40),
        3 => (Register::AH, 0x41),
        4 => (Register::AH, 0x80),
        5 => (Register::AH, 4),
        _ => return None,
    })
}

impl Translation<'_> {
    /// The block has retired. Uses the first temporary register; flags stay.
    pub(crate) fn note(&mut self) {
        let operations = self.operations;
        self.count_operations(&operations, 1);
        self.e.store_constant(at(NOTE, 0), self.source.rip, T0);
        self.e.store_constant(at(NOTE, Notes::DISTANCE as i64), self.source.end, T0);
        self.e.rm(Code::Lea_r64_m, NOTE, at(NOTE, 8));
    }

    fn count(&mut self, kind: BranchKind, taken: bool) {
        let counted = 1 | self.instructions() << INSTRUCTIONS;
        self.e.mi(Code::Add_rm64_imm32, local(BRANCHES + 8 * place(kind, taken) as i64), counted);
    }

    /// The block has ended without a branch.
    pub(crate) fn count_no_branch(&mut self) {
        self.e.mi(Code::Add_rm64_imm32, local(WITHOUT_BRANCH), self.instructions() << INSTRUCTIONS);
    }

    /// Goes on at an address. AX has the flags.
    pub(crate) fn link(&mut self, target: u64) {
        if target == self.source.rip {
            let head = self.head();
            self.e.jump(head);
            return;
        }
        let number = self.next_link;
        self.next_link += 1;
        let unknown = self.e.label();
        let words = (self.around.link_words + 16 * u64::from(number)).cast_signed();
        self.e.rm(Code::Mov_r64_rm64, T0, local(EPOCH));
        self.e.rm(Code::Cmp_r64_rm64, T0, at(Register::RIP, words));
        self.e.jump_if(5, unknown);
        self.e.m(Code::Jmp_rm64, at(Register::RIP, words + 8));
        self.links.push(Link { unknown, number, target });
    }

    pub(crate) fn branch(&mut self, instruction: &Instruction) -> Done {
        let direct = instruction.op0_kind() == OpKind::NearBranch64;
        match instruction.code() {
            Code::Jmp_rel8_64 | Code::Jmp_rel32_64 => {
                self.save_flags();
                self.note();
                self.count(BranchKind::DirectJump, true);
                self.link(instruction.near_branch_target());
            }
            Code::Call_rel32_64 => {
                let stack = self.stack(-8, Access::Write)?;
                self.e.store_constant(stack, instruction.next_ip(), T2);
                self.move_sp(-8)?;
                self.note();
                self.count(BranchKind::DirectCall, true);
                self.link(instruction.near_branch_target());
            }
            Code::Jmp_rm64 => {
                self.target(instruction)?;
                self.find()?;
                self.note_and_go(BranchKind::IndirectJump);
            }
            Code::Call_rm64 => {
                self.target(instruction)?;
                self.find()?;
                self.e.rm(Code::Mov_r64_rm64, T2, at(T1, 16));
                self.e.mr(Code::Mov_rm64_r64, local(TEMPORARY), T2);
                let stack = self.stack(-8, Access::Write)?;
                self.e.store_constant(stack, instruction.next_ip(), T2);
                self.move_sp(-8)?;
                self.note();
                self.count(BranchKind::IndirectCall, true);
                self.e.m(Code::Jmp_rm64, local(TEMPORARY));
            }
            Code::Retnq | Code::Retnq_imm16 => {
                let stack = self.stack(0, Access::Read)?;
                self.e.rm(Code::Mov_r64_rm64, T0, stack);
                self.find()?;
                let released = if instruction.op_count() == 0 { 0 } else { instruction.immediate16() };
                self.move_sp(8 + i64::from(released))?;
                self.note_and_go(BranchKind::Return);
            }
            _ if direct && instruction.is_jcc_short_or_near() => self.conditional(instruction)?,
            Code::Loop_rel8_64_RCX => self.by_count(instruction, -1, 5)?,
            Code::Jrcxz_rel8_64 => self.by_count(instruction, 0, 4)?,
            _ => return Err(Left),
        }
        Ok(())
    }

    fn conditional(&mut self, instruction: &Instruction) -> Done {
        if instruction.near_branch_target() == instruction.next_ip()
            || instruction.condition_code() == ConditionCode::None
        {
            return Err(Left);
        }
        let condition = instruction.condition_code() as u8 - 1;
        let bits = bits_of_ax(condition);
        if bits.is_none() {
            self.restore_flags();
        }
        self.save_flags();
        self.note();
        let taken = self.e.label();
        match bits {
            Some((register, bits)) if !self.in_host => {
                self.e.ri(Code::Test_rm8_imm8, register, bits);
                // Not zero is what the even conditions are.
                self.e.jump_if(5 ^ condition & 1, taken);
            }
            _ => self.e.jump_if(condition, taken),
        }
        self.one_or_other(taken, instruction);
        Ok(())
    }

    /// LOOP and JRCXZ: RCX changes, and the branch is taken if it is 0 (condition 4) or is not (condition 5).
    fn by_count(&mut self, instruction: &Instruction, change: i64, condition: u8) -> Done {
        if instruction.near_branch_target() == instruction.next_ip() {
            return Err(Left);
        }
        let count = home(Register::RCX.number()).ok_or(Left)?;
        self.save_flags();
        self.note();
        if change != 0 {
            self.e.rm(Code::Lea_r64_m, count, at(count, change));
        }
        self.e.rr(Code::Test_rm64_r64, count, count);
        let taken = self.e.label();
        self.e.jump_if(condition, taken);
        self.one_or_other(taken, instruction);
        Ok(())
    }

    /// Both ends of a conditional branch; AX has the flags.
    fn one_or_other(&mut self, taken: Label, instruction: &Instruction) {
        self.in_host = false;
        self.count(BranchKind::Conditional, false);
        self.link(instruction.next_ip());
        self.e.place(taken);
        self.count(BranchKind::Conditional, true);
        self.link(instruction.near_branch_target());
    }

    /// RSP moves. Flags stay.
    pub(crate) fn move_sp(&mut self, distance: i64) -> Done {
        let sp = home(Register::RSP.number()).ok_or(Left)?;
        self.e.rm(Code::Lea_r64_m, sp, at(sp, distance));
        Ok(())
    }

    /// The first temporary register becomes the target of an indirect branch. AX has the flags.
    fn target(&mut self, instruction: &Instruction) -> Done {
        if instruction.op0_kind() == OpKind::Register {
            self.free_flags();
            let register = self.read_all(instruction.op0_register(), T0);
            if register != T0 {
                self.e.rr(Code::Mov_r64_rm64, T0, register);
            }
        } else {
            let memory = self.memory(instruction, 8, Access::Read)?;
            self.e.rm(Code::Mov_r64_rm64, T0, memory);
        }
        Ok(())
    }

    /// The second temporary register becomes the address of the table's entry for the block that the first one has
    /// the address of. What the table does not have is left to the interpreter: non-canonical addresses too.
    fn find(&mut self) -> Done {
        let slow = self.slow();
        let shift = (TABLE_ENTRY * 8).ilog2() - NEAR;
        let mask = (TABLE - 1) * TABLE_ENTRY * 8;
        let index = T1.full_register32();
        self.e.rr(Code::Mov_r32_rm32, index, T0.full_register32());
        self.e.ri(Code::Shl_rm32_imm8, index, shift.cast_signed());
        self.e.ri(Code::And_rm32_imm32, index, i32::try_from(mask).map_err(|_| Left)?);
        self.e.constant(T2, self.around.table);
        self.e.rr(Code::Add_rm64_r64, T1, T2);
        self.e.rm(Code::Cmp_r64_rm64, T0, at(T1, 0));
        self.e.jump_if(5, slow);
        self.e.rm(Code::Mov_r64_rm64, T2, local(EPOCH));
        self.e.rm(Code::Cmp_r64_rm64, T2, at(T1, 8));
        self.e.jump_if(5, slow);
        Ok(())
    }

    fn note_and_go(&mut self, kind: BranchKind) {
        self.note();
        self.count(kind, true);
        self.e.m(Code::Jmp_rm64, at(T1, 16));
    }
}
