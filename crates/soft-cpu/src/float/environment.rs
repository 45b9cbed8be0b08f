//! MXCSR.

use soft_arithmetic::format::{Format, HALF};
use soft_arithmetic::rounding::Rounding;

pub(crate) const IE: u32 = 1;
pub(crate) const DE: u32 = 1 << 1;
pub(crate) const ZE: u32 = 1 << 2;
pub(crate) const OE: u32 = 1 << 3;
pub(crate) const UE: u32 = 1 << 4;
pub(crate) const PE: u32 = 1 << 5;
pub(crate) const DAZ: u32 = 1 << 6;
pub(super) const FTZ: u32 = 1 << 15;
/// Beside the exceptions of an instruction, not in MXCSR: Intel's cores need a microcode assist. They do for subnormal
/// operands of multiplications, divisions and square roots, and for subnormal results except of sums with a subnormal
/// operand (Agner Fog, "The microarchitecture of Intel, AMD, and VIA CPUs", Skylake, "Underflow and subnormals").
pub(crate) const ASSIST: u32 = 1 << 16;

/// From bits 1:0, as MXCSR, the x87 control word and ROUNDxx number the modes.
#[inline(always)]
pub(crate) fn rounding(bits: u32) -> Rounding {
    match bits & 3 {
        0 => Rounding::Nearest,
        1 => Rounding::Down,
        2 => Rounding::Up,
        _ => Rounding::Zero,
    }
}

/// MXCSR and the exceptions of the current instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Env {
    pub(crate) mxcsr: u32,
    /// Of all elements so far.
    pub(crate) raised: u32,
    /// Of an earlier step of the instruction: they are noted even if a later one faults.
    pub(crate) earlier: u32,
    /// The current element has a denormal operand, which counts unless something more important does.
    denormal: u32,
}

impl Env {
    pub(crate) fn new(mxcsr: u32) -> Self {
        Self { mxcsr, raised: 0, earlier: 0, denormal: 0 }
    }

    /// Exceptions are only noted.
    pub(crate) fn mask_all(&mut self) {
        self.mxcsr |= 0x1F80;
    }

    /// All exceptions masked, rounding to nearest, nothing flushed.
    pub(crate) fn quiet() -> Self {
        Self::new(0x1F80)
    }

    #[inline(always)]
    pub(crate) fn rounding(&self) -> Rounding {
        rounding(self.mxcsr >> 13)
    }

    /// The exception is masked.
    pub(crate) fn masked(&self, exception: u32) -> bool {
        self.mxcsr >> 7 & exception != 0
    }

    /// Subnormal operands are zeros; half precision has none of that (SDM volume 2, "Exceptions of FP16").
    pub(crate) fn zeroes_operands(&self, format: Format) -> bool {
        self.mxcsr & DAZ != 0 && format != HALF
    }

    /// FTZ, which some operations apply without a look at the mask of UE.
    pub(super) fn flushes_always(&self, format: Format) -> bool {
        self.mxcsr & FTZ != 0 && format != HALF
    }

    /// Subnormal results become zero.
    pub(super) fn flushes(&self, format: Format) -> bool {
        self.mxcsr & FTZ != 0 && self.masked(UE) && format != HALF
    }

    /// The current element has a subnormal operand, with consequences: DE, for some operations with [`ASSIST`].
    #[inline(always)]
    pub(super) fn subnormal(&mut self, consequences: u32) {
        self.denormal = consequences;
    }

    /// Its consequences.
    pub(super) fn subnormals(&self) -> u32 {
        self.denormal
    }

    /// Ends an element whose operands are in order.
    #[inline(always)]
    pub(super) fn accept(&mut self) {
        self.raised |= self.denormal;
        self.denormal = 0;
    }

    /// Ends an element with an exception that hides a denormal operand.
    pub(super) fn reject(&mut self, exception: u32) {
        self.raised |= exception;
        self.denormal = 0;
    }

    /// PE is masked and set already, and nothing has to be stepped: the error term is of no interest.
    #[inline(always)]
    pub(crate) fn exactness_known(&self) -> bool {
        self.mxcsr & self.mxcsr >> 7 & PE != 0 && self.rounding() == Rounding::Nearest
    }

    /// Ends a step of the instruction. False if it raised an exception that is not masked: nothing more is computed.
    pub(crate) fn next_step(&mut self) -> bool {
        let faults = self.faults();
        if !faults {
            self.earlier |= self.raised;
            self.raised = 0;
        }
        !faults
    }

    /// An exception has been raised that is not masked.
    fn faults(&self) -> bool {
        self.raised & !(self.mxcsr >> 7) & 0x3F != 0
    }
}
