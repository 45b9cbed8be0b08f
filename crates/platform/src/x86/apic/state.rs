//! Saved state: a plain struct, checked on the way in.

use crate::convert::low_u32;
use serde::{Deserialize, Serialize};

use super::LocalApic;
use super::spec::{
    self, ApicBase, DivideConfig, FIRST_LEGAL_VECTOR, Icr, Lvt, LvtKind, Register, Svr, TimerMode, esr,
};
use super::timer::{Run, Timer};
use super::vectors::VectorSet;
use crate::time::GuestTime;

/// Everything the guest can notice. Configuration is not part of it, except the ID as a check.
/// Register fields hold the register image, reserved bits zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApicState {
    /// Layout of this struct, [`ApicState::VERSION`].
    pub version: u32,
    /// APIC ID of the CPU that was saved.
    pub id: u32,
    /// IA32_APIC_BASE.
    pub base: u64,
    /// Task priority.
    pub tpr: u8,
    /// Logical destination as written in xAPIC mode.
    pub ldr: u32,
    /// Destination format.
    pub dfr: u32,
    /// Spurious-interrupt vector register.
    pub svr: u32,
    /// Interrupt command, high half in bits 63:32.
    pub icr: u64,
    /// Interrupt requests, 256 bits.
    pub irr: [u32; 8],
    /// Interrupts in service, 256 bits.
    pub isr: [u32; 8],
    /// Trigger modes, 256 bits.
    pub tmr: [u32; 8],
    /// ESR as last published.
    pub esr: u8,
    /// Errors since then.
    pub new_errors: u8,
    /// LVT entries in register order: timer, thermal, LVTPC, LINT0, LINT1, error.
    pub lvt: [u32; LvtKind::COUNT],
    /// Entries of the extended LVT; as after RESET where the APIC has none.
    #[serde(default = "reset_extended")]
    pub extended_lvt: [u32; spec::EXTENDED_LVT_COUNT],
    /// Divide configuration.
    pub divide: u32,
    /// Initial count.
    pub initial_count: u32,
    /// What the timer is doing.
    pub timer: TimerState,
    /// An NMI is latched.
    pub nmi: bool,
    /// Levels of LINT0 and LINT1.
    pub pins: [bool; 2],
}

fn reset_extended() -> [u32; spec::EXTENDED_LVT_COUNT] {
    [spec::LVT_RESET; spec::EXTENDED_LVT_COUNT]
}

/// What the timer is doing. Times are [`GuestTime`] nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimerState {
    /// Not armed.
    Idle,
    /// Counting down.
    Counting {
        /// When the count was written.
        start: u64,
        /// Bus ticks after `start` at which the current count is zero.
        end: u64,
    },
    /// Waiting for the TSC.
    Deadline {
        /// IA32_TSC_DEADLINE, not zero.
        tsc: u64,
        /// When the TSC reaches it.
        due: u64,
    },
}

impl ApicState {
    /// Layout written by this release.
    pub const VERSION: u32 = 1;
}

/// A saved state that this APIC cannot be in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Written by another release.
    #[error("APIC state has version {0}, this release reads version {expected}", expected = ApicState::VERSION)]
    Version(u32),
    /// Saved from another CPU.
    #[error("APIC state is of the CPU with APIC ID {saved:#x}, this one has {own:#x}")]
    Id {
        /// ID in the state.
        saved: u32,
        /// ID of this APIC.
        own: u32,
    },
    /// A register image with reserved bits set, or a mode that is not on offer.
    #[error("APIC state has {name} = {value:#x}, which the register cannot hold")]
    Register {
        /// Register name.
        name: &'static str,
        /// Value in the state.
        value: u64,
    },
    /// An illegal vector is requested or in service.
    #[error("APIC state has vectors {word:#x} below 16 set in {name}")]
    IllegalVectors {
        /// Register name.
        name: &'static str,
        /// Word 0 of the register.
        word: u32,
    },
    /// The timer cannot be doing that in its mode.
    #[error("APIC state has the timer {timer:?}, which does not fit mode {mode:?} and its initial count")]
    Timer {
        /// What the state says.
        timer: TimerState,
        /// Mode in the LVT timer entry.
        mode: TimerMode,
    },
}

impl LocalApic {
    /// Takes a copy of the state.
    #[must_use]
    pub fn save(&self) -> ApicState {
        ApicState {
            version: ApicState::VERSION,
            id: self.config.id,
            base: self.base.0,
            tpr: self.tpr,
            ldr: self.ldr,
            dfr: self.dfr,
            svr: self.svr.0,
            icr: self.icr.0,
            irr: self.irr.0,
            isr: self.isr.0,
            tmr: self.tmr.0,
            esr: self.errors,
            new_errors: self.new_errors,
            lvt: self.lvt.map(|lvt| lvt.0),
            extended_lvt: self.extended_lvt.map(|lvt| lvt.0),
            divide: self.timer.divide.0,
            initial_count: self.timer.initial,
            timer: match self.timer.run {
                Run::Idle => TimerState::Idle,
                Run::Counting { start, end } => TimerState::Counting { start: start.0, end },
                Run::Deadline { tsc, due } => TimerState::Deadline { tsc, due: due.0 },
            },
            nmi: self.nmi,
            pins: self.pins,
        }
    }

