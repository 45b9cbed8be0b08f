//! SSE4.1 and SSE4.2 instructions that are more than an operation on two vectors.

use super::lane::{Lane, get};
use super::sse4::{blend, insert_single};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::exec::Insn;
use crate::exec::operand::{Get, Mem};
use crate::flags::{CF, Flags, ZF};
use crate::low::Low;
use crate::width::{Memory, Width};
use core::marker::PhantomData;

/// A memory operand shorter than a vector, which need not be aligned.
pub(crate) struct Part<T>(PhantomData<T>);

impl<T: Memory + Into<u128>> Get<u128> for Part<T> {
    fn get<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<u128, Fault> {
        Ok(<Mem as Get<T>>::get(c, b, i)?.into())
    }
}

/// BLENDVPS, BLENDVPD, PBLENDVB: the mask is XMM0.
pub(crate) fn blend_variable<B: Bus, L: Lane, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let right = S::get(c, b, i)?;
    let left = c.xmm[usize::from(i.dst & 15)];
    c.xmm[usize::from(i.dst & 15)] = blend::<L>(left, right, c.xmm[0]);
    Ok(())
}

/// INSERTPS from a register: bits 7:6 of the immediate choose the lane.
pub(crate) fn insertps<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let from = get(c.xmm[usize::from(i.src & 15)], (i.imm >> 6 & 3) as u32);
    let register = &mut c.xmm[usize::from(i.dst & 15)];
    *register = insert_single(*register, from, i.imm.low_u8());
    Ok(())
}

/// INSERTPS from memory.
pub(crate) fn insertps_memory<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let from: u32 = Mem::get(c, b, i)?;
    let register = &mut c.xmm[usize::from(i.dst & 15)];
    *register = insert_single(*register, from, i.imm.low_u8());
    Ok(())
}

pub(crate) fn ptest<B: Bus, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let right = S::get(c, b, i)?;
    let left = c.xmm[usize::from(i.dst & 15)];
    let zero = if left & right == 0 { ZF } else { 0 };
    let carry = if !left & right == 0 { CF } else { 0 };
    c.flags = Flags::from_bits(zero | carry);
    Ok(())
}

/// CRC32 adds a source of width `T` to the CRC-32C in the destination. It works without SSE.
pub(crate) fn crc32<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    /// The polynomial 11EDC6F41H with the bits in reverse.
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    let source = S::get(c, b, i)?.zext().to_le_bytes();
    let register = &mut c.regs[usize::from(i.dst)];
    let mut crc = (*register).low_u32();
    for byte in source.iter().take(T::BYTES) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 != 0 { POLYNOMIAL } else { 0 };
        }
    }
    *register = u64::from(crc);
    Ok(())
}
