//! [Quick](crate::exec::chain) handlers of VEX and EVEX encodings.

use crate::bus::Bus;
use crate::exec::chain::{self, Chain};
use crate::vector::description::{Description, Masking, Shape};
use crate::vector::encoded::{Class, Fields, Rounding};
use crate::vector::quick::{self, block_type};
use crate::vector::{hot, moves};
use iced_x86::{Instruction, Mnemonic as M};

macro_rules! chain {
    ($module:ident::$name:ident[$($parameter:tt)*]) => {
        |c, b, rest| chain::quick(c, b, rest, $module::$name::<$($parameter)*>)
    };
}

macro_rules! aligned {
    ($aligned:expr, $A:ident => $e:expr) => {
        if $aligned {
            const $A: bool = true;
            $e
        } else {
            const $A: bool = false;
            $e
        }
    };
}

/// The last source is operand `memory`, or the destination if that is 0 and there is one.
pub(super) fn chain<B: Bus>(
    ins: &Instruction,
    memory: Option<u32>,
    description: &Description,
    fields: &Fields,
) -> Option<Chain<B>> {
    let plain = fields.mask == 0 && !fields.broadcast && fields.rounding == Rounding::Dynamic;
    let (size, aligned) = (fields.memory, description.aligned);
    let chain: Chain<B> = match memory {
        None if plain && description.kernel.is_some() => chain!(quick::plain_registers[B]),
        None => plain.then(|| binary(ins, fields, false)).flatten().unwrap_or(chain!(quick::registers[B])),
        Some(0) if description.shape != Shape::Sources => {
            if !plain {
                return None;
            }
            if moves::is_whole(ins) {
                aligned!(aligned, A => match size {
                    16 => chain!(quick::store_whole[B, u128, A]),
                    32 => chain!(quick::store_whole[B, [u8; 32], A]),
                    _ => chain!(quick::store_whole[B, [u8; 64], A]),
                })
            } else {
                block_type!(size, T => chain!(quick::store[B, T, false]))
            }
        }
        // How much is read depends on the mask.
        Some(_) if description.masking == Masking::Expand => return None,
        Some(_) if plain && moves::is_whole(ins) => aligned!(aligned, A => match size {
            16 => chain!(quick::load_whole[B, u128, A]),
            32 => chain!(quick::load_whole[B, [u8; 32], A]),
            _ => chain!(quick::load_whole[B, [u8; 64], A]),
        }),
        Some(_) if plain && description.kernel.is_some() => {
            block_type!(size, T => chain!(quick::plain_load[B, T]))
        }
        Some(_) => match plain.then(|| binary(ins, fields, true)).flatten() {
            Some(chain) => chain,
            None => aligned!(aligned, A => block_type!(size, T => chain!(quick::load[B, T, A]))),
        },
    };
    Some(chain)
}

/// One of [`hot`]'s.
fn binary<B: Bus>(ins: &Instruction, fields: &Fields, memory: bool) -> Option<Chain<B>> {
    if ins.mnemonic() == M::Vpmovmskb {
        return Some(match fields.bytes {
            16 => chain!(hot::byte_signs[B, 1]),
            _ => chain!(hot::byte_signs[B, 2]),
        });
    }
    let [destination, first, last] = fields.classes;
    let vectors = destination == Class::Vector && first == Class::Vector && (memory || last == Class::Vector);
    if !vectors {
        return None;
    }
    macro_rules! of {
        ($op:ident) => {
            match (memory, fields.bytes) {
                (false, 16) => chain!(hot::registers[B, hot::$op, 1]),
                (false, 32) => chain!(hot::registers[B, hot::$op, 2]),
                (false, _) => chain!(hot::registers[B, hot::$op, 4]),
                (true, 16) => chain!(hot::load[B, hot::$op, u128]),
                (true, 32) => chain!(hot::load[B, hot::$op, [u8; 32]]),
                (true, _) => chain!(hot::load[B, hot::$op, [u8; 64]]),
            }
        };
    }
    if !memory && moves::is_whole(ins) {
        return Some(of!(Copy));
    }
    Some(match ins.mnemonic() {
        M::Vpaddb => of!(Paddb),
        M::Vpaddw => of!(Paddw),
        M::Vpaddd => of!(Paddd),
        M::Vpaddq => of!(Paddq),
        M::Vpsubb => of!(Psubb),
        M::Vpsubw => of!(Psubw),
        M::Vpsubd => of!(Psubd),
        M::Vpsubq => of!(Psubq),
        M::Vpand | M::Vpandd | M::Vpandq | M::Vandps | M::Vandpd => of!(Pand),
        M::Vpandn | M::Vpandnd | M::Vpandnq | M::Vandnps | M::Vandnpd => of!(Pandn),
        M::Vpor | M::Vpord | M::Vporq | M::Vorps | M::Vorpd => of!(Por),
        M::Vpxor | M::Vpxord | M::Vpxorq | M::Vxorps | M::Vxorpd => of!(Pxor),
        M::Vpcmpeqb => of!(Pcmpeqb),
        M::Vpcmpeqw => of!(Pcmpeqw),
        M::Vpcmpeqd => of!(Pcmpeqd),
        M::Vpcmpgtb => of!(Pcmpgtb),
        M::Vpcmpgtd => of!(Pcmpgtd),
        M::Vpminub => of!(Pminub),
        M::Vpmaxub => of!(Pmaxub),
        M::Vpmulld => of!(Pmulld),
        _ => return None,
    })
}
