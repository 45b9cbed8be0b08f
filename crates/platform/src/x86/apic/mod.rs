//! The local APIC of the one CPU: a single model for every engine.
//!
//! Pure: no clock, no I/O. Every access carries the current [`GuestTime`]; the engine asks
//! [`LocalApic::next_deadline`] how long it may run and [`LocalApic::pending`] what to inject.
//!
//! | file | what it is |
//! | --- | --- |
//! | [`spec`] | register map, access rights and bit fields, as the manuals have them |
//! | `mod.rs` | the state, IA32_APIC_BASE, reset, injection |
//! | `registers.rs` | what reading and writing a register does, the same in both modes |
//! | `mmio.rs`, `msr.rs` | the two ways in: xAPIC page and x2APIC MSRs |
//! | `local.rs` | interrupts from the local vector table: PMI, timer, LINT pins, errors |
//! | `ipi.rs` | the interrupt command register |
//! | `timer.rs`, `vectors.rs` | parts |
//! | `state.rs` | saved state and its validation |
//!
//! # How an engine uses it
//! 1. on an access: `mmio_read`/`mmio_write` (where [`LocalApic::page_offset`] says),
//!    `read_msr`/`write_msr`, `set_base`, `cr8`/`set_cr8`, `read_tsc_deadline`/`write_tsc_deadline`;
//! 2. on a counter overflow: `raise_pmi`;
//! 3. before entering the guest: `advance(now)`, then `pending`: `take_nmi` and inject it, or
//!    `accept_vector` once the guest can take an interrupt.
//!
//! # Not emulated
//! SMI, INIT and start-up IPIs (accepted and ignored: there is one CPU), LVT CMCI,
//! lowest-priority arbitration, APR (reads 0 as under KVM), of the extended AMD space at 400H IER and SEOI.

mod ipi;
mod local;
mod mmio;
mod msr;
mod registers;
pub mod spec;
mod state;
#[cfg(test)]
mod tests;
mod timer;
mod vectors;

use self::spec::{ApicBase, ApicMode, DeliveryMode, Icr, Lvt, LvtKind, Svr};
use self::timer::Timer;
use self::vectors::VectorSet;
use crate::time::GuestTime;
use crate::x86::devices::InterruptMessage;

pub use self::local::Delivery;
pub use self::state::{ApicState, StateError, TimerState};

/// What the machine decides about its APIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApicConfig {
    /// APIC ID; also what CPUID leaves 1, 0BH and 1FH must report. Below 255 unless `x2apic`.
    pub id: u32,
    /// Bus (crystal) clock of the timer in Hz, not zero. CPUID leaf 15H ECX must report the same.
    pub timer_hz: u64,
    /// Set LVTPC's mask bit when a PMI is delivered: true on Intel CPUs, false on AMD CPUs.
    pub auto_mask_lvtpc: bool,
    /// Offer x2APIC mode; `CPUID.1:ECX[21]` must say the same.
    pub x2apic: bool,
    /// Offer TSC-deadline mode with this TSC frequency in Hz; `CPUID.1:ECX[24]` must say the same.
    pub tsc_deadline_hz: Option<u64>,
    /// The extended space of AMD CPUs with its four LVT entries; `CPUID.8000_0001H:ECX[3]` must say the same.
    pub extended_space: bool,
    /// MAXPHYADDR, 32 to 52: bits of IA32_APIC_BASE above it are reserved.
    pub physical_address_bits: u8,
}

impl Default for ApicConfig {
    /// An Intel bootstrap processor with a 1 GHz timer clock, as KVM and QEMU have it.
    fn default() -> Self {
        Self {
            id: 0,
            timer_hz: 1_000_000_000,
            auto_mask_lvtpc: true,
            x2apic: true,
            tsc_deadline_hz: None,
            extended_space: false,
            physical_address_bits: 46,
        }
    }
}

