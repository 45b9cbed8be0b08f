//! The 80-bit format, and rounding to it and to the formats in memory (SDM volume 1, sections 4.2.2,
//! 4.8 and 8.5).
//!
//! Own code, because general soft-float libraries round to one precision per type: they have neither precision
//! control, nor the direction of rounding that C1 reports, nor the wrapped exponents of unmasked overflow and
//! underflow.

use crate::low::Low;
use crate::sse::float::rounding;
pub(crate) use soft_arithmetic::rounding::{Cut, Rounding, cut, shift_sticky};

pub(crate) const IE: u16 = 1;
pub(crate) const DE: u16 = 1 << 1;
pub(crate) const ZE: u16 = 1 << 2;
pub(crate) const OE: u16 = 1 << 3;
pub(crate) const UE: u16 = 1 << 4;
pub(crate) const PE: u16 = 1 << 5;
/// Stack fault, always together with IE.
pub(crate) const SF: u16 = 1 << 6;

/// What unmasked overflow takes from the exponent and unmasked underflow adds to it.
const WRAP: i32 = 24576;
const BIAS: i32 = 16383;
const INTEGER_BIT: u64 = 1 << 63;
const QUIET_BIT: u64 = 1 << 62;

/// The control word, and what the current instruction puts into the status word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Env {
    pub(crate) control: u16,
    /// Exception flags and SF.
    pub(crate) raised: u16,
    /// Condition code C1: rounded away from zero, or which kind of stack fault.
    pub(crate) c1: bool,
    /// A source in memory is denormal; in extended precision that is not to be seen any more.
    pub(crate) denormal_source: bool,
    /// An Intel CPU needs a microcode assist: a denormal operand, or a result that is denormal in its format.
    pub(crate) assist: bool,
    /// [`Rule::TinySineAndCosineUnrounded`](crate::silicon::Rule) holds.
    pub(crate) unrounded_tiny: bool,
}

impl Env {
    pub(crate) fn new(control: u16) -> Self {
        Self { control, raised: 0, c1: false, denormal_source: false, assist: false, unrounded_tiny: false }
    }

    pub(crate) fn rounding(&self) -> Rounding {
        rounding(u32::from(self.control >> 10))
    }

    /// The format of results under precision control. The reserved encoding means extended, as on hardware.
    pub(crate) fn precision(&self) -> Format {
        match self.control >> 8 & 3 {
            0 => Format { precision: 24, ..EXTENDED },
            2 => Format { precision: 53, ..EXTENDED },
            _ => EXTENDED,
        }
    }

    pub(crate) fn raise(&mut self, exceptions: u16) {
        self.raised |= exceptions;
    }

    /// Raises IE; the result of masked invalid operations.
    pub(crate) fn invalid(&mut self) -> F80 {
        self.raise(IE);
        F80::INDEFINITE
    }

    pub(crate) fn masked(&self, exception: u16) -> bool {
        self.control & exception != 0
    }

    /// DE if an operand is denormal.
    pub(crate) fn denormal(&mut self, numbers: &[&Number]) {
        if self.denormal_source || numbers.iter().any(|number| number.denormal) {
            self.raise(DE);
            self.assist = true;
        }
    }
}

/// A number of bits and a range of exponents to round to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// Bits of the significand.
    precision: u32,
    min: i32,
    max: i32,
}

pub(crate) const EXTENDED: Format = Format { precision: 64, min: 1 - BIAS, max: BIAS };
pub(crate) const DOUBLE: Format = Format { precision: 53, min: -1022, max: 1023 };
pub(crate) const SINGLE: Format = Format { precision: 24, min: -126, max: 127 };

/// A register's content: any 80 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct F80 {
    /// Sign and biased exponent.
    pub(crate) high: u16,
    /// Integer bit and fraction.
    pub(crate) significand: u64,
}

/// What an encoding stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Zero,
    Finite,
    Infinity,
    Nan,
    /// Unnormals, pseudo-infinities and pseudo-NaNs: invalid operands since the 387.
    Unsupported,
}

