//! PCMPESTRI, PCMPESTRM, PCMPISTRI and PCMPISTRM (SDM volume 1, section 12.3 "Strings and text processing").

use super::lane::{build, get};
use crate::bus::Bus;
use crate::context::{Core, RAX, RCX, RDX};
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::Get;
use crate::flags::{CF, Flags, OF, SF, ZF};
use crate::low::Low;

/// One operand: its elements, sign- or zero-extended, and how many of them are valid.
struct Text {
    elements: [i32; 16],
    valid: usize,
}

/// Elements per vector.
fn count(control: u8) -> usize {
    if control & 1 != 0 { 8 } else { 16 }
}

fn elements(vector: u128, control: u8) -> [i32; 16] {
    let mut elements = [0; 16];
    for (n, element) in (0..).zip(elements.iter_mut().take(count(control))) {
        *element = match control & 3 {
            0 => i32::from(get::<u8>(vector, n)),
            1 => i32::from(get::<u16>(vector, n)),
            2 => i32::from(get::<i8>(vector, n)),
            _ => i32::from(get::<i16>(vector, n)),
        };
    }
    elements
}

impl Text {
    /// Ends at the first zero.
    fn implicit(vector: u128, control: u8) -> Self {
        let elements = elements(vector, control);
        let all = elements.iter().take(count(control));
        Self { elements, valid: all.take_while(|element| **element != 0).count() }
    }

    /// As long as the register says, in absolute value.
    fn explicit(vector: u128, control: u8, length: i64) -> Self {
        let valid = length.unsigned_abs().min(count(control) as u64).low_usize();
        Self { elements: elements(vector, control), valid }
    }

    fn at(&self, n: usize) -> Option<i32> {
        self.elements.get(n).copied().filter(|_| n < self.valid)
    }
}

/// IntRes2: which elements of `b` (or pairs) match, after polarity.
fn matches(a: &Text, b: &Text, control: u8) -> u32 {
    let count = count(control);
    let matched = |j: usize| match control >> 2 & 3 {
        // Equal any: a set of characters.
        0 => b.at(j).is_some_and(|b| a.elements.iter().take(a.valid).any(|a| *a == b)),
        // Ranges: pairs of bounds.
        1 => b.at(j).is_some_and(|b| {
            let (pairs, _) = a.elements.get(..a.valid).unwrap_or_default().as_chunks::<2>();
            pairs.iter().any(|[low, high]| (*low..=*high).contains(&b))
        }),
        // Equal each.
        2 => a.at(j) == b.at(j),
        // Equal ordered: `a` as a substring; it may go on behind the vector.
        _ => (0..count - j).all(|i| a.at(i).is_none_or(|element| b.at(j + i) == Some(element))),
    };
    let result = (0..count).filter(|j| matched(*j)).fold(0, |bits, j| bits | 1 << j);
    match control >> 4 & 3 {
        1 => !result & ((1 << count) - 1),
        3 => result ^ ((1 << b.valid) - 1),
        _ => result,
    }
}

/// `EXPLICIT`: lengths in RAX and RDX (`WIDE`) or EAX and EDX. `MASK`: the result goes to XMM0, else to ECX.
pub(crate) fn compare<B: Bus, const EXPLICIT: bool, const WIDE: bool, const MASK: bool, S: Get<u128>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let right = S::get(c, b, i)?;
    let left = c.xmm[usize::from(i.dst & 15)];
    let control = i.imm.low_u8();
    let (left, right) = if EXPLICIT {
        let length = |register: u64| {
            if WIDE { register.cast_signed() } else { i64::from(register.low_u32().cast_signed()) }
        };
        (
            Text::explicit(left, control, length(c.regs[RAX])),
            Text::explicit(right, control, length(c.regs[RDX])),
        )
    } else {
        (Text::implicit(left, control), Text::implicit(right, control))
    };
    let (result, count) = (matches(&left, &right, control), count(control));
    let high = control & 0x40 != 0;
    if MASK {
        c.xmm[0] = match (high, count) {
            (false, _) => u128::from(result),
            (true, 16) => build::<u8>(|n| if result >> n & 1 != 0 { u8::MAX } else { 0 }),
            (true, _) => build::<u16>(|n| if result >> n & 1 != 0 { u16::MAX } else { 0 }),
        };
    } else {
        c.regs[RCX] = match result {
            0 => count as u64,
            _ if high => u64::from(result.ilog2()),
            _ => u64::from(result.trailing_zeros()),
        };
    }
    let flag = |holds: bool, flag: u64| if holds { flag } else { 0 };
    c.flags = Flags::from_bits(
        flag(result != 0, CF)
            | flag(right.valid < count, ZF)
            | flag(left.valid < count, SF)
            | flag(result & 1 != 0, OF),
    );
    Ok(())
}
