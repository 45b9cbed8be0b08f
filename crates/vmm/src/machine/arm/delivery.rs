//! What an AArch64 CPU takes to EL1, in traces and reports. Keys of a line of the trace:
//!
//! | key | meaning |
//! | --- | --- |
//! | `event` | `exception`, `irq` or `fiq` |
//! | `name` | exception class, of exceptions |
//! | `esr` | ESR_EL1, hexadecimal, of exceptions |
//! | `far` | FAR_EL1, hexadecimal, where it is valid |
//! | `el`, `pc` | exception level before, and return address |
//! | `vector` | address of the vector |

use crate::machine::exceptions::{Delivered, Details, RaisedException};
use arm_cpu::{Cause, Class, Delivery, Exception};
use serde::Serialize;

/// An event in the trace.
#[derive(Debug, Serialize)]
pub struct Line {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    esr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    far: Option<String>,
    el: u8,
    pc: String,
    vector: String,
}

fn exception(delivery: &Delivery) -> Option<Exception> {
    match delivery.cause {
        Cause::Synchronous(exception) => Some(exception),
        Cause::Irq | Cause::Fiq => None,
    }
}

/// The name of an exception class (Arm ARM D17.2.37).
fn name(class: Class) -> &'static str {
    match class {
        Class::Unknown => "undefined instruction",
        Class::TrappedWait => "trapped WFI or WFE",
        Class::FpAccess => "trapped FP or SIMD access",
        Class::IllegalState => "illegal execution state",
        Class::Svc => "SVC",
        Class::TrappedSystem => "trapped system register access",
        Class::InstructionAbort => "instruction abort",
        Class::PcAlignment => "PC alignment fault",
        Class::DataAbort => "data abort",
        Class::SpAlignment => "SP alignment fault",
        Class::Breakpoint => "breakpoint",
        Class::Step => "software step",
        Class::Watchpoint => "watchpoint",
        Class::Brk => "BRK",
    }
}

impl Delivered for Delivery {
    type Line = Line;

    fn is_exception(&self) -> bool {
        exception(self).is_some()
    }

    /// There is always a handler, wherever VBAR_EL1 points.
    fn is_lost(&self) -> bool {
        false
    }

    fn refused_at(&self) -> Option<u64> {
        let refused = exception(self).filter(|e| matches!(e.class, Class::Unknown | Class::TrappedSystem));
        refused.map(|_| self.return_address)
    }

    fn line(&self) -> Line {
        let hex = |value: u64| format!("{value:#x}");
        let exception = exception(self);
        Line {
            event: match self.cause {
                Cause::Synchronous(_) => "exception",
                Cause::Irq => "irq",
                Cause::Fiq => "fiq",
            },
            name: exception.map(|exception| name(exception.class)),
            esr: exception.map(|_| hex(self.syndrome)),
            far: exception.and_then(|exception| exception.address).map(hex),
            el: self.from_el,
            pc: hex(self.return_address),
            vector: hex(self.vector),
        }
    }

    fn report(&self, code: &dyn Fn(u64) -> Option<String>) -> RaisedException {
        let exception = exception(self);
        let far = exception.and_then(|exception| exception.address);
        let title = exception.map_or_else(
            || "interrupt".to_owned(),
            |exception| {
                let address = far.map_or_else(String::new, |far| format!(" of address {far:#x}"));
                format!("{} (ESR {:#x}){address}", name(exception.class), self.syndrome)
            },
        );
        RaisedException {
            title,
            details: Details::Arm { esr: self.syndrome, far, el: self.from_el, pc: self.return_address },
            // EL0 may have another address space than what runs now.
            instruction: if self.from_el > 0 { code(self.return_address) } else { None },
            refused: None,
            delivery_raised: None,
        }
    }
}