/// A register's content, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) class: Class,
    pub(crate) negative: bool,
    /// The value is `significand` * 2^(`exponent` - 63) if finite.
    pub(crate) exponent: i32,
    /// With its highest bit set if finite.
    pub(crate) significand: u64,
    /// The encoding is that of a denormal or pseudo-denormal.
    pub(crate) denormal: bool,
}

impl Number {
    pub(crate) fn is_zero(&self) -> bool {
        self.class == Class::Zero
    }
    pub(crate) fn is_infinite(&self) -> bool {
        self.class == Class::Infinity
    }
}

impl F80 {
    /// The NaN of masked invalid operations.
    pub(crate) const INDEFINITE: Self = Self { high: 0xFFFF, significand: INTEGER_BIT | QUIET_BIT };
    pub(crate) const ONE: Self = Self { high: 0x3FFF, significand: INTEGER_BIT };

    pub(crate) fn from_bits(bits: u128) -> Self {
        Self { high: (bits >> 64).low_u16(), significand: bits.low_u64() }
    }

    pub(crate) fn bits(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.significand)
    }

    pub(crate) fn zero(negative: bool) -> Self {
        Self { high: u16::from(negative) << 15, significand: 0 }
    }

    pub(crate) fn infinity(negative: bool) -> Self {
        Self { high: u16::from(negative) << 15 | 0x7FFF, significand: INTEGER_BIT }
    }

    pub(crate) fn negative(self) -> bool {
        self.high >> 15 != 0
    }

    pub(crate) fn negate(self) -> Self {
        Self { high: self.high ^ 0x8000, ..self }
    }

    pub(crate) fn magnitude(self) -> Self {
        Self { high: self.high & 0x7FFF, ..self }
    }

    pub(crate) fn signalling(self) -> bool {
        self.class() == Class::Nan && self.significand & QUIET_BIT == 0
    }

    pub(crate) fn quiet(self) -> Self {
        Self { significand: self.significand | QUIET_BIT, ..self }
    }

    pub(crate) fn class(self) -> Class {
        let normalised = self.significand & INTEGER_BIT != 0;
        match self.high & 0x7FFF {
            0 if self.significand == 0 => Class::Zero,
            0 => Class::Finite,
            _ if !normalised => Class::Unsupported,
            0x7FFF if self.significand == INTEGER_BIT => Class::Infinity,
            0x7FFF => Class::Nan,
            _ => Class::Finite,
        }
    }

    pub(crate) fn number(self) -> Number {
        let biased = i32::from(self.high & 0x7FFF);
        // Denormals have the exponent of the smallest normal numbers.
        let shift = if biased == 0 { self.significand.leading_zeros() & 63 } else { 0 };
        let class = self.class();
        Number {
            class,
            negative: self.negative(),
            exponent: biased.max(1) - BIAS - shift.cast_signed(),
            significand: self.significand << shift,
            denormal: biased == 0 && class == Class::Finite,
        }
    }

    /// From a sign and what `round` returned for an extended format.
    fn pack(negative: bool, exponent: i32, significand: u64) -> Self {
        let biased =
            if significand & INTEGER_BIT == 0 { 0 } else { (exponent + BIAS).clamp(0, 0x7FFF).low_u16() };
        Self { high: u16::from(negative) << 15 | biased, significand }
    }
}

/// The NaN that NaN operands make: the quiet one of a quiet and a signalling one, else the one with the larger
/// significand, else the positive one (SDM volume 1, table 4-7).
pub(crate) fn propagate(env: &mut Env, a: F80, b: F80) -> F80 {
    let signalling = (a.signalling(), b.signalling());
    if signalling.0 || signalling.1 {
        env.raise(IE);
    }
    let a_nan = a.class() == Class::Nan;
    let b_nan = b.class() == Class::Nan;
    let first = match signalling {
        _ if !b_nan => true,
        _ if !a_nan => false,
        (true, false) => false,
        (false, true) => true,
        _ => (a.significand, !a.negative()) >= (b.significand, !b.negative()),
    };
    if first { a.quiet() } else { b.quiet() }
}

