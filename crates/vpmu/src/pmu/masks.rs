//! What the register declarations say for a profile, computed once.

use crate::profile::Profile;
use crate::register::{OnWrite, Register};

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
