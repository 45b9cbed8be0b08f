//! Interrupts that the APIC raises through its local vector table.

use super::spec::{ApicMode, DeliveryMode, FIRST_LEGAL_VECTOR, Lvt, LvtKind, esr};
use super::{LintPin, LocalApic};

/// What became of an interrupt request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Dropped and not remembered: the entry is masked or the APIC is disabled.
    Masked,
    /// Requested in IRR (possibly merged with an earlier request of the same vector).
    Vector(u8),
    /// Latched as NMI (possibly merged with an earlier one).
    Nmi,
    /// The pin is routed to an external controller; its level shows in [`super::Pending::ext_int`].
    ExtInt,
    /// Vector below 16: dropped, and recorded in ESR.
    IllegalVector(u8),
    /// A delivery mode that this machine has no use for (SMI, INIT, reserved): dropped.
    Unsupported(DeliveryMode),
}

impl Delivery {
    /// One word for traces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Masked => "masked",
            Self::Vector(_) => "vector",
            Self::Nmi => "nmi",
            Self::ExtInt => "extint",
            Self::IllegalVector(_) => "illegal-vector",
            Self::Unsupported(_) => "unsupported",
        }
    }

    /// True if the CPU will see it.
    #[must_use]
    pub fn is_delivered(self) -> bool {
        matches!(self, Self::Vector(_) | Self::Nmi | Self::ExtInt)
    }
}

impl LocalApic {
    /// A performance counter overflowed: delivers a PMI through LVTPC. On Intel CPUs the delivery
    /// masks LVTPC until the handler unmasks it; while masked, further PMIs are lost.
    pub fn raise_pmi(&mut self) -> Delivery {
        let delivery = self.raise(LvtKind::PerformanceCounter);
        if self.config.auto_mask_lvtpc && delivery.is_delivered() {
            self.lvt[LvtKind::PerformanceCounter as usize].0 |= Lvt::MASK;
        }
        delivery
    }

    /// What entry `n` of the extended local vector table says, of four: of AMD's instruction-based sampling and others.
    /// Nothing masks the entry.
    pub fn raise_extended(&mut self, n: u8) -> Delivery {
        let lvt = self.extended_lvt.get(usize::from(n)).filter(|_| self.config.extended_space);
        let Some(lvt) = lvt.filter(|lvt| !lvt.masked() && self.mode() != ApicMode::Disabled) else {
            return Delivery::Masked;
        };
        match lvt.delivery_mode() {
            DeliveryMode::Fixed => self.request(lvt.vector()),
            DeliveryMode::Nmi => {
                self.nmi = true;
                Delivery::Nmi
            }
            other => Delivery::Unsupported(other),
        }
    }

    /// An NMI from outside.
    pub fn raise_nmi(&mut self) -> Delivery {
        self.nmi = true;
        Delivery::Nmi
    }

    /// Sets the level of a LINT pin (`true` = asserted, whatever polarity the guest programmed). With
    /// the APIC disabled LINT0 is INTR and LINT1 is NMI.
    pub fn set_lint(&mut self, pin: LintPin, asserted: bool) -> Delivery {
        let (index, kind) = match pin {
            LintPin::Lint0 => (0, LvtKind::Lint0),
            LintPin::Lint1 => (1, LvtKind::Lint1),
        };
        let rising = asserted && !self.pins[index];
        self.pins[index] = asserted;
        match (self.mode(), pin) {
            _ if !rising => Delivery::Masked,
            (ApicMode::Disabled, LintPin::Lint0) => Delivery::ExtInt,
            (ApicMode::Disabled, LintPin::Lint1) => {
                self.nmi = true;
                Delivery::Nmi
            }
            _ => self.raise(kind),
        }
    }

    /// Delivers what the entry of `kind` says.
    pub(super) fn raise(&mut self, kind: LvtKind) -> Delivery {
        let lvt = self.lvt(kind);
        if lvt.masked() || self.mode() == ApicMode::Disabled {
            return Delivery::Masked;
        }
        match lvt.delivery_mode() {
            DeliveryMode::Fixed => {
                let level = is_level(kind, lvt);
                if level && lvt.0 & Lvt::REMOTE_IRR != 0 {
                    return Delivery::Masked;
                }
                let delivery = self.request(lvt.vector());
                if let (true, Delivery::Vector(vector)) = (level, delivery) {
                    self.tmr.insert(vector);
                    self.lvt[kind as usize].0 |= Lvt::REMOTE_IRR;
                }
                delivery
            }
            DeliveryMode::Nmi => {
                self.nmi = true;
                Delivery::Nmi
            }
            DeliveryMode::ExtInt if matches!(kind, LvtKind::Lint0 | LvtKind::Lint1) => Delivery::ExtInt,
            other => Delivery::Unsupported(other),
        }
    }

    /// Requests an edge-triggered vector in IRR.
    pub(super) fn request(&mut self, vector: u8) -> Delivery {
        if vector < FIRST_LEGAL_VECTOR {
            self.record_error(esr::RECEIVE_ILLEGAL_VECTOR);
            return Delivery::IllegalVector(vector);
        }
        self.irr.insert(vector);
        self.tmr.remove(vector);
        Delivery::Vector(vector)
    }

    /// Records an error. The error interrupt fires once until ESR is written ("a write also rearms
    /// the APIC error interrupt triggering mechanism").
    pub(super) fn record_error(&mut self, bit: u8) {
        let armed = self.new_errors == 0;
        self.new_errors |= bit;
        if armed {
            self.raise(LvtKind::Error);
        }
    }

    /// End of interrupt: leaves the highest vector in service.
    pub(super) fn end_of_interrupt(&mut self) {
        let Some(vector) = self.isr.highest() else { return };
        self.isr.remove(vector);
        if !self.tmr.contains(vector) {
            return;
        }
        self.eoi = Some(vector);
        let lint0 = self.lvt(LvtKind::Lint0);
        if is_level(LvtKind::Lint0, lint0) && lint0.vector() == vector {
            self.lvt[LvtKind::Lint0 as usize].0 &= !Lvt::REMOTE_IRR;
            self.resample_level();
        }
    }

    /// A level that is still asserted requests its interrupt again, after EOI or unmasking.
    pub(super) fn resample_level(&mut self) {
        if self.pins[0] && is_level(LvtKind::Lint0, self.lvt(LvtKind::Lint0)) {
            self.raise(LvtKind::Lint0);
        }
    }
}

/// Level triggering exists for fixed interrupts on LINT0 ("software should always set the trigger
/// mode in the LVT LINT1 register to 0").
fn is_level(kind: LvtKind, lvt: Lvt) -> bool {
    kind == LvtKind::Lint0 && lvt.0 & Lvt::LEVEL != 0 && lvt.delivery_mode() == DeliveryMode::Fixed
}
