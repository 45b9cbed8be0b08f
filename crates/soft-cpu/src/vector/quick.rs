//! Vector instructions without page walks, exceptions and calls of the bus: see [`chain`](crate::exec::chain).

use super::Vector;
use super::encoded::Encoded;
use super::execute::parts;
use crate::bus::Bus;
use crate::context::Core;
use crate::exec::Insn;
use crate::exec::operand;
use crate::width::Memory;
use zerocopy::IntoBytes;

/// A memory operand that is a vector, or the low part of one.
pub(crate) trait Block: Memory {
    fn vector(self) -> Vector;
    fn of(vector: &Vector) -> Self;
}

macro_rules! block {
    ($($t:ty)*) => { $(
        impl Block for $t {
            #[inline(always)]
            fn vector(self) -> Vector {
                Vector([self.into(), 0, 0, 0])
            }
            #[inline(always)]
            fn of(vector: &Vector) -> Self {
                vector.get(0)
            }
        }
    )* };
}
block!(u8 u16 u32 u64 u128);

macro_rules! bytes {
    ($($size:literal)*) => { $(
        impl Block for [u8; $size] {
            #[inline(always)]
            fn vector(self) -> Vector {
                let mut vector = Vector::ZERO;
                vector.as_mut_bytes()[..$size].copy_from_slice(&self);
                vector
            }
            #[inline(always)]
            fn of(vector: &Vector) -> Self {
                let mut bytes = [0; $size];
                bytes.copy_from_slice(&vector.as_bytes()[..$size]);
                bytes
            }
        }
    )* };
}
bytes!(32 64);

/// The type of a memory operand of so many bytes.
macro_rules! block_type {
    ($size:expr, $T:ident => $e:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $e
            }
            2 => {
                type $T = u16;
                $e
            }
            4 => {
                type $T = u32;
                $e
            }
            8 => {
                type $T = u64;
                $e
            }
            16 => {
                type $T = u128;
                $e
            }
            32 => {
                type $T = [u8; 32];
                $e
            }
            _ => {
                type $T = [u8; 64];
                $e
            }
        }
    };
}
pub(crate) use block_type;

/// All operands in registers.
#[inline(always)]
pub(crate) fn registers<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> bool {
    let parts = parts(i);
    c.vector & parts.code.needed() != 0 && c.compute_quickly(parts, None)
}

/// All operands in registers, of an instruction with a kernel.
#[inline(always)]
pub(crate) fn plain_registers<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> bool {
    let parts = parts(i);
    c.vector & parts.code.needed() != 0 && c.compute_plainly(parts, None)
}

/// The same with the last source in memory.
#[inline(always)]
pub(crate) fn plain_load<B: Bus, T: Block>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
    let Some(linear) = address::<B, false>(c, i, T::BYTES) else { return false };
    let Some(value) = c.quick_load::<T, B>(b, i, linear) else { return false };
    c.compute_plainly(parts(i), Some(&value.vector()))
}

/// Linear address of an operand that needs no checks.
#[inline(always)]
fn address<B: Bus, const ALIGNED: bool>(c: &Core, i: &Insn<B>, size: usize) -> Option<u64> {
    let linear = operand::quick_linear(c, i)?;
    let on = c.vector & Encoded(i.imm).needed() != 0;
    (on && (!ALIGNED || linear & (size as u64 - 1) == 0)).then_some(linear)
}

/// The last source in memory. If all of it can be read, masked elements may be too.
#[inline(always)]
pub(crate) fn load<B: Bus, T: Block, const ALIGNED: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
    let Some(linear) = address::<B, ALIGNED>(c, i, T::BYTES) else { return false };
    let Some(value) = c.quick_load::<T, B>(b, i, linear) else { return false };
    let mut source = value.vector();
    let parts = parts(i);
    if parts.code.broadcast() {
        source = super::memory::repeat(&source, T::BYTES);
    }
    c.compute_quickly(parts, Some(&source))
}

/// The destination in memory, without a mask.
#[inline(always)]
pub(crate) fn store<B: Bus, T: Block, const ALIGNED: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
    let Some(linear) = address::<B, ALIGNED>(c, i, T::BYTES) else { return false };
    let mut value = Vector::ZERO;
    c.stored_quickly(parts(i), &mut value) && c.quick_store(b, i, linear, T::of(&value))
}

/// The whole of a memory operand to a register.
#[inline(always)]
pub(crate) fn load_whole<B: Bus, T: Block, const ALIGNED: bool>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> bool {
    let Some(linear) = address::<B, ALIGNED>(c, i, T::BYTES) else { return false };
    let Some(value) = c.quick_load::<T, B>(b, i, linear) else { return false };
    *c.xmm.get_mut(i.dst) = value.vector();
    true
}

/// The whole of a register to memory.
#[inline(always)]
pub(crate) fn store_whole<B: Bus, T: Block, const ALIGNED: bool>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> bool {
    let Some(linear) = address::<B, ALIGNED>(c, i, T::BYTES) else { return false };
    let value = T::of(c.xmm.get(i.src));
    c.quick_store(b, i, linear, value)
}
