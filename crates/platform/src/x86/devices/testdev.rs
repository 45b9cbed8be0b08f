//! The test device of kvm-unit-tests, as QEMU's `pc-testdev` has it: interrupt lines, a port that remembers, memory
//! that is reached like a device's.
//!
//! Plain state. The flush of a page (port 0xE4) is not there.

use crate::convert::low_u16;
use serde::{Deserialize, Serialize};

/// First port that remembers.
pub const DATA: u16 = 0xE0;
/// Number of them.
pub const DATA_PORTS: u16 = 4;
/// Port of I/O APIC pin 0: writing 1 asserts the pin's line, 0 releases it.
pub const LINES: u16 = 0x2000;
/// Number of such ports.
pub const LINE_PORTS: u16 = low_u16(super::ioapic::PINS as u64);
/// Physical address of the memory.
pub const MEMORY: u64 = 0xFF00_0000;
/// Bytes of it.
pub const MEMORY_SIZE: usize = 0x1_0000;

/// What the device remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestDevice {
    data: [u8; DATA_PORTS as usize],
    /// Up to the last byte that was written; the rest is 0.
    memory: Vec<u8>,
}

impl TestDevice {
    /// Offset into the memory if physical `address` lies in it.
    #[must_use]
    pub fn memory_offset(address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(MEMORY)?).ok()?;
        (offset < MEMORY_SIZE).then_some(offset)
    }

    /// A saved device; `None` if it is none.
    pub(super) fn resume(saved: &Self) -> Option<Self> {
        (saved.memory.len() <= MEMORY_SIZE).then(|| saved.clone())
    }

    pub(super) fn read_data(&self, offset: u16) -> u8 {
        self.data[usize::from(offset) % self.data.len()]
    }

    pub(super) fn write_data(&mut self, offset: u16, byte: u8) {
        let index = usize::from(offset) % self.data.len();
        self.data[index] = byte;
    }

    /// Reads memory; what lies behind its end is all ones.
    pub fn read(&self, offset: usize, data: &mut [u8]) {
        for (at, byte) in (offset..).zip(data) {
            *byte = if at < MEMORY_SIZE { self.memory.get(at).copied().unwrap_or(0) } else { super::ABSENT };
        }
    }

    /// Writes memory; what lies behind its end is lost.
    pub fn write(&mut self, offset: usize, data: &[u8]) {
        let end = offset.saturating_add(data.len()).min(MEMORY_SIZE);
        if self.memory.len() < end {
            self.memory.resize(end, 0);
        }
        for (to, from) in self.memory.iter_mut().skip(offset).zip(data) {
            *to = *from;
        }
    }
}
