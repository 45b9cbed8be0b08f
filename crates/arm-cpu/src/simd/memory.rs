//! Loads and stores of vector registers.

use super::form::number;
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::exec::Operands;
use crate::exec::address::{Address, PostIndex};
use crate::exec::path::Path;
use soft_arithmetic::lane::Lane;
use soft_base::{Low, Operand};

/// Element structures: the base, to which a register is added afterwards.
pub(crate) enum PostRegister {}

impl Address for PostRegister {
    #[inline(always)]
    fn address(c: &Core, i: &Operands) -> u64 {
        PostIndex::address(c, i)
    }
    #[inline(always)]
    fn write_back(c: &mut Core, i: &Operands, address: u64) {
        c.set_reg(i.rn, address.wrapping_add(c.reg(i.rm)));
    }
}

/// LDR and LDUR.
#[inline(always)]
pub(crate) fn load<T: Lane + Operand, A: Address, P: Path, B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Operands,
) -> Done {
    P::require_fp(c)?;
    let va = P::address::<A>(c, i)?;
    let value: T = P::load(c, b, va)?;
    c.v[number(i.rd)] = value.bits();
    A::write_back(c, i, va);
    Ok(())
}

/// STR and STUR.
#[inline(always)]
pub(crate) fn store<T: Lane + Operand, A: Address, P: Path, B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Operands,
) -> Done {
    P::require_fp(c)?;
    let va = P::address::<A>(c, i)?;
    let value = T::low(c.v[number(i.rd)]);
    P::store(c, b, va, value)?;
    A::write_back(c, i, va);
    Ok(())
}

/// LDP and LDNP.
#[inline(always)]
pub(crate) fn load_pair<T: Lane + Operand, A: Address, P: Path, B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Operands,
) -> Done {
    P::require_fp(c)?;
    let va = P::address::<A>(c, i)?;
    let first: T = P::load(c, b, va)?;
    let second: T = P::load(c, b, va.wrapping_add(T::BYTES as u64))?;
    c.v[number(i.rd)] = first.bits();
    c.v[number(i.ra)] = second.bits();
    A::write_back(c, i, va);
    Ok(())
}

/// STP and STNP.
#[inline(always)]
pub(crate) fn store_pair<T: Lane + Operand, A: Address, P: Path, B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Operands,
) -> Done {
    P::require_fp(c)?;
    let va = P::address::<A>(c, i)?;
    let value = T::low(c.v[number(i.rd)]);
    P::store(c, b, va, value)?;
    let value = T::low(c.v[number(i.ra)]);
    P::store(c, b, va.wrapping_add(T::BYTES as u64), value)?;
    A::write_back(c, i, va);
    Ok(())
}

/// What LD1 to LD4 and ST1 to ST4 of multiple structures move (Arm ARM C4.1.94, "Advanced SIMD load/store multiple
/// structures").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Multiple {
    /// Registers, one behind the other.
    registers: u8,
    /// Elements of a structure, which go to registers of their own; 1 if registers follow each other in memory.
    interleaved: usize,
    /// log2 of the bytes of an element.
    scale: u32,
    /// Bytes of each register.
    width: usize,
}

impl Multiple {
    pub(crate) fn of(word: u32) -> Option<Self> {
        let (registers, interleaved) = match word >> 12 & 15 {
            0b0000 => (4, 4),
            0b0010 => (4, 1),
            0b0100 => (3, 3),
            0b0110 => (3, 1),
            0b0111 => (1, 1),
            0b1000 => (2, 2),
            0b1010 => (2, 1),
            _ => return None,
        };
        let scale = word >> 10 & 3;
        let width = if word >> 30 & 1 != 0 { 16 } else { 8 };
        let one_doubleword = scale == 3 && width == 8;
        (interleaved == 1 || !one_doubleword).then_some(Self { registers, interleaved, scale, width })
    }

    /// Bytes in memory.
    pub(crate) fn bytes(self) -> usize {
        usize::from(self.registers) * self.width
    }

    /// Bytes that are accessed at once: as many as possible, but elements where accesses have to be aligned.
    fn step(self, c: &Core, va: u64) -> usize {
        if c.aligned && va & 15 != 0 { 1 << self.scale } else { self.width }
    }

    /// Where in memory a byte of a register is.
    fn place(self, register: usize, byte: usize) -> usize {
        if self.interleaved == 1 {
            return register * self.width + byte;
        }
        let (element, within) = (byte >> self.scale, byte & ((1 << self.scale) - 1));
        ((element * self.interleaved + register) << self.scale) + within
    }
}

/// The most that element structures have: four registers.
type Block = [u8; 64];

fn load_block<B: Bus>(c: &mut Core, b: &mut B, va: u64, bytes: usize, step: usize) -> Result<Block, Fault> {
    let mut block = [0; 64];
    for (chunk, va) in block[..bytes].chunks_mut(step).zip((0..).map(|n| va.wrapping_add(n * step as u64))) {
        match step {
            1 => c.load::<u8, B>(b, va)?.to_bytes(chunk),
            2 => c.load::<u16, B>(b, va)?.to_bytes(chunk),
            4 => c.load::<u32, B>(b, va)?.to_bytes(chunk),
            8 => c.load::<u64, B>(b, va)?.to_bytes(chunk),
            _ => c.load::<u128, B>(b, va)?.to_bytes(chunk),
        }
    }
    Ok(block)
}

