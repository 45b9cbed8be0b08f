//! Reset, saving and restoring.

use super::Arm;
use crate::register::arm::{Pmresr, RegisterId};
use crate::register::bank::Bank;
use crate::source::CountsSource;
use crate::state::{RestoreError, VpmuState};

impl Arm {
    /// Warm reset: every register returns to its reset value. The ledger stays.
    pub(in crate::pmu) fn reset(&mut self, source: &mut dyn CountsSource) {
        self.sync(source);
        self.flush_ledger();
        self.resets += 1;
        self.set_reset_values();
        self.reprogram_all();
        self.restart(source);
        self.told = self.interrupt_line();
    }

    /// KVM's choice where the architecture leaves contents unknown: zero, unless the matrix is to be poisoned.
    pub(super) fn set_reset_values(&mut self) {
        self.bank = Bank::new(&self.profile);
        for counter in self.events.iter_mut().chain([&mut self.cycles]) {
            counter.value = 0;
        }
        let Some(seed) = self.arm.poison.filter(|_| self.arm.matrix) else { return };
        let mut random = SplitMix(seed ^ self.resets.rotate_left(32));
        for id in [RegisterId::Pmresr, RegisterId::EventControl, RegisterId::CycleControl] {
            for n in 0..self.masks.of(id).instances {
                *self.bank.word_mut(id, n) = match (id, random.next()) {
                    // EN is the one bit with a reset value.
                    (RegisterId::Pmresr, bits) => Pmresr(bits).with_enable(false).0,
                    (_, bits) => bits,
                };
            }
        }
    }

    /// Puts the registers into a state; counters must be up to date.
    pub(in crate::pmu) fn save(&self, state: &mut VpmuState) {
        let values = self.masks.stateful();
        state.registers = values.map(|known| (known.index, self.value(known.id, known.n))).collect();
    }

    pub(in crate::pmu) fn restore(
        &mut self,
        state: &VpmuState,
        source: &mut dyn CountsSource,
    ) -> Result<(), RestoreError> {
        self.masks.check_saved(&state.registers)?;
        if state.branch_cycle.is_some() {
            return Err(RestoreError::NoBranchRecords);
        }
        self.sync(source);
        self.flush_ledger();
        for known in self.masks.clone().stateful() {
            let value = state.registers.get(&known.index).copied().unwrap_or_default();
            self.set_value(known.id, known.n, value);
        }
        self.reprogram_all();
        self.restart(source);
        self.told = self.interrupt_line();
        Ok(())
    }
}

/// SplitMix64 (Steele, Lea, Flood): the shortest generator whose bits are good enough to be poison.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}
