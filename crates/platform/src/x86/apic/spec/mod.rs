//! What the manuals say about the local APIC: register map, access rights, bit fields.
//!
//! Sources: Intel SDM volume 3A, chapter "Advanced Programmable Interrupt Controller (APIC)", cited
//! by section or table title because chapter numbers move between editions; AMD APM volume 2,
//! chapter "Advanced Programmable Interrupt Controller (APIC)" where it differs. Nothing here
//! decides what we do; behaviour is in the sibling modules.

mod map;

pub use self::map::{Access, Register};

use crate::convert::{low_u8, low_u32};

/// Physical address of the xAPIC page after reset ("Relocating the Local APIC Registers").
pub const DEFAULT_BASE: u64 = 0xFEE0_0000;
/// Size of the xAPIC page in bytes.
pub const PAGE_SIZE: u64 = 0x1000;
/// IA32_APIC_BASE.
pub const MSR_APIC_BASE: u32 = 0x1B;
/// IA32_TSC_DEADLINE ("TSC-Deadline Mode").
pub const MSR_TSC_DEADLINE: u32 = 0x6E0;
/// First x2APIC MSR. Register at xAPIC offset `n` is MSR `0x800 + n / 16`.
pub const MSR_X2APIC_FIRST: u32 = 0x800;
/// Last MSR of the range set aside for x2APIC; 0x840 and up are reserved in it.
pub const MSR_X2APIC_LAST: u32 = 0x8FF;

/// Version register: version 14H (integrated APIC), six LVT entries (field holds one less), no
/// EOI-broadcast suppression ("Local APIC Version Register").
pub const VERSION: u32 = 0x0005_0014;
/// Destination format register after reset: flat model, low bits always one.
pub const DFR_RESET: u32 = 0xFFFF_FFFF;
/// Spurious vector register after reset: vector FFH, APIC software-disabled.
pub const SVR_RESET: u32 = 0xFF;
/// Every LVT entry after reset: masked.
pub const LVT_RESET: u32 = 1 << 16;
/// Vectors below this are illegal for fixed interrupts ("Valid Interrupt Vectors").
pub const FIRST_LEGAL_VECTOR: u8 = 16;

/// Operating mode ("x2APIC State Transitions").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApicMode {
    /// EN = 0: the CPU behaves as if it had no local APIC.
    Disabled,
    /// EN = 1, EXTD = 0: registers in the MMIO page.
    XApic,
    /// EN = 1, EXTD = 1: registers are MSRs.
    X2Apic,
}

/// IA32_APIC_BASE (MSR 1BH), "Local APIC Status and Location".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApicBase(pub u64);

impl ApicBase {
    /// Bit 8, BSP: this is the bootstrap processor.
    pub const BSP: u64 = 1 << 8;
    /// Bit 10, EXTD: x2APIC mode. Reserved on CPUs without x2APIC.
    pub const EXTD: u64 = 1 << 10;
    /// Bit 11, EN: APIC global enable.
    pub const EN: u64 = 1 << 11;
    /// After power-up on the bootstrap processor.
    pub const RESET: Self = Self(DEFAULT_BASE | Self::EN | Self::BSP);

    /// Mode of EN and EXTD; `None` for EXTD without EN, which is invalid.
    #[must_use]
    pub fn mode(self) -> Option<ApicMode> {
        match (self.0 & Self::EN != 0, self.0 & Self::EXTD != 0) {
            (false, false) => Some(ApicMode::Disabled),
            (true, false) => Some(ApicMode::XApic),
            (true, true) => Some(ApicMode::X2Apic),
            (false, true) => None,
        }
    }

    /// Physical address of the xAPIC page (bits MAXPHYADDR-1:12).
    #[must_use]
    pub fn address(self) -> u64 {
        self.0 & !(PAGE_SIZE - 1)
    }

    /// Bits that must be written as zero.
    #[must_use]
    pub fn reserved_bits(physical_address_bits: u8, x2apic: bool) -> u64 {
        let above = u64::MAX.checked_shl(physical_address_bits.into()).unwrap_or(0);
        above | 0xFF | 1 << 9 | if x2apic { 0 } else { Self::EXTD }
    }
}

/// Version register bit 31: the extended space at 400H (APM volume 2, "APIC Version Register").
pub const EXTENDED_SPACE: u32 = 1 << 31;
/// Entries of the extended local vector table, 500H to 530H.
pub const EXTENDED_LVT_COUNT: usize = 4;
/// Extended APIC feature register, 400H: four entries; no IER, no SEOI, no IDs of 8 bits more.
pub const EXTENDED_FEATURES: u32 = 4 << 16;

