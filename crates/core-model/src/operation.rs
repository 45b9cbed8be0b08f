//! An instruction as the pipeline sees it.

use crate::table::{Cost, Form, UopTable, Uops};
use iced_x86::{Instruction, InstructionInfoFactory, OpAccess, OpKind, Register, RflagsBits};

/// Numbers of what instructions read and write.
pub(crate) const RESOURCES: usize = 40;
const XMM: u8 = 16;
/// CF apart from the other flags, because INC, DEC and rotates treat it apart.
const CARRY: u8 = 32;
const OTHER_FLAGS: u8 = 33;
/// The x87 stack and the MMX registers, as one.
const X87: u8 = 34;

/// An instruction with its costs and what it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub(crate) slots: u16,
    /// Cycles from the address to the loaded value; 0 without a load.
    pub(crate) load: u16,
    /// Cycles from the last source to the result.
    pub(crate) compute: u16,
    pub(crate) uops: Vec<Uops>,
    /// Registers that the address is made of.
    pub(crate) address: Vec<u8>,
    /// Other sources.
    pub(crate) sources: Vec<u8>,
    pub(crate) results: Vec<u8>,
}

impl Default for Operation {
    /// One uop of one cycle that depends on nothing.
    fn default() -> Self {
        Self {
            slots: 1,
            load: 0,
            compute: 1,
            uops: Vec::new(),
            address: Vec::new(),
            sources: Vec::new(),
            results: Vec::new(),
        }
    }
}

impl Operation {
    /// Prepares an instruction; `None` if the table does not know it.
    #[must_use]
    pub fn new(
        instruction: &Instruction,
        table: &UopTable,
        info: &mut InstructionInfoFactory,
    ) -> Option<Self> {
        let memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
        let form = if memory { Form::Memory } else { Form::Register };
        let cost = table.cost(instruction.code(), form)?;
        let info = info.info(instruction);
        let mut address = Vec::new();
        if memory {
            address.extend(
                [instruction.memory_base(), instruction.memory_index()].into_iter().filter_map(number),
            );
        }
        let mut sources = Vec::new();
        let mut results = Vec::new();
        for used in info.used_registers() {
            let Some(register) = number(used.register()) else { continue };
            let access = used.access();
            let reads = matches!(
                access,
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            );
            let writes = !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
            // A write of part of a register keeps the rest of it.
            let merges = writes && (used.register().is_gpr8() || used.register().is_gpr16());
            let only_address = reads && address.contains(&register) && !is_operand(instruction, register);
            if (reads || merges || access == OpAccess::CondWrite) && !only_address {
                sources.push(register);
            }
            if writes {
                results.push(register);
            }
        }
        let flags = |bits: u32| {
            let carry = (bits & RflagsBits::CF != 0).then_some(CARRY);
            let others = RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::PF;
            carry.into_iter().chain((bits & others != 0).then_some(OTHER_FLAGS))
        };
        sources.extend(flags(instruction.rflags_read()));
        results.extend(flags(instruction.rflags_modified()));
        let loads = info.used_memory().iter().any(|memory| {
            !matches!(memory.access(), OpAccess::Write | OpAccess::CondWrite | OpAccess::NoMemAccess)
        });
        let register_form = table.cost(instruction.code(), Form::Register);
        let (load, compute) = split_latency(cost, register_form, memory && loads, memory);
        Some(Self { slots: cost.slots, load, compute, uops: cost.uops.clone(), address, sources, results })
    }
}

/// Latency of the load and of the rest.
fn split_latency(cost: &Cost, register_form: Option<&Cost>, loads: bool, memory: bool) -> (u16, u16) {
    if !memory {
        return (0, cost.latency);
    }
    match register_form {
        Some(register) if loads => {
            (cost.latency.saturating_sub(register.latency), register.latency.min(cost.latency))
        }
        None if loads => (cost.latency, 0),
        // A store's own latency is nobody's: the value goes to memory.
        _ => (0, 1),
    }
}

/// True if the register is an operand itself, not only part of an address.
fn is_operand(instruction: &Instruction, register: u8) -> bool {
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && number(instruction.op_register(operand)) == Some(register)
    }) || instruction.is_stack_instruction()
        || instruction.is_string_instruction()
}

fn number(register: Register) -> Option<u8> {
    let full = register.full_register();
    if full.is_gpr64() {
        Some(full.number() as u8)
    } else if register.is_xmm() {
        Some(XMM + register.number() as u8)
    } else if register.is_st() || register.is_mm() {
        Some(X87)
    } else {
        None
    }
}