/// The operands of an arithmetic instruction, or its result if one is a NaN or unsupported.
pub(crate) fn operands(env: &mut Env, a: F80, b: F80) -> Result<(Number, Number), F80> {
    let (x, y) = (a.number(), b.number());
    if x.class == Class::Unsupported || y.class == Class::Unsupported {
        return Err(env.invalid());
    }
    if x.class == Class::Nan || y.class == Class::Nan {
        return Err(propagate(env, a, b));
    }
    Ok((x, y))
}

/// The operand of an arithmetic instruction, or its result if it is a NaN or unsupported.
pub(crate) fn operand(env: &mut Env, a: F80) -> Result<Number, F80> {
    operands(env, a, a).map(|(number, _)| number)
}

/// A rounded significand with its highest bit set unless it is denormal, and its exponent; an exponent above
/// the format's range is infinity.
fn round(env: &mut Env, negative: bool, exponent: i32, significand: u128, format: Format) -> (i32, u64) {
    let mode = env.rounding();
    let cut_at = |significand: u128| {
        let cut = cut(mode, negative, significand, 128 - format.precision);
        // A carry leaves zeros, so the shift loses nothing.
        let carried = (cut.value >> format.precision).low_u32();
        ((cut.value >> carried << (64 - format.precision)).low_u64(), carried.cast_signed(), cut)
    };
    let (kept, carried, cut) = cut_at(significand);
    let unbounded = exponent + carried;
    let inexact = if cut.inexact { PE } else { 0 };
    if unbounded < format.min {
        if !env.masked(UE) {
            // FSCALE can go beyond what wrapping reaches.
            if unbounded + WRAP < format.min {
                env.raise(UE | PE);
                return (format.min, 0);
            }
            env.raise(UE | inexact);
            env.c1 = cut.up;
            return (unbounded + WRAP, kept);
        }
        let denormal = shift_sticky(significand, (format.min - exponent).cast_unsigned());
        let (kept, _, cut) = cut_at(denormal);
        if cut.inexact {
            env.raise(UE | PE);
        }
        env.c1 = cut.up;
        env.assist |= kept != 0;
        return (format.min, kept);
    }
    if unbounded > format.max {
        if !env.masked(OE) {
            if unbounded - WRAP > format.max {
                env.raise(OE | PE);
                env.c1 = true;
                return (format.max + 1, INTEGER_BIT);
            }
            env.raise(OE | inexact);
            env.c1 = cut.up;
            return (unbounded - WRAP, kept);
        }
        env.raise(OE | PE);
        let infinite = mode.overflows_to_infinity(negative);
        env.c1 = infinite;
        if infinite {
            return (format.max + 1, INTEGER_BIT);
        }
        return (format.max, u64::MAX << (64 - format.precision));
    }
    env.raise(inexact);
    env.c1 = cut.up;
    (unbounded, kept)
}

/// Rounds `significand` * 2^(`exponent` - 127) for a register. The highest bit of `significand` is set.
pub(crate) fn finish(env: &mut Env, negative: bool, exponent: i32, significand: u128, format: Format) -> F80 {
    let (exponent, significand) = round(env, negative, exponent, significand, format);
    F80::pack(negative, exponent, significand)
}

/// As `finish` for a magnitude whose highest bit may be clear; a zero keeps the sign.
pub(crate) fn normalise(
    env: &mut Env,
    negative: bool,
    exponent: i32,
    magnitude: u128,
    format: Format,
) -> F80 {
    if magnitude == 0 {
        return F80::zero(negative);
    }
    let shift = magnitude.leading_zeros();
    finish(env, negative, exponent - shift.cast_signed(), magnitude << shift, format)
}

