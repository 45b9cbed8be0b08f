//! One x86 instruction of every kind.

use super::llvm::{Mca, att};
use super::target::{Entry, Target};
use crate::error::TaskError;
use core_model::{Form, Isa};
use iced_x86::{
    Code, CpuidFeature, EncodingKind, Instruction, MemoryOperand, OpCodeOperandKind, OpKind, Register,
};

/// Instruction sets of the x86-64-v4 level, and what programs use of those that came later.
const SETS: [CpuidFeature; 58] = [
    CpuidFeature::AES,
    CpuidFeature::AVX512F,
    CpuidFeature::AVX512BW,
    CpuidFeature::AVX512CD,
    CpuidFeature::AVX512DQ,
    CpuidFeature::AVX512VL,
    CpuidFeature::AVX512_BF16,
    CpuidFeature::AVX512_BITALG,
    CpuidFeature::AVX512_FP16,
    CpuidFeature::AVX512_IFMA,
    CpuidFeature::AVX512_VBMI,
    CpuidFeature::AVX512_VBMI2,
    CpuidFeature::AVX512_VNNI,
    CpuidFeature::AVX512_VPOPCNTDQ,
    CpuidFeature::AVX_IFMA,
    CpuidFeature::AVX_VNNI,
    CpuidFeature::CLFLUSHOPT,
    CpuidFeature::CLWB,
    CpuidFeature::GFNI,
    CpuidFeature::PCLMULQDQ,
    CpuidFeature::SHA,
    CpuidFeature::VAES,
    CpuidFeature::VPCLMULQDQ,
    CpuidFeature::ADX,
    CpuidFeature::AVX,
    CpuidFeature::AVX2,
    CpuidFeature::BMI1,
    CpuidFeature::BMI2,
    CpuidFeature::F16C,
    CpuidFeature::FMA,
    CpuidFeature::LZCNT,
    CpuidFeature::MOVBE,
    CpuidFeature::INTEL8086,
    CpuidFeature::INTEL186,
    CpuidFeature::INTEL286,
    CpuidFeature::INTEL386,
    CpuidFeature::INTEL486,
    CpuidFeature::X64,
    CpuidFeature::CMOV,
    CpuidFeature::CPUID,
    CpuidFeature::CX8,
    CpuidFeature::CMPXCHG16B,
    CpuidFeature::CLFSH,
    CpuidFeature::FPU,
    CpuidFeature::FPU287,
    CpuidFeature::FPU387,
    CpuidFeature::FXSR,
    CpuidFeature::MMX,
    CpuidFeature::MULTIBYTENOP,
    CpuidFeature::PAUSE,
    CpuidFeature::POPCNT,
    CpuidFeature::SSE,
    CpuidFeature::SSE2,
    CpuidFeature::SSE3,
    CpuidFeature::SSSE3,
    CpuidFeature::SSE4_1,
    CpuidFeature::SSE4_2,
    CpuidFeature::TSC,
];

/// Scheduling models of Intel's and AMD's newest cores are LLVM 19's.
pub(crate) const TARGET: Target = Target {
    isa: Isa::X86,
    triple: "x86_64",
    oldest: 19,
    load: "Mov_r64_rm64",
    probe: Some("vaddps %zmm1, %zmm2, %zmm3"),
    entries,
};

fn entries(_: &Mca) -> Result<Vec<Entry>, TaskError> {
    let entry = |(code, form, instruction): (Code, _, _)| Entry {
        name: format!("{code:?}"),
        form,
        text: att(&instruction),
        extension: code.op_code().encoding() == EncodingKind::EVEX || uses_masks(&instruction),
    };
    Ok(all().map(entry).collect())
}

/// KMOV and its like, which have no EVEX prefix.
fn uses_masks(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|n| instruction.op_register(n).is_k())
}

/// Every instruction of these sets in 64-bit mode, in the forms that it has.
pub(crate) fn all() -> impl Iterator<Item = (Code, Form, Instruction)> {
    let forms = [Form::Register, Form::Memory];
    Code::values()
        .filter(|code| {
            let op_code = code.op_code();
            matches!(op_code.encoding(), EncodingKind::Legacy | EncodingKind::VEX | EncodingKind::EVEX)
                && op_code.is_instruction()
                && op_code.mode64()
                && !op_code.must_be_cpl0()
                // LLVM counts the WAIT in front as an instruction of its own.
                && !op_code.fwait()
                && code.cpuid_features().iter().all(|set| SETS.contains(set))
        })
        .flat_map(move |code| forms.map(|form| (code, form)))
        .filter_map(|(code, form)| Some((code, form, build(code, form)?)))
}

/// The instruction with different registers for its operands; `None` if it does not have the form.
fn build(code: Code, form: Form) -> Option<Instruction> {
    let mut instruction = Instruction::new();
    instruction.set_code(code);
    let op_code = code.op_code();
    let mut memory = false;
    for operand in 0..op_code.op_count() {
        memory |= set(&mut instruction, operand, op_code.op_kind(operand), form)?;
    }
    if op_code.require_op_mask_register() {
        instruction.set_op_mask(Register::K2);
    }
    (memory == (form == Form::Memory)).then_some(instruction)
}

