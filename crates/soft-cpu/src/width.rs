//! Operand widths.

use crate::context::Core;

pub(crate) use soft_base::Operand as Memory;

/// An integer operand of 8, 16, 32 or 64 bits.
pub(crate) trait Width: Memory + PartialEq {
    const BITS: u32;
    /// The low bits of `value`.
    fn low(value: u64) -> Self;
    fn zext(self) -> u64;
    /// Sign-extended.
    fn sext(self) -> u64;
    /// Reads a general-purpose register. For bytes 16 + n is the high byte of register n.
    fn reg(core: &Core, number: u8) -> Self;
    /// Writes a general-purpose register with the usual extension rules.
    fn set_reg(self, core: &mut Core, number: u8);
    #[inline(always)]
    fn sign(self) -> bool {
        self.sext() >> 63 != 0
    }
}

macro_rules! width {
    ($t:ty, $signed:ty, $write:expr) => {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            reason = "low bits and sign extension"
        )]
        impl Width for $t {
            const BITS: u32 = <$t>::BITS;
            #[inline(always)]
            fn low(value: u64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn zext(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn sext(self) -> u64 {
                self as $signed as i64 as u64
            }
            #[inline(always)]
            fn reg(core: &Core, number: u8) -> Self {
                core.regs[usize::from(number)] as $t
            }
            #[inline(always)]
            fn set_reg(self, core: &mut Core, number: u8) {
                debug_assert!(number < 16);
                let register = &mut core.regs[usize::from(number)];
                *register = $write(*register, self);
            }
        }
    };
}
width!(u16, i16, |old: u64, new: u16| old & !0xFFFF | u64::from(new));
width!(u32, i32, |_old: u64, new: u32| u64::from(new));
width!(u64, i64, |_old: u64, new: u64| new);

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "low bits and sign extension"
)]
impl Width for u8 {
    const BITS: u32 = 8;
    #[inline(always)]
    fn low(value: u64) -> Self {
        value as u8
    }
    #[inline(always)]
    fn zext(self) -> u64 {
        u64::from(self)
    }
    #[inline(always)]
    fn sext(self) -> u64 {
        self as i8 as i64 as u64
    }
    #[inline(always)]
    fn reg(core: &Core, number: u8) -> Self {
        (core.regs[usize::from(number & 15)] >> ((number >> 4 & 1) * 8)) as u8
    }
    #[inline(always)]
    fn set_reg(self, core: &mut Core, number: u8) {
        let shift = (number >> 4 & 1) * 8;
        let register = &mut core.regs[usize::from(number & 15)];
        *register = *register & !(0xFF << shift) | u64::from(self) << shift;
    }
}
