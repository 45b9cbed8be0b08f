//! Handlers of instructions that 64-bit mode does not have.

use super::operands::is_memory;
use super::select::place;
use crate::bus::Bus;
use crate::exec::operand::Dst;
use crate::exec::{Handler, legacy};
use iced_x86::{Instruction, Mnemonic as M};

pub(super) fn handler<B: Bus>(ins: &Instruction) -> Option<Handler<B>> {
    let handler: Handler<B> = match ins.mnemonic() {
        M::Aaa => legacy::ascii_adjust::<B, true>,
        M::Aas => legacy::ascii_adjust::<B, false>,
        M::Daa => legacy::decimal_adjust::<B, true>,
        M::Das => legacy::decimal_adjust::<B, false>,
        M::Aam => legacy::aam::<B>,
        M::Aad => legacy::aad::<B>,
        M::Salc => legacy::salc::<B>,
        M::Arpl => place!(is_memory(ins, 0), Dst, D => legacy::arpl::<B, D>),
        _ => return None,
    };
    Some(handler)
}
