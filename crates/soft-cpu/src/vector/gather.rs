//! Gathers, scatters, and moves under a mask in a vector register.
//!
//! Elements are accessed in order. When one faults, those before it have been moved and are no more in the mask, so
//! that the instruction goes on there when it is executed again (SDM volume 2, VPGATHERDD).

use super::encoded::Encoded;
use super::execute::parts;
use super::memory::{Elements, load_elements, load_whole, probe, store_elements, store_whole};
use super::{Description, Vector};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::exec::operand::{self, is_stack};
use crate::exec::{Insn, SEG_SLOW};
use iced_x86::{Instruction, Mnemonic as M};

/// What a gather or scatter accesses: elements of so many bytes, by indices of so many.
#[derive(Clone, Copy)]
pub(crate) struct Indexed {
    pub(crate) data: u8,
    pub(crate) index: u8,
}

/// For the mnemonics that have an index vector.
pub(crate) fn indexed(ins: &Instruction) -> Option<Indexed> {
    let (data, index) = match ins.mnemonic() {
        M::Vpgatherdd | M::Vgatherdps | M::Vpscatterdd | M::Vscatterdps => (4, 4),
        M::Vpgatherdq | M::Vgatherdpd | M::Vpscatterdq | M::Vscatterdpd => (8, 4),
        M::Vpgatherqd | M::Vgatherqps | M::Vpscatterqd | M::Vscatterqps => (4, 8),
        M::Vpgatherqq | M::Vgatherqpd | M::Vpscatterqq | M::Vscatterqpd => (8, 8),
        _ => return None,
    };
    Some(Indexed { data, index })
}

/// The description of those: nothing is computed.
pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    let size = indexed(ins).map(|indexed| indexed.data).or_else(|| masked_move(ins))?;
    Some(Description::packed(super::moves::copy, size))
}

/// Bytes of an element, of an index ([`Encoded::third`]), and how many there are.
fn geometry(code: Encoded) -> (usize, usize, usize) {
    let (data, index) = (code.memory(), usize::from(code.third()));
    (data, index, code.bytes() / data.max(index))
}

/// Linear address of element `n`.
fn address<B: Bus>(c: &mut Core, i: &Insn<B>, code: Encoded, n: usize, write: bool) -> Result<u64, Fault> {
    let (data, size, _) = geometry(code);
    let indices = c.xmm.get(i.index);
    let index = if size == 4 { i64::from(indices.get::<i32>(n)) } else { indices.get::<i64>(n) };
    let index = index.cast_unsigned().wrapping_shl(u32::from(i.scale));
    let offset = c.regs[usize::from(i.base)].wrapping_add(index).wrapping_add(i.disp);
    if i.seg & SEG_SLOW == 0 {
        return Ok(offset.wrapping_add(c.bases[usize::from(i.seg & 7)]));
    }
    c.segmented(i.seg & 7, offset & operand::address_mask(i.seg), data, write)
}

fn fetch<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, code: Encoded, n: usize) -> Result<u64, Fault> {
    let linear = address(c, i, code, n, false)?;
    if code.memory() == 4 {
        Ok(c.load::<u32, B>(b, linear, is_stack(i))?.into())
    } else {
        c.load(b, linear, is_stack(i))
    }
}

/// Replaces element `n` of `size` bytes.
fn put(vector: &mut Vector, size: usize, n: usize, value: u64) {
    if size == 4 {
        vector.set::<u32>(n, crate::low::Low::low_u32(value));
    } else {
        vector.set::<u64>(n, value);
    }
}

/// EVEX: the mask is a mask register.
pub(crate) fn gather<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let code = parts(i).code;
    c.require_vector(code.needed())?;
    let (size, _, count) = geometry(code);
    let (mut active, mask) = (c.active(code, count), code.mask() & 7);
    while active != 0 {
        let n = active.trailing_zeros() as usize;
        let value = fetch(c, b, i, code, n)?;
        put(c.xmm.get_mut(i.dst), size, n, value);
        active &= active - 1;
        c.opmask[mask] &= !(1 << n);
    }
    c.opmask[mask] = 0;
    finish(c.xmm.get_mut(i.dst), count * size);
    Ok(())
}

