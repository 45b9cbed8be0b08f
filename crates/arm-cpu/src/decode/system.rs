//! System instructions and those that generate exceptions (Arm ARM C4.1.87).

use super::fields::{bit, bits, source, target};
use crate::bus::Bus;
use crate::exec::maintenance::{self, Operation};
use crate::exec::{Code, Operands, exclusive, plain, register, system};
use crate::register::{Numbered, Own, SystemRegister};
use soft_base::Low;

/// Hints, barriers, PSTATE, SYS, SYSL, MSR and MRS.
pub(super) fn is_system(word: u32) -> bool {
    bits(word, 22, 10) == 0b11_0101_0100
}

pub(super) fn system<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    let name = SystemRegister::of(word);
    let read = bit(word, 21);
    match name.op0() {
        0 if read || bits(word, 0, 5) != 31 => None,
        0 => match (name.op1(), name.crn()) {
            (3, 2) => Some(hint(name)),
            (3, 3) => barrier(name),
            (_, 4) => pstate(name, o),
            _ => None,
        },
        1 => {
            o.rd = source(word, 0);
            Operation::find(name).filter(|_| !read).map(|operation| {
                let code = Code::rare(maintenance::execute);
                if operation == Operation::Zero { code.stores() } else { code }
            })
        }
        _ if read => {
            o.rd = target(word, 0);
            registers(name, o, register::read, register::identify, register::read_numbered, system::read_bus)
        }
        _ => {
            o.rd = source(word, 0);
            let no_identification = crate::exec::undefined;
            registers(
                name,
                o,
                register::write,
                no_identification,
                register::write_numbered,
                system::write_bus,
            )
        }
    }
}

/// Who has a register: the CPU, its identification, its breakpoints, or the bus.
fn registers<B: Bus>(
    name: SystemRegister,
    o: &mut Operands,
    own: crate::exec::Handler<B>,
    identification: crate::exec::Handler<B>,
    numbered: crate::exec::Handler<B>,
    bus: crate::exec::Handler<B>,
) -> Option<Code<B>> {
    if let Some(found) = Own::find(name) {
        o.aux = found as u8;
        return Some(Code::rare(own));
    }
    if name.op0() == 2 {
        return Numbered::find(name).map(|_| Code::rare(numbered));
    }
    // Reserved identification registers read as zero, all from ID_PFR0_EL1 on.
    let (op1, crn, crm, op2) = (name.op1(), name.crn(), name.crm(), name.op2());
    if op1 == 0 && crn == 0 {
        let there = matches!((crm, op2), (0, 0 | 5 | 6) | (1..=7, _));
        return there.then(|| Code::rare(identification));
    }
    Some(Code::rare(bus))
}

/// Hints that mean nothing here are NOPs.
fn hint<B: Bus>(name: SystemRegister) -> Code<B> {
    match (name.crm(), name.op2()) {
        (0, 2) => Code::rare(system::wait_for_event),
        (0, 3) => Code::rare(system::wait_for_interrupt),
        _ => plain!(system::nop),
    }
}

/// CLREX, DSB, DMB and ISB: nothing is out of order.
fn barrier<B: Bus>(name: SystemRegister) -> Option<Code<B>> {
    match name.op2() {
        2 => Some(plain!(exclusive::clear)),
        4..=6 => Some(plain!(system::nop)),
        _ => None,
    }
}

/// MSR of a field of PSTATE.
fn pstate<B: Bus>(name: SystemRegister, o: &mut Operands) -> Option<Code<B>> {
    o.aux = name.crm().low_u8();
    Some(match (name.op1(), name.op2()) {
        (0, 5) => Code::rare(system::select_stack_pointer),
        (3, 6) => Code::rare(system::mask_interrupts::<true, B>),
        (3, 7) => Code::rare(system::mask_interrupts::<false, B>),
        _ => return None,
    })
}

/// SVC, HVC and BRK. SMC is UNDEFINED without EL3, HLT and DCPS without an external debugger.
pub(super) fn exception<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    o.imm = u64::from(bits(word, 5, 16));
    Some(match (bits(word, 21, 3), bits(word, 0, 5)) {
        (0, 1) => Code::rare(system::supervisor_call).ends(),
        (0, 2) => Code::rare(system::hypervisor_call),
        (1, 0) => Code::rare(system::software_breakpoint).ends(),
        _ => return None,
    })
}
