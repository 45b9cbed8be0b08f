//! Why KVM_RUN came back, as a value.

#![expect(unsafe_code, reason = "unions in the page that KVM shares")]

use kvm_bindings::*;
use platform::convert::host_size;

/// Port I/O, possibly of a string instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortIo {
    pub(super) out: bool,
    pub(super) port: u16,
    /// Bytes of one item: 1, 2 or 4.
    pub(super) size: usize,
    /// Items, packed in the shared page.
    pub(super) count: usize,
    /// Where, from the start of the shared page.
    pub(super) offset: usize,
}

/// What KVM says of an instruction that it cannot emulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InternalError {
    pub(super) suberror: u32,
    /// The bytes that were fetched, if KVM gave them; not the length of the instruction.
    pub(super) bytes: Option<([u8; 15], usize)>,
}

/// A decoded exit. Data that the guest waits for stays in the shared page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Io(PortIo),
    Mmio {
        address: u64,
        len: usize,
        write: bool,
    },
    Rdmsr {
        index: u32,
    },
    Wrmsr {
        index: u32,
        value: u64,
    },
    Hlt,
    Debug {
        exception: u32,
        pc: u64,
        dr6: u64,
    },
    IrqWindow,
    SetTpr,
    Shutdown,
    SystemEvent {
        kind: u32,
    },
    FailEntry {
        reason: u64,
    },
    Internal(InternalError),
    MemoryFault {
        address: u64,
    },
    /// A signal.
    Interrupted,
    /// KVM wants to be called again.
    Again,
    /// EFAULT: KVM could not reach the memory that the guest uses.
    BadAddress,
    /// A reason that this VMM never asked for.
    Other {
        reason: u32,
    },
}

impl Exit {
    /// Decodes the shared page after KVM_RUN returned 0.
    pub(super) fn decode(run: &kvm_run) -> Self {
        let exit = &run.__bindgen_anon_1;
        // SAFETY: `exit_reason` says which member of the union KVM has written; all members are plain
        // integers, for which any bits are valid.
        unsafe {
            match run.exit_reason {
                KVM_EXIT_IO => Self::Io(PortIo {
                    out: u32::from(exit.io.direction) == KVM_EXIT_IO_OUT,
                    port: exit.io.port,
                    size: usize::from(exit.io.size),
                    count: exit.io.count as usize,
                    offset: host_size(exit.io.data_offset),
                }),
                KVM_EXIT_MMIO => Self::Mmio {
                    address: exit.mmio.phys_addr,
                    len: (exit.mmio.len as usize).min(exit.mmio.data.len()),
                    write: exit.mmio.is_write != 0,
                },
                KVM_EXIT_X86_RDMSR => Self::Rdmsr { index: exit.msr.index },
                KVM_EXIT_X86_WRMSR => Self::Wrmsr { index: exit.msr.index, value: exit.msr.data },
                KVM_EXIT_HLT => Self::Hlt,
                KVM_EXIT_DEBUG => {
                    let arch = exit.debug.arch;
                    Self::Debug { exception: arch.exception, pc: arch.pc, dr6: arch.dr6 }
                }
                KVM_EXIT_IRQ_WINDOW_OPEN => Self::IrqWindow,
                KVM_EXIT_SET_TPR => Self::SetTpr,
                KVM_EXIT_SHUTDOWN => Self::Shutdown,
                KVM_EXIT_SYSTEM_EVENT => Self::SystemEvent { kind: exit.system_event.type_ },
                KVM_EXIT_FAIL_ENTRY => {
                    Self::FailEntry { reason: exit.fail_entry.hardware_entry_failure_reason }
                }
                KVM_EXIT_INTERNAL_ERROR => Self::Internal(internal_error(exit)),
                KVM_EXIT_MEMORY_FAULT => Self::MemoryFault { address: exit.memory_fault.gpa },
                KVM_EXIT_INTR => Self::Interrupted,
                reason => Self::Other { reason },
            }
        }
    }

    /// True when the instruction is not complete before the next KVM_RUN.
    pub(super) fn completes_on_entry(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Mmio { .. } | Self::Rdmsr { .. } | Self::Wrmsr { .. })
    }
}

/// # Safety
/// The exit reason is KVM_EXIT_INTERNAL_ERROR.
unsafe fn internal_error(exit: &kvm_run__bindgen_ty_1) -> InternalError {
    // SAFETY: the promise of the caller; the overlay has the same first members.
    let failure = unsafe { &exit.emulation_failure };
    let has_bytes = failure.suberror == KVM_INTERNAL_ERROR_EMULATION
        && failure.ndata >= 3
        && failure.flags & u64::from(KVM_INTERNAL_ERROR_EMULATION_FLAG_INSTRUCTION_BYTES) != 0;
    let bytes = has_bytes.then(|| {
        // SAFETY: the flag says that KVM has written them, and any bits are valid.
        let instruction = unsafe { failure.__bindgen_anon_1.__bindgen_anon_1 };
        (instruction.insn_bytes, usize::from(instruction.insn_size).min(instruction.insn_bytes.len()))
    });
    InternalError { suberror: failure.suberror, bytes }
}

/// Exits by kind, for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Io,
    Mmio,
    Rdmsr,
    Wrmsr,
    Rdpmc,
    Debug,
    Hlt,
    IrqWindow,
    Kick,
    Completed,
    Other,
}

/// How often each [`Kind`] happened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts([u64; 11]);

impl Counts {
    const NAMES: [&'static str; 11] =
        ["io", "mmio", "rdmsr", "wrmsr", "rdpmc", "debug", "hlt", "irq-window", "kick", "emulation", "other"];

    pub(super) fn add(&mut self, kind: Kind) {
        self.0[kind as usize] += 1;
    }

    /// The kinds that happened at all.
    pub(super) fn list(&self) -> Vec<(&'static str, u64)> {
        Self::NAMES.into_iter().zip(self.0).filter(|&(_, count)| count > 0).collect()
    }
}
