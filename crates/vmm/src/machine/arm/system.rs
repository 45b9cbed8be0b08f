//! System registers that are not the CPU's own: PMU, GIC, generic timer.

use super::Virt;
use crate::machine::exceptions::{MsrAccess, RefusalReason};
use crate::machine::pmu::Origin;
use crate::machine::{Board as _, Machine};
pub use arm_cpu::SystemFault;
use platform::arm::gic::IccRegister;
use platform::arm::system_register::Refused;
use platform::arm::timer::GenericTimer;
use vpmu::pmu::Fault;
use vpmu::source::Level;
use vpmu::{ReadOutcome, WriteOutcome};

fn level(el: u8) -> Level {
    if el == 0 { Level::User } else { Level::Kernel }
}

impl Machine<Virt> {
    /// MRS of a register by its encoding, at exception level `el`.
    ///
    /// # Errors
    /// The exception for the guest.
    pub fn read_system(&mut self, register: u32, el: u8, pc: u64) -> Result<u64, SystemFault> {
        let access = MsrAccess::Mrs { index: register };
        let origin = Origin { now: self.now, rip: Some(pc) };
        let (outcome, pmis) = self.pmu.read_register(level(el), register, origin).into_parts();
        self.deliver(pmis);
        match outcome {
            ReadOutcome::Value(value) => return Ok(value),
            ReadOutcome::Fault(fault) => return Err(self.refuse_pmu(access, pc, fault)),
            ReadOutcome::NotHandled => {}
        }
        let board = &mut self.board;
        let read = if GenericTimer::owns_register(register) {
            board.timer.read_register(register, el, self.now)
        } else if let Some(icc) = IccRegister::find(register) {
            if el == 0 {
                Err(Refused::Undefined)
            } else {
                board.gic.read_system(icc).map_err(|_| Refused::Undefined)
            }
        } else {
            return Err(self.not_implemented(access, pc));
        };
        read.map_err(|refused| self.refuse_system(access, pc, refused))
    }

    /// MSR of a register by its encoding, at exception level `el`.
    ///
    /// # Errors
    /// The exception for the guest; nothing has changed.
    pub fn write_system(&mut self, register: u32, value: u64, el: u8, pc: u64) -> Result<(), SystemFault> {
        let access = MsrAccess::Msr { index: register, value };
        let origin = Origin { now: self.now, rip: Some(pc) };
        let (outcome, pmis) = self.pmu.write_register(level(el), register, value, origin).into_parts();
        self.deliver(pmis);
        match outcome {
            WriteOutcome::Done => return Ok(()),
            WriteOutcome::Fault(fault) => return Err(self.refuse_pmu(access, pc, fault)),
            WriteOutcome::NotHandled => {}
        }
        let board = &mut self.board;
        let written = if GenericTimer::owns_register(register) {
            let written = board.timer.write_register(register, value, el, self.now);
            board.route_interrupts();
            written
        } else if let Some(icc) = IccRegister::find(register) {
            if el == 0 {
                Err(Refused::Undefined)
            } else {
                board.gic.write_system(icc, value).map_err(|_| Refused::Undefined)
            }
        } else {
            return Err(self.not_implemented(access, pc));
        };
        written.map_err(|refused| self.refuse_system(access, pc, refused))
    }

    fn refuse_pmu(&mut self, access: MsrAccess, pc: u64, fault: Fault) -> SystemFault {
        self.refuse(access, Some(pc), RefusalReason::Pmu(fault));
        match fault {
            Fault::Trapped => SystemFault::Trapped,
            _ => SystemFault::Undefined,
        }
    }

    fn refuse_system(&mut self, access: MsrAccess, pc: u64, refused: Refused) -> SystemFault {
        let (reason, fault) = match refused {
            Refused::Undefined => ("there is no such access at this exception level", SystemFault::Undefined),
            Refused::Trapped => ("CNTKCTL_EL1 does not allow it at EL0", SystemFault::Trapped),
        };
        self.refuse(access, Some(pc), RefusalReason::System(reason));
        fault
    }

    fn not_implemented(&mut self, access: MsrAccess, pc: u64) -> SystemFault {
        self.unknown(access, Some(pc));
        SystemFault::Undefined
    }
}
