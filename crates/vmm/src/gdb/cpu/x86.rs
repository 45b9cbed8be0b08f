//! The CPU's registers as GDB numbers them: those of its features `org.gnu.gdb.i386.core`, `.sse` and `.segments`
//! (gdb/features/i386/), then system registers as QEMU's stub has them.

use super::Cpu;
use gdbstub::arch::{Arch, RegId, Registers as _};
use gdbstub_arch::x86::reg::{X86_64CoreRegs, X86SegmentRegs, X87FpuInternalRegs};
use platform::convert::{low_u16, low_u32, low_u64};
use soft_cpu::State;
use std::num::NonZeroUsize;

/// Number of GDB's first register that is not in the `g` packet.
const FIRST_SYSTEM: usize = 57;
/// Bytes of the `g` packet.
const CORE_BYTES: usize = 0x218;
/// RFLAGS as far as GDB may change it: reserved bits stay (SDM volume 1, figure 3-8).
const RFLAGS: u64 = 0x003F_7FD5;
/// Indices in [`State::gpr`] of RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, R8 to R15.
const GPR: [usize; 16] = [0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
/// Indices in [`State::segments`] of CS, SS, DS, ES, FS, GS.
const SEGMENTS: [usize; 6] = [1, 2, 3, 0, 4, 5];

/// An x86-64 CPU with SSE, as GDB sees it.
#[derive(Debug)]
pub enum Guest64 {}

impl Arch for Guest64 {
    type Usize = u64;
    type Registers = X86_64CoreRegs;
    type RegId = Register;
    type BreakpointKind = usize;

    fn target_description_xml() -> Option<&'static str> {
        Some(include_str!("target-x86.xml"))
    }
}

/// A register by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// Offset in the `g` packet and bytes.
    Core(usize, usize),
    /// One that is not in the `g` packet.
    System(System),
}

/// Registers of 64 bits that are not in the `g` packet, by their order in `target-x86.xml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// FS base.
    FsBase,
    /// GS base.
    GsBase,
    /// KERNEL_GS_BASE.
    KernelGsBase,
    /// CR0.
    Cr0,
    /// CR2.
    Cr2,
    /// CR3.
    Cr3,
    /// CR4.
    Cr4,
    /// EFER.
    Efer,
}

impl System {
    const ALL: [Self; 8] = [
        Self::FsBase,
        Self::GsBase,
        Self::KernelGsBase,
        Self::Cr0,
        Self::Cr2,
        Self::Cr3,
        Self::Cr4,
        Self::Efer,
    ];

    fn read(self, state: &State) -> u64 {
        match self {
            Self::FsBase => state.segments[4].base,
            Self::GsBase => state.segments[5].base,
            Self::KernelGsBase => state.kernel_gs_base,
            Self::Cr0 => state.cr0,
            Self::Cr2 => state.cr2,
            Self::Cr3 => state.cr3,
            Self::Cr4 => state.cr4,
            Self::Efer => state.efer,
        }
    }

    /// False for registers whose bits depend on each other: the guest alone may write those.
    fn write(self, state: &mut State, value: u64) -> bool {
        match self {
            Self::FsBase => state.segments[4].base = value,
            Self::GsBase => state.segments[5].base = value,
            Self::KernelGsBase => state.kernel_gs_base = value,
            Self::Cr2 => state.cr2 = value,
            Self::Cr0 | Self::Cr3 | Self::Cr4 | Self::Efer => return false,
        }
        true
    }
}

impl Cpu for Guest64 {
    type State = State;

    fn all(state: &State) -> X86_64CoreRegs {
        core(state)
    }

    fn set_all(state: &mut State, registers: &X86_64CoreRegs) {
        set_core(state, registers);
    }

    fn read(state: &State, register: Register, buffer: &mut [u8]) -> Option<usize> {
        match register {
            Register::Core(offset, len) => {
                read_core(state, offset, buffer.get_mut(..len)?);
                Some(len)
            }
            Register::System(system) => {
                let bytes = system.read(state).to_le_bytes();
                buffer.get_mut(..bytes.len())?.copy_from_slice(&bytes);
                Some(bytes.len())
            }
        }
    }

    fn write(state: &mut State, register: Register, value: &[u8]) -> bool {
        match register {
            Register::Core(offset, _) => write_core(state, offset, value),
            Register::System(system) => {
                value.try_into().is_ok_and(|bytes| system.write(state, u64::from_le_bytes(bytes)))
            }
        }
    }
}

impl RegId for Register {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        let (register, len) = match id {
            // General registers and RIP.
            0..=16 => (Self::Core(8 * id, 8), 8),
            // EFLAGS and the segments.
            17..=23 => (Self::Core(0x88 + 4 * (id - 17), 4), 4),
            24..=31 => (Self::Core(0xA4 + 10 * (id - 24), 10), 10),
            // x87 control.
            32..=39 => (Self::Core(0xF4 + 4 * (id - 32), 4), 4),
            40..=55 => (Self::Core(0x114 + 16 * (id - 40), 16), 16),
            // MXCSR.
            56 => (Self::Core(0x214, 4), 4),
            _ => (Self::System(*System::ALL.get(id - FIRST_SYSTEM)?), 8),
        };
        Some((register, NonZeroUsize::new(len)))
    }
}

