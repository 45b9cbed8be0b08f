//! What people are told: registers, and what the engine could not do.

use super::exit::InternalError;
use super::paging::Paging;
use super::vcpu::Vcpu;
use crate::engine::RegisterDump;
use crate::memory::GuestMemory;
use kvm_bindings::*;
use std::fmt::Write as _;

/// Longest instruction.
const CODE_BYTES: usize = 15;

/// The vCPU's registers as of the last exit.
pub(super) fn registers(vcpu: &Vcpu, memory: &GuestMemory) -> RegisterDump {
    let regs = vcpu.regs();
    let sregs = vcpu.sregs();
    RegisterDump {
        registers: vec![
            ("rip", regs.rip),
            ("rflags", regs.rflags),
            ("rax", regs.rax),
            ("rbx", regs.rbx),
            ("rcx", regs.rcx),
            ("rdx", regs.rdx),
            ("rsi", regs.rsi),
            ("rdi", regs.rdi),
            ("rsp", regs.rsp),
            ("rbp", regs.rbp),
            ("r8", regs.r8),
            ("r9", regs.r9),
            ("r10", regs.r10),
            ("r11", regs.r11),
            ("r12", regs.r12),
            ("r13", regs.r13),
            ("r14", regs.r14),
            ("r15", regs.r15),
            ("cpl", u64::from(vcpu.cpl())),
            ("cs", u64::from(sregs.cs.selector)),
            ("ss", u64::from(sregs.ss.selector)),
            ("ds", u64::from(sregs.ds.selector)),
            ("es", u64::from(sregs.es.selector)),
            ("fs.base", sregs.fs.base),
            ("gs.base", sregs.gs.base),
            ("gdt.base", sregs.gdt.base),
            ("idt.base", sregs.idt.base),
            ("tr", u64::from(sregs.tr.selector)),
            ("cr0", sregs.cr0),
            ("cr2", sregs.cr2),
            ("cr3", sregs.cr3),
            ("cr4", sregs.cr4),
            ("cr8", sregs.cr8),
            ("efer", sregs.efer),
            ("apic_base", sregs.apic_base),
        ],
        code: code(vcpu, memory),
    }
}

/// The bytes at RIP, as far as they are mapped to RAM.
fn code(vcpu: &Vcpu, memory: &GuestMemory) -> Vec<u8> {
    let sregs = vcpu.sregs();
    let linear = if sregs.cs.l != 0 {
        vcpu.regs().rip
    } else {
        sregs.cs.base.wrapping_add(vcpu.regs().rip) & 0xFFFF_FFFF
    };
    let mut bytes = vec![0; CODE_BYTES];
    let read = Paging::of(sregs).read_some(memory, linear, &mut bytes);
    bytes.truncate(read);
    bytes
}

/// `RIP 0x1234, CPL 0, bytes 0f 58 c1`.
fn place(vcpu: &Vcpu, bytes: &[u8]) -> String {
    let mut text = format!("RIP {:#x}, CPL {}", vcpu.regs().rip, vcpu.cpl());
    if bytes.is_empty() {
        text.push_str(", no readable bytes");
    } else {
        text.push_str(", bytes");
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, " {byte:02x}");
        }
    }
    text
}

/// Sentence for KVM_EXIT_INTERNAL_ERROR.
pub(super) fn internal_error(error: &InternalError, vcpu: &Vcpu, memory: &GuestMemory) -> String {
    let from_memory;
    let bytes = match &error.bytes {
        Some((bytes, len)) => &bytes[..*len],
        None => {
            from_memory = code(vcpu, memory);
            &from_memory
        }
    };
    let place = place(vcpu, bytes);
    match error.suberror {
        KVM_INTERNAL_ERROR_EMULATION if vcpu.cpl() == 0 => format!(
            "KVM cannot emulate the instruction at {place}. On hosts without VT-x or AMD-V, KVM interprets ring 0 \
             and knows few SSE, AVX and x87 instructions: run this code in ring 3, or use another host"
        ),
        KVM_INTERNAL_ERROR_EMULATION => format!("KVM cannot emulate the instruction at {place}"),
        KVM_INTERNAL_ERROR_SIMUL_EX => {
            format!("KVM met an exception while it delivered another, at {place}")
        }
        KVM_INTERNAL_ERROR_DELIVERY_EV => format!(
            "KVM could not deliver an interrupt or exception, at {place}: are the guest's IDT and stack in RAM?"
        ),
        KVM_INTERNAL_ERROR_UNEXPECTED_EXIT_REASON => {
            format!("KVM does not understand why the CPU left the guest, at {place}")
        }
        other => format!("KVM reports internal error {other}, at {place}"),
    }
}

/// Sentence for KVM_EXIT_FAIL_ENTRY.
pub(super) fn entry_failure(reason: u64, vcpu: &Vcpu, memory: &GuestMemory) -> String {
    let sregs = vcpu.sregs();
    format!(
        "the CPU refuses to enter the guest (hardware reason {reason:#x}), at {}; CR0 {:#x}, CR4 {:#x}, EFER {:#x}",
        place(vcpu, &code(vcpu, memory)),
        sregs.cr0,
        sregs.cr4,
        sregs.efer
    )
}

/// Sentence for a guest that uses addresses where there is nothing.
pub(super) fn bad_address(address: Option<u64>, vcpu: &Vcpu, memory: &GuestMemory) -> String {
    let what = match address {
        Some(address) => format!("guest physical address {address:#x}"),
        None => "memory of the guest".to_owned(),
    };
    format!("KVM cannot reach {what}, at {}", place(vcpu, &code(vcpu, memory)))
}

/// Sentence for an exit that nobody asked for.
pub(super) fn unexpected(reason: u32, vcpu: &Vcpu, memory: &GuestMemory) -> String {
    format!(
        "KVM left the guest for reason {reason}, which this VMM does not handle, at {}",
        place(vcpu, &code(vcpu, memory))
    )
}
