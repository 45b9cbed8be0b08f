//! The registers in memory: distributor and redistributor (IHI 0069, 12.9 and 12.11), for one CPU without security
//! extensions (GICD_CTLR.DS) and with affinity routing (GICD_CTLR.ARE) alone.

use super::Gic;
use super::interrupts::{FIRST_SPI, INTERRUPTS, PRIORITY, ROUTE, SGIS, WORDS};
use crate::convert::{low_u8, low_u32};

/// GICD_CTLR: EnableGrp0, EnableGrp1.
pub(super) const ENABLE_GROUPS: u32 = 3;
/// GICD_CTLR.ARE and DS, which cannot be written.
const ARE_DS: u32 = 1 << 4 | 1 << 6;
/// GICD_TYPER: ITLinesNumber, and ten bits of INTID in IDbits.
const GICD_TYPER: u32 = (INTERRUPTS / 32 - 1) | 9 << 19;
/// GICD_IIDR, GICR_IIDR: implementer Arm (JEP106 code 43BH), no product.
const IIDR: u32 = 0x43B;
/// GICR_TYPER: the last redistributor, of CPU 0 with affinity 0.0.0.0.
const GICR_TYPER: u64 = 1 << 4;
/// GICR_WAKER: ProcessorSleep and ChildrenAsleep.
const PROCESSOR_SLEEP: u32 = 1 << 1;
const CHILDREN_ASLEEP: u32 = 1 << 2;
/// The identification registers from offset FFD0H on: PIDR4 to PIDR7, PIDR0 to PIDR3 (architecture GICv3), CIDR0 to
/// CIDR3.
const IDENTIFICATION: [u32; 12] = [0x44, 0, 0, 0, 0x92, 0xB4, 0x3B, 0, 0x0D, 0xF0, 0x05, 0xB1];
const FIRST_IDENTIFICATION: u64 = 0xFFD0;

/// Bytes of a frame: the distributor, and the two frames of a redistributor.
pub const FRAME: u64 = 0x1_0000;

/// A register of 32 bits, by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Register {
    /// RES0.
    Reserved,
    /// Constant.
    Constant(u32),
    /// GICD_CTLR.
    Control,
    /// GICR_WAKER.
    Waker,
    /// One bit for each of 32 INTIDs.
    Bits(Bank, usize),
    /// Four priorities, from this INTID on.
    Priorities(u32),
    /// Two bits for each of 16 INTIDs, from this one on.
    Configuration(u32),
    /// Half of the route of an SPI; the upper one if true.
    Route(u32, bool),
}

/// What is set and cleared by bits, in the order of the offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bank {
    Group,
    SetEnable,
    ClearEnable,
    SetPending,
    ClearPending,
    SetActive,
    ClearActive,
}

const BANKS: [Bank; 7] = [
    Bank::Group,
    Bank::SetEnable,
    Bank::ClearEnable,
    Bank::SetPending,
    Bank::ClearPending,
    Bank::SetActive,
    Bank::ClearActive,
];

impl Register {
    /// Of the distributor. Registers of SGIs and PPIs are the redistributor's.
    fn of_distributor(offset: u64) -> Self {
        match offset {
            0x0 => Self::Control,
            0x4 => Self::Constant(GICD_TYPER),
            0x8 => Self::Constant(IIDR),
            0x6000..0x8000 => {
                let (intid, upper) = (low_u32(offset - 0x6000) / 8, offset & 4 != 0);
                if (FIRST_SPI..INTERRUPTS).contains(&intid) {
                    Self::Route(intid, upper)
                } else {
                    Self::Reserved
                }
            }
            _ => match Self::of_interrupts(offset) {
                Self::Bits(_, 0) => Self::Reserved,
                Self::Priorities(intid) | Self::Configuration(intid) if intid < FIRST_SPI => Self::Reserved,
                register => register,
            },
        }
    }

    /// Of the redistributor: `RD_base` and `SGI_base`.
    fn of_redistributor(offset: u64) -> Self {
        if let Some(offset) = offset.checked_sub(FRAME) {
            return match Self::of_interrupts(offset) {
                Self::Bits(_, 1..) => Self::Reserved,
                Self::Priorities(intid) | Self::Configuration(intid) if intid >= FIRST_SPI => Self::Reserved,
                register => register,
            };
        }
        match offset {
            0x4 => Self::Constant(IIDR),
            0x8 => Self::Constant(low_u32(GICR_TYPER)),
            0xC => Self::Constant(low_u32(GICR_TYPER >> 32)),
            0x14 => Self::Waker,
            _ => Self::identification(offset),
        }
    }

    /// Those that both have, at the same offsets.
    fn of_interrupts(offset: u64) -> Self {
        let word = low_u32(offset & 0x7C) / 4;
        match offset {
            0x80..0x400 => match BANKS.get((low_u32(offset) / 0x80 - 1) as usize) {
                Some(bank) if (word as usize) < WORDS => Self::Bits(*bank, word as usize),
                _ => Self::Reserved,
            },
            0x400..0x800 => Self::with_intid(low_u32(offset - 0x400), Self::Priorities),
            0xC00..0xD00 => Self::with_intid(low_u32(offset - 0xC00) * 4, Self::Configuration),
            _ => Self::identification(offset),
        }
    }

    fn with_intid(intid: u32, register: fn(u32) -> Self) -> Self {
        if intid < INTERRUPTS { register(intid) } else { Self::Reserved }
    }

    fn identification(offset: u64) -> Self {
        let index = offset.checked_sub(FIRST_IDENTIFICATION).map(|bytes| bytes / 4);
        let value = index.and_then(|index| IDENTIFICATION.get(usize::try_from(index).ok()?));
        value.map_or(Self::Reserved, |value| Self::Constant(*value))
    }
}

