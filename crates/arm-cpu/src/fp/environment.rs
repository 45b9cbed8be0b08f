//! FPCR and FPSR (Arm ARM D19.2, "FPCR, Floating-point Control Register" and "FPSR, Floating-point Status Register").
//! Which bits software can set is declared with the other registers.

use soft_arithmetic::rounding::Rounding;

/// FPCR: alternative half-precision format.
pub(crate) const AHP: u32 = 1 << 26;
/// FPCR: every NaN result is the default NaN.
pub(crate) const DN: u32 = 1 << 25;
/// FPCR: subnormal operands and results are flushed to zero.
pub(crate) const FZ: u32 = 1 << 24;
/// FPCR: direction of rounding.
pub(crate) const RMODE: u32 = 3 << 22;

/// FPSR: invalid operation.
pub(crate) const IOC: u32 = 1;
/// FPSR: division by zero.
pub(crate) const DZC: u32 = 1 << 1;
/// FPSR: overflow.
pub(crate) const OFC: u32 = 1 << 2;
/// FPSR: underflow.
pub(crate) const UFC: u32 = 1 << 3;
/// FPSR: inexact.
pub(crate) const IXC: u32 = 1 << 4;
/// FPSR: a subnormal operand was flushed to zero.
pub(crate) const IDC: u32 = 1 << 7;
/// FPSR: an integer operation of Advanced SIMD has saturated.
pub(crate) const QC: u32 = 1 << 27;

/// FPCR and FPSR. The flags of FPSR are cumulative: operations only set them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Env {
    pub(crate) fpcr: u32,
    pub(crate) fpsr: u32,
}

impl Env {
    #[inline]
    pub(crate) fn raise(&mut self, flags: u32) {
        self.fpsr |= flags;
    }

    #[inline]
    pub(crate) fn rounding(&self) -> Rounding {
        match (self.fpcr & RMODE) >> 22 {
            0 => Rounding::Nearest,
            1 => Rounding::Up,
            2 => Rounding::Down,
            _ => Rounding::Zero,
        }
    }

    /// The host's arithmetic gives the result of normal operands: it rounds to nearest and flushes nothing.
    #[inline(always)]
    pub(crate) fn as_host(&self) -> bool {
        self.fpcr & (FZ | RMODE) == 0
    }

    /// IXC is set already, so that it does not matter whether a result is inexact.
    #[inline(always)]
    pub(crate) fn inexact_known(&self) -> bool {
        self.fpsr & IXC != 0
    }
}