/// Entries of the local vector table ("Local Vector Table").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum LvtKind {
    /// 320H, APIC timer.
    Timer,
    /// 330H, thermal sensor.
    Thermal,
    /// 340H, performance counter overflow (LVTPC).
    PerformanceCounter,
    /// 350H, LINT0 pin.
    Lint0,
    /// 360H, LINT1 pin.
    Lint1,
    /// 370H, internal APIC errors.
    Error,
}

impl LvtKind {
    /// Number of entries.
    pub const COUNT: usize = 6;
    /// Every entry, in register order.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Timer, Self::Thermal, Self::PerformanceCounter, Self::Lint0, Self::Lint1, Self::Error];

    /// Bits that are not reserved; `tsc_deadline` says whether mode bit 18 exists.
    #[must_use]
    pub fn defined_bits(self, tsc_deadline: bool) -> u32 {
        let common = 0xFF | Lvt::DELIVERY_STATUS | Lvt::MASK;
        common
            | match self {
                Self::Timer if tsc_deadline => Lvt::TIMER_MODE,
                Self::Timer => Lvt::TIMER_PERIODIC,
                Self::Thermal | Self::PerformanceCounter => Lvt::DELIVERY_MODE,
                Self::Lint0 | Self::Lint1 => {
                    Lvt::DELIVERY_MODE | Lvt::POLARITY_LOW | Lvt::REMOTE_IRR | Lvt::LEVEL
                }
                Self::Error => 0,
            }
    }
}

/// Delivery mode field of LVT entries and of the ICR, bits 10:8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DeliveryMode {
    /// Interrupt with the vector of the register.
    Fixed,
    /// ICR only; on one CPU the same as fixed.
    LowestPriority,
    /// System management interrupt.
    Smi,
    /// Reserved encoding 3.
    Reserved3,
    /// Non-maskable interrupt; the vector field is ignored.
    Nmi,
    /// INIT request.
    Init,
    /// ICR only: start-up IPI.
    StartUp,
    /// LVT LINT0/1 only: the vector comes from an 8259-compatible controller.
    ExtInt,
}

impl DeliveryMode {
    /// From bits 10:8 of a register.
    pub(super) fn from_bits(register: u32) -> Self {
        match (register >> 8) & 7 {
            0 => Self::Fixed,
            1 => Self::LowestPriority,
            2 => Self::Smi,
            3 => Self::Reserved3,
            4 => Self::Nmi,
            5 => Self::Init,
            6 => Self::StartUp,
            _ => Self::ExtInt,
        }
    }
}

/// Timer mode, bits 18:17 of the LVT timer register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerMode {
    /// Count down once.
    OneShot,
    /// Reload the initial count at zero.
    Periodic,
    /// Fire when the TSC reaches IA32_TSC_DEADLINE.
    TscDeadline,
    /// Encoding 3: no timer runs.
    Reserved,
}

/// One local vector table register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lvt(pub u32);

impl Lvt {
    /// Bits that an entry of the extended table has (APM volume 2, "Extended Interrupt Local Vector Table Registers").
    pub const EXTENDED_BITS: u32 = 0xFF | Self::DELIVERY_MODE | Self::DELIVERY_STATUS | Self::MASK;
    /// Bits 10:8, delivery mode (absent in the timer and error entries).
    pub const DELIVERY_MODE: u32 = 7 << 8;
    /// Bit 12, delivery status, read-only. Our deliveries are instant: always 0.
    pub const DELIVERY_STATUS: u32 = 1 << 12;
    /// Bit 13, pin polarity: 1 = active low.
    pub const POLARITY_LOW: u32 = 1 << 13;
    /// Bit 14, remote IRR, read-only: a level-triggered interrupt was accepted and awaits its EOI.
    pub const REMOTE_IRR: u32 = 1 << 14;
    /// Bit 15, trigger mode: 1 = level.
    pub const LEVEL: u32 = 1 << 15;
    /// Bit 16, mask.
    pub const MASK: u32 = 1 << 16;
    /// Bit 17, periodic timer.
    pub const TIMER_PERIODIC: u32 = 1 << 17;
    /// Bits 18:17, timer mode.
    pub const TIMER_MODE: u32 = 3 << 17;
    /// Bits that a write leaves alone.
    pub const READ_ONLY: u32 = Self::DELIVERY_STATUS | Self::REMOTE_IRR;

    /// Bits 7:0.
    #[must_use]
    pub fn vector(self) -> u8 {
        low_u8(self.0.into())
    }

