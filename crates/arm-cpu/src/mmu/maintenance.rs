//! TLB maintenance (Arm ARM C5.5). None of what is to go stays; more may always go than is asked for.

use super::regime::sign_extended;

/// What TLBI takes out of the TLB. Variants for the Inner Shareable domain and for the last level only do the same:
/// there is one CPU, and no table is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invalidation {
    /// Everything: VMALLE1.
    All,
    /// Translations of an ASID that are not global: ASIDE1.
    Asid(u64),
    /// The page or block of a virtual address, for any ASID: VAE1, VAAE1, VALE1, VAALE1.
    Address(u64),
}

impl Invalidation {
    /// By op2 and the operand of a TLBI with op1 0, CRn 8, CRm 3 or 7; `None` if there is no such instruction.
    pub(crate) fn decode(op2: u32, operand: u64) -> Option<Self> {
        match op2 {
            0 => Some(Self::All),
            2 => Some(Self::Asid(operand >> 48)),
            // Bits 43:0 are bits 55:12 of the address.
            1 | 3 | 5 | 7 => Some(Self::Address(sign_extended(operand << 12))),
            _ => None,
        }
    }
}
