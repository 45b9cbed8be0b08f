//! Arithmetic flags, kept as the last result and its carries and computed when they are read.

use crate::low::Low;

pub(crate) const CF: u64 = 1;
pub(crate) const PF: u64 = 1 << 2;
pub(crate) const AF: u64 = 1 << 4;
pub(crate) const ZF: u64 = 1 << 6;
pub(crate) const SF: u64 = 1 << 7;
pub(crate) const TF: u64 = 1 << 8;
pub(crate) const IF: u64 = 1 << 9;
pub(crate) const DF: u64 = 1 << 10;
pub(crate) const OF: u64 = 1 << 11;
pub(crate) const IOPL: u64 = 3 << 12;
pub(crate) const NT: u64 = 1 << 14;
pub(crate) const RF: u64 = 1 << 16;
pub(crate) const VM: u64 = 1 << 17;
pub(crate) const AC: u64 = 1 << 18;
pub(crate) const VIF: u64 = 1 << 19;
pub(crate) const VIP: u64 = 1 << 20;
pub(crate) const ID: u64 = 1 << 21;
/// Bit 1 is always set.
pub(crate) const FIXED: u64 = 2;
pub(crate) const ARITHMETIC: u64 = CF | PF | AF | ZF | SF | OF;

const CARRY: u64 = 1 << 63;
const CARRY_IN: u64 = 1 << 62;
const HALF_CARRY: u64 = 1 << 3;

/// The six arithmetic flags.
///
/// `result` is the last result, sign-extended: it gives ZF, SF and PF. In `carries` bit 63 is CF, bit 62 the
/// carry into the sign bit (OF is their difference), bit 3 AF; bit 0 inverts SF, and the byte at bit 8 is
/// added to the result before its parity is taken, so that every combination can be expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags {
    result: u64,
    carries: u64,
}

impl Flags {
    /// From the low bits of RFLAGS.
    pub(crate) fn from_bits(bits: u64) -> Self {
        let result = u64::from(bits & ZF == 0);
        let mut carries = (bits & CF) << 63 | (bits & AF) >> 1;
        if (bits & OF != 0) != (bits & CF != 0) {
            carries |= CARRY_IN;
        }
        carries |= u64::from(bits & SF != 0);
        // Even parity sets PF; the byte is `result`, 0 or 1.
        carries |= (u64::from(bits & PF == 0) ^ result) << 8;
        Self { result, carries }
    }

    pub(crate) fn bits(self) -> u64 {
        self.carries >> 63
            | u64::from(self.parity()) << 2
            | (self.carries & HALF_CARRY) << 1
            | u64::from(self.zero()) << 6
            | u64::from(self.sign()) << 7
            | u64::from(self.overflow()) << 11
    }

    #[inline(always)]
    pub(crate) fn carry(self) -> bool {
        self.carries >> 63 != 0
    }
    #[inline(always)]
    pub(crate) fn zero(self) -> bool {
        self.result == 0
    }
    #[inline(always)]
    pub(crate) fn sign(self) -> bool {
        (self.result >> 63 ^ self.carries) & 1 != 0
    }
    #[inline(always)]
    pub(crate) fn overflow(self) -> bool {
        (self.carries ^ self.carries << 1) >> 63 != 0
    }
    #[inline(always)]
    pub(crate) fn parity(self) -> bool {
        (self.result ^ self.carries >> 8).low_u8().count_ones() & 1 == 0
    }

    /// After AND, OR, XOR, TEST: CF, OF and AF are 0. `result` is sign-extended.
    #[inline(always)]
    pub(crate) fn logic(&mut self, result: u64) {
        *self = Self { result, carries: 0 };
    }

    /// After an addition or subtraction: bit n of `vector` is the carry out of bit n of `width` bits.
    #[inline(always)]
    pub(crate) fn arithmetic(&mut self, result: u64, vector: u64, width: u32) {
        let top = vector << (64 - width) & (CARRY | CARRY_IN);
        *self = Self { result, carries: top | vector & HALF_CARRY };
    }

    /// As [`arithmetic`](Self::arithmetic), but CF stays.
    #[inline(always)]
    pub(crate) fn arithmetic_keep_carry(&mut self, result: u64, vector: u64, width: u32) {
        let old = self.carry();
        self.arithmetic(result, vector, width);
        let overflow = self.overflow();
        self.set_carry_overflow(old, overflow);
    }

    /// Sets CF and OF only.
    #[inline(always)]
    pub(crate) fn set_carry_overflow(&mut self, carry: bool, overflow: bool) {
        let bits = u64::from(carry) << 63 | u64::from(carry != overflow) << 62;
        self.carries = self.carries & !(CARRY | CARRY_IN) | bits;
    }

    /// Sets ZF, SF, PF from a sign-extended result; CF and OF as given; AF is 0.
    #[inline(always)]
    pub(crate) fn shifted(&mut self, result: u64, carry: bool, overflow: bool) {
        self.logic(result);
        self.set_carry_overflow(carry, overflow);
    }

    #[inline(always)]
    pub(crate) fn set_carry(&mut self, carry: bool) {
        let overflow = self.overflow();
        self.set_carry_overflow(carry, overflow);
    }

    /// Replaces the flags in `mask`.
    pub(crate) fn set(&mut self, mask: u64, bits: u64) {
        *self = Self::from_bits(self.bits() & !mask | bits & mask);
    }

    /// The condition with the number that Jcc, SETcc and CMOVcc encode.
    #[inline(always)]
    pub(crate) fn condition<const C: u8>(self) -> bool {
        let holds = match C >> 1 {
            0 => self.overflow(),
            1 => self.carry(),
            2 => self.zero(),
            3 => self.carry() || self.zero(),
            4 => self.sign(),
            5 => self.parity(),
            6 => self.sign() != self.overflow(),
            _ => self.zero() || self.sign() != self.overflow(),
        };
        holds != (C & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_flags_survives() {
        for n in 0..64_u64 {
            let each = [CF, PF, AF, ZF, SF, OF];
            let bits = each.iter().enumerate().filter(|(i, _)| n >> i & 1 != 0).map(|(_, f)| f).sum::<u64>();
            assert_eq!(Flags::from_bits(bits).bits(), bits);
            let mut flags = Flags::from_bits(bits);
            flags.set_carry(true);
            assert_eq!(flags.bits(), bits | CF);
            flags.set_carry_overflow(false, true);
            assert_eq!(flags.bits(), bits & !CF | OF);
        }
    }
}