/// The content of the `g` packet.
fn core(state: &State) -> X86_64CoreRegs {
    let selector = |n: usize| u32::from(state.segments[SEGMENTS[n]].selector);
    let (opcode, instruction, operand) = state.x87_pointers;
    X86_64CoreRegs {
        regs: GPR.map(|n| state.gpr[n]),
        eflags: low_u32(state.rflags),
        rip: state.rip,
        segments: X86SegmentRegs {
            cs: selector(0),
            ss: selector(1),
            ds: selector(2),
            es: selector(3),
            fs: selector(4),
            gs: selector(5),
        },
        st: state.st.map(|value| {
            let mut bytes = [0; 10];
            bytes.copy_from_slice(&value.to_le_bytes()[..10]);
            bytes
        }),
        fpu: X87FpuInternalRegs {
            fctrl: u32::from(state.fcw),
            fstat: u32::from(state.fsw),
            ftag: u32::from(full_tags(state)),
            // As FXSAVE64 splits the pointers.
            fiseg: low_u32(instruction >> 32),
            fioff: low_u32(instruction),
            foseg: low_u32(operand >> 32),
            fooff: low_u32(operand),
            fop: u32::from(opcode),
        },
        xmm: state.xmm,
        mxcsr: state.mxcsr,
    }
}

/// Takes over the content of a `G` packet. Selectors change without their hidden parts, as in QEMU's stub.
fn set_core(state: &mut State, regs: &X86_64CoreRegs) {
    for (n, value) in GPR.into_iter().zip(regs.regs) {
        state.gpr[n] = value;
    }
    state.rflags = state.rflags & !RFLAGS | u64::from(regs.eflags) & RFLAGS;
    state.rip = regs.rip;
    let X86SegmentRegs { cs, ss, ds, es, fs, gs } = regs.segments;
    for (n, selector) in SEGMENTS.into_iter().zip([cs, ss, ds, es, fs, gs]) {
        state.segments[n].selector = low_u16(selector.into());
    }
    for (value, bytes) in state.st.iter_mut().zip(&regs.st) {
        let mut wide = [0; 16];
        wide[..10].copy_from_slice(bytes);
        *value = u128::from_le_bytes(wide);
    }
    let fpu = &regs.fpu;
    state.fcw = low_u16(fpu.fctrl.into());
    state.fsw = low_u16(fpu.fstat.into());
    state.ftw = (0..8).fold(0, |tags, n| tags | u8::from(fpu.ftag >> (2 * n) & 3 != 3) << n);
    let wide = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    state.x87_pointers = (low_u16(fpu.fop.into()), wide(fpu.fiseg, fpu.fioff), wide(fpu.foseg, fpu.fooff));
    state.xmm = regs.xmm;
    // Reserved bits would be #GP for LDMXCSR.
    state.mxcsr = regs.mxcsr & 0xFFFF;
}

/// x87 tags with two bits for each physical register: valid, zero, special, empty (SDM volume 1, "x87 FPU Tag Word").
fn full_tags(state: &State) -> u16 {
    let top = usize::from(state.fsw >> 11 & 7);
    (0..8).fold(0, |tags, physical| {
        let value = state.st[(physical + 8 - top) & 7];
        let (exponent, fraction) = (value >> 64 & 0x7FFF, low_u64(value));
        let tag = match (state.ftw >> physical & 1, exponent, fraction) {
            (0, _, _) => 3,
            (_, 0, 0) => 1,
            (_, 1..=0x7FFE, 0x8000_0000_0000_0000..) => 0,
            _ => 2,
        };
        tags | tag << (2 * physical)
    })
}

/// Reads a part of the `g` packet.
fn read_core(state: &State, offset: usize, buffer: &mut [u8]) {
    let bytes = core_bytes(state);
    if let Some(part) = bytes.get(offset..offset + buffer.len()) {
        buffer.copy_from_slice(part);
    }
}

/// Writes a part of the `g` packet. False if it does not fit.
fn write_core(state: &mut State, offset: usize, value: &[u8]) -> bool {
    let mut bytes = core_bytes(state);
    let Some(part) = bytes.get_mut(offset..offset + value.len()) else { return false };
    part.copy_from_slice(value);
    let mut regs = X86_64CoreRegs::default();
    if regs.gdb_deserialize(&bytes).is_err() {
        return false;
    }
    set_core(state, &regs);
    true
}

fn core_bytes(state: &State) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CORE_BYTES);
    core(state).gdb_serialize(|byte| bytes.push(byte.unwrap_or(0)));
    bytes
}
