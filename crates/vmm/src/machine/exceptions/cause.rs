//! What a report says of a guest that crashed.

use super::{ExceptionLog, Noted, PF, name};
use crate::machine::outcome::Outcome;
use serde::Serialize;
use soft_cpu::Exception;
use std::fmt::Write as _;
use vpmu::Profile;

/// Error codes with a selector (SDM volume 3, section "Error Code").
const EXTERNAL: u32 = 1;
const IDT: u32 = 1 << 1;
const LDT: u32 = 1 << 2;

/// An exception as a report has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RaisedException {
    /// What it is, for people: `#PF(0x2: write, page not present) of address 0x1234`.
    pub title: String,
    /// Vector.
    pub vector: u8,
    /// Error code.
    pub error_code: Option<u32>,
    /// CR2, of a #PF.
    pub cr2: Option<u64>,
    /// Privilege level before.
    pub cpl: u8,
    /// Address of the instruction that raised it; of a trap the next one.
    pub rip: u64,
    /// That instruction, where it is still known.
    pub instruction: Option<String>,
    /// Of the #GP of an MSR access or RDPMC: what was accessed, and which rule it broke.
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
    /// Where the engine sees no exceptions (KVM): the newest MSR access that raised #GP, with its reason.
    pub refused: Option<String>,
    /// Address of that access.
    pub refused_rip: Option<u64>,
}

impl ExceptionLog {
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

impl Noted {
    fn report(&self, profile: &Profile, code: impl Fn(u64) -> Option<String>) -> RaisedException {
        let Self { delivery, refused } = self;
        let event = &delivery.event;
        RaisedException {
            vector: event.vector,
            title: title(event),
            error_code: event.error,
            cr2: (event.vector == PF).then_some(event.address),
            cpl: delivery.from.cpl,
            rip: delivery.from.rip,
            // The handler of another privilege level may have another address space.
            instruction: if delivery.from.cpl == 0 || delivery.handler.is_err() {
                code(delivery.from.rip)
            } else {
                None
            },
            refused: refused.as_ref().map(|refusal| refusal.describe(profile)),
            delivery_raised: delivery.handler.err().map(|raised| title(&raised)),
        }
    }
}

/// `#PF(0x2: write, page not present) of address 0x1234`.
pub(super) fn title(event: &Exception) -> String {
    let mut text = name(event.vector).map_or_else(|| format!("vector {}", event.vector), str::to_owned);
    // Writing to a string cannot fail.
    let _ = match (event.error, error_meaning(event)) {
        (Some(code), Some(meaning)) => write!(text, "({code:#x}: {meaning})"),
        (Some(code), None) => write!(text, "({code:#x})"),
        (None, _) => Ok(()),
    };
    if event.vector == PF {
        let _ = write!(text, " of address {:#x}", event.address);
    }
    text
}

/// An error code in words; `None` where it says nothing.
pub(super) fn error_meaning(event: &Exception) -> Option<String> {
    let code = event.error?;
    if event.vector == PF {
        return Some(page_fault(code));
    }
    if code & !EXTERNAL == 0 {
        return None;
    }
    let index = code >> 3;
    Some(match code & (IDT | LDT) {
        0 => format!("GDT selector {:#x}", code & !7),
        LDT => format!("LDT selector {:#x}", code & !3),
        _ => format!(
            "IDT gate {index}{}",
            u8::try_from(index).ok().and_then(name).map_or_else(String::new, |name| format!(" ({name})"))
        ),
    })
}

/// Bits of a #PF error code (SDM volume 3, figure "Page-Fault Error Code").
fn page_fault(code: u32) -> String {
    let access = match (code & 1 << 4 != 0, code & 1 << 1 != 0) {
        (true, _) => "fetch",
        (false, true) => "write",
        (false, false) => "read",
    };
    let from = if code & 1 << 2 != 0 { " in user mode" } else { "" };
    let why = match (code & 1 << 3 != 0, code & 1 != 0) {
        (true, _) => "reserved bit in a table",
        (false, true) => "not permitted",
        (false, false) => "page not present",
    };
    format!("{access}{from}, {why}")
}