/// Rounds a finite number for a format in memory: sign, exponent and fraction fields.
fn narrow(env: &mut Env, a: F80, format: Format) -> u64 {
    let fraction_bits = format.precision - 1;
    let exponent_ones = i64::from(format.max + 1 - format.min + 1).cast_unsigned();
    let sign = u64::from(a.negative()) * (exponent_ones + 1);
    let encode = |biased: u64, significand: u64| {
        let fraction = significand << 1 >> (64 - fraction_bits);
        (sign | biased) << fraction_bits | fraction
    };
    let number = match operand(env, a) {
        Ok(number) => number,
        Err(nan) => {
            let sign = u64::from(nan.negative()) * (exponent_ones + 1);
            return (sign | exponent_ones) << fraction_bits | nan.significand << 1 >> (64 - fraction_bits);
        }
    };
    match number.class {
        Class::Zero => encode(0, 0),
        Class::Infinity => encode(exponent_ones, 0),
        _ => {
            let wide = u128::from(number.significand) << 64;
            let (exponent, significand) = round(env, number.negative, number.exponent, wide, format);
            let biased = if significand & INTEGER_BIT == 0 { 0 } else { exponent - format.min + 1 };
            encode(i64::from(biased).cast_unsigned() & exponent_ones, significand)
        }
    }
}

/// FST to single precision.
pub(crate) fn to_single(env: &mut Env, a: F80) -> u32 {
    narrow(env, a, SINGLE).low_u32()
}

/// FST to double precision.
pub(crate) fn to_double(env: &mut Env, a: F80) -> u64 {
    narrow(env, a, DOUBLE)
}

/// Exact; signalling NaNs stay signalling.
fn widen(env: &mut Env, bits: u64, format: Format) -> F80 {
    let fraction_bits = format.precision - 1;
    let exponent_ones = i64::from(format.max + 1 - format.min + 1).cast_unsigned();
    let negative = bits >> fraction_bits > exponent_ones;
    let biased = bits >> fraction_bits & exponent_ones;
    let fraction = bits << (64 - fraction_bits) >> 1;
    if biased == exponent_ones {
        return F80 { significand: INTEGER_BIT | fraction, ..F80::infinity(negative) };
    }
    if biased != 0 {
        return F80::pack(negative, biased.low_u32().cast_signed() + format.min - 1, INTEGER_BIT | fraction);
    }
    if fraction == 0 {
        return F80::zero(negative);
    }
    env.denormal_source = true;
    let shift = fraction.leading_zeros();
    F80::pack(negative, format.min - shift.cast_signed(), fraction << shift)
}

/// A single-precision source.
pub(crate) fn from_single(env: &mut Env, bits: u32) -> F80 {
    widen(env, u64::from(bits), SINGLE)
}

/// A double-precision source.
pub(crate) fn from_double(env: &mut Env, bits: u64) -> F80 {
    widen(env, bits, DOUBLE)
}

pub(crate) fn from_integer(value: i64) -> F80 {
    if value == 0 {
        return F80::zero(false);
    }
    let magnitude = value.unsigned_abs();
    let shift = magnitude.leading_zeros();
    F80::pack(value < 0, 63 - shift.cast_signed(), magnitude << shift)
}

/// The magnitude of a finite number as an integer, if it is below 2^64.
pub(crate) fn integral(mode: Rounding, number: &Number) -> Option<Cut> {
    if number.is_zero() {
        return Some(Cut { value: 0, inexact: false, up: false });
    }
    if number.exponent > 63 {
        return None;
    }
    // Fixed point with 64 bits behind the point.
    let fixed = shift_sticky(u128::from(number.significand) << 64, (63 - number.exponent).cast_unsigned());
    Some(cut(mode, number.negative, fixed, 64))
}

/// FIST: a signed integer of `bits` bits, sign-extended; the indefinite integer if it does not fit.
pub(crate) fn to_integer(env: &mut Env, a: F80, bits: u32, mode: Rounding) -> i64 {
    let number = a.number();
    let limit = 1_u128 << (bits - 1);
    let cut = match number.class {
        Class::Zero | Class::Finite => integral(mode, &number),
        _ => None,
    };
    match cut {
        Some(cut) if cut.value < limit || number.negative && cut.value == limit => {
            if cut.inexact {
                env.raise(PE);
            }
            env.c1 = cut.up;
            let magnitude = cut.value.low_u64().cast_signed();
            if number.negative { magnitude.wrapping_neg() } else { magnitude }
        }
        _ => {
            env.raise(IE);
            i64::MIN >> (64 - bits)
        }
    }
}
