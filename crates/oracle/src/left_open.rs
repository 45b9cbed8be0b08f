//! Which differences are about what the manuals leave open: the order in which the faults of an instruction come, what
//! it has done when it faults, and the rules in which recorded cores differ.

use crate::case::{Case, Outcome};
use crate::compare::{Verdict, compare, instructions};
use crate::layout::{HIGH, SCRATCH};
use crate::soft::Soft;
use crate::start::Start;
use iced_x86::{CpuidFeature, Instruction, InstructionInfoFactory, OpAccess, Register, UsedMemory};
use soft_cpu::silicon::Silicon;

/// Vectors of #DB and #BP: not of faults.
const TRAPS: [u8; 2] = [1, 3];
/// CF, PF, AF, ZF, SF, OF.
const STATUS_FLAGS: u64 = 0x8D5;
/// The exceptions in MXCSR.
const MXCSR_FLAGS: u32 = 0x3F;

/// The interpreter by the rules of every recorded core but one. A core that has not been recorded may take another side
/// than the others of its vendor in each rule of [`soft_cpu::silicon`].
#[derive(Debug)]
pub(crate) struct Sides(Vec<Soft>);

impl Sides {
    /// All but `own`.
    pub(crate) fn beside(own: Silicon) -> Self {
        Self(Silicon::ALL.into_iter().filter(|side| *side != own).map(Soft::new).collect())
    }

    /// Whether the rules of one of them lead to the CPU's end of the case, but for what is masked.
    pub(crate) fn explain(&mut self, case: &Case, native: &Outcome) -> bool {
        let same = |end: &Outcome| !matches!(compare(case, native, end), Verdict::Different(_));
        self.0.iter_mut().any(|soft| soft.run(case).is_ok_and(|end| same(&end)))
    }
}

/// Whether two ends of a case differ only in what the manuals leave open: one instruction faults on both sides, and
/// what it does not write is the same.
pub(crate) fn left_open(case: &Case, native: &Outcome, soft: &Outcome) -> bool {
    if TRAPS.contains(&native.vector) || TRAPS.contains(&soft.vector) || native.rip != soft.rip {
        return false;
    }
    let list = instructions(case);
    let Some(instruction) = list.iter().find(|ins| ins.ip() == soft.rip) else { return false };
    let mut native = native.clone();
    (native.vector, native.error, native.cr2) = (soft.vector, soft.error, soft.cr2);
    // Adopts what the instruction may have written.
    let flags = if instruction.rflags_modified() == 0 { 0 } else { STATUS_FLAGS };
    native.rflags = native.rflags & !flags | soft.rflags & flags;
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    for used in info.used_registers().iter().filter(|used| writes(used.access())) {
        let register = used.register();
        if register.is_gpr() {
            let n = register.full_register() as usize - Register::RAX as usize;
            native.gpr[n] = soft.gpr[n];
        } else if register.is_vector_register() {
            let n = register.full_register() as usize - Register::ZMM0 as usize;
            native.zmm[n & 31] = soft.zmm[n & 31];
        } else if register.is_k() {
            let n = register as usize - Register::K0 as usize;
            native.k[n & 7] = soft.k[n & 7];
        }
    }
    let operand =
        |kind: fn(Register) -> bool| (0..instruction.op_count()).any(|n| kind(instruction.op_register(n)));
    if x87(instruction) || operand(Register::is_mm) {
        (native.fcw, native.fsw, native.ftw, native.st) = (soft.fcw, soft.fsw, soft.ftw, soft.st);
    }
    if operand(Register::is_vector_register) {
        native.mxcsr = native.mxcsr & !MXCSR_FLAGS | soft.mxcsr & MXCSR_FLAGS;
    }
    let written: Vec<(u64, u64)> = info
        .used_memory()
        .iter()
        .filter(|used| writes(used.access()))
        .filter_map(|used| place(used, soft))
        .collect();
    let outside = |outcome: &Outcome| -> Vec<(u16, u8)> {
        let inside = |at: u16| {
            let at = SCRATCH + u64::from(at);
            written.iter().any(|(first, size)| at.wrapping_sub(*first) < *size)
        };
        outcome.memory.iter().copied().filter(|(at, _)| !inside(*at)).collect()
    };
    native.memory = outside(&native);
    native == Outcome { memory: outside(soft), ..soft.clone() }
}

