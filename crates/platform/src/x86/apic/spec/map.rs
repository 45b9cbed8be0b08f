//! The register map: which register is where, and who may access it.

use super::{ApicMode, DivideConfig, Icr, Lvt, LvtKind, MSR_X2APIC_FIRST, Svr};

/// What software may do with a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Not a register in this mode.
    Reserved,
    /// Reads only.
    ReadOnly,
    /// Writes only.
    WriteOnly,
    /// Both.
    ReadWrite,
}

/// A register of the APIC; ISR, TMR and IRR have eight words each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the register table")]
pub enum Register {
    Id,
    Version,
    Tpr,
    Apr,
    Ppr,
    Eoi,
    RemoteRead,
    Ldr,
    Dfr,
    Svr,
    Isr(u8),
    Tmr(u8),
    Irr(u8),
    Esr,
    IcrLow,
    IcrHigh,
    Lvt(LvtKind),
    InitialCount,
    CurrentCount,
    Divide,
    SelfIpi,
    ExtendedFeature,
    ExtendedControl,
    ExtendedLvt(u8),
}

impl Register {
    /// The register whose 16-byte slot holds xAPIC `offset` (bytes from the page's start).
    #[must_use]
    pub fn from_offset(offset: u64) -> Option<Self> {
        let slot = u8::try_from(offset >> 4).ok()?;
        Some(match slot {
            0x02 => Self::Id,
            0x03 => Self::Version,
            0x08 => Self::Tpr,
            0x09 => Self::Apr,
            0x0A => Self::Ppr,
            0x0B => Self::Eoi,
            0x0C => Self::RemoteRead,
            0x0D => Self::Ldr,
            0x0E => Self::Dfr,
            0x0F => Self::Svr,
            0x10..=0x17 => Self::Isr(slot - 0x10),
            0x18..=0x1F => Self::Tmr(slot - 0x18),
            0x20..=0x27 => Self::Irr(slot - 0x20),
            0x28 => Self::Esr,
            0x30 => Self::IcrLow,
            0x31 => Self::IcrHigh,
            0x32 => Self::Lvt(LvtKind::Timer),
            0x33 => Self::Lvt(LvtKind::Thermal),
            0x34 => Self::Lvt(LvtKind::PerformanceCounter),
            0x35 => Self::Lvt(LvtKind::Lint0),
            0x36 => Self::Lvt(LvtKind::Lint1),
            0x37 => Self::Lvt(LvtKind::Error),
            0x38 => Self::InitialCount,
            0x39 => Self::CurrentCount,
            0x3E => Self::Divide,
            0x3F => Self::SelfIpi,
            0x40 => Self::ExtendedFeature,
            0x41 => Self::ExtendedControl,
            0x50..=0x53 => Self::ExtendedLvt(slot - 0x50),
            _ => return None,
        })
    }

    /// True for the registers of AMD's extended space, which not every APIC has.
    #[must_use]
    pub fn is_extended(self) -> bool {
        matches!(self, Self::ExtendedFeature | Self::ExtendedControl | Self::ExtendedLvt(_))
    }

    /// The register behind an x2APIC MSR index.
    #[must_use]
    pub fn from_msr(index: u32) -> Option<Self> {
        Self::from_offset(u64::from(index.checked_sub(MSR_X2APIC_FIRST)?) << 4)
    }

    /// Access rights ("Local APIC Register Address Map" for the xAPIC page, "Local APIC Register
    /// Address Map Supported by x2APIC" for the MSRs).
    #[must_use]
    pub fn access(self, mode: ApicMode) -> Access {
        let x2apic = mode == ApicMode::X2Apic;
        match self {
            _ if mode == ApicMode::Disabled => Access::Reserved,
            Self::Apr | Self::RemoteRead | Self::Dfr | Self::IcrHigh if x2apic => Access::Reserved,
            Self::SelfIpi if !x2apic => Access::Reserved,
            // "The ability of software to modify the APIC ID is processor model specific"; ours, like
            // every CPU with x2APIC, does not let it.
            Self::Id => Access::ReadOnly,
            Self::Ldr if x2apic => Access::ReadOnly,
            Self::Version | Self::Apr | Self::Ppr | Self::RemoteRead | Self::CurrentCount => Access::ReadOnly,
            Self::Isr(_) | Self::Tmr(_) | Self::Irr(_) => Access::ReadOnly,
            Self::Eoi | Self::SelfIpi => Access::WriteOnly,
            Self::Tpr | Self::Ldr | Self::Dfr | Self::Svr | Self::Esr | Self::IcrLow | Self::IcrHigh => {
                Access::ReadWrite
            }
            Self::Lvt(_) | Self::InitialCount | Self::Divide => Access::ReadWrite,
            Self::ExtendedFeature => Access::ReadOnly,
            Self::ExtendedControl | Self::ExtendedLvt(_) => Access::ReadWrite,
        }
    }

    /// Bits of a 32-bit write that are not reserved. xAPIC writes drop the others, x2APIC writes
    /// fault on them. EOI and ESR accept only 0 in x2APIC mode.
    #[must_use]
    pub fn defined_bits(self, tsc_deadline: bool) -> u32 {
        match self {
            Self::Tpr | Self::SelfIpi => 0xFF,
            Self::Ldr => 0xFF00_0000,
            Self::Dfr => 0xF000_0000,
            Self::Svr => Svr::DEFINED_BITS,
            Self::IcrLow => Icr::DEFINED_BITS,
            Self::IcrHigh => Icr::DEFINED_HIGH_BITS,
            Self::Lvt(kind) => kind.defined_bits(tsc_deadline),
            Self::InitialCount => u32::MAX,
            Self::Divide => DivideConfig::DEFINED_BITS,
            Self::ExtendedLvt(_) => Lvt::EXTENDED_BITS,
            _ => 0,
        }
    }
}
