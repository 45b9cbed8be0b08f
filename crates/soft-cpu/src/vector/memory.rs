//! Memory operands of vector instructions.

use super::Vector;
use super::description::{Description, Masking, ones};
use super::encoded::{Class, Encoded};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::exec::Insn;
use crate::exec::operand::{self, is_stack};
use crate::silicon::Rule;
use crate::sse::misaligned;
use crate::width::Memory;
use zerocopy::IntoBytes;

/// The elements of a memory operand that an instruction accesses.
#[derive(Clone, Copy)]
pub(super) struct Elements {
    /// Bytes of one.
    pub(super) size: usize,
    pub(super) active: u64,
}

/// Linear address of an operand of `size` bytes.
fn address<B: Bus>(c: &mut Core, i: &Insn<B>, size: usize, write: bool, aligned: bool) -> Result<u64, Fault> {
    let linear = operand::linear(c, i, size, write)?;
    if aligned && linear & (size as u64 - 1) != 0 { Err(misaligned(c, i, linear)) } else { Ok(linear) }
}

/// Whether there is an access, whose alignment counts. Seen on Granite Rapids: a mask of zeros suppresses #GP.
fn accessed(elements: Option<Elements>) -> bool {
    elements.is_none_or(|elements| elements.active != 0)
}

/// The elements if the mask leaves some out, and faults of those do not count.
fn masked(c: &Core, code: Encoded, size: usize, write: bool) -> Option<Elements> {
    let description = c.descriptions.get(code.number())?;
    let count = description.count(code.bytes());
    let active = c.active(code, count);
    if code.mask() == 0 || active == ones(count) || description.whole && !write {
        return None;
    }
    if matches!(description.masking, Masking::Compress | Masking::Expand) {
        let active = ones(active.count_ones() as usize);
        return Some(Elements { size: usize::from(description.element), active });
    }
    if description.masking != Masking::Repeat {
        return Some(Elements { size: size / count, active });
    }
    let each = usize::from(description.element).min(size);
    let (count, mut folded, mut rest) = (size / each, 0, active);
    while rest != 0 {
        folded |= rest & ones(count);
        rest >>= count;
    }
    Some(Elements { size: each, active: folded })
}

/// The last source.
pub(super) fn load<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, code: Encoded) -> Result<Vector, Fault> {
    let size = code.memory();
    let aligned = c.descriptions.get(code.number()).is_some_and(|description| description.aligned);
    let elements = if code.broadcast() { broadcast(c, code, size) } else { masked(c, code, size, false) };
    let linear = address(c, i, size, false, aligned && accessed(elements))?;
    let stack = is_stack(i);
    let value = match elements {
        None => load_whole(c, b, linear, size, stack)?,
        Some(elements) => load_elements(c, b, linear, size, elements, stack)?,
    };
    Ok(if code.broadcast() { repeat(&value, size) } else { value })
}

/// The first element, of `size` bytes, in all places.
pub(super) fn repeat(value: &Vector, size: usize) -> Vector {
    match size {
        2 => Vector::broadcast(value.get::<u16>(0)),
        4 => Vector::broadcast(value.get::<u32>(0)),
        _ => Vector::broadcast(value.get::<u64>(0)),
    }
}

/// A broadcast element is read if the mask has any.
fn broadcast(c: &Core, code: Encoded, size: usize) -> Option<Elements> {
    let description = c.descriptions.get(code.number())?;
    let none = code.mask() != 0 && c.active(code, description.count(code.bytes())) == 0 && !description.whole;
    none.then_some(Elements { size, active: 0 })
}

pub(super) fn load_whole<B: Bus>(
    c: &mut Core,
    b: &mut B,
    linear: u64,
    size: usize,
    stack: bool,
) -> Result<Vector, Fault> {
    let mut value = Vector::ZERO;
    match size {
        1 => value.set::<u8>(0, c.load(b, linear, stack)?),
        2 => value.set::<u16>(0, c.load(b, linear, stack)?),
        4 => value.set::<u32>(0, c.load(b, linear, stack)?),
        8 => value.set::<u64>(0, c.load(b, linear, stack)?),
        16 => value.0[0] = c.load(b, linear, stack)?,
        32 => value.as_mut_bytes()[..32].copy_from_slice(&c.load::<[u8; 32], B>(b, linear, stack)?),
        _ => value.as_mut_bytes().copy_from_slice(&c.load::<[u8; 64], B>(b, linear, stack)?),
    }
    Ok(value)
}

/// Element after element, but none that is masked.
pub(super) fn load_elements<B: Bus>(
    c: &mut Core,
    b: &mut B,
    linear: u64,
    size: usize,
    Elements { size: each, active }: Elements,
    stack: bool,
) -> Result<Vector, Fault> {
    let mut value = Vector::ZERO;
    for n in (0..size / each).filter(|n| active >> n & 1 != 0) {
        let at = linear.wrapping_add((n * each) as u64);
        match each {
            1 => value.set::<u8>(n, c.load(b, at, stack)?),
            2 => value.set::<u16>(n, c.load(b, at, stack)?),
            4 => value.set::<u32>(n, c.load(b, at, stack)?),
            8 => value.set::<u64>(n, c.load(b, at, stack)?),
            _ => value.set::<u128>(n, c.load(b, at, stack)?),
        }
    }
    Ok(value)
}

