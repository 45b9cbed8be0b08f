//! AES, PCLMULQDQ and GFNI with VEX and EVEX: in each 128 bits what SSE's forms do.

use super::lanes::by_lane;
use super::{Description, Operands};
use crate::sse::crypto;
use crate::sse::{Shuffle, Vector as _};
use iced_x86::{Instruction, Mnemonic as M};

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    macro_rules! lanes {
        ($name:ident) => {
            Description::packed(|o| by_lane(o, crypto::$name::apply), 16)
        };
    }
    Some(match ins.mnemonic() {
        M::Vaesenc => lanes!(Aesenc),
        M::Vaesenclast => lanes!(Aesenclast),
        M::Vaesdec => lanes!(Aesdec),
        M::Vaesdeclast => lanes!(Aesdeclast),
        M::Vaesimc => lanes!(Aesimc),
        M::Vaeskeygenassist => Description::packed(with_control::<crypto::Aeskeygenassist>, 16),
        M::Vpclmulqdq => Description::packed(with_control::<crypto::Pclmulqdq>, 16),
        M::Vgf2p8mulb => Description::packed(|o| by_lane(o, crypto::Gf2p8mulb::apply), 1),
        M::Vgf2p8affineqb => Description::packed(with_control::<crypto::Gf2p8affineqb>, 1).whole(),
        M::Vgf2p8affineinvqb => Description::packed(with_control::<crypto::Gf2p8affineinvqb>, 1).whole(),
        _ => return None,
    })
}

fn with_control<S: Shuffle>(o: &mut Operands<'_>) {
    let control = o.imm;
    by_lane(o, |a, b| S::apply(a, b, control));
}