    /// Takes over a saved state; guest time must continue from where it was saved.
    ///
    /// # Errors
    /// [`StateError`] if no sequence of accesses could have produced it. Nothing changes then.
    pub fn restore(&mut self, state: &ApicState) -> Result<(), StateError> {
        self.check(state)?;
        self.base = ApicBase(state.base);
        self.tpr = state.tpr;
        self.ldr = state.ldr;
        self.dfr = state.dfr;
        self.svr = Svr(state.svr);
        self.icr = Icr(state.icr);
        self.irr = VectorSet(state.irr);
        self.isr = VectorSet(state.isr);
        self.tmr = VectorSet(state.tmr);
        self.errors = state.esr;
        self.new_errors = state.new_errors;
        self.lvt = state.lvt.map(Lvt);
        self.extended_lvt = state.extended_lvt.map(Lvt);
        self.timer = Timer {
            hz: self.config.timer_hz,
            divide: DivideConfig(state.divide),
            initial: state.initial_count,
            run: match state.timer {
                TimerState::Idle => Run::Idle,
                TimerState::Counting { start, end } => Run::Counting { start: GuestTime(start), end },
                TimerState::Deadline { tsc, due } => Run::Deadline { tsc, due: GuestTime(due) },
            },
        };
        self.nmi = state.nmi;
        self.pins = state.pins;
        Ok(())
    }

    fn check(&self, state: &ApicState) -> Result<(), StateError> {
        if state.version != ApicState::VERSION {
            return Err(StateError::Version(state.version));
        }
        if state.id != self.config.id {
            return Err(StateError::Id { saved: state.id, own: self.config.id });
        }
        let base_reserved = ApicBase::reserved_bits(self.config.physical_address_bits, self.config.x2apic);
        if state.base & base_reserved != 0 || ApicBase(state.base).mode().is_none() {
            return Err(StateError::Register { name: "IA32_APIC_BASE", value: state.base });
        }
        let deadline_offered = self.config.tsc_deadline_hz.is_some();
        let registers = [
            ("LDR", Register::Ldr, state.ldr),
            // Bits 27:0 always read as ones.
            ("DFR", Register::Dfr, state.dfr ^ (spec::DFR_RESET >> 4)),
            ("SVR", Register::Svr, state.svr),
            ("ICR", Register::IcrLow, low_u32(state.icr)),
            ("LVT timer", Register::Lvt(LvtKind::Timer), state.lvt[0]),
            ("LVT thermal", Register::Lvt(LvtKind::Thermal), state.lvt[1]),
            ("LVTPC", Register::Lvt(LvtKind::PerformanceCounter), state.lvt[2]),
            ("LVT LINT0", Register::Lvt(LvtKind::Lint0), state.lvt[3]),
            ("LVT LINT1", Register::Lvt(LvtKind::Lint1), state.lvt[4]),
            ("LVT error", Register::Lvt(LvtKind::Error), state.lvt[5]),
            ("divide configuration", Register::Divide, state.divide),
        ];
        for (name, register, value) in registers {
            if value & !register.defined_bits(deadline_offered) != 0 {
                return Err(StateError::Register { name, value: value.into() });
            }
        }
        for value in state.extended_lvt {
            let known = if self.config.extended_space { Lvt::EXTENDED_BITS } else { spec::LVT_RESET };
            if value & !known != 0 {
                return Err(StateError::Register { name: "extended LVT", value: value.into() });
            }
        }
        let unmasked = state.lvt.iter().chain(&state.extended_lvt).find(|lvt| !Lvt(**lvt).masked());
        if let (false, Some(lvt)) = (Svr(state.svr).enabled(), unmasked) {
            return Err(StateError::Register { name: "LVT entry of a disabled APIC", value: (*lvt).into() });
        }
        for (name, value) in [("ESR", state.esr), ("ESR (unpublished)", state.new_errors)] {
            if value & !esr::DEFINED_BITS != 0 {
                return Err(StateError::Register { name, value: value.into() });
            }
        }
        for (name, word) in [("IRR", state.irr[0]), ("ISR", state.isr[0]), ("TMR", state.tmr[0])] {
            if word & ((1 << FIRST_LEGAL_VECTOR) - 1) != 0 {
                return Err(StateError::IllegalVectors { name, word });
            }
        }
        check_timer(state)
    }
}

/// The timer must be able to run in its mode.
fn check_timer(state: &ApicState) -> Result<(), StateError> {
    let mode = Lvt(state.lvt[LvtKind::Timer as usize]).timer_mode();
    let fits = match state.timer {
        TimerState::Idle => true,
        TimerState::Counting { .. } => {
            state.initial_count != 0 && matches!(mode, TimerMode::OneShot | TimerMode::Periodic)
        }
        TimerState::Deadline { tsc, .. } => tsc != 0 && mode == TimerMode::TscDeadline,
    };
    if fits { Ok(()) } else { Err(StateError::Timer { timer: state.timer, mode }) }
}