fn store_block<B: Bus>(c: &mut Core, b: &mut B, va: u64, block: &[u8], step: usize) -> Done {
    for (chunk, va) in block.chunks(step).zip((0..).map(|n| va.wrapping_add(n * step as u64))) {
        match step {
            1 => c.store(b, va, u8::from_bytes(chunk))?,
            2 => c.store(b, va, u16::from_bytes(chunk))?,
            4 => c.store(b, va, u32::from_bytes(chunk))?,
            8 => c.store(b, va, u64::from_bytes(chunk))?,
            _ => c.store(b, va, u128::from_bytes(chunk))?,
        }
    }
    Ok(())
}

/// LD1 to LD4 of multiple structures.
pub(crate) fn load_multiple<A: Address, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    c.require_fp()?;
    let Some(shape) = Multiple::of(i.word) else { return Err(c.undefined()) };
    let va = c.operand_address::<A>(i)?;
    let block = load_block(c, b, va, shape.bytes(), shape.step(c, va))?;
    for register in 0..shape.registers {
        let mut bytes = [0; 16];
        for (n, byte) in bytes.iter_mut().enumerate().take(shape.width) {
            *byte = block[shape.place(register.into(), n)];
        }
        c.v[number(i.rd.wrapping_add(register))] = u128::from_le_bytes(bytes);
    }
    A::write_back(c, i, va);
    Ok(())
}

/// ST1 to ST4 of multiple structures.
pub(crate) fn store_multiple<A: Address, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    c.require_fp()?;
    let Some(shape) = Multiple::of(i.word) else { return Err(c.undefined()) };
    let va = c.operand_address::<A>(i)?;
    let mut block = [0; 64];
    for register in 0..shape.registers {
        let bytes = c.v[number(i.rd.wrapping_add(register))].to_le_bytes();
        for (n, byte) in bytes.iter().enumerate().take(shape.width) {
            block[shape.place(register.into(), n)] = *byte;
        }
    }
    store_block(c, b, va, &block[..shape.bytes()], shape.step(c, va))?;
    A::write_back(c, i, va);
    Ok(())
}

/// What LD1 to LD4, ST1 to ST4 and LD1R to LD4R of single structures move (Arm ARM C4.1.94, "Advanced SIMD load/store
/// single structure").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Single {
    /// Elements, each of a register of its own.
    elements: u8,
    /// log2 of the bytes of an element.
    scale: u32,
    /// Which element of each register; `None` for all of them.
    index: Option<usize>,
    /// Bytes of each register, where all elements are meant.
    width: usize,
}

impl Single {
    pub(crate) fn of(word: u32) -> Option<Self> {
        let bits = |from: u32, count: u32| (word >> from & ((1 << count) - 1)) as usize;
        let (q, size, s) = (bits(30, 1), bits(10, 2), bits(12, 1));
        let elements = ((bits(13, 1) << 1 | bits(21, 1)) + 1).low_u8();
        let load = bits(22, 1) != 0;
        let (scale, index) = match (bits(14, 2), size & 1, size >> 1) {
            (0, ..) => (0, Some(q << 3 | s << 2 | size)),
            (1, 0, _) => (1, Some(q << 2 | s << 1 | size >> 1)),
            (2, 0, 0) => (2, Some(q << 1 | s)),
            (2, 1, 0) if s == 0 => (3, Some(q)),
            (3, ..) if load && s == 0 => (size.low_u32(), None),
            _ => return None,
        };
        Some(Self { elements, scale, index, width: 8 << q })
    }

    /// Bytes in memory.
    pub(crate) fn bytes(self) -> usize {
        usize::from(self.elements) << self.scale
    }

    fn bytes_of(self, element: u8) -> core::ops::Range<usize> {
        let from = usize::from(element) << self.scale;
        from..from + (1 << self.scale)
    }
}

/// LD1 to LD4 of single structures, and LD1R to LD4R.
pub(crate) fn load_single<A: Address, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    c.require_fp()?;
    let Some(shape) = Single::of(i.word) else { return Err(c.undefined()) };
    let va = c.operand_address::<A>(i)?;
    let block = load_block(c, b, va, shape.bytes(), 1 << shape.scale)?;
    for element in 0..shape.elements {
        let value = &block[shape.bytes_of(element)];
        let register = &mut c.v[number(i.rd.wrapping_add(element))];
        let mut bytes = register.to_le_bytes();
        match shape.index {
            Some(index) => bytes[index << shape.scale..][..value.len()].copy_from_slice(value),
            None => {
                bytes = [0; 16];
                bytes[..shape.width].chunks_mut(value.len()).for_each(|place| place.copy_from_slice(value));
            }
        }
        *register = u128::from_le_bytes(bytes);
    }
    A::write_back(c, i, va);
    Ok(())
}

/// ST1 to ST4 of single structures.
pub(crate) fn store_single<A: Address, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    c.require_fp()?;
    let Some(shape) = Single::of(i.word) else { return Err(c.undefined()) };
    let va = c.operand_address::<A>(i)?;
    let mut block = [0; 64];
    for element in 0..shape.elements {
        let bytes = c.v[number(i.rd.wrapping_add(element))].to_le_bytes();
        let place = &mut block[shape.bytes_of(element)];
        place.copy_from_slice(&bytes[shape.index.unwrap_or(0) << shape.scale..][..place.len()]);
    }
    store_block(c, b, va, &block[..shape.bytes()], 1 << shape.scale)?;
    A::write_back(c, i, va);
    Ok(())
}
