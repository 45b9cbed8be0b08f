//! The condition flags in the form in which instructions leave them.

/// N, Z, C and V. They are kept apart so that setting them takes little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags {
    /// N is its sign.
    negative: i64,
    /// Z: it is 0.
    zero: u64,
    carry: bool,
    overflow: bool,
}

impl Flags {
    /// From bits 31:28, as SPSR and NZCV have them.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self {
            negative: (bits << 32).cast_signed(),
            zero: !bits & 1 << 30,
            carry: bits & 1 << 29 != 0,
            overflow: bits & 1 << 28 != 0,
        }
    }

    /// Bits 31:28.
    pub(crate) fn bits(self) -> u64 {
        u64::from(self.n()) << 31
            | u64::from(self.z()) << 30
            | u64::from(self.carry) << 29
            | u64::from(self.overflow) << 28
    }

    /// Those of a result, sign-extended to 64 bits.
    #[inline(always)]
    pub(crate) fn of(result: i64, carry: bool, overflow: bool) -> Self {
        Self { negative: result, zero: result.cast_unsigned(), carry, overflow }
    }

    #[inline(always)]
    pub(crate) fn n(self) -> bool {
        self.negative < 0
    }

    #[inline(always)]
    pub(crate) fn z(self) -> bool {
        self.zero == 0
    }

    #[inline(always)]
    pub(crate) fn c(self) -> bool {
        self.carry
    }

    #[inline(always)]
    pub(crate) fn v(self) -> bool {
        self.overflow
    }

    /// ConditionHolds (Arm ARM C1.2.4); 14 and 15 always do.
    #[inline(always)]
    pub(crate) fn hold(self, condition: u8) -> bool {
        let holds = match condition >> 1 & 7 {
            0 => self.z(),
            1 => self.c(),
            2 => self.n(),
            3 => self.v(),
            4 => self.c() && !self.z(),
            5 => self.n() == self.v(),
            6 => self.n() == self.v() && !self.z(),
            _ => return true,
        };
        holds != (condition & 1 != 0)
    }
}