    /// Bits 10:8.
    #[must_use]
    pub fn delivery_mode(self) -> DeliveryMode {
        DeliveryMode::from_bits(self.0)
    }

    /// Bit 16.
    #[must_use]
    pub fn masked(self) -> bool {
        self.0 & Self::MASK != 0
    }

    /// Bits 18:17 of the timer entry.
    #[must_use]
    pub fn timer_mode(self) -> TimerMode {
        match (self.0 >> 17) & 3 {
            0 => TimerMode::OneShot,
            1 => TimerMode::Periodic,
            2 => TimerMode::TscDeadline,
            _ => TimerMode::Reserved,
        }
    }
}

/// Spurious-interrupt vector register, 0F0H.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Svr(pub u32);

impl Svr {
    /// Bit 8, APIC software enable.
    pub const ENABLE: u32 = 1 << 8;
    /// Vector, enable, and bit 9 (focus checking, accepted without effect). Bit 12 is reserved
    /// because the version register announces no EOI-broadcast suppression.
    pub const DEFINED_BITS: u32 = 0x3FF;

    /// Bit 8.
    #[must_use]
    pub fn enabled(self) -> bool {
        self.0 & Self::ENABLE != 0
    }
}

/// Destination shorthand of the ICR, bits 19:18.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shorthand {
    /// The destination field counts.
    None,
    /// The sender alone.
    SelfOnly,
    /// Everybody.
    AllIncludingSelf,
    /// Everybody else.
    AllExcludingSelf,
}

/// Interrupt command register, 300H (low) and 310H (high), or MSR 830H (64 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icr(pub u64);

impl Icr {
    /// Bit 12, delivery status. Always reads 0 here; a written 1 is dropped in both modes, as Intel CPUs do.
    pub const DELIVERY_STATUS: u32 = 1 << 12;
    /// Bits of the low half that are not reserved: vector, delivery mode, destination mode, status,
    /// level, trigger, shorthand.
    pub const DEFINED_BITS: u32 = 0x000C_DFFF;
    /// Bits of the xAPIC high half that are not reserved: the 8-bit destination.
    pub const DEFINED_HIGH_BITS: u32 = 0xFF00_0000;

    /// Bits 7:0.
    #[must_use]
    pub fn vector(self) -> u8 {
        low_u8(self.0)
    }

    /// Bits 10:8.
    #[must_use]
    pub fn delivery_mode(self) -> DeliveryMode {
        DeliveryMode::from_bits(low_u32(self.0))
    }

    /// Bit 11: 1 = logical destination.
    #[must_use]
    pub fn logical(self) -> bool {
        self.0 & 1 << 11 != 0
    }

    /// Bits 19:18.
    #[must_use]
    pub fn shorthand(self) -> Shorthand {
        match (self.0 >> 18) & 3 {
            0 => Shorthand::None,
            1 => Shorthand::SelfOnly,
            2 => Shorthand::AllIncludingSelf,
            _ => Shorthand::AllExcludingSelf,
        }
    }

    /// Bits 63:32, all of them in x2APIC mode.
    #[must_use]
    pub fn x2apic_destination(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Bits 63:56, the destination in xAPIC mode.
    #[must_use]
    pub fn xapic_destination(self) -> u8 {
        (self.0 >> 56) as u8
    }
}

/// Divide configuration register, 3E0H.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DivideConfig(pub u32);

impl DivideConfig {
    /// Bits 3, 1 and 0; bit 2 is reserved.
    pub const DEFINED_BITS: u32 = 0b1011;

    /// How many bus ticks make one timer tick: 2, 4, 8 … 128, or 1 ("Divide Configuration Register").
    #[must_use]
    pub fn divisor(self) -> u32 {
        let encoding = self.0 & 3 | (self.0 & 8) >> 1;
        1 << ((encoding + 1) & 7)
    }
}

/// Error status register bits, 280H.
pub mod esr {
    /// Bit 5: we were asked to send a vector below 16.
    pub const SEND_ILLEGAL_VECTOR: u8 = 1 << 5;
    /// Bit 6: a vector below 16 arrived, also from our own LVT or SELF IPI.
    pub const RECEIVE_ILLEGAL_VECTOR: u8 = 1 << 6;
    /// Bit 7: access to a reserved register, xAPIC mode only.
    pub const ILLEGAL_REGISTER_ADDRESS: u8 = 1 << 7;
    /// Every bit that this model can set.
    pub const DEFINED_BITS: u8 = SEND_ILLEGAL_VECTOR | RECEIVE_ILLEGAL_VECTOR | ILLEGAL_REGISTER_ADDRESS;
}
