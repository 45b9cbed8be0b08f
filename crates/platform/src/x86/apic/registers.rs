//! What reading and writing a register does once access rights and reserved bits are settled.

use super::LocalApic;
use super::spec::{
    ApicMode, EXTENDED_FEATURES, EXTENDED_LVT_COUNT, EXTENDED_SPACE, Icr, Lvt, LvtKind, Register, Svr,
    VERSION,
};
use crate::convert::{low_u8, low_u32};
use crate::time::GuestTime;

impl LocalApic {
    /// The 32-bit value of a readable register. The timer must have been advanced to `now`.
    pub(super) fn read_register(&self, register: Register, now: GuestTime) -> u32 {
        match register {
            Register::Id if self.mode() == ApicMode::X2Apic => self.config.id,
            Register::Id => self.config.id << 24,
            Register::Version if self.config.extended_space => VERSION | EXTENDED_SPACE,
            Register::Version => VERSION,
            Register::Tpr => self.tpr.into(),
            Register::Ppr => self.ppr().into(),
            Register::Ldr => self.logical_id(),
            Register::Dfr => self.dfr,
            Register::Svr => self.svr.0,
            Register::Isr(index) => self.isr.word(index),
            Register::Tmr(index) => self.tmr.word(index),
            Register::Irr(index) => self.irr.word(index),
            Register::Esr => self.errors.into(),
            Register::IcrLow => low_u32(self.icr.0),
            Register::IcrHigh => (self.icr.0 >> 32) as u32,
            Register::Lvt(kind) => self.lvt(kind).0,
            Register::InitialCount => self.timer.initial,
            Register::CurrentCount => self.timer.current(now),
            Register::Divide => self.timer.divide.0,
            Register::ExtendedFeature => EXTENDED_FEATURES,
            Register::ExtendedLvt(n) => self.extended_lvt[usize::from(n) % EXTENDED_LVT_COUNT].0,
            Register::Apr
            | Register::RemoteRead
            | Register::Eoi
            | Register::SelfIpi
            | Register::ExtendedControl => 0,
        }
    }

    /// Writes a writable register. `value` has no reserved bits set any more.
    pub(super) fn write_register(&mut self, register: Register, value: u32, now: GuestTime) {
        match register {
            Register::Tpr => self.tpr = low_u8(value.into()),
            Register::Eoi => self.end_of_interrupt(),
            Register::Ldr => self.ldr = value,
            Register::Dfr => self.dfr = value | !register.defined_bits(false),
            Register::Svr => self.write_svr(Svr(value)),
            // "Before attempting to read from the ESR, software should first write to it": the write
            // publishes the errors since the previous one.
            Register::Esr => self.errors = core::mem::take(&mut self.new_errors),
            Register::IcrLow => {
                let low = u64::from(value & !Icr::DELIVERY_STATUS);
                self.icr = Icr(self.icr.0 & !u64::from(u32::MAX) | low);
                self.send_ipi();
            }
            Register::IcrHigh => {
                self.icr = Icr(self.icr.0 & u64::from(u32::MAX) | u64::from(value) << 32);
            }
            Register::Lvt(kind) => self.write_lvt(kind, value),
            Register::InitialCount => {
                let mode = self.lvt(LvtKind::Timer).timer_mode();
                self.timer.write_initial(value, mode, now);
            }
            Register::Divide => self.timer.write_divide(value, now),
            Register::SelfIpi => {
                self.send_self_ipi(low_u8(value.into()));
            }
            Register::ExtendedLvt(n) => {
                // The same rule as for the other entries.
                let masked = if self.svr.enabled() { 0 } else { Lvt::MASK };
                self.extended_lvt[usize::from(n) % EXTENDED_LVT_COUNT] =
                    Lvt(value & !Lvt::READ_ONLY | masked);
            }
            Register::Id
            | Register::ExtendedFeature
            | Register::ExtendedControl
            | Register::Version
            | Register::Apr
            | Register::Ppr
            | Register::RemoteRead
            | Register::Isr(_)
            | Register::Tmr(_)
            | Register::Irr(_)
            | Register::CurrentCount => {}
        }
    }

    /// "The mask bits for all the LVT entries are set" by a software disable, and stay set when the
    /// APIC is enabled again ("Local APIC State After It Has Been Software Disabled").
    fn write_svr(&mut self, value: Svr) {
        self.svr = value;
        if !value.enabled() {
            for lvt in self.lvt.iter_mut().chain(&mut self.extended_lvt) {
                lvt.0 |= Lvt::MASK;
            }
        }
    }

    fn write_lvt(&mut self, kind: LvtKind, value: u32) {
        let old = self.lvt(kind);
        let mut new = Lvt(value & !Lvt::READ_ONLY | old.0 & Lvt::READ_ONLY);
        if !self.svr.enabled() {
            // "Attempts to reset the mask bits are ignored."
            new.0 |= Lvt::MASK;
        }
        self.lvt[kind as usize] = new;
        match kind {
            LvtKind::Timer => self.timer.change_mode(old.timer_mode(), new.timer_mode()),
            LvtKind::Lint0 => {
                if new.0 & Lvt::LEVEL == 0 {
                    self.lvt[kind as usize].0 &= !Lvt::REMOTE_IRR;
                }
                self.resample_level();
            }
            _ => {}
        }
    }
}
