//! What a prepared instruction is besides its uops.

use retire::{Arithmetic, Class, Divider, Fusion, Instruction, JumpFlags, RegisterFile};

/// One bit for each trait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Traits(u32);

impl Traits {
    pub(crate) const LOAD: Self = Self(1);
    pub(crate) const STORE: Self = Self(1 << 1);
    pub(crate) const LOCK: Self = Self(1 << 2);
    pub(crate) const SERIALISING: Self = Self(1 << 3);
    pub(crate) const FENCE: Self = Self(1 << 4);
    /// First half of a macro-fused pair, by the conditions of the second: any; not the sign alone; neither that nor
    /// the carry.
    const FUSES: Self = Self(1 << 5);
    const FUSES_NO_SIGN: Self = Self(1 << 6);
    const FUSES_NO_SIGN_OR_CARRY: Self = Self(1 << 7);
    pub(crate) const CONDITIONAL: Self = Self(1 << 8);
    const READS_CARRY: Self = Self(1 << 9);
    const READS_SIGN: Self = Self(1 << 10);
    pub(crate) const NOP: Self = Self(1 << 11);
    pub(crate) const X87: Self = Self(1 << 12);
    pub(crate) const MICROCODED: Self = Self(1 << 13);
    pub(crate) const LENGTH_CHANGING: Self = Self(1 << 14);
    pub(crate) const FLUSH: Self = Self(1 << 15);
    pub(crate) const PREFETCH: Self = Self(1 << 16);
    /// Repeated.
    pub(crate) const STRING: Self = Self(1 << 17);
    pub(crate) const FP_DOUBLE: Self = Self(1 << 18);
    pub(crate) const FP_SINGLE: Self = Self(1 << 19);
    pub(crate) const FP_PACKED: Self = Self(1 << 20);
    pub(crate) const INTEGER_DIVIDER: Self = Self(1 << 21);
    const FP_DIVIDER: Self = Self(1 << 22);
    /// A string instruction that compares or loads, an iteration at a time.
    pub(crate) const COMPARES: Self = Self(1 << 23);
    pub(crate) const PAUSE: Self = Self(1 << 24);
    /// More registers than [`Prepared`](crate::instruction::Prepared) has places for.
    pub(crate) const MANY_REGISTERS: Self = Self(1 << 25);
    /// Anything that needs more than execution and a memory access.
    pub(crate) const RARE: Self = Self(
        Self::LOCK.0
            | Self::SERIALISING.0
            | Self::FENCE.0
            | Self::NOP.0
            | Self::PAUSE.0
            | Self::X87.0
            | Self::MICROCODED.0
            | Self::FLUSH.0
            | Self::PREFETCH.0
            | Self::STRING.0
            | Self::FP_DOUBLE.0
            | Self::FP_SINGLE.0
            | Self::INTEGER_DIVIDER.0
            | Self::FP_DIVIDER.0
            | Self::MANY_REGISTERS.0,
    );

    /// Those that an instruction has on every core, apart from its dividers and from fusion.
    pub(crate) fn of(instruction: &Instruction) -> Self {
        let mut traits = Self::default();
        traits.set(Self::LOAD, instruction.loads);
        traits.set(Self::STORE, instruction.stores);
        traits.set(Self::LOCK, instruction.locked);
        traits.set(Self::LENGTH_CHANGING, instruction.length_changing);
        traits.set(Self::X87, instruction.register_file == RegisterFile::X87);
        if let Fusion::Jump { carry, sign } = instruction.fusion {
            traits.set(Self::CONDITIONAL, true);
            traits.set(Self::READS_CARRY, carry);
            traits.set(Self::READS_SIGN, sign);
        }
        match instruction.class {
            Class::Plain => {}
            Class::Nop => traits.set(Self::NOP, true),
            Class::Pause => traits.set(Self::PAUSE, true),
            Class::Repeated { compares } => {
                traits.set(Self::STRING, true);
                traits.set(Self::COMPARES, compares);
            }
            Class::Prefetch(_) => traits.set(Self::PREFETCH, true),
            Class::LineFlush => traits.set(Self::FLUSH, true),
        }
        if let Some(Arithmetic { double, packed, .. }) = instruction.arithmetic {
            traits.set(if double { Self::FP_DOUBLE } else { Self::FP_SINGLE }, true);
            traits.set(Self::FP_PACKED, packed);
        }
        traits
    }

    pub(crate) fn set_fusion(&mut self, fusion: Fusion) {
        match fusion {
            Fusion::First(JumpFlags::Any) => self.set(Self::FUSES, true),
            Fusion::First(JumpFlags::NoSign) => self.set(Self::FUSES_NO_SIGN, true),
            Fusion::First(JumpFlags::NoSignOrCarry) => self.set(Self::FUSES_NO_SIGN_OR_CARRY, true),
            Fusion::None | Fusion::Jump { .. } => {}
        }
    }

    pub(crate) fn set_divider(&mut self, divider: Divider) {
        let integer = matches!(divider, Divider::Integer | Divider::WideInteger);
        self.set(if integer { Self::INTEGER_DIVIDER } else { Self::FP_DIVIDER }, true);
    }

    /// True if any of these is set.
    #[inline(always)]
    pub(crate) fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// True if the conditional jump `next`, directly behind this instruction, retires as one uop with it.
    #[inline(always)]
    pub(crate) fn fuses_with(self, next: Self) -> bool {
        next.any(Self::CONDITIONAL)
            && (self.any(Self::FUSES)
                || self.any(Self::FUSES_NO_SIGN) && !next.any(Self::READS_SIGN)
                || self.any(Self::FUSES_NO_SIGN_OR_CARRY) && !next.any(Self::READS_CARRY | Self::READS_SIGN))
    }

    /// All of them as a number.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) fn set(&mut self, what: Self, when: bool) {
        if when {
            self.0 |= what.0;
        }
    }
}

impl std::ops::BitOr for Traits {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
