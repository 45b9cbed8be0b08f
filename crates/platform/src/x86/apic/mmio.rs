//! The xAPIC page.

use super::LocalApic;
use super::spec::{Access, ApicMode, Register, esr};
use crate::time::GuestTime;

impl LocalApic {
    /// Reads at `offset` bytes into the page; [`page_offset`](Self::page_offset) tells it from an address.
    ///
    /// Registers are 32 bits wide at multiples of 16 bytes. Narrow and wide reads, which the SDM leaves
    /// undefined, see the register's bytes followed by zeros up to the next slot. In x2APIC mode
    /// and while disabled the page is not there: all ones.
    pub fn mmio_read(&mut self, offset: u64, data: &mut [u8], now: GuestTime) {
        self.advance(now);
        if self.mode() != ApicMode::XApic {
            data.fill(0xFF);
            return;
        }
        // Register slot that `bytes` was read from; neighbours of one access share the look-up.
        let mut slot = None;
        let mut bytes = [0; 4];
        for (index, byte) in (0..).zip(data.iter_mut()) {
            let at = offset.wrapping_add(index);
            if slot != Some(at >> 4) {
                slot = Some(at >> 4);
                bytes = self.mmio_register(at, now).to_le_bytes();
            }
            *byte = usize::try_from(at & 0xF).ok().and_then(|index| bytes.get(index)).copied().unwrap_or(0);
        }
    }

    /// Writes at `offset` bytes into the page. Only aligned 32-bit writes reach a register; others
    /// are ignored, as under KVM. Reserved bits are dropped, read-only registers keep their value.
    pub fn mmio_write(&mut self, offset: u64, data: &[u8], now: GuestTime) {
        self.advance(now);
        if self.mode() != ApicMode::XApic || offset & 0xF != 0 {
            return;
        }
        let Ok(bytes) = <[u8; 4]>::try_from(data) else { return };
        let register = match self.known(Register::from_offset(offset)) {
            Some(register) => register,
            None => return self.record_error(esr::ILLEGAL_REGISTER_ADDRESS),
        };
        match register.access(ApicMode::XApic) {
            Access::Reserved => self.record_error(esr::ILLEGAL_REGISTER_ADDRESS),
            Access::ReadOnly => {}
            Access::WriteOnly | Access::ReadWrite => {
                let defined = register.defined_bits(self.config.tsc_deadline_hz.is_some());
                self.write_register(register, u32::from_le_bytes(bytes) & defined, now);
            }
        }
    }

    fn mmio_register(&mut self, offset: u64, now: GuestTime) -> u32 {
        match self.known(Register::from_offset(offset)) {
            Some(register) if register.access(ApicMode::XApic) != Access::Reserved => {
                self.read_register(register, now)
            }
            _ => {
                self.record_error(esr::ILLEGAL_REGISTER_ADDRESS);
                0
            }
        }
    }
}
