//! The register dump of a run that the guest did not end itself.

use crate::engine::RegisterDump;
use crate::engine::debugger;
use arm_cpu::{State, SystemRegister};
use platform::memory::GuestMemory;

/// Names of X0 to X30.
const X: [&str; 31] = [
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
    "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30",
];
/// The system registers of EL1 that say where the guest stands.
const SYSTEM: [(&str, SystemRegister); 10] = [
    ("sctlr_el1", SystemRegister::new(3, 0, 1, 0, 0)),
    ("tcr_el1", SystemRegister::new(3, 0, 2, 0, 2)),
    ("ttbr0_el1", SystemRegister::new(3, 0, 2, 0, 0)),
    ("ttbr1_el1", SystemRegister::new(3, 0, 2, 0, 1)),
    ("vbar_el1", SystemRegister::new(3, 0, 12, 0, 0)),
    ("esr_el1", SystemRegister::new(3, 0, 5, 2, 0)),
    ("far_el1", SystemRegister::new(3, 0, 6, 0, 0)),
    ("elr_el1", SystemRegister::new(3, 0, 4, 0, 1)),
    ("spsr_el1", SystemRegister::new(3, 0, 4, 0, 0)),
    ("contextidr", SystemRegister::new(3, 0, 13, 0, 1)),
];

/// What a vCPU in `state` shows of its registers, and the bytes at the PC.
pub(super) fn registers(state: &State, memory: &GuestMemory) -> RegisterDump {
    let mut registers = vec![("pc", state.pc), ("pstate", state.pstate)];
    registers.extend(X.into_iter().zip(state.x));
    registers.extend([("sp_el0", state.sp[0]), ("sp_el1", state.sp[1])]);
    let system =
        SYSTEM.iter().filter_map(|(name, register)| Some((*name, state.system_register(*register)?)));
    registers.extend(system);
    let code = code_at(state, memory, state.pc);
    RegisterDump {
        registers,
        code: code.map_or_else(Vec::new, |word| word.to_le_bytes().to_vec()),
        instruction: code.and_then(disassemble),
    }
}

/// The instruction at an address; `None` if it cannot be read or is none.
pub(super) fn instruction_at(state: &State, memory: &GuestMemory, address: u64) -> Option<String> {
    code_at(state, memory, address).and_then(disassemble)
}

/// The word at an address, by the tables in use.
fn code_at(state: &State, memory: &GuestMemory, address: u64) -> Option<u32> {
    let mut word = [0; 4];
    (debugger::read(state, memory, address, &mut word) == word.len()).then(|| u32::from_le_bytes(word))
}

fn disassemble(word: u32) -> Option<String> {
    disarm64::decoder::decode(word).map(|instruction| instruction.to_string())
}