/// The state of one of 16 configuration fields is its upper bit.
fn spread(bits: u32) -> u32 {
    (0..16).filter(|n| bits >> n & 1 != 0).fold(0, |fields, n| fields | 2 << (2 * n))
}

fn gather(fields: u32) -> u32 {
    (0..16).filter(|n| fields >> (2 * n) & 2 != 0).fold(0, |bits, n| bits | 1 << n)
}

impl Gic {
    /// Reads from the distributor, at an offset within its [`FRAME`].
    pub fn read_distributor(&self, offset: u64, data: &mut [u8]) {
        self.read(Register::of_distributor, offset, data);
    }

    /// Writes to the distributor.
    pub fn write_distributor(&mut self, offset: u64, data: &[u8]) {
        self.write(Register::of_distributor, offset, data);
    }

    /// Reads from the redistributor, at an offset within its two [frames](FRAME).
    pub fn read_redistributor(&self, offset: u64, data: &mut [u8]) {
        self.read(Register::of_redistributor, offset, data);
    }

    /// Writes to the redistributor.
    pub fn write_redistributor(&mut self, offset: u64, data: &[u8]) {
        self.write(Register::of_redistributor, offset, data);
    }

    /// Registers take aligned accesses of 32 bits, priorities also of a byte, routes and GICR_TYPER of 64 bits; others
    /// read as zero.
    fn read(&self, register: fn(u64) -> Register, offset: u64, data: &mut [u8]) {
        match data.len() {
            1 => {
                let word = self.word(register(offset & !3));
                let of_bytes = matches!(register(offset & !3), Register::Priorities(_));
                data[0] = if of_bytes { low_u8(u64::from(word) >> (offset % 4 * 8)) } else { 0 };
            }
            size @ (4 | 8) if offset.is_multiple_of(size as u64) => {
                for (bytes, offset) in data.chunks_exact_mut(4).zip((offset..).step_by(4)) {
                    bytes.copy_from_slice(&self.word(register(offset)).to_le_bytes());
                }
            }
            _ => data.fill(0),
        }
    }

    /// As [`read`](Self::read); other writes are ignored.
    fn write(&mut self, register: fn(u64) -> Register, offset: u64, data: &[u8]) {
        match *data {
            [byte] => {
                if let Register::Priorities(first) = register(offset & !3) {
                    let intid = first + low_u32(offset % 4);
                    self.interrupts.priority[intid as usize] = byte & PRIORITY;
                }
            }
            [..] if matches!(data.len(), 4 | 8) && offset.is_multiple_of(data.len() as u64) => {
                for (bytes, offset) in data.chunks_exact(4).zip((offset..).step_by(4)) {
                    let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
                    self.write_word(register(offset), value);
                }
            }
            _ => {}
        }
    }

    fn word(&self, register: Register) -> u32 {
        let interrupts = &self.interrupts;
        match register {
            Register::Reserved => 0,
            Register::Constant(value) => value,
            Register::Control => self.groups | ARE_DS,
            Register::Waker if self.asleep => PROCESSOR_SLEEP | CHILDREN_ASLEEP,
            Register::Waker => 0,
            Register::Bits(bank, word) => match bank {
                Bank::Group => interrupts.group[word],
                Bank::SetEnable | Bank::ClearEnable => interrupts.enabled[word],
                Bank::SetPending | Bank::ClearPending => interrupts.pending(word),
                Bank::SetActive | Bank::ClearActive => interrupts.active[word],
            },
            Register::Priorities(first) => {
                let four = interrupts.priority.iter().skip(first as usize).take(4);
                four.rev().fold(0, |word, priority| word << 8 | u32::from(*priority))
            }
            Register::Configuration(first) => spread(interrupts.edge[(first / 32) as usize] >> (first % 32)),
            Register::Route(intid, upper) => {
                let route = interrupts.route[(intid - FIRST_SPI) as usize];
                low_u32(if upper { route >> 32 } else { route })
            }
        }
    }

    fn write_word(&mut self, register: Register, value: u32) {
        let interrupts = &mut self.interrupts;
        match register {
            Register::Reserved | Register::Constant(_) => {}
            Register::Control => self.groups = value & ENABLE_GROUPS,
            Register::Waker => self.asleep = value & PROCESSOR_SLEEP != 0,
            Register::Bits(bank, word) => match bank {
                Bank::Group => interrupts.group[word] = value,
                Bank::SetEnable => interrupts.enabled[word] |= value,
                Bank::ClearEnable => interrupts.enabled[word] &= !value,
                Bank::SetPending => interrupts.latched[word] |= value,
                Bank::ClearPending => interrupts.latched[word] &= !value,
                Bank::SetActive => interrupts.active[word] |= value,
                Bank::ClearActive => interrupts.active[word] &= !value,
            },
            Register::Priorities(first) => {
                let four = interrupts.priority.iter_mut().skip(first as usize);
                for (priority, byte) in four.zip(value.to_le_bytes()) {
                    *priority = byte & PRIORITY;
                }
            }
            Register::Configuration(first) => {
                let (word, shift) = ((first / 32) as usize, first % 32);
                let fixed = if word == 0 { SGIS } else { 0 };
                let written = (0xFFFF << shift) & !fixed;
                interrupts.edge[word] = interrupts.edge[word] & !written | (gather(value) << shift) & written;
            }
            Register::Route(intid, upper) => {
                let route = &mut interrupts.route[(intid - FIRST_SPI) as usize];
                let (kept, written) = if upper {
                    (*route & 0xFFFF_FFFF, u64::from(value) << 32)
                } else {
                    (*route & !0xFFFF_FFFF, u64::from(value))
                };
                *route = (kept | written) & ROUTE;
            }
        }
    }
}
