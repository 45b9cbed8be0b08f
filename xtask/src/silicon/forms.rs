//! Recordings of single instructions: what each form takes on this host, of which uop tables can be made.

use super::able;
use super::block::Way;
use super::form_rows::{HEADER, Row};
use super::machine::Vectors;
use super::native::{self, Host};
use super::record::{How, figure, host_name};
use crate::error::TaskError;
use crate::mca::x86;
use core_model::{Core, Form};
use iced_x86::{
    Code, CpuidFeature, Encoder, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpCodeOperandKind, OpKind, Register,
};
use indicatif::ProgressBar;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Bytes from one memory operand to the next one: a line each.
const APART: u64 = 64;
/// Copies to different places in memory.
const PLACES: usize = 8;
/// How often a figure is measured until it is stable.
const TRIES: usize = 3;
/// What a supervisor or a hypervisor may intercept, and what changes the state in which a block runs.
const STATE: [Mnemonic; 20] = [
    Mnemonic::Cpuid,
    Mnemonic::Enter,
    Mnemonic::In,
    Mnemonic::Lar,
    Mnemonic::Ldmxcsr,
    Mnemonic::Leave,
    Mnemonic::Lfs,
    Mnemonic::Lgs,
    Mnemonic::Lsl,
    Mnemonic::Lss,
    Mnemonic::Out,
    Mnemonic::Popf,
    Mnemonic::Popfq,
    Mnemonic::Sgdt,
    Mnemonic::Sidt,
    Mnemonic::Sldt,
    Mnemonic::Smsw,
    Mnemonic::Str,
    Mnemonic::Verr,
    Mnemonic::Verw,
];
/// What depends on the values of its operands more than on its form: divisions, and moves by the signs of a mask, which
/// take 300 cycles on Zen 5 if there is nothing to move, as here.
const BY_VALUE: [Mnemonic; 9] = [
    Mnemonic::Div,
    Mnemonic::Idiv,
    Mnemonic::Maskmovdqu,
    Mnemonic::Maskmovq,
    Mnemonic::Vmaskmovdqu,
    Mnemonic::Vmaskmovpd,
    Mnemonic::Vmaskmovps,
    Mnemonic::Vpmaskmovd,
    Mnemonic::Vpmaskmovq,
];
/// Registers that are as good as each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    General,
    Vector,
    Mask,
    Mmx,
}

impl Kind {
    fn of(register: Register) -> Option<Self> {
        if register.is_gpr() {
            Some(Self::General)
        } else if register.is_vector_register() {
            Some(Self::Vector)
        } else if register.is_k() {
            Some(Self::Mask)
        } else {
            register.is_mm().then_some(Self::Mmx)
        }
    }

    /// Numbers of registers that are written to, so many that no copy waits for another one.
    fn destinations(self) -> &'static [u32] {
        match self {
            Self::General => &[8, 9, 10, 11, 12, 13, 14, 15],
            Self::Vector => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
            Self::Mask => &[2, 3, 4, 5],
            Self::Mmx => &[0, 1, 2, 3, 4, 5],
        }
    }

    /// Numbers of registers that are only read, beside RBX, which memory operands have.
    fn sources(self) -> &'static [u32] {
        match self {
            Self::General => &[6, 7],
            Self::Vector => &[13, 14, 15],
            Self::Mask => &[1, 6, 7],
            Self::Mmx => &[6, 7],
        }
    }
}

/// The register of this number that has the kind and the size of another one.
fn numbered(like: Register, number: u32) -> Register {
    if like.is_gpr8() {
        // AH to BH are between BL and SPL.
        Register::AL + if number < 4 { number } else { number + 4 }
    } else if like.is_gpr16() {
        Register::AX + number
    } else if like.is_gpr32() {
        Register::EAX + number
    } else if like.is_gpr64() {
        Register::RAX + number
    } else if like.is_k() {
        Register::K0 + number
    } else if like.is_mm() {
        Register::MM0 + number
    } else if like.is_xmm() {
        Register::XMM0 + number
    } else if like.is_ymm() {
        Register::YMM0 + number
    } else {
        Register::ZMM0 + number
    }
}

