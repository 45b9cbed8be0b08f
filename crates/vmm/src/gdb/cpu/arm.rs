//! AArch64 registers as GDB numbers them: those of its features `org.gnu.gdb.aarch64.core` and `.fpu`
//! (gdb/features/aarch64-core.xml, aarch64-fpu.xml), then system registers by the names of the Arm ARM.

use super::Cpu;
use arm_cpu::{State, SystemRegister};
use gdbstub::arch::{Arch, RegId, Registers};
use platform::convert::low_u32;
use std::num::NonZeroUsize;

/// Where CPSR is in the `g` packet: behind X0 to X30, SP and PC.
const CPSR: usize = 33 * 8;
/// Numbers of the first of each group in `target-aarch64.xml`.
const FIRST_VECTOR: usize = 34;
const FIRST_SYSTEM: usize = 68;
/// Bytes of the `g` packet.
const BYTES: usize = CPSR + 4 + 32 * 16 + 2 * 4;
/// PSTATE.SP, in an SPSR.
const SP_SELECT: u64 = 1;
/// PSTATE.EL of EL1, in an SPSR.
const EL1: u64 = 1 << 2;

/// Registers of 64 bits that are not in the `g` packet, by their order in `target-aarch64.xml`; after SP_EL0 and
/// SP_EL1.
const SYSTEM: [SystemRegister; 15] = [
    SystemRegister::new(3, 0, 4, 0, 1),  // ELR_EL1
    SystemRegister::new(3, 0, 4, 0, 0),  // SPSR_EL1
    SystemRegister::new(3, 0, 5, 2, 0),  // ESR_EL1
    SystemRegister::new(3, 0, 6, 0, 0),  // FAR_EL1
    SystemRegister::new(3, 0, 12, 0, 0), // VBAR_EL1
    SystemRegister::new(3, 0, 1, 0, 0),  // SCTLR_EL1
    SystemRegister::new(3, 0, 1, 0, 2),  // CPACR_EL1
    SystemRegister::new(3, 0, 2, 0, 0),  // TTBR0_EL1
    SystemRegister::new(3, 0, 2, 0, 1),  // TTBR1_EL1
    SystemRegister::new(3, 0, 2, 0, 2),  // TCR_EL1
    SystemRegister::new(3, 0, 10, 2, 0), // MAIR_EL1
    SystemRegister::new(3, 0, 13, 0, 1), // CONTEXTIDR_EL1
    SystemRegister::new(3, 0, 13, 0, 4), // TPIDR_EL1
    SystemRegister::new(3, 3, 13, 0, 2), // TPIDR_EL0
    SystemRegister::new(3, 3, 13, 0, 3), // TPIDRRO_EL0
];

/// An AArch64 CPU with Advanced SIMD, as GDB sees it.
#[derive(Debug)]
pub enum GuestA64 {}

impl Arch for GuestA64 {
    type Usize = u64;
    type Registers = Packet;
    type RegId = Register;
    type BreakpointKind = usize;

    fn target_description_xml() -> Option<&'static str> {
        Some(include_str!("target-aarch64.xml"))
    }
}

/// A register by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// Offset in the `g` packet and bytes.
    Core(usize, usize),
    /// SP_EL0 or SP_EL1.
    StackPointer(usize),
    /// A stored system register.
    System(SystemRegister),
}

impl RegId for Register {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        const VECTORS: usize = CPSR + 4;
        let (register, len) = match id {
            // X0 to X30, SP, PC.
            0..=32 => (Self::Core(8 * id, 8), 8),
            // CPSR.
            33 => (Self::Core(CPSR, 4), 4),
            FIRST_VECTOR..=65 => (Self::Core(VECTORS + 16 * (id - FIRST_VECTOR), 16), 16),
            // FPSR, FPCR.
            66 | 67 => (Self::Core(VECTORS + 32 * 16 + 4 * (id - 66), 4), 4),
            _ => match id - FIRST_SYSTEM {
                el @ (0 | 1) => (Self::StackPointer(el), 8),
                other => (Self::System(*SYSTEM.get(other - 2)?), 8),
            },
        };
        Some((register, NonZeroUsize::new(len)))
    }
}

