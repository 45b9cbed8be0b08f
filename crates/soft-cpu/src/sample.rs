//! What precise sampling needs of the CPU: which instruction was the last one, and what memory it accessed.

use crate::bus::Bus;
use crate::context::{CR0_PG, CS, Core, Mode};
use crate::cpu::{Cpu, fetch};
use crate::low::Low;
use crate::mmu::{PAGE, is_canonical};
use crate::sampled::{Physical, Sampled, SampledData, Sampling};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register, UsedMemory,
};
use retire::BranchKind;

/// The longest instruction, in bytes (SDM volume 2, section 2.3.11).
const LONGEST: usize = 15;

impl<B: Bus> Cpu<B> {
    /// From now on runs remember this of the last instruction of their budgets: [`sampled`](Self::sampled).
    pub fn set_sampling(&mut self, what: Sampling) {
        self.sampling = what;
    }

    /// The instruction in which the last run ended, if that was the last one of its budget, and has retired.
    #[must_use]
    pub fn sampled(&self) -> Option<Sampled> {
        self.sampled
    }

    /// Address of the next instruction (RIP).
    #[must_use]
    pub fn rip(&self) -> u64 {
        self.core.rip
    }

    /// RFLAGS.
    #[must_use]
    pub fn rflags(&self) -> u64 {
        self.core.rflags()
    }

    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15.
    #[must_use]
    pub fn gpr(&self) -> [u64; 16] {
        self.core.regs.first_chunk().copied().unwrap_or_default()
    }

    /// XMM0 to XMM15.
    #[must_use]
    pub fn xmm(&self) -> [u128; 16] {
        self.core.xmm.low()
    }

    /// CR0, CR3, CR4 and EFER, which say how addresses are translated.
    #[must_use]
    pub fn paging(&self) -> [u64; 4] {
        [self.core.cr0, self.core.cr3, self.core.cr4, self.core.efer]
    }

    /// Linear address of the next instruction.
    #[must_use]
    pub fn linear_rip(&self) -> u64 {
        self.core.wrap_linear(self.core.rip.wrapping_add(self.core.bases[CS]))
    }

    /// The next instruction, before it changes what its address is made of.
    #[cold]
    pub(crate) fn next_sample(&mut self, bus: &mut B) -> Sampled {
        let rip = self.core.rip;
        let linear = self.linear_rip();
        if self.sampling == Sampling::Address {
            return Sampled { rip, linear, length: 0, physical: None, branch: None, data: None };
        }
        let mut bytes = [0; LONGEST];
        let physical = self.core.physical_place(bus, linear);
        let mut len = 0;
        for (at, from, to) in parts(linear, LONGEST) {
            let place = self.core.physical_place(bus, at);
            if !place.is_some_and(|place| fetch(bus, place.address, &mut bytes[from..to])) {
                break;
            }
            len = to;
        }
        let instruction = self.core.next_instruction(rip, &bytes[..len]);
        Sampled {
            rip,
            linear,
            length: instruction.len().low_u8(),
            physical,
            branch: branch_kind(&instruction),
            data: self.core.data(bus, &instruction),
        }
    }
}

/// What kind of branch an instruction is.
fn branch_kind(instruction: &Instruction) -> Option<BranchKind> {
    let far = instruction.op0_kind() == OpKind::FarBranch16
        || instruction.op0_kind() == OpKind::FarBranch32
        || matches!(
            instruction.mnemonic(),
            Mnemonic::Retf | Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq
        )
        || instruction.is_call_far_indirect()
        || instruction.is_jmp_far_indirect();
    Some(match instruction.flow_control() {
        FlowControl::Next | FlowControl::Exception | FlowControl::XbeginXabortXend => return None,
        _ if far => BranchKind::Far,
        FlowControl::Interrupt => BranchKind::Far,
        FlowControl::Call if instruction.op_count() == 0 => BranchKind::Far,
        FlowControl::Return if instruction.mnemonic() != Mnemonic::Ret => BranchKind::Far,
        FlowControl::Return => BranchKind::Return,
        FlowControl::ConditionalBranch => BranchKind::Conditional,
        FlowControl::UnconditionalBranch => BranchKind::DirectJump,
        FlowControl::IndirectBranch => BranchKind::IndirectJump,
        FlowControl::Call => BranchKind::DirectCall,
        FlowControl::IndirectCall => BranchKind::IndirectCall,
    })
}

