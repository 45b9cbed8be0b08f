//! Integer operations that AVX has from SSE: on elements, or on lanes of 128 bits as SSE defines them.

use super::lanes::{by_lane, zip};
use super::{Description, Operands};
use crate::flags::{CF, ZF};
use crate::sse::Vector as _;
use crate::sse::integer;
use iced_x86::{Instruction, Mnemonic as M};

/// Descriptions by mnemonic: elements of a type that are combined, or SSE's operation on each lane.
macro_rules! table {
    (
        $ins:expr;
        elements: $($e:ident($t:ty, $width:literal, $f:expr))*;
        lanes: $($l:ident = $s:ident $size:literal $whole:ident)*;
    ) => {
        match $ins.mnemonic() {
            $( M::$e => Description::packed(|o| zip::<$t>(o, $f), $width), )*
            $( M::$l => table!(@ $whole Description::packed(|o| by_lane(o, integer::$s::apply), $size)), )*
            _ => return None,
        }
    };
    (@ whole $e:expr) => { $e.whole() };
    (@ each $e:expr) => { $e };
}

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vptest => Description::sources(test),
        _ => table! { ins;
            elements:
                Vpaddb(u8, 1, u8::wrapping_add) Vpaddw(u16, 2, u16::wrapping_add) Vpaddd(u32, 4, u32::wrapping_add)
                Vpaddq(u64, 8, u64::wrapping_add) Vpsubb(u8, 1, u8::wrapping_sub) Vpsubw(u16, 2, u16::wrapping_sub)
                Vpsubd(u32, 4, u32::wrapping_sub) Vpsubq(u64, 8, u64::wrapping_sub)
                Vpand(u64, 8, |a, b| a & b) Vpandn(u64, 8, |a, b| !a & b) Vpor(u64, 8, |a, b| a | b)
                Vpxor(u64, 8, |a, b| a ^ b)
                Vpandd(u64, 4, |a, b| a & b) Vpandnd(u64, 4, |a, b| !a & b) Vpord(u64, 4, |a, b| a | b)
                Vpxord(u64, 4, |a, b| a ^ b)
                Vpandq(u64, 8, |a, b| a & b) Vpandnq(u64, 8, |a, b| !a & b) Vporq(u64, 8, |a, b| a | b)
                Vpxorq(u64, 8, |a, b| a ^ b);
            lanes:
                Vpacksswb = Packsswb 1 whole Vpackuswb = Packuswb 1 whole Vpackssdw = Packssdw 2 whole
                Vpmaddwd = Pmaddwd 4 whole Vpmuludq = Pmuludq 8 each;
        },
    })
}

/// VPTEST.
fn test(o: &mut Operands<'_>) {
    let all =
        |f: fn(u128, u128) -> u128| o.a.0.iter().zip(&o.b.0).take(o.bytes / 16).all(|(a, b)| f(*a, *b) == 0);
    let (zero, carry) = (all(|a, b| a & b), all(|a, b| !a & b));
    o.flags = Some(if zero { ZF } else { 0 } | if carry { CF } else { 0 });
}
