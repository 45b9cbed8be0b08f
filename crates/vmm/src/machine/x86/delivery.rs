//! What an x86 CPU delivers through the IDT, in traces and reports. Keys of a line of the trace:
//!
//! | key | meaning |
//! | --- | --- |
//! | `event` | `exception`, `interrupt`, `nmi`, or `software` for INT n, INT3 and INTO |
//! | `vector` | vector |
//! | `name` | `#GP` and so on, of exceptions |
//! | `error` | error code, hexadecimal |
//! | `meaning` | the error code in words |
//! | `cr2` | address of a #PF, hexadecimal |
//! | `cpl`, `cs`, `rip` | where it happened: the instruction that raised it, or the one that did not begin |
//! | `handler` | `cpl`, `cs` and `rip` of its handler; `null` if it could not be delivered |
//! | `delivery_raised` | the exception that kept it from its handler |

use crate::machine::exceptions::{Delivered, Details, RaisedException};
use serde::Serialize;
use soft_cpu::{Delivery, EventKind, Exception, Place};
use std::fmt::Write as _;

const PF: u8 = 14;
const GP: u8 = 13;
const NMI: u8 = 2;
/// Error codes with a selector (SDM volume 3, section "Error Code").
const EXTERNAL: u32 = 1;
const IDT: u32 = 1 << 1;
const LDT: u32 = 1 << 2;

/// An event in the trace.
#[derive(Debug, Serialize)]
pub struct Line {
    event: &'static str,
    vector: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cr2: Option<String>,
    #[serde(flatten)]
    from: At,
    handler: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_raised: Option<String>,
}

#[derive(Debug, Serialize)]
struct At {
    cpl: u8,
    cs: String,
    rip: String,
}

impl From<Place> for At {
    fn from(place: Place) -> Self {
        Self { cpl: place.cpl, cs: hex(place.cs), rip: hex(place.rip) }
    }
}

fn hex(value: impl Into<u64>) -> String {
    format!("{:#x}", value.into())
}

impl Delivered for Delivery {
    type Line = Line;

    fn is_exception(&self) -> bool {
        self.kind == EventKind::Exception
    }

    fn is_lost(&self) -> bool {
        self.handler.is_err()
    }

    fn refused_at(&self) -> Option<u64> {
        (self.is_exception() && self.event.vector == GP).then_some(self.from.rip)
    }

    fn line(&self) -> Line {
        let event = &self.event;
        let exception = self.is_exception();
        Line {
            event: match self.kind {
                EventKind::Exception => "exception",
                EventKind::Software => "software",
                EventKind::Interrupt if event.vector == NMI => "nmi",
                EventKind::Interrupt => "interrupt",
            },
            vector: event.vector,
            name: name(event.vector).filter(|_| exception),
            error: event.error.map(hex),
            meaning: error_meaning(event),
            cr2: (exception && event.vector == PF).then(|| hex(event.address)),
            from: self.from.into(),
            handler: self.handler.ok().map(At::from),
            delivery_raised: self.handler.err().map(|raised| title(&raised)),
        }
    }

    fn report(&self, code: &dyn Fn(u64) -> Option<String>) -> RaisedException {
        let event = &self.event;
        RaisedException {
            title: title(event),
            details: Details::X86 {
                vector: event.vector,
                error_code: event.error,
                cr2: (event.vector == PF).then_some(event.address),
                cpl: self.from.cpl,
                rip: self.from.rip,
            },
            // The handler of another privilege level may have another address space.
            instruction: if self.from.cpl == 0 || self.is_lost() { code(self.from.rip) } else { None },
            refused: None,
            delivery_raised: self.handler.err().map(|raised| title(&raised)),
        }
    }
}

/// The name of an exception (SDM volume 3, table 6-1; APM volume 2, table 8-1).
fn name(vector: u8) -> Option<&'static str> {
    Some(match vector {
        0 => "#DE",
        1 => "#DB",
        NMI => "NMI",
        3 => "#BP",
        4 => "#OF",
        5 => "#BR",
        6 => "#UD",
        7 => "#NM",
        8 => "#DF",
        10 => "#TS",
        11 => "#NP",
        12 => "#SS",
        GP => "#GP",
        PF => "#PF",
        16 => "#MF",
        17 => "#AC",
        18 => "#MC",
        19 => "#XM",
        _ => return None,
    })
}

/// `#PF(0x2: write, page not present) of address 0x1234`.
fn title(event: &Exception) -> String {
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

#[cfg(test)]
mod tests;
