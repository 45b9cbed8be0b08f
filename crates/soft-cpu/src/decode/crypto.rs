//! Handlers of AES, PCLMULQDQ, SHA and GFNI without VEX.

use super::select::source;
use crate::bus::Bus;
use crate::exec::Handler;
use crate::sse::{Aligned, OfSha, XmmSrc, crypto, shuffle, vector};
use iced_x86::{Instruction, Mnemonic as M};

pub(super) fn handler<B: Bus>(ins: &Instruction) -> Option<Handler<B>> {
    macro_rules! table {
        (vectors: $($v:ident)*; of SHA: $($w:ident)*; shuffles: $($s:ident)*;) => {
            match ins.mnemonic() {
                $( M::$v => source!(ins, S => vector::<B, crypto::$v, S>), )*
                $( M::$w => source!(ins, OfSha, S => vector::<B, crypto::$w, S>), )*
                $( M::$s => source!(ins, S => shuffle::<B, crypto::$s, S>), )*
                M::Sha1rnds4 => source!(ins, OfSha, S => shuffle::<B, crypto::Sha1rnds4, S>),
                M::Sha256rnds2 => source!(ins, OfSha, S => crypto::sha256rnds2::<B, S>),
                _ => return None,
            }
        };
    }
    let handler: Handler<B> = table! {
        vectors: Aesenc Aesenclast Aesdec Aesdeclast Aesimc Gf2p8mulb;
        of SHA: Sha1nexte Sha1msg1 Sha1msg2 Sha256msg1 Sha256msg2;
        shuffles: Aeskeygenassist Pclmulqdq Gf2p8affineqb Gf2p8affineinvqb;
    };
    Some(handler)
}
