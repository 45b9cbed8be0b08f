//! The register dump of a run that the guest did not end itself, the same for every engine.

use super::RegisterDump;
use super::paging::Paging;
use crate::machine::Machine;
use crate::machine::x86::Pc;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, GasFormatter};
use platform::memory::GuestMemory;
use soft_cpu::{Segment, State};

/// Longest instruction.
const CODE_BYTES: usize = 15;
/// L in [`Segment::rights`]: 64-bit code.
const LONG: u16 = 1 << 13;
/// D: 32-bit code.
const BIG: u16 = 1 << 14;

/// What a vCPU in `state` shows of its registers, and the bytes at RIP.
pub(super) fn registers(state: &State, machine: &Machine<Pc>) -> RegisterDump {
    let s = state;
    let [es, cs, ss, ds, fs, gs] = s.segments;
    let selector = |segment: Segment| u64::from(segment.selector);
    let [rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15] = s.gpr;
    RegisterDump {
        registers: vec![
            ("rip", s.rip),
            ("rflags", s.rflags),
            ("rax", rax),
            ("rbx", rbx),
            ("rcx", rcx),
            ("rdx", rdx),
            ("rsi", rsi),
            ("rdi", rdi),
            ("rsp", rsp),
            ("rbp", rbp),
            ("r8", r8),
            ("r9", r9),
            ("r10", r10),
            ("r11", r11),
            ("r12", r12),
            ("r13", r13),
            ("r14", r14),
            ("r15", r15),
            ("cpl", u64::from(ss.rights >> 5 & 3)),
            ("cs", selector(cs)),
            ("ss", selector(ss)),
            ("ds", selector(ds)),
            ("es", selector(es)),
            ("fs.base", fs.base),
            ("gs.base", gs.base),
            ("gdt.base", s.gdtr.base),
            ("idt.base", s.idtr.base),
            ("tr", selector(s.tr)),
            ("cr0", s.cr0),
            ("cr2", s.cr2),
            ("cr3", s.cr3),
            ("cr4", s.cr4),
            ("cr8", u64::from(machine.board.apic.cr8())),
            ("efer", s.efer),
            ("apic_base", machine.board.apic.base()),
        ],
        code: code(state, &machine.memory),
        instruction: instruction_at(state, &machine.memory, s.rip),
    }
}

/// The bytes at RIP, as far as they are mapped to RAM.
pub(super) fn code(state: &State, memory: &GuestMemory) -> Vec<u8> {
    code_at(state, memory, state.rip)
}

/// The instruction at an address in the code segment; `None` if it cannot be read or is none.
pub(super) fn instruction_at(state: &State, memory: &GuestMemory, rip: u64) -> Option<String> {
    let bytes = code_at(state, memory, rip);
    let bits = match state.segments[1].rights {
        rights if rights & LONG != 0 => 64,
        rights if rights & BIG != 0 => 32,
        _ => 16,
    };
    let instruction = Decoder::with_ip(bits, &bytes, rip, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return None;
    }
    let mut text = String::new();
    GasFormatter::new().format(&instruction, &mut text);
    Some(text)
}

fn code_at(state: &State, memory: &GuestMemory, rip: u64) -> Vec<u8> {
    let cs = state.segments[1];
    let linear = if cs.rights & LONG != 0 { rip } else { cs.base.wrapping_add(rip) & 0xFFFF_FFFF };
    let mut bytes = vec![0; CODE_BYTES];
    let paging = Paging::new(state.cr0, state.cr3, state.cr4, state.efer);
    let read = paging.read_some(memory, linear, &mut bytes);
    bytes.truncate(read);
    bytes
}
