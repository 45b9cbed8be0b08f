//! The values of registers that hold what software wrote, found by the register's id.
//!
//! What a register is called here, how many words it takes, and what it holds after RESET follows from its declaration.

use super::Holder;
use super::set::{RegisterSet, Typed};
use crate::profile::Profile;

/// The registers of one vCPU.
#[derive(Debug, Clone)]
pub(crate) struct Bank<Id: RegisterSet> {
    words: Id::Words,
}

impl<Id: RegisterSet> Bank<Id> {
    /// The registers of `profile` after RESET.
    pub(crate) fn new(profile: &Profile) -> Self {
        let mut bank = Self { words: Id::ZERO };
        for register in Id::ALL.iter().filter(|id| id.owner() == **id).map(|id| id.register()) {
            if register.holder != Holder::Bank {
                continue;
            }
            let instances = register.instances(profile) as usize;
            bank.words.as_mut()[register.slot..][..instances].fill((register.reset)(profile));
        }
        bank
    }

    /// A register of which there is one.
    pub(crate) fn get<R: Typed<Id>>(&self) -> R {
        R::new(self.words.as_ref()[R::SLOT])
    }

    /// Instance `n` of a register.
    pub(crate) fn nth<R: Typed<Id>>(&self, n: u32) -> R {
        R::new(self.words.as_ref()[R::SLOT + n as usize])
    }

    /// Replaces a register of which there is one.
    pub(crate) fn set<R: Typed<Id>>(&mut self, register: R) {
        self.words.as_mut()[R::SLOT] = register.bits();
    }

    /// Changes fields of a register of which there is one.
    pub(crate) fn change<R: Typed<Id>>(&mut self, change: impl FnOnce(R) -> R) {
        self.set(change(self.get()));
    }

    /// The word of an instance.
    pub(crate) fn word(&self, id: Id, n: u32) -> u64 {
        self.words.as_ref()[slot(id, n)]
    }

    /// The word of an instance.
    pub(crate) fn word_mut(&mut self, id: Id, n: u32) -> &mut u64 {
        &mut self.words.as_mut()[slot(id, n)]
    }
}

fn slot<Id: RegisterSet>(id: Id, n: u32) -> usize {
    let register = id.register();
    debug_assert!(register.holder == Holder::Bank && n < register.span);
    register.slot + n as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{PROFILES, Vendor};
    use crate::register::{Access, Located, registers};
    use crate::source::ScriptedSource;
    use crate::{Level, ReadOutcome, Vpmu, WriteOutcome};

    /// A plain register is its declaration: nothing else names it, and it can be written, read, saved, restored and
    /// reset.
    #[test]
    fn the_bank_keeps_every_register_that_is_declared() {
        let mut tried = 0;
        for profile in PROFILES {
            let mut source = ScriptedSource::new();
            let plain = Vendor::ALL.into_iter().flat_map(registers).filter(|register| {
                (register.holder, register.access) == (Holder::Bank, Access::ReadWrite)
                    && Located { register, instance: 0 }.exists_in(profile)
            });
            for (register, n) in
                plain.flat_map(|register| [(register, 0), (register, register.instances(profile) - 1)])
            {
                let name = register.instance_name(n);
                let msr = register.index_of(n);
                let mut pmu = Vpmu::new((*profile).clone());
                let fresh = pmu.read_register(Level::Kernel, msr, &mut source).quiet();
                assert_eq!(
                    fresh,
                    ReadOutcome::Value((register.reset)(profile)),
                    "{name} of {}",
                    profile.name
                );
                let value = register.stored(profile) & 0x7FFF_FFFF_FFFF | (register.reset)(profile);
                assert_eq!(
                    pmu.write_register(Level::Kernel, msr, value, &mut source),
                    WriteOutcome::Done,
                    "{name} of {}",
                    profile.name
                );
                assert_eq!(
                    pmu.read_register(Level::Kernel, msr, &mut source),
                    ReadOutcome::Value(value),
                    "{name} of {}",
                    profile.name
                );
                let state = pmu.save(&mut source).quiet();
                assert!(state.registers.values().any(|&saved| saved == value), "{name} of {}", profile.name);
                let mut restored = Vpmu::new((*profile).clone());
                assert_eq!(restored.restore(&state, &mut source), Ok(()), "{name} of {}", profile.name);
                assert_eq!(
                    restored.read_register(Level::Kernel, msr, &mut source),
                    ReadOutcome::Value(value),
                    "{name} of {}",
                    profile.name
                );
                restored.reset(&mut source);
                assert_eq!(
                    restored.read_register(Level::Kernel, msr, &mut source),
                    fresh,
                    "{name} of {}",
                    profile.name
                );
                tried += 1;
            }
        }
        assert!(tried > 100, "{tried}");
    }
}