/// A configuration that no APIC can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A clock stands still.
    #[error("the APIC {0} clock is 0 Hz; give it a frequency")]
    ZeroClock(&'static str),
    /// The ID is the broadcast address or does not fit.
    #[error("APIC ID {id:#x} is too large for {mode} mode")]
    Id {
        /// The ID asked for.
        id: u32,
        /// The mode that limits it.
        mode: &'static str,
    },
    /// MAXPHYADDR out of range.
    #[error("{0} physical address bits; x86-64 CPUs have 32 to 52")]
    PhysicalAddressBits(u8),
}

/// The access raises #GP(0) in the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("general protection fault")]
pub struct GeneralProtection;

/// What waits to be injected, highest priority first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pending {
    /// An NMI; fetch it with [`LocalApic::take_nmi`].
    pub nmi: bool,
    /// An 8259-style controller on a LINT pin asks; the vector comes from that controller.
    pub ext_int: bool,
    /// The highest requested vector if it is above the processor priority; fetch it with
    /// [`LocalApic::accept_vector`].
    pub vector: Option<u8>,
}

impl Pending {
    /// True if there is anything to inject.
    #[must_use]
    pub fn any(self) -> bool {
        self.nmi || self.ext_int || self.vector.is_some()
    }
}

/// Which LINT pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LintPin {
    /// LINT0: INTR when the APIC is disabled.
    Lint0,
    /// LINT1: NMI when the APIC is disabled.
    Lint1,
}

/// A local APIC. See the module documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalApic {
    // Configuration.
    config: ApicConfig,

    // Saved state.
    base: ApicBase,
    tpr: u8,
    ldr: u32,
    dfr: u32,
    svr: Svr,
    icr: Icr,
    irr: VectorSet,
    isr: VectorSet,
    tmr: VectorSet,
    /// ESR as the guest reads it.
    errors: u8,
    /// Errors since the last write of ESR.
    new_errors: u8,
    lvt: [Lvt; LvtKind::COUNT],
    extended_lvt: [Lvt; spec::EXTENDED_LVT_COUNT],
    timer: Timer,
    nmi: bool,
    /// Levels of LINT0 and LINT1.
    pins: [bool; 2],

    /// EOI broadcast that the machine has not passed on; empty between two accesses.
    eoi: Option<u8>,
}

impl LocalApic {
    /// An APIC as after power-up: xAPIC mode, software-disabled, everything masked.
    ///
    /// # Errors
    /// [`ConfigError`] for clocks of 0 Hz, an ID that does not fit, or an impossible MAXPHYADDR.
    pub fn new(config: ApicConfig) -> Result<Self, ConfigError> {
        if config.timer_hz == 0 {
            return Err(ConfigError::ZeroClock("timer"));
        }
        if config.tsc_deadline_hz == Some(0) {
            return Err(ConfigError::ZeroClock("TSC"));
        }
        if !config.x2apic && config.id >= 0xFF {
            return Err(ConfigError::Id { id: config.id, mode: "xAPIC" });
        }
        if config.id == u32::MAX {
            return Err(ConfigError::Id { id: config.id, mode: "x2APIC" });
        }
        if !(32..=52).contains(&config.physical_address_bits) {
            return Err(ConfigError::PhysicalAddressBits(config.physical_address_bits));
        }
        Ok(Self {
            config,
            base: ApicBase::RESET,
            tpr: 0,
            ldr: 0,
            dfr: spec::DFR_RESET,
            svr: Svr(spec::SVR_RESET),
            icr: Icr(0),
            irr: VectorSet::default(),
            isr: VectorSet::default(),
            tmr: VectorSet::default(),
            errors: 0,
            new_errors: 0,
            lvt: [Lvt(spec::LVT_RESET); LvtKind::COUNT],
            extended_lvt: [Lvt(spec::LVT_RESET); spec::EXTENDED_LVT_COUNT],
            timer: Timer::new(config.timer_hz),
            nmi: false,
            pins: [false; 2],
            eoi: None,
        })
    }

