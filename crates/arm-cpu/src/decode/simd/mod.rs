//! Advanced SIMD data processing (Arm ARM C4.1.96, "Data Processing -- Scalar Floating-Point and Advanced SIMD"):
//! which function an instruction is. Nothing here depends on the bus, so that it is compiled once.
//!
//! The scalar instructions are encoded as those on vectors with bit 28 set, and mostly are the same operation on the
//! lowest elements.

mod crypto;
mod different;
mod immediate;
mod indexed;
mod misc;
mod moves;
mod same;
mod shift;

use super::fields::{bit, bits, number};
use crate::exec::{Apply, Operands};
use soft_base::Low;

/// What choosing by a small number is: of types, the one with that number, beginning at the first one's.
macro_rules! choose {
    ($n:expr, $first:expr, $T:ident in [] => $e:expr) => {
        return None
    };
    ($n:expr, $first:expr, $T:ident in [$head:ty $(, $rest:ty)*] => $e:expr) => {
        if $n == $first {
            type $T = $head;
            $e
        } else {
            $crate::decode::simd::choose!($n, $first + 1, $T in [$($rest),*] => $e)
        }
    };
}
use choose;
pub(super) use immediate::float as float_immediate;

/// An instruction taken apart.
#[derive(Debug, Clone, Copy)]
struct Fields {
    word: u32,
    /// Bit 30: vectors of 128 bits, or the upper half of one.
    q: bool,
    /// Bit 29: most often, unsigned.
    u: bool,
    /// Bits 23:22: most often, log2 of the bytes of an element.
    size: u32,
    /// Bit 28: scalars.
    scalar: bool,
}

impl Fields {
    fn new(word: u32) -> Self {
        let size = bits(word, 22, 2);
        Self { word, q: bit(word, 30), u: bit(word, 29), size, scalar: bit(word, 28) }
    }

    /// There is no vector of one element of 64 bits.
    fn is_one_doubleword(self, size: u32) -> bool {
        size == 3 && !self.q && !self.scalar
    }

    /// Elements of 2^`size` bytes that the instruction works on.
    fn count(self, size: u32) -> u8 {
        if self.scalar { 1 } else { ((8 << u32::from(self.q)) >> size).low_u8() }
    }
}

/// The function of an instruction in this part of the instruction set, which is bits 28:25 being x111 with bits 31 and
/// 24 (scalar FP) as they are not here. `None` if there is none.
pub(super) fn select(word: u32, o: &mut Operands) -> Option<Apply> {
    (o.rd, o.rn, o.rm) = (number(word, 0), number(word, 5), number(word, 16));
    let f = Fields::new(word);
    o.more = f.q.into();
    o.aux = f.count(f.size);
    // Scalars have bit 30 set too.
    if bit(word, 31) || f.scalar && !f.q {
        return None;
    }
    if bit(word, 24) {
        return match (bit(word, 10), bits(word, 19, 5)) {
            (false, _) => indexed::select(f, o),
            (true, 0) if !f.scalar => immediate::select(f, o),
            (true, shift) if shift & 0b10000 == 0 => shift::select(f, o),
            _ => None,
        };
    }
    match (bit(word, 21), bits(word, 10, 2)) {
        (true, 0b01 | 0b11) => same::select(f, o),
        (true, 0b00) => different::select(f, o),
        (true, _) => match bits(word, 17, 4) {
            0b0000 => misc::select(f, o),
            0b1000 if f.scalar => misc::pairwise(f, o),
            0b1000 => misc::across(f, o),
            0b0100 => crypto::two_registers(f, o),
            _ => None,
        },
        (false, _) => moves::select(f, o),
    }
}
