//! How an instruction's operands and mask go with its operation.

use super::float::Kernel;
use super::operands::Operation;
use iced_x86::Code;
use std::collections::HashMap;

/// Which operands there are, and what becomes of the rest of the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The result is the whole destination, up to the length of its register or memory.
    Packed,
    /// It is the lowest element; bits 127 up to it come from the first source.
    Scalar,
    /// It is the lowest element; bits 127 up to it stay (scalar FMA).
    Merge,
    /// There is no destination: the first operand is the first source, and flags are the result.
    Sources,
}

/// Which elements a write mask is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Masking {
    /// Those that have a bit.
    Elements,
    /// Those that have a bit, and the others are the first source's (VPBLENDMB).
    Blend,
    /// Those that have a bit; what is read is shorter and repeated (VBROADCASTF32X4).
    Repeat,
    /// As many as there are bits, which the operation takes from where the bits are (VPCOMPRESSD).
    Compress,
    /// Those that have a bit; as many as there are bits are read (VPEXPANDD).
    Expand,
}

/// An instruction: what it computes, and what the framework has to know for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Description {
    pub(crate) operation: Operation,
    pub(crate) shape: Shape,
    /// Bytes of the destination that go with a bit of the write mask.
    pub(crate) element: u8,
    /// Bytes of the vector length that go with it: those of the wider of source and destination.
    pub(crate) per: u8,
    pub(crate) masking: Masking,
    /// What it counts as, if that is floating-point arithmetic.
    pub(crate) arithmetic: Option<retire::Arithmetic>,
    /// What computes it where nothing is to be noted.
    pub(crate) kernel: Option<Kernel>,
    /// The exceptions in [`Operands::env`](super::Operands) count.
    pub(crate) floats: bool,
    /// Memory must be aligned to its size.
    pub(crate) aligned: bool,
    /// All of a memory operand counts for faults whatever the write mask says (exception types E4NF and the like).
    pub(crate) whole: bool,
}

impl Description {
    /// Elements of so many bytes, which each depend on their own bit of the mask.
    pub(crate) const fn packed(operation: Operation, element: u8) -> Self {
        let shape = Shape::Packed;
        let masking = Masking::Elements;
        Self {
            operation,
            shape,
            element,
            per: element,
            masking,
            floats: false,
            aligned: false,
            whole: false,
            arithmetic: None,
            kernel: None,
        }
    }

    /// [`Shape::Scalar`].
    pub(crate) const fn scalar(operation: Operation, element: u8) -> Self {
        Self { shape: Shape::Scalar, ..Self::packed(operation, element) }
    }

    /// [`Shape::Merge`].
    pub(crate) const fn merge(operation: Operation, element: u8) -> Self {
        Self { shape: Shape::Merge, ..Self::packed(operation, element) }
    }

    /// [`Shape::Sources`].
    pub(crate) const fn sources(operation: Operation) -> Self {
        Self { shape: Shape::Sources, ..Self::packed(operation, 16) }
    }

    /// The same with exceptions of MXCSR.
    pub(crate) const fn floats(self) -> Self {
        Self { floats: true, ..self }
    }

    /// The same with one bit of the mask for so many bytes of the vector length: conversions to shorter elements.
    pub(crate) const fn per(self, bytes: u8) -> Self {
        Self { per: bytes, ..self }
    }

    /// The same with aligned memory.
    pub(crate) const fn aligned(self) -> Self {
        Self { aligned: true, ..self }
    }

    /// The same without suppression of faults by the mask.
    pub(crate) const fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// The same with [`Masking::Blend`].
    pub(crate) const fn blend(self) -> Self {
        Self { masking: Masking::Blend, ..self }
    }

    /// The same with [`Masking::Repeat`].
    pub(crate) const fn repeat(self) -> Self {
        Self { masking: Masking::Repeat, ..self }
    }

    /// The same with [`Masking::Compress`].
    pub(crate) const fn compress(self) -> Self {
        Self { masking: Masking::Compress, ..self }
    }

    /// The same with [`Masking::Expand`].
    pub(crate) const fn expand(self) -> Self {
        Self { masking: Masking::Expand, ..self }
    }

    /// Bits of the mask that count, for a vector length.
    #[inline(always)]
    pub(crate) fn count(&self, bytes: usize) -> usize {
        match self.shape {
            // A power of two, without the division that the compiler cannot leave out.
            Shape::Packed => bytes >> self.per.trailing_zeros(),
            Shape::Scalar | Shape::Merge | Shape::Sources => 1,
        }
    }
}

/// The lowest `count` bits.
#[inline(always)]
pub(crate) fn ones(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Descriptions of the instructions that have been decoded, by number.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    all: Vec<Description>,
    /// By code, and whether there is a memory operand.
    numbers: HashMap<(Code, bool), Option<u16>>,
}

impl Descriptions {
    /// The number of an instruction's description. `describe` is asked once.
    pub(crate) fn number(
        &mut self,
        key: (Code, bool),
        describe: impl FnOnce() -> Option<Description>,
    ) -> Option<u16> {
        let all = &mut self.all;
        *self.numbers.entry(key).or_insert_with(|| {
            let number = u16::try_from(all.len()).ok()?;
            all.push(describe()?);
            Some(number)
        })
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u16) -> Option<&Description> {
        self.all.get(usize::from(number))
    }
}