/// The kind of an operand that is a register; `None` for others, and for those that the form has one register for.
fn kind_of(instruction: &Instruction, operand: u32) -> Option<Kind> {
    use OpCodeOperandKind as K;
    let kind = instruction.code().op_code().op_kind(operand);
    let fixed = matches!(kind, K::al | K::cl | K::ax | K::dx | K::eax | K::rax | K::st0 | K::sti_opcode);
    if fixed || instruction.op_kind(operand) != OpKind::Register {
        return None;
    }
    Kind::of(instruction.op_register(operand))
}

/// How many copies of the instruction go to different places.
fn copies(instruction: &Instruction) -> usize {
    match kind_of(instruction, 0) {
        Some(kind) => kind.destinations().len(),
        None if instruction.op0_kind() == OpKind::Memory => PLACES,
        None => 1,
    }
}

/// A copy of the instruction: its destination is another one in each copy, its sources are never written to, except for
/// one that is the destination too.
fn copy(instruction: &Instruction, number: usize, chained: Option<u32>) -> Instruction {
    let mut copy = *instruction;
    let mut sources = 0;
    for operand in 0..instruction.op_count() {
        if instruction.op_kind(operand) == OpKind::Memory {
            copy.set_memory_base(Register::RBX);
            copy.set_memory_displacement64(APART * number as u64);
            copy.set_memory_displ_size(if number == 0 { 0 } else { 8 });
        }
        let Some(kind) = kind_of(instruction, operand) else { continue };
        let pool =
            if operand == 0 || chained == Some(operand) { kind.destinations() } else { kind.sources() };
        let place = match operand {
            0 => number,
            _ if chained == Some(operand) => 0,
            _ => sources,
        };
        sources += usize::from(operand != 0);
        copy.set_op_register(operand, numbered(instruction.op_register(operand), pool[place % pool.len()]));
    }
    copy
}

/// The source operands through which a chain of the instruction can go: those of the destination's kind, and the
/// destination itself if it is read.
fn chains(instruction: &Instruction) -> Vec<u32> {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let destination = kind_of(instruction, 0);
    let reads = |operand| {
        use OpAccess as A;
        matches!(info.op_access(operand), A::Read | A::CondRead | A::ReadWrite | A::ReadCondWrite)
    };
    if destination.is_none() || matches!(info.op0_access(), OpAccess::Read | OpAccess::CondRead) {
        return Vec::new();
    }
    (0..instruction.op_count())
        .filter(|&operand| reads(operand) && kind_of(instruction, operand) == destination)
        .collect()
}

/// What is not measured, whatever the interpreter makes of it.
fn is_left_out(instruction: &Instruction) -> bool {
    use CpuidFeature as F;
    let x87 = |feature: &F| matches!(feature, F::FPU | F::FPU287 | F::FPU387 | F::FXSR);
    instruction.flow_control() != FlowControl::Next
        || instruction.is_privileged()
        || instruction.is_string_instruction()
        || instruction.code().cpuid_features().iter().any(x87)
        // Its copies wait for each other through registers that it does not name, or are NOPs.
        || instruction.op_count() == 0
        // Elements are read until the mask is empty, so only once.
        || instruction.is_vsib()
        || STATE.contains(&instruction.mnemonic())
        || BY_VALUE.contains(&instruction.mnemonic())
}

fn encode(instructions: &[Instruction]) -> Option<Vec<u8>> {
    let mut encoder = Encoder::new(64);
    for instruction in instructions {
        encoder.encode(instruction, 0).ok()?;
    }
    Some(encoder.take_buffer())
}

/// Cycles of a block in a loop.
fn cycles(core: &'static Core, host: &mut Host, block: &[Instruction]) -> Result<Option<f64>, TaskError> {
    let Some(code) = encode(block) else { return Ok(None) };
    let how = How { way: Way::Loop, vectors: Vectors::Avx512, tries: TRIES };
    Ok(figure(core, host, &code, how)?.map(|sampled| sampled.cycles))
}

/// The row of a form.
fn row(
    core: &'static Core,
    host: &mut Host,
    (code, form, instruction): &(Code, Form, Instruction),
) -> Result<Row, TaskError> {
    let all: Vec<_> = (0..copies(instruction)).map(|number| copy(instruction, number, None)).collect();
    let throughput = cycles(core, host, &all)?.map(|cycles| cycles / all.len() as f64);
    let mut latencies = Vec::new();
    for operand in chains(instruction) {
        let chained = (operand != 0).then_some(operand);
        if let Some(latency) = cycles(core, host, &[copy(instruction, 0, chained)])? {
            latencies.push((operand, latency));
        }
    }
    Ok(Row { form: format!("{code:?}"), operand: *form, cycles: throughput, latencies })
}