/// VEX: the mask is the sign bits of a vector register.
pub(crate) fn gather_by_vector<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let code = parts(i).code;
    c.require_vector(code.needed())?;
    let (size, _, count) = geometry(code);
    let mut active = signs(c.xmm.get(i.src), size, count);
    while active != 0 {
        let n = active.trailing_zeros() as usize;
        let value = fetch(c, b, i, code, n)?;
        put(c.xmm.get_mut(i.dst), size, n, value);
        active &= active - 1;
        put(c.xmm.get_mut(i.src), size, n, 0);
    }
    *c.xmm.get_mut(i.src) = Vector::ZERO;
    finish(c.xmm.get_mut(i.dst), count * size);
    Ok(())
}

/// Zeros behind the elements.
fn finish(register: &mut Vector, bytes: usize) {
    register.zero_from(bytes.next_multiple_of(16));
    if bytes == 8 {
        register.set::<u64>(1, 0);
    }
}

pub(crate) fn scatter<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let code = parts(i).code;
    c.require_vector(code.needed())?;
    let (size, _, count) = geometry(code);
    let (mut active, mask) = (c.active(code, count), code.mask() & 7);
    while active != 0 {
        let n = active.trailing_zeros() as usize;
        let linear = address(c, i, code, n, true)?;
        let source = c.xmm.get(i.src);
        if size == 4 {
            c.store(b, linear, source.get::<u32>(n), is_stack(i))?;
        } else {
            c.store(b, linear, source.get::<u64>(n), is_stack(i))?;
        }
        active &= active - 1;
        c.opmask[mask] &= !(1 << n);
    }
    c.opmask[mask] = 0;
    Ok(())
}

/// The sign bits of elements.
fn signs(vector: &Vector, size: usize, count: usize) -> u64 {
    let negative = |n| if size == 4 { vector.get::<i32>(n) < 0 } else { vector.get::<i64>(n) < 0 };
    (0..count).fold(0, |bits, n| bits | u64::from(negative(n)) << n)
}

/// VPMASKMOVx, VMASKMOVPx: elements of so many bytes.
pub(crate) fn masked_move(ins: &Instruction) -> Option<u8> {
    Some(match ins.mnemonic() {
        M::Vpmaskmovd | M::Vmaskmovps => 4,
        M::Vpmaskmovq | M::Vmaskmovpd => 8,
        _ => return None,
    })
}

/// The elements that the first source's sign bits choose, and whether they are all.
fn chosen<B>(c: &Core, i: &Insn<B>, code: Encoded) -> (Elements, bool) {
    let size = usize::from(code.third());
    let count = code.memory() / size;
    let active = signs(c.xmm.get(i.aux), size, count);
    (Elements { size, active }, active.count_ones() as usize == count)
}

/// From memory: zeros where the mask has none.
pub(crate) fn load_masked<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let code = parts(i).code;
    c.require_vector(code.needed())?;
    let linear = operand::linear(c, i, code.memory(), false)?;
    let (elements, all) = chosen(c, i, code);
    let value = if all {
        load_whole(c, b, linear, code.memory(), is_stack(i))?
    } else {
        load_elements(c, b, linear, code.memory(), elements, is_stack(i))?
    };
    *c.xmm.get_mut(i.dst) = value;
    Ok(())
}

/// To memory.
pub(crate) fn store_masked<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let code = parts(i).code;
    c.require_vector(code.needed())?;
    let linear = operand::linear(c, i, code.memory(), true)?;
    let (elements, all) = chosen(c, i, code);
    let value = *c.xmm.get(i.src);
    if all {
        probe(c, b, linear, code.memory(), is_stack(i))?;
        store_whole(c, b, linear, code.memory(), &value, is_stack(i))
    } else {
        store_elements(c, b, linear, code.memory(), elements, &value, is_stack(i))
    }
}
