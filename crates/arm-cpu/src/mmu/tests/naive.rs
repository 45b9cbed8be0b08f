//! A walk as the pseudocode of the Arm ARM goes about it, bit by bit, and written without looking at the other one.

use super::{Memory, Registers};
use crate::mmu::Intent;

/// Bits `high` to `low`.
fn bits(value: u64, high: u32, low: u32) -> u64 {
    value << (63 - high) >> (63 - high) >> low
}

fn bit(value: u64, at: u32) -> bool {
    bits(value, at, at) == 1
}

/// The last descriptor of a walk, and what the ones before it say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) descriptor: u64,
    level: u32,
    /// APTable, UXNTable and PXNTable of all tables together, as bits 62:59 have them.
    limits: u64,
    /// First physical address and size.
    pub(super) base: u64,
    pub(super) size: u64,
    device: bool,
    attributes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) attributes: u64,
}

/// Where an address with a tag is and what may be done there, or the fault status code.
pub(super) fn access(
    memory: &Memory,
    registers: &Registers,
    va: u64,
    intent: Intent,
    el0: bool,
    aligned: bool,
) -> Result<Found, u32> {
    leaf(memory, registers, va)?.access(registers, va, intent, el0, aligned)
}

/// The descriptor that translates an address.
pub(super) fn leaf(memory: &Memory, registers: &Registers, va: u64) -> Result<Leaf, u32> {
    let Registers { sctlr, tcr, mair, tables, mmfr0 } = *registers;
    let pa_max = pa_size(bits(mmfr0, 3, 0));
    let second = bit(va, 55);
    let top = if bit(tcr, if second { 38 } else { 37 }) { 55 } else { 63 };
    if !bit(sctlr, 0) {
        if bits(va, top, pa_max) != 0 {
            return Err(0b00_0000);
        }
        let base = bits(va, 47, 12) << 12;
        // As a page that everybody may write and execute.
        return Ok(Leaf {
            descriptor: 1 << 6,
            level: 3,
            limits: 0,
            base,
            size: 4096,
            device: true,
            attributes: 0,
        });
    }
    let (size, disabled, table) = match second {
        false => (bits(tcr, 5, 0), bit(tcr, 7), tables[0]),
        true => (bits(tcr, 21, 16), bit(tcr, 23), tables[1]),
    };
    if !(16..=39).contains(&size) || disabled {
        return Err(0b00_0100);
    }
    let input_size = 64 - size as u32;
    if (input_size..=top).any(|at| bit(va, at) != second) {
        return Err(0b00_0100);
    }
    let output_size = pa_size(bits(tcr, 34, 32)).min(pa_max);
    let too_large = |address: u64| (output_size..48).any(|at| bit(address, at));
    if too_large(table) {
        return Err(0b00_0000);
    }
    let mut level = match input_size {
        40.. => 0,
        31..40 => 1,
        _ => 2,
    };
    let mut limits = 0;
    let mut high = input_size - 1;
    let mut table = table;
    let mut entry_bits = high + 1 - [39, 30, 21, 12][level as usize];
    loop {
        let low = [39, 30, 21, 12][level as usize];
        let base = bits(table, 47, 3 + entry_bits) << (3 + entry_bits);
        let index = bits(va, high, low);
        let descriptor = memory.word(base | index << 3).ok_or(0b01_0100 | level)?;
        let kind = bits(descriptor, 1, 0);
        let last = match (level, kind) {
            (_, 0b00 | 0b10) | (0 | 3, 0b01) => return Err(0b00_0100 | level),
            (1 | 2, 0b01) | (3, 0b11) => true,
            _ => false,
        };
        if too_large(descriptor) {
            return Err(level);
        }
        if last {
            if !bit(descriptor, 10) {
                return Err(0b00_1000 | level);
            }
            let attributes =
                bits(mair, 8 * bits(descriptor, 4, 2) as u32 + 7, 8 * bits(descriptor, 4, 2) as u32);
            return Ok(Leaf {
                descriptor,
                level,
                limits,
                base: bits(descriptor, 47, low) << low,
                size: 1 << low,
                device: bits(attributes, 7, 4) == 0,
                attributes,
            });
        }
        limits |= descriptor & 0xF << 59;
        table = descriptor & !0xFFF;
        high = low - 1;
        entry_bits = 9;
        level += 1;
    }
}

impl Leaf {
    pub(super) fn access(
        &self,
        registers: &Registers,
        va: u64,
        intent: Intent,
        el0: bool,
        aligned: bool,
    ) -> Result<Found, u32> {
        if self.device && !aligned && intent != Intent::Fetch {
            return Err(0b10_0001);
        }
        let wxn = bit(registers.sctlr, 19) && bit(registers.sctlr, 0);
        // AP[2:1] with APTable.
        let mut ap = bits(self.descriptor, 7, 6);
        if bit(self.limits, 61) {
            ap &= 0b10;
        }
        if bit(self.limits, 62) {
            ap |= 0b10;
        }
        let (user_read, user_write) = match ap {
            0b01 => (true, true),
            0b11 => (true, false),
            _ => (false, false),
        };
        let kernel_write = ap < 0b10;
        let uxn = bit(self.descriptor, 54) || bit(self.limits, 60);
        let pxn = bit(self.descriptor, 53) || bit(self.limits, 59);
        // Without translation there are no rights.
        let off = !bit(registers.sctlr, 0);
        let allowed = off
            || match (intent, el0) {
                (Intent::Read | Intent::Maintain, false) => true,
                (Intent::Read | Intent::Maintain, true) => user_read,
                (Intent::Write | Intent::Invalidate, false) => kernel_write,
                (Intent::Write | Intent::Invalidate, true) => user_write,
                (Intent::Fetch, true) => !(uxn || user_write && wxn),
                (Intent::Fetch, false) => !(pxn || kernel_write && wxn || user_write),
            };
        if !allowed {
            return Err(0b00_1100 | self.level);
        }
        let address = self.base + (va & (self.size - 1));
        Ok(Found { address, size: self.size, attributes: self.attributes })
    }
}

fn pa_size(code: u64) -> u32 {
    match code {
        0 => 32,
        1 => 36,
        2 => 40,
        3 => 42,
        4 => 44,
        _ => 48,
    }
}