impl Core {
    /// Where a linear address is; none if there is no page. No table entry changes.
    fn physical_place<B: Bus>(&mut self, bus: &mut B, linear: u64) -> Option<Physical> {
        if self.cr0 & CR0_PG == 0 {
            return Some(Physical { address: linear & 0xFFFF_FFFF, page: 12 });
        }
        let possible = !self.long_mode() || is_canonical(linear);
        let (address, page) = possible.then(|| self.look_up(bus, linear))??;
        Some(Physical { address, page })
    }

    /// The instruction that is about to execute.
    fn next_instruction(&self, rip: u64, bytes: &[u8]) -> Instruction {
        let bits = match self.mode {
            Mode::Bits16 => 16,
            Mode::Bits32 => 32,
            Mode::Bits64 => 64,
        };
        Decoder::with_ip(bits, bytes, rip, DecoderOptions::NONE).decode()
    }

    /// The first memory operand of an instruction that is about to execute.
    fn data<B: Bus>(&mut self, bus: &mut B, instruction: &Instruction) -> Option<SampledData> {
        if is_prefetch(instruction.mnemonic()) {
            // No access, and so none of those that are listed.
            let address = instruction.virtual_address(0, 0, |register, _, _| self.part(register))?;
            let address = self.wrap_linear(address);
            let physical = self.physical_place(bus, address);
            return Some(SampledData { address, physical, prefetch: true, ..SampledData::default() });
        }
        let mut factory = InstructionInfoFactory::new();
        let operands = factory.info(instruction).used_memory();
        let accessed =
            |operand: &&UsedMemory| !matches!(operand.access(), OpAccess::None | OpAccess::NoMemAccess);
        let operand = operands.iter().find(accessed)?;
        let address = operand.virtual_address(0, |register, _, _| self.part(register))?;
        let address = self.wrap_linear(address);
        let writes = matches!(
            operand.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        let only_writes = matches!(operand.access(), OpAccess::Write | OpAccess::CondWrite);
        Some(SampledData {
            address,
            physical: self.physical_place(bus, address),
            bytes: u16::try_from(operand.memory_size().size()).unwrap_or(0),
            load: !only_writes,
            store: writes,
            locked: writes && (instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg),
            prefetch: false,
        })
    }

    /// A register as addresses are made of it: a segment's base, or the number.
    fn part(&self, register: Register) -> Option<u64> {
        if register.is_segment_register() {
            return self.bases.get(register.number()).copied();
        }
        let value = register.is_gpr().then(|| self.regs[register.full_register().number()])?;
        Some(match register.size() {
            2 => value & 0xFFFF,
            4 => value & 0xFFFF_FFFF,
            _ => value,
        })
    }
}

/// Ranges within pages: where each is, and which bytes it has.
fn parts(linear: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut from = 0;
    core::iter::from_fn(move || {
        let at = linear.wrapping_add(from as u64);
        let in_page = usize::try_from(PAGE - at % PAGE).unwrap_or(usize::MAX);
        let part = (from < len).then(|| (at, from, len.min(from.saturating_add(in_page))))?;
        from = part.2;
        Some(part)
    })
}

fn is_prefetch(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Prefetch
            | Mnemonic::Prefetchw
            | Mnemonic::Prefetchwt1
            | Mnemonic::Prefetchnta
            | Mnemonic::Prefetcht0
            | Mnemonic::Prefetcht1
            | Mnemonic::Prefetcht2
    )
}
