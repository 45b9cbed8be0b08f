//! Tests through the guest-visible interface: the MMIO page, the MSRs, and what gets injected.

mod ipi;
mod local;
mod priority;
mod random;
mod registers;
mod state;
mod timer;

use super::spec::ApicBase;
use super::{ApicConfig, GeneralProtection, LocalApic};
use crate::time::GuestTime;

const NOW: GuestTime = GuestTime(1_000_000);

const EOI: u64 = 0x0B0;
const TPR: u64 = 0x080;
const PPR: u64 = 0x0A0;
const SVR: u64 = 0x0F0;
const ESR: u64 = 0x280;
const ICR_LOW: u64 = 0x300;
const ICR_HIGH: u64 = 0x310;
const LVT_TIMER: u64 = 0x320;
const LVTPC: u64 = 0x340;
const LINT0: u64 = 0x350;
const LINT1: u64 = 0x360;
const LVT_ERROR: u64 = 0x370;
const INITIAL: u64 = 0x380;
const CURRENT: u64 = 0x390;
const DIVIDE: u64 = 0x3E0;
const NMI_MODE: u32 = 0x400;
const MASKED: u32 = 0x1_0000;

fn with(config: ApicConfig) -> LocalApic {
    LocalApic::new(config).unwrap()
}

/// As after reset.
fn fresh() -> LocalApic {
    with(ApicConfig::default())
}

/// Software-enabled, which every driver does first.
fn enabled() -> LocalApic {
    let mut apic = fresh();
    apic.set(SVR, 0x1FF);
    apic
}

fn x2apic(config: ApicConfig) -> LocalApic {
    let mut apic = with(config);
    apic.set_base(ApicBase::RESET.0 | ApicBase::EXTD).unwrap();
    apic
}

/// The guest's view in one word.
trait Guest {
    fn get(&mut self, offset: u64) -> u32;
    fn get_at(&mut self, offset: u64, now: GuestTime) -> u32;
    fn set(&mut self, offset: u64, value: u32);
    fn set_at(&mut self, offset: u64, value: u32, now: GuestTime);
    fn rdmsr(&mut self, index: u32) -> Result<u64, GeneralProtection>;
    fn wrmsr(&mut self, index: u32, value: u64) -> Result<(), GeneralProtection>;
}

impl Guest for LocalApic {
    fn get(&mut self, offset: u64) -> u32 {
        self.get_at(offset, NOW)
    }

    fn get_at(&mut self, offset: u64, now: GuestTime) -> u32 {
        let mut data = [0; 4];
        self.mmio_read(offset, &mut data, now);
        u32::from_le_bytes(data)
    }

    fn set(&mut self, offset: u64, value: u32) {
        self.set_at(offset, value, NOW);
    }

    fn set_at(&mut self, offset: u64, value: u32, now: GuestTime) {
        self.mmio_write(offset, &value.to_le_bytes(), now);
    }

    fn rdmsr(&mut self, index: u32) -> Result<u64, GeneralProtection> {
        self.read_msr(index, NOW)
    }

    fn wrmsr(&mut self, index: u32, value: u64) -> Result<(), GeneralProtection> {
        self.write_msr(index, value, NOW)
    }
}
