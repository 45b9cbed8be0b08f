//! Integer instructions.

use crate::bits::{CF, SF, ZF};
use crate::frame::{T0, T1, T2, TEMPORARY, at, home, local, part};
use crate::plan::Access;
use crate::translate::{Done, Left, Translation, is_high_byte};
use iced_x86::{Code, ConditionCode, Instruction, Mnemonic as M, OpKind, Register};

/// What an instruction does with its first operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Read,
    /// It does not depend on what was there.
    Write,
    Update,
}

/// Flags behind an instruction that the SDM leaves undefined, as the interpreter has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undefined {
    None,
    /// AF is 0; OF is the sign of the result but for CF.
    ShiftLeft,
    /// AF is 0, and so is OF.
    ShiftRight,
    /// AF is 0; OF as the host has it.
    ShiftByOne,
    /// OF is the sign of the result but for CF.
    RotateLeft,
    /// OF is the sign of the result but for the bit beside it.
    RotateRight,
    /// SF, ZF and PF of the result; AF is 0.
    Product,
    /// All but CF stay.
    Bit,
}

impl Translation<'_> {
    pub(crate) fn instruction(&mut self, instruction: &Instruction) -> Done {
        if instruction.has_repne_prefix() || instruction.has_rep_prefix() || !self.known(instruction) {
            return Err(Left);
        }
        if let Some(done) = self.vector(instruction) {
            return done;
        }
        let first = match instruction.mnemonic() {
            M::Cmp | M::Test | M::Bt => First::Read,
            M::Mov | M::Movzx | M::Movsx | M::Movsxd => First::Write,
            M::Imul if instruction.op_count() == 3 => First::Write,
            M::Imul if instruction.op_count() == 2 => First::Update,
            M::Add | M::Adc | M::Sub | M::Sbb | M::And | M::Or | M::Xor => First::Update,
            M::Inc | M::Dec | M::Neg | M::Not | M::Bswap => First::Update,
            M::Bts | M::Btr | M::Btc => First::Update,
            M::Shl | M::Sal | M::Shr | M::Sar | M::Rol | M::Ror => return self.shift(instruction),
            M::Lea => return self.lea(instruction),
            M::Nop | M::Endbr64 | M::Pause => return Ok(()),
            M::Prefetchnta | M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 | M::Prefetchw => return Ok(()),
            M::Lfence | M::Mfence | M::Sfence => return Ok(()),
            M::Stc | M::Clc | M::Cmc => return self.carry(instruction),
            M::Div | M::Idiv => return self.divide(instruction),
            M::Cmpxchg => return self.compare_exchange(instruction),
            M::Xadd => return self.exchange_add(instruction),
            M::Bsf | M::Bsr => return self.scan(instruction),
            M::Tzcnt | M::Lzcnt => return self.with_flags(instruction, ZF | CF),
            M::Popcnt => return self.with_flags(instruction, ZF),
            M::Andn | M::Bextr | M::Bzhi | M::Blsr | M::Blsmsk | M::Blsi => {
                return self.with_flags(instruction, SF | ZF | CF);
            }
            M::Pdep | M::Pext | M::Rorx | M::Sarx | M::Shlx | M::Shrx => return self.quiet(instruction),
            M::Mulx => return self.multiply_quietly(instruction),
            M::Movbe => First::Write,
            M::Crc32 => First::Update,
            M::Adcx | M::Adox => First::Update,
            M::Push => return self.push(instruction),
            M::Pop => return self.pop(instruction),
            M::Leave => return self.leave_frame(instruction),
            M::Cdqe | M::Cwde | M::Cdq | M::Cqo => return self.extend(instruction),
            M::Mul => return self.multiply(instruction),
            M::Imul => return self.multiply(instruction),
            M::Xchg => return self.exchange(instruction),
            _ if is_conditional(instruction) => {
                if instruction.op_count() == 1 {
                    First::Write
                } else {
                    First::Update
                }
            }
            _ => return Err(Left),
        };
        let undefined = match instruction.mnemonic() {
            M::Imul => Undefined::Product,
            M::Bt | M::Bts | M::Btr | M::Btc => {
                if instruction.op0_kind() == OpKind::Memory && instruction.op1_kind() == OpKind::Register {
                    return Err(Left);
                }
                Undefined::Bit
            }
            _ => Undefined::None,
        };
        self.ordinary(instruction, first, undefined)
    }

    /// The same instruction with other registers, and memory where it is for the host.
    pub(crate) fn ordinary(&mut self, instruction: &Instruction, first: First, undefined: Undefined) -> Done {
        let mut changed = with_explicit_operands(instruction)?;
        changed.set_has_lock_prefix(false);
        changed.set_has_xacquire_prefix(false);
        changed.set_has_xrelease_prefix(false);
        let operands = instruction.op_count();
        for n in 0..operands {
            match instruction.op_kind(n) {
                OpKind::Register => {
                    let register = instruction.op_register(n);
                    if !register.is_gpr() {
                        return Err(Left);
                    }
                }
                OpKind::Memory
                | OpKind::Immediate8
                | OpKind::Immediate16
                | OpKind::Immediate32
                | OpKind::Immediate64
                | OpKind::Immediate8to16
                | OpKind::Immediate8to32
                | OpKind::Immediate8to64
                | OpKind::Immediate32to64 => {}
                _ => return Err(Left),
            }
        }
        if (0..operands).any(|n| instruction.op_kind(n) == OpKind::Memory) {
            let written = instruction.op0_kind() == OpKind::Memory && first != First::Read;
            let access = if written { Access::Write } else { Access::Read };
            let bytes = instruction.memory_size().size();
            let memory = self.memory(instruction, bytes, access)?;
            self.with_memory(&mut changed, memory);
        }
        // What it reads of the flags, and what it leaves of them.
        let (read, modified) = (instruction.rflags_read(), instruction.rflags_modified());
        let keeps = modified != 0 && self.live & !modified != 0;
        if read != 0 || keeps && undefined != Undefined::Bit {
            self.restore_flags();
        } else if undefined == Undefined::Bit {
            self.free_flags();
        }
        let through = [T1, T2, T0];
        let in_memory = instruction.op0_kind() == OpKind::Memory;
        for n in 0..operands {
            if instruction.op_kind(n) == OpKind::Register {
                let (register, through) = (instruction.op_register(n), through[n as usize]);
                if is_high_byte(register) {
                    // RCX may have the address.
                    let through = if n == 0 || in_memory { T1 } else { T0 };
                    changed.set_op_register(n, self.read_high(register, through)?);
                    continue;
                }
                let host = match (n, first) {
                    (0, First::Write) => self.write(register, through, false),
                    (0, First::Update) => self.write(register, through, true),
                    _ => self.read(register, through),
                };
                changed.set_op_register(n, host);
            }
        }
        self.e.any(&changed);
        if modified != 0 {
            self.host_made_flags();
            let result = (instruction.op0_kind() == OpKind::Register).then(|| changed.op0_register());
            self.define(undefined, result)?;
        }
        if first != First::Read && instruction.op0_kind() == OpKind::Register {
            if is_high_byte(instruction.op0_register()) {
                return self.written_high(instruction.op0_register());
            }
            self.written(instruction.op0_register(), T1);
        }
        Ok(())
    }

    /// AH, CH, DH or BH as the lowest byte of RCX or RDX. Flags stay.
    fn read_high(&mut self, register: Register, through: Register) -> Result<Register, Left> {
        let home = home(register.full_register().number()).ok_or(Left)?;
        let high = if through == T0 { Register::CH } else { Register::DH };
        self.e.rr(Code::Mov_r32_rm32, part(through, 4), part(home, 4));
        self.e.rr(Code::Movzx_r32_rm8, part(through, 4), high);
        Ok(part(through, 1))
    }

    /// AH, CH, DH or BH becomes DL. Flags stay.
    fn written_high(&mut self, register: Register) -> Done {
        let home = home(register.full_register().number()).ok_or(Left)?;
        self.e.rr(Code::Mov_r64_rm64, T0, home);
        self.e.rr(Code::Mov_r8_rm8, Register::CH, Register::DL);
        self.e.rr(Code::Mov_r64_rm64, home, T0);
        Ok(())
    }

    /// What the encoding says, for the guest's CPU and for this host's.
    fn known(&self, instruction: &Instruction) -> bool {
        !self.source.features.lack(instruction) && !self.around.host.lack(instruction)
    }

    fn carry(&mut self, instruction: &Instruction) -> Done {
        self.free_flags();
        match instruction.mnemonic() {
            M::Stc => self.e.ri(Code::Or_rm8_imm8, Register::AH, 1),
            M::Clc => self.e.ri(Code::And_rm8_imm8, Register::AH, !1),
            _ => self.e.ri(Code::Xor_rm8_imm8, Register::AH, 1),
        }
        self.ax_has_flags();
        Ok(())
    }

    /// Gives flags that are undefined the interpreter's values, if they matter.
    pub(crate) fn define(&mut self, undefined: Undefined, result: Option<Register>) -> Done {
        if undefined == Undefined::None || self.live == 0 {
            return Ok(());
        }
        let (ah, al, dl) = (Register::AH, Register::AL, Register::DL);
        // The register that DL is a part of may have the result.
        let spare = if result.is_some_and(|result| result.full_register() == T1) { Register::CL } else { dl };
        match undefined {
            Undefined::None => {}
            Undefined::ShiftLeft => {
                self.e.bare(Code::Lahf);
                self.e.r(Code::Sets_rm8, al);
                self.e.r(Code::Setb_rm8, spare);
                self.e.rr(Code::Xor_rm8_r8, al, spare);
                self.e.ri(Code::And_rm8_imm8, ah, !0x10);
            }
            Undefined::ShiftRight => {
                self.e.bare(Code::Lahf);
                self.e.ri(Code::And_rm8_imm8, ah, !0x10);
                self.e.rr(Code::Xor_rm8_r8, al, al);
            }
            Undefined::ShiftByOne => {
                self.e.bare(Code::Lahf);
                self.e.r(Code::Seto_rm8, al);
                self.e.ri(Code::And_rm8_imm8, ah, !0x10);
            }
            Undefined::RotateLeft | Undefined::RotateRight => {
                let result = result.ok_or(Left)?;
                let bits = i32::try_from(result.size() * 8).map_err(|_| Left)?;
                let code = if bits == 64 { Code::Bt_rm64_imm8 } else { Code::Bt_rm32_imm8 };
                let whole = part(result.full_register(), if bits == 64 { 8 } else { 4 });
                let other = if undefined == Undefined::RotateLeft { 1 } else { 2 };
                self.e.bare(Code::Lahf);
                self.e.r(Code::Setb_rm8, al);
                self.e.ri(code, whole, bits - other);
                self.e.r(Code::Setb_rm8, spare);
                self.e.rr(Code::Xor_rm8_r8, al, spare);
            }
            Undefined::Product => {
                let result = result.ok_or(Left)?;
                let code = match result.size() {
                    2 => Code::Test_rm16_r16,
                    4 => Code::Test_rm32_r32,
                    _ => Code::Test_rm64_r64,
                };
                self.e.r(Code::Seto_rm8, al);
                self.e.rr(code, result, result);
                self.e.bare(Code::Lahf);
                self.e.ri(Code::And_rm8_imm8, ah, !0x10);
                self.e.rr(Code::Or_rm8_r8, ah, al);
            }
            Undefined::Bit => {
                self.e.r(Code::Setb_rm8, spare);
                self.e.ri(Code::And_rm8_imm8, ah, !1);
                self.e.rr(Code::Or_rm8_r8, ah, spare);
            }
        }
        self.ax_has_flags();
        Ok(())
    }

    fn lea(&mut self, instruction: &Instruction) -> Done {
        let register = instruction.op0_register();
        if instruction.memory_base() == Register::RIP && register.size() == 8 {
            let host = self.write(register, T2, false);
            self.e.constant(host, instruction.memory_displacement64());
            self.written(register, T2);
            return Ok(());
        }
        let operand = self.operand(instruction)?;
        let host = self.write(register, T2, false);
        let code = match register.size() {
            2 => Code::Lea_r16_m,
            4 => Code::Lea_r32_m,
            _ => Code::Lea_r64_m,
        };
        self.e.rm(code, host, operand);
        self.written(register, T2);
        Ok(())
    }

    fn push(&mut self, instruction: &Instruction) -> Done {
        if instruction.code() == Code::Push_rm64 && instruction.op0_kind() == OpKind::Memory {
            let memory = self.memory(instruction, 8, Access::Read)?;
            self.e.rm(Code::Mov_r64_rm64, T0, memory);
            self.e.mr(Code::Mov_rm64_r64, local(TEMPORARY), T0);
            let stack = self.stack(-8, Access::Write)?;
            self.e.rm(Code::Mov_r64_rm64, T2, local(TEMPORARY));
            self.e.mr(Code::Mov_rm64_r64, stack, T2);
            return self.move_sp(-8);
        }
        let value = match instruction.code() {
            Code::Push_r64 => None,
            Code::Pushq_imm8 | Code::Pushq_imm32 => Some(instruction.immediate(0)),
            _ => return Err(Left),
        };
        let stack = self.stack(-8, Access::Write)?;
        match value {
            Some(value) => self.e.store_constant(stack, value, T2),
            None => {
                let host = self.read(instruction.op0_register(), T2);
                self.e.mr(Code::Mov_rm64_r64, stack, host);
            }
        }
        self.move_sp(-8)
    }

    fn pop(&mut self, instruction: &Instruction) -> Done {
        if instruction.code() != Code::Pop_r64 {
            return Err(Left);
        }
        let register = instruction.op0_register();
        let stack = self.stack(0, Access::Read)?;
        self.move_sp(8)?;
        let host = self.write(register, T2, false);
        self.e.rm(Code::Mov_r64_rm64, host, stack);
        self.written(register, T2);
        Ok(())
    }

    fn leave_frame(&mut self, instruction: &Instruction) -> Done {
        let (Some(sp), Some(bp)) = (home(Register::RSP.number()), home(Register::RBP.number())) else {
            return Err(Left);
        };
        if instruction.code() != Code::Leaveq {
            return Err(Left);
        }
        self.free_flags();
        self.e.rr(Code::Mov_r64_rm64, T0, bp);
        let old = self.look_up(8, Access::Read)?;
        self.e.rm(Code::Lea_r64_m, sp, at(bp, 8));
        self.e.rm(Code::Mov_r64_rm64, bp, old);
        Ok(())
    }

    fn extend(&mut self, instruction: &Instruction) -> Done {
        let (Some(a), Some(d)) = (home(Register::RAX.number()), home(Register::RDX.number())) else {
            return Err(Left);
        };
        match instruction.mnemonic() {
            M::Cwde => self.e.rr(Code::Movsx_r32_rm16, part(a, 4), part(a, 2)),
            M::Cdqe => self.e.rr(Code::Movsxd_r64_rm32, a, part(a, 4)),
            M::Cdq => {
                self.free_flags();
                self.e.rr(Code::Mov_r32_rm32, part(d, 4), part(a, 4));
                self.e.ri(Code::Sar_rm32_imm8, part(d, 4), 31);
            }
            _ => {
                self.free_flags();
                self.e.rr(Code::Mov_r64_rm64, d, a);
                self.e.ri(Code::Sar_rm64_imm8, d, 63);
            }
        }
        Ok(())
    }

    /// MUL and IMUL with one operand of 32 or 64 bits. AX is needed for it; it makes new flags anyway.
    fn multiply(&mut self, instruction: &Instruction) -> Done {
        let (Some(a), Some(d)) = (home(Register::RAX.number()), home(Register::RDX.number())) else {
            return Err(Left);
        };
        let mut changed = *instruction;
        let bytes = match instruction.code() {
            Code::Mul_rm64 | Code::Imul_rm64 => 8,
            Code::Mul_rm32 | Code::Imul_rm32 => 4,
            _ => return Err(Left),
        };
        if instruction.op0_kind() == OpKind::Register {
            let factor = self.read(instruction.op0_register(), T2);
            changed.set_op_register(0, factor);
        } else {
            let memory = self.memory(instruction, bytes, Access::Read)?;
            self.with_memory(&mut changed, memory);
        }
        self.e.rr(Code::Mov_r64_rm64, Register::RAX, a);
        self.e.any(&changed);
        let code = if bytes == 8 { Code::Mov_r64_rm64 } else { Code::Mov_r32_rm32 };
        self.e.rr(code, part(a, bytes), part(Register::RAX, bytes));
        self.e.rr(code, part(d, bytes), part(Register::RDX, bytes));
        self.host_made_flags();
        self.define(Undefined::Product, Some(part(a, bytes)))
    }

    /// XCHG of registers of 32 or 64 bits.
    fn exchange(&mut self, instruction: &Instruction) -> Done {
        if instruction.op0_kind() == OpKind::Memory {
            return self.exchange_memory(instruction);
        }
        let (one, other) = (instruction.op0_register(), instruction.op1_register());
        if instruction.op0_kind() != OpKind::Register || instruction.op1_kind() != OpKind::Register {
            return Err(Left);
        }
        let bytes = one.size();
        if bytes < 4 {
            return Err(Left);
        }
        let code = if bytes == 8 { Code::Mov_r64_rm64 } else { Code::Mov_r32_rm32 };
        let (a, b) = (self.read(one, T1), self.read(other, T2));
        self.e.rr(code, part(T0, bytes), a);
        self.e.rr(code, a, b);
        self.e.rr(code, b, part(T0, bytes));
        self.written(one, T1);
        self.written(other, T2);
        Ok(())
    }
}