/// The destination.
pub(super) fn store<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, code: Encoded, value: &Vector) -> Done {
    let size = code.memory();
    let aligned = c.descriptions.get(code.number()).is_some_and(|description| description.aligned);
    let elements = if code.destination_class() == Class::None { masked(c, code, size, true) } else { None };
    let linear = address(c, i, size, true, aligned && accessed(elements))?;
    let stack = is_stack(i);
    if c.descriptions.get(code.number()).is_some_and(|description| description.whole) {
        operand::probe(c, b, i, linear, size as u64)?;
    }
    let Some(elements) = elements else {
        let several = |description: &Description| {
            matches!(description.masking, Masking::Elements | Masking::Compress)
                && !description.whole
                && description.count(code.bytes()) > 1
        };
        let by_element = code.mask() != 0 && c.descriptions.get(code.number()).is_some_and(several);
        if by_element && code.destination_class() == Class::None {
            probe(c, b, linear, size, stack)?;
        }
        return store_whole(c, b, linear, size, value, stack);
    };
    store_elements(c, b, linear, size, elements, value, stack)
}

/// The faults of a [`store`] whose elements have to be looked at one by one, or of all of its bytes.
#[cold]
pub(super) fn probe_destination<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, code: Encoded) -> Done {
    let size = code.memory();
    let linear = operand::linear(c, i, size, true)?;
    match masked(c, code, size, true) {
        None => operand::probe(c, b, i, linear, size as u64),
        Some(elements) => {
            let Some(first) = probe_elements(c, b, linear, size, elements, is_stack(i))? else {
                return Ok(());
            };
            c.load_for_update::<u8, B>(b, first, is_stack(i)).map(drop)
        }
    }
}

pub(super) fn store_whole<B: Bus>(
    c: &mut Core,
    b: &mut B,
    linear: u64,
    size: usize,
    value: &Vector,
    stack: bool,
) -> Done {
    match size {
        1 => c.store(b, linear, value.get::<u8>(0), stack),
        2 => c.store(b, linear, value.get::<u16>(0), stack),
        4 => c.store(b, linear, value.get::<u32>(0), stack),
        8 => c.store(b, linear, value.get::<u64>(0), stack),
        16 => c.store(b, linear, value.0[0], stack),
        32 => c.store(b, linear, <[u8; 32]>::from_bytes(value.as_bytes()), stack),
        _ => c.store(b, linear, <[u8; 64]>::from_bytes(value.as_bytes()), stack),
    }
}

/// Element after element, but none that is masked, and nothing if one of them faults.
pub(super) fn store_elements<B: Bus>(
    c: &mut Core,
    b: &mut B,
    linear: u64,
    size: usize,
    Elements { size: each, active }: Elements,
    value: &Vector,
    stack: bool,
) -> Done {
    probe_elements(c, b, linear, size, Elements { size: each, active }, stack)?;
    let at = |n: usize| linear.wrapping_add((n * each) as u64);
    for n in (0..size / each).filter(|n| active >> n & 1 != 0) {
        match each {
            1 => c.store(b, at(n), value.get::<u8>(n), stack)?,
            2 => c.store(b, at(n), value.get::<u16>(n), stack)?,
            4 => c.store(b, at(n), value.get::<u32>(n), stack)?,
            8 => c.store(b, at(n), value.get::<u64>(n), stack)?,
            _ => c.store(b, at(n), value.get::<u128>(n), stack)?,
        }
    }
    Ok(())
}

/// The faults of a masked store that reaches into a second page. The address of the first element that is stored.
fn probe_elements<B: Bus>(
    c: &mut Core,
    b: &mut B,
    linear: u64,
    size: usize,
    Elements { size: each, active }: Elements,
    stack: bool,
) -> Result<Option<u64>, Fault> {
    let all = || (0..size / each).filter(move |n| active >> n & 1 != 0);
    let at = |n: usize| linear.wrapping_add((n * each) as u64);
    let (Some(first), Some(last)) = (all().next(), all().next_back()) else { return Ok(None) };
    let end = at(last + 1).wrapping_sub(1);
    let on_last_page = |at: u64| (at ^ end) >> 12 == 0;
    let written = all().map(at).find(|at| on_last_page(at.wrapping_add(each as u64 - 1))).unwrap_or(end);
    probe_ends(c, b, at(first), if on_last_page(written) { written } else { end & !0xFFF }, end, stack)?;
    Ok(Some(at(first)))
}

/// #PF and the like if the operand cannot be written; it is at most 64 bytes. Within a page the store itself raises
/// them, about its first byte. That it ends beyond canonical addresses comes before a #PF, as it does for any operand.
pub(super) fn probe<B: Bus>(c: &mut Core, b: &mut B, linear: u64, size: usize, stack: bool) -> Done {
    let last = linear.wrapping_add(size as u64 - 1);
    probe_ends(c, b, linear, last & !0xFFF, last, stack)
}

/// The same of what is written from `first` to `last`, of which `second` is the first byte in the last page.
fn probe_ends<B: Bus>(c: &mut Core, b: &mut B, first: u64, second: u64, last: u64, stack: bool) -> Done {
    if (first ^ last) >> 12 == 0 {
        return Ok(());
    }
    let second = if c.holds(Rule::MaskedStoreFaultsAtEnd) { last } else { second };
    for at in if c.canonical(last) { [first, second] } else { [last, first] } {
        c.load_for_update::<u8, B>(b, at, stack)?;
    }
    Ok(())
}