fn x87(instruction: &Instruction) -> bool {
    use CpuidFeature as F;
    let of_x87 = |feature: &F| matches!(feature, F::FPU | F::FPU287 | F::FPU287XL_ONLY | F::FPU387 | F::FXSR);
    instruction.cpuid_features().iter().any(of_x87)
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// First byte, in the first mapping, and size of an operand.
fn place(used: &UsedMemory, outcome: &Outcome) -> Option<(u64, u64)> {
    let registers = Start { gpr: outcome.gpr, ..Start::from_seed(0) };
    let address = used.virtual_address(0, |register, _, _| Some(registers.register(register)))?;
    Some((address & !HIGH, used.memory_size().size() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    /// Two ends of a case that is one instruction, in #PF and #GP, changed by `change`.
    fn judge(code: &[u8], change: impl Fn(&mut Outcome, &mut Outcome)) -> bool {
        let case = Case { code: code.to_vec(), offset: 0x100, seed: 1, machine: Machine::Sse };
        let mut native = Outcome { vector: 14, error: 4, cr2: 7, rip: case.rip(), ..Outcome::default() };
        native.gpr[4] = 0x2_5100;
        let mut soft = Outcome { vector: 13, error: 0, cr2: 0, ..native.clone() };
        change(&mut native, &mut soft);
        left_open(&case, &native, &soft)
    }

    #[test]
    fn the_order_of_faults_and_what_the_instruction_writes_are_open() {
        let (cmpsb, call) = ([0xA6], [0xFF, 0xD0]);
        let (movq, fistp) = ([0x0F, 0x7F, 0x00], [0xDF, 0x18]);
        assert!(judge(&cmpsb, |_, _| {}));
        assert!(judge(&cmpsb, |native, _| (native.rflags, native.gpr[6]) = (0x8D5, 5)));
        assert!(judge(&call, |native, _| native.memory = vec![(0x50F8, 2)]), "below RSP");
        assert!(judge(&movq, |native, _| native.fsw = 0x3800));
        assert!(judge(&fistp, |native, _| native.fsw = 1));
    }

    #[test]
    fn what_a_recorded_core_does_is_open_and_nothing_beside_it() {
        // DPPS xmm0, xmm1, 0xFF: the vendors choose among the NaNs of a random state differently.
        let dpps = [0x66, 0x0F, 0x3A, 0x40, 0xC1, 0xFF];
        let (mut intel, mut zen4) = (Soft::new(Silicon::Intel), Soft::new(Silicon::Zen4));
        let mut sides = Sides::beside(Silicon::Zen4);
        let mut seen = 0;
        for seed in 0..200 {
            let case = Case { code: dpps.to_vec(), offset: 0x100, seed, machine: Machine::Sse };
            let (native, soft) = (intel.run(&case).expect("an end"), zen4.run(&case).expect("an end"));
            if native.zmm == soft.zmm {
                continue;
            }
            seen += 1;
            assert!(!left_open(&case, &native, &soft), "no fault");
            assert!(sides.explain(&case, &native));
            let mut wrong = native.clone();
            wrong.zmm[0][0] ^= 1;
            assert!(!sides.explain(&case, &wrong));
            wrong = native.clone();
            wrong.gpr[15] ^= 1;
            assert!(!sides.explain(&case, &wrong));
        }
        assert!(seen > 0, "no case with NaNs");
    }

    #[test]
    fn everything_else_is_a_wrong_value() {
        let (cmpsb, call, movq) = ([0xA6], [0xFF, 0xD0], [0x0F, 0x7F, 0x00]);
        assert!(!judge(&cmpsb, |native, _| native.gpr[0] = 5), "not written");
        assert!(!judge(&cmpsb, |native, _| native.rflags = 1 << 9), "not written");
        assert!(!judge(&cmpsb, |native, _| native.fsw = 1), "not x87");
        assert!(!judge(&cmpsb, |native, _| native.rip += 1), "another instruction faults");
        assert!(!judge(&cmpsb, |native, _| native.vector = 3), "one side does not fault");
        assert!(!judge(&call, |native, _| native.memory = vec![(0x5100, 2)]), "not written");
        assert!(!judge(&movq, |native, _| native.rflags = 1), "not written");
    }
}
