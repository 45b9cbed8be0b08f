//! Interprocessor interrupts, on a machine with one processor.

use super::spec::{ApicMode, DFR_RESET, DeliveryMode, FIRST_LEGAL_VECTOR, Shorthand, esr};
use super::{Delivery, LocalApic};

impl LocalApic {
    /// Sends what the ICR says. Messages for processors that do not exist vanish; INIT, start-up and
    /// SMI requests are accepted and ignored.
    pub(super) fn send_ipi(&mut self) {
        let icr = self.icr;
        let mode = icr.delivery_mode();
        let carries_vector = matches!(mode, DeliveryMode::Fixed | DeliveryMode::LowestPriority);
        if carries_vector && icr.vector() < FIRST_LEGAL_VECTOR {
            self.record_error(esr::SEND_ILLEGAL_VECTOR);
        }
        if !self.is_destination() {
            return;
        }
        match mode {
            DeliveryMode::Fixed | DeliveryMode::LowestPriority => {
                self.inject_message(icr.vector());
            }
            DeliveryMode::Nmi => self.nmi = true,
            DeliveryMode::Smi
            | DeliveryMode::Init
            | DeliveryMode::StartUp
            | DeliveryMode::Reserved3
            | DeliveryMode::ExtInt => {}
        }
    }

    /// SELF IPI register (x2APIC): a fixed, edge-triggered interrupt to this CPU.
    pub(super) fn send_self_ipi(&mut self, vector: u8) -> Delivery {
        if vector < FIRST_LEGAL_VECTOR {
            self.record_error(esr::SEND_ILLEGAL_VECTOR);
        }
        self.inject_message(vector)
    }

    /// Logical APIC ID: the guest's choice in xAPIC mode, derived from the ID in x2APIC mode
    /// ("Logical x2APIC ID").
    pub(super) fn logical_id(&self) -> u32 {
        match self.mode() {
            ApicMode::X2Apic => ((self.config.id >> 4) << 16) | 1 << (self.config.id & 0xF),
            ApicMode::XApic | ApicMode::Disabled => self.ldr,
        }
    }

    fn is_destination(&self) -> bool {
        match self.icr.shorthand() {
            Shorthand::SelfOnly | Shorthand::AllIncludingSelf => true,
            Shorthand::AllExcludingSelf => false,
            Shorthand::None if self.mode() == ApicMode::X2Apic => {
                let (destination, own) = (self.icr.x2apic_destination(), self.logical_id());
                match self.icr.logical() {
                    _ if destination == u32::MAX => true,
                    true => destination >> 16 == own >> 16 && destination & own & 0xFFFF != 0,
                    false => destination == self.config.id,
                }
            }
            Shorthand::None => self.is_addressed(self.icr.xapic_destination(), self.icr.logical()),
        }
    }

    /// True if an 8-bit destination, of xAPIC mode or an I/O APIC, is this CPU.
    pub(super) fn is_addressed(&self, destination: u8, logical: bool) -> bool {
        match logical {
            _ if destination == 0xFF => true,
            // "Logical x2APIC ID": cluster 0 in 8 bits.
            true if self.mode() == ApicMode::X2Apic => {
                let own = self.logical_id();
                own >> 16 == 0 && u32::from(destination) & own & 0xFFFF != 0
            }
            true => self.matches_xapic_logical(destination),
            false => u32::from(destination) == self.config.id & 0xFF,
        }
    }

    /// Flat model: any common bit. Cluster model: same cluster and a common bit ("Logical Destination
    /// Mode").
    fn matches_xapic_logical(&self, destination: u8) -> bool {
        let own = (self.ldr >> 24) as u8;
        if self.dfr == DFR_RESET {
            destination & own != 0
        } else {
            destination & 0xF0 == own & 0xF0 && destination & own & 0x0F != 0
        }
    }
}
