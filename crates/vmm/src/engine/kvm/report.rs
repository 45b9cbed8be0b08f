//! What people are told of what the engine could not do.

use super::exit::InternalError;
use super::state;
use super::vcpu::Vcpu;
use crate::engine::dump;
use kvm_bindings::*;
use platform::memory::GuestMemory;
use std::fmt::Write as _;

/// The bytes at RIP, as far as they are mapped to RAM.
fn code(vcpu: &Vcpu, memory: &GuestMemory) -> Vec<u8> {
    dump::code(&state::visible(vcpu.regs(), vcpu.sregs()), memory)
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

/// Sentence for an instruction that neither KVM nor the interpreter can execute.
pub(super) fn unknown_instruction(code: &str, vcpu: &Vcpu, memory: &GuestMemory) -> String {
    let place = place(vcpu, &self::code(vcpu, memory));
    let reason = "neither KVM's emulator nor the interpreter knows it";
    if vcpu.cpl() == 0 {
        format!(
            "{code} at {place}: {reason}. On hosts without VT-x or AMD-V, KVM interprets ring 0: run this code in \
             ring 3, or use another host"
        )
    } else {
        format!("{code} at {place}: {reason}")
    }
}

/// Sentence for KVM_EXIT_INTERNAL_ERROR, emulation aside.
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

/// Sentence for an unexpected exit.
pub(super) fn unexpected(reason: u32, vcpu: &Vcpu, memory: &GuestMemory) -> String {
    format!(
        "KVM left the guest for reason {reason}, which this VMM does not handle, at {}",
        place(vcpu, &code(vcpu, memory))
    )
}
