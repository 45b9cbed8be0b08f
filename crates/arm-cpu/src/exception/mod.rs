//! Exceptions: what they are, and how faults travel through the interpreter.

mod take;

use crate::totals::ExceptionCount;

/// Exception classes (ESR_EL1.EC, Arm ARM D17.2.37). Where EL0 and EL1 have different codes, that of EL1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// UNDEFINED, and whatever has no class of its own.
    Unknown = 0x00,
    /// WFI or WFE at EL0 that SCTLR_EL1 traps.
    TrappedWait = 0x01,
    /// FP or Advanced SIMD that CPACR_EL1 traps.
    FpAccess = 0x07,
    /// PSTATE.IL was set.
    IllegalState = 0x0E,
    /// SVC.
    Svc = 0x15,
    /// MSR, MRS or a system instruction that is trapped.
    TrappedSystem = 0x18,
    /// Instruction abort.
    InstructionAbort = 0x21,
    /// PC alignment fault.
    PcAlignment = 0x22,
    /// Data abort.
    DataAbort = 0x25,
    /// SP alignment fault.
    SpAlignment = 0x26,
    /// Hardware breakpoint.
    Breakpoint = 0x31,
    /// Software step.
    Step = 0x33,
    /// Watchpoint.
    Watchpoint = 0x35,
    /// BRK.
    Brk = 0x3C,
}

/// An exception on its way to the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exception {
    /// Its class.
    pub class: Class,
    /// Instruction-specific syndrome.
    pub iss: u32,
    /// Address for FAR_EL1, where it is valid.
    pub address: Option<u64>,
    /// The return address is that of the instruction behind (SVC); else of the instruction itself.
    pub behind: bool,
}

/// What made the CPU enter a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A synchronous exception.
    Synchronous(Exception),
    /// IRQ.
    Irq,
    /// FIQ.
    Fiq,
}

/// An exception that has been taken to EL1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// What it is.
    pub cause: Cause,
    /// Exception level from which it was taken.
    pub from_el: u8,
    /// ELR_EL1: the instruction that raised it, or the one at which to go on.
    pub return_address: u64,
    /// ESR_EL1, of synchronous exceptions.
    pub syndrome: u64,
    /// Where its handler starts.
    pub vector: u64,
}

impl Exception {
    pub(crate) fn new(class: Class, iss: u32) -> Self {
        Self { class, iss, address: None, behind: false }
    }

    pub(crate) fn undefined() -> Self {
        Self::new(Class::Unknown, 0)
    }

    /// How it is counted.
    pub(crate) fn count(&self) -> ExceptionCount {
        match self.class {
            Class::Svc => ExceptionCount::Svc,
            Class::InstructionAbort => ExceptionCount::InstructionAbort,
            Class::DataAbort => ExceptionCount::DataAbort,
            _ => ExceptionCount::Other,
        }
    }
}

impl Class {
    /// As ESR_EL1 has it for an exception from this level.
    pub(crate) fn code_at(self, el: u8) -> u32 {
        let lower = match self {
            Self::InstructionAbort | Self::DataAbort | Self::Breakpoint | Self::Step | Self::Watchpoint
                if el == 0 =>
            {
                1
            }
            _ => 0,
        };
        u32::from(self as u8) - lower
    }
}

/// The instruction did not complete; `Core::raised` says why. Without content so that results of
/// memory accesses fit in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault;

/// How an instruction ends.
pub(crate) type Done = Result<(), Fault>;
