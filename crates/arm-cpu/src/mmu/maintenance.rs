//! TLB maintenance (Arm ARM C5.5) as far as it goes beyond forgetting translations: none is kept longer than the
//! architecture lets it, and more may always be forgotten than is asked for.

use crate::context::Core;

impl Core {
    /// TLBI by virtual address: bits 43:0 of the operand are bits 55:12 of the address.
    pub(crate) fn invalidate_address(&mut self, operand: u64) {
        // Bit 55 is sign-extended.
        self.flush_address((operand << 20).cast_signed().wrapping_shr(8).cast_unsigned());
    }
}