fn is_conditional(instruction: &Instruction) -> bool {
    instruction.condition_code() != ConditionCode::None
        && !instruction.is_jcc_short_or_near()
        && !instruction.is_loopcc()
        && instruction.op_count() <= 2
        && instruction.op0_kind() != OpKind::NearBranch64
}

/// The same instruction in an encoding that names all of its registers.
fn with_explicit_operands(instruction: &Instruction) -> Result<Instruction, Left> {
    macro_rules! accumulator {
        ($($name:ident)*) => {
            pastey::paste! {
                match instruction.code() {
                    $(
                        Code::[<$name _AL_imm8>] => Code::[<$name _rm8_imm8>],
                        Code::[<$name _AX_imm16>] => Code::[<$name _rm16_imm16>],
                        Code::[<$name _EAX_imm32>] => Code::[<$name _rm32_imm32>],
                        Code::[<$name _RAX_imm32>] => Code::[<$name _rm64_imm32>],
                    )*
                    Code::Mov_AL_moffs8
                    | Code::Mov_AX_moffs16
                    | Code::Mov_EAX_moffs32
                    | Code::Mov_RAX_moffs64
                    | Code::Mov_moffs8_AL
                    | Code::Mov_moffs16_AX
                    | Code::Mov_moffs32_EAX
                    | Code::Mov_moffs64_RAX => return Err(Left),
                    same => same,
                }
            }
        };
    }
    let code = accumulator!(Add Or Adc Sbb And Sub Xor Cmp Test);
    let mut explicit = *instruction;
    explicit.set_code(code);
    Ok(explicit)
}
