//! What a report says of a guest that crashed.

use super::{Delivered, ExceptionLog, Noted};
use crate::machine::outcome::Outcome;
use serde::Serialize;
use std::fmt;
use vpmu::Profile;

/// What an exception leaves in the CPU's registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Details {
    /// Of an x86 CPU.
    X86 {
        /// Vector.
        vector: u8,
        /// Error code.
        error_code: Option<u32>,
        /// CR2, of a #PF.
        cr2: Option<u64>,
        /// Privilege level before.
        cpl: u8,
        /// Address of the instruction that raised it; of a trap the next one.
        rip: u64,
    },
    /// Of an AArch64 CPU.
    Arm {
        /// ESR_EL1; of an interrupt 0.
        esr: u64,
        /// FAR_EL1, where it is valid.
        far: Option<u64>,
        /// Exception level before.
        el: u8,
        /// ELR_EL1: address of the instruction that raised it; of SVC and of an interrupt the next one.
        pc: u64,
    },
}

/// Where it happened: `at 0x1000, CPL 3`.
impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X86 { cpl, rip, .. } => write!(f, "at {rip:#x}, CPL {cpl}"),
            Self::Arm { el, pc, .. } => write!(f, "at {pc:#x}, EL{el}"),
        }
    }
}

/// An exception as a report has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RaisedException {
    /// What it is, for people: `#PF(0x2: write, page not present) of address 0x1234`.
    pub title: String,
    /// What it left in the CPU's registers.
    #[serde(flatten)]
    pub details: Details,
    /// The instruction that raised it, where it is still known.
    pub instruction: Option<String>,
    /// Of the exception of an access to a register: what was accessed, and which rule it broke.
    pub refused: Option<String>,
    /// The exception that kept it from its handler, as a title; `None`: it entered its handler.
    pub delivery_raised: Option<String>,
}

/// Why a guest crashed, as far as the engine knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Cause {
    /// Of a triple fault the exceptions that could not be delivered, each raised while the one before it was being
    /// delivered. Of other ends the newest exception, which was delivered.
    pub exceptions: Vec<RaisedException>,
    /// Where the engine sees no exceptions (KVM): the newest access to a register that raised one, with its
    /// reason.
    pub refused: Option<String>,
    /// Address of that access.
    pub refused_rip: Option<u64>,
}

impl<D: Delivered> ExceptionLog<D> {
    /// Why the guest ended; `None` for an end that is no crash, or where nothing is known. `code` tells the
    /// instruction at an address, as the vCPU stands now.
    #[must_use]
    pub fn cause(
        &self,
        outcome: &Outcome,
        profile: &Profile,
        code: impl Fn(u64) -> Option<String>,
    ) -> Option<Cause> {
        let exceptions = match outcome {
            Outcome::TripleFault => &*self.undelivered,
            Outcome::Panicked | Outcome::Halted | Outcome::Reset => self.delivered.as_slice(),
            _ => return None,
        };
        let exceptions: Vec<_> = exceptions.iter().map(|noted| noted.report(profile, &code)).collect();
        let sees_exceptions = !exceptions.is_empty() || self.delivered.is_some();
        let refused = self.refused.as_ref().filter(|_| !sees_exceptions).map(|(refusal, _)| refusal);
        let cause = Cause {
            exceptions,
            refused: refused.map(|refusal| refusal.describe(profile)),
            refused_rip: refused.and_then(|refusal| refusal.rip),
        };
        (!cause.exceptions.is_empty() || cause.refused.is_some()).then_some(cause)
    }
}

impl<D: Delivered> Noted<D> {
    fn report(&self, profile: &Profile, code: &dyn Fn(u64) -> Option<String>) -> RaisedException {
        let refused = self.refused.as_ref().map(|refusal| refusal.describe(profile));
        RaisedException { refused, ..self.delivery.report(code) }
    }
}
