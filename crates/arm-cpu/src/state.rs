//! The architectural state, as embedders set and save it.

use crate::mmu::{self, Regime};
use crate::register::{BREAKPOINTS, Identification, Own, WATCHPOINTS};

/// PSTATE in the form of an SPSR (Arm ARM C5.2.19): EL1 with SP_EL1, interrupts masked.
const RESET_PSTATE: u64 = 0x3C5;

/// Everything that software can see of the CPU between two instructions, and what it cannot but matters: the exclusive
/// monitor and whether it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    /// X0 to X30.
    pub x: [u64; 31],
    /// SP_EL0 and SP_EL1.
    pub sp: [u64; 2],
    /// The address of the next instruction.
    pub pc: u64,
    /// PSTATE in the form of an SPSR.
    pub pstate: u64,
    /// V0 to V31.
    pub v: [u128; 32],
    /// FPCR.
    pub fpcr: u64,
    /// FPSR.
    pub fpsr: u64,
    /// The other registers that the CPU stores.
    pub system: SystemState,
    /// What the identification registers say.
    pub identification: Identification,
    /// The exclusive monitor: physical address and bytes that LDXR has marked.
    pub exclusive: Option<(u64, u8)>,
    /// WFI waits for an interrupt.
    pub waiting: bool,
    /// IRQ and FIQ, as levels.
    pub interrupts: [bool; 2],
}

/// Stored system registers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "Saved", into = "Saved")
)]
pub struct SystemState {
    pub(crate) own: [u64; Own::COUNT],
    /// Value and control of each breakpoint, then of each watchpoint.
    pub(crate) breakpoints: [[u64; 2]; BREAKPOINTS as usize],
    pub(crate) watchpoints: [[u64; 2]; WATCHPOINTS as usize],
    /// OSLSR_EL1.OSLK.
    pub(crate) os_lock: bool,
    /// DBGCLAIM.
    pub(crate) claim: u64,
}

#[cfg(feature = "serde")]
mod saved {
    use super::SystemState;
    use crate::register::{OWN, SystemRegister};
    use std::collections::BTreeMap;

    /// Registers by name, so that ones that are added later have their reset values.
    #[derive(serde::Serialize, serde::Deserialize)]
    pub(super) struct Saved {
        own: BTreeMap<SystemRegister, u64>,
        breakpoints: Vec<[u64; 2]>,
        watchpoints: Vec<[u64; 2]>,
        os_lock: bool,
        claim: u64,
    }

    impl From<SystemState> for Saved {
        fn from(state: SystemState) -> Self {
            let own = OWN.iter().zip(state.own).map(|(declaration, value)| (declaration.register, value));
            Self {
                own: own.collect(),
                breakpoints: state.breakpoints.to_vec(),
                watchpoints: state.watchpoints.to_vec(),
                os_lock: state.os_lock,
                claim: state.claim,
            }
        }
    }

    impl From<Saved> for SystemState {
        fn from(saved: Saved) -> Self {
            let mut state = Self { os_lock: saved.os_lock, claim: saved.claim & 0xFF, ..Self::default() };
            for (declaration, value) in OWN.iter().zip(&mut state.own) {
                if let Some(kept) = saved.own.get(&declaration.register) {
                    *value = kept & declaration.mask | declaration.reset & !declaration.mask;
                }
            }
            state.breakpoints.iter_mut().zip(saved.breakpoints).for_each(|(to, from)| *to = from);
            state.watchpoints.iter_mut().zip(saved.watchpoints).for_each(|(to, from)| *to = from);
            state
        }
    }
}

#[cfg(feature = "serde")]
use saved::Saved;

impl Default for SystemState {
    /// After reset.
    fn default() -> Self {
        Self {
            own: crate::register::OWN.map(|declaration| declaration.reset),
            breakpoints: [[0; 2]; BREAKPOINTS as usize],
            watchpoints: [[0; 2]; WATCHPOINTS as usize],
            os_lock: true,
            claim: 0,
        }
    }
}

impl SystemState {
    /// What the registers say of translation, on a CPU with this ID_AA64MMFR0_EL1.
    pub(crate) fn regime(&self, mmfr0: u64) -> Regime {
        let own = |register: Own| self.own[register as usize];
        let controls = [Own::Sctlr, Own::Tcr, Own::Mair].map(own);
        Regime::new(controls, [Own::Ttbr0, Own::Ttbr1].map(own), mmfr0)
    }
}

impl State {
    /// After a reset of such a CPU: at EL1 with the MMU off and interrupts masked. What the architecture leaves
    /// unknown is 0.
    #[must_use]
    pub fn reset(identification: Identification) -> Self {
        Self {
            x: [0; 31],
            sp: [0; 2],
            pc: 0,
            pstate: RESET_PSTATE,
            v: [0; 32],
            fpcr: 0,
            fpsr: 0,
            system: SystemState::default(),
            identification,
            exclusive: None,
            waiting: false,
            interrupts: [false; 2],
        }
    }

    /// The physical address of a virtual one by the tables, whatever the rights to it; `descriptor` reads 8 bytes of
    /// RAM at a physical address. `None` where nothing is mapped or a table is not in RAM.
    #[must_use]
    pub fn translate(&self, va: u64, descriptor: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
        let regime = self.system.regime(self.identification.mmfr0);
        mmu::locate(&regime, descriptor, regime.untagged(va))
    }

    /// A register that the CPU stores, by name; `None` for others.
    #[must_use]
    pub fn system_register(&self, register: crate::SystemRegister) -> Option<u64> {
        Own::find(register).map(|own| self.system.own[own as usize])
    }

    /// Sets a register that the CPU stores; false for others. Bits that it does not have are left out.
    pub fn set_system_register(&mut self, register: crate::SystemRegister, value: u64) -> bool {
        let Some(own) = Own::find(register) else { return false };
        let declaration = own.declaration();
        self.system.own[own as usize] = value & declaration.mask | declaration.reset & !declaration.mask;
        true
    }
}