/// Sets an operand; true if it is memory.
fn set(instruction: &mut Instruction, operand: u32, kind: OpCodeOperandKind, form: Form) -> Option<bool> {
    use OpCodeOperandKind as K;
    let n = operand as usize;
    // The first operand is usually the destination.
    let gpr8 = [Register::CL, Register::DL, Register::BL, Register::SIL][n.min(3)];
    let gpr16 = [Register::CX, Register::DX, Register::BX, Register::SI][n.min(3)];
    let gpr32 = [Register::ECX, Register::EDX, Register::EBX, Register::ESI][n.min(3)];
    let gpr64 = [Register::RCX, Register::RDX, Register::RBX, Register::RSI][n.min(3)];
    let mm = [Register::MM1, Register::MM2, Register::MM3, Register::MM4][n.min(3)];
    let xmm = [Register::XMM1, Register::XMM2, Register::XMM3, Register::XMM4][n.min(3)];
    let ymm = [Register::YMM1, Register::YMM2, Register::YMM3, Register::YMM4][n.min(3)];
    let zmm = [Register::ZMM1, Register::ZMM2, Register::ZMM3, Register::ZMM4][n.min(3)];
    let mask = [Register::K3, Register::K4, Register::K5, Register::K6][n.min(3)];
    let memory = form == Form::Memory;
    let register = match kind {
        K::r8_or_mem
        | K::r16_or_mem
        | K::r32_or_mem
        | K::r64_or_mem
        | K::mm_or_mem
        | K::xmm_or_mem
        | K::ymm_or_mem
        | K::zmm_or_mem
        | K::k_or_mem
        | K::r32_or_mem_mpx
        | K::r64_or_mem_mpx
            if memory =>
        {
            return Some(set_memory(instruction, operand));
        }
        K::mem | K::mem_mpx => return memory.then(|| set_memory(instruction, operand)),
        K::mem_vsib32x | K::mem_vsib64x => {
            return memory.then(|| set_vector_memory(instruction, operand, Register::XMM7));
        }
        K::mem_vsib32y | K::mem_vsib64y => {
            return memory.then(|| set_vector_memory(instruction, operand, Register::YMM7));
        }
        K::mem_vsib32z | K::mem_vsib64z => {
            return memory.then(|| set_vector_memory(instruction, operand, Register::ZMM7));
        }
        K::r8_or_mem | K::r8_reg | K::r8_opcode => gpr8,
        K::r16_or_mem | K::r16_reg | K::r16_rm | K::r16_opcode | K::r16_reg_mem => gpr16,
        K::r32_or_mem | K::r32_vvvv | K::r32_reg | K::r32_rm | K::r32_opcode | K::r32_reg_mem => gpr32,
        K::r64_or_mem | K::r64_vvvv | K::r64_reg | K::r64_rm | K::r64_opcode | K::r64_reg_mem => gpr64,
        K::mm_or_mem | K::mm_reg | K::mm_rm => mm,
        K::xmm_or_mem | K::xmm_reg | K::xmm_rm | K::xmm_vvvv | K::xmm_is4 => xmm,
        K::ymm_or_mem | K::ymm_reg | K::ymm_rm | K::ymm_vvvv | K::ymm_is4 => ymm,
        K::zmm_or_mem | K::zmm_reg | K::zmm_rm | K::zmm_vvvv => zmm,
        K::k_or_mem | K::k_reg | K::k_rm | K::k_vvvv => mask,
        K::al => Register::AL,
        K::cl => Register::CL,
        K::ax => Register::AX,
        K::dx => Register::DX,
        K::eax => Register::EAX,
        K::rax => Register::RAX,
        K::st0 => Register::ST0,
        K::sti_opcode => Register::ST2,
        K::imm8 | K::imm8_const_1 => {
            instruction.set_op_kind(operand, OpKind::Immediate8);
            instruction.set_immediate8(if kind == K::imm8 { 5 } else { 1 });
            return Some(false);
        }
        K::imm8sex16 => return Some(immediate(instruction, operand, OpKind::Immediate8to16)),
        K::imm8sex32 => return Some(immediate(instruction, operand, OpKind::Immediate8to32)),
        K::imm8sex64 => return Some(immediate(instruction, operand, OpKind::Immediate8to64)),
        K::imm16 => return Some(immediate(instruction, operand, OpKind::Immediate16)),
        K::imm32 => return Some(immediate(instruction, operand, OpKind::Immediate32)),
        K::imm32sex64 => return Some(immediate(instruction, operand, OpKind::Immediate32to64)),
        K::imm64 => return Some(immediate(instruction, operand, OpKind::Immediate64)),
        K::br64_1 | K::br64_4 => {
            instruction.set_op_kind(operand, OpKind::NearBranch64);
            instruction.set_near_branch64(0x40);
            return Some(false);
        }
        _ => return None,
    };
    instruction.set_op_kind(operand, OpKind::Register);
    instruction.set_op_register(operand, register);
    Some(false)
}

fn set_memory(instruction: &mut Instruction, operand: u32) -> bool {
    let memory = MemoryOperand::with_base(Register::RDI);
    instruction.set_op_kind(operand, OpKind::Memory);
    instruction.set_memory_base(memory.base);
    instruction.set_memory_index_scale(1);
    true
}

/// The operand of a gather or a scatter.
fn set_vector_memory(instruction: &mut Instruction, operand: u32, index: Register) -> bool {
    set_memory(instruction, operand);
    instruction.set_memory_index(index);
    true
}

fn immediate(instruction: &mut Instruction, operand: u32, kind: OpKind) -> bool {
    instruction.set_op_kind(operand, kind);
    instruction.set_immediate64(0x55);
    if kind == OpKind::Immediate16 || kind == OpKind::Immediate32 || kind == OpKind::Immediate32to64 {
        instruction.set_immediate32(0x555);
    }
    false
}
