//! What a vector instruction's encoding says beyond its operation, in the 64 bits of [`Insn::imm`](crate::exec::Insn).

use crate::low::Low;

/// What kind of register an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Vector,
    Mask,
    General,
    /// There is none.
    None,
}

impl Class {
    fn bits(self) -> u64 {
        match self {
            Self::Vector => 0,
            Self::Mask => 1,
            Self::General => 2,
            Self::None => 3,
        }
    }

    #[inline(always)]
    fn of(bits: u64) -> Self {
        match bits & 3 {
            0 => Self::Vector,
            1 => Self::Mask,
            2 => Self::General,
            _ => Self::None,
        }
    }
}

/// The rounding that an instruction asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// As MXCSR says.
    Dynamic,
    /// As MXCSR says, without exceptions: SAE.
    Quiet,
    /// So, without exceptions: bits 14:13 of MXCSR.
    Static(u8),
}

/// All of it, unpacked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) imm: u8,
    /// Number of the description.
    pub(crate) number: u16,
    /// The write mask; 0 is none.
    pub(crate) mask: u8,
    /// Elements that are masked become 0.
    pub(crate) zeroing: bool,
    pub(crate) broadcast: bool,
    /// Needs the state of AVX-512.
    pub(crate) evex: bool,
    pub(crate) rounding: Rounding,
    /// Bytes of the memory operand, of a broadcast one its element.
    pub(crate) memory: usize,
    /// Vector length in bytes.
    pub(crate) bytes: usize,
    /// Size of the destination's register in bytes.
    pub(crate) destination: usize,
    pub(crate) classes: [Class; 3],
    pub(crate) third: u8,
}

/// The packed form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoded(pub(crate) u64);

fn log2(size: usize) -> u64 {
    u64::from(size.max(1).ilog2())
}

impl From<Fields> for Encoded {
    fn from(fields: Fields) -> Self {
        let rounding = match fields.rounding {
            Rounding::Dynamic => 0,
            Rounding::Quiet => 1,
            Rounding::Static(mode) => 4 | u64::from(mode & 3),
        };
        let [destination, a, b] = fields.classes.map(Class::bits);
        Self(
            u64::from(fields.imm)
                | u64::from(fields.number) << 8
                | u64::from(fields.mask & 7) << 24
                | u64::from(fields.zeroing) << 27
                | u64::from(fields.broadcast) << 28
                | u64::from(fields.evex) << 29
                | rounding << 30
                | log2(fields.memory) << 33
                | log2(fields.bytes) << 36
                | log2(fields.destination) << 39
                | destination << 42
                | a << 44
                | b << 46
                | u64::from(fields.third & 31) << 48,
        )
    }
}

impl Encoded {
    #[inline(always)]
    pub(crate) fn imm(self) -> u8 {
        self.0.low_u8()
    }

    #[inline(always)]
    pub(crate) fn number(self) -> u16 {
        (self.0 >> 8).low_u16()
    }

    /// The number of the write mask.
    #[inline(always)]
    pub(crate) fn mask(self) -> usize {
        (self.0 >> 24 & 7) as usize
    }

    #[inline(always)]
    pub(crate) fn zeroing(self) -> bool {
        self.0 >> 27 & 1 != 0
    }

    #[inline(always)]
    pub(crate) fn broadcast(self) -> bool {
        self.0 >> 28 & 1 != 0
    }

    /// What [`Core::vector`](crate::context::Core) must have.
    #[inline(always)]
    pub(crate) fn needed(self) -> u8 {
        1 << (self.0 >> 29 & 1)
    }

    #[inline(always)]
    pub(crate) fn rounding(self) -> Rounding {
        match (self.0 >> 30).low_u8() & 7 {
            0 => Rounding::Dynamic,
            1 => Rounding::Quiet,
            mode => Rounding::Static(mode & 3),
        }
    }

    #[inline(always)]
    pub(crate) fn memory(self) -> usize {
        1 << (self.0 >> 33 & 7)
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> usize {
        1 << (self.0 >> 36 & 7)
    }

    #[inline(always)]
    pub(crate) fn destination(self) -> usize {
        1 << (self.0 >> 39 & 7)
    }

    #[inline(always)]
    pub(crate) fn destination_class(self) -> Class {
        Class::of(self.0 >> 42)
    }

    #[inline(always)]
    pub(crate) fn a_class(self) -> Class {
        Class::of(self.0 >> 44)
    }

    #[inline(always)]
    pub(crate) fn b_class(self) -> Class {
        Class::of(self.0 >> 46)
    }

    #[inline(always)]
    pub(crate) fn third(self) -> u8 {
        (self.0 >> 48).low_u8()
    }
}