/// The `g` packet: X0 to X30, SP, PC, CPSR, V0 to V31, FPSR, FPCR.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packet(Vec<u8>);

impl Registers for Packet {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.0.get(32 * 8..33 * 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        self.0.iter().for_each(|byte| write_byte(Some(*byte)));
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.0 = bytes.get(..BYTES).ok_or(())?.to_vec();
        Ok(())
    }
}

/// Which of the stack pointers SP is.
fn stack_pointer(state: &State) -> usize {
    usize::from(state.pstate & (EL1 | SP_SELECT) == EL1 | SP_SELECT)
}

impl Cpu for GuestA64 {
    type State = State;

    fn all(state: &State) -> Packet {
        let mut bytes = Vec::with_capacity(BYTES);
        let words = state.x.iter().chain([&state.sp[stack_pointer(state)], &state.pc]);
        words.for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(low_u32(state.pstate).to_le_bytes());
        state.v.iter().for_each(|vector| bytes.extend(vector.to_le_bytes()));
        bytes.extend(low_u32(state.fpsr).to_le_bytes());
        bytes.extend(low_u32(state.fpcr).to_le_bytes());
        Packet(bytes)
    }

    fn set_all(state: &mut State, registers: &Packet) {
        let mut rest = registers.0.as_slice();
        // Short packets have been refused.
        fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
            let (first, behind) =
                rest.split_first_chunk().map_or(([0; N], &[][..]), |(first, behind)| (*first, behind));
            *rest = behind;
            first
        }
        state.x.iter_mut().for_each(|x| *x = u64::from_le_bytes(take(&mut rest)));
        let (sp, pc) = (u64::from_le_bytes(take(&mut rest)), u64::from_le_bytes(take(&mut rest)));
        state.pc = pc;
        state.pstate = u32::from_le_bytes(take(&mut rest)).into();
        state.sp[stack_pointer(state)] = sp;
        state.v.iter_mut().for_each(|v| *v = u128::from_le_bytes(take(&mut rest)));
        state.fpsr = u32::from_le_bytes(take(&mut rest)).into();
        state.fpcr = u32::from_le_bytes(take(&mut rest)).into();
    }

    fn read(state: &State, register: Register, buffer: &mut [u8]) -> Option<usize> {
        let value = match register {
            Register::Core(offset, len) => {
                buffer.get_mut(..len)?.copy_from_slice(Self::all(state).0.get(offset..offset + len)?);
                return Some(len);
            }
            Register::StackPointer(el) => state.sp[el],
            Register::System(register) => state.system_register(register)?,
        };
        buffer.get_mut(..8)?.copy_from_slice(&value.to_le_bytes());
        Some(8)
    }

    fn write(state: &mut State, register: Register, value: &[u8]) -> bool {
        if register == Register::Core(CPSR, 4) {
            // SP is another register then, and keeps its value.
            let Ok(bytes) = value.try_into() else { return false };
            state.pstate = u32::from_le_bytes(bytes).into();
            return true;
        }
        if let Register::Core(offset, len) = register {
            let mut packet = Self::all(state);
            let Some(place) =
                packet.0.get_mut(offset..offset + len).filter(|place| place.len() == value.len())
            else {
                return false;
            };
            place.copy_from_slice(value);
            Self::set_all(state, &packet);
            return true;
        }
        let Ok(bytes) = value.try_into() else { return false };
        let value = u64::from_le_bytes(bytes);
        match register {
            Register::System(register) => state.set_system_register(register, value),
            Register::StackPointer(el) => {
                state.sp[el] = value;
                true
            }
            Register::Core(..) => false,
        }
    }
}