/// Measures every form on this host, and writes throughputs and latencies to a file.
pub(super) fn record(core: &'static Core, path: &Path) -> Result<(), TaskError> {
    let all: Vec<_> = x86::all()
        .filter(|(_, _, instruction)| !is_left_out(instruction) && able::executes(instruction))
        .collect();
    let bar = ProgressBar::new(all.len() as u64);
    let (rows, count, dropped) = native::on_thread(|mut host| {
        let (mut rows, mut count) = (String::new(), 0);
        for one in &all {
            bar.inc(1);
            let row = row(core, &mut host, one)?;
            if row.count() > 0 {
                rows.extend([row.to_string(), "\n".to_owned()]);
                count += 1;
            }
        }
        Ok((rows, count, host.dropped))
    })?;
    bar.finish_and_clear();
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# {}", host_name());
    let _ = writeln!(text, "# {count} of {} forms measured, {dropped} samples dropped", all.len());
    let _ =
        writeln!(text, "# cycles: of a copy among independent ones; latency: of a chain through an operand");
    let _ = write!(text, "{HEADER}\n{rows}");
    fs::write(path, text).map_err(|source| TaskError::File { path: path.to_owned(), source })?;
    anstream::println!("wrote {}: {count} of {} forms", path.display(), all.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;
    use iced_x86::{Formatter as _, GasFormatter};

    fn built(code: Code, form: Form) -> Instruction {
        x86::all().find(|(other, of, _)| *other == code && *of == form).unwrap().2
    }

    /// Whatever syntax other crates of the build have Display write.
    fn text(instruction: &Instruction) -> String {
        let mut text = String::new();
        GasFormatter::new().format(instruction, &mut text);
        text
    }

    #[test]
    fn forms_are_copied_to_registers_that_no_copy_reads() {
        let add = built(Code::Add_r64_rm64, Form::Register);
        let texts: Vec<String> = (0..copies(&add)).map(|n| text(&copy(&add, n, None))).collect();
        assert_eq!((texts.len(), texts[7].as_str()), (8, "add %rsi,%r15"));
        let byte = built(Code::Add_rm8_r8, Form::Memory);
        assert_eq!(text(&copy(&byte, 0, None)), "add %sil,(%rbx)");
        assert_eq!(copies(&byte), 8);
        let blend = built(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, Form::Register);
        assert_eq!(text(&copy(&blend, 11, None)), "vblendvps %ymm15,%ymm14,%ymm13,%ymm11");
        // The shift's count is CL in each copy.
        assert_eq!(text(&copy(&built(Code::Shl_rm32_CL, Form::Register), 1, None)), "shl %cl,%r9d");
    }

    #[test]
    fn forms_have_chains_through_what_they_read() {
        let fma = built(Code::VEX_Vfmadd231pd_xmm_xmm_xmmm128, Form::Register);
        assert_eq!(chains(&fma), [0, 1, 2]);
        assert_eq!(text(&copy(&fma, 0, Some(1))), "vfmadd231pd %xmm14,%xmm0,%xmm0");
        assert_eq!(chains(&built(Code::VEX_Mulx_r64_r64_rm64, Form::Register)), [2]);
        assert!(chains(&built(Code::Cmp_r64_rm64, Form::Register)).is_empty());
        assert!(chains(&built(Code::Movd_xmm_rm32, Form::Register)).is_empty());
    }

    #[test]
    fn forms_that_leave_the_block_or_ask_a_supervisor_are_left_out() {
        for code in [Code::Call_rel32_64, Code::Retnq, Code::Div_rm64, Code::Sgdt_m1664, Code::Stosb_m8_AL] {
            let all: Vec<_> = x86::all().filter(|(other, ..)| *other == code).collect();
            assert!(all.iter().all(|(_, _, instruction)| is_left_out(instruction)), "{code:?}");
        }
        assert!(!is_left_out(&built(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, Form::Register)));
    }
}