    /// Back to the state of [`new`](Self::new), except for the levels on the LINT pins.
    pub fn reset(&mut self) {
        self.reset_registers();
        self.base = ApicBase::RESET;
        self.nmi = false;
    }

    /// The configuration given to [`new`](Self::new).
    #[must_use]
    pub fn config(&self) -> &ApicConfig {
        &self.config
    }

    /// IA32_APIC_BASE; [`ApicBase`] decodes it.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base.0
    }

    /// Offset into the xAPIC page if that is where physical `address` points now.
    #[must_use]
    pub fn page_offset(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.base.address()).filter(|offset| *offset < spec::PAGE_SIZE)
    }

    /// Current mode.
    #[must_use]
    pub fn mode(&self) -> ApicMode {
        // `set_base` and `restore` never store the invalid combination.
        self.base.mode().unwrap_or(ApicMode::Disabled)
    }

    /// Writes IA32_APIC_BASE. Disabling loses all registers, as on hardware ("after re-enabling, the
    /// state is that of power-up"); going from xAPIC to x2APIC keeps them.
    ///
    /// # Errors
    /// [`GeneralProtection`] for reserved bits and for the transitions that "x2APIC State
    /// Transitions" forbids: x2APIC to xAPIC, disabled to x2APIC, EXTD without EN.
    pub fn set_base(&mut self, value: u64) -> Result<(), GeneralProtection> {
        let new = ApicBase(value);
        if value & ApicBase::reserved_bits(self.config.physical_address_bits, self.config.x2apic) != 0 {
            return Err(GeneralProtection);
        }
        match (self.mode(), new.mode().ok_or(GeneralProtection)?) {
            (ApicMode::X2Apic, ApicMode::XApic) | (ApicMode::Disabled, ApicMode::X2Apic) => {
                return Err(GeneralProtection);
            }
            (ApicMode::XApic | ApicMode::X2Apic, ApicMode::Disabled) => self.reset_registers(),
            _ => {}
        }
        self.base = new;
        Ok(())
    }

    /// Task-priority class, TPR bits 7:4: what CR8 reads.
    #[must_use]
    pub fn cr8(&self) -> u8 {
        self.tpr >> 4
    }

    /// MOV to CR8: sets TPR bits 7:4 and clears 3:0 ("Interaction of Task Priorities between CR8 and
    /// APIC"). An engine that mirrors a host's copy of CR8 calls this only when it differs from
    /// [`cr8`](Self::cr8), because a mirror must not clear the low bits.
    ///
    /// # Errors
    /// [`GeneralProtection`] if `value` is above 15.
    pub fn set_cr8(&mut self, value: u64) -> Result<(), GeneralProtection> {
        match u8::try_from(value) {
            Ok(class @ 0..=15) => {
                self.tpr = class << 4;
                Ok(())
            }
            _ => Err(GeneralProtection),
        }
    }

    /// Lets the timer run until `now`. Every register access does this itself.
    pub fn advance(&mut self, now: GuestTime) {
        if self.timer.expire(self.lvt(LvtKind::Timer).timer_mode(), now) {
            self.raise(LvtKind::Timer);
        }
    }

    /// When the timer will next raise an interrupt; `None` if it is idle or masked. Never moves
    /// backwards without a register access, and is later than the last `advance`.
    #[must_use]
    pub fn next_deadline(&self) -> Option<GuestTime> {
        if self.lvt(LvtKind::Timer).masked() { None } else { self.timer.due() }
    }

    /// What could be injected now. Whether the guest can take it (RFLAGS.IF, NMI blocking, interrupt
    /// shadow) is for the engine to know.
    #[must_use]
    pub fn pending(&self) -> Pending {
        Pending { nmi: self.nmi, ext_int: self.ext_int(), vector: self.deliverable() }
    }

    /// Takes the pending NMI, for injection. A second NMI that arrives before this call is merged.
    pub fn take_nmi(&mut self) -> bool {
        core::mem::take(&mut self.nmi)
    }

    /// Interrupt acknowledge: moves the highest deliverable vector from IRR to ISR. `None` if there
    /// is none any more (hardware would then signal the spurious vector; asking again is simpler).
    pub fn accept_vector(&mut self) -> Option<u8> {
        let vector = self.deliverable()?;
        self.irr.remove(vector);
        self.isr.insert(vector);
        Some(vector)
    }

    /// An interrupt message from outside (MSI, edge-triggered I/O APIC pin), fixed delivery.
    pub fn inject_message(&mut self, vector: u8) -> Delivery {
        if !self.svr.enabled() || self.mode() == ApicMode::Disabled {
            return Delivery::Masked;
        }
        self.request(vector)
    }

    /// The same for a message in the form that I/O APICs send: to this CPU if `destination` (8 bits) is
    /// its own. A level-triggered vector is broadcast at its end, see [`take_eoi`](Self::take_eoi).
    pub fn receive(&mut self, message: InterruptMessage) -> Delivery {
        let InterruptMessage { vector, delivery_mode, logical, destination, level } = message;
        if self.mode() == ApicMode::Disabled || !self.is_addressed(destination, logical) {
            return Delivery::Masked;
        }
        match delivery_mode {
            // Fixed and lowest priority, which is this CPU when there is one.
            0 | 1 => {
                let delivery = self.inject_message(vector);
                if let (true, Delivery::Vector(vector)) = (level, delivery) {
                    self.tmr.insert(vector);
                }
                delivery
            }
            4 => {
                self.nmi = true;
                Delivery::Nmi
            }
            other => Delivery::Unsupported(DeliveryMode::from_bits(u32::from(other) << 8)),
        }
    }

    /// The vector of a level-triggered interrupt that has just ended, for the I/O APIC.
    pub fn take_eoi(&mut self) -> Option<u8> {
        self.eoi.take()
    }

    /// Processor priority ("Task and Processor Priorities"): the higher class of the task priority
    /// and the interrupt in service.
    #[must_use]
    pub fn ppr(&self) -> u8 {
        let in_service = self.isr.highest().unwrap_or(0) & 0xF0;
        if self.tpr & 0xF0 >= in_service { self.tpr } else { in_service }
    }

    /// The LVT entry as the guest reads it.
    #[must_use]
    pub fn lvt(&self, kind: LvtKind) -> Lvt {
        self.lvt[kind as usize]
    }

    /// A register of this APIC.
    fn known(&self, register: Option<spec::Register>) -> Option<spec::Register> {
        register.filter(|register| self.config.extended_space || !register.is_extended())
    }

    fn deliverable(&self) -> Option<u8> {
        self.irr.highest().filter(|vector| vector & 0xF0 > self.ppr() & 0xF0)
    }

    fn ext_int(&self) -> bool {
        let routed = |kind: LvtKind| {
            !self.lvt(kind).masked() && self.lvt(kind).delivery_mode() == DeliveryMode::ExtInt
        };
        match self.mode() {
            ApicMode::Disabled => self.pins[0],
            _ => (self.pins[0] && routed(LvtKind::Lint0)) || (self.pins[1] && routed(LvtKind::Lint1)),
        }
    }

    fn reset_registers(&mut self) {
        self.tpr = 0;
        self.ldr = 0;
        self.dfr = spec::DFR_RESET;
        self.svr = Svr(spec::SVR_RESET);
        self.icr = Icr(0);
        self.irr = VectorSet::default();
        self.isr = VectorSet::default();
        self.tmr = VectorSet::default();
        self.errors = 0;
        self.new_errors = 0;
        self.lvt = [Lvt(spec::LVT_RESET); LvtKind::COUNT];
        self.extended_lvt = [Lvt(spec::LVT_RESET); spec::EXTENDED_LVT_COUNT];
        self.timer = Timer::new(self.config.timer_hz);
    }
}
