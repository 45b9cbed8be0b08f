//! What the register declarations say for a profile, computed once.

use super::{Fault, WriteOutcome};
use crate::profile::Profile;
use crate::register::{Access, Located, OnWrite, Register};

/// Of one register.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Masks {
    pub(super) instances: u32,
    /// Bits that a WRMSR may have set.
    pub(super) accepted: u64,
    /// Bits that it stores.
    pub(super) stored: u64,
    /// Bits that it may not change.
    pub(super) fixed: u64,
}

impl Masks {
    /// Fails for a register that the profile has not.
    pub(super) fn check_present(&self, located: &Located) -> Result<(), Fault> {
        if located.instance < self.instances { Ok(()) } else { Err(Fault::Absent) }
    }

    /// What the declaration alone decides of a WRMSR; an error is the whole outcome.
    pub(super) fn check_write(&self, located: &Located, value: u64) -> Result<(), WriteOutcome> {
        self.check_present(located).map_err(WriteOutcome::Fault)?;
        match located.register.access {
            Access::ReadOnly => return Err(WriteOutcome::Fault(Fault::ReadOnly)),
            Access::WritesDropped => return Err(WriteOutcome::Done),
            Access::ReadWrite | Access::WriteOneToClear | Access::WriteOneToSet => {}
        }
        match value & !self.accepted {
            0 => Ok(()),
            reserved => Err(WriteOutcome::Fault(Fault::ReservedBits(reserved))),
        }
    }
}

/// Of every register, in order of declaration.
pub(super) fn masks<const N: usize>(registers: &[Register], profile: &Profile) -> [Masks; N] {
    let mut all = [Masks::default(); N];
    for (mask, register) in all.iter_mut().zip(registers) {
        *mask = Masks {
            instances: register.instances(profile),
            accepted: register.accepted(profile),
            stored: register.stored(profile),
            fixed: register.bits(OnWrite::FaultOnChange, profile),
        };
    }
    all
}
