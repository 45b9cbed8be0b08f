//! What a prepared instruction is besides its uops.

use bitflags::bitflags;
use retire::{Arithmetic, Class, Divider, Fusion, Instruction, JumpFlags, RegisterFile};

bitflags! {
    /// One bit for each trait.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(crate) struct Traits: u32 {
        const LOAD = 1 << 0;
        const STORE = 1 << 1;
        const LOCK = 1 << 2;
        const SERIALISING = 1 << 3;
        const FENCE = 1 << 4;
        /// First half of a macro-fused pair, by the conditions of the second: any; not the sign alone; neither that nor
        /// the carry.
        const FUSES = 1 << 5;
        const FUSES_NO_SIGN = 1 << 6;
        const FUSES_NO_SIGN_OR_CARRY = 1 << 7;
        const CONDITIONAL = 1 << 8;
        const READS_CARRY = 1 << 9;
        const READS_SIGN = 1 << 10;
        const NOP = 1 << 11;
        const X87 = 1 << 12;
        const MICROCODED = 1 << 13;
        const LENGTH_CHANGING = 1 << 14;
        const FLUSH = 1 << 15;
        const PREFETCH = 1 << 16;
        /// Repeated.
        const STRING = 1 << 17;
        const FP_DOUBLE = 1 << 18;
        const FP_SINGLE = 1 << 19;
        const FP_PACKED = 1 << 20;
        const INTEGER_DIVIDER = 1 << 21;
        const FP_DIVIDER = 1 << 22;
        /// A load or store that renaming can connect with another one, on cores that do.
        const RENAMED = 1 << 23;
        /// Nothing younger is allocated while it lasts.
        const HOLDING = 1 << 24;
        /// More registers than [`Prepared`](crate::instruction::Prepared) has places for.
        const MANY_REGISTERS = 1 << 25;
        /// A direct branch of a core that has a decoder for these.
        const OWN_DECODER = 1 << 26;
        /// A load into a general-purpose register whose address is one register and a small displacement.
        const NEAR = 1 << 27;
        /// Its results come from memory as they are.
        const LOADED = 1 << 28;
        /// A move between general-purpose registers that renaming does.
        const MOVE = 1 << 29;
        /// Names the stack pointer, whose value the stack engine has.
        const STACK_POINTER = 1 << 30;
        /// Takes more room in the uop cache for its constants.
        const WIDE = 1 << 31;
        /// First half of any macro-fused pair.
        const FIRST = Self::FUSES.bits() | Self::FUSES_NO_SIGN.bits() | Self::FUSES_NO_SIGN_OR_CARRY.bits();
        /// Counts floating-point operations.
        const COUNTS_FP = Self::FP_DOUBLE.bits() | Self::FP_SINGLE.bits();
        /// Anything that needs more than execution and a memory access.
        const RARE = Self::LOCK.bits()
            | Self::SERIALISING.bits()
            | Self::FENCE.bits()
            | Self::NOP.bits()
            | Self::HOLDING.bits()
            | Self::X87.bits()
            | Self::MICROCODED.bits()
            | Self::FLUSH.bits()
            | Self::PREFETCH.bits()
            | Self::STRING.bits()
            | Self::INTEGER_DIVIDER.bits()
            | Self::FP_DIVIDER.bits()
            | Self::MANY_REGISTERS.bits();
    }
}

impl Traits {
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
            Class::Plain | Class::DirectBranch => {}
            Class::Nop => traits.set(Self::NOP, true),
            Class::Pause => traits.set(Self::HOLDING, true),
            Class::Repeated { .. } => traits.set(Self::STRING, true),
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

    /// True if the conditional jump `next`, directly behind this instruction, retires as one uop with it.
    #[inline(always)]
    pub(crate) fn fuses_with(self, next: Self) -> bool {
        next.intersects(Self::CONDITIONAL)
            && (self.intersects(Self::FUSES)
                || self.intersects(Self::FUSES_NO_SIGN) && !next.intersects(Self::READS_SIGN)
                || self.intersects(Self::FUSES_NO_SIGN_OR_CARRY)
                    && !next.intersects(Self::READS_CARRY | Self::READS_SIGN))
    }
}
