//! What the register declarations say for a profile, computed once.

use super::{Fault, WriteOutcome};
use crate::profile::Profile;
use crate::register::set::RegisterSet;
use crate::register::{Access, Holder, Located, OnWrite, Register, Width};
use crate::state::RestoreError;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::marker::PhantomData;

/// Of one register.
#[derive(Debug, Clone, Copy)]
pub(super) struct Masks {
    pub(super) instances: u32,
    /// Bits that a write may have set.
    pub(super) accepted: u64,
    /// Bits that it stores.
    pub(super) stored: u64,
    /// Bits that it may not change.
    pub(super) fixed: u64,
    /// Value after RESET.
    reset: u64,
    /// It takes canonical addresses only.
    pub(super) canonical: bool,
    /// An event register: says which occurrences an event select's event is about.
    pub(super) refines_events: bool,
}

impl Masks {
    fn of(register: &Register, profile: &Profile) -> Self {
        let has = |width| register.fields.iter().any(|field| field.width == width);
        Self {
            instances: register.instances(profile),
            accepted: register.accepted(profile),
            stored: register.stored(profile),
            fixed: register.bits(OnWrite::FaultOnChange, profile),
            reset: (register.reset)(profile),
            canonical: has(Width::LinearAddress),
            refines_events: [Width::OffcoreMask, Width::LoadLatencyMask, Width::FrontendMask]
                .into_iter()
                .any(has),
        }
    }

    /// Fails for a register that the profile has not.
    pub(super) fn check_present(&self, located: &Located) -> Result<(), Fault> {
        if located.instance < self.instances { Ok(()) } else { Err(Fault::Absent) }
    }

    /// What the declaration alone decides of a write; an error is the whole outcome.
    pub(super) fn check_write(&self, located: &Located, value: u64) -> Result<(), WriteOutcome> {
        self.check_present(located).map_err(WriteOutcome::Fault)?;
        match located.register.access {
            Access::ReadOnly => return Err(WriteOutcome::Fault(Fault::ReadOnly)),
            Access::WritesDropped => return Err(WriteOutcome::Done),
            Access::ReadWrite
            | Access::WriteOneToClear
            | Access::WriteOneToSet
            | Access::ClearBits
            | Access::SetBits
            | Access::WriteOnly => {}
            Access::Indirect => return Err(WriteOutcome::Fault(Fault::Absent)),
        }
        match value & !self.accepted {
            0 => Ok(()),
            reserved => Err(WriteOutcome::Fault(Fault::ReservedBits(reserved))),
        }
    }

    /// Bits of a value that the register can never have: software changes no others than those that it stores.
    pub(super) fn impossible(&self, value: u64) -> u64 {
        (value ^ self.reset) & !self.stored
    }
}

/// Of every register, found by its id.
#[derive(Debug, Clone)]
pub(super) struct AllMasks<Id> {
    masks: Box<[Masks]>,
    of: PhantomData<Id>,
}

/// A register instance that has a value of its own.
pub(super) struct Stateful<Id> {
    /// An address that the profile has.
    pub(super) index: u32,
    pub(super) id: Id,
    pub(super) n: u32,
    register: &'static Register,
}

impl<Id: RegisterSet> AllMasks<Id> {
    pub(super) fn new(profile: &Profile) -> Self {
        let masks = Id::REGISTERS.iter().map(|register| Masks::of(register, profile)).collect();
        Self { masks, of: PhantomData }
    }

    pub(super) fn of(&self, id: Id) -> &Masks {
        &self.masks[id.index()]
    }

    /// Every register instance with a value of its own, in order of declaration. One that has several addresses comes
    /// once, by the first that the profile has.
    pub(super) fn stateful(&self) -> impl Iterator<Item = Stateful<Id>> {
        Id::ALL.iter().filter(|id| id.register().holder != Holder::None).flat_map(move |&id| {
            let owner = id.owner();
            let known = if owner == id { 0 } else { self.of(owner).instances };
            let register = id.register();
            (known..self.of(id).instances).map(move |n| Stateful {
                index: register.index_of(n),
                id: owner,
                n,
                register,
            })
        })
    }

    /// Every saved value is one that its register can have, and there are no others and no fewer.
    pub(super) fn check_saved(&self, saved: &BTreeMap<u32, u64>) -> Result<(), RestoreError> {
        let mut count = 0;
        for Stateful { index, id, n, register } in self.stateful() {
            let value = *saved.get(&index).ok_or(RestoreError::Missing { index })?;
            match self.of(id).impossible(value) {
                0 => count += 1,
                bits => {
                    let register = register.instance_name(n);
                    return Err(RestoreError::Register { register, bits });
                }
            }
        }
        if saved.len() == count {
            return Ok(());
        }
        let stray = saved.keys().copied().find(|&index| self.stateful().all(|known| known.index != index));
        Err(RestoreError::Stray { index: stray.unwrap_or_default() })
    }
}
