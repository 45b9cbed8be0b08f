//! The registers that control translation, and what they say of an address.

use soft_base::Low;

/// SCTLR_EL1.M: translation is on.
const MMU_ON: u64 = 1;
/// SCTLR_EL1.WXN: what may be written is never executed.
const WXN: u64 = 1 << 19;
/// TCR_EL1.A1: the ASID is that of TTBR1_EL1.
const ASID_OF_TTBR1: u64 = 1 << 22;
/// TCR_EL1.AS: ASIDs of 16 bits.
const WIDE_ASIDS: u64 = 1 << 36;
/// Bits of TCR_EL1 from those of TTBR0_EL1 to the same of TTBR1_EL1: TnSZ and EPDn.
const TO_UPPER: u32 = 16;
/// TCR_EL1.EPD0: addresses of TTBR0_EL1 are not translated.
const EPD0: u64 = 1 << 7;
/// TCR_EL1.TBI0; TBI1 is the next bit.
const TBI0: u32 = 37;
/// TCR_EL1.IPS.
const IPS: u32 = 32;
/// Bit 55 of an address chooses the table, whatever the tag above says.
const UPPER: u64 = 1 << 55;
/// Address bits of a translation table base register; above them is the ASID.
const BASE: u64 = 0x0000_FFFF_FFFF_FFFE;

/// Bits of physical addresses, by ID_AA64MMFR0_EL1.PARange and TCR_EL1.IPS (Arm ARM D17.2.64, D17.2.131). Reserved
/// values are as the largest without Armv8.2-LPA.
const PHYSICAL_BITS: [u32; 8] = [32, 36, 40, 42, 44, 48, 48, 48];

/// The registers that stage 1 of the EL1&0 translation regime depends on, and nothing else.
///
/// Granules other than 4 KiB are not implemented: TG0 and TG1 have no effect (Arm ARM D17.2.131).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Regime {
    /// SCTLR_EL1, as much of it as matters.
    sctlr: u64,
    /// TCR_EL1.
    tcr: u64,
    /// MAIR_EL1.
    pub(super) mair: u64,
    /// TTBR0_EL1 and TTBR1_EL1.
    pub(super) tables: [u64; 2],
    /// ID_AA64MMFR0_EL1.
    mmfr0: u64,
}

/// The half of the address space that an address is in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half {
    /// BADDR: the first table.
    pub(super) base: u64,
    /// Bits of its addresses, 25 to 48.
    pub(super) bits: u32,
}

impl Regime {
    /// Of the values of SCTLR_EL1, TCR_EL1 and MAIR_EL1, and of TTBR0_EL1 and TTBR1_EL1, on a CPU with this
    /// ID_AA64MMFR0_EL1.
    pub(crate) fn new([sctlr, tcr, mair]: [u64; 3], tables: [u64; 2], mmfr0: u64) -> Self {
        Self { sctlr: sctlr & (MMU_ON | WXN), tcr, mair, tables, mmfr0 }
    }

    /// SCTLR_EL1.M.
    pub(crate) fn is_on(&self) -> bool {
        self.sctlr & MMU_ON != 0
    }

    /// SCTLR_EL1.WXN.
    pub(super) fn writable_is_not_executable(&self) -> bool {
        self.sctlr & WXN != 0
    }

    /// The same but for the tables and their ASIDs: no translation has to be forgotten between the two.
    pub(super) fn differs_in_tables_only(&self, other: &Self) -> bool {
        *self == Self { tables: self.tables, ..*other }
    }

    /// The ASID of translations that are not global. Without TCR_EL1.AS it has 8 bits.
    pub(super) fn asid(&self) -> u64 {
        self.asid_bits(self.tables[usize::from(self.tcr & ASID_OF_TTBR1 != 0)] >> 48)
    }

    /// As many bits of an ASID as TCR_EL1.AS lets count.
    pub(super) fn asid_bits(&self, asid: u64) -> u64 {
        if self.tcr & WIDE_ASIDS != 0 { asid & 0xFFFF } else { asid & 0xFF }
    }

    /// Bits that physical addresses may have: as many as TCR_EL1.IPS says, or as there are.
    pub(super) fn physical_bits(&self) -> u32 {
        let implemented = self.implemented_bits();
        let chosen = PHYSICAL_BITS[(self.tcr >> IPS).low_usize() & 7];
        implemented.min(chosen)
    }

    /// Bits that physical addresses have.
    pub(super) fn implemented_bits(&self) -> u32 {
        PHYSICAL_BITS[self.mmfr0.low_usize() & 7]
    }

    /// TCR_EL1.TBI of the half that an address is in: its top byte is a tag.
    fn is_tagged(&self, va: u64) -> bool {
        self.tcr >> (TBI0 + u32::from(va & UPPER != 0)) & 1 != 0
    }

    /// An address as it is translated: without its tag, if it may have one. That of a branch loses it as well
    /// (`BranchAddr`), at each level of privilege.
    #[inline(always)]
    pub(crate) fn untagged(&self, va: u64) -> u64 {
        if self.is_tagged(va) { sign_extended(va) } else { va }
    }

    /// The half that an untagged address is in; `None` if it is in neither, or not translated there: a translation
    /// fault at level 0. So are sizes that are out of range (as QEMU has it; the nearest one would be allowed too).
    pub(super) fn half(&self, va: u64) -> Option<Half> {
        let upper = va & UPPER != 0;
        let fields = if upper { self.tcr >> TO_UPPER } else { self.tcr };
        let size = (fields & 0x3F).low_u32();
        if !(16..=39).contains(&size) || fields & EPD0 != 0 {
            return None;
        }
        let bits = 64 - size;
        let above = if upper { !va } else { va } >> bits;
        (above == 0).then_some(Half { base: self.tables[usize::from(upper)] & BASE, bits })
    }
}

/// Bits 63:56 as bit 55.
pub(super) fn sign_extended(va: u64) -> u64 {
    ((va << 8).cast_signed() >> 8).cast_unsigned()
}
